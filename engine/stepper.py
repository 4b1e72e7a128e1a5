"""`Stepper`: the interface of a device to a simulation; `Row`: a stepper in the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.frame import FrameReader
from engine.scene import Contacts
from engine.step_settings import StepSettings
from engine.validation import Array

UNKNOWN = -1
"""An unknown number of steps: of a robot that had diverged when its simulation was resumed."""


def fastest(v: Array) -> NDArray[np.int64]:
    """Return (batch,): the index of the largest of each robot's velocities, v (batch, nv)."""
    return np.argmax(np.abs(v), 1) if v.shape[1] else np.zeros(len(v), np.int64)


class Stepper(Protocol):
    """A device's part of a simulation: the arrays of a `StepSettings`, and the loop over its steps."""

    q: Any
    v: Any
    tau: Any
    target: Any

    @property
    def threads(self) -> int | None:
        """The most threads that share the steps: those on which bits depend, else those of the settings."""

    def array(self, x: Any) -> Any:
        """Return x as a contiguous array of the device and number type. Raises TypeError for another device's array."""

    def states(self, q: Any, v: Any) -> list[Any]:
        """Return q (1 or more, nq) and v of states from either device. Raises ValueError for what is no state."""

    def empty(self, *shape: int) -> Any: ...
    @property
    def wrench(self) -> Any: ...
    @property
    def takes_wrenches(self) -> bool: ...
    def start(self, q: Array, v: Array) -> None: ...
    def restart(self, robots: NDArray[np.int64], q: Array, v: Array) -> None:
        """Set the given robots to q (1 or as many, nq) and v, with no steps done."""

    def memory(self) -> tuple[Array, ...]: ...
    def glance(self) -> tuple[Array, ...]:
        """Return `memory` valid until the next step: copied where necessary, without trailing rows of zeros."""

    def resume(self, q: Array, v: Array, divergences: NDArray[np.int64], memory: tuple[Array, ...]) -> None:
        """Set the robots to q (batch, nq) and v, with the `memory` and `divergences` (2, batch) of that state."""

    def advance(
        self, n: int, done: int, controls: Any, every: int, record: tuple[Any, Any], count: Callable[[int], None]
    ) -> None:
        """Take steps `done` + 1 … `done` + n, see `Simulation.advance`; `count` is called each time some are done."""

    def diverged(self, wait: bool) -> int: ...
    @property
    def frozen(self) -> Any: ...
    def divergences(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def phases(self) -> dict[str, float]: ...
    def frames(self, robots: int, steps: Callable[[], int]) -> FrameReader: ...
    def contacts(self) -> Contacts | None: ...
    def contact_wrench(self) -> Any: ...
    def energies(self) -> tuple[Array, Array]:
        """Return the kinetic and potential energy of each robot, (batch,) each, J, on the host."""


class Row(NamedTuple):
    """A stepper in the registry of its device, see `engine.selection.steppers`."""

    algorithms: tuple[str, ...]
    make: Callable[[StepSettings], Stepper]
    dtypes: tuple[str, ...] = ("float64", "float32")
    in_scene: bool = True
    """Whether it supports contacts."""
    takes: Callable[[StepSettings], bool] = lambda _: True
    """Whether it takes a batch of these settings, by one of its algorithms, if no row before it does."""
