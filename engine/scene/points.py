"""The contact points of a robot's collision shapes with a ground surface.

A sphere is one point with a radius, a capsule two, a box its eight corners, a cylinder six points of its two rims, a
mesh the corners of its convex hull, or of those of its parts. At most four points of a shape are contacts at a time, so
that the number of contacts is bounded in advance. A sphere can touch a height field in several places; its point is
then listed four times.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.model import WORLD, Collision, Model
from engine.scene.cached_hulls import with_edges
from engine.scene.coefficients import coefficients
from engine.scene.height_field import HeightField
from engine.scene.scene import Scene

KEPT = 4
"""Maximum number of contacts of a shape with one surface."""
WALKED = 16
"""Number of points from which those near the ground are searched along edges."""
_RIM = 3
Piece = tuple[np.ndarray, float, float, np.ndarray]
"""The points (k, 3) of a convex shape in its own frame, their common radius and rim, and a hull's edges (e, 2)."""
_NO_EDGES = np.zeros((0, 2), np.int64)


class Points(NamedTuple):
    """The P points of m convex shapes; those of shape s are `first[s]` … `first[s + 1]`.

    `body` and `link` (m,) are the shape's. `position` (P, 3) in the body's frame, m; `radius` (P,), m, that of a sphere
    about it. `axis` (P, 3) is the axis of a rim with radius `rim` (P,), m, else 0. `friction` and `restitution` (m,).
    `bound` (m, 4) are centre and radius, m, of each shape's bounding ball, in the body's frame. Point k of a hull with
    many corners has the edge neighbours `neighbour[first_neighbour[k]]` …; other points have none.
    """

    first: NDArray[np.int64]
    body: NDArray[np.int64]
    link: NDArray[np.int64]
    position: NDArray[np.floating]
    radius: NDArray[np.floating]
    axis: NDArray[np.floating]
    rim: NDArray[np.floating]
    friction: NDArray[np.floating]
    restitution: NDArray[np.floating]
    bound: NDArray[np.floating]
    first_neighbour: NDArray[np.int64]
    neighbour: NDArray[np.int64]

    @property
    def capacity(self) -> int:
        """The maximum number of simultaneous contacts."""
        return int(np.minimum(np.diff(self.first), KEPT).sum())


def points(model: Model, scene: Scene) -> Points:
    """Return the points of a model's moving collision shapes; none without a ground."""
    touching = scene.ground is not None
    shapes = [shape for shape in model.collisions if touching and model.link_body[shape.link] != WORLD]
    times = KEPT if isinstance(scene.ground, HeightField) else 1
    pieces = [(shape, piece) for shape in shapes for piece in _LOCAL[shape.shape](shape)]
    groups = [_of_piece(model, shape, piece, times) for shape, piece in pieces]
    first = np.cumsum([0, *(len(radius) for _, radius, _, _ in groups)])
    columns = zip(*groups, strict=True) if groups else (np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)), np.zeros(0))
    position, radius, axis, rim = (np.concatenate(x) if groups else np.asarray(x) for x in columns)
    body = np.array([model.link_body[shape.link] for shape, _ in pieces], np.int64)
    link = np.array([shape.link for shape, _ in pieces], np.int64)
    friction, restitution = np.array([coefficients(scene, shape) for shape, _ in pieces]).reshape(-1, 2).T.copy()
    bound = np.array([_bound(*piece) for piece in groups]).reshape(-1, 4)
    joined = [start + _edges(len(piece[0]), piece[3]) for start, (_, piece) in zip(first, pieces, strict=False)]
    edge = np.concatenate([np.zeros((0, 2), np.int64), *joined])
    neighbours = np.cumsum([0, *np.bincount(edge[:, 0], minlength=len(radius))])
    return Points(
        first, body, link, position, radius, axis, rim, friction, restitution, bound, neighbours, edge[:, 1].copy()
    )


def _of_piece(
    model: Model, shape: Collision, piece: Piece, times: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, radii, axes and rims of a piece's points, in its body's frame; `times` repeats spheres'."""
    R = model.link_rotation[shape.link] @ shape.pose[:3, :3]
    p = model.link_rotation[shape.link] @ shape.pose[:3, 3] + model.link_position[shape.link]
    local, radius, rim, _ = piece
    local = np.repeat(local, times if radius > 0 else 1, 0)
    count = len(local)
    axis = np.tile(R[:, 2] if rim else np.zeros(3), (count, 1))
    return local @ R.T + p, np.full(count, radius), axis, np.full(count, rim)


def _bound(position: np.ndarray, radius: np.ndarray, _axis: np.ndarray, rim: np.ndarray) -> np.ndarray:
    """Return centre and radius of a ball around a shape's points."""
    centre = (np.min(position, 0) + np.max(position, 0)) / 2
    return np.append(centre, np.max(np.linalg.norm(position - centre, axis=1) + radius + rim))


def _edges(corners: int, edge: np.ndarray) -> np.ndarray:
    """Return the edges (e, 2) of a shape along which its lowest points are searched; none for a shape with few points.

    There are none either if a corner has no edge, for instance because it lies in a face up to rounding: then all
    points are examined.
    """
    walked = corners >= WALKED and len(np.unique(edge[:, 0])) == corners
    return edge if walked else _NO_EDGES


def _box(shape: Collision) -> list[Piece]:
    corners = np.array(list(product((-0.5, 0.5), repeat=3)))
    return [(corners * shape.size, 0.0, 0.0, _NO_EDGES)]


def _sphere(shape: Collision) -> list[Piece]:
    return [(np.zeros((1, 3)), shape.size[0], 0.0, _NO_EDGES)]


def _capsule(shape: Collision) -> list[Piece]:
    radius, length = shape.size
    return [(np.array([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]]), radius, 0.0, _NO_EDGES)]


def _cylinder(shape: Collision) -> list[Piece]:
    radius, length = shape.size
    return [(np.repeat([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]], _RIM, 0), 0.0, radius, _NO_EDGES)]


def _mesh(shape: Collision) -> list[Piece]:
    return [(corners * shape.size, 0.0, 0.0, edge) for corners, edge in with_edges(shape.mesh)]


_LOCAL = {"mesh": _mesh, "box": _box, "sphere": _sphere, "capsule": _capsule, "cylinder": _cylinder}
"""The convex pieces of a shape: one, except for some meshes."""
