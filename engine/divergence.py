"""Reports of a robot whose state is no longer finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.step_settings import DAMPING, KD, KP, StepSettings


class Diverged(ArithmeticError):
    """The state of a simulation is no longer finite.

    `trajectory` is what a `rollout` had recorded until then, else None.
    """

    trajectory: Any = None


def sentence(settings: StepSettings, robot: int, steps: int, velocity: int) -> str:
    """Return the message that a robot diverged after `steps` steps, or UNKNOWN, and in which velocity first."""
    fix = f"halve dt (it is {settings.dt:g} s)"
    own = settings.joints[robot % len(settings.joints)]
    if settings.integrator != "implicit" and np.any(own[[DAMPING, KP, KD]] > 0):
        fix += ' or take integrator="implicit", which is stable for any joint damping and gains'
    first = settings.model.coordinate_names[velocity] + (f" of robot {robot}" if settings.batch > 1 else "")
    when = "before the checkpoint" if steps < 0 else f"at {steps * settings.dt:g} s"
    return f"the simulation diverged {when}, first in {first}; {fix}"
