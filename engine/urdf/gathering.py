"""Gather a robot's files: its URDF, with the names of its meshes rewritten, and copies of what it refers to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, unescape

from engine import files
from engine.model import ModelError
from engine.urdf.markup import Document
from engine.urdf.mesh_paths import PathName, Resources

_NAME = re.compile(rb"(<(mesh|texture)\b[^>]*?\bfilename\s*=\s*)(\"[^\"]*\"|'[^']*')")
_BESIDE = re.compile(rb"[\w./\\ +()-]+\.(?:mtl|bin|png|jpe?g|bmp|gif|tga|tiff?|webp)", re.IGNORECASE)
"""Names of materials, textures and buffers in the text of a mesh."""
_WITH_OTHERS = (".obj", ".dae", ".gltf", ".mtl")
_QUOTES = {"&quot;": '"', "&apos;": "'"}


class Gathered(NamedTuple):
    """A robot that no longer depends on where its files are.

    `text` is its URDF, expanded if it was a xacro file, with names of meshes from the URDF's folder; `files` are those
    meshes and what they refer to, by these names; `missing` are the names in the URDF that no file was found for.
    """

    text: bytes
    files: dict[str, Path]
    missing: tuple[str, ...]


def gather(
    path: PathName,
    package_dirs: Iterable[PathName] = (),
    trust_xacro: bool = False,
    xacro_args: Mapping[str, str] | None = None,
    folder: str = "meshes",
) -> Gathered:
    """Return a robot's URDF and the files that it needs, to be put into `folder` beside it.

    The arguments are those of `engine.load`. Raises ModelError where the file cannot be read or expanded.
    """
    folders = (package_dirs,) if isinstance(package_dirs, str | os.PathLike) else tuple(package_dirs)
    document = Document(path, folders, trust_xacro, xacro_args=xacro_args)
    if document.root is None:
        found = tuple(document.all_diagnostics())
        raise ModelError(f"{Path(path).name} cannot be read: {'; '.join(map(str, found))}", found)
    resources, copies, missing = Resources(path, folders), _Copies(folder), dict[str, None]()

    def renamed(match: re.Match[bytes]) -> bytes:
        quoted = match[3].decode("utf-8", "replace")
        name = unescape(quoted[1:-1], _QUOTES)
        if (file := resources.find(name.strip())) is None:
            if match[2] == b"mesh":
                missing[name] = None
            return match[0]
        return match[1] + f'"{escape(copies.add(file), {chr(34): "&quot;"})}"'.encode()

    text = _NAME.sub(renamed, document.source.data).decode()
    return Gathered(text.encode(document.source.codec, "xmlcharrefreplace"), copies.files, tuple(missing))


class _Copies:
    """The names of copies in a folder: files of one folder, and of those beside it, keep their places to each other."""

    def __init__(self, folder: str):
        self._folder = folder
        self._bases: dict[Path, str] = {}  # the folder of each file's folder, with its name
        self.files: dict[str, Path] = {}

    def add(self, file: Path) -> str:
        """Add a file and all that it refers to; return its name."""
        base = file.parent.parent
        number = self._bases.setdefault(base, f"{self._folder}/{len(self._bases) + 1}")
        name = f"{number}/{file.relative_to(base).as_posix()}"
        if name not in self.files:
            self.files[name] = file
            for other in _referred(file, base):
                self.files[f"{number}/{other.relative_to(base).as_posix()}"] = other
        return name


def _referred(file: Path, base: Path) -> Iterator[Path]:
    """Return the files below `base` to which a mesh or a material refers."""
    if file.suffix.lower() not in _WITH_OTHERS:
        return
    for name in dict.fromkeys(_BESIDE.findall(files.content(file))):
        words = name.decode("utf-8", "replace").strip().replace("\\", "/")
        for written in (words, words.rpartition(" ")[2]):  # a line of a material has the name after a word
            other = Path(os.path.normpath(file.parent / written))
            if written and other.is_relative_to(base) and other != file and other.is_file():
                yield other
                if other.suffix.lower() != file.suffix.lower():
                    yield from _referred(other, base)
                break
