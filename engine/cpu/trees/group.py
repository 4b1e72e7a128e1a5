"""The memory of DCA-ABA on a tree, which all threads of one robot read and write; `plan` defines its parts.

The rows of all blocks follow one another in one array, L lanes each. Few lanes have a guest, a host or the last row of
a chunk: `guests`, `hosts` and `ends` list these as pairs (lane, port or chunk), of row r in list k those from
`first[r, k]` to `first[r + 1, k]`. Nodes are numbered as in the plan; the base follows the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.compile.shared import array_at
from engine.cpu.chains.dca_step import ARGUMENTS
from engine.cpu.trees import rows as slot
from engine.cpu.trees.plan import Indices, L, TreePlan
from engine.cpu.trees.rows import Rows, coordinates, row_constants, rows
from engine.model.layout import Packed

Reals = NDArray[np.floating]

# fmt: off
# a share is an articulated inertia and a force: A (6), B (9), C (6), n (3), f (3)
SHARE = 27
# the numbers of a port
MOTION = 0       # 12 the parent's twist, and its acceleration by velocities alone since the node before
A = 12           # 6  its acceleration, minus that
SHARE_SUM = 18   # 27 the sum of its guests' shares
PORT = 48

# the numbers of a chunk; the first five as in a block's buffer
I = 0            # 27 its share, without distal bodies
PHI = 27         # 36 Φ, by rows
Y = 63           # 21 upper triangle, by rows
DRIFT = 84       # 6  b
ELEMENT = 90
CR = 90          # 9  rotation of the last row relative to the row before the chunk
CP = 99          # 3  its position
CV = 102         # 6  its twist relative to the row before the chunk
END = 108        # 6  its acceleration by velocities alone
MAP = 114        # 36 the map of accelerations through the chunk, by columns
SHIFT = 150      # 6  the map's constant term
DISTAL = 156     # 27 the share of all bodies distal to it
CHUNK = 184
# a block's buffer: an element, CR, CP and CV, or the map, in place of Φ, and
LANES_MOTION = 90  # 12
BUFFER = 102

# the numbers of a node: SHARE_SUM (27) as in a port, and the motion and acceleration of its last row
NODE = PORT
# fmt: on


class Group(NamedTuple):
    """The arrays, for M rows in T blocks, m rows that are nodes, N nodes, P ports, and C chunks."""

    constants: Reals
    """(M, CONSTANTS · L)."""
    w: Reals
    """(M, WIDTH · L)."""
    of_q: Indices
    """(M, L): the coordinate of a row's pose, −1 for none."""
    of_v: Indices
    """(M, L): its velocity, −1 for an empty lane."""
    of_body: Indices
    """(M, L): its body, −1 for none."""
    first: Indices
    """(M + 1, 3)."""
    guests: Indices
    hosts: Indices
    ends: Indices
    bounds: Indices
    """(T, 5): a block's first row, the first in subtrees, the end; its ports, except those of chunks."""
    buffer: Reals
    """(T, BUFFER · L)."""
    ports: Reals
    """(P, PORT)."""
    chunk: Reals
    """(C, CHUNK)."""
    joints: Indices
    """(k, 6): by blocks, of joints of several rows the first row, its lane, the starts of q and v, kind and block."""
    joint_first: Indices
    """(T + 2,): the start of each block's; at T those of nodes."""
    node_constants: Reals
    """(m, CONSTANTS)."""
    node_w: Reals
    """(m, WIDTH)."""
    node_q: Indices
    """(m, 1), like the next two."""
    node_v: Indices
    node_body: Indices
    nodes: Indices
    """(N + 1, 3): 0 and a row or 1 and a chunk; the node before. The last is the base."""
    node_first: Indices
    """(N + 2,): the start of each node's ports in `node_ports`."""
    node_ports: Indices
    values: Reals
    """(N + 1, NODE)."""
    scratch: Reals
    """(12, 16): a work array for joins."""
    gravity: Reals
    control: Indices
    arguments: Indices


SIZES = 5  # the integers before the addresses in a table


