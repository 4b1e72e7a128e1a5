"""DCA-ABA on the GPU for any tree: one robot, or some, each by a group of blocks in one launch (`dca.cu`)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from engine.cuda.chains import dca as chains
from engine.cuda.runtime import arrays, compiler, device, header
from engine.cuda.trees.schedule import Schedule, Task, schedule
from engine.model import SPHERICAL, Model
from engine.model.layout import CONSTANTS, pack

WARPS = 8
"""The most warps of a block: with the most registers per thread, no more fit a multiprocessor."""
BODIES = 64
"""Bodies of a block above which twice the blocks are faster."""
_POSE, _TRAVEL, _MOTION, _INERTIA, _GAIN = 12, 18, 6, 21, 7


def fields(balls: bool) -> dict[str, int]:
    """The offset of each of a place's fields; FIELDS is their total.

    A body's pose, in its parent or in the body before its chunk; two halves of travels; its twist; its share; for each
    velocity of its joint the map from the acceleration before it to q̈; ad_V S q̇, or its sum along the chunk; its
    acceleration.
    """
    sizes = {
        "POSE": _POSE, "JOURNEY": 2 * _TRAVEL, "TWIST": _MOTION, "SHARE": _INERTIA + _MOTION,
        "GAIN": _GAIN * (3 if balls else 1), "BIAS": _MOTION, "ACCELERATION": _MOTION,
    }  # fmt: skip
    ends = np.cumsum(list(sizes.values())).tolist()
    return dict(zip((*sizes, "FIELDS"), [0, *ends], strict=True))


def blocks(n: int, batch: int, processors: int, clusters: bool) -> int:
    """Return the blocks of a group for one of `batch` robots of n bodies."""
    count = 1
    while clusters and 2 * count <= min(chains.MAX_CLUSTER, processors // batch) and n > BODIES * count:
        count *= 2
    return count


class _Tables(NamedTuple):
    """The kernel's tables of a model on the GPU, and its workspace."""

    schedule: Schedule
    constants: Any
    indices: tuple[Any, ...]
    stride: int


