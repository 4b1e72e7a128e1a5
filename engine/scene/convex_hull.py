"""The convex hull of a mesh, or of each of its convex parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.scene.convex_parts import Triangles, convex_parts

Array = NDArray[np.floating]


def convex(meshes: Sequence[tuple[Array, Triangles]]) -> tuple[Array, ...]:
    """Return the corners (k, 3) of the meshes' convex parts, or of their common hull; meshes are vertices and
    triangles.
    """
    corners = np.concatenate([np.zeros((0, 3)), *(vertices for vertices, _ in meshes)])
    if len(corners) < 4:
        raise ValueError(f"has {len(corners)} corners; give it a volume")
    return convex_parts(meshes) or (_corners(corners),)


def _corners(corners: Array) -> Array:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.ascontiguousarray(corners[ConvexHull(corners).vertices])
    except QhullError as problem:
        raise ValueError("is flat; a mesh that touches needs a volume") from problem
