"""Convex shapes in arrays for the kernels: sizes, and the corners and faces of hulls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.scene.hull_faces import faces

Array = NDArray[np.floating]
Whole = NDArray[np.int64]
SPHERE, CAPSULE, BOX, CYLINDER, HULL = range(5)


class Solid(NamedTuple):
    """A convex shape, centred in its own frame.

    `size`, in m, is a sphere's radius, a capsule's and a cylinder's radius and length along z (without the capsule's
    ends), a box's edge lengths. A hull instead has `vertices` (k, 3), m, all of them corners. `name` is used in
    messages.
    """

    kind: Literal["sphere", "capsule", "box", "cylinder", "hull"]
    size: tuple[float, ...] = ()
    vertices: Array | None = None
    name: str = "the hull"


class Shapes(NamedTuple):
    """S convex shapes with V hull corners and F hull faces, each shape in its own frame, m.

    `kind` (S,) is SPHERE … HULL, `size` (S, 3) is as in `Solid`, `bound` (S, 4) the centre and radius of a bounding
    ball. Corners of shape s are `vertices[first[s]:first[s + 1]]`; its faces are rows `first_face[s]` … of `plane` (F,
    4), which hold the outward normal and the offset, and the corners of face f are
    `vertices[loop[first_loop[f]:first_loop[f + 1]]]`, counterclockwise as seen from outside. Corner v has the edge
    neighbours `neighbour[first_neighbour[v]]` … and the faces `face_at[first_face_at[v]]` ….
    """

    kind: NDArray[np.int64]
    size: Array
    first: NDArray[np.int64]
    vertices: Array
    bound: Array
    first_face: NDArray[np.int64]
    plane: Array
    first_loop: NDArray[np.int64]
    loop: NDArray[np.int64]
    first_neighbour: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    first_face_at: NDArray[np.int64]
    face_at: NDArray[np.int64]

    @property
    def longest_loop(self) -> int:
        """The largest number of corners of a face."""
        return int(np.max(np.diff(self.first_loop), initial=0))


def shapes(solids: Sequence[Solid]) -> Shapes:
    """Pack solids into arrays. Raises ValueError with one sentence if a hull has no volume."""
    kinds = {"sphere": SPHERE, "capsule": CAPSULE, "box": BOX, "cylinder": CYLINDER, "hull": HULL}
    size, bound = np.zeros((len(solids), 3)), np.zeros((len(solids), 4))
    first, first_face = [0], [0]
    vertices, planes, loops, edges = list[Array](), list[Array](), list[Whole](), [np.zeros((0, 2), np.int64)]
    for s, solid in enumerate(solids):
        size[s, : len(solid.size)] = solid.size
        if solid.vertices is not None:
            hull = faces(solid.vertices, solid.name)
            loops += [first[-1] + corners for corners in hull.loops]
            planes.append(hull.plane)
            edges.append(first[-1] + hull.edge)
            vertices.append(solid.vertices)
        first.append(sum(map(len, vertices)))
        first_face.append(len(loops))
        bound[s] = _bound(solid)
    first_loop = np.cumsum([0, *map(len, loops)])
    loop = np.concatenate([np.zeros(0, np.int64), *loops])
    edge, face_of = np.concatenate(edges), np.repeat(np.arange(len(loops)), np.diff(first_loop))
    order = np.argsort(loop, kind="stable")
    return Shapes(
        np.array([kinds[solid.kind] for solid in solids], np.int64), size,
        np.array(first), np.concatenate([np.zeros((0, 3)), *vertices]), bound,
        np.array(first_face), np.concatenate([np.zeros((0, 4)), *planes]),
        first_loop, loop, _starts(edge[:, 0], first[-1]), edge[:, 1].copy(), _starts(loop, first[-1]), face_of[order],
    )  # fmt: skip


def _starts(of: Whole, count: int) -> Whole:
    """Return the start index of each group in a list sorted by `of`, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).astype(np.int64)


def _bound(solid: Solid) -> Array:
    """Return centre and radius of a solid's bounding ball."""
    if solid.vertices is not None:
        centre = (np.min(solid.vertices, 0) + np.max(solid.vertices, 0)) / 2
        return np.array([*centre, np.max(np.linalg.norm(solid.vertices - centre, axis=-1))])
    if solid.kind == "box":
        radius = float(np.linalg.norm(solid.size)) / 2
    elif solid.kind == "cylinder":
        radius = float(np.hypot(solid.size[0], solid.size[1] / 2))
    else:
        radius = sum(solid.size) - (solid.size[1] / 2 if solid.kind == "capsule" else 0.0)
    return np.array([0.0, 0.0, 0.0, radius])
