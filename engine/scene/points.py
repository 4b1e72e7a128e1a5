"""The points of a robot that can touch the ground: what its collision shapes are, for a contact with a surface.

A sphere is one point with a radius, a capsule two, a box its eight corners, a cylinder six points of its two rims, a
mesh the corners of its convex hull, or of those of its parts. Of those of one shape at most four are kept as contacts
at a time, so their number is known before anything moves. On a height field a sphere may touch in several places:
there its point stands four times, once for each.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.model import WORLD, Collision, Model
from engine.scene.height_field import HeightField
from engine.scene.hull import of_link
from engine.scene.hull_faces import edges
from engine.scene.scene import Scene

KEPT = 4
"""Contacts of a shape with one surface, at most."""
WALKED = 16
"""Points of a shape from which on those near the ground are found along edges."""
_RIM = 3
Piece = tuple[np.ndarray, float, float]
"""The places of a convex shape's points (k, 3) in its own frame, and the radius and the rim of all of them."""


class Points(NamedTuple):
    """The points of m convex shapes, P in all; those of shape s are `first[s]` … `first[s + 1]`.

    `body` and `link` (m,) carry the shape. `position` (P, 3) in the body's frame, m; `radius` (P,) of the sphere about
    it, m. `axis` (P, 3) is that of a rim of `rim` (P,) m about the position, else 0. `friction` and `restitution` (m,).
    `bound` (m, 4) are centre and radius, m, of a ball around each shape, in the body's frame. Point k of a hull with
    many corners is joined by edges to `neighbour[first_neighbour[k]]` …; other points are joined to none.
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
        """Contacts that there can be at a time."""
        return int(np.minimum(np.diff(self.first), KEPT).sum())


def points(model: Model, scene: Scene) -> Points:
    """The points of a model's collision shapes; a shape that does not move has none, and without a ground none has."""
    touching = scene.ground is not None
    shapes = [shape for shape in model.collisions if touching and model.link_body[shape.link] != WORLD]
    times = KEPT if isinstance(scene.ground, HeightField) else 1
    pieces = [(shape, piece) for shape in shapes for piece in _LOCAL[shape.shape](shape)]
    found = [_of_piece(model, shape, piece, times) for shape, piece in pieces]
    first = np.cumsum([0, *(len(radius) for _, radius, _, _ in found)])
    columns = zip(*found, strict=True) if found else (np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)), np.zeros(0))
    position, radius, axis, rim = (np.concatenate(x) if found else np.asarray(x) for x in columns)
    body = np.array([model.link_body[shape.link] for shape, _ in pieces], np.int64)
    link = np.array([shape.link for shape, _ in pieces], np.int64)
    friction, restitution = np.array([coefficients(scene, shape) for shape, _ in pieces]).reshape(-1, 2).T.copy()
    bound = np.array([_bound(*piece) for piece in found]).reshape(-1, 4)
    joined = [start + _edges(piece[0]) for start, piece in zip(first, found, strict=False)]
    edge = np.concatenate([np.zeros((0, 2), np.int64), *joined])
    neighbours = np.cumsum([0, *np.bincount(edge[:, 0], minlength=len(radius))])
    return Points(
        first, body, link, position, radius, axis, rim, friction, restitution, bound, neighbours, edge[:, 1].copy()
    )


def coefficients(scene: Scene, shape: Collision, other: Collision | None = None) -> tuple[float, float]:
    """Friction and restitution where a shape touches another one, or the scene: of the two values the smaller.

    A shape of which the robot's file says nothing has the scene's values, as the scene itself has. The rule is that of
    Gazebo with ODE, for which most such files are written: the surface that grips or springs less decides.
    """
    friction, restitution = [scene.friction, scene.restitution] if other is None else [np.inf, np.inf]
    for one in (shape, other) if other is not None else (shape,):
        friction = min(friction, scene.friction if one.friction is None else one.friction)
        restitution = min(restitution, scene.restitution if one.restitution is None else one.restitution)
    return friction, restitution


def _of_piece(
    model: Model, shape: Collision, piece: Piece, times: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions, radii, axes and rims of a piece's points, in its body's frame; those of spheres so many times."""
    R = model.link_rotation[shape.link] @ shape.pose[:3, :3]
    p = model.link_rotation[shape.link] @ shape.pose[:3, 3] + model.link_position[shape.link]
    local, radius, rim = piece
    local = np.repeat(local, times if radius > 0 else 1, 0)
    count = len(local)
    axis = np.tile(R[:, 2] if rim else np.zeros(3), (count, 1))
    return local @ R.T + p, np.full(count, radius), axis, np.full(count, rim)


def _bound(position: np.ndarray, radius: np.ndarray, _axis: np.ndarray, rim: np.ndarray) -> np.ndarray:
    """Centre and radius of a ball around a shape's points."""
    centre = (np.min(position, 0) + np.max(position, 0)) / 2
    return np.append(centre, np.max(np.linalg.norm(position - centre, axis=1) + radius + rim))


def _edges(corners: np.ndarray) -> np.ndarray:
    """The edges (e, 2) of a hull with corners (k, 3), as `hull_faces.edges` has them; none of a shape with few points.

    Nor are there any where not every corner has one, as where a corner lies in a face to the last digits: all points of
    such a hull are looked at.
    """
    if len(corners) < WALKED:
        return np.zeros((0, 2), np.int64)
    edge = edges(corners)
    whole = len(np.unique(edge[:, 0])) == len(corners)
    return edge if whole else edge[:0]


def _box(shape: Collision) -> list[Piece]:
    corners = np.array(list(product((-0.5, 0.5), repeat=3)))
    return [(corners * shape.size, 0.0, 0.0)]


def _sphere(shape: Collision) -> list[Piece]:
    return [(np.zeros((1, 3)), shape.size[0], 0.0)]


def _capsule(shape: Collision) -> list[Piece]:
    radius, length = shape.size
    return [(np.array([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]]), radius, 0.0)]


def _cylinder(shape: Collision) -> list[Piece]:
    radius, length = shape.size
    return [(np.repeat([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]], _RIM, 0), 0.0, radius)]


def _mesh(shape: Collision) -> list[Piece]:
    return [(corners * shape.size, 0.0, 0.0) for corners in of_link(shape.mesh)]


_LOCAL = {"mesh": _mesh, "box": _box, "sphere": _sphere, "capsule": _capsule, "cylinder": _cylinder}
"""The convex pieces of a shape: of all but some meshes there is one."""
