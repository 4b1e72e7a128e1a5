"""The digest of the known arguments of a kernel that is written out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np


def digest_of(*known: Any) -> str:
    """Return a digest of tuples of arrays, numbers and texts."""
    digest = hashlib.sha256()
    for part in _parts(known):
        digest.update(repr((part.shape, part.dtype)).encode() if isinstance(part, np.ndarray) else b"")
        digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return digest.hexdigest()[:24]


def _parts(known: Any) -> Iterator[Any]:
    """The leaves of nested tuples."""
    if isinstance(known, tuple):
        for part in known:
            yield from _parts(part)
    else:
        yield known
