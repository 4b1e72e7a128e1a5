"""`Stepper`: what a simulation asks of the device that steps it; `Row`: what a device says of a stepper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.frame import FrameReader
from engine.scene import Touches
from engine.step_settings import StepSettings
from engine.validation import Array

UNKNOWN = -1
"""A number of steps that nobody kept: of a robot that had diverged when its simulation was taken up."""


def fastest(v: Array) -> NDArray[np.int64]:
    """(batch,): which of each robot's velocities, v (batch, nv), is the largest."""
    return np.argmax(np.abs(v), 1) if v.shape[1] else np.zeros(len(v), np.int64)


class Stepper(Protocol):
    """What each device does for a simulation: the arrays of a `StepSettings`, and the loop over its steps."""

    q: Any
    v: Any
    tau: Any
    target: Any

    @property
    def threads(self) -> int | None:
        """How many share the steps at most: those that bits depend on, else what the settings have."""

    def array(self, x: Any) -> Any:
        """x as a contiguous array of the device and the number type. Raises TypeError for what another one holds."""

    def empty(self, *shape: int) -> Any: ...
    @property
    def wrench(self) -> Any: ...
    @property
    def takes_wrenches(self) -> bool: ...
    def start(self, q: Array, v: Array) -> None: ...
    def restart(self, robots: NDArray[np.int64], q: Array, v: Array) -> None:
        """Those robots alone at q (1 or as many, nq) and v, with nothing done yet."""

    def memory(self) -> tuple[Array, ...]: ...
    def glance(self) -> tuple[Array, ...]:
        """`memory` to be read before the next step: copied where it has to be, without rows of zeros at its end."""

    def resume(self, q: Array, v: Array, divergences: NDArray[np.int64], memory: tuple[Array, ...]) -> None:
        """The robots at q (batch, nq) and v, as `memory` and `divergences` (2, batch) were there."""

    def advance(
        self, n: int, done: int, controls: Any, every: int, record: tuple[Any, Any], count: Callable[[int], None]
    ) -> None:
        """Steps `done` + 1 … `done` + n, see `Simulation.advance`; `count` is told each time that some are done."""

    def diverged(self, wait: bool) -> int: ...
    @property
    def frozen(self) -> Any: ...
    def divergences(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def phases(self) -> dict[str, float]: ...
    def frames(self, robots: int, steps: Callable[[], int]) -> FrameReader: ...
    def contacts(self) -> Touches | None: ...
    def contact_wrench(self) -> Any: ...
    def energies(self) -> tuple[Array, Array]:
        """Kinetic and potential energy of each robot, (batch,) each, J, on the host."""


class Row(NamedTuple):
    """A stepper in the registry of its device, see `engine.selection.steppers`."""

    algorithms: tuple[str, ...]
    make: Callable[[StepSettings], Stepper]
    dtypes: tuple[str, ...] = ("float64", "float32")
    in_scene: bool = True
    """It steps robots that may touch something as well."""
    takes: Callable[[StepSettings], bool] = lambda _: True
    """Whether it has a batch of these settings, by one of its algorithms, if no row before it does."""
