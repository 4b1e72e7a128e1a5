"""The contact points of two convex solids that touch or nearly touch.

Inputs are two `PosedSolid`s; results are places (x, n, gap): x midway between the surfaces, n from the second to
the first. The touching feature (face, edge or corner) of each solid is projected along n. The contact manifold consists
of the corners of one feature within the other, and of crossings of their edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.algorithms.convex import (
    ContactPoint,
    PosedSolid,
    ball,
    closest_of,
    closest_of_edges,
    corners,
    faces,
    radius,
    separation,
    tangents,
)
from engine.lie import Array

ORDER = ("sphere", "capsule", "box", "cylinder", "hull")
PARALLEL = 1e-2  # squared sine of the angle below which capsules touch along a line
STANDS = 0.5  # squared cosine between a cylinder's axis and n from which its end touches
COINCIDENT = 1e-5  # relative to the smaller solid: distance within which points coincide
SUPPORT_TOLERANCE = 1e-6  # relative to a solid, or the sine of an angle: tolerance of the support function
RIM = 8  # corners of the polygon that approximates a cylinder's end


def pair_places(one: PosedSolid, other: PosedSolid) -> list[ContactPoint]:
    """Return the places where two solids touch or nearly touch; one for a pair with a sphere."""
    swapped = ORDER.index(one.solid.kind) > ORDER.index(other.solid.kind)
    a, b = (other, one) if swapped else (one, other)
    n, gap = separation(a, b)
    places = places_of(a, b, n, gap)
    return [point._replace(n=-point.n) for point in places] if swapped else places


def places_of(a: PosedSolid, b: PosedSolid, n: Array, gap: float) -> list[ContactPoint]:
    """Return the places of two solids, in the order of `ORDER`, along the normal n from b to a."""
    if a.solid.kind == "sphere":
        places = [ContactPoint(a.p - (radius(a) + gap / 2) * n, n, gap)]
    elif b.solid.kind == "capsule":
        places = _capsules(a, b, n, gap)
    else:
        places = _manifold(a, b, n, gap)
    return places


def _capsules(a: PosedSolid, b: PosedSolid, n: Array, gap: float) -> list[ContactPoint]:
    """Return one place; for parallel capsules both ends of their overlap, and the closest place if it is nearer."""
    (p, p_end), (q, q_end) = corners(a), corners(b)
    u, w = p_end - p, q_end - q
    ((x, y),) = closest_of_edges(a, b)
    closest = [ContactPoint(x - (radius(a) + gap / 2) * n, n, gap)]
    if np.sum(np.cross(u, w) ** 2) > PARALLEL * (u @ u) * (w @ w) or 0.0 in (u @ u, w @ w):
        return closest
    span = sorted(float((end - p) @ u) / float(u @ u) for end in (q, q_end))
    low, high = max(span[0], 0.0), min(span[1], 1.0)
    if high - low <= 0:
        return closest
    ends = []
    for s, own in ((low, low == 0.0), (high, high == 1.0)):
        x = p + s * u
        y = (
            q + np.clip((x - q) @ w / (w @ w), 0, 1) * w
            if own
            else min((q, q_end), key=lambda end: abs((end - p) @ u / (u @ u) - s))
        )
        separation = x - y
        length = float(np.linalg.norm(separation))
        m = separation / length if length > 1e-12 * float(np.linalg.norm(u) + np.linalg.norm(w)) else n
        ends.append(
            ContactPoint(x - (radius(a) + (length - radius(a) - radius(b)) / 2) * m, m, length - radius(a) - radius(b))
        )
    nearest = min(point.gap for point in ends)
    return ends if gap >= nearest - 1e-9 * (radius(a) + radius(b)) else [*ends, *closest]


class Polygon(NamedTuple):
    """The touching face, edge or corner of a solid, projected along n: `corners` (k, 3) along t₁, t₂ and n.

    `normal` (3,) is a face's outward normal in the same axes; `round` is a disc's radius.
    """

    corners: Array
    normal: Array
    round: float


def _polygon(one: PosedSolid, e: Array, axes: Array) -> Polygon:
    """Return a solid's feature that faces e."""
    kind, size = one.solid.kind, one.solid.size
    if kind == "cylinder":
        axis = one.R[:, 2]
        if (axis @ e) ** 2 >= STANDS:
            end = 1.0 if axis @ e >= 0 else -1.0
            turns = end * np.arange(RIM) * np.pi / 4
            ring = np.stack([size[0] * np.cos(turns), size[0] * np.sin(turns), np.full(RIM, end * size[1] / 2)], 1)
            return Polygon((ring @ one.R.T + one.p) @ axes.T, axes @ (end * axis), size[0])
        across = e - (e @ axis) * axis
        foot = one.p + size[0] * across / np.linalg.norm(across)
        return Polygon(np.array([foot - size[1] / 2 * axis, foot + size[1] / 2 * axis]) @ axes.T, axes @ e, 0.0)
    points = corners(one)
    if kind == "capsule":
        return Polygon((points + radius(one) * e) @ axes.T, axes @ e, 0.0)
    solid_faces, best = faces(one), int(np.argmax(points @ e))
    adjacent = [k for k, loop in enumerate(solid_faces.loops) if best in loop]
    face = max(adjacent, key=lambda k: float(solid_faces.normals[k] @ e))
    return Polygon(points[list(solid_faces.loops[face])] @ axes.T, axes @ solid_faces.normals[face], 0.0)


