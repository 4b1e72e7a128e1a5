"""Attachments to the simulation's steps: controllers, state-dependent forces, recordings.

The loop takes steps in batches, within which efforts, setpoints and wrenches are constant unless an attachment varies
them. An attachment may shorten a batch, set its inputs, and read its results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from app.simulation.messages import Snapshot
from app.simulation.running import Running


class Attachment:
    """The base class of attachments. All methods are called in the simulation thread; override those needed."""

    @property
    def inputs(self) -> Any:
        """What it lets act, which a recording keeps with each frame; another object after each change."""
        return None

    def after_jump(self, running: Running) -> None:
        """Handle a change of state without a step: a robot opened, a reset, a pose set by hand, another simulation."""

    def most_steps(self, running: Running) -> int | None:  # noqa: ARG002
        """Return the maximum number of steps in the next batch; None for no limit."""
        return None

    def before_steps(self, running: Running, count: int) -> bool:  # noqa: ARG002
        """Set the inputs of the next `count` steps; return False to process commands first and be called again."""
        return True

    @property
    def varies(self) -> bool:
        """Whether each step of a batch has inputs of its own, which `before_next` sets."""
        return False

    @property
    def needs_constant_inputs(self) -> bool:
        """Whether inputs must not vary within a batch."""
        return False

    def before_next(self, running: Running) -> None:
        """Set the inputs of one step of a batch, other than its first, if any attachment `varies` them."""

    def after_steps(self, running: Running, count: int) -> None:
        """Handle `count` completed steps; on a GPU, called once their frame has arrived."""

    def show(self, frame: Snapshot) -> None:
        """Add data to the snapshot of the current state."""


class Poster(Protocol):
    """The part of a `Worker` that runs a function in the simulation thread."""

    def change(self, change: Callable[[Running], None]) -> None: ...
    def push(self, change: Callable[[Running], None]) -> None: ...
