"""The distance of two convex shapes that are apart (GJK).

Source: E. G. Gilbert, D. W. Johnson, S. S. Keerthi, "A fast procedure for computing the distance between complex
objects in three-dimensional space" (1988): a simplex of up to four points of the Minkowski difference approaches the
origin. Stopping criterion: G. van den Bergen, "Collision Detection in Interactive 3D Environments" (2003), section 4.3.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.collision.support import farthest
from engine.kernels.spatial import add, cross, dot, load3, load6, load9, mul, scale, store3, store6, sub

BEYOND, APART, OVERLAP = range(3)
_ROUNDS = 64
_CLOSE = 1e-14  # relative: the tolerance of the squared distance
_TOUCHING = 1e-9  # relative to the summands: the distance below which the direction is undefined
_FLAT = 1e-12  # relative: a tetrahedron's volume
_SLENDER = 1e-8  # relative: the triangle's height below which its edges alone are considered


@inline
def _store_nearest(ws, slot, x):
    store3(ws.nearest[slot], x)
    ws.nearest[slot, 3] = dot(x, x)


@inline
def _on_line(a, b):
    """The point nearest to the origin on the line through a and b, and its fraction of the way from a to b."""
    ab = sub(b, a)
    length = dot(ab, ab)
    fraction = -dot(a, ab) / length if length > 0.0 else 0.0
    return add(a, scale(fraction, ab)), fraction


@inline
def _edge(ws, i, j, slot, mask, limit):
    """Put an edge's nearest point into the slot, if nearer than the limit; return the mask of its corners, else
    `mask`."""
    a, b = load3(ws.simplex[i]), load3(ws.simplex[j])
    x, fraction = _on_line(a, b)
    corners = (1 << i) + (1 << j)
    if fraction <= 0.0:
        x, corners = a, 1 << i
    if fraction >= 1.0:
        x, corners = b, 1 << j
    if dot(x, x) < limit:
        _store_nearest(ws, slot, x)
        mask = corners
    return mask


@kernel
def _triangle(ws, i, j, k, slot):
    """Put a triangle's nearest point into the slot; return the bit mask of the corners that support it."""
    a, b, c = load3(ws.simplex[i]), load3(ws.simplex[j]), load3(ws.simplex[k])
    ab, ac = sub(b, a), sub(c, a)
    n = cross(ab, ac)
    area = dot(n, n)
    ws.nearest[slot, 3] = 1e300
    if area > _SLENDER * _SLENDER * dot(ab, ab) * dot(ac, ac):
        # Barycentric coordinates of the origin's projection: inside where none is negative.
        u, v, w = dot(n, cross(b, c)), dot(n, cross(c, a)), dot(n, cross(a, b))
        if u >= 0.0 and v >= 0.0 and w >= 0.0:
            p = b if dot(b, b) < dot(a, a) else a
            p = c if dot(c, c) < dot(p, p) else p
            _store_nearest(ws, slot, scale(dot(n, p) / area, n))
            return (1 << i) + (1 << j) + (1 << k)
    mask = _edge(ws, i, j, slot, 0, ws.nearest[slot, 3])
    mask = _edge(ws, j, k, slot, mask, ws.nearest[slot, 3])
    return _edge(ws, k, i, slot, mask, ws.nearest[slot, 3])


@inline
def _face(face):
    """The corners of a tetrahedron's face, and the opposite corner."""
    return (1 if face == 0 else 0), (2 if face <= 1 else 1), (2 if face == 3 else 3), face


@inline
def _inside(ws):
    """Whether the origin is in the tetrahedron, never in a flat one."""
    inside = True
    for face in range(4):
        i, j, k, other = _face(face)
        a = load3(ws.simplex[i])
        ab, ac = sub(load3(ws.simplex[j]), a), sub(load3(ws.simplex[k]), a)
        ad = sub(load3(ws.simplex[other]), a)
        n = cross(ab, ac)
        side, other_side = -dot(n, a), dot(n, ad)
        flat = other_side * other_side <= _FLAT * _FLAT * dot(ab, ab) * dot(ac, ac) * dot(ad, ad)
        inside &= not flat and (side < 0.0) == (other_side < 0.0)
    return inside


