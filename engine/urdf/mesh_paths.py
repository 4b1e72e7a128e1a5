"""Where the files that a URDF names lie on this disk: ``package://``, ``file://`` and relative names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

PathName = str | os.PathLike[str]


class Resources:
    """Finds the files named by the URDF at `source`.

    A package is looked for beside the URDF (in each folder above it: the folder itself, or one that it
    holds), then in the folders of ``ROS_PACKAGE_PATH`` and in ``share`` under those of ``AMENT_PREFIX_PATH``
    then in `package_dirs`.
    """

    def __init__(self, source: PathName, package_dirs: Iterable[PathName] = ()):
        self.folder = Path(source).absolute().parent
        given = (package_dirs,) if isinstance(package_dirs, str | os.PathLike) else package_dirs
        self.searched = [
            *(self.folder, *self.folder.parents),
            *(folder.absolute() for folder in listed("ROS_PACKAGE_PATH")),
            *(prefix.absolute() / "share" for prefix in listed("AMENT_PREFIX_PATH")),
            *(Path(entry).absolute() for entry in given),
        ]
        self._packages: dict[str, list[Path]] = {}

    def find(self, name: str) -> Path | None:
        """The absolute path of the file of that name, or None if there is none."""
        return next((path for path in self._candidates(name) if _is_file(path)), None)

    def packages(self, package: str) -> list[Path]:
        """The folders that may be the package of that name, the likeliest first."""
        if package not in self._packages:
            named = (entry if entry.name == package else entry / package for entry in self.searched)
            self._packages[package] = [folder for folder in named if folder.is_dir()]
        return self._packages[package]

    def _candidates(self, name: str) -> Iterator[Path]:
        scheme, separator, rest = name.partition("://")
        if not separator:
            yield self.folder / name
        elif scheme == "file":
            yield self.folder / unquote(rest)
        elif scheme == "package":
            package, _, inside = rest.partition("/")
            yield from (folder / inside for folder in self.packages(package))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have, being too long
        return False


def listed(variable: str) -> list[Path]:
    """The folders that a variable of the environment lists."""
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]
