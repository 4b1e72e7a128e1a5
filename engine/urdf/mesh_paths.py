"""Where the files that a URDF names lie on this disk: ``package://``, ``file://`` and relative names.

A file can name only what lies in the robot's folders, whatever its name says. Names are judged as they are written:
links of the file system, by which packages are installed, lead where they lead.
"""

from __future__ import annotations

import os
import re
import stat
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

    A package is looked for around the URDF, then in the folders of ``ROS_PACKAGE_PATH``, in ``share`` under those of
    ``AMENT_PREFIX_PATH`` and in `package_dirs`. Around the URDF it is each folder above it, or one that such a folder
    holds, if ``package.xml`` is in it. Without one a name is enough for the URDF's own folder, those in that, and the
    folder above where no package is around it; not if it is `_anybodys`: ``package://tmp/…`` is no package.

    `folders` may be read: the URDF's own, `package`, which is the one around it (without one the folder above, where
    meshes lie beside ``urdf/``, unless it is `_anybodys`, and `MESHES` in those farther up), and those in which
    packages are looked for by name; beside them a package that is named.
    """

    def __init__(self, source: PathName, package_dirs: Iterable[PathName] = ()):
        self.folder = Path(source).absolute().parent
        given = (package_dirs,) if isinstance(package_dirs, str | os.PathLike) else package_dirs
        self.named = [
            *(folder.absolute() for folder in listed("ROS_PACKAGE_PATH")),
            *(prefix.absolute() / "share" for prefix in listed("AMENT_PREFIX_PATH")),
            *(Path(entry).absolute() for entry in given),
        ]
        self._around = [*filter(_below_root, (self.folder, *self.folder.parents))]
        self.package = next((folder for folder in self._around if is_package(folder)), None)
        self._by_name = [folder for folder in self._around[: 1 if self.package else 2] if not _anybodys(folder)]
        farther = [folder / name for folder in self._around[1 : 1 + ABOVE] for name in MESHES]
        self.folders = [self.folder, *([self.package] if self.package else self._by_name + farther), *self.named]
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
            fit = re.fullmatch(r"\w[\w.-]*", package)
            self._packages[package] = [*filter(_is_folder, self._named(package))] if fit else []
        return self._packages[package]

    def _named(self, package: str) -> Iterator[Path]:
        """The folders of that name which are packages if they are there."""
        for entry in self._around:
            by_name = entry in self._by_name
            if entry.name == package and (by_name or is_package(entry)):
                yield entry
            if (by_name and entry == self.folder) or is_package(entry / package):
                yield entry / package
        yield from (entry if entry.name == package else entry / package for entry in self.named)

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
        return any(folder in self.packages(folder.name) for folder in filter(is_package, path.parents))


def _below_root(folder: Path) -> bool:
    return folder != folder.parent


def is_package(folder: Path) -> bool:
    """Whether a folder is marked as one of ROS's packages."""
    return _is_file(folder / "package.xml")


def _anybodys(folder: Path) -> bool:
    """Whether what lies in a folder need not be the robot's: home, one at the root, one that everybody may write to."""
    try:
        home = Path.home().resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # there is none
        home = False
    try:
        shared = bool(folder.stat().st_mode & stat.S_IWOTH) and os.name != "nt"  # Windows says so of every folder
    except OSError:
        shared = True
    return home or shared or not _below_root(folder.parent)


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
