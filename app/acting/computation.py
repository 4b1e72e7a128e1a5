"""What computes the robot's steps: the algorithm and device in use, and what is compiled or prepared. Free of Qt."""

from __future__ import annotations

import engine
from app.acting.loaded_robot import LoadedRobot
from app.simulation.gpu_search import GpuSearch
from app.simulation.messages import Compiling, Configured, Loaded, Preparing

ALGORITHMS = tuple(dict.fromkeys(name for names in engine.SIMULATION_ALGORITHMS.values() for name in names))
"""The algorithms that can step on some device."""


class Computation:
    """The algorithm and device that step the robot, and why others cannot."""

    def __init__(self, robot: LoadedRobot):
        self._robot, self.gpu = robot, GpuSearch()
        self.algorithm = self.device = self.why = ""
        """The algorithm and device in use, and the reason for them."""
        self.compiling = 0.0
        """The estimated seconds of the compilation in progress; 0 if there is none."""
        self.plays_on = False
        """Whether the robot runs on with the previous settings while compiling."""
        self.preparing = ""
        """The device for which a simulation is being made, "auto" or "cuda"; empty if none."""

    def update_from(self, event: Loaded | Configured | Compiling | Preparing) -> None:
        """Take over what the simulation reports."""
        if isinstance(event, Preparing):
            self.preparing = event.device
        elif isinstance(event, Compiling):
            self.compiling, self.plays_on = event.seconds, event.meanwhile
        else:
            self.algorithm, self.device, self.why, self.preparing = event.algorithm, event.device, event.why, ""

    @property
    def algorithm_refusals(self) -> dict[str, str]:
        """The reasons why algorithms cannot simulate the robot on the requested device, by name."""
        model, settings = self._robot.model, self._robot.settings
        if model is None:
            return {}
        device = "cpu" if settings.device == "auto" and self.gpu.why_not is not None else settings.device
        reasons = {name: engine.simulation_refusal(name, model, device, settings.touched) for name in ALGORITHMS}
        return {name: reason for name, reason in reasons.items() if reason is not None}

    @property
    def device_refusals(self) -> dict[str, str]:
        """The reasons why devices cannot simulate the robot, by name."""
        reasons = {"cuda": self.gpu.why_not} if self.gpu.why_not is not None else {}
        model, touched = self._robot.model, self._robot.settings.touched
        for device in ("cpu", "cuda"):
            if model is not None and not self._robot.steppers(device):
                first = engine.SIMULATION_ALGORITHMS[device][0]
                reasons[device] = engine.simulation_refusal(first, model, device, touched) or ""
        return reasons

    @property
    def unmeasured(self) -> bool:
        """Whether the automatic choice is a default, since nothing was measured on this machine."""
        model = self._robot.model
        several = model is not None and len(engine.simulation_algorithms(model, "cpu")) > 1
        return self._robot.settings.algorithm == "auto" and self.device == "cpu" and several and not engine.measured()
