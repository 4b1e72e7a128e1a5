"""Contacts of spheres with boxes and cylinders, in closed form. The sphere is at o + d, the other shape at o."""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.kernels.collision.pair_workspace import put_between
from engine.kernels.collision.spheres import CLOSEST, clamped
from engine.kernels.spatial import add, dot, mul, mul_t, scale, sub


@inline
def _put(d, o, R, n, length, radius, reach, contacts):
    """Store the contact along n in the other shape's frame, given the centre's distance from its surface."""
    gap = length - radius
    if gap > reach:
        return 0
    put_between(contacts, 0, add(o, d), mul(R, n), gap, radius, CLOSEST)
    return 1


@inline
def sphere_box(d, size, R, o, radius, reach, contacts):
    """Find the contact of a sphere and a box with edges `size`; from inside the normal is the nearest side's."""
    x, half = mul_t(R, d), scale(0.5, size)
    out = sub(x, (clamped(x[0], half[0]), clamped(x[1], half[1]), clamped(x[2], half[2])))
    length = np.sqrt(dot(out, out))
    n = (0.0, 0.0, 0.0)
    if length > 0.0:
        n = scale(1.0 / length, out)
    else:
        depth = half[0] - abs(x[0]), half[1] - abs(x[1]), half[2] - abs(x[2])
        if depth[0] <= depth[1] and depth[0] <= depth[2]:
            n, length = ((1.0 if x[0] >= 0.0 else -1.0), 0.0, 0.0), -depth[0]
        elif depth[1] <= depth[2]:
            n, length = (0.0, (1.0 if x[1] >= 0.0 else -1.0), 0.0), -depth[1]
        else:
            n, length = (0.0, 0.0, (1.0 if x[2] >= 0.0 else -1.0)), -depth[2]
    return _put(d, o, R, n, length, radius, reach, contacts)


@inline
def sphere_cylinder(d, wide, high, R, o, radius, reach, contacts):
    """Find the contact of a sphere and a cylinder; from inside the normal is the mantle's or an end's."""
    x = mul_t(R, d)
    across = np.sqrt(x[0] * x[0] + x[1] * x[1])
    e = (x[0] / across, x[1] / across, 0.0) if across > 0.0 else (1.0, 0.0, 0.0)
    side, end = across - wide, abs(x[2]) - 0.5 * high
    up = 1.0 if x[2] >= 0.0 else -1.0
    if side <= 0.0 and end <= 0.0:
        n, length = (e if side >= end else (0.0, 0.0, up)), max(side, end)
    else:
        a, b = max(side, 0.0), max(end, 0.0)
        length = np.sqrt(a * a + b * b)
        n = add(scale(a / length, e), (0.0, 0.0, up * b / length))
    return _put(d, o, R, n, length, radius, reach, contacts)
