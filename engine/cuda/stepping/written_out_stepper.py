"""Steps of many robots without contacts, a thread each, by a kernel that is unrolled for the robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import phases
from engine.cuda.rigid_body import written_out
from engine.cuda.runtime import compiler
from engine.cuda.stepping.stepper import Stepper
from engine.kernels import free_steps
from engine.kernels.robot import robot_of
from engine.kernels.step_arguments import State, step_arguments
from engine.kernels.step_state import KnownSettings
from engine.step_settings import StepSettings

MAX_NUMBERS = {"float32": 400, "float64": 300}
"""The most nonzero constants of a robot, by number type, measured on an H200.

For more, `robot_step.cuh` is faster, since a longer text mostly waits for instruction fetches
(docs/measured_kernels.md).
"""


def serves(settings: StepSettings) -> bool:
    """Return whether this stepper takes the batch, whose robots must all be alike."""
    model, dtype = settings.model, settings.dtype
    of_one_kind = settings.parameters is None and len(settings.joints) == 1 and settings.scene is None
    by_aba = settings.algorithm == "abia" and settings.integrator != "rk4"
    fits = written_out.serves(model, dtype) and np.count_nonzero(robot_of(model).bodies) <= MAX_NUMBERS[dtype]
    return bool(of_one_kind and by_aba and fits)


class WrittenOutStepper(Stepper):
    """Robots advanced by the ABA."""

    def __init__(self, settings: StepSettings):
        super().__init__(settings, 0)
        self._grid, self._block = written_out.spread(settings.batch)
        self._compile()

    def _compile(self) -> None:
        settings, model, facts = self._settings, self._settings.model, self._facts
        fixed = KnownSettings(
            robot_of(model), settings.has_limits, settings.has_constraints, settings.q_of_v, settings.joints[0],
            settings.integrator == "implicit", facts["FREEZES"], facts["HAS_WRENCHES"], settings.timed,
        )  # fmt: skip
        state = State(q=model.nq, v=model.nv, tau=model.nv, target=model.nv)
        given = step_arguments(state, "int64", "int64", "reals", "int64s")
        arguments = ("robot", "int64", given, "real")
        self._kernel = compiler.written_out(free_steps.advance, fixed, arguments, settings.dtype)

    def _launch(self, steps: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        *counts, dt = steps
        given = self._batch, *counts, *state, *self._report, self._body_wrenches, self._frozen, dt, self._batch
        self._start(self._kernel, self._grid, self._block, given)

    @property
    def _phase_names(self) -> tuple[str, ...]:
        return phases.WRITTEN_OUT
