"""Robots that ship, the cache, and writing of files without loss of a user's data."""

from __future__ import annotations

import atexit
import errno
import gc
import glob
import json
import logging
import os
import select
import shlex
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from engine import ownership

ROBOTS = Path(__file__).resolve().parents[1] / "robots"


def find_robot(name: str | os.PathLike[str]) -> Path:
    """Return the file `name`, or that of the shipped robot of this name, such as "arm7". Raises FileNotFoundError."""
    for candidate in (Path(name), ROBOTS / f"{name}.urdf"):
        if candidate.is_file() or candidate.is_fifo():
            return candidate
    names = ", ".join(sorted(path.stem for path in ROBOTS.glob("*.urdf")))
    raise FileNotFoundError(
        f"there is no file {os.fspath(name)!r}; give a URDF or xacro file, or one of the robots that ship: {names}"
    )


MAX_BYTES = 256 << 20
"""The most bytes read of one file, or of a pipe."""
PATIENCE = 10
"""Seconds for which a pipe may be silent."""


def refuse_endless(path: str | os.PathLike[str]) -> None:
    """Raise ValueError where a path leads to a pipe or a device, which may never end; OSError as `Path.exists`.

    A path without a file is reported when it is opened.
    """
    file = Path(path)
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise ValueError(f"{file.name} is a pipe or a device, which may never end; write its content to a file first")


def content(path: str | os.PathLike[str], pipes: bool = False) -> bytes:
    """Return a file's content, at most `MAX_BYTES` bytes; with `pipes` also a pipe's, until it is silent.

    Raises OSError, for devices too, which never end.
    """
    with regular(path, pipes) as file:
        status = os.fstat(file.fileno())
        pipe = stat.S_ISFIFO(status.st_mode)
        parts, left = list[bytes](), MAX_BYTES - status.st_size
        while left >= 0 and (part := _next(file, path) if pipe else file.read(1 << 20)):
            parts.append(part)
            left = MAX_BYTES - sum(map(len, parts))
        if left < 0:
            what = "come out of it" if pipe else "are in it"
            raise OSError(errno.EFBIG, f"more than {MAX_BYTES >> 20} MB {what}", os.fspath(path))
        return b"".join(parts)


def read_json(path: str | os.PathLike[str], **how: Any) -> Any:
    """Return the value of a JSON file; `how` is passed to `json.loads`. Raises OSError and errors of `json.loads`."""
    text = content(path).decode()
    with nothing_collected():
        return json.loads(text, **how)


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Pause the garbage collector, which took up to two thirds of the time of reading and found nothing."""
    held = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if held:
            gc.enable()


@contextmanager
def regular(path: str | os.PathLike[str], pipes: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for reading without blocking. Raises OSError for devices, and for pipes unless `pipes`.

    A blocking open of a pipe waits for a writer, and reading a terminal waits for its user.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    with open(path, "rb", opener=opener) as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.EINVAL, "it is a device, and no file", os.fspath(path))
        if stat.S_ISFIFO(mode) and not pipes:
            raise OSError(errno.EINVAL, "it is a pipe, and no file", os.fspath(path))
        yield file


def _next(pipe: IO[bytes], path: str | os.PathLike[str]) -> bytes:
    """Return the next bytes of a pipe, empty at its end."""
    if hasattr(select, "poll"):
        comes = select.poll()
        comes.register(pipe, select.POLLIN)
        if not comes.poll(1000 * PATIENCE):
            raise OSError(errno.ETIMEDOUT, f"no data came from this pipe for {PATIENCE} s", os.fspath(path))
    return os.read(pipe.fileno(), 1 << 20)


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that replaces it once complete; an error leaves `path` as it was.

    It is synced to disk before it replaces `path`, so that a crash keeps the old file or the new one. If `path` is a
    link, its target is replaced; pipes and devices, which cannot be replaced, are written to. `mode` is as for `open`;
    text is in UTF-8.

    Raises OSError in one sentence, before anything is written, where `path` is a folder, its folder does not exist, or
    it may not be written to.
    """
    encoding = None if "b" in mode else "utf-8"
    named, target = os.fspath(path), _place(path)
    if target.is_dir():
        raise IsADirectoryError(f"{named!r} is a folder; give the name of a file")
    require_place(path)
    try:
        if target.exists() and not target.is_file():
            with target.open(mode, encoding=encoding) as file:
                yield file
            return
        with _whole(target, mode) as (file, temporary):
            yield file
            with suppress(OSError):  # file systems of other operating systems have no modes
                temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
    except OSError as error:
        if error.errno is None or isinstance(error, BrokenPipeError) or not _is_of(error, target):
            raise
        raise Unwritten(error, f"{named!r} cannot be written, and stays as it was") from error


