"""Machine code of kernels on disk, in the user's cache folder: every clone, wheel and read-only install shares it.

An entry is one file, named by a digest of all that the code depends on: the text of every kernel, the types of the
arguments, the versions of Python, NumPy, Numba and LLVM, and the processor. So a change of any of them makes a new
file and nothing stale is ever read. A file holds its own checksum; one that is not whole counts as not there. Files
are written beside their place and renamed, so that a killed process or a second one at work leaves nothing half done.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize
from numba.core.caching import _Cache

from engine import files

VERSIONS_KEPT = 3
"""Folders of other sources or libraries that are left beside the present one, the last ones used."""
_SOURCES = ("cpu/*.py", "model.py", "plan.py", "packing.py")


@lru_cache(maxsize=1)
def _origin() -> str:
    """A digest of the kernels' text, and of what compiles it."""
    digest, root = hashlib.sha256(), Path(__file__).parents[1]
    for path in sorted(path for pattern in _SOURCES for path in root.glob(pattern)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    versions = (platform.python_implementation(), platform.python_version(), np.__version__, numba.__version__)
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    digest.update(repr((*versions, llvmlite.__version__, settings)).encode())
    return digest.hexdigest()[:20]


def _folders() -> list[Path]:
    """Where code is looked for: the user's cache folder, then the one of this process, if that had to be made."""
    return [folder / "code" / _origin() for folder in files.cache_folders()]


def _write(name: str, content: bytes) -> None:
    """Keep an entry: in the user's cache folder or, where that cannot be, in one of this process."""
    folder = files.writable_cache() / "code" / _origin()
    with suppress(OSError):  # a full disk
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _tidy(folder)
        with files.replacing(folder / name) as file:
            file.write(hashlib.sha256(content).digest() + content)


def _tidy(folder: Path) -> None:
    """Remove the code of other versions but the last few."""
    others = [path for path in folder.parent.iterdir() if path.is_dir() and path != folder]
    others.sort(key=lambda path: path.stat().st_mtime)
    for path in others[:-VERSIONS_KEPT]:
        shutil.rmtree(path, ignore_errors=True)


def _read(name: str) -> bytes | None:
    """The content of an entry; None where there is none that is whole."""
    for folder in _folders():
        try:
            whole = (folder / name).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(whole[32:]).digest() == whole[:32]:
            return whole[32:]
    return None


class Store(_Cache):
    """What Numba asks for and hands over the machine code of one function, by the types of its arguments."""

    def __init__(self, function: Callable[..., Any], context: Any):
        self._function, self._context = function, context

    @property
    def cache_path(self) -> str:
        """The folder that entries are written to."""
        return str(_folders()[0])

    def name(self, sig: Any) -> str:
        """The file of the code for a signature."""
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        key = (self._function.__module__, self._function.__qualname__, cells, str(sig))
        digest = hashlib.sha256(repr((key, self._context.codegen().magic_tuple())).encode())
        return f"{self._function.__name__}-{digest.hexdigest()[:24]}"

    def holds(self, sig: Any) -> bool:
        """Whether there is code for a signature, whole."""
        return _read(self.name(sig)) is not None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, loaded; None where there is none."""
        target_context.refresh()
        content = _read(self.name(sig))
        try:
            return None if content is None else compiler.CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception:  # of whatever kind: what cannot be loaded is compiled anew
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code for the next time, where there is room to."""
        _write(self.name(sig), serialize.dumps(data._reduce()))

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """It never is."""

    def flush(self) -> None:
        """What is outdated goes with its folder."""
