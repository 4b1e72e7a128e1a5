"""Mesh files, judged before trimesh reads them: what is no mesh, not whole, or would grow without bound is refused."""

from __future__ import annotations

import io
import logging
import os
import re
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

KINDS = ("stl", "obj", "dae", "zae", "ply", "off", "glb", "gltf", "xaml")
BESIDE = (".mtl", ".bin", ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tga", ".tif", ".tiff", ".webp")
"""The kinds of files that a mesh may name."""
LARGEST = 2**30
"""Bytes of a mesh's file, and of one that it names."""
GROWTH = 100
"""So many times its size, and a megabyte, an archive may take."""
FARTHEST = 1e15
"""No mesh reaches so far, in whatever unit; beyond it products overflow."""

_SAMPLER = re.compile(rb"<newparam[^>]*>\s*<sampler2D>\s*<source>([^<]*)</source>.*?</newparam>", re.DOTALL)
_TEXTURE = re.compile(rb'<texture\s[^>]*?texture="([^"]*)"[^>]*?(?:/>|>.*?</texture>)', re.DOTALL)
_STL_HEADER, _STL_TRIANGLE = 84, 50

logging.getLogger("trimesh").addHandler(logging.NullHandler())  # which else writes tracebacks to the terminal


def open_mesh(path: str | Path, apart: bool = False) -> Any:
    """The objects of a mesh file and where they stand, as a `trimesh.Scene`; `apart` keeps those of an .obj apart.

    Files that it names (materials, textures, buffers) are read from its folder and the one above only, and of a COLLADA
    file textures that refer to what is not there are grey. Raises OSError where it cannot be read, and ValueError, in
    one sentence that does not name it, where it is no mesh, is not whole, or holds what is not finite.
    """
    import trimesh

    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise ValueError(f"no mesh is read from files of the kind {kind!r}; take one of {', '.join(KINDS)}")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it has more than {LARGEST >> 20} MB")
    content = path.read_bytes()
    _require_whole(kind, content)
    if kind == "dae":
        content = _without_broken_textures(content)
    # Both names of trimesh's option: it was renamed with version 5.
    options: dict[str, Any] = {"split_object": True, "split_objects": True} if apart and kind == "obj" else {}
    try:
        resolver: Any = _Beside(path)
        scene = trimesh.load_scene(io.BytesIO(content), file_type=kind, resolver=resolver, process=False, **options)
    except Exception as fault:  # readers of a dozen formats, with their own faults each
        reason = "it is damaged" if isinstance(fault, ImportError) else _one_line(fault)  # of what guesses encodings
        raise ValueError(f"its {kind.upper()} cannot be understood ({reason})") from fault
    _require_finite(scene.geometry.values(), scene.graph)
    return scene


def _require_whole(kind: str, content: bytes) -> None:
    if content.startswith(b"version https://git-lfs"):
        raise ValueError("it is a pointer of Git LFS to the file that is meant; fetch that one: git lfs pull")
    if (
        kind == "stl"
        and content[:200].removeprefix(b"\xef\xbb\xbf").lstrip()[:5].lower() != b"solid"
        and len(content) >= _STL_HEADER
    ):
        (count,) = struct.unpack_from("<I", content, _STL_HEADER - 4)
        room = (len(content) - _STL_HEADER) / _STL_TRIANGLE
        if count > room:
            raise ValueError(f"it is not whole: its header tells of {count} triangles, and {room:.0f} are there")
    if kind in ("dae", "xaml") and b"<!ENTITY" in content:
        raise ValueError("it declares entities, which no mesh needs and which may grow without bound")
    if content.startswith(b"PK"):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                size = sum(info.file_size for info in archive.infolist())
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as fault:
            raise ValueError("its archive is damaged") from fault
        if size > GROWTH * len(content) + 2**20:
            raise ValueError(f"its archive of {len(content)} bytes would grow to {size}")


def _require_finite(parts: Iterable[Any], graph: Any) -> None:
    for part in parts:
        if not np.all(np.abs(np.asarray(part.vertices, float)) < FARTHEST):
            raise ValueError("it has vertices that are not finite, or too far away to reckon with")
        faces = np.asarray(getattr(part, "faces", ()))
        if faces.size and not 0 <= faces.min() <= faces.max() < len(part.vertices):
            raise ValueError(f"it has {len(part.vertices)} vertices, and triangles of others")
    for name in graph.nodes_geometry:
        if not np.all(np.abs(graph.get(name)[0]) < FARTHEST):
            raise ValueError("it has parts whose place is not finite, or too far away to reckon with")


def _one_line(fault: Exception) -> str:
    text = " ".join(str(fault).split())[:300]
    return "".join(c if c.isprintable() else "?" for c in text) or type(fault).__name__


class _Beside:
    """What a mesh names, as trimesh asks for it: materials, textures and buffers in its folder or the one above."""

    def __init__(self, path: Path):
        self._folder = path.absolute().parent

    def get(self, name: str) -> bytes:
        """The content of a file. Raises OSError or ValueError where there is none, or one that may not be read."""
        path = Path(os.path.normpath(self._folder / name.strip()))
        above = self._folder.parent
        inside = path.is_relative_to(above if above != above.parent else self._folder)
        if not inside or path.suffix.lower() not in BESIDE or not path.is_file():
            raise FileNotFoundError(f"there is no file {name[:100]!r} beside the mesh")
        if path.stat().st_size > LARGEST:
            raise ValueError(f"the file {name[:100]!r} has more than {LARGEST >> 20} MB")
        return path.read_bytes()

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self.keys()

    def keys(self) -> list[str]:
        """What lies beside the mesh."""
        return [entry.name for entry in self._folder.iterdir() if entry.suffix.lower() in BESIDE]

    def namespaced(self, namespace: str) -> _Beside:
        """The same for names below a folder."""
        return _Beside(self._folder / namespace / "mesh")


def _without_broken_textures(content: bytes) -> bytes:
    """A COLLADA file with grey for textures that refer to what is not there: its reader would drop the shapes too."""

    def defined(name: bytes) -> bool:
        return re.search(rb'sid="' + re.escape(name) + rb'"', content) is not None

    content = _SAMPLER.sub(lambda match: match[0] if defined(match[1]) else b"", content)
    return _TEXTURE.sub(lambda match: match[0] if defined(match[1]) else b"<color>0.3 0.3 0.3 1</color>", content)
