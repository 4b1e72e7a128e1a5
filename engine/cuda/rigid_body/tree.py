"""A robot's tree for kernels with a thread a robot: the preamble of tree.cuh."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from engine.cuda.rigid_body import joint_space
from engine.cuda.runtime import header
from engine.cuda.runtime.compiler import Module
from engine.model import FREE, REVOLUTE, SPHERICAL, Model
from engine.model.joints import NQ, NV
from engine.model.layout import pack, pack_coupling

CONSTANT_MEMORY = 44 * 1024
"""The most bytes of a model in constant memory, which has 64 KiB, including the tree's tables."""
_IN_CONSTANT_MEMORY, _ALL_IN_CONSTANT_MEMORY = 256, 128  # bodies whose tables fit; with those of M and of mimic joints
_JOINT, _WRENCH, _EFFORT, _OWN_U = 0, 2, 8, 9  # of a body with one coordinate, see tree.cuh
_FREE_WRENCH, _FREE_EFFORT, _FREE_SLOTS = 7, 13, 19
_BALL_U, _BALL_ZW, _BALL_OWN_U = 11, 23, 25
_BRANCH_SLOTS = 27
_NOTHING = np.zeros(1)  # a table that the model's kernels do not read


class Layout:
    """The layout of one robot's slots.

    A mimic joint's body shares its leader's places in q and v; `factor` and `offset` give its coordinate. With
    `matrices`, the rows of M (`joint_space`) follow the slots of the tree passes, `matrices` times; with `has_rows`
    alone they are defined without slots.
    """

    def __init__(self, model: Model, additions: bool = False, matrices: int = 0, has_rows: bool = False):
        self.parent, self.kind, q_start, v_start = pack(model).topology.T
        self.coupling = coupling = pack_coupling(model)
        self.q_start, self.v_start = coupling.q_index[q_start], coupling.v_index[v_start]
        self.factor, self.offset = coupling.q_factor[q_start], coupling.q_offset[q_start]
        n = len(self.parent)
        self.follows, self.mimic = np.zeros(n, bool), model.has_mimic
        for joint in model.joints:
            self.follows[joint.bodies] = joint.leader is not None
        self.body_slots, self.ball_slots = _OWN_U + additions, _BALL_OWN_U + 3 * additions
        free, ball = self.kind == FREE, self.kind == SPHERICAL
        widths = np.where(free, _FREE_SLOTS, np.where(ball, self.ball_slots, self.body_slots))
        self.first = np.cumsum(widths) - widths
        elsewhere = (self.parent >= 0) & (self.parent != np.arange(n) - 1)
        self.branch = np.full(n, -1)
        branching = np.unique(self.parent[elsewhere])
        self.branch[branching] = np.arange(len(branching))
        youngest = {int(p): i for i, p in enumerate(self.parent)}
        self.last = np.array([youngest[int(p)] == i for i, p in enumerate(self.parent)])
        self.branch_start = int(widths.sum())
        self.matrix = self.branch_start + _BRANCH_SLOTS * len(branching)
        self.rows = joint_space.rows(model) if matrices or has_rows else None
        self.matrices = matrices
        self.slots = self.matrix + (matrices * self.rows.numbers if self.rows else 0)
        self.nq, self.nv, self.tree_nq, self.tree_nv = model.nq, model.nv, model.tree_nq, model.tree_nv
        self.serial = not elsewhere.any() and int((self.parent < 0).sum()) == 1

    def joint(self) -> np.ndarray:
        """The slot of each coordinate, (tree_nq,)."""
        of_ball = np.array([0, 1, _BALL_ZW, _BALL_ZW + 1])
        runs = (of_ball if kind == SPHERICAL else np.arange(NQ[kind]) for kind in self.kind)
        return np.concatenate([first + _JOINT + run for first, run in zip(self.first, runs, strict=True)])

    def rate(self) -> np.ndarray:
        """The input slot of each velocity, (tree_nv,), in its body's wrench."""
        return self._per_velocity(_WRENCH, _FREE_WRENCH)

    def effort(self) -> np.ndarray:
        """The slot of each force or acceleration, (tree_nv,)."""
        return self._per_velocity(_EFFORT, _FREE_EFFORT)

    def result(self) -> np.ndarray:
        """The slot of each result, (nv,): with M its right-hand side, else that of the leader's force."""
        if self.rows and self.matrices:
            return np.asarray(self.matrix + self.rows.start)
        return np.asarray(self.effort()[np.repeat(~self.follows, NV[self.kind])])

    def _per_velocity(self, slot: int, free_slot: int) -> np.ndarray:
        start = self.first + np.where(self.kind == FREE, free_slot, slot)
        return np.concatenate([first + np.arange(n) for first, n in zip(start, NV[self.kind], strict=True)])


