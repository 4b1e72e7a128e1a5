"""What is said of a robot whose state stopped being finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.step_settings import StepSettings


class Diverged(ArithmeticError):
    """A simulation whose state stopped being finite.

    `trajectory` is what a `rollout` had kept until then; None from elsewhere.
    """

    trajectory: Any = None


def sentence(settings: StepSettings, robot: int, steps: int, velocity: int) -> str:
    """That a robot diverged after so many steps, UNKNOWN for none that is known, and in which velocity first."""
    cure = f"halve dt (it is {settings.dt:g} s)"
    gains = np.any(settings.kp > 0) or np.any(settings.kd > 0)
    if settings.integrator != "implicit" and (gains or np.any(settings.model.damping > 0)):
        cure += ' or take integrator="implicit", which is stable for any joint damping and gains'
    first = settings.model.coordinate_names[velocity] + (f" of robot {robot}" if settings.batch > 1 else "")
    when = "before it was taken up" if steps < 0 else f"at {steps * settings.dt:g} s"
    return f"the simulation diverged {when}, first in {first}; {cure}"
