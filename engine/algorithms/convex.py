"""The signed distance of two convex solids, by an exhaustive search over their faces, edges and corners.

Inputs are two `PosedSolid`s; results are the separating axis, the unit vector n from the second to the first with
the largest gap, and that gap. A solid is a polytope with a radius around it: a sphere a point, a capsule a segment, a
box and a hull their corners. A cylinder, whose lateral surface has no faces, is handled by a search over directions.

For a unit vector n, ``gap(n) = min over the first of n·x − max over the second of n·x``. The signed distance of two
convex solids is its maximum over all n, whether they overlap or not. The maximum is at a face normal, at a cross
product of two edges, or along the closest points of disjoint solids.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

from engine import lie
from engine.lie import Array
from engine.model.coupling import Indices

SEARCH = 200  # refinements of the search for a normal, by ever smaller angles


class Solid(NamedTuple):
    """A convex solid in its own frame; a hull has `vertices` (k, 3), m, and no size."""

    kind: str
    size: tuple[float, ...] = ()
    vertices: Array | None = None


class PosedSolid(NamedTuple):
    """A solid with its pose: R (3, 3) and p (3,) in the world; `inner` (3, 3) is its rotation in the body's frame."""

    solid: Solid
    R: Array
    p: Array
    inner: Array


class ContactPoint(NamedTuple):
    """A contact point x (3,) in the world, its normal n (3,), and the gap, m."""

    x: Array
    n: Array
    gap: float


def tangents(n: Array) -> tuple[Array, Array]:
    """Return two unit vectors t₁, t₂ with n × t₁ = t₂, as a function of n."""
    e = np.array([0.0, 1.0, 0.0] if abs(n[0]) > 0.9 else [1.0, 0.0, 0.0])
    t = e - (n @ e) * n
    t = t / np.sqrt(t @ t)
    return t, lie.skew(n) @ t


def corners(one: PosedSolid) -> Array:
    """(k, 3): the corners of a solid without its radius, in the world; none for a cylinder."""
    kind, size, vertices = one.solid
    local: Array
    if kind == "box":
        local = np.array(list(product((-0.5, 0.5), repeat=3))) * size
    elif kind == "capsule":
        local = np.array([[0, 0, -size[1] / 2], [0, 0, size[1] / 2]])
    elif vertices is not None:
        local = vertices
    else:
        local = np.zeros((1, 3))
    return np.asarray(local @ one.R.T + one.p)


def radius(one: PosedSolid) -> float:
    """Return the radius around a solid's corners."""
    return one.solid.size[0] if one.solid.kind in ("sphere", "capsule") else 0.0


class Faces(NamedTuple):
    """The faces of a polytope: outward `normals` (f, 3), each face's corners counterclockwise, and `edges` (e, 2)."""

    normals: Array
    loops: tuple[tuple[int, ...], ...]
    edges: Indices


def faces(one: PosedSolid) -> Faces:
    """Return a solid's faces, in the world; spheres and capsules have none, and a capsule has one edge."""
    local = _faces(one.solid.kind, one.solid.size, None if one.solid.vertices is None else one.solid.vertices.tobytes())
    return local._replace(normals=local.normals @ one.R.T)


@lru_cache(maxsize=512)
def _faces(kind: str, size: tuple[float, ...], vertices: bytes | None) -> Faces:
    if kind in ("sphere", "cylinder"):
        return Faces(np.zeros((0, 3)), (), np.zeros((0, 2), int))
    if kind == "capsule":
        return Faces(np.zeros((0, 3)), (), np.array([[0, 1]]))
    solid = Solid(kind, size, None if vertices is None else np.frombuffer(vertices).reshape(-1, 3))
    points = corners(PosedSolid(solid, np.eye(3), np.zeros(3), np.eye(3)))
    hull = ConvexHull(points)
    normals, loops, edges = list[Array](), [], set[tuple[int, int]]()
    for n, offset in zip(hull.equations[:, :3], hull.equations[:, 3], strict=True):
        if any(n @ m > 1 - 1e-12 for m in normals):
            continue
        on = np.flatnonzero(np.abs(points @ n + offset) <= 1e-7 * np.max(np.ptp(points, axis=0)))
        t1, t2 = tangents(n)
        middle = points[on].mean(0)
        on = on[np.argsort(np.arctan2((points[on] - middle) @ t2, (points[on] - middle) @ t1))]
        normals.append(n)
        loops.append(tuple(on.tolist()))
        edges |= {(min(a, b), max(a, b)) for a, b in zip(on.tolist(), np.roll(on, -1).tolist(), strict=True)}
    return Faces(np.array(normals), tuple(loops), np.array(sorted(edges)))


def farthest(one: PosedSolid, n: Array) -> Array:
    """Support function, (k, 3): the points of a solid, with its radius, farthest along unit vectors n (k, 3)."""
    if one.solid.kind == "cylinder":
        r, length = one.solid.size
        local = n @ one.R
        size = np.hypot(local[:, 0], local[:, 1])
        ratio = np.where(size > 0, r / np.where(size > 0, size, 1.0), 0.0)
        foot = np.stack([ratio * local[:, 0], ratio * local[:, 1], np.sign(local[:, 2]) * length / 2], 1)
        return np.asarray(foot @ one.R.T + one.p)
    points = corners(one)
    return np.asarray(points[np.argmax(points @ n.T, 0)] + radius(one) * n)


