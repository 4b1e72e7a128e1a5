"""Coordinates of a tree's bodies from the coordinates of a robot, some shared by mimic joints; and the divergence
check."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import parallel_range
from engine.step_settings import DIVERGED


@kernel
def expand(q, q_index, q_factor, q_offset, out):
    """G q + g₀ of one robot: (nq,) -> (tree_nq,)."""
    for i in parallel_range(out.size):
        out[i] = q_factor[i] * q[q_index[i]] + q_offset[i]


@inline
def is_bounded(v):
    """Whether every velocity of v (nv,) is a number below `DIVERGED`."""
    bounded = True
    for k in range(v.shape[0]):
        bounded = abs(v[k]) < DIVERGED and bounded
    return bounded