@contextmanager
def _whole(target: Path, mode: str) -> Iterator[tuple[IO[Any], Path]]:
    """Yield a temporary file beside `target` that nobody else can read, with its path; it then replaces `target`."""
    with _temporary(target) as (handle, temporary):
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file, temporary
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)


def make_folder(path: Path, parents: bool = False) -> None:
    """Create a folder where it is missing. Raises ValueError in one sentence if it cannot be one."""
    try:
        path.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        why = "it is a file" if path.is_file() else error.strerror
        raise ValueError(f"{str(path)!r} cannot be a folder ({why}); name another") from None


def require_place(path: str | os.PathLike[str]) -> None:
    """Raise OSError in one sentence where the folder of a file does not exist, or it may not be written to."""
    if not _place(path).parent.is_dir():
        raise FileNotFoundError(f"there is no folder {os.fspath(Path(path).parent)!r} to write into; make it first")
    require_writable(path)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise PermissionError where a file, or its folder, may not be written to."""
    target = _place(path)
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise PermissionError(f"{os.fspath(path)!r} may not be written to; name another file, or let it be written to")


def _place(path: str | os.PathLike[str]) -> Path:
    """Return the target of links; for a pipe or a device the given name, since that of a pipe may not be a path.

    On Linux /dev/stdout of a pipeline resolves to "/proc/N/fd/pipe:[…]", which does not exist.
    """
    with suppress(OSError):
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return Path(path)
    return Path(os.path.realpath(path))


class Unwritten(OSError):
    """A file could not be written: the text says what that means for it, `strerror` has the system's message.

    It is also of Python's class for its error number, such as PermissionError.
    """

    _what: str

    def __new__(cls, error: OSError, what: str) -> Unwritten:
        kind = type(OSError(error.errno, ""))
        both = cls if kind is OSError else type(cls.__name__, (cls, kind), {})
        unwritten: Unwritten = super().__new__(both, error.errno, error.strerror)
        unwritten._what = what
        return unwritten

    def __str__(self) -> str:
        return f"{self._what}: {self.strerror}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Unwritten, (OSError(self.errno, self.strerror), self._what)


def _is_of(error: OSError, target: Path) -> bool:
    """Return whether an error is one of writing to the target's folder, not of another file that was read meanwhile."""
    return error.filename is None or Path(os.fsdecode(error.filename)).parent == target.parent


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[int, Path]]:
    """Make a new file beside the target, locked while it is written; abandoned ones of ended processes are removed."""
    _remove_unfinished(target)
    while True:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=_prefix(target), suffix=_UNFINISHED)
        held = try_lock(handle)
        if held is None or (held and os.fstat(handle).st_nlink):
            break
        os.close(handle)  # another writer took it for an abandoned one, and removed it
    lock = os.dup(handle) if held else None  # held until it replaces the target, or is removed
    try:
        yield handle, Path(name)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


_UNFINISHED = ".unfinished"


def _prefix(target: Path) -> str:
    return f".{target.name[:40]}."  # no name is longer than 255 bytes


def _remove_unfinished(target: Path) -> None:
    """Remove temporary files of this target whose writers were killed: they are not locked any more."""
    pattern = glob.escape(_prefix(target)) + "?" * 8 + _UNFINISHED
    for path in target.parent.glob(pattern):
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR)
            try:
                if try_lock(handle):
                    path.unlink()
            finally:
                os.close(handle)


