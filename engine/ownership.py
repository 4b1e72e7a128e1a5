"""Ownership of files: code is run, and objects are unpickled, only from files that nobody but this user can write.

The rule of OpenSSH's StrictModes and of sudo, extended up to the root and through links: a file and its folder belong
to the effective user, all folders above and links on the path to this user or to root, and nobody else can write to any
of them. A folder where anybody can write, but only a file's owner can remove it, such as /tmp, may be above.

The path is checked from the root downwards, so that what was checked cannot be exchanged before its use: that would
need write access to a folder checked before. The file is checked once it is open.

Systems without such users, such as Windows, have no such rule here.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

ROOT = 0
KNOWN = hasattr(os, "geteuid")
"""Whether this system identifies a file's owner by number."""
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_MAX_LINKS = 40  # Linux's value


class NotOurs(PermissionError):
    """Somebody else could have written the file; the message says what it is, and why."""

    path = ""
    entry = False
    """The requested file, not a folder or a link above it."""
    loose = False
    """A folder of this user that ``chmod go-w`` fixes."""


def make_own_folder(folder: Path) -> None:
    """Make a folder for this user only, with its parents, where there is none.

    Raises OSError, NotOurs where others may write into it.
    """
    if not KNOWN:
        folder.mkdir(parents=True, exist_ok=True)
        return
    try:
        _own_folder(folder)
    except FileNotFoundError:
        try:
            _safe_folder(folder.parent)
        except FileNotFoundError:
            make_own_folder(folder.parent)
        with suppress(FileExistsError):  # another process was faster
            folder.mkdir(0o700)
        _own_folder(folder)


def close(folder: Path) -> None:
    """Remove all permissions of others from an own folder. Raises OSError."""
    state = folder.lstat()
    if KNOWN and stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and state.st_mode & 0o077:
        folder.chmod(stat.S_IMODE(state.st_mode) & ~0o077)


def own_content(path: Path) -> bytes:
    """Return a file's content. Raises OSError, NotOurs where somebody else could have written it, and for a link."""
    whole = f"{_own_folder(path.parent)}/{path.name}" if KNOWN else os.fspath(path)
    try:
        handle = os.open(whole, _OPEN)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # the latter on FreeBSD
            raise _not_ours(whole, "is a link", entry=True) from None
        raise
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise _not_ours(whole, "is not a regular file", entry=True)
        if KNOWN:
            _require_own(whole, state, os.geteuid())
        return b"".join(iter(lambda: os.read(handle, state.st_size + 1), b""))
    finally:
        os.close(handle)


def _own_folder(folder: Path) -> str:
    place, state = _safe_folder(folder)
    _require_own(place, state, os.geteuid())
    return place


def _safe_folder(folder: Path) -> tuple[str, os.stat_result]:
    """Return a folder with its links resolved, on whose path only this user and root can exchange anything."""
    user, place, links, waiting = os.geteuid(), "", 0, [*reversed(folder.absolute().parts[1:])]
    state = os.lstat("/")
    _require_safe("/", state, user)
    while waiting:
        part = waiting.pop()
        if part == "..":
            place = place.rpartition("/")[0]
            state = os.lstat(place or "/")
            continue
        there = f"{place}/{part}"
        state = os.lstat(there)
        _require_safe(there, state, user)
        if not stat.S_ISLNK(state.st_mode):
            place = there
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
        target = Path(there).readlink()
        place = "" if target.is_absolute() else place
        state = os.lstat(place or "/")
        waiting += reversed(target.parts[target.is_absolute() :])
    return place or "/", state


def _require_safe(path: str, state: os.stat_result, user: int) -> None:
    """Require that others cannot exchange what is in a folder, or a link; modes of links are ignored."""
    owner, mode = state.st_uid, state.st_mode
    if owner not in (ROOT, user):
        raise _not_ours(path, f"belongs to another user (number {owner})")
    if mode & _OTHERS and not (mode & stat.S_ISVTX or stat.S_ISLNK(mode)):
        raise _loose(path, state)


def _require_own(path: str, state: os.stat_result, user: int) -> None:
    if state.st_uid != user:
        entry = stat.S_ISREG(state.st_mode)
        raise _not_ours(path, f"belongs to another user (number {state.st_uid})", entry)
    if state.st_mode & _OTHERS:
        raise _loose(path, state)


def _loose(path: str, state: os.stat_result) -> NotOurs:
    mode, entry = stat.S_IMODE(state.st_mode), stat.S_ISREG(state.st_mode)
    loose = not entry and state.st_uid == os.geteuid() and not mode & stat.S_ISVTX
    return _not_ours(path, f"can be written to by others (mode {mode:04o})", entry, loose)


def _not_ours(path: str, why: str, entry: bool = False, loose: bool = False) -> NotOurs:
    error = NotOurs(f"{path!r} {why}")
    error.path, error.entry, error.loose = path, entry, loose
    return error
