"""Resolve the file names of a URDF on this disk: ``package://``, ``file://`` and relative names.

A name may refer only to files in the robot's folders. Names are checked as written; symbolic links, which package
managers use, are followed.
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
"""Mesh folders that robots without a package refer to from ``urdf/…/`` by ``../../meshes``."""
ABOVE = 4
"""Number of folders above the file in which a mesh folder may be."""


class Resources:
    """Resolve the file names of the URDF at `source`.

    Packages are searched for around the URDF, then in the folders of ``ROS_PACKAGE_PATH``, in ``share`` under those of
    ``AMENT_PREFIX_PATH`` and in `package_dirs`. Around the URDF, a package is a folder above it, or a direct subfolder
    of one, that holds ``package.xml``. Without ``package.xml`` the name suffices for the URDF's own folder, its
    subfolders, and, outside any package, the folder above; but not if that folder is `is_shared`: ``package://tmp/…``
    is no package.

    Files may be read from `folders`: the URDF's own folder, `package`, the folders in which packages are searched for,
    and any package that is named. `package` is the enclosing package. Without one it is the folder above, where meshes
    lie beside ``urdf/``, unless it is `is_shared`, and `MESHES` in the folders farther up.
    """

    def __init__(self, source: PathName, package_dirs: Iterable[PathName] = ()):
        self.folder = Path(source).absolute().parent
        given = (package_dirs,) if isinstance(package_dirs, str | os.PathLike) else package_dirs
        self.named = [
            *(folder.absolute() for folder in folders_in("ROS_PACKAGE_PATH")),
            *(prefix.absolute() / "share" for prefix in folders_in("AMENT_PREFIX_PATH")),
            *(Path(entry).absolute() for entry in given),
        ]
        self._around = [*filter(_below_root, (self.folder, *self.folder.parents))]
        self.package = next((folder for folder in self._around if is_package(folder)), None)
        self._by_name = [folder for folder in self._around[: 1 if self.package else 2] if not is_shared(folder)]
        farther = [folder / name for folder in self._around[1 : 1 + ABOVE] for name in MESHES]
        self.folders = [self.folder, *([self.package] if self.package else self._by_name + farther), *self.named]
        self._packages: dict[str, list[Path]] = {}

    def find(self, name: str) -> Path | None:
        """Return the absolute path of the named file, or None if it is not in the robot's folders."""
        return next((path for path, inside in self._candidates(name) if inside and _is_file(path)), None)

    def outside(self, name: str) -> bool:
        """Whether the named file exists, but outside the robot's folders."""
        return any(not inside and _is_file(path) for path, inside in self._candidates(name))

    def packages(self, package: str) -> list[Path]:
        """Return the folders that may be the named package, the likeliest first."""
        if package not in self._packages:
            fit = re.fullmatch(r"\w[\w.-]*", package)
            self._packages[package] = [*filter(_is_folder, self._named(package))] if fit else []
        return self._packages[package]

    def _named(self, package: str) -> Iterator[Path]:
        """Return the folders with the package's name; each is a package if it exists."""
        for entry in self._around:
            by_name = entry in self._by_name
            if entry.name == package and (by_name or is_package(entry)):
                yield entry
            if (by_name and entry == self.folder) or is_package(entry / package):
                yield entry / package
        yield from (entry if entry.name == package else entry / package for entry in self.named)

    def _candidates(self, name: str) -> Iterator[tuple[Path, bool]]:
        """Return the paths where the file may be, and whether each is inside the robot's folders."""
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
        """Whether a path lies in a package that its name would find, since xacro writes $(find) as a full path."""
        return any(folder in self.packages(folder.name) for folder in filter(is_package, path.parents))


def _below_root(folder: Path) -> bool:
    return folder != folder.parent


def is_package(folder: Path) -> bool:
    """Whether a folder is a ROS package."""
    return _is_file(folder / "package.xml")


def is_shared(folder: Path) -> bool:
    """Whether a folder may hold files of others: the home folder, one at the root, or one that is world-writable."""
    try:
        home = Path.home().resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # there is no home folder
        home = False
    try:
        shared = bool(folder.stat().st_mode & stat.S_IWOTH) and os.name != "nt"  # Windows sets it for every folder
    except OSError:
        shared = True
    return home or shared or not _below_root(folder.parent)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for any file
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def folders_in(variable: str) -> list[Path]:
    """Return the folders that an environment variable lists."""
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]
