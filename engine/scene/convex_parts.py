"""Split a mesh into its convex parts, if it consists of convex parts.

A part is a connected component of triangles. It counts as convex if it is closed and fills its hull: then it comes from
a convex decomposition, and is not a detail of a drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Triangles = NDArray[np.int64]
_MIN_FILL = 0.99  # minimum share of the hull's volume
_MAX_PARTS = 256  # parts of a mesh; more are a drawing's


def convex_parts(meshes: Sequence[tuple[Array, Triangles]]) -> tuple[Array, ...]:
    """Return the corners (k, 3) of each part of meshes, given as vertices (v, 3) and triangles (t, 3).

    Return none if there are fewer than two parts, or if one is not convex.
    """
    pieces: list[Array] = []
    for vertices, triangles in meshes:
        parts = _split(vertices, triangles) or _split(*_merged(vertices, triangles))
        if not parts:
            return ()
        pieces += parts
    return tuple(pieces) if len(pieces) > 1 else ()


def _merged(vertices: Array, triangles: Triangles) -> tuple[Array, Triangles]:
    """Merge coincident vertices, since some files store three per triangle."""
    places, number = np.unique(vertices, axis=0, return_inverse=True)
    return places, number.reshape(-1)[triangles]


def _split(vertices: Array, triangles: Triangles) -> list[Array]:
    """Return the corners of the connected components; none if one of them is not convex."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    if len(triangles) == 0:
        return []
    ends = triangles[:, [0, 1, 1, 2]].reshape(-1, 2)
    joined = coo_matrix((np.ones(len(ends), bool), tuple(ends.T)), shape=(len(vertices), len(vertices)))
    numbers, part = np.unique(connected_components(joined, directed=False)[1][triangles[:, 0]], return_inverse=True)
    if len(numbers) > _MAX_PARTS:
        return []
    pieces: list[Array] = []
    for number in range(len(numbers)):
        corners = _convex(vertices, triangles[part == number])
        if corners is None:
            return []
        pieces.append(corners)
    return pieces


def _convex(vertices: Array, triangles: Triangles) -> Array | None:
    """Return the corners of a part's hull if the part is closed and convex."""
    from scipy.spatial import ConvexHull, QhullError

    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    one_way, times = np.unique(edges, axis=0, return_counts=True)
    if np.any(times > 1) or not np.array_equal(one_way, np.unique(one_way[:, ::-1], axis=0)):
        return None  # open, or partly inside out
    used = np.unique(triangles)
    try:
        hull: Any = ConvexHull(vertices[used])
    except (QhullError, ValueError):
        return None
    a, b, c = np.moveaxis(vertices[triangles] - vertices[used[0]], 1, 0)
    volume = abs(float(np.sum(a * np.cross(b, c)))) / 6
    return np.ascontiguousarray(vertices[used][hull.vertices]) if volume >= _MIN_FILL * hull.volume else None