class _Places:
    """The places of rows in the lanes, while they are filled."""

    def __init__(self, rows: Rows, plan: TreePlan):
        self.rows, self.plan = rows, plan
        n = len(rows.parent)
        self.node_row = {j: k for k, j in enumerate(j for which, j in plan.nodes if which == 0)}
        self.node_of = {j: k for k, (which, j) in enumerate(plan.nodes) if which == 0}
        for k, (which, c) in enumerate(plan.nodes):
            if which:
                self.node_of[plan.chunks[c][-1]] = k
        self.children: list[list[int]] = [[] for _ in range(n)]
        for j, before in enumerate(rows.parent.tolist()):
            if before >= 0:
                self.children[before].append(j)
        self.place = np.full((n, 2), -1)
        self.lanes: list[NDArray[np.int64]] = []
        self.bounds: list[list[int]] = []
        self.ports: dict[tuple[int, int], int] = {}
        self.guests: list[tuple[int, int, int]] = []
        self.hosts: list[tuple[int, int, int]] = []
        self.ends: list[tuple[int, int, int]] = []
        size = np.ones(n, int)
        for j in range(n - 1, 0, -1):
            if rows.parent[j] >= 0:
                size[rows.parent[j]] += size[j]
        self._size, start = size, 0
        for block in range(len(plan.blocks)):
            start = self._fill(block, start)

    def _fill(self, block: int, start: int) -> int:
        """Fill a block's rows from `start` on; return their end."""
        chunks, subtrees = self.plan.blocks[block]
        first_port = len(self.plan.chunks) + len(self.ports)
        lanes = [[self.plan.chunks[c] for c in lane] for lane in chunks]
        middle = start + max(sum(map(len, lane)) for lane in lanes)
        for k, lane in enumerate(lanes):
            row = start
            for c, some in zip(chunks[k], lane, strict=True):
                self.place[some] = np.stack([np.arange(row, row + len(some)), np.full(len(some), k)], 1)
                self.guests.append((row, k, c))
                row += len(some)
                self.ends.append((row - 1, k, c))
        orders = [[j for root in lane for j in self._order(root)] for lane in subtrees]
        end = middle + max(map(len, orders))
        for k, order in enumerate(orders):
            self.place[order] = np.stack([np.arange(middle, middle + len(order)), np.full(len(order), k)], 1)
        table = np.full((end - start, L), -1)
        for k, lane in enumerate(lanes):
            own = [j for some in lane for j in some]
            table[: len(own), k] = own
            table[middle - start : middle - start + len(orders[k]), k] = orders[k]
        self.lanes.append(table)
        for k, order in enumerate(orders):
            for here, j in enumerate(order):
                before = int(self.rows.parent[j])
                if here == 0 or order[here - 1] != before:
                    self.guests.append((middle + here, k, self._port(before, block)))
        self.bounds.append([start, middle, end, first_port, len(self.plan.chunks) + len(self.ports)])
        return end

    def _order(self, root: int) -> Iterable[int]:
        """The rows of a subtree, each after its parent, and next to it where it has the largest subtree."""
        stack = [root]
        while stack:
            j = stack.pop()
            yield j
            stack += sorted(self.children[j], key=lambda child: (self._size[child], -child))

    def _port(self, row: int, block: int) -> int:
        """A block's port of a row; −1 is the base."""
        if (row, block) not in self.ports:
            self.ports[row, block] = number = len(self.plan.chunks) + len(self.ports)
            if row >= 0 and self.place[row, 0] >= 0:
                self.hosts.append((int(self.place[row, 0]), int(self.place[row, 1]), number))
        return self.ports[row, block]

    def node_ports(self) -> tuple[Indices, Indices]:
        """See `Group`; chunks have none, since their branches are in their block."""
        count = len(self.plan.nodes)
        some: list[list[int]] = [[] for _ in range(count + 1)]
        for (row, _), number in self.ports.items():
            if row < 0 or row in self.node_row:
                some[count if row < 0 else self.node_of[row]].append(number)
        return np.cumsum([0, *map(len, some)]), np.array([p for ports in some for p in ports], np.int64)

    def nodes(self) -> Indices:
        """See `Group`."""
        table = []
        for which, k in self.plan.nodes:
            before = int(self.rows.parent[self.plan.chunks[k][0] if which else k])
            table.append((which, k if which else self.node_row[k], self.node_of.get(before, len(self.plan.nodes))))
        return np.array([*table, (0, -1, -1)], np.int64)

    def joints(self) -> tuple[Indices, Indices]:
        """See `Group`; the last number is the block."""
        ends, count, table = [bound[2] for bound in self.bounds], len(self.bounds), []
        for v, q, kind in self.rows.joints.tolist():
            if v in self.node_row:
                table.append((self.node_row[v], 0, q, v, kind, count))
            else:
                row, lane = map(int, self.place[v])
                table.append((row, lane, q, v, kind, int(np.searchsorted(ends, row, "right"))))
        table.sort(key=lambda joint: joint[5])
        rows = np.array(table, np.int64).reshape(-1, 6)
        return rows, np.searchsorted(rows[:, 5], np.arange(count + 2))


def _by_rows(lists: Iterable[list[tuple[int, int, int]]], count: int) -> tuple[Indices, list[Indices]]:
    """`first` and the lists, each with at least one pair, so that all have an address."""
    firsts, tables = [], []
    for some in lists:
        table = np.array(sorted(some), np.int64).reshape(-1, 3)
        firsts.append(np.searchsorted(table[:, 0], np.arange(count + 1)))
        tables.append(np.ascontiguousarray(table[:, 1:]))
    return np.ascontiguousarray(np.stack(firsts, 1)), tables


