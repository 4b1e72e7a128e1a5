"""Support functions of shapes and of their Minkowski difference.

The difference of two shapes is all x_a − x_b: they overlap where it contains the origin; otherwise their distance is
its distance from the origin. Spheres and capsules count without their radius: as a point and a segment.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.spatial import add, dot, load3, load9, mul, mul_t, scale, store3, sub
from engine.scene.shapes import BOX, CAPSULE, CYLINDER, HULL


@inline
def core_radius(k, shapes):
    """The radius of a shape about its core point or segment."""
    return shapes.size[k, 0] if shapes.kind[k] <= CAPSULE else 0.0


@inline
def _signed(x, half):
    return half if x >= 0.0 else -half


@inline
def begin_support(a, b, shapes, ws):
    """Set the corner at which the first search for a hull's support corner begins; later ones begin at the last
    result."""
    for side in range(2):
        k = a if side == 0 else b
        if shapes.kind[k] == HULL:
            ws.farthest[side] = shapes.loop[shapes.first_loop[shapes.first_face[k]]]


@inline
def _support_corner(side, shapes, e, ws):
    """The support corner of a hull along e, by a walk to farther neighbours."""
    best = ws.farthest[side]
    largest = dot(load3(shapes.vertices[best]), e)
    corner = -1
    while corner != best:
        corner = best
        for k in range(shapes.first_neighbour[corner], shapes.first_neighbour[corner + 1]):
            v = shapes.neighbour[k]
            along = dot(load3(shapes.vertices[v]), e)
            if along > largest:
                best, largest = v, along
    ws.farthest[side] = best
    return best


@kernel
def facing(side, shapes, e, ws):
    """The face most aligned with e among those at the hull's support corner along e, in its own frame."""
    v = _support_corner(side, shapes, e, ws)
    best, largest = -1, -2.0
    for k in range(shapes.first_face_at[v], shapes.first_face_at[v + 1]):
        f = shapes.face_at[k]
        along = dot(load3(shapes.plane[f]), e)
        if along > largest:
            best, largest = f, along
    return best


@kernel
def _support(k, side, shapes, rotation, e, ws):
    """Compute the support point of a shape along e, relative to its origin, into `support`."""
    R = load9(rotation[k])
    e = mul_t(R, e)
    kind, size = shapes.kind[k], load3(shapes.size[k])
    x = (0.0, 0.0, 0.0)
    if kind == CAPSULE:
        x = (0.0, 0.0, _signed(e[2], 0.5 * size[1]))
    elif kind == BOX:
        x = (_signed(e[0], 0.5 * size[0]), _signed(e[1], 0.5 * size[1]), _signed(e[2], 0.5 * size[2]))
    elif kind == CYLINDER:
        across = np.sqrt(e[0] * e[0] + e[1] * e[1])
        factor = size[0] / across if across > 0.0 else 0.0
        x = (factor * e[0], factor * e[1], _signed(e[2], 0.5 * size[1]))
    elif kind == HULL:
        x = load3(shapes.vertices[_support_corner(side, shapes, e, ws)])
    store3(ws.support[side], mul(R, x))


@inline
def farthest(a, b, shapes, rotation, d, e, ws):
    """The support point of the difference along e, and the first shape's part of it; the first is at d, the other at
    0."""
    _support(a, 0, shapes, rotation, e, ws)
    _support(b, 1, shapes, rotation, scale(-1.0, e), ws)
    x = add(d, load3(ws.support[0]))
    return sub(x, load3(ws.support[1])), x


@inline
def gap_along(a, b, shapes, rotation, d, n, ws):
    """The gap of the shapes along n, negative where they overlap; at most their distance for any n."""
    return dot(n, farthest(a, b, shapes, rotation, d, scale(-1.0, n), ws)[0])
