"""The corners and edges of a mesh file's convex hull, or of its convex parts; each file is read once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.scene import binary_stl
from engine.scene.convex_hull import convex
from engine.scene.hull_faces import edges
from engine.scene.mesh_files import require_kind
from engine.scene.mesh_reader import read_hulls, reader

Array = NDArray[np.floating]
FEW_TRIANGLES = 4000
"""Triangles of a binary STL up to which its hull is computed in this process: at most a fifth of a second."""


_READ = set[str]()
"""Files that were read."""


def prepare(meshes: Iterable[str | None]) -> None:
    """Start the process that is going to read the first of these files that needs it, without waiting for it."""
    for mesh in meshes:
        if mesh is not None and Path(mesh).is_absolute() and mesh not in _READ:
            with suppress(OSError):
                if not _is_small(Path(mesh)):
                    reader().prepare(Path(mesh))
                    return


def of_link(mesh: str | None) -> tuple[Array, ...]:
    """Return the `hulls` of a link's collision mesh. Raises ValueError also if `engine.load` did not find it."""
    return tuple(corners for corners, _ in with_edges(mesh))


def with_edges(mesh: str | None) -> tuple[tuple[Array, NDArray[np.int64]], ...]:
    """Return corners (k, 3) and edges (e, 2), as in `hull_faces.Faces`, of each of the `hulls` of a link's mesh."""
    if mesh is None or not Path(mesh).is_absolute():
        raise ValueError(
            f"the collision mesh {mesh} was not found, or lies outside the robot's folders; robots touch by its hull"
        )
    return _of_file(mesh)


def hulls(path: str) -> tuple[Array, ...]:
    """Return the corners (k, 3) of the convex hulls that represent a mesh file, in its own units.

    There is one hull per part if the file has several parts, all closed and convex, as convex decompositions do;
    otherwise one for the whole. Raises ValueError with one sentence if there is no such file, or nothing in it has a
    volume.
    """
    return tuple(corners for corners, _ in _of_file(path))


def _of_file(path: str) -> tuple[tuple[Array, NDArray[np.int64]], ...]:
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as problem:
        raise ValueError(
            f"the collision mesh {path} cannot be read ({problem.strerror}); robots touch by its hull"
        ) from problem
    found = _hulls(path, changed)
    _READ.add(path)
    return found


@lru_cache(maxsize=256)
def _hulls(path: str, _changed: int) -> tuple[tuple[Array, NDArray[np.int64]], ...]:
    file = Path(path)
    try:
        require_kind(file)
        corners = binary_stl.corners(file) if _is_small(file) else None
    except (OSError, ValueError) as problem:
        raise ValueError(f"the collision mesh {path} cannot be read: {problem}") from problem
    try:
        if corners is None or len(np.unique(corners, axis=0)) > FEW_TRIANGLES // 2:
            return read_hulls(file)
        return tuple((hull, edges(hull)) for hull in convex([(corners, np.arange(len(corners)).reshape(-1, 3))]))
    except OSError as problem:
        raise ValueError(f"the collision mesh {path} cannot be read: {problem}") from problem
    except ValueError as problem:
        raise ValueError(f"the collision mesh {path} {problem}") from problem


def _is_small(file: Path) -> bool:
    """Whether the file is a binary STL whose hull is computed in this process."""
    return 0 < binary_stl.count(file) <= FEW_TRIANGLES
