"""Check mesh files before trimesh reads them: reject what is no mesh, incomplete, or would grow without bound.

trimesh may use any amount of time and memory, and therefore runs in a child process; see `engine.scene.mesh_reader`.
"""

from __future__ import annotations

import io
import logging
import os
import re
import stat
import struct
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from engine.scene.binary_stl import MAX_COORDINATE, require_finite

KINDS = ("stl", "obj", "dae", "zae", "ply", "off", "glb", "gltf", "xaml")
BESIDE = (".mtl", ".bin", ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tga", ".tif", ".tiff", ".webp")
"""The types of files that a mesh may reference."""
MAX_BYTES = 2**30
"""Maximum bytes of a mesh's file, and of a file that it references."""
GROWTH = 100
"""Maximum ratio of an archive's content to its size, beyond one megabyte."""
TRIANGLES, BYTES_PER_TRIANGLE = 100_000, 6
"""Triangles allowed for any mesh, and bytes per further triangle: few formats store them in less."""
MISSING_TEXTURE_COLOR = "0.3 0.3 0.3 1"
"""The colour that replaces a missing COLLADA texture."""

_STL_HEADER, _STL_TRIANGLE = 84, 50

logging.getLogger("trimesh").addHandler(logging.NullHandler())  # otherwise it writes tracebacks to the terminal


class Budget:
    """The bytes read of a mesh's file and the files that it references, and the limits that depend on them.

    `grow` is called with the number of bytes of each file.
    """

    def __init__(self, grow: Callable[[int], None] = lambda _: None):
        self.bytes, self._grow = 0, grow

    def read(self, count: int) -> None:
        """Register `count` further bytes."""
        self.bytes += count
        self._grow(self.bytes)

    def require(self, triangles: int) -> None:
        """Raise ValueError if a mesh has more triangles than its files can hold."""
        limit = TRIANGLES + self.bytes // BYTES_PER_TRIANGLE
        if triangles > limit:
            raise ValueError(
                f"it repeats its parts up to {triangles} triangles, and at most {limit} are taken of files of its "
                "size; repeat fewer of them, or simpler ones"
            )


def open_mesh(path: str | Path, apart: bool = False, budget: Budget | None = None) -> Any:
    """Read a mesh file as a `trimesh.Scene` of placed objects; `apart` keeps those of an .obj apart.

    Referenced files (materials, textures, buffers) are read only from its folder and the one above. COLLADA textures
    with broken references become grey. Raises OSError if the file cannot be read, and ValueError, in one sentence that
    does not name it, if it is no mesh, incomplete, or has values that are not finite.
    """
    import trimesh

    path, budget = Path(path), budget or Budget()
    kind, content = path.suffix.lower().lstrip("."), _content(path)
    budget.read(len(content))
    _require_whole(kind, content, budget)
    if kind == "dae" and b"texture" in content:
        content = _without_broken_textures(content)
    # trimesh's option under both names: version 5 renamed it.
    options: dict[str, Any] = {"split_object": True, "split_objects": True} if apart and kind == "obj" else {}
    try:
        resolver: Any = _FileResolver(path, budget)
        scene = trimesh.load_scene(io.BytesIO(content), file_type=kind, resolver=resolver, process=False, **options)
    except MemoryError:
        raise
    except Exception as problem:  # readers of a dozen formats, each with its own exceptions
        reason = "it is damaged" if isinstance(problem, ImportError) else reason_of(problem)  # of encoding detection
        if kind == "obj" and (lacks := _lacking(content)):
            raise ValueError(lacks) from problem
        raise ValueError(f"its {kind.upper()} cannot be understood ({reason})") from problem
    _require_finite(scene.geometry.values(), scene.graph)
    budget.require(sum(_triangles(scene.geometry[scene.graph.get(name)[1]]) for name in scene.graph.nodes_geometry))
    return scene


def _lacking(content: bytes) -> str:
    """Return which face of an .obj file names a vertex that the file lacks, in a sentence; "" if none does."""
    lines = [line.split() for line in content.decode("utf-8", "replace").splitlines()]
    count = sum(line[:1] == ["v"] for line in lines)
    for number, line in enumerate(lines, 1):
        for corner in line[1:] if line[:1] == ["f"] else ():
            index = corner.partition("/")[0]
            if re.fullmatch(r"-?\d{1,9}", index) and not 1 <= abs(int(index)) <= count:
                return f"a face in line {number} names vertex {index}, and it has {count} vertices; export it again"
    return ""


def require_kind(path: Path) -> None:
    """Raise ValueError if a file is not a mesh of a known type or is too large; OSError if it does not exist."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise ValueError(f"no mesh is read from files of the kind {kind!r}; take one of {', '.join(KINDS)}")
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is a folder, a pipe or a device; give a file")
    if status.st_size > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES >> 20} MB")


def _content(path: Path) -> bytes:
    require_kind(path)
    return path.read_bytes()


def _triangles(part: Any) -> int:
    return len(getattr(part, "faces", ()))


def _require_whole(kind: str, content: bytes, budget: Budget) -> None:
    if content.startswith(b"version https://git-lfs"):
        raise ValueError("it is a pointer of Git LFS to the file that is meant; fetch that one: git lfs pull")
    text = content[:200].removeprefix(b"\xef\xbb\xbf").lstrip()[:5].lower() == b"solid" and b"\0" not in content
    if kind == "stl" and not text and len(content) >= _STL_HEADER:
        (count,) = struct.unpack_from("<I", content, _STL_HEADER - 4)
        room = (len(content) - _STL_HEADER) / _STL_TRIANGLE
        if count > room:
            raise ValueError(f"it is incomplete: its header declares {count} triangles, but it has {room:.0f}")
    if kind in ("dae", "xaml") and b"<!ENTITY" in content:
        raise ValueError("it declares entities, which no mesh needs and which may grow without bound")
    if content.startswith(b"PK"):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                size = sum(info.file_size for info in archive.infolist())
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as problem:
            raise ValueError("its archive is damaged") from problem
        if size > GROWTH * len(content) + 2**20:
            raise ValueError(f"its archive of {len(content)} bytes would grow to {size}")
        budget.read(size)


def _require_finite(parts: Iterable[Any], graph: Any) -> None:
    for part in parts:
        require_finite(np.asarray(part.vertices, float))
        faces = np.asarray(getattr(part, "faces", ()))
        if faces.size and not 0 <= faces.min() <= faces.max() < len(part.vertices):
            raise ValueError(f"it has {len(part.vertices)} vertices, and triangles of others")
    for name in graph.nodes_geometry:
        if not np.all(np.abs(graph.get(name)[0]) < MAX_COORDINATE):
            raise ValueError("it has parts whose place is not finite, or too far away to compute with")


def reason_of(problem: Exception) -> str:
    """Return an exception's message, or its type if it has none, as part of a sentence."""
    text = " ".join(str(problem).split())[:300]
    return "".join(c if c.isprintable() else "?" for c in text) or type(problem).__name__


class _FileResolver:
    """trimesh's resolver of referenced files: materials, textures and buffers in the mesh's folder or the one above."""

    def __init__(self, path: Path, budget: Budget):
        self._folder, self._budget = path.absolute().parent, budget
        self._known: dict[Path, bytes] = {}

    def get(self, name: str) -> bytes:
        """Return the content of a file. Raises OSError or ValueError if it does not exist or may not be read."""
        path = Path(os.path.normpath(self._folder / name.strip()))
        above = self._folder.parent
        inside = path.is_relative_to(above if above != above.parent else self._folder)
        if not inside or path.suffix.lower() not in BESIDE or not path.is_file():
            raise FileNotFoundError(f"there is no file {name[:100]!r} beside the mesh")
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"the file {name[:100]!r} has more than {MAX_BYTES >> 20} MB")
        if path not in self._known:
            self._known[path] = path.read_bytes()
            self._budget.read(len(self._known[path]))
        return self._known[path]

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self.keys()

    def keys(self) -> list[str]:
        """Return the names of the files beside the mesh."""
        return [entry.name for entry in self._folder.iterdir() if entry.suffix.lower() in BESIDE]

    def namespaced(self, namespace: str) -> _FileResolver:
        """Return this resolver for names in a folder."""
        return _FileResolver(self._folder / namespace / "mesh", self._budget)


def _without_broken_textures(content: bytes) -> bytes:
    """Replace broken texture references of a COLLADA file by grey: its reader would drop the shapes too."""
    from lxml import etree

    try:
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, ValueError):  # reported by its reader
        return content
    defined = {None, *(element.get("sid") for element in root.iter("{*}*"))}
    broken = [each for each in root.iter("{*}texture") if each.get("texture", "") not in defined]
    samplers = [
        each for each in root.iter("{*}newparam") if (name := _source(each)) is not None and name not in defined
    ]
    if not broken and not samplers:
        return content
    for texture in broken:
        color = texture.makeelement(etree.QName(etree.QName(texture).namespace, "color"))
        color.text, color.tail = MISSING_TEXTURE_COLOR, texture.tail
        if texture.getparent() is not None:
            texture.getparent().replace(texture, color)
    for sampler in samplers:
        if sampler.getparent() is not None:
            sampler.getparent().remove(sampler)
    return bytes(etree.tostring(root))


def _source(parameter: Any) -> str | None:
    """Return the name that a COLLADA parameter references as a sampler, or None."""
    source = parameter.find("{*}sampler2D/{*}source")
    return None if source is None else (source.text or "")
