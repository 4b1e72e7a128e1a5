"""The signed distance of any two convex shapes, and its normal."""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.collision.epa import penetration_direction
from engine.kernels.collision.gjk import APART, BEYOND, OVERLAP, closest_points
from engine.kernels.collision.support import begin_support, core_radius, facing, gap_along
from engine.kernels.spatial import add, dot, load3, load9, mul, mul_t, scale, store3, sub
from engine.scene.shapes import BOX, CYLINDER, HULL, SPHERE

_MIN_ACCURATE_DISTANCE = 1e-4  # relative to the smaller shape: the distance below which its direction is inaccurate
_SHIFT = 1e-2  # relative to the smaller shape
_ROUNDS = 8
_CONVERGED = 1e-10  # relative to it: the least gain
_PARALLEL = 1e-5  # the angle within which a normal may be a face's
_ROUNDING = 1e-14


@kernel
def _refine_normal(a, b, shapes, rotation, d, n, ws):
    """Refine a nearly exact normal n of shapes that overlap or nearly touch, with the result in `axis`.

    Shifted apart along n by a little, the shapes have well-defined closest points, and a better normal; it is exact at
    once where faces meet. On curved sides the error shrinks linearly, and is extrapolated. The normal of the largest
    gap is kept.
    """
    small = min(shapes.bound[a, 3], shapes.bound[b, 3])
    if small == 0.0:  # a point
        small = max(shapes.bound[a, 3], shapes.bound[b, 3])
    best, gap = n, gap_along(a, b, shapes, rotation, d, n, ws)
    middle, last_change = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for step in range(_ROUNDS):
        shift = scale(_SHIFT * small - gap, best)
        if closest_points(a, b, shapes, rotation, add(d, shift), 1e300, ws) != APART:
            break
        n = load3(ws.axis)
        x = sub(load3(ws.axis, 4), shift)
        new = gap_along(a, b, shapes, rotation, d, n, ws)
        if step == 0 or new > gap:
            middle = scale(0.5, add(x, load3(ws.axis, 7)))
        if new < gap:
            break
        change, gain = sub(n, best), new - gap
        best, gap = n, new
        if gain < _CONVERGED * small:
            break
        projection = dot(change, last_change)
        remainder = dot(last_change, last_change) - projection
        last_change = change
        if projection > 0.0 and remainder > 0.0:
            extrapolated = add(best, scale(projection / remainder, change))
            extrapolated = scale(1.0 / np.sqrt(dot(extrapolated, extrapolated)), extrapolated)
            new = gap_along(a, b, shapes, rotation, d, extrapolated, ws)
            if new > gap:
                best, gap, last_change = extrapolated, new, (0.0, 0.0, 0.0)
    store3(ws.axis, best)
    ws.axis[3] = gap
    store3(ws.axis, middle, 4)


@inline
def _face_normal(k, side, shapes, rotation, e, ws):
    """The outward normal of a shape's face most aligned with e, or of its curved side if e is nearly that."""
    R = load9(rotation[k])
    local, kind = mul_t(R, e), shapes.kind[k]
    n = local
    if kind == BOX:
        x, y, z = abs(local[0]), abs(local[1]), abs(local[2])
        i = 0 if x >= y and x >= z else (1 if y >= z else 2)
        sign = 1.0 if local[i] >= 0.0 else -1.0
        n = (sign if i == 0 else 0.0), (sign if i == 1 else 0.0), (sign if i == 2 else 0.0)
    elif kind != HULL and kind != SPHERE:
        across = np.sqrt(local[0] * local[0] + local[1] * local[1])
        if across > 0.5:
            n = local[0] / across, local[1] / across, 0.0
        elif kind == CYLINDER:
            n = 0.0, 0.0, (1.0 if local[2] >= 0.0 else -1.0)
    elif kind == HULL:
        n = load3(shapes.plane[facing(side, shapes, local, ws)])
    return mul(R, n)


@inline
def _align_with_face(a, b, shapes, rotation, d, ws):
    """Replace the normal by the normal of a nearly parallel face, if the gap along it is no smaller."""
    large = max(shapes.bound[a, 3], shapes.bound[b, 3])
    for side in range(2):
        n, gap = load3(ws.axis), ws.axis[3]
        m = n
        if side == 0:
            m = scale(-1.0, _face_normal(a, 0, shapes, rotation, scale(-1.0, n), ws))
        else:
            m = _face_normal(b, 1, shapes, rotation, n, ws)
        change = sub(m, n)
        if dot(change, change) < _PARALLEL * _PARALLEL:
            along = gap_along(a, b, shapes, rotation, d, m, ws)
            if along >= gap - _ROUNDING * large:
                store3(ws.axis, m)
                ws.axis[3] = along


@kernel
def signed_distance(a, b, shapes, rotation, d, reach, ws):
    """Return BEYOND where shapes, the first at d, the second at 0, are farther apart than `reach`, else APART.

    `axis` then has the normal from the second to the first, the gap, negative where they overlap, and the midpoint of
    the closest points. Radii of spheres and capsules count.
    """
    radius_a, radius_b = core_radius(a, shapes), core_radius(b, shapes)
    small = min(shapes.bound[a, 3], shapes.bound[b, 3])
    radii = radius_a + radius_b
    begin_support(a, b, shapes, ws)
    outcome = closest_points(a, b, shapes, rotation, d, reach + radii, ws)
    if outcome == BEYOND or (outcome == APART and ws.axis[3] > reach + radii):
        return BEYOND
    x, y = load3(ws.axis, 4), load3(ws.axis, 7)
    if outcome == APART and ws.axis[3] > _MIN_ACCURATE_DISTANCE * small:
        store3(ws.axis, scale(0.5, add(x, y)), 4)
    else:
        if outcome >= OVERLAP:
            penetration_direction(a, b, shapes, rotation, d, outcome - OVERLAP + 1, ws)
        _refine_normal(a, b, shapes, rotation, d, load3(ws.axis), ws)
    _align_with_face(a, b, shapes, rotation, d, ws)
    n = load3(ws.axis)
    # Midway between the surfaces, not between the core points.
    store3(ws.axis, add(load3(ws.axis, 4), scale(0.5 * (radius_b - radius_a), n)), 4)
    ws.axis[3] -= radii
    return APART if ws.axis[3] <= reach else BEYOND
