"""JSIIA on the GPU for any model, [Y] (6), (7): a block a robot (`jsiia.cu`), or for many small ones a thread each.

Serial chains have thread groups of their own, see `chains.jsiia`, unless there are many.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from engine.cuda.chains import jsiia as chains
from engine.cuda.rigid_body import joint_space, thread_per_robot
from engine.cuda.runtime import arrays, compiler, device, header
from engine.model import Model, features
from engine.model.joints import BODY_JOINTS
from engine.model.layout import pack, pack_coupling

BODY_NUMBERS, WRENCH = 28, 6
"""Numbers of a body, and of a velocity of the tree, in a block's workspace."""
_THREADS = ((0, 64), (256, 128), (1024, 256), (16384, 512))
"""The threads of a block, by the entries of M from which they pay."""
_MAX_THREADS = _THREADS[-1][1]
_RESERVED = 1024
"""Bytes of shared memory reserved in every block."""
_MANY, _MANY_CHAINS = ((16, 1), (64, 12)), ((24, 32),)
"""Pairs: a thread per robot is faster up to this nv, from that many robots per multiprocessor on."""


Made = TypeVar("Made", bound="BlockPerRobot | chains.Jsiia | thread_per_robot.Jsiia")


def in_threads(model: Model, batch: int) -> bool:
    """Return whether JSIIA is faster by a thread a robot for a batch."""
    limits = _MANY_CHAINS if features.serial(model) else _MANY
    many = next((many for most, many in limits if model.nv <= most), device.MAX_ROBOTS)
    return batch >= many * int(device.properties()["multiProcessorCount"])


class Tables(NamedTuple):
    """The tables of a model for `jsiia.cu`, in its order: rows of M are numbered depth first by their paths."""

    bodies: np.ndarray
    children: np.ndarray
    child: np.ndarray
    by_depth: np.ndarray
    first_of_depth: np.ndarray
    velocities: np.ndarray
    rows: np.ndarray
    by_level: np.ndarray
    first_of_level: np.ndarray
    entries: np.ndarray
    first_part: np.ndarray
    parts: np.ndarray
    q_index: np.ndarray
    v_index: np.ndarray


def tables(model: Model) -> Tables:
    """Return the tables of a model with joints."""
    topology, coupling = pack(model).topology, pack_coupling(model)
    parent, kind = topology[:, 0], topology[:, 1]
    number, end = depth_first(parent)
    first_child, child = _grouped(parent, len(parent))
    children = np.stack([first_child[:-1], first_child[1:], number, end], 1)
    by_depth, first_of_depth = _by(_levels(parent))
    axes = [(i, axis) for i, k in enumerate(kind) for axis in BODY_JOINTS[int(k)].columns]
    above = joint_space.rows(model).parent
    row, last = depth_first(above)
    own = np.argsort(row)
    before = np.where(above[own] >= 0, row[above[own]], -1)
    level = _levels(before) + 1
    by_level, first_of_level = _by(level)
    width = level[by_level] + 1
    start = np.empty(len(row), np.int64)
    start[by_level] = np.cumsum(width) - width
    paths: list[np.ndarray] = []
    for p, up in enumerate(before):
        paths.append(np.append(paths[up] if up >= 0 else -1, p))
    columns = np.concatenate([paths[p] for p in by_level])
    first_part, parts = _grouped(row[coupling.v_index], len(row))
    return Tables(
        topology[:, [1, 0, 2, 3]], children, child, by_depth, first_of_depth, np.array(axes),
        np.stack([start, level, last[own], own], 1), by_level, first_of_level,
        np.stack([np.repeat(by_level, width), columns], 1), first_part, parts, coupling.q_index, coupling.v_index,
    )  # fmt: skip


