"""The disk cache of kernels' machine code, in the user's cache folder, for every clone, wheel and read-only install.

An entry is one file, named by a digest of everything that the code depends on: the source of every kernel, the types of
the arguments, the versions of Python, NumPy and LLVM, and the processor. A change of any of them makes a new file, and
no stale code is read. A file holds its own checksum; an incomplete one counts as missing, as does one that another user
could have written (`engine.ownership`). Files are written beside their place and renamed, so that a killed or
concurrent process leaves nothing incomplete.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from engine import files

VERSIONS_KEPT = 8
"""The number of cache folders, of other sources or versions of Python, that a new one leaves on disk: the most
recent."""
_SOURCES = (
    "compile/**/*.py",
    "kernels/**/*.py",
    "cpu/**/*.py",
    "algorithms/cfa.py",
    "divergence.py",
    "model/joints.py",
    "model/layout.py",
    "model/model.py",
    "phases.py",
    "scene/*.py",
    "step_settings.py",
)


def sources() -> list[Path]:
    """The files on which the code depends: the kernels' source, and the modules of the constants in it."""
    root = Path(__file__).parents[1]
    return sorted(path for pattern in _SOURCES for path in root.glob(pattern))


@lru_cache(maxsize=1)
def _origin() -> str:
    """A digest of the kernels' source and Python's version."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(f"{platform.python_implementation()} {platform.python_version()}".encode())
    return digest.hexdigest()[:20]


def _folders() -> list[Path]:
    """The cache folders: the user's, then a folder of this process if one had to be made."""
    return [folder / "code" / _origin() for folder in files.cache_folders()]


def is_empty() -> bool:
    """Whether there is no code of these sources yet."""
    return not any(folder.is_dir() and any(folder.iterdir()) for folder in _folders())


def write(name: str, content: bytes) -> None:
    """Store an entry in the user's cache folder or, where that is impossible, in one of this process."""
    with suppress(OSError):  # a full disk
        folder = files.writable_cache("code", _origin())
        with files.keeping(folder / name) as file:
            file.write(hashlib.sha256(content).digest() + content)
        _tidy(folder)


def _tidy(folder: Path) -> None:
    """Remove the code of all but the most recent other versions."""
    others = [path for path in folder.parent.iterdir() if path.is_dir() and path != folder]
    others.sort(key=lambda path: path.stat().st_mtime)
    for path in others[:-VERSIONS_KEPT]:
        shutil.rmtree(path, ignore_errors=True)


def read(name: str) -> bytes | None:
    """Return the content of an entry; None where there is no complete one."""
    for folder in _folders():
        try:
            whole = files.cached_content(folder / name)
        except OSError:
            continue
        if hashlib.sha256(whole[32:]).digest() == whole[:32]:
            return whole[32:]
    return None
