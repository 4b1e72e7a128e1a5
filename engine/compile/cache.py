"""Machine code of kernels on disk, in the user's cache folder: every clone, wheel and read-only install shares it.

An entry is one file, named by a digest of all that the code depends on: the text of every kernel, the types of the
arguments, the versions of Python, NumPy and LLVM, and the processor. So a change of any of them makes a new
file and nothing stale is ever read. A file holds its own checksum; one that is not whole counts as not there, as does
one that another user could have written (`engine.ownership`). Files are written beside their place and renamed, so that
a killed process or a second one at work leaves nothing half done.
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
"""Folders of other sources or versions of Python that are left beside a new one, the last ones written to."""
_SOURCES = (
    "compile/**/*.py",
    "kernels/**/*.py",
    "cpu/**/*.py",
    "algorithms/cfa.py",
    "model/joints.py",
    "model/layout.py",
    "model/model.py",
    "phases.py",
    "scene/*.py",
    "step_settings.py",
)


def sources() -> list[Path]:
    """The files on which the code depends: the kernels' text, and what has the numbers that it names."""
    root = Path(__file__).parents[1]
    return sorted(path for pattern in _SOURCES for path in root.glob(pattern))


@lru_cache(maxsize=1)
def _origin() -> str:
    """A digest of the kernels' text, and of Python's version."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(f"{platform.python_implementation()} {platform.python_version()}".encode())
    return digest.hexdigest()[:20]


def _folders() -> list[Path]:
    """Where code is looked for: the user's cache folder, then the one of this process, if that had to be made."""
    return [folder / "code" / _origin() for folder in files.cache_folders()]


def is_empty() -> bool:
    """Whether there is no code of these sources yet."""
    return not any(folder.is_dir() and any(folder.iterdir()) for folder in _folders())


def write(name: str, content: bytes) -> None:
    """Keep an entry: in the user's cache folder or, where that cannot be, in one of this process."""
    with suppress(OSError):  # a full disk
        folder = files.writable_cache("code", _origin())
        with files.keeping(folder / name) as file:
            file.write(hashlib.sha256(content).digest() + content)
        _tidy(folder)


def _tidy(folder: Path) -> None:
    """Remove the code of other versions but the last few."""
    others = [path for path in folder.parent.iterdir() if path.is_dir() and path != folder]
    others.sort(key=lambda path: path.stat().st_mtime)
    for path in others[:-VERSIONS_KEPT]:
        shutil.rmtree(path, ignore_errors=True)


def read(name: str) -> bytes | None:
    """The content of an entry; None where there is none that is whole."""
    for folder in _folders():
        try:
            whole = files.kept(folder / name)
        except OSError:
            continue
        if hashlib.sha256(whole[32:]).digest() == whole[:32]:
            return whole[32:]
    return None
