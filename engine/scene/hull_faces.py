"""Compute the faces and edges of a convex hull from its corners."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
_SAME = 1e-7
"""Distance, relative to the hull's extent, up to which adjacent triangles are merged into one face."""


class Faces(NamedTuple):
    """The faces and edges of a hull with corners (k, 3).

    `plane` (f, 4) are outward normals and offsets, `loops` each face's corners, counterclockwise seen from outside.
    `edge` (e, 2) are the edges in both directions, sorted, including those of the triangles that form a face.
    """

    plane: Array
    loops: list[NDArray[np.int64]]
    edge: NDArray[np.int64]


def faces(vertices: Array, name: str) -> Faces:
    """Return the faces of a hull with corners (k, 3). Raises ValueError with its name if it has no volume."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull: Any = ConvexHull(vertices)
    except (QhullError, ValueError) as problem:
        raise ValueError(f"{name} is flat at its size there; what touches needs a volume") from problem
    limit = _SAME * float(np.max(np.ptp(vertices, 0)))
    planes, loops, free = [], [], np.ones(len(hull.simplices), bool)
    for k in np.argsort(-_areas(vertices[hull.simplices]), kind="stable"):  # a large triangle has the best normal
        if not free[k]:
            continue
        n, offset = hull.equations[k, :3], -hull.equations[k, 3]
        together, front = {int(k)}, [int(k)]
        while front:
            for other in map(int, hull.neighbors[front.pop()]):
                near = np.all(np.abs(vertices[hull.simplices[other]] @ n - offset) <= limit)
                if free[other] and other not in together and near and hull.equations[other, :3] @ n > 0:
                    together.add(other)
                    front.append(other)
        free[list(together)] = False
        planes.append([*n, offset])
        loops.append(_around(vertices, np.unique(hull.simplices[sorted(together)]), n))
    return Faces(np.array(planes), loops, _edges(hull))


def edges(vertices: Array) -> NDArray[np.int64]:
    """Return the edges of a hull with corners (k, 3), as in `Faces`; none if the corners have no volume."""
    return _edges_of(np.ascontiguousarray(vertices, np.float64).tobytes())


@lru_cache(maxsize=256)
def _edges_of(vertices: bytes) -> NDArray[np.int64]:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return _edges(ConvexHull(np.frombuffer(vertices).reshape(-1, 3)))
    except (QhullError, ValueError):
        return np.zeros((0, 2), np.int64)


def _edges(hull: Any) -> NDArray[np.int64]:
    ends = hull.simplices[:, [0, 1, 1, 2, 2, 0, 1, 0, 2, 1, 0, 2]].reshape(-1, 2).astype(np.int64)
    one_number = np.unique(ends @ (len(hull.points), 1))  # sorting rows would hold Python's lock for a second
    return np.stack(np.divmod(one_number, len(hull.points)), 1)


def _areas(triangles: Array) -> Array:
    """Return twice the areas of triangles (k, 3, 3)."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=-1))


def _around(vertices: Array, corners: NDArray[np.int64], n: Array) -> NDArray[np.int64]:
    """Sort a face's corners counterclockwise about its normal n."""
    x = vertices[corners] - np.mean(vertices[corners], 0)
    e = x[np.argmax(np.linalg.norm(x, axis=-1))]
    return corners[np.argsort(np.arctan2(x @ np.cross(n, e), x @ e), kind="stable")]
