"""A ghost: a second simulation of the robot from the same state, with another algorithm or other settings.

An `Attachment` in the simulation thread. The ghost has the robot's inputs; when the robot's state is set by hand, the
ghost takes it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

import engine
from app.link_extents import POINTS, link_points, world_points
from app.reasons import gpu_failure
from app.simulation.messages import GhostState, Snapshot
from app.simulation.preparing import ControlsApart, MadeApart, compile_steps
from app.simulation.running import Running

PRECISIONS = ("float64", "float32")
STEPS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""Time steps, as multiples of the robot's."""


@dataclass(frozen=True)
class GhostSettings:
    """The ghost's algorithm and integrator ("" for the robot's), precision and time step.

    `step` is one of `STEPS`. Single precision runs on a GPU.
    """

    algorithm: str = ""
    integrator: str = ""
    precision: str = "float64"
    step: Fraction = Fraction(1)


class Ghost(MadeApart):
    """Steps a ghost from `begin` until `end`."""

    def __init__(self) -> None:
        super().__init__()
        self._settings: GhostSettings | None = None
        self._of: engine.Simulation | None = None  # the robot's simulation whose ghost exists or is being made
        self._simulation: engine.Simulation | None = None
        self._ahead = Fraction(0)  # the ghost's lag, in the robot's steps
        self._pair: tuple[np.ndarray, np.ndarray] | None = None  # q of both at the last common time
        self._v = np.zeros(0)  # the ghost's then
        self._points = np.zeros((0, POINTS, 3))  # points of the links that are compared
        self._worst, self._since = 0.0, 0.0

    # In the simulation thread.

    def begin(self, settings: GhostSettings, running: Running) -> None:
        """Make a ghost with these settings; it starts at the robot's state once it is ready."""
        self._settings = settings
        self._make(running)

    def end(self, running: Running) -> None:  # noqa: ARG002, as `begin` has it
        """Remove the ghost."""
        self._settings = self._of = self._simulation = self._pair = None

    def after_jump(self, running: Running) -> None:
        if self._settings is None:
            return
        if running.simulation is not self._of:
            self._make(running)
        elif self._simulation is not None:
            self.reset_to_robot(running)

    def reset_to_robot(self, running: Running) -> None:
        """Set the ghost to the robot's state."""
        if self._simulation is None or running.simulation is not self._of:
            return
        time, q, v = _state(running)
        try:
            self._simulation.reset(q, v)
        except Exception as error:
            self._lose_gpu(self._simulation, error)
            return
        self._ahead, self._worst, self._since = Fraction(0), 0.0, time
        self._pair, self._v = (q.copy(), q.copy()), v.copy()

    def _make(self, running: Running) -> None:
        self._of, self._simulation, self._pair = running.simulation, None, None
        simulation, settings = running.simulation, self._settings
        if simulation.batch > 1:
            self.report_problem("one robot alone has a ghost: make the batch one robot")
            return
        self._make_apart(partial(make_simulation, simulation, settings), partial(self._accept, simulation, settings))

    def _accept(
        self, of: engine.Simulation, settings: GhostSettings, made: engine.Simulation, running: Running
    ) -> None:
        if of is self._of and settings == self._settings:  # else superseded by a later request
            self._simulation, self._points = made, link_points(made.model)
            self.report_problem("")
            self.reset_to_robot(running)

    @property
    def needs_constant_inputs(self) -> bool:
        """Whether there is a ghost, whose steps follow the robot's with the inputs of the last one."""
        return self._simulation is not None

    def most_steps(self, running: Running) -> int | None:  # noqa: ARG002
        """Return the number of steps to the next common time."""
        if self._simulation is None or not self._ahead:
            return None
        return int(self._settings.step - self._ahead)

    def after_steps(self, running: Running, count: int) -> None:
        ghost = self._simulation
        if ghost is None or running.simulation is not self._of:
            return
        self._ahead += count
        steps = int(self._ahead / self._settings.step)
        self._ahead -= steps * self._settings.step
        try:
            ghost.tau[:] = ghost.array(running.tau[None])
            ghost.target[:] = ghost.array(running.target[None])
            if running.wrench is not None:
                ghost.wrench[:] = ghost.array(running.wrench)
            ghost.step(steps)
            ghost.check()
            if not self._ahead:
                q, v = (each[0].astype(float) for each in ghost.state())
                self._pair, self._v = (_state(running)[1], q), v
        except engine.Diverged as why:
            self._lose(str(why.after(self._since)))
        except Exception as error:
            self._lose_gpu(ghost, error)

    def _lose(self, why: str) -> None:
        self._simulation = self._pair = None
        self.report_problem(f"the ghost: {why}")

    def _lose_gpu(self, ghost: engine.Simulation, error: Exception) -> None:
        """Continue without a ghost whose GPU failed; raise any other error."""
        if ghost.device != "cuda" or not engine.gpu_failed(error):
            raise error
        self._lose(gpu_failure(error))

    def show(self, frame: Snapshot) -> None:
        """Add the ghost's state to the snapshot."""
        frame.ghost = None
        if self._pair is None or self._simulation is None:
            return
        here, there = (np.asarray(engine.link_poses(self._simulation.model, q)) for q in self._pair)
        points = self._points
        deviation = np.linalg.norm(world_points(there, points) - world_points(here, points), axis=2).max(1, initial=0.0)
        self._worst = max(self._worst, float(deviation.max(initial=0.0)))
        simulation = self._simulation
        energy = float(np.add(*engine.energy(simulation.model, self._pair[1], self._v)))
        frame.ghost = GhostState(
            there, deviation, self._worst, self._since, simulation.algorithm, simulation.device, simulation.dt,
            energy=energy,
        )  # fmt: skip


class GhostControls(ControlsApart):
    """Controls the ghost from another thread."""

    _attached: Ghost

    def set(self, settings: GhostSettings | None) -> None:
        """Add a ghost with these settings; None removes it."""
        self._change(self._attached.end if settings is None else partial(self._attached.begin, settings))

    def reset_to_robot(self) -> None:
        """Set the ghost to the robot's state."""
        self._change(self._attached.reset_to_robot)


def make_simulation(of: engine.Simulation, settings: GhostSettings) -> engine.Simulation:
    """Return a compiled simulation like `of`, with the ghost's settings.

    Raises ValueError for what the model does not support, RuntimeError and MemoryError if a GPU fails.
    """
    single = settings.precision == "float32"
    if single and (why_not := engine.why_no_gpu()) is not None:
        raise ValueError(f"single precision is simulated on a GPU alone: {why_not}")
    made = engine.Simulation(
        of.model, 1, dt=of.dt * float(settings.step), integrator=settings.integrator or of.integrator,
        algorithm=settings.algorithm or of.algorithm, device="cuda" if single else "cpu", dtype=settings.precision,
        kp=of.settings.kp[0], kd=of.settings.kd[0], scene=of.settings.scene, parameters=of.parameters, timed=False,
    )  # fmt: skip
    compile_steps(made, *((False, True) if made.device == "cpu" else ()))
    return made


def _state(running: Running) -> tuple[float, np.ndarray, np.ndarray]:
    """Return time, s, and copies of q (nq,) and v (nv,) of the only robot; on a GPU, of its last frame."""
    if not running.on_gpu:
        running.refresh()
    return running.time, running.q[0].copy(), running.v[0].copy()