def try_lock(handle: int) -> bool | None:
    """Lock a file. Returns whether nobody else had locked it; None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def cache_folder() -> Path:
    """Return this platform's folder for data that programs can recreate.

    The environment may name another folder: CATENA_CACHE_DIR, or XDG_CACHE_HOME on all platforms. Where there is none,
    as for a user without a home, it is `temporary_cache`. It is never the current folder, unless named explicitly: its
    files may be anybody's, and cached code is run.
    """
    if named := os.environ.get("CATENA_CACHE_DIR"):
        return Path(named).absolute()
    if (named := os.environ.get("XDG_CACHE_HOME")) and Path(named).is_absolute():
        return Path(named) / "catena"
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "catena" / "cache"
    with suppress(RuntimeError):  # there is no home
        if (home := Path.home()).is_absolute():
            return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "catena"
    return temporary_cache()


def cache_folders() -> tuple[Path, ...]:
    """Return the folders to search: `cache_folder`, and `temporary_cache` if this process made one."""
    return (cache_folder(), temporary_cache()) if temporary_cache.cache_info().currsize else (cache_folder(),)


def writable_cache(*inside: str) -> Path:
    """Return `cache_folder`, or a folder in it; one of `temporary_cache` if impossible or if others can write there.

    Raises OSError where there is no temporary folder either.
    """
    folder = cache_folder().joinpath(*inside)
    try:
        make_own(folder)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return temporary_cache().joinpath(*inside)


def environment() -> dict[str, str]:
    """Return the environment of a child process that shares this one's cache and does not repeat its warnings."""
    variables = {**os.environ}
    with suppress(OSError):
        made = temporary_cache.cache_info().currsize
        variables["CATENA_CACHE_DIR"] = str(temporary_cache() if made else writable_cache("code").parent)
    return variables


def cached_content(path: Path) -> bytes:
    """Return a cached file's content. Raises OSError; a file that others could have written is reported, once."""
    try:
        return ownership.own_content(path)
    except ownership.NotOurs as error:
        _warn(error)
        raise


@contextmanager
def keeping(path: Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Write a file of the cache like `replacing`, readable by this user only; a link in its place is replaced.

    Missing folders are made, and those that others can read are closed, except folders that the environment names or
    links lead to, which may have other uses. Raises OSError, before anything is written, where others can write there,
    which is reported.
    """
    make_own(path.parent)
    with _whole(path, mode) as (file, _):
        yield file
    above, named = cache_folder(), os.environ.get("CATENA_CACHE_DIR")
    for folder in path.parents:
        if not folder.is_relative_to(above) or (named and folder == above):
            break
        with suppress(OSError):
            ownership.close(folder)


def make_own(folder: Path) -> None:
    """Make a folder of the cache, if it does not exist. Raises OSError; one that others can write to is reported."""
    try:
        ownership.make_own_folder(folder)
    except ownership.NotOurs as error:
        _warn(error)
        raise


def _warn(error: ownership.NotOurs) -> None:
    """Report the consequence, once per process."""
    if not _warned.is_set():
        _warned.set()
        logging.getLogger(__name__).warning("%s, %s", error, _consequence(error))


_warned = threading.Event()


def _consequence(error: ownership.NotOurs) -> str:
    if error.entry:
        return "so it is not used, but compiled again"
    fix = "let CATENA_CACHE_DIR name a folder of your own"
    if error.loose:
        ours = Path(error.path).is_relative_to(cache_folder()) and not os.environ.get("CATENA_CACHE_DIR")
        fix = f"run chmod {'-R ' if ours else ''}go-w {shlex.quote(error.path)}"
    return f"so no compiled code below it is used; {fix}: until then every process compiles again"


@lru_cache(maxsize=1)
def temporary_cache() -> Path:
    """Return a folder in place of a cache folder that cannot be written to; it is removed with this process."""
    folder = Path(tempfile.mkdtemp(prefix="catena-"))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # not by a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
