"""A running simulation on either device, with host copies of the state that must survive a GPU failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

import engine
from app.link_extents import link_points
from app.simulation.batch_spread import ALONE, BatchSpread, deviations, with_masses
from app.simulation.contacts import ContactForces, contact_forces, contacts_of
from app.simulation.messages import SPENT, BatchState, Settings, Snapshot
from app.simulation.starting import first_pose

ENERGIES = 0.2  # s between evaluations of a batch's energies


class Running:
    """One simulation, with the user's inputs and the last known state kept on the host.

    Belongs to the simulation thread. On the CPU, steps and frames are complete when their calls return; on a GPU, steps
    and the frame after them are pending until `collect`. All robots of a batch have robot 0's setpoints and efforts.
    """

    def __init__(
        self,
        simulation: engine.Simulation,
        spread: BatchSpread = ALONE,
        model: engine.Model | None = None,
        settings: Settings | None = None,
    ):
        self.model, self.settings = model or simulation.model, settings or Settings()
        """The robot as it was opened, and the settings of its simulation."""
        self.simulation, self._spread = simulation, spread
        self.time_before = 0.0
        """The time of the run at which this simulation began, s."""
        self.on_gpu = simulation.device == "cuda"
        self._reader = simulation.frames(simulation.batch)
        self.q, self.v = simulation.state()
        """(batch, nq) and (batch, nv), the last known state."""
        self.tau, self.target = np.zeros(self.v.shape[1]), np.zeros(self.v.shape[1])
        self.time = 0.0
        """The time of q and v, s."""
        self.robot = 0
        """The index of the selected robot."""
        self.wrench: np.ndarray | None = None
        """(batch, links, 6): external wrenches, see `engine.Simulation.wrench`; None before the first."""
        self.under_way = 0
        """The number of steps before the pending frame."""
        self.waits_for_frame = False
        self._call_seconds, self._has_stepped = 0.0, False  # of step calls since the last frame
        self._residuals: list[Any] = []  # the maximum of each step call since the last frame
        self._placed = False  # by hand, since the last step
        self._own: tuple[int, engine.Model] | None = None
        self._energy, self._energy_due = np.full(simulation.batch, np.nan), 0.0
        self._points = link_points(simulation.model) if simulation.batch > 1 else np.zeros((0, 0, 3))
        self.hold_everything()

    @property
    def choice(self) -> tuple[str, str, str]:
        """The algorithm, the device, and the reason for them."""
        return self.simulation.algorithm, self.simulation.device, self.simulation.why

    def carry_on(self, before: Running) -> None:
        """Take over the state, time, efforts and setpoints of another simulation of the robot.

        If the batch differs, its robots spread from robot 0's pose.
        """
        if before._spread.starts_like(self._spread):
            self.q, self.v = before.q.copy(), before.v.copy()
        else:
            self.q = self._spread.poses(self.simulation.model, before.q[0])
            self.v = np.repeat(before.v[:1], self.simulation.batch, 0)
        self.simulation.reset(self.q, self.v)
        self.time = self.time_before = before.time
        self.robot = min(before.robot, self.simulation.batch - 1)
        self.set_all("tau", before.tau)
        self.set_all("target", before.target)
        if before.wrench is not None:
            self.take_wrenches()
            if len(before.wrench) == self.simulation.batch:
                self.set_wrench(before.wrench)

    def reset(self, q: np.ndarray) -> None:
        """Reset to q (nq,), at rest, at time zero, with every setpoint at robot 0's position, and without wrenches."""
        self.drop_frame()
        self.q = self._spread.poses(self.simulation.model, q)
        self.v = np.zeros_like(self.v)
        self.simulation.reset(self.q)
        if self.wrench is not None:
            self.set_wrench(np.zeros_like(self.wrench))
        self.time = self.time_before = self._energy_due = 0.0
        self.hold_everything()

    def resume(self, checkpoint: engine.Checkpoint, time_before: float) -> None:
        """Restore a checkpoint of this simulation, which began at `time_before`, s, of its run."""
        self.drop_frame()
        self.simulation.restore(checkpoint)
        self.time_before = time_before
        self._has_stepped = self._placed = False
        self.refresh()
        self.tau[:], self.target[:] = checkpoint.tau[0], checkpoint.target[0]
        self.wrench = checkpoint.wrench

    def hold_everything(self) -> None:
        """Set the setpoint of every joint to its position."""
        self.aim(self.q[0])

    def aim(self, q: np.ndarray) -> None:
        """Set the setpoint of every joint to its position in q (nq,)."""
        of_v = self.simulation.model.q_of_v
        scalar = of_v >= 0
        self.target[scalar] = q[of_v[scalar]]
        self.set_all("target", self.target)

    def set_all(self, name: str, values: np.ndarray) -> None:
        """Set `tau` or `target`, (nv,)."""
        getattr(self, name)[:] = values
        getattr(self.simulation, name)[:] = self.simulation.array(getattr(self, name)[None])

    def set_one(self, name: str, v: int, value: float) -> None:
        """Set `tau` or `target` of one velocity."""
        getattr(self, name)[v] = value
        getattr(self.simulation, name)[:, v] = value

    def take_wrenches(self) -> None:
        """Enable external wrenches in steps; their code has to be compiled."""
        if self.wrench is None:
            self.wrench = np.zeros((self.simulation.batch, len(self.simulation.model.link_names), 6))
            self.set_wrench(self.wrench)

    def set_wrench(self, wrench: np.ndarray) -> None:
        """Set the external wrenches, (batch, links, 6)."""
        self.wrench = wrench
        self.simulation.wrench[:] = self.simulation.array(wrench)

    def present(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the current q (batch, nq) and v (batch, nv), on a GPU those of the last frame."""
        return (self.q, self.v) if self.on_gpu else (self.simulation.q, self.simulation.v)

    def hold(self, which: np.ndarray) -> None:
        """Set the setpoints of these velocities, (nv,) bool, to their joints' positions, and their efforts to zero."""
        if np.any(which):
            self.target[which], self.tau[which] = self.q[0, self.simulation.model.q_of_v[which]], 0.0
            self.set_all("tau", self.tau)
            self.set_all("target", self.target)

    def warm(self) -> None:
        """Have a GPU load the code of its first steps and frame; on the CPU do nothing."""
        if self.on_gpu:
            self.advance(1)
            self.drop_frame()
            self._has_stepped = False

    def place(self, put: Callable[[np.ndarray], None], v: tuple[int, ...]) -> None:
        """Call `put` to write into each q (nq,), set v to zero there; at time zero the batch spreads from robot 0."""
        self.refresh()
        self._placed = True
        for q in self.q if self.time else self.q[:1]:
            put(q)
        if not self.time:
            self.q = self._spread.poses(self.simulation.model, self.q[0])
        self.v[:, list(v)] = 0.0
        simulation = self.simulation
        simulation.q[:], simulation.v[:] = simulation.array(self.q), simulation.array(self.v)

    def select_robot(self, robot: int) -> None:
        """Select the robot that `collect` reports, if that number exists."""
        self.robot = robot if robot < self.simulation.batch else self.robot

    def state(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Return time, s, q (nq,) and v (nv,) of the selected robot; on a GPU those of its last frame."""
        if self.on_gpu:
            return self.time, self.q[self.robot].copy(), self.v[self.robot].copy()
        simulation = self.simulation
        return self.next_time, simulation.q[self.robot].copy(), simulation.v[self.robot].copy()

    @property
    def own_model(self) -> engine.Model:
        """The model of the selected robot as simulated, with its own masses if it has some."""
        if self.simulation.parameters is None:
            return self.simulation.model
        if self._own is None or self._own[0] != self.robot:
            self._own = self.robot, self.simulation.parameters.robot(self.robot)
        return self._own[1]

    @property
    def pulled(self) -> np.ndarray:
        """(nv,) bool: the velocities of joints with a position gain."""
        kp = self.simulation.settings.kp
        return kp[self.robot if len(kp) > 1 else 0] > 0

    def contact_forces(self) -> ContactForces | None:
        """Return the selected robot's contact forces in the last step.

        None without a scene, or if the robot was moved by hand since.
        """
        touches = None if self._placed else self.simulation.contacts
        simulation = self.simulation
        return None if touches is None else contact_forces(touches, simulation.scene, simulation.dt, self.robot)

    @property
    def next_time(self) -> float:
        """The time at which the next step begins, s."""
        return self.time_before + self.simulation.time

    def advance(self, count: int, before_next: Callable[[], None] | None = None) -> float:
        """Take `count` steps, on a GPU up to the frame that `collect` reads; return the call's duration, s.

        `before_next` is called before each step but the first.
        """
        if self.on_gpu and not self.waits_for_frame:
            self._reader.begin()
        began = time.perf_counter()
        if before_next is None:
            self._step(count)
        else:
            for k in range(count):
                if k:
                    before_next()
                self._step(1)
        if self.on_gpu:
            self._reader.request()
            self.waits_for_frame, self.under_way = True, self.under_way + count
        self._has_stepped, self._placed = True, False
        seconds = time.perf_counter() - began
        self._call_seconds += seconds
        return seconds

    def _step(self, count: int) -> None:
        self.simulation.step(count)
        if (touches := self.simulation.contacts) is not None:
            self._residuals.append(touches.worst.max())

    @property
    def ready(self) -> bool:
        """Whether `collect` would return without waiting."""
        return not self.waits_for_frame or self._reader.ready

    def refresh(self) -> None:
        """Wait for the simulation, then update q, v and time from it."""
        self.drop_frame()
        self.q, self.v = self.simulation.state()
        self.time = self.time_before + self.simulation.time

    def drop_frame(self) -> None:
        """Wait for a pending frame and discard it."""
        if self.waits_for_frame:
            self._reader.take()
            self.waits_for_frame, self.under_way = False, 0

    def lose_frame(self) -> None:
        """Abandon a pending frame after a failure, without waiting."""
        self.waits_for_frame, self.under_way = False, 0

    def collect(self, into: Snapshot) -> float:
        """Write the state to a snapshot, waiting for it; return seconds per step on the GPU, NaN if unknown.

        Raises `engine.Diverged` if the only robot's state is no longer finite.
        """
        if not self.waits_for_frame:
            self._reader.request()
        frame, count = self._reader.take(), self.under_way
        self.waits_for_frame, self.under_way = False, 0
        self.simulation.check()
        self.q, self.v = frame.q.astype(float), frame.v.astype(float)
        self.time = self.time_before + frame.steps * self.simulation.dt
        into.time, into.robot, into.model = self.time, self.robot, self.own_model
        into.q[:], into.v[:] = self.q[self.robot], self.v[self.robot]
        into.link_poses[:] = frame.link_poses[self.robot]
        into.batch = self._batch(frame.link_poses) if self.simulation.batch > 1 else None
        into.residual = max(map(float, self._residuals), default=0.0)
        self._residuals.clear()
        into.contacts = None if self._placed else contacts_of(self.simulation.contacts, self.simulation.dt, self.robot)
        into.target[:], into.tau[:] = self.target, self.tau
        into.effort[:] = np.nan if self.on_gpu and self.simulation.batch > 1 else self.simulation.effort[self.robot]
        into.phases = dict(frame.phases) if self._has_stepped else {}
        on_device = (frame.spent.steps if count else 0.0, frame.spent.poses, frame.spent.copy)
        seconds = (self._call_seconds, *(on_device if self.on_gpu else on_device[1:2]))
        into.spent = dict(zip(SPENT[self.simulation.device], seconds, strict=True))
        self._call_seconds, self._has_stepped = 0.0, False
        return frame.spent.steps / count if count else float("nan")

    def _batch(self, link_poses: np.ndarray) -> BatchState:
        """Return the state of all robots; their energies are evaluated a few times a second."""
        now = time.perf_counter()
        if now >= self._energy_due:
            self._energy, self._energy_due = np.add(*self.simulation.energy()), now + ENERGIES
        diverged = self.simulation.diverged
        diverged = diverged if isinstance(diverged, np.ndarray) else diverged.get()
        poses = np.array(link_poses, np.float32)  # the reader reuses its buffers
        return BatchState(poses, self._energy, deviations(poses, self._points), diverged)


def set_step(model: engine.Model, settings: Settings) -> Settings:
    """Return the settings with the suggested step if they are automatic."""
    if not settings.automatic:
        return settings
    step = engine.suggested_step(model, settings.held)
    return replace(settings, dt=step.dt, integrator=step.integrator)


def for_new(model: engine.Model, settings: Settings) -> Settings:
    """Return the settings for a newly opened robot: on the ground if it can stand, held if it has motors.

    Self-collision stays on if the robot can touch itself.
    """
    ground = can_stand(model)
    robot = model.parts[0].model if model.parts else model
    gravity = ground or not any(joint.kind == "floating" for joint in robot.joints)
    motors = bool(np.any(np.isfinite(model.effort_limit)))
    settings = replace(
        settings, gravity=gravity, gravity_vector=None, ground=ground, algorithm="auto", held=motors, driven=frozenset()
    )
    settings = replace(settings, gains=(), joints=(), masses=(), by_velocity=frozenset(), composed=bool(model.parts))
    if settings.scene.self_collision and not can_touch_itself(model):
        settings = replace(settings, scene=replace(settings.scene, self_collision=False))
    return set_step(model, settings)


def can_stand(model: engine.Model) -> bool:
    """Whether a robot as it begins can stand on the ground by itself, and its collision shapes can be read."""
    try:
        return engine.stands(model, first_pose(model))
    except ValueError:  # a mesh is missing
        return False


def can_touch(model: engine.Model) -> bool:
    """Whether a robot has readable collision shapes on links that move."""
    if not any(model.link_body[shape.link] >= 0 for shape in model.collisions):
        return False
    try:
        engine.put_down(model, engine.Scene(), model.neutral())
    except ValueError:
        return False
    return True


def can_touch_itself(model: engine.Model) -> bool:
    """Whether a robot has collision shapes that may touch each other, all readable and not too many."""
    if not model.collisions:
        return False
    try:
        engine.Simulation(model, device="cpu", scene=engine.Scene(ground=None, self_collision=True))
    except ValueError:
        return False
    return True


def held_joints(model: engine.Model, settings: Settings) -> np.ndarray:
    """(nv,) bool: the velocities of joints that gains hold."""
    held = (model.q_of_v >= 0) & settings.held
    held[sorted(settings.driven)] = False
    return held


def gains_of(model: engine.Model, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Return kp and kd, (nv,) each, for these settings."""
    kp, kd = engine.holding_gains(model, settings.dt, settings.integrator)
    for v, own_kp, own_kd in settings.gains:
        kp[v], kd[v] = own_kp, own_kd
    kp[sorted(settings.by_velocity | settings.driven)] = kd[sorted(settings.driven)] = 0.0
    if not settings.held:
        kp[:] = kd[:] = 0.0
    return kp, kd


@lru_cache(maxsize=4)
def softening(model: engine.Model, dt: float, integrator: str) -> np.ndarray:
    """(nv,): each joint's holding stiffness with the implicit integrator, which has no limit, over its actual one."""
    kp, _ = engine.holding_gains(model, dt, integrator)
    free, _ = engine.holding_gains(model, dt)
    return np.divide(free, kp, out=np.ones_like(kp), where=kp > 0)


def simulation_of(model: engine.Model, settings: Settings) -> engine.Simulation:
    """Return a simulation with these settings.

    Raises ValueError for what the model does not support, RuntimeError and MemoryError if a GPU fails.
    """
    kp, kd = gains_of(with_masses(model, settings.masses), settings)
    model = settings.under_gravity(model)
    spread, scene = settings.spread, settings.touched
    start = first_pose(model) if scene is None else engine.put_down(model, scene, first_pose(model))
    many = spread.robots > 1
    return engine.Simulation(
        model, spread.robots, dt=settings.dt, integrator=settings.integrator, algorithm=settings.algorithm,
        q=spread.poses(model, start), device=settings.device, kp=kp, kd=kd, scene=scene,
        parameters=spread.parameters(model, settings.joints, settings.masses),
        on_divergence="freeze" if many else "raise",
    )  # fmt: skip


def running_of(model: engine.Model, settings: Settings) -> Running:
    """Return a `Running` of `simulation_of`. Raises the errors of `simulation_of`."""
    return Running(simulation_of(model, settings), settings.spread, model, settings)
