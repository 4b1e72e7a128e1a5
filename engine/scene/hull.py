"""The corners of a mesh's convex hull, or of the convex parts that its file brings."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.scene.convex_parts import convex_parts
from engine.scene.mesh_files import open_mesh

Array = NDArray[np.floating]


def of_link(mesh: str | None) -> tuple[Array, ...]:
    """`hulls` of a link's collision mesh. Raises ValueError, too, for one that `engine.load` did not find."""
    if mesh is None or not Path(mesh).is_absolute():
        raise ValueError(
            f"the collision mesh {mesh} was not found, or lies outside the robot's folders; robots touch by its hull"
        )
    return hulls(mesh)


def hulls(path: str) -> tuple[Array, ...]:
    """The corners (k, 3) of the convex hulls that stand for the mesh in a file, in its own units.

    There is one for each part where the file brings several and all are closed and convex, as programs that take meshes
    apart write them; else one for the whole. Raises ValueError with one sentence where there is no such file, or
    nothing with a volume in it.
    """
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as fault:
        raise ValueError(
            f"the collision mesh {path} cannot be read ({fault.strerror}); robots touch by its hull"
        ) from fault
    return _hulls(path, changed)


@lru_cache(maxsize=256)
def _hulls(path: str, _changed: int) -> tuple[Array, ...]:
    try:
        meshes = _meshes(path)
    except (OSError, ValueError) as fault:
        raise ValueError(f"the collision mesh {path} cannot be read: {fault}") from fault
    corners = np.concatenate([np.zeros((0, 3)), *(vertices for vertices, _ in meshes)])
    if len(corners) < 4:
        raise ValueError(f"the collision mesh {path} has {len(corners)} corners; give it a volume")
    return convex_parts(meshes) or (_corners(path, corners),)


def _meshes(path: str) -> list[tuple[Array, NDArray[np.int64]]]:
    """Vertices and triangles of each object in a file."""
    meshes = [mesh for mesh in open_mesh(path, apart=True).dump() if hasattr(mesh, "faces")]
    return [(np.array(mesh.vertices, np.float64), np.array(mesh.faces, np.int64)) for mesh in meshes]


def _corners(path: str, corners: Array) -> Array:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.ascontiguousarray(corners[ConvexHull(corners).vertices])
    except QhullError as fault:
        raise ValueError(f"the collision mesh {path} is flat; a mesh that touches needs a volume") from fault
