"""`Simulation`: a batch of robots of one model, advanced in time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import validation
from engine.checkpoint import Checkpoint
from engine.device_arrays import on_device, to_host
from engine.divergence import DIVERGED, Diverged, described
from engine.frame import FrameReader
from engine.kernels.collision.touching_pairs import touching_pairs
from engine.logged import named_numbers
from engine.model import Model
from engine.parameters import Parameters
from engine.scene import Contacts, Scene, cached_hulls
from engine.scene.pairs import NO_PAIRS
from engine.selection import capabilities, steppers
from engine.step_settings import INTEGRATORS, StepSettings, gains
from engine.stepper import UNKNOWN, Stepper, fastest
from engine.validation import Array

__all__ = ["INTEGRATORS", "Diverged", "Simulation"]


class Simulation:
    """Robots of one model and their motion.

    `integrator` is "semi-implicit" (Euler: the new velocity moves the coordinates), "rk4" (classical Runge-Kutta;
    fourth order while neither friction nor a limit acts) or "implicit" (semi-implicit Euler with joint damping and
    gains at the end of the step: stable for any of them). In free flight Euler's integrators conserve linear momentum,
    but a tumbling body gains energy; "rk4" conserves both well. `dt` is in s; `suggested_step` gives it and the
    integrator. `limits`: keep the model's position and velocity limits. `parameters`: robots that differ from the model
    in masses, gravity, damping, friction or effort limits.

    A joint's effort is ``tau + kp (target − q) − kd v``, clipped to its effort limit. The gains kp and kd are numbers,
    (nv,) or (batch, nv), by default 0; free joints take none. `holding_gains` gives those that hold a robot. With
    "implicit", an effort that is within its limit at the start of a step may pass it in that step.

    `scene` is the robots' surroundings; `contacts` and `contact_wrench` are the contacts of the last step. On a GPU
    "abia" and "jsiia" support contact; "auto" takes the CPU, in double precision.

    `on_divergence`: where a robot's state is no longer finite, "raise" ends the run with `Diverged`; "freeze" keeps
    that robot in its last finite state, and the others step to the same bits as without it. `diverged` marks those
    robots, and `divergence` says when and in which joint; a `reset` frees them.

    `q` (batch, nq), `v` (batch, nv), `tau` and `target` (batch, nv) are live arrays: write into them between steps.
    `tau` and `target`, which is initially the joints' position, are held until changed; so is `wrench` (batch, links,
    6), which acts on the links from outside; with `wrenches` steps take it from the first on, and its first use does
    not recompile them. `time` is in s. `phases` are the times of the last step's phases, in s, unless `timed` is false.

    `device` is "cpu", "cuda" or "auto", the faster one; by default it is where q and v are. On "cuda" the arrays are
    CuPy's, of type `dtype`, and whole runs of steps stay on the GPU: `step` launches one kernel and returns at once. A
    divergence is then raised by the first later call that detects it, or by `check`, which waits. On the CPU at most
    `threads` share a batch, by default as many as pay, up to the number of cores; no bit depends on it. With algorithm
    "dca" they share one long chain, which is cut by their number, so that rounding depends on it.
    """

    def __init__(
        self,
        model: Model,
        batch: int = 1,
        dt: float = 1e-3,
        integrator: str = "semi-implicit",
        algorithm: str = "auto",
        *,
        limits: bool = True,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        device: str | None = None,
        dtype: str = "float64",
        kp: ArrayLike | None = None,
        kd: ArrayLike | None = None,
        parameters: Parameters | None = None,
        timed: bool = True,
        threads: int | None = None,
        on_divergence: str = "raise",
        scene: Scene | None = None,
        wrenches: bool = False,
    ):
        batch = validation.integer("batch", batch, 1)
        self.model, self.batch, self.dt = model, batch, validation.time_step(dt)
        self.integrator = integrator = validation.one_of("integrator", integrator, INTEGRATORS)
        self.dtype = dtype = validation.one_of("dtype", dtype, ("float64", "float32"))
        algorithm = validation.one_of("algorithm", algorithm, ("auto", *capabilities.ALGORITHMS))
        self.on_divergence = validation.one_of("on_divergence", on_divergence, ("raise", "freeze"))
        if device is None:
            device = "cuda" if on_device(q) or on_device(v) else "cpu"
        device = validation.one_of("device", device, ("auto", *capabilities.DEVICES))
        if scene is not None:
            cached_hulls.prepare(shape.mesh for shape in model.collisions)
        self.device, self.algorithm, self.why = steppers.choose(model, batch, device, dtype, algorithm, scene)
        capabilities.require_parameters(self.algorithm, model, batch, parameters)
        self.parameters = None if parameters is None else parameters.copy()
        self.settings = StepSettings(
            model, batch, self.dt, integrator, self.algorithm, limits=bool(limits), dtype=dtype, timed=bool(timed),
            kp=np.array(gains(model, batch, "kp", kp)), kd=np.array(gains(model, batch, "kd", kd)),
            parameters=self.parameters, freezes=on_divergence == "freeze", threads=threads, wrenches=bool(wrenches),
            scene=scene, pairs=NO_PAIRS if scene is None else touching_pairs(model, scene)[0],
        )  # fmt: skip
        self._stepper: Stepper = steppers.stepper(self.settings, self.device)
        self.threads = self._stepper.threads
        self._busy = False
        self._watcher: Callable[[bool], None] | None = None
        self._logged: Mapping[str, float] = MappingProxyType({})
        self._names = set[str]()  # of all that was logged since the reset
        self.reset(q, v)
        scalar = model.q_of_v >= 0
        self.target[:, scalar] = self.q[:, model.q_of_v[scalar]]

    def reset(self, q: Any = None, v: Any = None, robots: Any = None) -> None:
        """Return to time 0, at q (nq,) or (batch, nq), by default the neutral one, and v, by default rest.

        With `robots`, a mask (batch,) or indices, reset those robots only: q is (nq,) or has a row for each of them.
        Time continues, the others step to the same bits as without it, and frozen robots among them are freed. What
        was `logged` is dropped unless time continues.
        `tau`, `target` and `wrench` are kept. Raises ValueError for states that do not fit and invalid robots.
        """
        chosen = None if robots is None else _chosen(robots, self.batch)
        if chosen is not None and not len(chosen):  # as of a mask where no robot is done: no rows are no state
            return
        q, v = self.model.neutral() if q is None else q, np.zeros(self.model.nv) if v is None else v
        start = self._stepper.states(q, v)
        many, what = (self.batch, "the batch") if chosen is None else (len(chosen), "the robots to reset")
        for name, rows in zip("qv", map(len, start), strict=True):
            if rows not in (1, many):
                raise ValueError(f"{name} has {rows} rows; expected one state or {many}, {what}")
        if chosen is None:
            self._stepper.start(*start)
            self.steps, self._logged, self._names = 0, MappingProxyType({}), set()
        else:
            self._stepper.restart(chosen, *start)
        if self._watcher is not None:
            self._watcher(True)

    def array(self, x: Any) -> Any:
        """Return x as a contiguous array of the simulation's device and number type."""
        return self._stepper.array(x)

    def empty(self, *shape: int) -> Any:
        """Return an uninitialised array of a shape, of the simulation's device and number type."""
        return self._stepper.empty(*shape)

    @property
    def scene(self) -> Scene | None:
        """The robots' surroundings."""
        return self.settings.scene

    @property
    def q(self) -> Any:
        """(batch, nq): the coordinates."""
        return self._stepper.q

    @property
    def v(self) -> Any:
        """(batch, nv): the velocities."""
        return self._stepper.v

    @property
    def tau(self) -> Any:
        """(batch, nv): the generalized forces, N m or N."""
        return self._stepper.tau

    @property
    def effort(self) -> Array:
        """(batch, nv): the drives' efforts in the present state, N m or N: tau plus gains, within the limits.

        On the host; waits for the steps. With "implicit" a step's effort is that at its end, see `Simulation`.
        """
        q, v, tau, target = (to_host(x).astype(float, copy=False) for x in (self.q, self.v, self.tau, self.target))
        return self.settings.effort(q, v, tau, target)

    @property
    def target(self) -> Any:
        """(batch, nv): the setpoints of the gains kp, rad or m; without meaning for a free joint."""
        return self._stepper.target

    @property
    def wrench(self) -> Any:
        """(batch, links, 6): wrenches (n, f) from outside on the links, N m and N, in the order of `model.link_names`.

        Each is given in the link's own frame, about its origin. A live array like `tau`, initially zero. Its first use
        recompiles the steps to include it, unless they were made with `wrenches`; until then steps have no overhead.
        """
        return self._stepper.wrench

    def take_wrenches(self) -> None:
        """Make steps take `wrench`, as its first use does."""
        _ = self.wrench

    @property
    def takes_wrenches(self) -> bool:
        """Whether `wrench` has been used."""
        return self._stepper.takes_wrenches

    @property
    def logged(self) -> Mapping[str, float]:
        """Numbers of the program that steps this, by name, for recordings, runs and plots; no step reads them.

        Set them together, ``sim.logged = {"phase": 0.2, "height error [m]": 0.01}``, or one with `log`; they stay until
        set again, or a reset or restore. NaN is one that has no value now. Raises ValueError in one sentence for more
        than 256 names in a run, for names that are no text of 1 to 80 printable characters, and for infinite or other
        values.
        """
        return self._logged

    @logged.setter
    def logged(self, numbers: Mapping[str, float]) -> None:
        checked = named_numbers(numbers, self._names)
        self._logged = MappingProxyType({sys.intern(name): number for name, number in checked.items()})

    def log(self, name: str, number: float) -> None:
        """Set one of the `logged` numbers."""
        self.logged = {**self._logged, name: number}

    @property
    def diverged(self) -> Any:
        """(batch,), bool: the robots that diverged and were frozen; none unless `on_divergence` is "freeze"."""
        return self._stepper.frozen

    @property
    def contacts(self) -> Contacts | None:
        """The contacts of the last step, see `engine.Contacts`; None without a scene."""
        return self._stepper.contacts()

    @property
    def contact_wrench(self) -> Any:
        """(batch, links, 6): the wrenches (n, f) of the last step's contacts, N m and N, each in its link's frame."""
        return self._stepper.contact_wrench()

    @property
    def time(self) -> float:
        """Seconds simulated since the last reset."""
        return self.steps * self.dt

    @property
    def phases(self) -> dict[str, float]:
        """Seconds of each phase of the last step; with a batch, for its first block of robots.

        The names are those of `engine.PHASES` for the device and the algorithm, see `engine.PHASE_MEANINGS`.
        """
        return self._stepper.phases()

    def state(self) -> tuple[Array, Array]:
        """Return copies of q (batch, nq) and v (batch, nv) on the host; waits for the steps."""
        q, v = (np.array(to_host(x), float) for x in (self.q, self.v))
        return q, v

    def checkpoint(self) -> Checkpoint:
        """Return all state on which the next steps depend, copied to the host; waits for the steps. See `restore`."""
        q, v, tau, target = (np.array(to_host(x)) for x in (self.q, self.v, self.tau, self.target))
        wrench = np.array(to_host(self.wrench)) if self.takes_wrenches else None
        frozen = np.array(to_host(self.diverged), bool)
        divergences = np.array(self._stepper.divergences())
        return Checkpoint(self.steps, q, v, tau, target, wrench, frozen, self._stepper.memory(), divergences)

    def glance(self) -> tuple[Array, tuple[Array, ...]]:
        """A checkpoint's `divergences` (2, batch) and `contact` without trailing zeros, valid until the next step.

        For recording at every step: it copies a tenth of what a checkpoint does. Waits for the steps.
        """
        return np.array(self._stepper.divergences()), self._stepper.glance()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of this simulation, or of one that was made with the same arguments.

        The steps from there give the same bits as they did. Without a `wrench` in the checkpoint there is none; since a
        simulation with wrenches rounds differently, the bits are then those of a simulation that never used them.

        Raises ValueError, and changes nothing, where the arrays are those of another robot, batch, scene or device.
        """
        shapes = {name: getattr(self, name).shape for name in ("q", "v", "tau", "target")}
        for name, shape in (shapes | {"wrench": (self.batch, len(self.model.link_names), 6)}).items():
            came = getattr(checkpoint, name)
            if came is not None and came.shape != shape:
                raise ValueError(f"the checkpoint's {name} has shape {came.shape}; this simulation's is {shape}")
        before, expected = ([x.shape for x in memory] for memory in (checkpoint.contact, self._stepper.memory()))
        if before != expected:
            raise ValueError(
                "the checkpoint was made in another scene, or on another device; make this simulation as that one was"
            )
        unknown = np.where(checkpoint.frozen, UNKNOWN, 0), fastest(checkpoint.v)
        divergences = np.stack(unknown) if checkpoint.divergences is None else checkpoint.divergences
        self._stepper.resume(checkpoint.q, checkpoint.v, divergences, checkpoint.contact)
        self.tau[:], self.target[:] = self.array(checkpoint.tau), self.array(checkpoint.target)
        if checkpoint.wrench is not None:
            self.wrench[:] = self.array(checkpoint.wrench)
        elif self.takes_wrenches:
            self.wrench[:] = 0.0
        self.steps, self._logged = checkpoint.steps, MappingProxyType({})
        if self._watcher is not None:
            self._watcher(True)

    @property
    def busy(self) -> bool:
        """Whether a thread is in a call for steps."""
        return self._busy

    def watch(self, watcher: Callable[[bool], None] | None) -> None:
        """Have `watcher` called after each call for steps with False, and with True after a reset or restore.

        It is called in the thread of the caller; None ends it.
        """
        self._watcher = watcher

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies are independent simulations, made alike, which continue to the same bits."""
        names = (
            "model",
            "batch",
            "dt",
            "integrator",
            "algorithm",
            "device",
            "dtype",
            "parameters",
            "threads",
            "on_divergence",
        )
        how = {name: getattr(self, name) for name in names}
        how |= {name: getattr(self.settings, name) for name in ("limits", "kp", "kd", "timed", "scene", "wrenches")}
        return _made_again, (type(self), how, self.checkpoint(), self.why)

    def frames(self, robots: int = 1) -> FrameReader:
        """Return a reader of frames for display, with the links' poses of the first `robots` robots.

        Raises ValueError for more robots than the batch has.
        """
        robots = validation.integer("robots", robots, 1)
        if robots > self.batch:
            raise ValueError(f"robots is {robots} and the batch {self.batch}; expected at most the batch")
        return self._stepper.frames(robots, lambda: self.steps)

    def step(self, n: int = 1) -> None:
        """Advance by n steps of dt. Raises Diverged where the state is no longer finite, but see `on_divergence`."""
        self.advance(n)

    def advance(self, n: int, controls: Any = None, every: int = 1, record: tuple[Any, Any] | None = None) -> None:
        """`step`, under `controls` (1 or batch, n, nv) if given, with every `every`-th state written to `record`.

        `record` is a pair of arrays (batch, 1 + n // every, nq) and (…, nv), or None for either; the initial state
        comes first. All are contiguous, of the device and type of `q`; ValueError for others.
        """
        n, every = validation.integer("n", n, 0, validation.MAX_STEPS), validation.integer("every", every, 1)
        nv, samples, record = self.model.nv, 1 + n // every, record or (None, None)
        self._require("controls", controls, ((1, n, nv), (self.batch, n, nv)))
        for name, x, width in zip(("record[0]", "record[1]"), record, (self.model.nq, nv), strict=True):
            self._require(name, x, ((self.batch, samples, width),))
        if self._busy:
            raise RuntimeError("another thread is stepping this simulation; make one for each thread")
        self._busy = True
        try:
            self._stepper.advance(n, self.steps, controls, every, record, self._count)
        finally:
            self._busy = False
        self._raise_divergence(wait=False)
        if self._watcher is not None:
            self._watcher(False)

    def _count(self, steps: int) -> None:
        self.steps += steps

    def _require(self, name: str, x: Any, shapes: tuple[tuple[int, ...], ...]) -> None:
        """Raise ValueError unless x is None, or an array of one of these shapes that the stepper reads in place."""
        if x is None or (
            type(x) is type(self.q) and x.shape in shapes and x.dtype == self.dtype and x.flags.c_contiguous
        ):
            return
        got = f"a {type(x).__name__} of shape {np.shape(x)} and type {getattr(x, 'dtype', 'none')}"
        shape = " or ".join(map(str, dict.fromkeys(shapes)))
        raise ValueError(f"{name} is {got}; expected a contiguous {self.dtype} array {shape} on {self.device!r}")

    def check(self) -> None:
        """Wait until all steps are done. Raises Diverged where the state is no longer finite."""
        self._raise_divergence(wait=True)

    def _raise_divergence(self, wait: bool) -> None:
        if steps := self._stepper.diverged(wait):
            self.steps = steps
            raise self._first_divergence()

    def divergence(self, robot: int = 0) -> str | None:
        """When a robot diverged, in which joint first, and what to do, in a sentence; None where it did not.

        A frozen robot is named by its fastest joint if its velocities diverged all at once, and on a GPU, where only
        `Diverged` describes what ends the run. Waits for the steps. ValueError for an invalid robot.
        """
        if validation.integer("robot", robot, 0) >= self.batch:
            raise ValueError(f"robot is {robot} and the batch {self.batch}; robots are numbered from 0")
        steps, velocity = self._stepper.divergences()
        return str(described(self.settings, robot, int(steps[robot]), int(velocity[robot]))) if steps[robot] else None

    def _first_divergence(self) -> Diverged:
        """Return that of the robot that diverged first; on a GPU where all end, from its last numbers."""
        steps, velocity = self._stepper.divergences()
        if np.any(steps):
            robot = int(np.argmin(np.where(steps > 0, steps, np.inf)))
            return described(self.settings, robot, int(steps[robot]), int(velocity[robot]))
        v = to_host(self.v)
        first, coordinate = np.unravel_index(np.argmax(~(np.abs(v) < DIVERGED)), v.shape)
        return described(self.settings, int(first), self.steps, int(coordinate))

    def energy(self) -> tuple[Array, Array]:
        """Kinetic and potential energy of each robot, (batch,) each, J; waits for the steps.

        On a GPU they are computed there, in the simulation's number type.
        """
        return self._stepper.energies()


def _chosen(robots: Any, batch: int) -> NDArray[np.int64]:
    return validation.indices("robots", to_host(robots) if on_device(robots) else robots, batch)


def _made_again(kind: type[Simulation], how: dict[str, Any], checkpoint: Checkpoint, why: str) -> Simulation:
    made = kind(**how)
    made.restore(checkpoint)
    made.why = why
    return made
