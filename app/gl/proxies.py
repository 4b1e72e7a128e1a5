"""Stand-ins for robots that are small in the picture of a batch: a simple mesh per link, or a few.

A link has several where one would fill much that is empty, as between the foot and the post of a pedestal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.gl.mesh import Mesh, assemble, from_corners
from app.gl.scene import Content, Instances

Points = NDArray[np.float64]

_WAYS = np.array([way for way in np.ndindex(3, 3, 3) if way != (1, 1, 1)]) - 1.0
"""(26, 3): from the middle of a cube to its corners, edge centres and face centres."""

MOST_PIECES, MOST_SHAPES = 4, 40
"""The most simple meshes of a link, and the most shapes of one that may have several."""
EMPTY = 0.5
"""Share of the box around two pieces that is in neither, up to which they are joined."""
THIN = 1e-3  # m, added to each side of a box


def proxies(content: Content) -> tuple[Content, Content]:
    """Return the robot with a hull of 48 triangles per piece of a visible link, and with a box of 12."""
    links = list(_links(content))
    hulls = [(link, _furthest(points), color) for link, points, color in links]
    boxes = [(link, _corners(points), color) for link, points, color in links]
    made = _content(hulls, _cube(2), _round), _content(boxes, _cube(1), _flat)
    return replace(made[0], parts=content.parts), replace(made[1], parts=content.parts)


def _links(content: Content) -> Iterator[tuple[int, Points, NDArray[np.float64]]]:
    """Yield the pieces of each visible link with points of them (P, 3), and their mean colour."""
    instances = content.instances
    sizes = np.prod(np.ptp(content.hulls, axis=1) + 1e-3, axis=1) ** (2 / 3)  # approximate surface areas
    own = np.array([mesh.colors.mean(0) / 255 for mesh in content.meshes]).reshape(-1, 4)
    colors = instances.color * own[instances.mesh]
    opaque = colors[:, 3] >= 0.5
    for link in np.unique(instances.link[opaque]):
        shapes = np.flatnonzero((instances.link == link) & opaque)
        for piece in _pieces(content.hulls[shapes].min(1), content.hulls[shapes].max(1)):
            here = shapes[piece]
            color = np.average(colors[here], axis=0, weights=sizes[here])
            color[3] = 1.0
            yield int(link), content.hulls[here].reshape(-1, 3), color


def _pieces(lower: Points, upper: Points) -> list[list[int]]:
    """Return which shapes, with these corners (S, 3), are joined: again and again the two that leave least empty."""
    pieces = [[k] for k in range(len(lower))]
    if len(pieces) > MOST_SHAPES:
        return [list(range(len(lower)))]
    while len(pieces) > 1:
        one, other = np.triu_indices(len(pieces), 1)
        around = _volumes(np.minimum(lower[one], lower[other]), np.maximum(upper[one], upper[other]))
        own = _volumes(lower, upper)
        empty = around - own[one] - own[other]
        best = int(np.argmin(empty))
        if len(pieces) <= MOST_PIECES and empty[best] > EMPTY * around[best]:
            break
        i, j = int(one[best]), int(other[best])
        pieces[i] += pieces.pop(j)
        lower[i], upper[i] = np.minimum(lower[i], lower[j]), np.maximum(upper[i], upper[j])
        lower, upper = np.delete(lower, j, 0), np.delete(upper, j, 0)
    return pieces


def _volumes(lower: Points, upper: Points) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.prod(upper - lower + THIN, axis=1)
    return found


def _furthest(points: Points) -> Points:
    """(26, 3): the extreme points along `_WAYS` from the middle of their box, scaled to a cube."""
    lower, upper = points.min(0), points.max(0)
    shares = (points - (lower + upper) / 2) / np.maximum(upper - lower, 1e-6)
    ways = _WAYS / np.linalg.norm(_WAYS, axis=1, keepdims=True)
    return points[np.argmax(shares @ ways.T, axis=0)]


def _corners(points: Points) -> Points:
    """(26, 3): the corners of the points' box, and the centres of its edges and faces."""
    lower, upper = points.min(0), points.max(0)
    return (lower + upper) / 2 + _WAYS * (upper - lower) / 2


def _cube(steps: int) -> NDArray[np.int64]:
    """(F, 3): the triangles of a cube with `steps`, 1 or 2, along each edge, as indices into `_WAYS`."""
    place = {tuple(way): k for k, way in enumerate(_WAYS)}
    lines = np.linspace(-1.0, 1.0, steps + 1)
    faces = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            for u0, u1 in pairwise(lines):
                for v0, v1 in pairwise(lines):
                    corners = [np.roll((side, u, v), axis) for u, v in ((u0, v0), (u1, v0), (u1, v1), (u0, v1))]
                    a, b, c, d = (place[tuple(corner)] for corner in (corners if side > 0 else corners[::-1]))
                    faces += [(a, b, c), (a, c, d)]
    return np.array(faces)


def _content(
    links: list[tuple[int, Points, NDArray[np.float64]]],
    faces: NDArray[np.int64],
    shaded: Callable[[Points, NDArray[np.int64]], Mesh],
) -> Content:
    """Return one mesh for each link, from its 26 points, made by `shaded`."""
    count = len(links)
    instances = Instances(
        np.arange(count),
        np.array([link for link, _, _ in links], np.int64),
        np.repeat(np.eye(4)[None], count, 0),
        np.array([color for _, _, color in links], np.float32).reshape(-1, 4),
        np.arange(count + 1),
    )
    meshes = [shaded(points, faces) for _, points, _ in links]
    hulls = np.array([points for _, points, _ in links]).reshape(-1, 26, 3)
    return Content(meshes, [()] * count, instances, hulls)


def _flat(points: Points, faces: NDArray[np.int64]) -> Mesh:
    """Return the triangles of non-zero area, flat-shaded."""
    corners = points[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(across, axis=1)
    kept = length > 1e-12
    normals = (across[kept] / length[kept, None]).repeat(3, 0)
    return from_corners(points, faces[kept], normals, np.full((len(normals), 4), 255, np.uint8), False)


def _round(points: Points, faces: NDArray[np.int64]) -> Mesh:
    """Return the mesh with one normal per vertex: few vertices make many robots cheap to draw."""
    corners = points[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(points)
    for corner in range(3):
        np.add.at(normals, faces[:, corner], across)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    outward = points - points.mean(0) + 1e-9
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    normals = np.where(length > 1e-12, normals / np.maximum(length, 1e-12), outward)
    return assemble(points, normals, faces[np.linalg.norm(across, axis=1) > 1e-12])