@kernel
def _tetrahedron(ws):
    """Put a tetrahedron's nearest point into slot 0; return the bit mask of its corners, all four if the origin is
    inside."""
    if _inside(ws):
        return 15
    best, distance = 0, 1e300
    for face in range(4):
        i, j, k, _ = _face(face)
        mask = _triangle(ws, i, j, k, 1)
        if ws.nearest[1, 3] < distance:
            best, distance = mask, ws.nearest[1, 3]
            _store_nearest(ws, 0, load3(ws.nearest[1]))
    return best


@inline
def _reduce(ws, count):
    """Put the simplex's nearest point into slot 0; return the bit mask of its corners."""
    if count == 1:
        _store_nearest(ws, 0, load3(ws.simplex[0]))
        return 1
    if count == 2:
        return _edge(ws, 0, 1, 0, 0, 1e300)
    if count == 3:
        return _triangle(ws, 0, 1, 2, 0)
    return _tetrahedron(ws)


@inline
def _remove_corners(ws, count, mask):
    """Remove the corners that do not support the nearest point; return the number left."""
    left = 0
    for k in range(count):
        if (mask >> k) & 1 == 1:
            store6(ws.simplex[left], load6(ws.simplex[k]))
            left += 1
    return left


@kernel
def _result(ws, count):
    """Compute the normal, the distance and the witness points from the simplex and its nearest point in slot 0."""
    v = load3(ws.nearest[0])
    a, p = load3(ws.simplex[0]), load3(ws.simplex[0], 3)
    x = p
    if count == 2:
        x = add(p, scale(_on_line(a, load3(ws.simplex[1]))[1], sub(load3(ws.simplex[1], 3), p)))
    if count == 3:
        b, c = load3(ws.simplex[1]), load3(ws.simplex[2])
        n = cross(sub(b, a), sub(c, a))
        u, s, t = dot(n, cross(b, c)), dot(n, cross(c, a)), dot(n, cross(a, b))
        fraction = 1.0 / (u + s + t)
        x = scale(u * fraction, p)
        x = add(x, scale(s * fraction, load3(ws.simplex[1], 3)))
        x = add(x, scale(t * fraction, load3(ws.simplex[2], 3)))
    distance = np.sqrt(ws.nearest[0, 3])
    store3(ws.axis, scale(1.0 / distance, v))
    ws.axis[3] = distance
    store3(ws.axis, x, 4)
    store3(ws.axis, sub(x, v), 7)


@kernel
def closest_points(a, b, shapes, rotation, d, limit, ws):
    """Return BEYOND, APART or, from OVERLAP on, that shapes overlap; the first is at d, the other at 0.

    BEYOND: farther apart than the limit. APART: `axis` holds the normal from the second to the first, the distance and
    the witness points. OVERLAP + k: `simplex` holds k + 1 points whose hull contains the origin. Radii of spheres and
    capsules do not count.
    """
    centre_a = add(d, mul(load9(rotation[a]), load3(shapes.bound[a])))
    v = sub(centre_a, mul(load9(rotation[b]), load3(shapes.bound[b])))
    vv = dot(v, v)
    size = np.sqrt(vv) + shapes.bound[a, 3] + shapes.bound[b, 3]
    if vv <= _TOUCHING * _TOUCHING * size * size:
        v, vv = (1.0, 0.0, 0.0), 1.0
    count = 0
    for iteration in range(_ROUNDS):
        w, x = farthest(a, b, shapes, rotation, d, scale(-1.0, v), ws)
        vw = dot(v, w)
        if vw > 0.0 and vw * vw > vv * limit * limit:
            return BEYOND
        repeated = False
        for k in range(count):
            repeated |= load3(ws.simplex[k]) == w
        if repeated or (count > 0 and vv - vw <= _CLOSE * vv):
            break
        store3(ws.simplex[count], w)
        store3(ws.simplex[count], x, 3)
        mask = _reduce(ws, count + 1)
        if mask == 15:
            return OVERLAP + 3
        before, vv, v = vv, ws.nearest[0, 3], load3(ws.nearest[0])
        count = _remove_corners(ws, count + 1, mask)
        if vv <= _TOUCHING * _TOUCHING * size * size:
            return OVERLAP + count - 1
        if iteration > 0 and vv >= before:
            break
    _result(ws, count)
    return APART
