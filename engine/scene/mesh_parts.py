"""Convert a mesh file to coloured parts for drawing, or to the corners of convex hulls for contact.

This runs in a child process; see `engine.scene.mesh_reader`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.scene import binary_stl
from engine.scene.convex_hull import convex
from engine.scene.convex_parts import Triangles
from engine.scene.mesh_files import Budget, open_mesh

Array = NDArray[np.floating]
BASE_PIXELS, PIXELS_PER_BYTE = 1 << 24, 16
"""Texture pixels allowed for any mesh, and for each byte that was read."""
MAX_TEXTURE_SIDE = 2048
"""Pixels along the longer side of a texture, beyond which colours are averaged over neighbours."""
MANY = 256
"""Number of parts beyond which they are merged, since each costs a draw call."""
_PICTURES = ("PNG", "JPEG", "BMP", "GIF", "TGA", "TIFF", "WEBP")
"""Image formats that are read; for some others Pillow starts programs."""


class MeshPart(NamedTuple):
    """vertices (v, 3) in m, triangles (t, 3) of them, colors (v, 4) or (t, 4) RGBA in 0…255, or None."""

    vertices: NDArray[np.float64]
    triangles: Triangles
    colors: NDArray[np.uint8] | None


def parts(path: str | Path, budget: Budget | None = None) -> list[MeshPart]:
    """Return the placed parts of a mesh file. Raises like `open_mesh`, also for textures that are too large.

    A COLLADA file's unit is applied, its "up" axis is not.
    """
    budget = budget or Budget()
    with _bounded_pictures(budget) as pictures:
        placed = _placed(open_mesh(path, budget=budget))
        pictures.judge()
        mesh_parts = [part for mesh, pose in placed if (part := _part(mesh, pose, pictures)) is not None]
    return mesh_parts if len(mesh_parts) <= MANY else [_joined(mesh_parts)]


def hulls(path: str | Path, budget: Budget | None = None) -> tuple[Array, ...]:
    """Return the corners (k, 3) of the convex parts of a mesh file, or of its hull, in its own units.

    Raises ValueError, whose message continues the file's name.
    """
    budget = budget or Budget()
    if count := binary_stl.count(path):
        budget.read(Path(path).stat().st_size)
        return convex([(binary_stl.corners(path), np.arange(3 * count).reshape(-1, 3))])
    with _bounded_pictures(None):
        try:
            meshes = [(mesh, pose) for mesh, pose in _placed(open_mesh(path, True, budget)) if hasattr(mesh, "faces")]
        except (OSError, ValueError) as problem:
            raise ValueError(f"cannot be read: {problem}") from problem
    return convex([(_moved(mesh, pose), np.asarray(mesh.faces, np.int64)) for mesh, pose in meshes])


def _placed(scene: Any) -> list[tuple[Any, Array]]:
    """Return the objects of a scene with the poses (4, 4) of their frames, one entry per placement."""
    return [(scene.geometry[name], pose) for pose, name in map(scene.graph.get, scene.graph.nodes_geometry)]


def _moved(mesh: Any, pose: Array) -> NDArray[np.float64]:
    return np.asarray(mesh.vertices, np.float64) @ pose[:3, :3].T + pose[:3, 3]


def _part(mesh: Any, pose: Array, pictures: _Pictures) -> MeshPart | None:
    import trimesh

    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        return None
    vertices = _moved(mesh, pose)
    unit = mesh.metadata.get("units", "meters")
    if unit != "meters" and "meters" in unit:
        vertices = vertices * trimesh.units.unit_conversion(unit, "meters")
    return MeshPart(vertices, np.asarray(mesh.faces, np.int64), _colors(mesh, pictures))


def _joined(pieces: Sequence[MeshPart]) -> MeshPart:
    """Merge parts into one with separate vertices per triangle; parts without colour become white."""
    colors = [part.colors for part in pieces]
    vertices = np.concatenate([part.vertices[part.triangles].reshape(-1, 3) for part in pieces])
    triangles = np.arange(len(vertices)).reshape(-1, 3)
    if all(each is None for each in colors):
        return MeshPart(vertices, triangles, None)
    white = np.full(4, 255, np.uint8)
    tints = [
        np.broadcast_to(white, (len(part.triangles), 3, 4)) if tint is None
        else tint[part.triangles] if len(tint) == len(part.vertices)
        else np.broadcast_to(tint[:, None], (len(tint), 3, 4))
        for part, tint in zip(pieces, colors, strict=True)
    ]  # fmt: skip
    return MeshPart(vertices, triangles, np.concatenate(tints).reshape(-1, 4))


def _colors(mesh: Any, pictures: _Pictures) -> NDArray[np.uint8] | None:
    """(v, 4) or (t, 4): the colours of a mesh, or None if the file has none."""
    visual: Any = mesh.visual
    if visual.kind == "texture":
        material = visual.material
        image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
        if image is not None and visual.uv is not None:
            return pictures.colors(image, np.asarray(visual.uv, float))
        return np.tile(np.asarray(material.main_color, np.uint8), (len(mesh.vertices), 1))
    if visual.kind == "vertex":
        return np.asarray(visual.vertex_colors, np.uint8)
    if visual.kind == "face":
        return np.asarray(visual.face_colors, np.uint8)
    return None


class _Pictures:
    """The textures of a mesh: each is read once, and a limit on pixels applies to all together."""

    def __init__(self, budget: Budget, opened: Any):
        self._budget, self._open, self._count = budget, opened, 0
        self._known: dict[bytes, Any] = {}
        self._pixels: dict[int, NDArray[np.uint8]] = {}

    def open(self, file: Any, *_: Any, **__: Any) -> Any:
        """Open an image; replaces `PIL.Image.open`."""
        content = file.read()
        if content not in self._known:
            file.seek(0)
            image = self._known[content] = self._open(file, formats=_PICTURES)
            self._count += image.width * image.height
        return self._known[content]

    def judge(self) -> None:
        """Raise ValueError if there are too many pixels."""
        limit = BASE_PIXELS + PIXELS_PER_BYTE * self._budget.bytes
        if self._count > limit:
            raise ValueError(
                f"its textures have {self._count / 1e6:.0f} million pixels, and at most {limit / 1e6:.0f} million are "
                "read of files of its size; give smaller pictures"
            )

    def colors(self, image: Any, uv: Array) -> NDArray[np.uint8]:
        """(v, 4): the colours of a texture at coordinates (v, 2), sampled as trimesh does."""
        if id(image) not in self._pixels:
            factor = -(-max(image.size) // MAX_TEXTURE_SIDE)
            rgba = image if image.mode == "RGB" and factor > 1 else image.convert("RGBA")
            self._pixels[id(image)] = np.asarray((rgba.reduce(factor) if factor > 1 else rgba).convert("RGBA"))
            image.close()  # frees the pixels; the entry stays, so that its id is not reused
        pixels = self._pixels[id(image)]
        height, width = pixels.shape[:2]
        x, y = (uv[:, 0] * (width - 1)) % width, ((1 - uv[:, 1]) * (height - 1)) % height
        return np.asarray(pixels[y.round().astype(np.int64) % height, x.round().astype(np.int64) % width])


@contextmanager
def _bounded_pictures(budget: Budget | None) -> Iterator[_Pictures]:
    """Replace PIL's image opening for trimesh within the context; without a budget none is opened."""
    import PIL.Image

    opened, pixel_limit = PIL.Image.open, PIL.Image.MAX_IMAGE_PIXELS
    pictures = _Pictures(budget or Budget(), opened)
    PIL.Image.MAX_IMAGE_PIXELS = None  # counted by `judge` instead
    PIL.Image.open = pictures.open if budget is not None else _closed  # type: ignore[assignment]
    try:
        yield pictures
    finally:
        PIL.Image.open, PIL.Image.MAX_IMAGE_PIXELS = opened, pixel_limit


def _closed(*_: Any, **__: Any) -> Any:
    raise OSError("pictures touch nothing")
