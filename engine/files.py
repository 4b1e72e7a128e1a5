"""Finding the robots that ship, the cache, and writing files so that nothing a user made is ever lost."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

ROBOTS = Path(__file__).resolve().parents[1] / "robots"


def find_robot(name: str | os.PathLike[str]) -> Path:
    """The file of that name, or that of the robot which ships under it, such as "arm7". Raises FileNotFoundError."""
    for candidate in (Path(name), ROBOTS / f"{name}.urdf"):
        if candidate.is_file():
            return candidate
    names = ", ".join(sorted(path.stem for path in ROBOTS.glob("*.urdf")))
    raise FileNotFoundError(
        f"there is no file {os.fspath(name)!r}; give a URDF or xacro file, or one of the robots that ship: {names}"
    )


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that takes its place once it is whole; an error leaves `path` as it was.

    Raises OSError, before anything is written, where `path` is a folder or lies in none.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; give the name of a file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {os.fspath(target.parent)!r} to write into; make it first")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, mode) as file:
            yield file
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def cache_folder() -> Path:
    """Where this platform keeps what programs can make again: XDG_CACHE_HOME, where it is set, on all of them."""
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "catena"
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "catena" / "cache"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "catena"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
