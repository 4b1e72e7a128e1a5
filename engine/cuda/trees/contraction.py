"""The contraction of a tree: the bodies that a warp absorbs alone, the stretches, and their rounds.

A body is *done* once its *share* for its parent is known: an articulated inertia and a force. A body whose children are
all done is *absorbed* by the ABA's own step, a thread a body. Successive bodies whose other children are all done are a
*stretch*, for DCA-ABA: warps reduce its chunks to elements, join them with the elements beyond each chunk, and process
the chunks once more.

Stretches follow from the bodies' Strahler orders (Horton 1945, Strahler 1952): a tip has order 1; a body has the
largest order of its children, plus one if two or more of them have it. Successive bodies of one order are a stretch;
their other children have lower orders. An order k takes 2ᵏ⁻¹ tips, so a path to the base has at most log₂ n + 1
stretches. Short ones are absorbed body by body, together with small subtrees that a warp does level by level, with no
round in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.model.joints import FREE, NV

LANES = 32
DIRECT = 6
"""The most children whose shares a body adds up itself; for more, warps add up `LANES` at a time first."""
_LENGTHS = (4, 8, 16, 24)
"""The most links of a chunk; the cheapest length is selected."""

Join = tuple[int, int, int]
"""Two elements or maps that are joined, and the result, by their indices."""


class Costs(NamedTuple):
    """Microseconds on an H200, for the choice of cuts; only ratios matter."""

    absorb: float = 1.4
    accelerate: float = 0.6
    reduce: tuple[float, float] = (2.2, 0.1)
    """Of a chunk, and of each of its links."""
    articulate: tuple[float, float] = (4.0, 0.2)
    """Of a chunk and of each of its links, with the accelerations."""
    join: float = 1.4
    join_maps: float = 0.8
    meet: float = 0.6


@dataclass(eq=False)
class Group:
    """Bodies that a warp absorbs alone in one round, level by level from the tips."""

    levels: list[list[int]]
    round: int

    @property
    def bodies(self) -> Iterable[int]:
        return (body for level in self.levels for body in level)


@dataclass(eq=False)
class Stretch:
    """Successive bodies, in chunks.

    Their other children are done after round `ready`. In the next one chunks are reduced to `elements`, then joined in
    rounds; in round `round` chunks are articulated, followed by the rounds of `map_joins`.
    """

    chunks: list[list[int]]
    ready: int = 0
    round: int = 0
    elements: list[int] = field(default_factory=list)
    maps: list[int] = field(default_factory=list)
    joins: list[list[Join]] = field(default_factory=list)
    map_joins: list[list[Join]] = field(default_factory=list)
    beyond: list[int] = field(default_factory=list)
    """By chunks, the element of all beyond it; −1 for none."""
    before: list[int] = field(default_factory=list)
    """By chunks, the map of all chunks before it; −1 for none."""

    @property
    def bodies(self) -> Iterable[int]:
        return (body for chunk in self.chunks for body in chunk)


class Sum(NamedTuple):
    """Shares that a warp adds up in a round, of bodies and of earlier sums, which are numbered after the bodies."""

    inputs: list[int]
    round: int


def width(kind: Sequence[int], bodies: Iterable[int]) -> int:
    """Return the number of velocities of bodies, each a link of a chunk."""
    return sum(int(NV[kind[i]]) for i in bodies)


class Contraction:
    """The contraction, for `warps` warps, of a tree whose bodies follow their parents, −1 being the base.

    `groups` and `stretches` partition the bodies. `inputs` are the shares that each body adds up: of children, or of
    `sums` as n, n + 1, …; `elements` and `maps` are the numbers of these. The first round is 1.
    """

    def __init__(self, parent: Sequence[int], kind: Sequence[int], warps: int, costs: Costs | None = None):
        self.parent, self.kind = list(map(int, parent)), list(map(int, kind))
        self.n, self.warps, self.costs = len(self.parent), warps, costs or Costs()
        self.children: list[list[int]] = [[] for _ in self.parent]
        for i, above in enumerate(self.parent):
            if above >= 0:
                self.children[above].append(i)
        self.inputs: list[list[int]] = [[] for _ in self.parent]
        self.sums: list[Sum] = []
        self.group: dict[int, Group] = {}
        self.elements = self.maps = 0
        self._done = [0] * self.n  # the round in which a body's share is computed
        self.stretches = self._cut_stretches()
        heads = {stretch.chunks[0][0]: stretch for stretch in self.stretches}
        on_stretch = {body for stretch in self.stretches for body in stretch.bodies}
        for i in range(self.n - 1, -1, -1):
            if i in heads:
                self._contract(heads[i])
            elif i not in on_stretch:
                self._absorb(i)
        self.groups = list({id(group): group for group in self.group.values()}.values())

    def hangs_on_base(self, group: Group) -> bool:
        """Whether no body of a group has its parent in another."""
        return all(self.parent[i] < 0 or self.group.get(self.parent[i]) is self.group[i] for i in group.bodies)

    # Find the stretches, and cut them.

    def _orders(self) -> list[int]:
        order = [1] * self.n
        for i in range(self.n - 1, -1, -1):
            largest = sorted((order[c] for c in self.children[i]), reverse=True)[:2]
            if largest:
                order[i] = largest[0] + (len(largest) == 2 and largest[0] == largest[1])
        return order

    def _cut_stretches(self) -> list[Stretch]:
        """Return the stretches that are long enough, in chunks. A free joint ends one, since it transmits no motion."""
        order, rows = self._orders(), list[list[int]]()
        row_of = [0] * self.n
        for i, above in enumerate(self.parent):
            if above >= 0 and order[i] == order[above] and FREE not in (self.kind[i], self.kind[above]):
                row_of[i] = row_of[above]
                rows[row_of[i]].append(i)
            else:
                row_of[i] = len(rows)
                rows.append([i])
        alike: dict[int, list[list[int]]] = {}
        for row in rows:
            if self.kind[row[0]] != FREE:
                alike.setdefault(order[row[0]], []).append(row)
        chunks = []
        for some in alike.values():
            most, length = self._cheapest(some)
            chunks += [self._chunks(row, length) for row in some if len(row) > most]
        return chunks

    def _cheapest(self, rows: list[list[int]]) -> tuple[int, int]:
        """Return the length up to which rows of one order are absorbed one by one, and the links of a chunk."""
        lengths = np.array([len(row) for row in rows])
        widths = np.array([width(self.kind, row) for row in rows])
        each = self.costs.absorb + self.costs.accelerate
        options = []
        for most in [0, *np.unique(lengths).tolist()]:
            walked = lengths <= most
            turns = -(-int(walked.sum()) // (LANES * self.warps))
            walking = turns * int(lengths[walked].max(initial=0)) * each
            options += [(max(walking, self._chunked(widths[~walked], length)), -most, length) for length in _LENGTHS]
        _, most, length = min(options)
        return -most, length

    def _chunked(self, widths: NDArray[np.int64], length: int) -> float:
        """Return the cost of stretches of the given lengths in chunks of that length."""
        if len(widths) == 0:
            return 0.0
        c, chunks = self.costs, -(-widths // length)
        turns, most = -(-int(chunks.sum()) // self.warps), int(chunks.max())
        longest = min(length, int(widths.max()))
        cost = turns * (c.articulate[0] + c.articulate[1] * longest) + 2 * c.meet
        if most > 1:
            steps = int(np.ceil(np.log2(most)))
            cost += turns * (c.reduce[0] + c.reduce[1] * longest) + c.meet
            cost += steps * (turns * (c.join + c.join_maps) + 2 * c.meet)
        return float(cost)

    def _chunks(self, bodies: list[int], length: int) -> Stretch:
        """Return chunks of nearly the same number of links."""
        ends = np.cumsum([NV[self.kind[i]] for i in bodies])
        count = -(-int(ends[-1]) // length)
        which = (ends - 1) * count // int(ends[-1])
        chunks = [[bodies[k] for k in np.flatnonzero(which == chunk)] for chunk in range(count)]
        return Stretch([chunk for chunk in chunks if chunk])

    # Set the rounds in which bodies are done.

    def _gather(self, i: int, inputs: list[int]) -> int:
        """Have a body add up the shares of done bodies. Returns the round after which it can be processed."""
        ready = max((self._done[c] for c in inputs), default=0)
        while len(inputs) > DIRECT:
            ready += 1
            parts = [inputs[k : k + LANES] for k in range(0, len(inputs), LANES)]
            first = self.n + len(self.sums)
            self.sums += [Sum(part, ready) for part in parts]
            inputs = list(range(first, first + len(parts)))
        self.inputs[i] = inputs
        return ready

    def _absorb(self, i: int) -> None:
        """Absorb a body alone, or with its children's warp in their round, if that has lanes for all."""
        inputs = self.children[i]
        groups = [self.group[c] for c in inputs if c in self.group]
        when = max([g.round for g in groups] + [self._done[c] + 1 for c in inputs if c not in self.group], default=1)
        merged = sorted((g for g in groups if g.round == when), key=lambda g: -len(g.levels))
        depth = len(merged[0].levels) if merged else 0
        sizes = (sum(len(g.levels[k]) for g in merged if k < len(g.levels)) for k in range(depth))
        if len(inputs) > DIRECT or any(size > LANES for size in sizes):
            group = Group([], self._gather(i, inputs) + 1)
        else:
            self.inputs[i] = inputs
            group = merged[0] if merged else Group([], when)
            for other in merged[1:]:
                for level, bodies in zip(group.levels, other.levels, strict=False):
                    level += bodies
                for body in other.bodies:
                    self.group[body] = group
        group.levels.append([i])
        self.group[i] = group
        self._done[i] = group.round

    def _contract(self, stretch: Stretch) -> None:
        """Set a stretch's rounds: when it is ready, and how elements and maps are joined."""
        inside, count = set(stretch.bodies), len(stretch.chunks)
        for body in stretch.bodies:
            beside = [c for c in self.children[body] if c not in inside]
            stretch.ready = max(stretch.ready, self._gather(body, beside))
        stretch.elements = list(range(self.elements, self.elements + 2 * count, 2))
        stretch.maps = list(range(self.maps, self.maps + 2 * count, 2))
        self.elements += 2 * count
        self.maps += 2 * count
        elements, stretch.joins = _scanned(stretch.elements[1:], reverse=True)
        maps, stretch.map_joins = _scanned(stretch.maps[:-1], reverse=False)
        stretch.beyond, stretch.before = [*elements, -1], [-1, *maps]
        stretch.round = stretch.ready + 1 + (1 + len(stretch.joins) if count > 1 else 0)
        for body in stretch.bodies:
            self._done[body] = stretch.round


def _scanned(places: list[int], reverse: bool) -> tuple[list[int], list[list[Join]]]:
    """Return all prefixes, or suffixes, in ⌈log₂⌉ rounds: the final index of each, and the joins of each round.

    Each has two buffers, at an even index and the next, and alternates between them, since others may still read it.
    """
    rounds, distance = [], 1
    while distance < len(places):
        after, joins = places.copy(), []
        for k, here in enumerate(places):
            other = k + distance if reverse else k - distance
            if 0 <= other < len(places):
                first, second = (here, places[other]) if reverse else (places[other], here)
                after[k] = here ^ 1
                joins.append((first, second, after[k]))
        rounds.append(joins)
        places, distance = after, 2 * distance
    return places, rounds