def gaps_along(one: PosedSolid, other: PosedSolid, n: Array) -> Array:
    """(k,): the gap between the solids along each n (k, 3)."""
    return np.asarray(np.sum(n * (farthest(one, -n) - farthest(other, n)), 1))


def least_distance(one: PosedSolid, other: PosedSolid) -> float:
    """Return a lower bound of their distance: that of their bounding balls."""
    (a, r), (b, s) = ball(one), ball(other)
    return float(np.linalg.norm(a - b)) - r - s


def ball(one: PosedSolid) -> tuple[Array, float]:
    """Return the centre and radius of a bounding ball."""
    if one.solid.kind == "cylinder":
        return one.p, float(np.hypot(one.solid.size[0], one.solid.size[1] / 2))
    points = corners(one)
    middle = (points.min(0) + points.max(0)) / 2
    return middle, float(np.max(np.linalg.norm(points - middle, axis=1))) + radius(one)


def signed_distance(one: PosedSolid, other: PosedSolid) -> float:
    """Return the distance of two solids, negative if they overlap, m."""
    return separation(one, other)[1]


def separation(one: PosedSolid, other: PosedSolid) -> tuple[Array, float]:
    """Return n (3,) with the largest gap, and that gap."""
    if "cylinder" in (one.solid.kind, other.solid.kind):
        return _searched(one, other)
    directions = [_between_closest(one, other), *_perpendicular(one, other)]
    axes = [x.R[:, 2] for x in (one, other) if x.solid.kind == "capsule"]
    directions += [tangents(e)[0] for e in axes or [one.R[:, 2]]]  # for collinear axes
    tried = np.array([n for n in directions if n is not None])
    a, b = corners(one), corners(other)
    gaps = np.min(a @ tried.T, 0) - np.max(b @ tried.T, 0)
    best = int(np.argmax(gaps))
    return tried[best], float(gaps[best]) - radius(one) - radius(other)


def _perpendicular(one: PosedSolid, other: PosedSolid) -> list[Array]:
    """Return face normals and cross products of edges, each with both signs."""
    A, B = faces(one), faces(other)
    a, b = corners(one), corners(other)
    e, f = a[A.edges[:, 1]] - a[A.edges[:, 0]], b[B.edges[:, 1]] - b[B.edges[:, 0]]
    across = np.cross(e[:, None], f[None]).reshape(-1, 3)
    if len(e) == 0 or len(f) == 0:
        across = np.zeros((0, 3))
    size = np.linalg.norm(across, axis=1)
    sizes = (np.linalg.norm(e, axis=1)[:, None] * np.linalg.norm(f, axis=1)[None]).reshape(-1)
    across = across[size > 1e-9 * sizes] / size[size > 1e-9 * sizes, None]
    return [*(-A.normals), *B.normals, *across, *(-across)]


def _between_closest(one: PosedSolid, other: PosedSolid) -> Array | None:
    """Return the direction between the closest points of two disjoint polytopes, over edges, and corners and faces."""
    best, shortest = None, np.inf
    for x, y in (
        *_corners_and_faces(one, other, 1.0),
        *_corners_and_faces(other, one, -1.0),
        *closest_of_edges(one, other),
    ):
        length = float(np.linalg.norm(x - y))
        if 0 < length < shortest:
            best, shortest = (x - y) / length, length
    return best


def _corners_and_faces(one: PosedSolid, other: PosedSolid, turn: float) -> list[tuple[Array, Array]]:
    """Return the closest pair of a corner and its foot on a face; the point of the first solid comes first."""
    B, points, pairs = faces(other), corners(other), []
    for n, loop in zip(B.normals, B.loops, strict=True):
        face = points[list(loop)]
        along = np.roll(face, -1, 0) - face
        for x in corners(one):
            foot = x - n @ (x - face[0]) * n
            if np.all(np.cross(along, foot - face) @ n >= 0):
                pairs.append((x, foot) if turn > 0 else (foot, x))
    return pairs


def closest_of_edges(one: PosedSolid, other: PosedSolid) -> list[tuple[Array, Array]]:
    """Return the closest points of two solids' edges."""
    return _closest_of(corners(one), faces(one).edges, corners(other), faces(other).edges)


def closest_of(a: Array, b: Array) -> list[tuple[Array, Array]]:
    """Return the closest points of all segments between points a (k, 3) and of all between b."""
    A, B = (np.array([*combinations(range(len(points)), 2)], np.int64).reshape(-1, 2) for points in (a, b))
    return _closest_of(a, A, b, B)


