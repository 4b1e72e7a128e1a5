"""Changing the settings of a simulation one by one."""

from __future__ import annotations

from dataclasses import replace

from app.acting.undoing import Undoing, on_or_off, undoable
from app.simulation.messages import Settings
from app.simulation.spread import Spread


class Configuring(Undoing):
    """The part of a `Workbench` that changes single settings."""

    def _configure(self, settings: Settings) -> None:
        raise NotImplementedError

    @undoable(lambda _, spread: f"Batch of {spread.robots}" if spread.robots > 1 else "No batch")
    def set_spread(self, spread: Spread) -> None:
        """Set the number of robots and how much they differ; new ones spread from robot 0's pose."""
        self._configure(replace(self.settings, spread=spread))

    @undoable(lambda _, on: f"Ground {on_or_off(on)}")
    def set_ground(self, on: bool) -> None:
        """Switch the ground on or off."""
        self._configure(replace(self.settings, ground=on))

    @undoable(lambda _, on: f"Self-collision {on_or_off(on)}")
    def set_self_collision(self, on: bool) -> None:
        """Let the robot's links touch each other, or pass through."""
        self._configure(replace(self.settings, scene=replace(self.settings.scene, self_collision=on)))

    @undoable(lambda _, on: f"Gravity {on_or_off(on)}")
    def set_gravity(self, on: bool) -> None:
        self._configure(replace(self.settings, gravity=on))

    @undoable(lambda _, name: f"Integrator {name}")
    def set_integrator(self, name: str) -> None:
        """Set the integrator, one of `engine.INTEGRATORS`."""
        self._configure(replace(self.settings, integrator=name, automatic=False))

    @undoable(lambda _, dt: f"Time step {1e3 * dt:g} ms")
    def set_dt(self, dt: float) -> None:
        """Set the time step, s."""
        self._configure(replace(self.settings, dt=dt, automatic=False))

    @undoable("Automatic time step")
    def choose_step(self) -> None:
        """Return to the suggested time step and integrator."""
        self._configure(replace(self.settings, automatic=True))

    @undoable(lambda _, name: "Automatic algorithm" if name == "auto" else f"Algorithm {name}")
    def set_algorithm(self, name: str) -> None:
        """Set the algorithm, one of `ALGORITHMS` or "auto"; also during play."""
        self._configure(replace(self.settings, algorithm=name))
