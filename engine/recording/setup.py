"""`Setup`: the settings with which to create a recorded simulation again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.model import Model
from engine.simulation import Simulation
from engine.step_settings import StepSettings


@dataclass(frozen=True, eq=False)
class Setup:
    """A simulation's settings, and what else its bits depend on.

    `device` is where it steps, `threads` take part in each step of DCA-ABA, `wrenches` says whether steps take those
    from outside. The simulation began at `time_before` (s) of its run. `about` is whatever who records wants to find
    again. `watched`: it is a script's, see `engine.live`, of which frames have all that acted as they were taken, but
    not what acted between.
    """

    settings: StepSettings
    device: str
    threads: int | None
    wrenches: bool
    time_before: float = 0.0
    about: Any = None
    watched: bool = False

    @classmethod
    def of(cls, simulation: Simulation, time_before: float = 0.0, about: Any = None, watched: bool = False) -> Setup:
        """How this simulation was made; `Simulation.wrench`, if it is to be asked for, was asked for before.

        `time_before`, `about` and `watched` are as for the class.
        """
        return cls(
            simulation.settings, simulation.device, simulation.threads, simulation.takes_wrenches, float(time_before),
            about, watched,
        )  # fmt: skip

    @property
    def model(self) -> Model:
        return self.settings.model

    def simulation(self) -> Simulation:
        """Create such a simulation, at time 0. Raises its exceptions, for example if the GPU is missing."""
        s = self.settings
        made = Simulation(
            s.model, s.batch, s.dt, s.integrator, s.algorithm, limits=s.limits, device=self.device, dtype=s.dtype,
            kp=s.kp, kd=s.kd, parameters=s.parameters, timed=s.timed, threads=self.threads,
            on_divergence="freeze" if s.freezes else "raise", scene=s.scene,
        )  # fmt: skip
        if self.wrenches:
            made.take_wrenches()
        return made

    def time(self, steps: int) -> float:
        """Return the time in the run after this number of steps, s."""
        return self.time_before + steps * self.settings.dt
