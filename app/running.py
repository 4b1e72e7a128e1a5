"""A simulation at work for the window, on either device, and what of it must outlive a device that fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import engine
from app.messages import Settings, Snapshot


class Running:
    """One simulation, with what the user has set and the last state known kept on the host.

    Belongs to the simulation's thread. On the CPU steps and frames are done when their calls return; on a GPU a run of
    steps and the frame after it are under way until `collect` has them.
    """

    def __init__(self, simulation: engine.Simulation, time_before: float = 0.0):
        self.simulation, self._time_before = simulation, time_before
        self.on_gpu = simulation.device == "cuda"
        self._reader = simulation.frames()
        q, v = simulation.state()
        self.q, self.v = q[0], v[0]
        self.tau, self.target = np.zeros(len(self.v)), np.zeros(len(self.v))
        self.time = time_before
        """That of q and v, s."""
        self.under_way = 0
        """Steps that the frame which is under way comes after."""
        self.waits_for_frame = False
        self._launch_seconds, self._has_stepped = 0.0, False
        self.hold_everything()

    @property
    def choice(self) -> tuple[str, str, str]:
        """Algorithm, device, and why."""
        return self.simulation.algorithm, self.simulation.device, self.simulation.why

    def carry_on(self, before: Running) -> None:
        """Take over from another simulation of the same robot: state, time, efforts and targets."""
        self.simulation.reset(before.q, before.v)
        self.q, self.v, self.time = before.q.copy(), before.v.copy(), before.time
        self._time_before = before.time
        self.set_all("tau", before.tau)
        self.set_all("target", before.target)

    def reset(self, q: np.ndarray) -> None:
        """At rest in q, at time zero, every joint aimed at where it stands."""
        self.drop_frame()
        self.simulation.reset(q[None])
        self.q, self.v, self.time, self._time_before = q.copy(), np.zeros_like(self.v), 0.0, 0.0
        self.hold_everything()

    def hold_everything(self) -> None:
        """Aim every joint at where it stands."""
        of_v = self.simulation.model.q_of_v
        scalar = of_v >= 0
        self.target[scalar] = self.q[of_v[scalar]]
        self.set_all("target", self.target)

    def set_all(self, name: str, values: np.ndarray) -> None:
        """`tau` or `target`, (nv,)."""
        getattr(self, name)[:] = values
        getattr(self.simulation, name)[:] = self.simulation.array(getattr(self, name)[None])

    def set_one(self, name: str, v: int, value: float) -> None:
        """`tau` or `target` of one velocity."""
        getattr(self, name)[v] = value
        getattr(self.simulation, name)[0, v] = value

    def hold(self, which: np.ndarray) -> None:
        """Aim these velocities, (nv,) bool, at where their joints stand, with no effort of their own."""
        if np.any(which):
            self.target[which], self.tau[which] = self.q[self.simulation.model.q_of_v[which]], 0.0
            self.set_all("tau", self.tau)
            self.set_all("target", self.target)

    def warm(self) -> None:
        """Have a GPU load what its first steps and its first frame take; nothing where the CPU simulates."""
        if self.on_gpu:
            self.advance(1)
            self.drop_frame()
            self._has_stepped = False

    def place(self, put: Callable[[np.ndarray], None], v: tuple[int, ...]) -> None:
        """Have `put` write into q (nq,), and put v to rest."""
        self.refresh()
        put(self.q)
        self.v[list(v)] = 0.0
        simulation = self.simulation
        simulation.q[:], simulation.v[:] = simulation.array(self.q[None]), simulation.array(self.v[None])

    def advance(self, count: int) -> float:
        """`count` steps, on a GPU up to the frame that `collect` gives; seconds until the call returned."""
        if self.on_gpu and not self.waits_for_frame:
            self._reader.begin()
        began = time.perf_counter()
        self.simulation.step(count)
        if self.on_gpu:
            self._reader.request()
            self.waits_for_frame, self.under_way = True, self.under_way + count
        self._has_stepped = True
        self._launch_seconds = time.perf_counter() - began
        return self._launch_seconds

    @property
    def ready(self) -> bool:
        """Whether `collect` would not wait."""
        return not self.waits_for_frame or self._reader.ready

    def refresh(self) -> None:
        """Bring q, v and time to where the simulation is; waits for it."""
        self.drop_frame()
        q, v = self.simulation.state()
        self.q, self.v, self.time = q[0], v[0], self._time_before + self.simulation.time

    def drop_frame(self) -> None:
        """Wait for a frame under way, which nobody wants."""
        if self.waits_for_frame:
            self._reader.take()
            self.waits_for_frame, self.under_way = False, 0

    def collect(self, into: Snapshot) -> float:
        """The state into a snapshot, waiting for it; seconds a step took on the GPU, NaN where that is not known.

        Raises `engine.Diverged` where it is no longer finite.
        """
        if not self.waits_for_frame:
            self._reader.request()
        frame, count = self._reader.take(), self.under_way
        self.waits_for_frame, self.under_way = False, 0
        self.simulation.check()
        self.q, self.v = frame.q[0].astype(float), frame.v[0].astype(float)
        self.time = self._time_before + frame.steps * self.simulation.dt
        into.time = self.time
        into.q[:], into.v[:], into.link_poses[:] = self.q, self.v, frame.link_poses[0]
        into.target[:], into.tau[:] = self.target, self.tau
        into.phases = dict(frame.phases) if self._has_stepped else {}
        self._has_stepped = False
        return frame.spent.steps / count if count else float("nan")


def settled(model: engine.Model, settings: Settings) -> Settings:
    """The settings with the step that is suggested, where that is what they ask for."""
    if not settings.automatic:
        return settings
    step = engine.suggested_step(model, settings.held)
    return replace(settings, dt=step.dt, integrator=step.integrator)


def held_joints(model: engine.Model, settings: Settings) -> np.ndarray:
    """(nv,): which velocities are those of joints that gains hold."""
    held = (model.q_of_v >= 0) & settings.held
    held[sorted(settings.driven)] = False
    return held


def simulation_of(model: engine.Model, settings: Settings) -> engine.Simulation:
    """A simulation as the settings ask for it.

    Raises ValueError for what does not serve the model, RuntimeError and MemoryError where a GPU cannot do it.
    """
    kp, kd = engine.holding_gains(model, settings.dt, settings.integrator)
    kp[sorted(settings.driven)] = kd[sorted(settings.driven)] = 0.0
    if not settings.held:
        kp[:] = kd[:] = 0.0
    model = model if settings.gravity else model.with_gravity((0.0, 0.0, 0.0))
    return engine.Simulation(
        model, dt=settings.dt, integrator=settings.integrator, algorithm=settings.algorithm, device=settings.device,
        kp=kp, kd=kd,
    )  # fmt: skip
