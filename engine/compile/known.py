"""What is known when a kernel is written out, as a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np


def described(*known: Any) -> str:
    """A digest of tuples of arrays, numbers and texts."""
    digest = hashlib.sha256()
    for part in _parts(known):
        digest.update(repr((part.shape, part.dtype)).encode() if isinstance(part, np.ndarray) else b"")
        digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return digest.hexdigest()[:24]


def _parts(known: Any) -> Iterator[Any]:
    """What tuples in tuples are made of."""
    if isinstance(known, tuple):
        for part in known:
            yield from _parts(part)
    else:
        yield known
