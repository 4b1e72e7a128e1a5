"""Where the files that a URDF names lie on this disk: ``package://``, ``file://`` and relative names.

A file can name only what lies in the robot's folders, whatever its name says. Names are judged as they are written:
links of the file system, by which packages are installed, lead where they lead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

PathName = str | os.PathLike[str]
MESHES = ("meshes", "mesh", "assets")
"""Folders of meshes, as robots without a package name them from ``urdf/…/`` by ``../../meshes``."""
ABOVE = 4
"""So many folders above a file one of them may stand."""


class Resources:
    """Finds the files named by the URDF at `source`.

    A package is looked for beside the URDF (in each folder above it: the folder itself, or one that it
    holds), then in the folders of ``ROS_PACKAGE_PATH`` and in ``share`` under those of ``AMENT_PREFIX_PATH``
    then in `package_dirs`.

    `folders` may be read: the URDF's own, the package around it (without one the folder above, where meshes lie beside
    ``urdf/``, and `MESHES` in those farther up), and those in which packages are looked for by name; beside them a
    package that is named.
    """

    def __init__(self, source: PathName, package_dirs: Iterable[PathName] = ()):
        self.folder = Path(source).absolute().parent
        given = (package_dirs,) if isinstance(package_dirs, str | os.PathLike) else package_dirs
        named = [
            *(folder.absolute() for folder in listed("ROS_PACKAGE_PATH")),
            *(prefix.absolute() / "share" for prefix in listed("AMENT_PREFIX_PATH")),
            *(Path(entry).absolute() for entry in given),
        ]
        around = [*filter(_below_root, (self.folder, *self.folder.parents))]
        package = next((folder for folder in around if _is_file(folder / "package.xml")), None)
        farther = [above / name for above in around[2 : 1 + ABOVE] for name in MESHES]
        self.folders = [self.folder, *([package] if package else [*around[1:2], *farther]), *named]
        self.searched = [*around, *named]
        self._packages: dict[str, list[Path]] = {}

    def find(self, name: str) -> Path | None:
        """The absolute path of the file of that name, or None if there is none in the robot's folders."""
        return next((path for path, inside in self._candidates(name) if inside and _is_file(path)), None)

    def outside(self, name: str) -> bool:
        """Whether a file of that name is there, and lies outside the robot's folders."""
        return any(not inside and _is_file(path) for path, inside in self._candidates(name))

    def packages(self, package: str) -> list[Path]:
        """The folders that may be the package of that name, the likeliest first."""
        if package not in self._packages:
            searched = self.searched if re.fullmatch(r"\w[\w.-]*", package) else ()
            named = (entry if entry.name == package else entry / package for entry in searched)
            self._packages[package] = [folder for folder in named if _is_folder(folder)]
        return self._packages[package]

    def _candidates(self, name: str) -> Iterator[tuple[Path, bool]]:
        """Where the file may lie, and whether that is inside the robot's folders."""
        scheme, separator, rest = name.removeprefix("file://" * name.startswith("file://package://")).partition("://")
        if scheme == "package" and separator:
            package, _, within = rest.lstrip("/").partition("/")
            for folder in self.packages(package):
                yield self._judged(folder / within.lstrip("/"), folder)
        elif scheme == "file" or not separator:
            yield self._judged(self.folder / (unquote(rest) if separator else name))

    def _judged(self, path: Path, *more: Path) -> tuple[Path, bool]:
        plain = Path(os.path.normpath(path))
        return plain, any(plain.is_relative_to(folder) for folder in (*more, *self.folders)) or self._packaged(plain)

    def _packaged(self, path: Path) -> bool:
        """Whether a path lies in a package that would be found by its name, as xacro's $(find) writes it in full."""
        around = (folder for folder in path.parents if _is_file(folder / "package.xml"))
        return any(folder in self.packages(folder.name) for folder in around)


def _below_root(folder: Path) -> bool:
    return folder != folder.parent


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have, being too long
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def listed(variable: str) -> list[Path]:
    """The folders that a variable of the environment lists."""
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]
