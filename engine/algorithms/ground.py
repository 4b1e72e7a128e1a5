"""Contact points of a convex solid with the ground: a plane, or a height field, whose triangles are all tested.

Inputs are a `PosedSolid` and the ground; results are places (x, n, gap), of which a step uses those near enough. A
solid is tested at points: a sphere's centre, the two ends of a capsule's axis, the corners of a box or hull, three
points of each rim of a cylinder. Points of spheres and capsules have a radius.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from engine.algorithms.convex import ContactPoint, PosedSolid, corners, tangents
from engine.lie import Array
from engine.scene import HeightField, Plane

FLAT = 1e-3  # sine of a rim's tilt below which its three points stay fixed
SAME = 1e-5  # cells: places of a height field closer than this are one
MAX_REACH = 4.0  # cells: maximum search distance of a sphere
MAX_PLACES = 4  # maximum number of contacts of a sphere with a height field


def ground_places(posed: PosedSolid, ground: Plane | HeightField, reach: float) -> list[ContactPoint]:
    """Return each point's closest place on the ground; for a sphere on a height field all within reach, m."""
    kind, size = posed.solid.kind, posed.solid.size
    radius = size[0] if kind in ("sphere", "capsule") else 0.0
    places = []
    if kind == "cylinder":
        for end in (-0.5, 0.5):
            middle = posed.p + end * size[1] * posed.R[:, 2]
            n = under(ground, middle).n
            places += [under(ground, middle + size[0] * e) for e in _rim(posed, n)]
    elif radius > 0 and isinstance(ground, HeightField):
        for x in corners(posed):
            places += on_field(ground, x, radius, reach)
    else:
        for x in corners(posed):
            above = under(ground, x)
            places.append(ContactPoint(x - radius * above.n, above.n, above.gap - radius))
    return places


def under(ground: Plane | HeightField, x: Array) -> ContactPoint:
    """Return the point with its gap to the plane, or to the plane of the triangle under or over it."""
    if isinstance(ground, Plane):
        n = np.array(ground.normal)
        return ContactPoint(x, n, float(n @ x) - ground.offset)
    j, i = np.floor((x[:2] - ground.corner[:2]) / ground.cell).astype(int)
    s, t = (x[:2] - ground.corner[:2]) / ground.cell - (j, i)
    a, d = _corner(ground, i, j), _corner(ground, i + 1, j + 1)
    b = _corner(ground, i + 1, j) if t > s else _corner(ground, i, j + 1)
    n = np.cross(b - a, d - a)
    n *= np.sign(n[2]) / np.linalg.norm(n)
    return ContactPoint(x, n, float(n @ (x - a)))


def _corner(ground: HeightField, i: int, j: int) -> Array:
    """Return a corner of the grid; outside the border with the border's height."""
    rows, columns = ground.heights.shape
    height = ground.heights[min(max(i, 0), rows - 1), min(max(j, 0), columns - 1)]
    return np.asarray(ground.corner + np.array([j * ground.cell, i * ground.cell, height]))


def _rim(posed: PosedSolid, n: Array) -> list[Array]:
    """Directions from a rim's centre: to its lowest point, and ±120° from there.

    On a rim that lies flat the three points are fixed in the body.
    """
    axis = posed.R[:, 2]
    down = (axis @ n) * axis - n
    if np.linalg.norm(down) < FLAT:
        across = tangents(posed.inner[:, 2])[0]
        down = posed.R @ posed.inner.T @ across
    e = down / np.linalg.norm(down)
    side = np.cross(axis, e)
    return [e, -e / 2 + np.sqrt(0.75) * side, -e / 2 - np.sqrt(0.75) * side]


def on_field(ground: HeightField, x: Array, radius: float, reach: float) -> list[ContactPoint]:
    """Return the local minima of the distance between a sphere about x and a height field.

    A sphere whose centre is below the ground touches the plane of the triangle over it.
    """
    above = under(ground, x)
    if above.gap <= 0:
        return [ContactPoint(x - radius * above.n, above.n, above.gap - radius)]
    far = radius + min(reach, MAX_REACH * ground.cell)
    low, high = (np.floor((x[:2] + side * far - ground.corner[:2]) / ground.cell).astype(int) for side in (-1, 1))
    cells = product(range(low[1], high[1] + 1), range(low[0], high[0] + 1))
    squares = np.array([[_corner(ground, i + k, j + m) for k, m in product((0, 1), repeat=2)] for i, j in cells])
    triangles = np.concatenate([squares[:, [0, 1, 3]], squares[:, [0, 3, 2]]])
    nearest = on_triangles(triangles, x)
    distance = np.linalg.norm(nearest - x, axis=1)
    middle = triangles.mean(1)
    size = np.max(np.linalg.norm(triangles - middle[:, None], axis=2), 1)
    minima: list[ContactPoint] = []
    for k in np.argsort(distance, kind="stable"):
        point = nearest[k]
        if distance[k] > far or len(minima) == MAX_PLACES:
            break
        if any(np.linalg.norm(point - y.x) < SAME * ground.cell for y in minima):
            continue
        beside = np.flatnonzero(np.linalg.norm(middle - point, axis=1) <= size * (1 + 1e-9))
        containing = np.linalg.norm(on_triangles(triangles[beside], point) - point, axis=1) < 1e-9 * ground.cell
        if distance[k] <= np.min(distance[beside[containing]]) * (1 + 1e-9):
            minima.append(ContactPoint(point, (x - point) / distance[k], float(distance[k]) - radius))
    return [ContactPoint(x - radius * n, n, gap) for _, n, gap in minima]


def on_triangles(triangles: Array, x: Array) -> Array:
    """(k, 3): the point of each triangle (k, 3, 3) closest to x: in its interior, or on an edge."""
    ends = np.roll(triangles, -1, 1)
    along = ends - triangles
    parameter = np.clip(np.sum((x - triangles) * along, -1) / np.sum(along**2, -1), 0, 1)
    feet = triangles + parameter[..., None] * along
    best = np.argmin(np.sum((feet - x) ** 2, -1), 1)
    n = np.cross(along[:, 0], along[:, 1])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    foot = x - np.sum((x - triangles[:, 0]) * n, 1)[:, None] * n
    inside = np.all(np.einsum("kij,kj->ki", np.cross(along, foot[:, None] - triangles), n) >= 0, 1)
    return np.asarray(np.where(inside[:, None], foot, feet[np.arange(len(feet)), best]))
