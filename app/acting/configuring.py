"""Changing the settings of a simulation, together or one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

import engine
from app.acting.loaded_robot import LoadedRobot
from app.acting.undoing import Actions, on_or_off, undoable
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Configured, Settings
from app.simulation.starting import first_pose
from app.simulation.worker import Worker


class Configuring:
    """Changes the settings of the simulation."""

    def __init__(self, robot: LoadedRobot, worker: Worker, actions: Actions):
        self._robot, self._worker, self.actions = robot, worker, actions
        self._requested = 0  # the worker's number for the settings requested last

    def configure(self, settings: Settings) -> None:
        """Replace the settings; a `Configured` event follows unless they are the same."""
        if settings != self._robot.settings:
            self._robot.settings = settings
            self._robot.check_loads()
            self.choose_algorithm_again()

    def choose_algorithm_again(self) -> None:
        """Repeat the automatic choice; a `Configured` event follows. No effect without a robot."""
        self._requested = self._worker.configure(self._robot.settings)

    def update_from(self, event: Configured) -> None:
        """Take the settings now in force, unless others were requested since."""
        if event.number == self._requested:
            self._robot.settings = event.settings

    def take_settings(self, settings: Settings) -> None:
        """Replace all settings; on other ground the first pose is put down there."""
        robot = self._robot
        if robot.model is not None and settings.ground and settings.scene is not robot.settings.scene:
            robot.start = engine.put_down(robot.model, settings.scene, first_pose(robot.model))
        self.configure(replace(settings, composed=bool(robot.parts)))

    def set_spread(self, spread: BatchSpread) -> None:
        """Set the number of robots and how much they differ; new ones spread from robot 0's pose."""
        self._spread(spread, spread.robots == self._robot.settings.spread.robots)

    @undoable(lambda _, spread, alike: _spread_text(spread, alike))
    def _spread(self, spread: BatchSpread, alike: bool) -> None:  # noqa: ARG002, of the text
        self.configure(replace(self._robot.settings, spread=spread))

    @undoable(lambda _, on: f"Ground {on_or_off(on)}")
    def set_ground(self, on: bool) -> None:
        """Switch the ground on or off."""
        self._robot.groundless = False
        self.configure(replace(self._robot.settings, ground=on))

    @undoable(lambda _, on: f"Self-collision {on_or_off(on)}")
    def set_self_collision(self, on: bool) -> None:
        """Let the robot's links touch each other, or pass through."""
        self.configure(replace(self._robot.settings, scene=replace(self._robot.settings.scene, self_collision=on)))

    @undoable(lambda _, name, value: f"{name.capitalize()} {value:g}")
    def set_surface(self, name: Literal["friction", "restitution"], value: float) -> None:
        """Set one of the scene's coefficients."""
        scene = self._robot.settings.scene
        friction, restitution = (value, scene.restitution) if name == "friction" else (scene.friction, value)
        scene = replace(scene, friction=friction, restitution=restitution)
        self.configure(replace(self._robot.settings, scene=scene))

    @undoable(lambda _, on: f"Gravity {on_or_off(on)}")
    def set_gravity(self, on: bool) -> None:
        self.configure(replace(self._robot.settings, gravity=on))

    @undoable(lambda _, vector: f"Gravity {', '.join(f'{x:g}' for x in vector)} m/s²")
    def set_gravity_vector(self, vector: tuple[float, float, float]) -> None:
        """Set the acceleration of gravity in the world, m/s², and switch it on; zero switches it off."""
        on = any(vector)
        robot = self._robot
        of_robot = on and robot.model is not None and np.array_equal(vector, robot.model.gravity)
        stored = robot.settings.gravity_vector if not on else None if of_robot else vector
        self.configure(replace(robot.settings, gravity=on, gravity_vector=stored))

    @undoable(lambda robot, body, mass: _mass_text(robot, body, mass))
    def set_mass(self, body: int, mass: float | None) -> None:
        """Set the mass of a body, kg, with its inertia in proportion; None for the file's."""
        kept = [each for each in self._robot.settings.masses if each[0] != body]
        self.configure(
            replace(self._robot.settings, masses=tuple(sorted([*kept, *[(body, mass)] * (mass is not None)])))
        )

    @undoable(lambda _, name: f"Integrator {name}")
    def set_integrator(self, name: str) -> None:
        """Set the integrator, one of `engine.INTEGRATORS`."""
        self.configure(replace(self._robot.settings, integrator=name, automatic=False))

    @undoable(lambda _, dt: f"Time step {1e3 * dt:g} ms")
    def set_dt(self, dt: float) -> None:
        """Set the time step, s."""
        self.configure(replace(self._robot.settings, dt=dt, automatic=False))

    @undoable("Automatic time step")
    def choose_step(self) -> None:
        """Return to the suggested time step and integrator."""
        self.configure(replace(self._robot.settings, automatic=True))

    @undoable(lambda _, name: "Automatic algorithm" if name == "auto" else f"Algorithm {engine.ALGORITHM_NAMES[name]}")
    def set_algorithm(self, name: str) -> None:
        """Set the algorithm, one of `ALGORITHMS` or "auto"; also during play."""
        self.configure(replace(self._robot.settings, algorithm=name))

    @undoable(lambda _, name: {"auto": "Automatic device", "cpu": "Steps on CPU", "cuda": "Steps on GPU"}[name])
    def set_device(self, name: str) -> None:
        """Set the device, one of `DEVICES`; also during play. Reset an algorithm it does not support to "auto"."""
        robot, settings = self._robot, replace(self._robot.settings, device=name)
        if robot.model is not None and settings.algorithm not in robot.steppers(name):
            settings = replace(settings, algorithm="auto")
        self.configure(settings)


def _mass_text(robot: LoadedRobot, body: int, mass: float | None) -> str:
    link = robot.model.link_names[int(np.argmax(robot.model.link_body == body))]
    return f"Mass of {link}: {'that of the file' if mass is None else f'{mass:g} kg'}"


def _spread_text(spread: BatchSpread, alike: bool) -> str:
    """Return the text of a batch's change; with `alike` it has as many robots as before."""
    if alike:
        return "Deviations of the batch"
    return f"Batch of {spread.robots}" if spread.robots > 1 else "No batch"
