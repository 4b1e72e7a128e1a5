"""`Frame`: the state of a simulation's robots for display, and `FrameReader`, which copies it to the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from engine.validation import Array


class Spent(NamedTuple):
    """Seconds by the device's clock; NaN where unknown."""

    steps: float
    """All steps between `FrameReader.begin` and `FrameReader.request`."""
    poses: float
    """The poses of the links."""
    copy: float
    """The copy to the host; 0 where there is none."""


class Frame(NamedTuple):
    """The state after `steps` steps since the reset, on the host, valid until the reader's next request.

    q (batch, nq) and v (batch, nv) are those of all robots, `link_poses` (robots, links, 4, 4) those of the first
    robots, in the order of `model.link_names`; `phases` are the seconds of the last step's phases by name, `spent`
    those of steps, poses and copy on the device.
    """

    steps: int
    q: Array
    v: Array
    link_poses: Array
    phases: Mapping[str, float]
    spent: Spent


class FrameReader(Protocol):
    """Copies one frame at a time to the host: ``begin()``, steps, ``request()``, and ``take()`` when it is ready.

    On a GPU only `take` waits: poses are computed there, after the steps, followed by one asynchronous copy into pinned
    memory. On the CPU the frame is ready with the request.
    """

    def begin(self) -> None:
        """Mark the start of the next frame's steps."""

    def request(self) -> None:
        """Request the state after all steps so far."""

    @property
    def ready(self) -> bool:
        """Whether `take` would not wait."""

    def take(self) -> Frame:
        """Return the requested frame; waits for it."""
