"""Meshes from files, through trimesh, as `engine.open_mesh` reads them, with the colours of their materials.

It is imported with the first file, since it takes more than half as long as all the rest of the window.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.gl.mesh import Mesh, from_triangles, join, unify

if TYPE_CHECKING:
    import trimesh


class MeshError(ValueError):
    """A mesh file that is missing or cannot be read; the message says which and why."""


def read(path: str | Path) -> Mesh:
    """The mesh of a file, in metres, its parts joined; MeshError in one sentence where that fails.

    As other URDF viewers do, the unit that a COLLADA file states is applied, the axis it calls "up" is not.
    """
    path = Path(path)
    if not path.is_file():
        raise MeshError(f"there is no file {path}")
    try:
        scene = engine.open_mesh(path)
        found = [_part(scene.geometry[name], pose) for pose, name in map(scene.graph.get, scene.graph.nodes_geometry)]
    except Exception as fault:  # of colours and textures, too, which are judged as they are used
        raise MeshError(f"{path.name} cannot be read: {fault}") from fault
    parts = [part for part in found if part is not None]
    if not parts:
        raise MeshError(f"{path.name} holds no triangles")
    return unify(join(parts))


def _part(geometry: Any, pose: NDArray[np.float64]) -> Mesh | None:
    import trimesh

    if not isinstance(geometry, trimesh.Trimesh) or not len(geometry.faces):
        return None
    vertices = np.asarray(geometry.vertices, float) @ pose[:3, :3].T + pose[:3, 3]
    unit = geometry.metadata.get("units", "meters")
    if unit != "meters" and "meters" in unit:
        vertices = vertices * trimesh.units.unit_conversion(unit, "meters")
    return from_triangles(vertices, np.asarray(geometry.faces), _colors(geometry))


def _colors(geometry: trimesh.Trimesh) -> NDArray[np.uint8] | None:
    """(V, 4) or (F, 4), or None where the file gives no colour."""
    visual: Any = geometry.visual
    if visual.kind == "texture":
        material = visual.material
        image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
        if image is not None and visual.uv is not None:
            return np.asarray(visual.to_color().vertex_colors, np.uint8)
        return np.tile(np.asarray(material.main_color, np.uint8), (len(geometry.vertices), 1))
    if visual.kind == "vertex":
        return np.asarray(visual.vertex_colors, np.uint8)
    if visual.kind == "face":
        return np.asarray(visual.face_colors, np.uint8)
    return None