def _closest_of(a: Array, A: Indices, b: Array, B: Indices) -> list[tuple[Array, Array]]:
    """Return the closest points of edges A (e, 2) between points a and B between b; a point counts as an edge."""
    A, B = (edges if len(points) > 1 else np.zeros((1, 2), int) for edges, points in ((A, a), (B, b)))
    pairs = np.array(list(product(range(len(A)), range(len(B)))))
    p, u = a[A[pairs[:, 0], 0]], a[A[pairs[:, 0], 1]] - a[A[pairs[:, 0], 0]]
    q, w = b[B[pairs[:, 1], 0]], b[B[pairs[:, 1], 1]] - b[B[pairs[:, 1], 0]]
    best, shortest = (p, q), np.full(len(pairs), np.inf)
    for s, t in _places_on_segments(p - q, u, w):
        x, y = p + s[:, None] * u, q + t[:, None] * w
        length = np.sum((x - y) ** 2, 1)
        nearer = length < shortest
        best = np.where(nearer[:, None], x, best[0]), np.where(nearer[:, None], y, best[1])
        shortest = np.where(nearer, length, shortest)
    k = int(np.argmin(shortest))
    return [(best[0][k], best[1][k])]


def _places_on_segments(d: Array, u: Array, w: Array) -> list[tuple[Array, Array]]:
    """Return candidates for the closest d + s u and t w, 0 ≤ s, t ≤ 1: interior, and at each end of either."""

    def foot(x: Array, along: Array) -> Array:
        square = np.sum(along**2, 1)
        return np.where(square > 0, np.clip(np.sum(x * along, 1) / np.where(square > 0, square, 1), 0, 1), 0.0)

    zero, one = np.zeros(len(d)), np.ones(len(d))
    candidates = [(zero, foot(d, w)), (one, foot(d + u, w)), (foot(-d, u), zero), (foot(w - d, u), one)]
    uu, uw, ww, du, dw = (np.sum(x * y, 1) for x, y in ((u, u), (u, w), (w, w), (d, u), (d, w)))
    det = uu * ww - uw * uw
    safe = np.where(det > 1e-14 * uu * ww, det, 1.0)
    s, t = (uw * dw - ww * du) / safe, (uu * dw - uw * du) / safe
    inside = (det > 1e-14 * uu * ww) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    return [*candidates, (np.where(inside, s, 0.0), np.where(inside, t, candidates[0][1]))]


def _searched(one: PosedSolid, other: PosedSolid) -> tuple[Array, float]:
    """Return the best of many directions, refined by ever smaller rotations."""
    k = np.arange(600) + 0.5
    z, turn = 1 - 2 * k / 600, np.pi * (1 + np.sqrt(5)) * k
    spread = np.stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z], 1)
    axes = [s * n for x in (one, other) for n in (*faces(x).normals, *x.R.T) for s in (1.0, -1.0)]
    tried = np.concatenate([spread, axes])
    n = tried[np.argsort(-gaps_along(one, other, tried), kind="stable")[:6]]
    gap, angle = gaps_along(one, other, n), np.full(6, 0.1)
    for turn in range(SEARCH):  # each tries other directions, since the gap has ridges
        angles = np.arange(24) * np.pi / 12 + turn
        aside = np.cos(angles)[:, None, None] * _across(n) + np.sin(angles)[:, None, None] * _across(n, _across(n))
        candidates = np.cos(angle)[:, None] * n + np.sin(angle)[:, None] * aside
        gaps = gaps_along(one, other, candidates.reshape(-1, 3)).reshape(24, 6)
        best = np.argmax(gaps, 0)
        better = gaps[best, range(6)] > gap + 1e-14
        n = np.where(better[:, None], candidates[best, range(6)], n)
        gap, angle = np.where(better, gaps[best, range(6)], gap), np.where(better, angle, angle / 1.5)
        if np.all(angle < 1e-9):
            break
    n = np.concatenate([n / np.linalg.norm(n, axis=1, keepdims=True), *_across_mantles(one, other)])
    gap = gaps_along(one, other, n)
    first = int(np.argmax(gap))
    return n[first], float(gap[first])


def _across_mantles(one: PosedSolid, other: PosedSolid) -> list[Array]:
    """Return the best direction perpendicular to each cylinder's axis, where the gap has a ridge, and to both."""
    directions, axes = list[Array](), [x.R[:, 2] for x in (one, other) if x.solid.kind == "cylinder"]
    for e in axes:
        t1, t2 = tangents(e)
        centre, width = np.zeros(1), np.pi
        while width > 1e-12:
            angles = centre + width * np.linspace(-1, 1, 721)
            around = np.cos(angles)[:, None] * t1 + np.sin(angles)[:, None] * t2
            best = int(np.argmax(gaps_along(one, other, around)))
            centre, width = angles[best], width / 60
        directions.append(around[best : best + 1])
    if len(axes) == 2 and (size := np.linalg.norm(both := np.cross(axes[0], axes[1]))) > 1e-9:
        directions += [both[None] / size, -both[None] / size]
    return directions


def _across(n: Array, t: Array | None = None) -> Array:
    """(k, 3): unit vectors perpendicular to n (k, 3), and to t if it is given."""
    if t is None:
        t = np.where(np.abs(n[:, :1]) > 0.9, [0.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    x = np.cross(n, t)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
