"""A tree's contraction as programs, one for each warp: its tasks in every round, made once for a model.

Twists come first, for all bodies at once, by pointer doubling in fours; then the rounds of the contraction. Groups and
stretches that nothing else waits for are processed outwards at once: along a stretch the chunks' affine maps of
accelerations are joined while the contraction continues.

The number of rounds, which barriers of all warps separate, for n bodies: a chain of n on chunks of m links takes ½ log₂
n + 1 for the twists, log₂ n/m to join elements, as many for the maps, and three more; a caterpillar one more at each
end; the balanced binary tree of height h = log₂ n takes ½ log₂ h + 1 for the twists and 2 ⌈h/6⌉ − 1, since a warp does
six levels alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from engine.cuda.trees.contraction import LANES, Contraction, Costs, Group, Stretch, width
from engine.model.joints import NV

Indices = NDArray[np.int32]

FANOUT = 4
"""The travels that a round of pointer doubling joins."""
TASK_BITS = 4


class Task(IntEnum):
    """The tasks of a warp, as the kernel numbers them."""

    END = 0
    MEET = 1
    START = 2
    DOUBLE = 3
    ABSORB = 4
    SUM = 5
    REDUCE = 6
    ARTICULATE = 7
    JOIN = 8
    JOIN_MAPS = 9
    ACCELERATE = 10
    ACCELERATE_CHUNK = 11


Step = tuple[int, int, int, int]
"""A task and, from bit `TASK_BITS` on, its count of bodies or links; then three operands."""


def _step(task: Task, count: int = 0, x: int = 0, y: int = 0, z: int = 0) -> Step:
    return (count << TASK_BITS) + task, x, y, z


@dataclass(frozen=True, eq=False)
class Schedule:
    """The programs, and the tables that they refer to. Bodies have places, in which the kernel keeps their numbers.

    =============  ================  ==================================================================
    name           shape             meaning
    =============  ================  ==================================================================
    body           (n,)              the body at each place
    parent         (n,)              by places, the place of the body before; −1 for the base
    first_share    (slots + 1,)      whose shares a place adds up, and behind the places the sums:
    shares                           ``shares[first_share[i] : first_share[i + 1]]``
    ancestors      (rounds, 3, n)    by places, what lies 1, 2 and 3 times 4ᵏ bodies before; −1 for none
    links                            velocities of the bodies on stretches, 4 · place + which
    program        (steps, 4)        every warp's steps, one warp after the other
    first_step     (warps,)          where a warp's steps begin
    =============  ================  ==================================================================
    """

    body: Indices
    parent: Indices
    first_share: Indices
    shares: Indices
    ancestors: Indices
    links: Indices
    program: Indices
    first_step: Indices
    elements: int
    maps: int
    longest: int
    """The most links of a chunk, 0 without chunks."""
    rounds: int
    inward: int
    """The rounds of the contraction after which every body knows all beyond it."""
    tasks: Counter[Task]

    @property
    def slots(self) -> int:
        return len(self.first_share) - 1

    def after(self, meetings: int) -> Indices:
        """Return (warps,): each warp's step in `program` after the given number of barriers."""
        met = np.cumsum(self.program[:, 0] == Task.MEET)
        before = met[self.first_step] - (self.program[self.first_step, 0] == Task.MEET)
        return np.asarray(np.searchsorted(met, before + meetings) + 1, np.int32)


def schedule(parent: Sequence[int], kind: Sequence[int], warps: int, costs: Costs | None = None) -> Schedule:
    """Return the schedule, for `warps` warps, of a tree whose bodies follow their parents, −1 being the base."""
    return _Scheduler(Contraction(parent, kind, warps, costs)).schedule()