def gather(packed: Packed, plan: TreePlan, words: int) -> Group:
    """Return the arrays for a packed model; `words` are those of the control block."""
    dtype = packed.constants.dtype.name
    own = rows(packed.topology)
    places = _Places(own, plan)
    lanes, alone = np.concatenate(places.lanes), np.array(list(places.node_row), np.int64).reshape(-1, 1)
    first, (guests, hosts, ends) = _by_rows((places.guests, places.hosts, places.ends), len(lanes))
    joints, joint_first = places.joints()
    node_first, node_ports = places.node_ports()
    nodes, blocks = places.nodes(), len(plan.blocks)
    bounds = np.array(places.bounds, np.int64)
    of_q, of_body = (np.append(x, -1) for x in (own.q, own.body))
    constants, node_constants = lane_constants(packed, lanes, alone)
    return Group(
        constants, aligned((len(lanes), slot.WIDTH * L), dtype), of_q[lanes], lanes, of_body[lanes],
        first, guests, hosts, ends, bounds, aligned((blocks, BUFFER * L), dtype),
        aligned((len(plan.chunks) + len(places.ports), PORT), dtype), aligned((len(plan.chunks), CHUNK), dtype),
        joints, joint_first, node_constants, aligned((len(alone), slot.WIDTH), dtype),
        of_q[alone], alone, of_body[alone], nodes, node_first, node_ports,
        aligned((len(nodes), NODE), dtype), aligned((12, 16), dtype), packed.constants[-1, :3].copy(),
        np.zeros(words, np.int64), np.zeros(ARGUMENTS, np.int64),
    )  # fmt: skip


def lane_constants(packed: Packed, lanes: Indices, alone: Indices) -> tuple[Reals, Reals]:
    """The constants of a group's rows, and of its nodes."""
    fields = row_constants(packed, rows(packed.topology))
    constants = aligned((len(lanes), slot.CONSTANTS * L), fields.dtype.name)
    constants[:] = np.swapaxes(fields[lanes], 1, 2).reshape(constants.shape)
    return constants, np.ascontiguousarray(fields[alone[:, 0]])


def addresses(group: Group, packed: Packed) -> Indices:
    """The table of all addresses: one array is faster to pass to compiled code than thirty."""
    nq, nv = coordinates(packed.topology)
    sizes = [nq, nv, len(group.bounds), len(group.nodes) - 1, len(packed.topology)]
    return np.array([*sizes, *(array.ctypes.data for array in group)], np.int64)


def aligned(shape: tuple[int, ...], dtype: str) -> Reals:
    """Return a zeroed array that starts on a cache line, so that no vector straddles two."""
    count, size = int(np.prod(shape)), np.dtype(dtype).itemsize
    raw = np.zeros(count * size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * size].view(dtype).reshape(shape)


@inline
def _reals(table, which, dtype, shape):
    return array_at(table[SIZES + which], dtype, shape)


@inline
def _integers(table, which, shape):
    return array_at(table[SIZES + which], "int64", shape)


@inline
def group_at(table, dtype):
    """The group whose addresses are in `table`; of the shapes, only the axes that kernels use are correct."""
    blocks, count = table[2], table[3]
    return Group(
        _reals(table, 0, dtype, (0, slot.CONSTANTS * L)),
        _reals(table, 1, dtype, (0, slot.WIDTH * L)),
        _integers(table, 2, (0, L)),
        _integers(table, 3, (0, L)),
        _integers(table, 4, (0, L)),
        _integers(table, 5, (0, 3)),
        _integers(table, 6, (0, 2)),
        _integers(table, 7, (0, 2)),
        _integers(table, 8, (0, 2)),
        _integers(table, 9, (blocks, 5)),
        _reals(table, 10, dtype, (blocks, BUFFER * L)),
        _reals(table, 11, dtype, (0, PORT)),
        _reals(table, 12, dtype, (0, CHUNK)),
        _integers(table, 13, (0, 6)),
        _integers(table, 14, (0,)),
        _reals(table, 15, dtype, (0, slot.CONSTANTS)),
        _reals(table, 16, dtype, (0, slot.WIDTH)),
        _integers(table, 17, (0, 1)),
        _integers(table, 18, (0, 1)),
        _integers(table, 19, (0, 1)),
        _integers(table, 20, (count + 1, 3)),
        _integers(table, 21, (0,)),
        _integers(table, 22, (0,)),
        _reals(table, 23, dtype, (count + 1, NODE)),
        _reals(table, 24, dtype, (12, 16)),
        _reals(table, 25, dtype, (3,)),
        _integers(table, 26, (0,)),
        _integers(table, 27, (0,)),
    )
