"""Finding the robots that ship, the cache, and writing files so that nothing a user made is ever lost."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
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

    It is whole on the disk before it takes the place, so that a machine that stops keeps the old file or has the new.

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
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def cache_folder() -> Path:
    """Where this platform keeps what programs can make again.

    The environment may name another place: CATENA_CACHE_DIR, or XDG_CACHE_HOME on all platforms. Where there is
    none, as for a user without a home, it is `temporary_cache`.
    """
    if named := os.environ.get("CATENA_CACHE_DIR"):
        return Path(named)
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "catena"
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "catena" / "cache"
    try:
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "catena"
    except RuntimeError:  # there is no home
        return temporary_cache()


def cache_folders() -> tuple[Path, ...]:
    """Where to look for what was kept: `cache_folder`, and `temporary_cache` if this process made one."""
    return (cache_folder(), temporary_cache()) if temporary_cache.cache_info().currsize else (cache_folder(),)


def writable_cache() -> Path:
    """`cache_folder`, or `temporary_cache` where that cannot be written to."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return temporary_cache()


@lru_cache(maxsize=1)
def temporary_cache() -> Path:
    """A folder in place of a cache folder that cannot be written to; it goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="catena-"))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # not a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