def pack_tables(model: Model, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the integer tables with their offsets first, and constants and G as reals."""
    integers, own = [np.asarray(x).ravel() for x in tables(model)], pack_coupling(model, dtype)
    first = np.cumsum([len(integers), *(x.size for x in integers)])[:-1]
    reals = pack(model, dtype).constants.ravel(), own.q_factor, own.q_offset, own.v_factor
    return np.concatenate([first, *integers]), np.concatenate(reals)


def depth_first(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each node's depth-first number, and the end of its subtree. Parents precede children."""
    size = np.ones(len(parent), np.int64)
    for i in range(len(parent) - 1, -1, -1):
        if parent[i] >= 0:
            size[parent[i]] += size[i]
    number, roots = np.zeros(len(parent), np.int64), 0
    free = np.zeros(len(parent), np.int64)  # the next free number in a node's subtree
    for i, above in enumerate(parent):
        number[i] = roots if above < 0 else free[above]
        if above < 0:
            roots += size[i]
        else:
            free[above] += size[i]
        free[i] = number[i] + 1
    return number, number + size


def _levels(parent: np.ndarray) -> np.ndarray:
    """Return the depth of each node."""
    level = np.zeros(len(parent), np.int64)
    for i, above in enumerate(parent):
        if above >= 0:
            level[i] = level[above] + 1
    return level


def _by(level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes by levels, and the offsets of the levels with the end of the last."""
    return np.argsort(level, kind="stable"), np.append(0, np.cumsum(np.unique(level, return_counts=True)[1]))


def _grouped(key: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets of the groups with the end of the last, and their members; keys below 0 are in none."""
    members = np.argsort(key, kind="stable")[np.sum(key < 0) :]
    return np.searchsorted(key[members], np.arange(groups + 1)), members


class BlockPerRobot:
    """``(q, v, tau, out)``: q̈ of robots, a block each, for contiguous CuPy arrays."""

    def __init__(self, model: Model, dtype: str):
        self._model, self._type = model, np.dtype(dtype)
        whole, reals = pack_tables(model, dtype)
        self._tables = arrays.to_device(reals, dtype), arrays.to_device(whole, "int32")
        indices = tables(model)
        entries, depths, levels = len(indices.entries), len(indices.first_of_depth) - 1, len(indices.first_of_level) - 1
        n, tree_nv, nv = len(model.parent), model.tree_nv, model.nv
        self._sizes = len(reals), len(whole), n, model.tree_nq, tree_nv, model.nq, nv, entries, depths, levels
        self._room = BODY_NUMBERS * n + WRENCH * tree_nv + entries + 2 * nv
        self._threads = next(threads for least, threads in reversed(_THREADS) if entries >= least)
        size, most = self._type.itemsize, device.properties()["sharedMemPerBlockOptin"]
        staged = size * (self._room + len(reals)) + 4 * len(whole)
        own = size * self._room
        self._shared = next((bytes for bytes in (staged, own) if bytes <= most), 0)
        self._kernel = _kernel(dtype, model.has_mimic, self._shared == staged)
        self._launches: dict[int, compiler.Launch] = {}

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        (self._launches.get(len(q)) or self.prepare(len(q)))(q, v, tau, out)

    def prepare(self, batch: int) -> compiler.Launch:
        """Return the launch for a batch of `batch` robots, with its workspace. Raises MemoryError."""
        device.require_count(batch)
        facts, size = device.properties(), self._type.itemsize
        held = min(1024 // self._threads, facts["sharedMemPerMultiprocessor"] // (self._shared + _RESERVED))
        blocks = min(batch, facts["multiProcessorCount"] * max(1, held))
        workspace: Any = np.uint64(0)
        if not self._shared:
            device.require_memory(blocks * self._room * size, f"mass matrices of {blocks} robots {self._model.name}")
            workspace = arrays.empty((blocks * self._room,), self._type.name)
        sizes = (np.int32(x) for x in (*self._sizes, batch))
        rest = *self._tables, *sizes, workspace, np.int64(self._room)
        launch = compiler.Launch(self._kernel, blocks, self._threads, 4, rest, self._shared)
        self._launches[batch] = launch
        return launch


class Jsiia:
    """``jsiia(q, v, tau, out)``: q̈ of any model with joints, for contiguous CuPy arrays (batch, …).

    q̈ is NaN where rounding makes a mass matrix indefinite.
    """

    def __init__(self, model: Model, dtype: str = "float64"):
        self._model, self._dtype, self._serial = model, dtype, features.serial(model)

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        self._for(len(q))(q, v, tau, out)

    def prepare(self, batch: int) -> None:
        """Allocate the workspace of a batch of `batch` robots. Raises MemoryError."""
        self._for(batch).prepare(batch)

    def _for(self, batch: int) -> BlockPerRobot | chains.Jsiia | thread_per_robot.Jsiia:
        return self._threads if in_threads(self._model, batch) else self._groups

    @cached_property
    def _groups(self) -> BlockPerRobot | chains.Jsiia:
        made = chains.Jsiia if self._serial else BlockPerRobot
        return _copied(made(self._model, self._dtype))

    @cached_property
    def _threads(self) -> thread_per_robot.Jsiia:
        return _copied(thread_per_robot.Jsiia(self._model, self._dtype))


def _copied(made: Made) -> Made:
    """Wait until the model's tables are copied, for calls on any stream. Returns `made`."""
    arrays.wait()
    return made


@lru_cache(maxsize=8)
def _kernel(dtype: str, mimic: bool, staged: bool) -> compiler.Kernel:
    name = f"tree_jsiia<{compiler.REAL[dtype]}, {str(mimic).lower()}, {str(staged).lower()}>"
    numbers = header.numbers({"BODY_NUMBERS": BODY_NUMBERS, "MAX_THREADS": _MAX_THREADS})
    return compiler.load("trees/jsiia.cu", [name], "\n".join(numbers)).function(name)
