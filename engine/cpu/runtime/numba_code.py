"""Whether what Numba compiles for a kind of work is at hand, known without loading Numba, which takes a second.

Compiling it takes half a minute. So once all code of a kind is on disk, an entry without content beside it says so.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os

from engine.compile import cache, machine

_noted: set[str] = set()


def note(kind: str) -> None:
    """Keep that all code of a kind is at hand, for this process and for others."""
    if kind not in _noted:
        _noted.add(kind)
        cache.write(_name(kind), b"")


def at_hand(kind: str) -> bool:
    """Whether all code of a kind was noted, here or by another process."""
    if kind not in _noted and cache.read(_name(kind)) is not None:
        _noted.add(kind)
    return kind in _noted


@functools.cache
def _versions() -> tuple[str, ...]:
    """Those of what makes the code; reading them takes most of a millisecond."""
    return tuple(importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy"))


def _name(kind: str) -> str:
    """The entry's file: it holds for these versions and settings, and this processor."""
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    digest = hashlib.sha256(repr((_versions(), settings, machine.describe())).encode())
    return f"{kind}-{digest.hexdigest()[:24]}"
