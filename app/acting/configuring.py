"""The settings of a simulation, changed one by one."""

from __future__ import annotations

from dataclasses import replace

from app.acting.undoing import Undoing, undoable
from app.simulation.messages import Settings
from app.simulation.spread import Spread


class Configuring(Undoing):
    """The part of a `Workbench` that changes its settings one by one."""

    def _configure(self, settings: Settings) -> None:
        raise NotImplementedError

    @undoable("Batch")
    def set_spread(self, spread: Spread) -> None:
        """How many robots there are, and how they differ; new ones spread from where robot 0 is."""
        self._configure(replace(self.settings, spread=spread))

    @undoable("Ground")
    def set_ground(self, on: bool) -> None:
        """Have ground under the robot, or none."""
        self._configure(replace(self.settings, ground=on))

    @undoable("Self-collision")
    def set_self_collision(self, on: bool) -> None:
        """Let the robot's links touch each other, or pass through."""
        self._configure(replace(self.settings, scene=replace(self.settings.scene, self_collision=on)))

    @undoable("Gravity")
    def set_gravity(self, on: bool) -> None:
        self._configure(replace(self.settings, gravity=on))

    @undoable("Integrator")
    def set_integrator(self, name: str) -> None:
        """One of `engine.INTEGRATORS`."""
        self._configure(replace(self.settings, integrator=name, automatic=False))

    @undoable("Time step")
    def set_dt(self, dt: float) -> None:
        """The time step, s."""
        self._configure(replace(self.settings, dt=dt, automatic=False))

    @undoable("Time step")
    def choose_step(self) -> None:
        """Go back to the suggested time step and integrator."""
        self._configure(replace(self.settings, automatic=True))

    @undoable("Algorithm")
    def set_algorithm(self, name: str) -> None:
        """One of `ALGORITHMS`, or "auto"; also during play."""
        self._configure(replace(self.settings, algorithm=name))
