"""The partition of a tree's rows between threads and lanes, for `dca`.

Subtrees of limited size go whole into the lanes of vector instructions, one a lane, by the ABA. The rows above them
form *stretches*, which branch at their ends only: long ones are cut into chunks ([B]), which go into lanes too; short
ones, and rows with many branches, are processed singly. These rows and the chunks are the *nodes*, in the order of the
tree: passing between nodes is all that is sequential.

A *block* is the part of one thread: some chunks with all subtrees on them, and subtrees on other nodes. In its rows of
L lanes the chunks come first, and every row after its ancestors. A row whose parent is not before it in its lane is a
*guest* of a *port*, through which motion, force and inertia pass; the parent is a *host* of the port. The first ports
are those of the chunks' first rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu.trees.rows import Rows

L = 8
"""The number of lanes."""
MAX_THREADS = 63
"""The maximum number of threads: a thread keeps the blocks that it has claimed in the bits of an integer."""
LEAST = 4
"""The number of rows of the shortest chunk."""

Indices = NDArray[np.int64]


class Costs(NamedTuple):
    """Nanoseconds on one core of 2023, by which a tree is cut; only their ratios matter."""

    aba: float = 110.0
    """A row by the ABA."""
    row: float = 205.0
    """A row of L lanes in a subtree."""
    chunk_row: float = 410.0
    """A row of L lanes in a chunk."""
    port: float = 40.0
    """A port: passing from lane to lane, once out and back."""
    node: float = 150.0
    """A single row as a node."""
    chunk: float = 440.0
    """A chunk as a node."""
    block: float = 460.0
    handover: float = 4000.0
    """Synchronising more than one thread."""


COSTS = Costs()


class Block(NamedTuple):
    """The contents of the lanes: chunks' numbers, and subtrees' first rows."""

    chunks: list[list[int]]
    subtrees: list[list[int]]


class TreePlan(NamedTuple):
    """A partition of a tree; `seconds` is the time of a call by the costs."""

    chunks: list[list[int]]
    """The rows of each, from the base outwards."""
    nodes: list[tuple[int, int]]
    """In order: (0, row) or (1, chunk)."""
    blocks: list[Block]
    seconds: float


def best(rows: Rows, threads: int, costs: Costs | None = None) -> TreePlan | None:
    """The plan with the least cost for at most `threads` threads; None where the ABA costs less."""
    costs, n = costs or COSTS, len(rows.parent)
    shortest, cheapest = n * costs.aba * 1e-9, None
    size = _sizes(rows)
    counts = sorted({min(threads, 2**k, MAX_THREADS) for k in range(7)} | {min(threads, MAX_THREADS)})
    for blocks in counts:
        if blocks > 1 and n < 2 * L * blocks:
            break
        for share in (1, 2, 4):
            plan = cut(rows, size, blocks, max(1, -(-n // (L * blocks * share))), costs)
            if plan.seconds < shortest:
                shortest, cheapest = plan.seconds, plan
    return cheapest


def _sizes(rows: Rows) -> list[int]:
    """The number of rows of each row's subtree."""
    size = [1] * len(rows.parent)
    for j in range(len(size) - 1, 0, -1):
        if rows.parent[j] >= 0:
            size[rows.parent[j]] += size[j]
    return size


def cut(rows: Rows, size: Sequence[int], blocks: int, most: int, costs: Costs) -> TreePlan:
    """The plan with subtrees of at most `most` rows, for that many blocks."""
    parent = rows.parent.tolist()
    above = [size[first] > most for first in rows.first.tolist()]
    subtrees = [j for j, here in enumerate(parent) if not above[j] and (here < 0 or above[here])]
    hanging = [0] * len(parent)
    for j in subtrees:
        if parent[j] >= 0:
            hanging[parent[j]] += size[j]
    weight = [(costs.chunk_row + costs.row * hanging[j]) * above[j] for j in range(len(parent))]
    heaviest = max(costs.chunk_row * LEAST, sum(weight) / (L * blocks))
    chunks, alone = [], []
    for stretch in _stretches(rows, parent, above):
        for some, together in _segments(stretch, weight, hanging, heaviest, costs):
            if together:
                chunks.append(some)
            else:
                alone += some
    nodes = sorted([((0, j), j) for j in alone] + [((1, c), some[0]) for c, some in enumerate(chunks)], key=_second)
    shared = _shared(parent, size, chunks, subtrees, blocks, costs)
    order = [node for node, _ in nodes]
    return TreePlan(chunks, order, shared, 1e-9 * _cost(parent, size, chunks, order, shared, len(subtrees), costs))