def preamble(
    model: Model, dtype: str, additions: bool = False, matrices: int = 0, has_rows: bool = False,
    diverges: bool = False,
) -> str:  # fmt: skip
    """Return the C++ text of `model` for tree.cuh, and with `matrices` or `has_rows` for ltdl.cuh.

    `diverges`: the lanes of a warp are at different bodies, so no table is in constant memory.
    """
    at = Layout(model, additions, matrices, has_rows)
    n = len(at.parent)
    numbers = {
        "BODIES": n,
        "NQ": at.nq,
        "NV": at.nv,
        "TREE_NQ": at.tree_nq,
        "TREE_NV": at.tree_nv,
        "SLOTS": at.slots,
        "MATRIX": at.matrix,
        "MATRIX_SLOTS": at.rows.numbers if at.rows and matrices else 0,
        "BRANCH_START": at.branch_start,
        "ONE_KIND": int(at.kind[0]) if len(set(at.kind)) == 1 else -1,
        "CONSTANT_BYTES": constant_bytes(model, dtype),
    }
    slots = {
        "JOINT": _JOINT, "WRENCH": _WRENCH, "EFFORT": _EFFORT, "OWN_U": _OWN_U, "BODY_SLOTS": at.body_slots,
        "FREE_WRENCH": _FREE_WRENCH, "FREE_EFFORT": _FREE_EFFORT, "FREE_SLOTS": _FREE_SLOTS,
        "BALL_U": _BALL_U, "BALL_ZW": _BALL_ZW, "BALL_OWN_U": _BALL_OWN_U, "BALL_SLOTS": at.ball_slots,
        "BRANCH_SLOTS": _BRANCH_SLOTS,
    }  # fmt: skip
    flags = {
        "SERIAL": at.serial,
        "SCALAR": bool(np.all(NV[at.kind] == 1)) and not at.mimic,
        "HAS_MIMIC": at.mimic,
        "JOINT_SPACE": matrices > 0,
        "ADDITIONS": additions,
        "HAS_BALLS": bool(np.any(at.kind == SPHERICAL)),
    }
    most = (_IN_CONSTANT_MEMORY, _ALL_IN_CONSTANT_MEMORY)
    space, more = ("__constant__" if n <= one and not diverges else "__device__" for one in most)
    by_body = {
        "PARENT": at.parent, "KIND": at.kind, "Q_START": at.q_start, "V_START": at.v_start,
        "FIRST_SLOT": at.first, "BRANCH": at.branch, "LAST": at.last,
    }  # fmt: skip
    by_velocity = ("ROW_START", "ROW_LEVEL", "ROW_PARENT")
    rows = (at.rows.start, at.rows.level, at.rows.parent) if at.rows else (_NOTHING,) * 3
    turns = np.repeat(at.kind == REVOLUTE, NQ[at.kind])
    by_coordinate = {
        "Q_SLOT": at.joint(), "TURNS": turns, "V_SLOT": at.rate(), "FORCE_SLOT": at.effort(),
        "RESULT_SLOT": at.result(),
    }  # fmt: skip
    return "\n".join(
        [
            *header.numbers(numbers | slots),
            *header.flags(flags),
            *(_table(space, name, values) for name, values in by_body.items()),
            *(_table(more, name, values) for name, values in zip(by_velocity, rows, strict=True)),
            *(_table("__device__", name, values) for name, values in by_coordinate.items()),
            *_mimics(at, more),
        ]
    )


def _mimics(at: Layout, space: str) -> Iterable[str]:
    """The tables of a model with mimic joints: by body, and by the tree's coordinates and velocities."""
    own = at.coupling
    whole = {"Q_INDEX": own.q_index, "V_INDEX": own.v_index}
    real = {"Q_FACTOR": own.q_factor, "Q_OFFSET": own.q_offset, "V_FACTOR": own.v_factor}
    yield _table(space, "FOLLOWS", at.follows if at.mimic else _NOTHING)
    for name, values in (("FACTOR", at.factor), ("OFFSET", at.offset)):
        yield _table(space, name, values if at.mimic else _NOTHING, "double")
    for name, values in whole.items():
        yield _table("__device__", name, values if at.mimic else _NOTHING)
    for name, values in real.items():
        yield _table("__device__", name, values if at.mimic else _NOTHING, "double")


def constant_bytes(model: Model, dtype: str) -> int:
    """Return the bytes of the model's constants in constant memory; 0 where they do not fit."""
    size = -(-pack(model, dtype).constants.nbytes // 16) * 16
    return size if size <= CONSTANT_MEMORY else 0


def _table(space: str, name: str, values: np.ndarray, kind: Literal["int", "double"] = "int") -> str:
    numbers = ", ".join(map(repr, values.astype(int if kind == "int" else float).tolist()))
    return f"[[maybe_unused]] {space} constexpr {kind} {name}[] = {{{numbers}}};"


def fill_constant_memory(module: Module, model: Model, dtype: str) -> None:
    """Copy the model's constants to a module's constant memory, if its kernels read them there."""
    import cupy

    if constant_bytes(model, dtype) == 0:
        return
    constants = pack(model, dtype).constants
    cupy.ndarray(constants.shape, dtype, module.symbol("constant_memory")).set(constants)
