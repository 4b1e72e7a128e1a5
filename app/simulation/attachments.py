"""What joins a simulation's steps in its thread: controllers, forces that follow the state, recordings.

The loop takes steps in batches, in which efforts, targets and wrenches are constant. An attachment may shorten a
batch, set what acts in it, and look at what came out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from app.simulation.messages import Snapshot
from app.simulation.running import Running


class Attachment:
    """Whoever joins overrides what it needs. Everything is called in the simulation's thread."""

    def jumped(self, running: Running) -> None:
        """The state is another without a step: a robot was opened, reset, placed by hand, or simulated otherwise."""

    def most(self, running: Running) -> int | None:  # noqa: ARG002
        """How many steps the next batch may have; None for any number."""
        return None

    def before(self, running: Running, count: int) -> bool:  # noqa: ARG002
        """Set what acts in the next `count` steps; False to have the loop obey commands, and then ask again."""
        return True

    def after(self, running: Running, count: int) -> None:
        """`count` steps were taken; on a GPU this is told when their frame is there."""

    def show(self, frame: Snapshot) -> None:
        """Add to what is shown of the present state."""


class Poster(Protocol):
    """A `Worker`, which has what it is given called in the simulation's thread."""

    def change(self, change: Callable[[Running], None]) -> None: ...
    def push(self, change: Callable[[Running], None]) -> None: ...
