"""The corners of a mesh file's convex hull, or of its convex parts, by `convex_hull`; each file is read once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.scene import binary_stl
from engine.scene.convex_hull import convex
from engine.scene.mesh_files import require_kind
from engine.scene.mesh_reader import read_hulls

Array = NDArray[np.floating]
FEW_TRIANGLES = 4000
"""Triangles of a binary STL up to which its hull is computed in this process: at most a fifth of a second."""


def of_link(mesh: str | None) -> tuple[Array, ...]:
    """Return the `hulls` of a link's collision mesh. Raises ValueError also if `engine.load` did not find it."""
    if mesh is None or not Path(mesh).is_absolute():
        raise ValueError(
            f"the collision mesh {mesh} was not found, or lies outside the robot's folders; robots touch by its hull"
        )
    return hulls(mesh)


def hulls(path: str) -> tuple[Array, ...]:
    """Return the corners (k, 3) of the convex hulls that represent a mesh file, in its own units.

    There is one hull per part if the file has several parts, all closed and convex, as convex decompositions do;
    otherwise one for the whole. Raises ValueError with one sentence if there is no such file, or nothing in it has a
    volume.
    """
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as problem:
        raise ValueError(
            f"the collision mesh {path} cannot be read ({problem.strerror}); robots touch by its hull"
        ) from problem
    return _hulls(path, changed)


@lru_cache(maxsize=256)
def _hulls(path: str, _changed: int) -> tuple[Array, ...]:
    file = Path(path)
    try:
        require_kind(file)
        corners = binary_stl.corners(file) if 0 < binary_stl.count(file) <= FEW_TRIANGLES else None
    except (OSError, ValueError) as problem:
        raise ValueError(f"the collision mesh {path} cannot be read: {problem}") from problem
    try:
        if corners is None or len(np.unique(corners, axis=0)) > FEW_TRIANGLES // 2:
            return read_hulls(file)
        return convex([(corners, np.arange(len(corners)).reshape(-1, 3))])
    except OSError as problem:
        raise ValueError(f"the collision mesh {path} cannot be read: {problem}") from problem
    except ValueError as problem:
        raise ValueError(f"the collision mesh {path} {problem}") from problem
