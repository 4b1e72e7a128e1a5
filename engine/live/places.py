"""The folders of live links, each locked by its script as long as the script runs."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from engine import ownership

SUFFIX = ".link"
"""The suffix of a link's folder."""
ROBOT, ABOUT, LOCK = "robot.npz", "about.json", "lock"
"""Files of a link: the run with the first frame, the description of the script, and the script's lock."""
KEPT = 3  # links of ended scripts, which windows may still read


def place() -> Path:
    """Return the folder of this user's links, closed to others. Raises OSError if it cannot exist."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if Path(runtime).is_absolute():
        folder = Path(runtime) / "catena"
    else:
        user = str(os.geteuid()) if ownership.KNOWN else "user"
        folder = Path(tempfile.gettempdir()) / f"catena-{user}"
    ownership.make_own_folder(folder)
    ownership.close(folder)
    return folder


def make() -> tuple[Path, int]:
    """Create a link's folder and its lock, which this process holds until it ends or closes it. Raises OSError."""
    root = place()
    for ended in sorted(_ended(root), key=_begun)[:-KEPT]:
        shutil.rmtree(ended, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(suffix=SUFFIX, dir=root))
    return folder, hold(folder / LOCK)


def running() -> list[Path]:
    """Return the links of running scripts, the newest last. Raises OSError if links cannot exist."""
    links = (each.parent for each in place().glob(f"*{SUFFIX}/{ABOUT}"))
    return sorted((each for each in links if is_running(each)), key=_begun)


def is_running(folder: Path) -> bool:
    """Whether the script of a link still holds its lock."""
    return is_held(folder / LOCK)


def hold(file: Path) -> int:
    """Create a file and lock it until this process ends or closes the returned handle. Raises OSError."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    _lock(handle, exclusive=True)
    return handle


def is_held(file: Path) -> bool:
    """Whether a process holds that file; without file locks, as on Windows, whether the file exists."""
    try:
        handle = os.open(file, os.O_RDWR)
    except OSError:
        return False
    try:
        return _lock(handle, exclusive=False) is not True
    finally:
        os.close(handle)


def description(folder: Path) -> dict[str, object]:
    """Return the description of a link's script: "catena" (version), "script" (name), "pid", "robot" (index shown).

    Raises OSError or ValueError if there is none.
    """
    about = json.loads((folder / ABOUT).read_text("utf-8"))
    if not isinstance(about, dict):
        raise ValueError(f"{folder / ABOUT} contains no object")
    return about


def _ended(root: Path) -> list[Path]:
    return [each for each in root.glob(f"*{SUFFIX}") if (each / ABOUT).exists() and not is_running(each)]


def _begun(folder: Path) -> float:
    with suppress(OSError):
        return (folder / ABOUT).stat().st_mtime
    return 0.0


def _lock(handle: int, exclusive: bool) -> bool | None:
    """Lock a file; return whether it succeeded, or None if there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a disk that does not support locks
        return None
    return True
