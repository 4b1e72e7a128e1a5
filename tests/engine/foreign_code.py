"""Foreign code: cache entries with the right name and checksum but other content, and several users."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from engine import ownership
from engine.compile import Function, machine, specialise

OTHER, ANOTHER = 65534, 65533
"""Numbers of users."""
DOUBLE, TRIPLE = "0x4000000000000000", "0x4008000000000000"
"""2.0 and 3.0, as LLVM's texts have them."""
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, who may give files to others and be them"
)
owned = pytest.mark.skipif(not ownership.KNOWN, reason="this system does not tell whose a file is by numbers")
ME = os.geteuid() if ownership.KNOWN else 0
users = pytest.mark.parametrize("user", [ME, pytest.param(OTHER, marks=as_root)])
COMPILED = machine.compiled


def double(x):
    x[0] *= 2.0


def halve(x):
    x[0] *= 0.5


def doubled(kernel: Callable[..., None] = double) -> float:
    """Twice three, by code that nothing of this process has compiled or loaded yet; by foreign code it is nine."""
    x = np.array([3.0])
    specialise(Function(kernel, inlined=False), x)(x)
    return float(x[0])


@contextmanager
def being(user: int) -> Iterator[None]:
    """Be another user meanwhile, by number."""
    before = os.geteuid()
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(before)


def poisoned(cache: Path, owner: int | None = None) -> Path:
    """The one entry of a cache with other code of the right name and checksum: it triples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "compiled", lambda text, *how: COMPILED(text.replace(DOUBLE, TRIPLE), *how))
        doubled()
    (entry,) = cache.glob("code/*/*")
    if owner is not None:
        for path in (cache.parent, cache, *cache.rglob("*")):
            os.chown(path, owner, owner)
    return entry


def listing(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the folder's entries, by inode, size and time."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        state = path.lstat()
        found[str(path)] = (state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns)
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """The one sentence that was said."""
    (text,) = caplog.messages
    return str(text)
