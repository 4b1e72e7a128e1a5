"""Coordinates of a tree's bodies from the coordinates of a robot, some shared by mimic joints."""

from __future__ import annotations

from engine.compile import kernel
from engine.compile.operations import parallel_range


@kernel
def expand(q, q_index, q_factor, q_offset, out):
    """C q + q₀ of one robot: (nq,) -> (tree_nq,)."""
    for i in parallel_range(out.size):
        out[i] = q_factor[i] * q[q_index[i]] + q_offset[i]
