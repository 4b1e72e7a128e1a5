"""What tells a watcher how far a text has come: the texts call `stage` after each part that is one parallel step.

Nobody watches unless somebody does, in `watched`; then a stage costs a look at a variable. What is watched is that of
the thread (and task) that called `watched`, so a simulation beside it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from engine.lie import Array

Watcher = Callable[[str, Sequence[int], tuple[Array, ...]], None]
"""`watcher(name, places, values)`: the stage's name, where along the chain something is known now, and what it is."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def stage(name: str, places: Sequence[int], *values: Array) -> None:
    """The statements above, back to the stage before, are done: they were one parallel step over `places`.

    `values` are what they found, (batch, places, …) each where they are of links. They may change later on.
    """
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(name, places, values)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Meanwhile `watcher` is called at each stage of the texts that this thread carries out."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)
