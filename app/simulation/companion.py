"""A companion: another robot that is simulated beside the first, in the same thread, by the same time step.

It joins the simulation's thread as an `Attachment`: it takes as many steps, begins anew where the robot does, and is
simulated as the robot is, by its integrator, under its gravity, on its ground, held or not. Nothing passes between the
two, and no recording has it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import engine
from app.simulation.attachments import Attachment
from app.simulation.messages import CompanionState, Settings, Snapshot
from app.simulation.preparing import refuses
from app.simulation.running import Running, can_stand, can_touch_itself, gains_of


@dataclass(frozen=True, eq=False)
class Asked:
    """A robot that is to stand beside the first, with its root moved by (3,), m, from where its file has it."""

    model: engine.Model
    place: np.ndarray
    state: tuple[np.ndarray, np.ndarray] | None = None
    """q (nq,) and v (nv,) in which it is at first; at rest where it is put where that is None."""


@dataclass(frozen=True)
class Kept:
    """Where a session's robot beside stood, (3,), and its state, if that is known."""

    place: tuple[float, ...]
    q: tuple[float, ...] | None
    v: tuple[float, ...] | None

    def of(self, model: engine.Model, place: np.ndarray) -> Asked:
        """That of this robot; what is none of it is left out, and it stands at `place`."""
        place = np.array(self.place) if len(self.place) == 3 else place
        if self.q is None or self.v is None or (len(self.q), len(self.v)) != (model.nq, model.nv):
            return Asked(model, place)
        q = np.array(self.q)
        turned = all(np.linalg.norm(q[quaternion]) > 0.5 for _, quaternion in model.quaternions)
        return Asked(model, place, (q, np.array(self.v)) if turned else None)


class Companion(Attachment):
    """Steps beside the robot once `begin` has asked for it, until `end`."""

    def __init__(self) -> None:
        self.tell: Callable[[str], None] = lambda _: None
        """Called, in any thread, with why there is no companion, or with nothing once there is one."""
        self.later: Callable[[Callable[[Running], None]], None] = lambda _: None
        """Has something called in the simulation's thread, with what runs there."""
        self._asked: Asked | None = None
        self._like: tuple[object, ...] = ()  # what of the robot's settings it was made by
        self._simulation: engine.Simulation | None = None
        self._start: np.ndarray = np.zeros(0)

    def begin(self, asked: Asked, running: Running) -> None:
        """Have that robot stand there."""
        self._asked = asked
        self._make(running)

    def end(self, running: Running) -> None:  # noqa: ARG002, as `begin` has it
        """No companion any more."""
        self._asked = self._simulation = None

    def jumped(self, running: Running) -> None:
        if self._asked is None:
            return
        if _like(running) != self._like:
            self._make(running)
        elif running.time == 0 and self._simulation is not None:
            self._reset()

    def _make(self, running: Running) -> None:
        """Have another thread make it, which may take a while."""
        asked, like = self._asked, _like(running)
        self._like, self._simulation = like, None
        settings, dt, integrator = running.settings, running.simulation.dt, running.simulation.integrator
        scene = settings.touched if can_stand(running.model) else settings.scene

        def work() -> None:
            try:
                made = _simulation(asked, settings, scene, dt, integrator)
            except Exception as why_not:
                self.tell(f"{asked.model.name} is not simulated: {why_not}")
                if refuses(why_not):
                    return
                raise
            self.later(lambda _: self._take(made, asked, like))

        threading.Thread(target=work, name="companion", daemon=True).start()

    def _take(self, made: engine.Simulation, asked: Asked, like: tuple[object, ...]) -> None:
        if asked is self._asked and like == self._like:  # else another has been asked for since
            self._simulation, self._start = made, made.q[0].copy()
            self._reset()
            if asked.state is not None:
                made.reset(*(x[None] for x in asked.state))
                self._asked = replace(asked, state=None)  # a reset begins where it was put
            self.tell("")

    def _reset(self) -> None:
        """At rest where it began, every joint aimed at where it stands."""
        simulation = self._simulation
        simulation.reset(self._start[None])
        of_v = simulation.model.q_of_v
        simulation.target[:, of_v >= 0] = self._start[of_v[of_v >= 0]]

    def after(self, running: Running, count: int) -> None:  # noqa: ARG002
        if self._simulation is None:
            return
        try:
            self._simulation.step(count)
            self._simulation.check()
        except engine.Diverged as why:
            self._simulation, self._like = None, ()  # it is made anew at the next jump, as by a reset
            self.tell(f"{self._asked.model.name}: {why}")

    def show(self, frame: Snapshot) -> None:
        """Where its links stand, for who draws the robot."""
        simulation, frame.companion = self._simulation, None
        if simulation is None or self._asked is None:
            return
        q, v = simulation.q[0].astype(float), simulation.v[0].astype(float)
        poses = np.asarray(engine.link_poses(simulation.model, q)).copy()
        if not _free(simulation.model):
            poses[:, :3, 3] += self._asked.place
        frame.companion = CompanionState(self._asked.model, simulation.time, poses, q, v, simulation.algorithm)


class CompanionControls:
    """What asks for a companion, from another thread; `change` has something called in the simulation's."""

    def __init__(self, companion: Companion, change: Callable[[Callable[[Running], None]], None]):
        self._companion, self._change = companion, change
        companion.later = change

    def set(self, asked: Asked | None) -> None:
        """Have that robot beside the present one, or none."""
        companion = self._companion
        self._change(companion.end if asked is None else lambda running: companion.begin(asked, running))

    def listen(self, tell: Callable[[str], None]) -> None:
        """Have it called, in any thread, with why there is no companion, or with nothing once there is one."""
        self._companion.tell = tell


def _free(model: engine.Model) -> bool:
    """Whether its root is free of the world, so that it can be put anywhere."""
    return bool(model.joints) and model.joints[0].kind == "floating"


def _like(running: Running) -> tuple[object, ...]:
    """What a companion is made by: where it changes, so does the companion."""
    settings, simulation = running.settings, running.simulation
    return (
        running.model, simulation.dt, simulation.integrator, settings.gravity, settings.held, settings.ground,
        settings.scene,
    )  # fmt: skip


def _touched(model: engine.Model, scene: engine.Scene | None) -> engine.Scene | None:
    """What of that scene it touches: one that cannot stand only itself, where self-collision is on."""
    if scene is None:
        return None
    itself = scene.self_collision and can_touch_itself(model)
    if can_stand(model):
        return replace(scene, self_collision=itself)
    return replace(scene, ground=None, obstacles=()) if itself else None


def _simulation(
    asked: Asked, settings: Settings, scene: engine.Scene | None, dt: float, integrator: str
) -> engine.Simulation:
    """On the CPU, in that scene as far as it can touch it, with all its code at hand. ValueError for what cannot be."""
    model = asked.model
    scene = _touched(model, scene)
    q = model.neutral()
    if _free(model):
        q[model.joints[0].q][:3] += asked.place
        if scene is not None:
            q = engine.put_down(model, scene, q)
    if not settings.gravity:
        model = model.with_gravity((0.0, 0.0, 0.0))
    alone = replace(settings, dt=dt, integrator=integrator, driven=frozenset(), by_velocity=frozenset(), gains=())
    kp, kd = gains_of(asked.model, alone)
    made = engine.Simulation(
        model, 1, q=q[None], dt=dt, integrator=integrator, device="cpu", kp=kp, kd=kd, scene=scene, timed=False
    )
    compilation = engine.Compilation(made, False)
    if compilation.needed:
        compilation.start()
        compilation.wait()
    made.step(1)  # reads the code from disk
    made.reset(q[None])
    return made
