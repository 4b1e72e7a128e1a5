"""The base of the GPU's steppers: state in CuPy arrays, launches in parts, phases and divergence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import phases, validation
from engine.cuda.rigid_body.energy import Energies
from engine.cuda.rigid_body.wrenches import BodyWrenches
from engine.cuda.runtime import arrays, compiler, device
from engine.cuda.stepping.frame_reader import FrameReader
from engine.device_arrays import on_device
from engine.model.layout import pack
from engine.scene import Contacts
from engine.step_settings import DAMPING, EFFORT_LIMIT, FRICTION, KD, KP, StepSettings
from engine.stepper import fastest
from engine.validation import Array

_A_LAUNCH, _OF_A_ROBOT = 20_000_000, 20_000
"""The most bodies × steps of a launch where a watchdog ends kernels after some seconds, of all robots and of one: some
milliseconds on a fast GPU, tenths of a second in double precision on a small one.
"""
_NULL, _NEVER = np.uint64(0), 2**64 - 1


class Stepper(ABC):
    """The state of the robots in CuPy arrays; steps do not wait for the GPU."""

    def __init__(self, settings: StepSettings, more_bytes: int):
        import cupy

        model, batch = settings.model, settings.batch
        self._settings, self._type = settings, np.dtype(settings.dtype)
        self._at_once = launch_steps(len(model.parent), batch) if device.has_watchdog() else 2**31 - 1
        sizes = (model.nq, model.nv, model.nv, model.nv)
        needed = self._type.itemsize * batch * sum(sizes) + more_bytes
        device.require_memory(needed, f"a simulation of {batch} robots {model.name!r} in {settings.dtype}")
        device.require_count(batch)
        self._batch, self._dt = np.int32(batch), self._type.type(settings.dt)
        self.q, self.v, self.tau, self.target = (cupy.zeros((batch, size), self._type) for size in sizes)
        self._current_stream = cupy.cuda.get_current_stream
        self._stream = self._current_stream()  # stream of the last steps
        self._first = cupy.zeros(1, np.uint64)
        self._phases = cupy.zeros(phases.COUNT + 2, np.int64)
        self._frozen = cupy.zeros(batch, np.int64)
        """(batch,): the number of steps after which each robot diverged and was frozen, else 0."""
        alarm = cupy.cuda.alloc_pinned_memory(8)
        self._alarm_address, self._alarm = np.uint64(alarm.ptr), np.frombuffer(alarm, np.int64, 1)
        self._launches: dict[tuple[compiler.Kernel, int], compiler.Launch] = {}
        self._wrench: Any = None
        self._body_wrenches: Any = _NULL
        if settings.wrenches:
            self._make_wrench()

    @abstractmethod
    def _compile(self) -> None:
        """Compile the kernel of the steps for the forces in `_facts`."""

    @abstractmethod
    def _launch(self, steps: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        """Launch a part of the steps.

        `steps`: total, first and last of the part, those done before, and dt. `state`: the arrays from q to record_v
        and the recording interval, see advance_robot in robot_step.cuh.
        """

    def _start(
        self, kernel: compiler.Kernel, grid: int, block: int, given: tuple[Any, ...], shared: int = 0,
        together: bool = False, part: int = 0,
    ) -> None:  # fmt: skip
        """Launch `kernel`; only parameters that changed since the last launch of this `part` are packed again."""
        launch = self._launches.get((kernel, part))
        if launch is None:
            launch = compiler.Launch(kernel, grid, block, 0, given, shared, together)
            self._launches[kernel, part] = launch
        else:
            launch.change(given)
        launch()

    @property
    def threads(self) -> int | None:
        """See `engine.stepper.Stepper`."""
        return self._settings.threads

    def array(self, x: Any) -> Any:
        """Return x as a contiguous CuPy array of the number type."""
        return arrays.to_device(x, self._settings.dtype)

    def states(self, q: Any, v: Any) -> list[Any]:
        """Return q (1 or more, nq) and v, checked; as CuPy arrays where one of them is on the GPU."""
        model, dtype = self._settings.model, self._settings.dtype
        if on_device(q) or on_device(v):
            return [arrays.states(model, dtype, **{name: self.array(x)})[0][0] for name, x in (("q", q), ("v", v))]
        return validation.states(model, q=q, v=v)[0]

    def empty(self, *shape: int) -> Any:
        """Return an uninitialised CuPy array."""
        return arrays.empty(shape, self._settings.dtype)

    @property
    def _facts(self) -> dict[str, bool]:
        """The forces on the robots, by the names of compile-time flags."""
        own = {"HAS_WRENCHES": self._wrench is not None, "FREEZES": self._settings.freezes}
        return constraint_facts(self._settings) | own

    @property
    def takes_wrenches(self) -> bool:
        """Whether `wrench` has been used."""
        return self._wrench is not None

    @property
    def wrench(self) -> Any:
        """(batch, links, 6): external wrenches (n, f) on the links, each in the link's own frame, about its origin.

        Zero at first and held until changed. The kernel is recompiled on first use, so that simulations without
        wrenches have no overhead.
        """
        if self._wrench is None:
            self._make_wrench()
            self._launches.clear()
            self._compile()
        return self._wrench

    def _make_wrench(self) -> None:
        import cupy

        model, batch = self._settings.model, self._settings.batch
        shape, bodies = (batch, len(model.link_names), 6), len(model.parent)
        needed = self._type.itemsize * 6 * batch * (shape[1] + bodies)
        device.require_memory(needed, f"wrenches on the links of {batch} robots {model.name!r}")
        self._on_bodies = BodyWrenches(model, self._settings.dtype)
        self._wrench = cupy.zeros(shape, self._type)
        arrays.wait()  # zero for steps on any stream

    def start(self, q: Array, v: Array) -> None:
        """Set all robots to q (1 or batch, nq) and v, with no steps done."""
        import cupy

        self._stream.synchronize()
        self.q[:], self.v[:] = cupy.asarray(q, self._type), cupy.asarray(v, self._type)
        self._first.fill(_NEVER)
        self._frozen.fill(0)
        self._current_stream().synchronize()
        self._alarm[0] = 0

    def restart(self, robots: NDArray[np.int64], q: Array, v: Array) -> None:
        """Set the given robots to q (1 or as many, nq) and v, with no steps done."""
        import cupy

        if self._current_stream() != self._stream:
            self._stream.synchronize()
        chosen = cupy.asarray(robots)
        self.q[chosen], self.v[chosen] = cupy.asarray(q, self._type), cupy.asarray(v, self._type)
        self._frozen[chosen] = 0
        self._forget_robots(chosen)
        self._stream = self._current_stream()

    def _forget_robots(self, robots: Any) -> None:  # noqa: B027 (most steppers remember nothing)
        """Clear the further state of those robots; steps start from q and v only."""

    def memory(self) -> tuple[Array, ...]:
        """See `engine.stepper.Stepper`; most steppers have no further state."""
        return ()

    def glance(self) -> tuple[Array, ...]:
        """See `engine.stepper.Stepper`."""
        return self.memory()

    def resume(self, q: Array, v: Array, divergences: Any, memory: tuple[Array, ...]) -> None:  # noqa: ARG002
        """See `engine.stepper.Stepper`."""
        import cupy

        self.start(q, v)
        if self._settings.freezes:
            self._frozen[:] = cupy.asarray(divergences[0])
        self._current_stream().synchronize()

    def advance(
        self, n: int, done: int, controls: Any, every: int, record: tuple[Any, Any], count: Callable[[int], None]
    ) -> None:
        """Take steps `done` + 1 … `done` + n, see `Simulation.advance`."""
        self._stream = self._current_stream()
        q, v = (_NULL if array is None else array for array in record)
        rows = 0 if controls is None else len(controls)
        if self._wrench is not None:
            self._body_wrenches = self._on_bodies(self._wrench, self._settings.batch)
        state = (
            self.q, self.v, self.tau, self.target, _NULL if controls is None else controls, np.int32(rows),
            q, v, np.int32(every),
        )  # fmt: skip
        for first in range(0, max(n, 1), self._at_once):
            part = np.int32(n), np.int32(first), np.int32(min(n, first + self._at_once))
            self._launch((*part, np.int64(done), self._dt), state)
        count(n)

    @property
    def _report(self) -> tuple[Any, ...]:
        """The kernel's output of divergence and phase times."""
        return self._first, self._alarm_address, self._phases

    def diverged(self, wait: bool) -> int:
        """Return the known number of steps after which a state stopped being finite, or 0."""
        if wait:
            self._stream.synchronize()
        first = int(self._first.get()[0]) if self._alarm[0] else _NEVER
        return 0 if first == _NEVER else first

    @property
    def frozen(self) -> Any:
        """(batch,): whether each robot has diverged and been frozen."""
        return self._frozen != 0

    def divergences(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each robot's step of divergence, see `engine.stepper.UNKNOWN`, and its largest velocity's index."""
        return self._frozen.get(), fastest(self.v.get())

    def contacts(self) -> Contacts | None:
        """Return the contacts of the last step, or None for robots without contacts."""
        return None

    def contact_wrench(self) -> Any:
        """(batch, links, 6): the wrenches of the last step's contacts, N m and N."""
        s = self._settings
        return arrays.sums_by_link(self.contacts(), (s.batch, len(s.model.link_names), 6), s.dtype, s.dt)

    def energies(self) -> tuple[Array, Array]:
        """See `engine.stepper.Stepper`; computed on the GPU in the settings' number type."""
        return self._energies(self.q, self.v)

    @cached_property
    def _energies(self) -> Energies:
        s = self._settings
        return Energies(s.model, s.batch, s.dtype, s.parameters)

    @property
    def _on_ground(self) -> bool:
        """Whether the robots can have contacts."""
        return False

    def phases(self) -> dict[str, float]:
        """Seconds of each phase of the last step, for the first robots; 0 without timing."""
        return self._phase_seconds(self._phases.get())

    def _phase_seconds(self, counters: Array) -> dict[str, float]:
        """Return seconds per phase from the counters of a `Watch`, see phase_timer.cuh."""
        cycles, nanoseconds = counters[: phases.COUNT].astype(float), counters[phases.COUNT]
        seconds = cycles * (nanoseconds * 1e-9 / max(1.0, cycles.sum()))
        return {name: float(seconds[phases.NAMES.index(name)]) for name in self._phase_names}

    @property
    def _phase_names(self) -> tuple[str, ...]:
        return phases.names("cuda", self._settings.algorithm, self._on_ground)

    def frames(self, robots: int, steps: Callable[[], int]) -> FrameReader:
        """Return a reader of frames with the links of `robots` robots; `steps()` is the number of steps done."""
        return FrameReader(self._settings.model, self.q, self.v, self._phases, robots, steps, self._phase_seconds)


class StillStepper(Stepper):
    """Robots without joints."""

    def __init__(self, settings: StepSettings):
        super().__init__(settings, 0)

    def _compile(self) -> None:
        """No kernel is needed."""

    def energies(self) -> tuple[Array, Array]:
        """See `engine.stepper.Stepper`; both are 0."""
        return np.zeros(self._settings.batch), np.zeros(self._settings.batch)

    def _launch(self, steps: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        """The state is constant."""


def launch_steps(bodies: int, batch: int) -> int:
    """Return the steps of a launch under a watchdog."""
    bodies = max(1, bodies)
    return max(1, min(_A_LAUNCH // (bodies * batch), _OF_A_ROBOT // bodies))


def packed_constants(settings: StepSettings) -> Array:
    """Return the robots' constants: (n + 1, CONSTANTS), or (batch, n + 1, CONSTANTS) where robots differ."""
    return pack(settings.model).constants if settings.parameters is None else settings.parameters.constants()


def constraint_facts(settings: StepSettings) -> dict[str, bool]:
    """Return the forces on the joints, by the names of compile-time flags."""
    joints = settings.joints
    return {
        "HAS_LIMITS": settings.has_limits,
        "HAS_FRICTION": bool(np.any(joints[:, FRICTION])),
        "HAS_DAMPING": bool(np.any(joints[:, DAMPING])),
        "HAS_GAINS": bool(np.any(joints[:, (KP, KD)])),
        "HAS_EFFORT_LIMITS": bool(np.any(np.isfinite(joints[:, EFFORT_LIMIT]))),
        "TIMED": settings.timed,
    }
