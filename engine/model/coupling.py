"""`Coupling`: the coordinates of a tree's joints, mimic joints among them, from a robot's independent coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.lie import Array

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Coupling:
    """``q_tree = C q + q₀`` as gathers: each tree coordinate depends on one independent coordinate."""

    q_index: Indices
    q_scale: Array
    q_offset: Array
    v_index: Indices
    v_scale: Array
    nv: int

    def expand_q(self, q: Array) -> Array:
        """Map q, (..., nq) -> (..., tree_nq)."""
        return q[..., self.q_index] * self.q_scale + self.q_offset

    def expand_v(self, v: Array) -> Array:
        """Map v or v̇, (..., nv) -> (..., tree_nv); C is constant."""
        return v[..., self.v_index] * self.v_scale

    @cached_property
    def C(self) -> Array:
        """The matrix C (tree_nv, nv)."""
        C = np.zeros((len(self.v_index), self.nv))
        C[np.arange(len(self.v_index)), self.v_index] = self.v_scale
        return C
