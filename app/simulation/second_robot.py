"""The second robot, simulated beside the first, in the same thread and with the same time step.

An `Attachment`: it takes as many steps as the robot and restarts with it. It has the robot's integrator, gravity,
ground and hold setting, and an algorithm of its own. The two do not interact. The second one's state is kept with each
frame of the recording, and exported to files of its own.
Where both are to begin together, as in a session, the robot's steps wait until the second one has been made.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import engine
from app.simulation.contacts import contacts_of
from app.simulation.messages import SecondRobotState, Settings, Snapshot
from app.simulation.preparing import ControlsApart, MadeApart, compile_steps
from app.simulation.running import Running, can_stand, can_touch_itself, gains_of
from app.simulation.starting import first_pose

SHORT = 0.005  # s, for which the simulation thread waits before it looks for commands


@dataclass(frozen=True, eq=False)
class SecondRobotRequest:
    """A requested second robot; `place` (3,), m, is added to its root's position."""

    model: engine.Model
    place: np.ndarray
    state: tuple[np.ndarray, np.ndarray] | None = None
    """Initial q (nq,) and v (nv,); None for rest at `place`."""
    algorithm: str = "auto"
    time: float = 0.0
    """Its time in that state, s."""


@dataclass(frozen=True)
class SavedSecondRobot:
    """The second robot's place (3,), m, and algorithm, saved in a session, and its state and time, s, if known.

    `floating` is whether its file's root link is set free of the world.
    """

    place: tuple[float, ...]
    q: tuple[float, ...] | None
    v: tuple[float, ...] | None
    algorithm: str = "auto"
    time: float = 0.0
    floating: bool = False

    def of(self, model: engine.Model, place: np.ndarray) -> SecondRobotRequest:
        """Return a request for this robot. A state that does not fit is dropped, a bad place replaced by `place`."""
        place = np.array(self.place) if len(self.place) == 3 else place
        if self.q is None or self.v is None or (len(self.q), len(self.v)) != (model.nq, model.nv):
            return SecondRobotRequest(model, place, algorithm=self.algorithm)
        q = np.array(self.q)
        turned = all(np.linalg.norm(q[quaternion]) > 0.5 for _, quaternion in model.quaternions)
        state = (q, np.array(self.v)) if turned else None
        return SecondRobotRequest(model, place, state, self.algorithm, self.time if turned else 0.0)


class SecondRobot(MadeApart):
    """Steps a second robot from `begin` until `end`."""

    def __init__(self) -> None:
        super().__init__()
        self._requested: SecondRobotRequest | None = None
        self._like: tuple[object, ...] = ()  # the robot's settings from which it was made
        self._simulation: engine.Simulation | None = None
        self._start: np.ndarray = np.zeros(0)
        self._time_before = 0.0  # s, its time when its simulation began
        self._state: SecondRobotState | None = None
        self._back: SecondRobotState | None = None  # with which the next step begins
        self.waits = False
        """Whether steps wait for the second robot, which has been or will be asked for."""

    @property
    def inputs(self) -> SecondRobotState | None:
        """Its state, with which a branch of the recording continues."""
        return self._state

    def go_back(self, state: SecondRobotState, running: Running) -> None:  # noqa: ARG002, as `begin` has it
        """Continue from a state of the same robot, also where its simulation is made again before the next step."""
        if self._requested is None or self._requested.model is not state.model:
            return
        self._back = state
        if self._simulation is not None:
            self._continue(state.q, state.v, state.time)

    def _continue(self, q: np.ndarray, v: np.ndarray, seconds: float) -> None:
        self._simulation.reset(q[None], v[None])
        self._time_before = seconds
        self._keep_state()

    def expect(self, on: bool, running: Running) -> None:  # noqa: ARG002, as `begin` has it
        """Have steps wait for the second robot until it has been made or refused."""
        self.waits = on

    def begin(self, requested: SecondRobotRequest, running: Running) -> None:
        """Add the requested robot."""
        self._requested, self._back = requested, None
        self._make(running)

    def change_algorithm(self, name: str, running: Running) -> None:
        """Continue by another algorithm, and by the previous one while its code is compiled."""
        if self._requested is None:
            return
        self._requested, meanwhile = replace(self._requested, algorithm=name), self._simulation
        self._make(running, "" if meanwhile is None else f"{self._requested.model.name} keeps the previous algorithm: ")
        self._simulation = meanwhile

    def end(self, running: Running) -> None:  # noqa: ARG002, as `begin` has it
        """Remove the second robot."""
        self._requested = self._simulation = self._state = None

    def after_jump(self, running: Running) -> None:
        if self._requested is None:
            return
        if dependencies(running) != self._like:
            self._make(running)
        elif running.time == 0 and self._simulation is not None:
            self._back = None
            self._reset()

    def _make(self, running: Running, before: str = "") -> None:
        """Make its simulation again; `before` begins a refusal."""
        requested, like = self._requested, dependencies(running)
        self._like, self._simulation, self._state = like, None, None
        settings, dt, integrator = running.settings, running.simulation.dt, running.simulation.integrator
        scene = settings.touched if can_stand(running.model) else settings.scene

        def make() -> engine.Simulation:
            try:
                return make_simulation(requested, settings, scene, dt, integrator)
            except Exception:  # which is reported
                self.later(partial(self.expect, False))
                raise

        self._make_apart(
            make, partial(self._accept, requested, like), before or f"{requested.model.name} is not simulated: "
        )

    def _accept(
        self, requested: SecondRobotRequest, like: tuple[object, ...], made: engine.Simulation, _: Running
    ) -> None:
        if requested is self._requested and like == self._like:  # else superseded by a later request
            meanwhile, self._simulation, self._start = self._simulation, made, made.q[0].copy()
            before = self._time_before
            self._reset()
            if meanwhile is not None:
                self._time_before = before
                made.reset(*meanwhile.state())
                made.target[:], made.steps = meanwhile.target, meanwhile.steps
                self._keep_state()
            elif self._back is not None:
                self._continue(self._back.q, self._back.v, self._back.time)
            elif requested.state is not None:
                self._continue(*requested.state, requested.time)
                self._requested = replace(requested, state=None)  # a reset returns it to its place
            self.waits = False
            self.report_problem("")

    def _reset(self) -> None:
        """Reset to the start pose, at rest, with each setpoint at its joint's position."""
        simulation, self._time_before = self._simulation, 0.0
        simulation.reset(self._start[None])
        of_v = simulation.model.q_of_v
        simulation.target[:, of_v >= 0] = self._start[of_v[of_v >= 0]]
        self._keep_state()

    def before_steps(self, running: Running, count: int) -> bool:  # noqa: ARG002
        if self.waits:
            time.sleep(SHORT)
        return not self.waits

    def after_steps(self, running: Running, count: int) -> None:  # noqa: ARG002
        if self._simulation is None:
            return
        try:
            self._simulation.step(count)
            self._simulation.check()
        except engine.Diverged as why:
            self._simulation, self._like, self._state = None, (), None  # made again at the next jump, such as a reset
            self.report_problem(f"{self._requested.model.name}: {why}")
            return
        self._keep_state()
        self._back = None

    def _keep_state(self) -> None:
        simulation, requested = self._simulation, self._requested
        q, v = simulation.q[0].astype(float), simulation.v[0].astype(float)
        place = np.zeros(3) if is_free(requested.model) else requested.place
        time_ = self._time_before + simulation.time
        contacts = contacts_of(simulation.contacts, simulation.dt, 0)
        self._state = SecondRobotState(
            requested.model, simulation.model, time_, place, q, v, simulation.algorithm, simulation.scene, contacts
        )  # fmt: skip

    def show(self, frame: Snapshot) -> None:
        """Add its state to the snapshot."""
        frame.second_robot = self._state


