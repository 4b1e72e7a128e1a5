"""The touching face, edge or corner of a shape, as a polygon projected along the contact normal.

A polygon of two corners is an edge, one of a single corner a point. Coordinates are along t₁, t₂ and n of the contact.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.collision.pair_workspace import RIM
from engine.kernels.collision.support import facing
from engine.kernels.spatial import add, dot, load3, load9, mul, mul_t, scale, store3
from engine.scene.shapes import BOX, CAPSULE, CYLINDER, SPHERE

_END_TOUCHES = 0.5  # the squared cosine between a cylinder's axis and the normal above which its end touches
_EIGHTH = 0.7071067811865476


@inline
def _put(ws, side, k, x, frame, number):
    """Store corner k of a polygon."""
    store3(ws.corner[side, k], mul(frame, x))
    ws.number[side, k] = number


@inline
def _put_plane(ws, side, m, x, frame, disc_radius):
    """Store the plane of a polygon, with outward normal m and through x, and its radius if it is a disc."""
    m = mul(frame, m)
    store3(ws.face[side], m)
    ws.face[side, 3] = dot(m, mul(frame, x))
    ws.face[side, 4] = disc_radius


@inline
def _box(k, side, shapes, R, p, e, frame, ws):
    """The side of a box most aligned with e, in its own frame."""
    size = load3(shapes.size[k])
    x, y, z = abs(e[0]), abs(e[1]), abs(e[2])
    i = 0 if x >= y and x >= z else (1 if y >= z else 2)
    along = 1.0 if (e[0] if i == 0 else (e[1] if i == 1 else e[2])) >= 0.0 else -1.0
    for c in range(4):
        first = along if c == 1 or c == 2 else -along
        second = 1.0 if c >= 2 else -1.0
        corner = (along, first, second) if i == 0 else ((second, along, first) if i == 1 else (first, second, along))
        half = 0.5 * corner[0] * size[0], 0.5 * corner[1] * size[1], 0.5 * corner[2] * size[2]
        number = (1 if corner[0] > 0.0 else 0) + (2 if corner[1] > 0.0 else 0) + (4 if corner[2] > 0.0 else 0)
        _put(ws, side, c, add(p, mul(R, half)), frame, number)
    m = (along if i == 0 else 0.0), (along if i == 1 else 0.0), (along if i == 2 else 0.0)
    middle = 0.5 * m[0] * size[0], 0.5 * m[1] * size[1], 0.5 * m[2] * size[2]
    _put_plane(ws, side, mul(R, m), add(p, mul(R, middle)), frame, 0.0)
    return 4


@inline
def _cylinder(k, side, shapes, R, p, e, frame, ws):
    """The end of a cylinder facing e, in its own frame, or the line on which it lies."""
    radius, half = shapes.size[k, 0], 0.5 * shapes.size[k, 1]
    across = e[0] * e[0] + e[1] * e[1]
    if e[2] * e[2] >= _END_TOUCHES * (across + e[2] * e[2]):
        end = 1.0 if e[2] >= 0.0 else -1.0
        c, s = 1.0, 0.0
        for k in range(RIM):
            x = add(p, mul(R, (radius * c, end * radius * s, end * half)))
            _put(ws, side, k, x, frame, k + (RIM if end > 0.0 else 0))
            c, s = _EIGHTH * (c - s), _EIGHTH * (c + s)
        m = mul(R, (0.0, 0.0, end))
        _put_plane(ws, side, m, add(p, scale(half, m)), frame, radius)
        return RIM
    out = radius / np.sqrt(across)
    _put(ws, side, 0, add(p, mul(R, (out * e[0], out * e[1], -half))), frame, 2 * RIM)
    _put(ws, side, 1, add(p, mul(R, (out * e[0], out * e[1], half))), frame, 2 * RIM + 1)
    return 2


@inline
def _hull(k, side, shapes, R, p, e, frame, ws):
    """The face of a hull most aligned with e, in its own frame."""
    best = facing(side, shapes, e, ws)
    start = shapes.first_loop[best]
    count = shapes.first_loop[best + 1] - start
    for c in range(count):
        v = shapes.loop[start + c]
        _put(ws, side, c, add(p, mul(R, load3(shapes.vertices[v]))), frame, v - shapes.first[k])
    v = shapes.loop[start]
    _put_plane(ws, side, mul(R, load3(shapes.plane[best])), add(p, mul(R, load3(shapes.vertices[v]))), frame, 0.0)
    return count


@kernel
def touching_face(k, side, shapes, rotation, d, frame, ws):
    """Compute the polygon of shape k at d that faces down (side 0, the first shape) or up (1); return its corners'
    number."""
    R = load9(rotation[k])
    e = (-frame[6], -frame[7], -frame[8]) if side == 0 else (frame[6], frame[7], frame[8])
    local = mul_t(R, e)
    kind, radius = shapes.kind[k], shapes.size[k, 0]
    if kind == SPHERE:
        _put(ws, side, 0, add(d, scale(radius, e)), frame, 0)
        count = 1
    elif kind == CAPSULE:
        h = 0.5 * shapes.size[k, 1]
        u, x = (h * R[2], h * R[5], h * R[8]), add(d, scale(radius, e))
        _put(ws, side, 0, add(x, scale(-1.0, u)), frame, 0)
        _put(ws, side, 1, add(x, u), frame, 1)
        count = 2
    elif kind == BOX:
        count = _box(k, side, shapes, R, d, local, frame, ws)
    elif kind == CYLINDER:
        count = _cylinder(k, side, shapes, R, d, local, frame, ws)
    else:
        count = _hull(k, side, shapes, R, d, local, frame, ws)
    for c in range(count):
        start, end = load3(ws.corner[side, c]), load3(ws.corner[side, (c + 1) % count])
        x, y = end[0] - start[0], end[1] - start[1]
        length = np.sqrt(x * x + y * y)
        reciprocal = 1.0 / length if length > 0.0 else 0.0
        store3(ws.edge[side, c], (reciprocal * x, reciprocal * y, length))
    return count