def _second(pair: tuple[tuple[int, int], int]) -> int:
    return pair[1]


def _stretches(rows: Rows, parent: list[int], above: list[bool]) -> list[list[list[int]]]:
    """The stretches of the rows above subtrees, each as its joints' rows."""
    children = [0] * len(parent)
    for j, here in enumerate(parent):
        if above[j] and here >= 0:
            children[here] += 1
    stretches: list[list[list[int]]] = []
    of = [-1] * len(parent)
    for j, here in enumerate(parent):
        if not above[j]:
            continue
        if rows.first[j] != j:
            of[j] = of[here]
            stretches[of[j]][-1].append(j)
        elif here >= 0 and children[here] == 1:
            of[j] = of[here]
            stretches[of[j]].append([j])
        else:
            of[j] = len(stretches)
            stretches.append([[j]])
    return stretches


def _segments(
    stretch: list[list[int]], weight: list[float], hanging: list[int], heaviest: float, costs: Costs
) -> list[tuple[list[int], bool]]:
    """Cut a stretch into chunks and single rows: joints with more branches than a chunk takes, and short remainders."""
    segments: list[tuple[list[int], bool]] = []
    run: list[list[int]] = []
    for joint in [*stretch, None]:
        if joint is not None and costs.row * sum(hanging[j] for j in joint) <= heaviest:
            run.append(joint)
            continue
        weights = np.cumsum([sum(weight[j] for j in some) for some in run])
        count = max(1, round(float(weights[-1]) / heaviest)) if run else 1
        which = (weights - 1e-9) * count // weights[-1] if run else weights
        for begin, end in pairwise(np.searchsorted(which, np.arange(count + 1)).tolist()):
            some = [j for joint in run[begin:end] for j in joint]
            if some:
                segments.append((some, len(some) >= LEAST))
        if joint is not None:
            segments.append((joint, False))
        run = []
    return segments


def _shared(
    parent: list[int], size: Sequence[int], chunks: list[list[int]], subtrees: list[int], blocks: int, costs: Costs
) -> list[Block]:
    """Distribute chunks with their subtrees, and the other subtrees, to blocks and lanes, the largest first."""
    chunk_of = {j: c for c, some in enumerate(chunks) for j in some}
    on_chunk: list[list[int]] = [[] for _ in chunks]
    loose = []
    for j in subtrees:
        if parent[j] in chunk_of:
            on_chunk[chunk_of[parent[j]]].append(j)
        else:
            loose.append(j)
    parts = [(costs.chunk_row * len(some), c, -1) for c, some in enumerate(chunks)]
    parts = [(own + costs.row * sum(size[j] for j in on_chunk[c]), c, -1) for own, c, _ in parts]
    parts += [(costs.row * size[j], -1, j) for j in loose]
    dealt = []
    for some in _dealt([part[0] for part in parts], blocks):
        mine = [parts[k][1] for k in some if parts[k][1] >= 0]
        roots = [j for c in mine for j in on_chunk[c]] + [parts[k][2] for k in some if parts[k][2] >= 0]
        lanes = [[mine[k] for k in sorted(lane)] for lane in _dealt([len(chunks[c]) for c in mine], L)]
        dealt.append(Block(lanes, [sorted(roots[k] for k in lane) for lane in _dealt([size[j] for j in roots], L)]))
    return dealt


def _dealt(weights: Sequence[float], parts: int) -> list[list[int]]:
    """Distribute items to parts, the heaviest first, each to the part with the least so far."""
    heap = [(0.0, part) for part in range(parts)]
    shares: list[list[int]] = [[] for _ in range(parts)]
    for place in sorted(range(len(weights)), key=lambda place: (-weights[place], place)):
        least, part = heap[0]
        shares[part].append(place)
        heapq.heapreplace(heap, (least + weights[place], part))
    return shares


def _cost(
    parent: list[int], size: Sequence[int], chunks: list[list[int]], nodes: list[tuple[int, int]],
    blocks: list[Block], ports: int, costs: Costs,
) -> float:  # fmt: skip
    """The cost of a call, ns."""
    work = []
    for block in blocks:
        most = max(sum(len(chunks[c]) for c in lane) for lane in block.chunks)
        rows = max(sum(size[j] for j in lane) for lane in block.subtrees)
        work.append(costs.block + costs.chunk_row * most + costs.row * rows)
    leaves = len(parent) - len({j for j in parent if j >= 0})
    passed = costs.port * max(ports, leaves) / len(blocks)
    between = sum(costs.chunk if which else costs.node for which, _ in nodes)
    return max(work) + passed + between + (costs.handover if len(blocks) > 1 else 0.0)