class SecondRobotControls(ControlsApart):
    """Controls the second robot from another thread."""

    _attached: SecondRobot

    def set(self, requested: SecondRobotRequest | None) -> None:
        """Set the second robot; None removes it."""
        self._change(self._attached.end if requested is None else partial(self._attached.begin, requested))

    @property
    def expected(self) -> bool:
        """Whether the robot's steps wait for a second robot."""
        return self._attached.waits

    def expect(self, on: bool) -> None:
        """Have the robot's steps wait for the second robot that will be set, or no longer."""
        self._change(partial(self._attached.expect, on))

    def go_back(self, state: SecondRobotState) -> None:
        """Have it continue from a state that was recorded, if it is still the same robot."""
        self._change(partial(self._attached.go_back, state))

    def set_algorithm(self, name: str) -> None:
        """Set the second robot's algorithm, one that steps on a CPU or "auto"; it continues from its state."""
        self._change(partial(self._attached.change_algorithm, name))


def is_free(model: engine.Model) -> bool:
    """Whether the root has a free joint, so that it can be placed anywhere."""
    return bool(model.joints) and model.joints[0].kind == "floating"


def dependencies(running: Running) -> tuple[object, ...]:
    """Return the settings that the second robot depends on; it is made again when they change."""
    settings, simulation = running.settings, running.simulation
    return (
        running.model, simulation.dt, simulation.integrator, settings.gravity, settings.gravity_vector, settings.held,
        settings.ground, settings.scene,
    )  # fmt: skip


def touched_part(model: engine.Model, scene: engine.Scene | None) -> engine.Scene | None:
    """Return the part of the scene it touches; a robot that cannot stand touches only itself, if enabled."""
    if scene is None:
        return None
    itself = scene.self_collision and can_touch_itself(model)
    if can_stand(model):
        return replace(scene, self_collision=itself)
    return replace(scene, ground=None, obstacles=()) if itself else None


def make_simulation(
    requested: SecondRobotRequest, settings: Settings, scene: engine.Scene | None, dt: float, integrator: str
) -> engine.Simulation:
    """Return a compiled CPU simulation in the part of the scene it can touch. Raises ValueError if impossible."""
    model = requested.model
    scene = touched_part(model, scene)
    q = first_pose(model)
    if is_free(model):
        q[model.joints[0].q][:3] += requested.place
        if scene is not None:
            q = engine.put_down(model, scene, q)
    model = settings.under_gravity(model)
    alone = replace(settings, dt=dt, integrator=integrator, driven=frozenset(), by_velocity=frozenset(), gains=())
    kp, kd = gains_of(requested.model, alone)
    made = engine.Simulation(
        model, 1, q=q[None], dt=dt, integrator=integrator, algorithm=requested.algorithm, device="cpu", kp=kp, kd=kd,
        scene=scene, timed=False,
    )  # fmt: skip
    compile_steps(made, False)
    made.reset(q[None])
    return made
