"""The bodies of one robot in the world, and the frames of contacts there."""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.cpu.rigid_body import workspace as at
from engine.kernels.spatial import add, cross, load3, load9, matmul, mul, scale, store3, store9, sub


@kernel
def world_poses(topology, w, rotation, position):
    """The bodies' rotations (n, 9) and positions (n, 3) in the world, from those in their parents in w. One lane."""
    for i in range(topology.shape[0]):
        R, p, parent = load9(w[i], at.R, 1), load3(w[i], at.P, 1), topology[i, 0]
        if parent >= 0:
            above = load9(rotation[parent], 0, 1)
            p = add(load3(position[parent], 0, 1), mul(above, p))
            R = matmul(above, R)
        store9(rotation[i], 0, 1, R)
        store3(position[i], 0, 1, p)


@inline
def tangents(n):
    """Two unit vectors t₁, t₂ with n × t₁ = t₂, the same ones for the same n."""
    e = (0.0, 1.0, 0.0) if abs(n[0]) > 0.9 else (1.0, 0.0, 0.0)
    along = n[0] * e[0] + n[1] * e[1] + n[2] * e[2]
    t = sub(e, scale(along, n))
    t = scale(1.0 / np.sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]), t)
    return t, cross(n, t)
