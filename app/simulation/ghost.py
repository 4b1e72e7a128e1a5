"""A ghost: a second simulation that starts where the robot is and takes the same steps by another way of reckoning.

It joins the simulation's thread as an `Attachment`. What acts on the robot acts on the ghost; wherever the robot's
state is set by hand, the ghost goes there too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

import engine
from app.desktop.reasons import gpu_failure
from app.gl.extents import POINTS, link_points, moved
from app.simulation.attachments import Attachment
from app.simulation.messages import GhostState, Snapshot
from app.simulation.preparing import refuses
from app.simulation.running import Running

PRECISIONS = ("float64", "float32")
STEPS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""Time steps, of the robot's."""


@dataclass(frozen=True)
class GhostSettings:
    """What is different: the algorithm, the integrator ("" for the robot's own), the precision and the time step.

    `step` is one of `STEPS`. Single precision is simulated on a GPU.
    """

    algorithm: str = ""
    integrator: str = ""
    precision: str = "float64"
    step: Fraction = Fraction(1)


class Ghost(Attachment):
    """Steps beside the robot once `begin` has asked for it, until `end`."""

    def __init__(self) -> None:
        self.tell: Callable[[str], None] = lambda _: None
        """Called, in any thread, with why there is no ghost, or with nothing once there is one."""
        self.later: Callable[[Callable[[Running], None]], None] = lambda _: None
        """Has something called in the simulation's thread, with what runs there."""
        self._settings: GhostSettings | None = None
        self._of: engine.Simulation | None = None  # the robot's, whose ghost is made or there
        self._simulation: engine.Simulation | None = None
        self._ahead = Fraction(0)  # of the robot's steps, by which the ghost is behind
        self._pair: tuple[np.ndarray, np.ndarray] | None = None  # q of both when they last shared a moment
        self._points = np.zeros((0, POINTS, 3))  # of the links, which are compared
        self._worst, self._since = 0.0, 0.0

    # In the simulation's thread.

    def begin(self, settings: GhostSettings, running: Running) -> None:
        """Make a ghost of those settings; it starts where the robot is when it is ready."""
        self._settings = settings
        self._make(running)

    def end(self, running: Running) -> None:  # noqa: ARG002, as `begin` has it
        """No ghost any more."""
        self._settings = self._of = self._simulation = self._pair = None

    def jumped(self, running: Running) -> None:
        if self._settings is None:
            return
        if running.simulation is not self._of:
            self._make(running)
        elif self._simulation is not None:
            self.meet(running)

    def meet(self, running: Running) -> None:
        """Go where the robot is."""
        if self._simulation is None or running.simulation is not self._of:
            return
        time, q, v = _state(running)
        try:
            self._simulation.reset(q, v)
        except Exception as fault:
            self._lose_gpu(self._simulation, fault)
            return
        self._ahead, self._worst, self._since = Fraction(0), 0.0, time
        self._pair = q.copy(), q.copy()

    def _make(self, running: Running) -> None:
        """Have another thread make it, which may take a while."""
        self._of, self._simulation, self._pair = running.simulation, None, None
        simulation, settings = running.simulation, self._settings
        if simulation.batch > 1:
            self.tell("one robot alone has a ghost: make the batch one robot")
            return

        def work() -> None:
            try:
                made = _simulation(simulation, settings)
            except Exception as why_not:
                self.tell(str(why_not) or type(why_not).__name__)
                if refuses(why_not):
                    return
                raise
            self.later(lambda running: self._take(made, simulation, settings, running))

        threading.Thread(target=work, name="ghost", daemon=True).start()

    def _take(self, made: engine.Simulation, of: engine.Simulation, settings: GhostSettings, running: Running) -> None:
        if of is self._of and settings == self._settings:  # else another has been asked for since
            self._simulation, self._points = made, link_points(made.model)
            self.tell("")
            self.meet(running)

    def most(self, running: Running) -> int | None:  # noqa: ARG002
        """So many steps that both share a moment again."""
        if self._simulation is None or not self._ahead:
            return None
        return int(self._settings.step - self._ahead)

    def after(self, running: Running, count: int) -> None:
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
                self._pair = _state(running)[1], ghost.state()[0][0].astype(float)
        except engine.Diverged as why:
            self._lose(str(why))
        except Exception as fault:
            self._lose_gpu(ghost, fault)

    def _lose(self, why: str) -> None:
        self._simulation = self._pair = None
        self.tell(f"the ghost: {why}")

    def _lose_gpu(self, ghost: engine.Simulation, fault: Exception) -> None:
        """Go on without a ghost whose GPU failed; raises a fault that is not the GPU's."""
        if ghost.device != "cuda" or not engine.gpu_failed(fault):
            raise fault
        self._lose(gpu_failure(fault))

    def show(self, frame: Snapshot) -> None:
        """What the ghost is, for who draws the robot."""
        frame.ghost = None
        if self._pair is None or self._simulation is None:
            return
        here, there = (np.asarray(engine.link_poses(self._simulation.model, q)) for q in self._pair)
        points = self._points
        deviation = np.linalg.norm(moved(there, points) - moved(here, points), axis=2).max(1, initial=0.0)
        self._worst = max(self._worst, float(deviation.max(initial=0.0)))
        simulation = self._simulation
        frame.ghost = GhostState(
            there, deviation, self._worst, self._since, simulation.algorithm, simulation.device, simulation.dt
        )


class GhostControls:
    """What asks for a ghost, from another thread; `change` has something called in the simulation's."""

    def __init__(self, ghost: Ghost, change: Callable[[Callable[[Running], None]], None]):
        self._ghost, self._change = ghost, change
        ghost.later = change

    def set(self, settings: GhostSettings | None) -> None:
        """Have a ghost of those settings beside the robot, or none."""
        self._change(self._ghost.end if settings is None else partial(self._ghost.begin, settings))

    def meet(self) -> None:
        """Have the ghost go where the robot is."""
        self._change(self._ghost.meet)

    def listen(self, tell: Callable[[str], None]) -> None:
        """Have it called, in any thread, with why there is no ghost, or with nothing once there is one."""
        self._ghost.tell = tell


def _simulation(of: engine.Simulation, settings: GhostSettings) -> engine.Simulation:
    """A simulation as that one but for the settings, with all its code at hand.

    Raises ValueError for what does not serve the model, RuntimeError and MemoryError where a GPU cannot do it.
    """
    single = settings.precision == "float32"
    if single and (why_not := engine.why_no_gpu()) is not None:
        raise ValueError(f"single precision is simulated on a GPU alone: {why_not}")
    made = engine.Simulation(
        of.model, 1, dt=of.dt * float(settings.step), integrator=settings.integrator or of.integrator,
        algorithm=settings.algorithm or of.algorithm, device="cuda" if single else "cpu", dtype=settings.precision,
        kp=of.settings.kp[0], kd=of.settings.kd[0], scene=of.settings.scene, timed=False,
    )  # fmt: skip
    for wrenches in (False, True) if made.device == "cpu" else ():
        compilation = engine.Compilation(made, wrenches)
        if compilation.needed:
            compilation.start()
            compilation.wait()
    made.step(1)  # reads the code from disk
    return made


def _state(running: Running) -> tuple[float, np.ndarray, np.ndarray]:
    """Time, s, and copies of q (nq,) and v (nv,) of the only robot; on a GPU those of its last frame."""
    if not running.on_gpu:
        running.refresh()
    return running.time, running.q[0].copy(), running.v[0].copy()