class _Scheduler:
    def __init__(self, tree: Contraction):
        self.tree, self.n = tree, tree.n
        self.groups = _packed(tree.groups, tree.warps)
        units: list[Group | Stretch] = [*self.groups, *tree.stretches]
        self.body = np.array([body for unit in units for body in unit.bodies], np.int32)
        self.place = np.empty(self.n, np.int32)
        self.place[self.body] = np.arange(self.n, dtype=np.int32)
        self.rounds: dict[int, list[list[Step]]] = {}  # work per round, each list by one warp
        self.links: list[int] = []
        self.first_link: dict[int, int] = {}  # by the first body of a chunk

    def schedule(self) -> Schedule:
        tree = self.tree
        above = np.array(tree.parent)[self.body]
        parent = np.where(above < 0, -1, self.place[above]).astype(np.int32)
        ancestors = _ancestors(parent)
        self._twists(len(ancestors))
        for total, sum_ in enumerate(tree.sums):
            self._at(sum_.round, _step(Task.SUM, 0, self.n + total))
        for group in self.groups:
            self._absorb(group)
        for stretch in tree.stretches:
            self._contract(stretch)
        self._accelerate()
        first_share, shares = self._shares()
        program, first_step, tasks = self._programs()
        longest = max((width(tree.kind, chunk) for stretch in tree.stretches for chunk in stretch.chunks), default=0)
        return Schedule(
            self.body, parent, first_share, shares, ancestors, np.array(self.links, np.int32), program, first_step,
            tree.elements, tree.maps, longest, len(self.rounds), self._inward(), tasks,
        )  # fmt: skip

    def _inward(self) -> int:
        units: list[Group | Stretch] = [*self.groups, *self.tree.stretches]
        last = max(unit.round for unit in units)
        return sum(0 < when <= last for when in self.rounds)

    def _at(self, when: int, *steps: Step) -> None:
        self.rounds.setdefault(when, []).append(list(steps))

    def _twists(self, rounds: int) -> None:
        """Add poses and pointer doubling; the last of these rounds is 0."""
        for k in range(0, self.n, LANES):
            count = min(LANES, self.n - k)
            self._at(-rounds, _step(Task.START, count, k))
            for turn in range(rounds):
                self._at(1 + turn - rounds, _step(Task.DOUBLE, count, k, turn))

    def _level(self, task: Task, level: list[int]) -> list[Step]:
        first = int(self.place[level[0]])
        return [_step(task, min(LANES, len(level) - k), first + k) for k in range(0, len(level), LANES)]

    def _outwards(self, group: Group) -> list[Step]:
        return [step for level in reversed(group.levels) for step in self._level(Task.ACCELERATE, level)]

    def _absorb(self, group: Group) -> None:
        steps = [step for level in group.levels for step in self._level(Task.ABSORB, level)]
        self._at(group.round, *steps, *(self._outwards(group) if self.tree.hangs_on_base(group) else ()))

    def _contract(self, stretch: Stretch) -> None:
        kind = self.tree.kind
        for k, chunk in enumerate(stretch.chunks):
            first, count = len(self.links), width(kind, chunk)
            self.first_link[chunk[0]] = first
            self.links += [4 * int(self.place[i]) + j for i in chunk for j in range(NV[kind[i]])]
            if k > 0:
                self._at(stretch.ready + 1, _step(Task.REDUCE, count, first, stretch.elements[k]))
            self._at(stretch.round, _step(Task.ARTICULATE, count, first, stretch.beyond[k], stretch.maps[k]))
        for joins, task, begin in ((stretch.joins, Task.JOIN, stretch.ready + 2),
                                   (stretch.map_joins, Task.JOIN_MAPS, stretch.round + 1)):  # fmt: skip
            for later, together in enumerate(joins):
                for join in together:
                    self._at(begin + later, _step(task, 0, *join))

    def _accelerate(self) -> None:
        """Add the outward pass, parents before children, in reverse order of the contraction."""
        tree = self.tree
        reached = [0] * self.n
        units: list[Group | Stretch] = [*self.groups, *tree.stretches]
        for unit in sorted(units, key=lambda unit: -unit.round):
            own = set(unit.bodies)
            before = (reached[tree.parent[i]] for i in own if tree.parent[i] >= 0 and tree.parent[i] not in own)
            when = max(before, default=unit.round)
            if isinstance(unit, Stretch):
                when = max(when, unit.round + len(unit.map_joins)) + 1
                above = tree.parent[unit.chunks[0][0]]
                place = int(self.place[above]) if above >= 0 else -1
                for chunk, map_ in zip(unit.chunks, unit.before, strict=True):
                    count, first = width(tree.kind, chunk), self.first_link[chunk[0]]
                    self._at(when, _step(Task.ACCELERATE_CHUNK, count, first, map_, place))
            elif not tree.hangs_on_base(unit):
                when = max(when, unit.round) + 1
                self._at(when, *self._outwards(unit))
            for body in own:
                reached[body] = when

    def _shares(self) -> tuple[Indices, Indices]:
        inputs = [self.tree.inputs[body] for body in self.body.tolist()]
        inputs += [sum_.inputs for sum_ in self.tree.sums]
        first = np.concatenate([[0], np.cumsum([len(some) for some in inputs])]).astype(np.int32)
        shares = [int(self.place[i]) if i < self.n else i for i in chain.from_iterable(inputs)]
        return first, np.array(shares, np.int32)

    def _programs(self) -> tuple[Indices, Indices, Counter[Task]]:
        """Return every round's work distributed over the warps, longest first."""
        warps = self.tree.warps
        programs: list[list[Step]] = [[] for _ in range(warps)]
        tasks: Counter[Task] = Counter()
        for when in sorted(self.rounds):
            work = sorted(self.rounds[when], key=lambda steps: -len(steps))
            for k, steps in enumerate(work):
                programs[k % warps] += steps
                tasks.update(Task(step[0] % (1 << TASK_BITS)) for step in steps)
            for program in programs:
                program.append(_step(Task.MEET))
        for program in programs:
            program[-1] = _step(Task.END)
        lengths = [len(program) for program in programs]
        first = (np.cumsum(lengths) - lengths).astype(np.int32)
        return np.array(list(chain.from_iterable(programs)), np.int32), first, tasks


def _packed(groups: list[Group], warps: int) -> list[Group]:
    """Return the groups of one round, merged where there are more than warps."""
    alike: dict[int, list[Group]] = {}
    for group in groups:
        alike.setdefault(group.round, []).append(group)
    packed = []
    for when, some in sorted(alike.items()):
        some.sort(key=lambda group: (-len(group.levels), group.levels[-1][0]))
        lanes = sum(len(group.levels[0]) for group in some)
        count = min(len(some), max(warps, -(-lanes // LANES)))
        each = -(-len(some) // count)
        for k in range(0, len(some), each):
            together = some[k : k + each]
            depth = len(together[0].levels)
            levels = [[i for g in together if k < len(g.levels) for i in g.levels[k]] for k in range(depth)]
            packed.append(Group(levels, when))
    return packed


def _ancestors(parent: Indices) -> Indices:
    """Return `Schedule.ancestors`, with as many rounds as there are bodies with one 4ᵏ before, or with any."""
    n = len(parent)
    above = np.append(np.where(parent < 0, n, parent), n)
    table = []
    while np.any(above[:n] < n):
        far = [above]
        for _ in range(FANOUT - 1):
            far.append(above[far[-1]])
        table.append(np.stack(far[: FANOUT - 1])[:, :n])
        above = far[-1]
    shares = np.array(table, np.int32).reshape(-1, FANOUT - 1, n)
    return np.where(shares == n, -1, shares).astype(np.int32)
