"""A body's inertia and momentum from its constants, and its joint's columns, for the passes over a tree."""

from __future__ import annotations

from engine.compile import inline
from engine.kernels import spatial
from engine.model import FREE, REVOLUTE, SPHERICAL, layout
from engine.model.joints import BODY_JOINTS

NQ = tuple(BODY_JOINTS[kind].nq for kind in range(len(BODY_JOINTS)))
NV = tuple(BODY_JOINTS[kind].nv for kind in range(len(BODY_JOINTS)))
AXIS = tuple(BODY_JOINTS[kind].columns[0] for kind in range(len(BODY_JOINTS)))
ZERO = (0.0, 0.0, 0.0)


@inline
def rigid_inertia(c):
    """The blocks of J of a body."""
    x, y, z, m = c[layout.FIRST_MOMENT], c[layout.FIRST_MOMENT + 1], c[layout.FIRST_MOMENT + 2], c[layout.MASS]
    k = layout.INERTIA
    A = c[k], c[k + 1], c[k + 2], c[k + 3], c[k + 4], c[k + 5]
    return A, (0.0, -z, y, z, 0.0, -x, -y, x, 0.0), (m, 0.0, 0.0, m, 0.0, m)


@inline
def momentum(c, o, v):
    """J (o, v)."""
    k, h = layout.INERTIA, (c[layout.FIRST_MOMENT], c[layout.FIRST_MOMENT + 1], c[layout.FIRST_MOMENT + 2])
    full = c[k], c[k + 1], c[k + 2], c[k + 1], c[k + 3], c[k + 4], c[k + 2], c[k + 4], c[k + 5]
    return spatial.momentum(c[layout.MASS], h, full, o, v)


@inline
def joint_rate(kind, v, start):
    """S q̇, from v[start…]."""
    if kind == REVOLUTE:
        return (0.0, 0.0, v[start]), ZERO
    if kind == FREE:
        return (v[start], v[start + 1], v[start + 2]), (v[start + 3], v[start + 4], v[start + 5])
    if kind == SPHERICAL:
        return (v[start], v[start + 1], v[start + 2]), ZERO
    return ZERO, (0.0, 0.0, v[start])
