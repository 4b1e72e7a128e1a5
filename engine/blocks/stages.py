"""Progress reports for lessons: an algorithm calls `stage` after each part that is one parallel step.

Without a watcher, set by `watched`, a stage costs one variable lookup. A watcher sees only the thread (and task) that
called `watched`, not other simulations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from engine.lie import Array

Watcher = Callable[[str, Sequence[int], tuple[Array, ...]], None]
"""`watcher(name, places, values)`: the stage's name, the chain indices whose values are now known, and the values."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def stage(name: str, places: Sequence[int], *values: Array) -> None:
    """Report that the statements since the previous stage are done: one parallel step over `places`.

    `values` are its results, (batch, places, …) each if they belong to links. They may be overwritten later.
    """
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(name, places, values)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` at each stage that this thread executes within the context."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)
