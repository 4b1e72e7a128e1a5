"""The arrays of a robot of any shape for the algorithms: its bodies, and their decomposition into paths.

A body's *heavy* child is the one with the largest subtree. Following heavy children gives paths; a path starts at each
body that is not its parent's heavy child. Such a body has less than half of its parent's subtree, so at most log₂ n + 1
paths lie between a body and the base (Sleator and Tarjan 1983).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from engine import lie
from engine.blocks.arrays import t
from engine.blocks.stages import stage
from engine.lie import Array
from engine.model import PRISMATIC, REVOLUTE, Model
from engine.model.features import Feature, first_occurrence
from engine.model.joints import BODY_JOINTS

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Level:
    """Independent paths at the same depth in the tree of paths.

    `bodies` (paths, length) are the bodies from the base outwards, padded with −1; `parent` (paths,) is the parent of
    the first body, −1 for the base.
    """

    bodies: Indices
    parent: Indices

    @cached_property
    def filled(self) -> Indices:
        """Indices into `bodies`, row by row, that are not padding."""
        return np.flatnonzero(self.bodies >= 0)

    @cached_property
    def places(self) -> list[int]:
        """All bodies of the level, path by path."""
        return [int(body) for body in self.bodies.reshape(-1) if body >= 0]


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of n bodies with any joints of the joint table.

    ============  ===========  ==================================================================
    name          shape        meaning
    ============  ===========  ==================================================================
    S             (n, 6, 6)    motion subspaces, a column per velocity; unused columns are zero
    J             (n, 6, 6)    spatial inertias about the bodies' origins
    a0            (6,)         the base's acceleration against free fall, (0, −gravity)
    place         (n, 6)       indices of a body's velocities in v; nv for unused ones
    levels                     `Level` records, the paths that start at the base first
    ============  ===========  ==================================================================
    """

    model: Model
    S: Array
    J: Array
    a0: Array
    place: Indices
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, model: Model, xp: ModuleType = np, dtype: str = "float64") -> Tree:
        """Return the tree of a model as arrays of the library `xp` (numpy or cupy).

        Raises ValueError, with the place and an alternative, for mimic joints, for a robot without joints, or for a
        body whose own inertia gives a singular joint inertia.
        """
        _refuse(model)
        n = len(model.parent)
        S, place = np.zeros((n, 6, 6)), np.full((n, 6), model.nv)
        for i, (kind, start) in enumerate(zip(model.kind.tolist(), model.v_start.tolist(), strict=True)):
            for j, axis in enumerate(BODY_JOINTS[kind].columns):
                S[i, axis, j], place[i, j] = 1.0, start + j
        a0 = np.concatenate([np.zeros(3), -model.gravity])
        S, J, a0 = (xp.asarray(np.ascontiguousarray(array, dtype)) for array in (S, model.J, a0))
        return cls(model, S, J, a0, xp.asarray(place), tuple(paths(model.parent)))

    @property
    def n(self) -> int:
        return len(self.S)

    def X(self, q: Array) -> Array:
        """Return Xᵢ = Ad(Tᵢ⁻¹), (batch, n, 6, 6), which transforms twists from the parent to body i, from q (batch,
        nq).
        """
        model = self.model
        R = np.zeros_like(q, shape=(len(q), self.n, 3, 3)) + np.asarray(model.home_rotation.astype(q.dtype), like=q)
        p = np.zeros_like(q, shape=(len(q), self.n, 3)) + np.asarray(model.home_position.astype(q.dtype), like=q)
        home = R.copy()
        for kind, joint in BODY_JOINTS.items():
            i = np.flatnonzero(model.kind == kind)
            if len(i) == 0:
                continue
            x = q[:, model.q_start[i][:, None] + np.arange(joint.nq)]
            if kind == REVOLUTE:
                c, s, u, w = np.cos(x), np.sin(x), home[..., 0][:, i], home[..., 1][:, i]
                R[..., 0][:, i], R[..., 1][:, i] = c * u + s * w, c * w - s * u
            elif kind == PRISMATIC:
                p[:, i] += home[..., 2][:, i] * x
            else:
                turn = x[..., joint.quaternion :]
                R[:, i] = home[:, i] @ lie.rotation_from_quaternion(turn / np.linalg.norm(turn, axis=-1, keepdims=True))
                p[:, i] += (home[:, i] @ x[..., : joint.quaternion, None])[..., 0] if joint.quaternion else 0.0
        X = lie.Ad(t(R), -(t(R) @ p[..., None])[..., 0])
        stage("transforms", range(self.n), X)
        return X

    def along(self, x: Array) -> Array:
        """Return S x: each joint's velocities or accelerations as a twist, (batch, nv) -> (batch, n, 6)."""
        return (self.S @ self.gathered(x)[..., None])[..., 0]

    def gathered(self, x: Array) -> Array:
        """Gather (batch, nv) -> (batch, n, 6): each body's values, padded with zeros."""
        padded = np.concatenate([x, np.zeros_like(x[:, :1])], 1)
        return padded[:, self.place]

    def scattered(self, x: Array) -> Array:
        """Scatter (batch, n, 6) -> (batch, nv), the inverse of `gathered`."""
        out = np.zeros_like(x, shape=(len(x), self.model.nv + 1))
        out[:, self.place.reshape(-1)] = x.reshape(len(x), -1)
        return out[:, :-1]


_REFUSED: tuple[tuple[Feature, str], ...] = (("mimic", "jsiia"), ("still", "abia"), ("massless", "abia"))


def _refuse(model: Model) -> None:
    for feature, fix in _REFUSED:
        if why := first_occurrence(feature, model):
            raise ValueError(f"dca does not support {model.name}: {why}; use {fix}")


def paths(parent: Indices) -> list[Level]:
    """Decompose a tree whose bodies come after their parents into levels of paths; see the module."""
    n = len(parent)
    size = np.ones(n, np.int64)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            size[parent[i]] += size[i]
    heavy = np.full(n + 1, -1)
    for i in range(n - 1, -1, -1):
        rival = heavy[parent[i]]
        if parent[i] >= 0 and (rival < 0 or size[i] >= size[rival]):
            heavy[parent[i]] = i
    level = np.zeros(n, np.int64)
    heads = []
    for i in range(n):
        above = parent[i]
        if above >= 0:
            level[i] = level[above] + (heavy[above] != i)
        if above < 0 or heavy[above] != i:
            heads.append(i)
    levels = []
    for k in range(int(level.max()) + 1):
        rows = []
        for head in (i for i in heads if level[i] == k):
            row = [head]
            while heavy[row[-1]] >= 0:
                row.append(int(heavy[row[-1]]))
            rows.append(row)
        bodies = np.full((len(rows), max(map(len, rows))), -1)
        for path, row in zip(bodies, rows, strict=True):
            path[: len(row)] = row
        levels.append(Level(bodies, parent[bodies[:, 0]]))
    return levels