def _manifold(a: PosedSolid, b: PosedSolid, n: Array, gap: float) -> list[ContactPoint]:
    """Return the corners of the overlap of the touching faces along n; also the closest place if none is as near."""
    axes = np.stack([*tangents(n), n])
    A, B = _polygon(a, -n, axes), _polygon(b, n, axes)
    small = min(ball(a)[1], ball(b)[1])
    points = [(x[:2], x[2], _height(B, x[:2])) for x in A.corners if _inside(B, x, COINCIDENT * small)]
    points += [(x[:2], _height(A, x[:2]), x[2]) for x in B.corners
               if _inside(A, x, COINCIDENT * small) and not _known(x, A.corners, COINCIDENT * small)]  # fmt: skip
    points += _crossings(A.corners, B.corners, COINCIDENT * small)
    places = []
    for x, above, below in points:
        if above is not None and below is not None:
            places.append(ContactPoint(axes.T @ [*x, (above + below) / 2], n, max(above - below, gap)))
    if all(point.gap > gap + 1e-8 * small for point in places):
        places.append(ContactPoint(_closest(a, b, n, gap), n, gap))
    return places


def _closest(a: PosedSolid, b: PosedSolid, n: Array, gap: float) -> Array:
    """Return the midpoint of the closest points of the two supporting features along n."""
    offset = (gap + radius(a) + radius(b)) * n
    ((x, y),) = closest_of(_farthest_towards(a, -n), _farthest_towards(b, n) + offset)
    return np.asarray((x + y - offset + (radius(b) - radius(a)) * n) / 2)


def _farthest_towards(one: PosedSolid, n: Array) -> Array:
    """(k, 3): the corners of the face or edge of a solid, without its radius, that supports it along n."""
    if one.solid.kind == "cylinder":
        r, length = one.solid.size
        local = one.R.T @ n
        across = float(np.hypot(local[0], local[1]))
        ends = (
            np.array([-length / 2, length / 2])
            if abs(local[2]) < SUPPORT_TOLERANCE
            else [np.sign(local[2]) * length / 2]
        )
        if across < SUPPORT_TOLERANCE:
            turns = np.arange(RIM) * np.pi / 4
            ring = np.stack([r * np.cos(turns), r * np.sin(turns), np.full(RIM, ends[0])], 1)
        else:
            ring = np.array([[r * local[0] / across, r * local[1] / across, z] for z in ends])
        return np.asarray(ring @ one.R.T + one.p)
    points = corners(one)
    height = points @ n
    return np.asarray(
        points[height > np.max(height) - SUPPORT_TOLERANCE * max(float(np.max(np.ptp(points, axis=0))), 1e-9)]
    )


def _known(x: Array, points: Array, tolerance: float) -> bool:
    return bool(np.any(np.hypot(*(points[:, :2] - x[:2]).T) <= tolerance))


def _inside(polygon: Polygon, x: Array, tolerance: float) -> bool:
    """Whether a point, projected along n, is in a polygon or within `tolerance` of it."""
    points = polygon.corners[:, :2]
    if polygon.round > 0:
        middle = polygon.corners.mean(0)
        d = x[:2] - middle[:2]
        dz = -(polygon.normal[:2] @ d) / polygon.normal[2]
        return bool(d @ d + dz * dz <= (polygon.round + tolerance) ** 2)
    along = np.roll(points, -1, 0) - points
    if len(points) == 2:
        parameter = _parameter(x[:2] - points[0], along[0])
        return bool(np.hypot(*(x[:2] - points[0] - parameter * along[0])) <= tolerance)
    turn = np.sign(polygon.normal[2])
    side = turn * (along[:, 0] * (x[1] - points[:, 1]) - along[:, 1] * (x[0] - points[:, 0]))
    return bool(np.all(side >= -tolerance * np.hypot(*along.T)))


def _parameter(x: Array, along: Array) -> float:
    """Return the parameter of x along an edge, 0 to 1 from its first end; 0 for an edge seen end on."""
    square = float(along @ along)
    return min(max(float(x @ along) / square, 0.0), 1.0) if square > 1e-20 else 0.0


def _height(polygon: Polygon, x: Array) -> float | None:
    """Return a polygon's height along n at a point; None where it is too steep."""
    points = polygon.corners
    if len(points) == 2:
        along = points[1] - points[0]
        parameter = _parameter(x - points[0, :2], along[:2])
        return float(points[0, 2] + parameter * along[2])
    if abs(polygon.normal[2]) < 1e-3:
        return None
    return float(points[0, 2] - polygon.normal[:2] @ (x - points[0, :2]) / polygon.normal[2])


def _crossings(a: Array, b: Array, tolerance: float) -> list[tuple[Array, float, float]]:
    """Return the crossings of two polygons' edges, projected along n, away from their ends; and both heights there."""
    crossings = []
    for p, p_end in _sides(a):
        for q, q_end in _sides(b):
            u, w = p_end - p, q_end - q
            lengths = max(float(np.hypot(*u[:2])), 1e-10), max(float(np.hypot(*w[:2])), 1e-10)
            across = (u[0] * w[1] - u[1] * w[0]) / (lengths[0] * lengths[1])
            if abs(across) < 1e-6:
                continue
            d = (q - p) / across
            s = (d[0] * w[1] - d[1] * w[0]) / lengths[1]
            t = (d[0] * u[1] - d[1] * u[0]) / lengths[0]
            if tolerance < s < lengths[0] - tolerance and tolerance < t < lengths[1] - tolerance:
                x, y = p + s / lengths[0] * u, q + t / lengths[1] * w
                crossings.append((x[:2], float(x[2]), float(y[2])))
    return crossings


def _sides(polygon: Array) -> list[tuple[Array, Array]]:
    pairs = list(zip(polygon, np.roll(polygon, -1, 0), strict=True))
    return pairs if len(polygon) > 2 else pairs[:1]
