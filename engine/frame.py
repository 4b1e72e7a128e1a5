"""`Frame`: the state of a simulation's robots for who shows them, and `FrameReader`, which brings it to the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from engine.validation import Array


class Spent(NamedTuple):
    """Seconds by the clock of the device that did it; NaN where that is not known."""

    steps: float
    """All steps between `FrameReader.begin` and `FrameReader.request`."""
    poses: float
    """The poses of the links."""
    copy: float
    """The copy to the host; 0 where there is none."""


class Frame(NamedTuple):
    """The state after so many `steps` since the reset, on the host, valid until the reader's next request.

    q (batch, nq) and v (batch, nv) are those of all robots, `link_poses` (robots, links, 4, 4) those of the first so
    many, in the order of `model.link_names`; `phases` are the seconds of the last step's phases by name, `spent`
    those that steps, poses and copy took on the device.
    """

    steps: int
    q: Array
    v: Array
    link_poses: Array
    phases: Mapping[str, float]
    spent: Spent


class FrameReader(Protocol):
    """Brings one frame at a time to the host: ``begin()``, steps, ``request()``, and ``take()`` when it is there.

    On a GPU nothing waits but `take`: poses are worked out there, after the steps, and one copy into pinned memory
    follows them, while the caller has time for something else. On the CPU the frame is there with the request.
    """

    def begin(self) -> None:
        """The steps of the next frame are about to begin."""

    def request(self) -> None:
        """Have the state read once all steps so far are done."""

    @property
    def ready(self) -> bool:
        """Whether `take` would not wait."""

    def take(self) -> Frame:
        """The frame that was requested; waits for it."""