class Dca:
    """``dca(q, v, tau, out)``: q̈ of any tree, for contiguous CuPy arrays q (batch, nq), and v, tau, out (batch, nv)."""

    def __init__(self, model: Model, dtype: str = "float64"):
        self._model, self._type = model, np.dtype(dtype)
        self._balls = bool(np.any(model.kind == SPHERICAL))
        self._gravity = tuple(self._type.type(g) for g in model.gravity)
        self._tables: dict[int, _Tables] = {}
        self._launches: dict[int, compiler.Launch] = {}

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        (self._launches.get(len(q)) or self.prepare(len(q)))(q, v, tau, out)

    def prepare(self, batch: int) -> compiler.Launch:
        """Return the launch for a batch of `batch` robots, with its workspace. Raises MemoryError."""
        device.require_count(batch)
        facts = device.properties()
        processors, model, size = facts["multiProcessorCount"], self._model, self._type.itemsize
        cut = cut_for(len(model.parent), batch, processors, facts["major"] >= 9)
        tables = self._tables.get(cut.blocks) or self._prepared(cut)
        schedule = tables.schedule
        groups = min(batch, max(1, processors // cut.blocks))
        numbers = workspace(schedule, self._balls)
        device.require_memory(groups * numbers * size, f"the workspace of {batch} robots of {len(model.parent)} bodies")
        room = warp_room(schedule, cut)
        counts = tables.stride, schedule.elements, room, model.nq, model.nv, batch
        rest = (
            tables.constants, *self._gravity, *tables.indices, arrays.to_device(schedule.first_step),
            arrays.empty((groups * numbers,), self._type.name),
            np.int64(numbers), *(np.int32(x) for x in counts),
        )  # fmt: skip
        launch = compiler.Launch(
            _kernel(cut, self._type.name, self._balls), groups * cut.blocks, WARPS * chains.LANES, 4, rest,
            WARPS * room * size,
        )  # fmt: skip
        self._launches[batch] = launch
        return launch

    def _prepared(self, cut: chains.Cut) -> _Tables:
        model = self._model
        schedule = schedule_of(model, cut)
        constants = arrays.to_device(by_places(pack(model).constants, schedule, self._type))
        self._tables[cut.blocks] = _Tables(schedule, constants, tables(model, schedule), pad(schedule.slots))
        return self._tables[cut.blocks]


def cut_for(n: int, batch: int, processors: int, clusters: bool, additions: bool = False) -> chains.Cut:
    """Return the group of blocks for each of `batch` robots of n bodies, see `chains.Cut`."""
    count = blocks(n, batch, processors, clusters)
    return chains.Cut(count, count > 1, WARPS, additions)


def schedule_of(model: Model, cut: chains.Cut) -> Schedule:
    """Return the schedule of a model for a group of that cut."""
    return schedule(model.parent.tolist(), model.kind.tolist(), cut.blocks * WARPS)


def workspace(schedule: Schedule, balls: bool) -> int:
    """Return the numbers of a group's workspace."""
    bodies = fields(balls)["FIELDS"] * pad(schedule.slots)
    return bodies + chains.ELEMENT * schedule.elements + chains.MAP * schedule.maps


def warp_room(schedule: Schedule, cut: chains.Cut) -> int:
    """Return the numbers of a warp in shared memory."""
    return max(schedule.longest * cut.link, 2 * chains.ELEMENT) + chains.SCRATCH if schedule.elements else 0


def pad(slots: int) -> int:
    """Return the stride between the numbers of a place, padded so that rows are aligned."""
    return -(-slots // 32) * 32


def by_places(constants: np.ndarray, schedule: Schedule, dtype: np.dtype[Any]) -> np.ndarray:
    """Return packed constants (…, n + 1, CONSTANTS) in the layout of memory.cuh: (…, CONSTANTS, stride)."""
    rows = np.zeros((*constants.shape[:-2], CONSTANTS, pad(schedule.slots)), dtype)
    rows[..., : len(schedule.body)] = np.swapaxes(constants[..., schedule.body, :], -1, -2)
    return rows


def tables(model: Model, schedule: Schedule) -> tuple[Any, ...]:
    """Return the schedule's tables on the GPU, in the kernel's order, without its warps' first steps."""
    stride, n = pad(schedule.slots), len(schedule.body)
    bodies = np.zeros((5, stride), np.int32)
    of_model = (x[schedule.body] for x in (model.kind, model.q_start, model.v_start))
    bodies[:, :n] = np.stack([*of_model, schedule.parent, schedule.body])
    ancestors = np.full((*schedule.ancestors.shape[:2], stride), -1, np.int32)
    ancestors[..., :n] = schedule.ancestors
    every = bodies, schedule.first_share, schedule.shares, ancestors, schedule.links, schedule.program
    return tuple(arrays.to_device(_not_empty(x)) for x in every)


def _not_empty(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x if x.size else np.zeros(4, x.dtype))


def preamble(balls: bool, wrenches: bool = False) -> str:
    """Return the preamble of memory.cuh beside that of chains/dca.cuh; `wrenches`: external ones act on bodies."""
    tasks = ["namespace task {", *header.numbers({task.name: task.value for task in Task}), "}"]
    numbers = header.numbers({**fields(balls), "INERTIA_NUMBERS": _INERTIA})
    return "\n".join([*tasks, *numbers, *header.flags({"BALLS": balls, "HAS_WRENCHES": wrenches})])


@lru_cache(maxsize=32)
def _kernel(cut: chains.Cut, dtype: str, balls: bool) -> compiler.Kernel:
    return chains.kernel(cut, "trees/dca.cu", f"tree_dca<{compiler.REAL[dtype]}>", preamble(balls))
