"""What the passes over a tree share: a body's inertia and momentum from its constants, and the columns of its joint."""

from __future__ import annotations

from engine.compile import inline
from engine.kernels import spatial
from engine.kernels.spatial import add
from engine.model import FREE, REVOLUTE, SPHERICAL, layout
from engine.model.joints import BODY_JOINTS

NQ = tuple(BODY_JOINTS[kind].nq for kind in range(len(BODY_JOINTS)))
NV = tuple(BODY_JOINTS[kind].nv for kind in range(len(BODY_JOINTS)))
AXIS = tuple(BODY_JOINTS[kind].columns[0] for kind in range(len(BODY_JOINTS)))
ZERO = (0.0, 0.0, 0.0)


@inline
def rigid_inertia(c):
    """J of a body, as its blocks."""
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
def joint_rate(kind, v, at):
    """S q̇, from v[at…]."""
    if kind == REVOLUTE:
        return (0.0, 0.0, v[at]), ZERO
    if kind == FREE:
        return (v[at], v[at + 1], v[at + 2]), (v[at + 3], v[at + 4], v[at + 5])
    if kind == SPHERICAL:
        return (v[at], v[at + 1], v[at + 2]), ZERO
    return ZERO, (0.0, 0.0, v[at])


@inline
def total(a, b):
    """The sum of two sixes."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@inline
def total9(a, b):
    """The sum of two nines."""
    x, y = total(a, b), add((a[6], a[7], a[8]), (b[6], b[7], b[8]))
    return x[0], x[1], x[2], x[3], x[4], x[5], y[0], y[1], y[2]
