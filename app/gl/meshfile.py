"""Meshes from files, read by `engine.read_mesh`, ready for drawing."""

from __future__ import annotations

from pathlib import Path

import engine
from app.gl.mesh import Mesh, from_triangles, join, unify


class MeshError(ValueError):
    """A mesh file that is missing or cannot be read; the message says which and why."""


def read(path: str | Path) -> Mesh:
    """Return the mesh of a file, in metres, its parts joined. Raises MeshError, in one sentence.

    Like other URDF viewers, it applies the unit of a COLLADA file, but not its up axis.
    """
    path = Path(path)
    if not path.is_file():
        raise MeshError(f"there is no file {path}")
    try:
        parts = engine.read_mesh(path)
    except (OSError, ValueError) as error:
        raise MeshError(f"{path.name} cannot be read: {error}") from error
    if not parts:
        raise MeshError(f"{path.name} holds no triangles")
    return join_parts(parts)


def join_parts(parts: list[engine.MeshPart]) -> Mesh:
    """Return the parts joined, with smooth normals."""
    return unify(join([from_triangles(part.vertices, part.triangles, part.colors) for part in parts]))
