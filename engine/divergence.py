"""Divergence: its threshold, and reports of a robot whose state is no longer finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.step_settings import DAMPING, KD, KP, StepSettings

DIVERGED = 1e12
"""The divergence threshold: a velocity, rad/s or m/s, beyond every robot's."""


class Diverged(ArithmeticError):
    """The state of a simulation is no longer finite.

    `time`, s, is when, counted from the simulation's last reset, None if unknown; `where` names the coordinate, `fix`
    says what to change, and `damped` whether the implicit integrator, which is stable for any joint damping and gains,
    is part of that. `trajectory` is what a `rollout` had recorded until then, else None.
    """

    trajectory: Any = None

    def __init__(self, time: float | None, where: str, fix: str, damped: bool = False):
        super().__init__(time, where, fix, damped)
        self.time, self.where, self.fix, self.damped = time, where, fix, damped

    @property
    def problem(self) -> str:
        """When and where, without the fix."""
        when = "before the checkpoint" if self.time is None else f"at {self.time:g} s"
        return f"the simulation diverged {when}, {self.where}"

    def __str__(self) -> str:
        return f"{self.problem}; {self.fix}"

    def after(self, seconds: float) -> Diverged:
        """Return a copy for a simulation that began after so many seconds of its run."""
        return Diverged(None if self.time is None else seconds + self.time, self.where, self.fix, self.damped)


def described(settings: StepSettings, robot: int, steps: int, velocity: int) -> Diverged:
    """Return an error that says: a robot diverged after `steps` steps, or UNKNOWN, and in which velocity first."""
    fix = f"halve dt (it is {settings.dt:g} s)"
    joint_rows = settings.joints[robot % len(settings.joints)]
    damped = settings.integrator != "implicit" and bool(np.any(joint_rows[[DAMPING, KP, KD]] > 0))
    if damped:
        fix += ' or take integrator="implicit", which is stable for any joint damping and gains'
    first = settings.model.coordinate_names[velocity] + (f" of robot {robot}" if settings.batch > 1 else "")
    return Diverged(None if steps < 0 else steps * settings.dt, f"first in {first}", fix, damped)
