"""Simulation steps on the CPU: the arrays and the compiled loop of one `StepSettings`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import phases, validation
from engine.cpu.accelerations import Dynamics, algorithm_named, dynamics
from engine.cpu.rigid_body.energy import energies
from engine.cpu.rigid_body.rnea import all_finite
from engine.cpu.rigid_body.wrenches import pack_links
from engine.cpu.runtime.cores import check_threads, cores
from engine.cpu.stepping.code import Code
from engine.cpu.stepping.frame_reader import FrameReader
from engine.cpu.stepping.integrators import BlockRun, Divergences, OwnParameters, Recording, Scratch, Wrenches, scratch
from engine.cpu.stepping.interruptible import CtrlCWaits, in_stretches, longest
from engine.cpu.trees import dca as trees
from engine.device_arrays import on_device
from engine.kernels.contact import workspace
from engine.kernels.contact.workspace import CONTACT_COUNT, OTHER, RESIDUAL, SEEN, WORST_RESIDUAL, WRENCH, ContactState
from engine.kernels.joint_rows import JointRows
from engine.kernels.step_state import Robots
from engine.model import Model
from engine.model.layout import pack
from engine.per_process import OnePerProcess
from engine.scene import Contacts
from engine.step_settings import StepSettings
from engine.stepper import Row
from engine.validation import Array

_NOTHING = np.empty((0, 0, 0))
SHARE = 2000
"""Bodies times steps that are worth a thread: some 100 µs."""
RUNS = 4
"""Runs of blocks per thread: enough that a late thread still finds some."""
PREPARED = 8
"""Threads whose runs the interpreter prepares, sequentially, while one thread works on `SHARE`."""


def _blocks_of_run(blocks: int, work: int, threads: int) -> int:
    """The number of blocks in a run, of `blocks` with this many bodies times steps each, that is worth its
    preparation."""
    least = SHARE * -(-threads // PREPARED) * blocks
    return max(1, blocks // (RUNS * threads), -(-least // work))


class _Workplace(NamedTuple):
    """The workspace of one thread."""

    scratch: Scratch
    dynamics: Dynamics
    contact_state: ContactState | tuple[()]


def _on_host(x: Any) -> Any:
    """x, which is not on a GPU. Raises TypeError if it is."""
    if on_device(x):
        raise TypeError(f"a {type(x).__name__} is on the GPU and the simulation on the CPU; give device='cuda'")
    return x


_pool = OnePerProcess(lambda: ThreadPoolExecutor(cores(), "simulation"))


class Stepper:
    """The state of the robots in NumPy arrays; blocks of eight robots step together where all are alike.

    At most `threads` threads share the blocks, as many as pay, by default up to the number of cores. Robots are
    independent, so the number changes no bit. With DCA-ABA the threads share each robot instead, one robot after the
    other, and the bits depend on their number.
    """

    def __init__(self, settings: StepSettings):
        model, batch = settings.model, settings.batch
        alike = len(settings.joints) == 1 and settings.parameters is None
        code = Code.of(settings)
        self._algorithm, self._lanes = code.algorithm, (0,) * code.lanes
        self._settings, self._alike, self._requested = settings, alike, check_threads(settings.threads)
        self._threads = min(self._requested, cores())
        self._constants = (
            pack(model).constants[None] if settings.parameters is None else settings.parameters.constants()
        )
        self._rows = JointRows(
            settings.dt, settings.has_limits, settings.has_constraints, settings.q_of_v, settings.joints[0]
        )
        self._wrench: Array | None = np.zeros((batch, len(model.link_names), 6)) if settings.wrenches else None
        self._contact_state = workspace.contact_state(self._ground(), model.nv, batch) if code.contact else None
        self._workplaces = [self._workplace()]
        self._of_batch: BlockRun | None = None
        self._phases = np.zeros(phases.COUNT if settings.timed else 0, np.int64)
        self._diverged = 0
        self._divergences = Divergences(np.zeros(batch, np.int64), np.zeros(batch, np.int64))
        self.q, self.v = np.empty((batch, model.nq)), np.empty((batch, model.nv))
        self.tau, self.target = np.zeros((batch, model.nv)), np.zeros((batch, model.nv))

    @cached_property
    def _steps(self) -> Callable[..., int]:
        """The loop over steps, compiled for these settings by the first step, not on construction."""
        return Code.of(self._settings)._replace(wrenches=self._wrench is not None).steps()

    @cached_property
    def _group(self) -> trees.TreeGroup | None:
        """The threads that share each call of DCA-ABA, made like `_steps`; None with other algorithms."""
        return (
            trees.TreeGroup(pack(self._settings.model), self._requested)
            if algorithm_named(self._algorithm).is_shared
            else None
        )

    @property
    def threads(self) -> int | None:
        """See `engine.stepper.Stepper`: the number for which DCA-ABA cuts a robot."""
        return self._requested if algorithm_named(self._settings.algorithm).is_shared else self._settings.threads

    def array(self, x: Any) -> Array:
        """x as a contiguous array of double precision."""
        return np.ascontiguousarray(_on_host(x), float)

    def states(self, q: Any, v: Any) -> list[Array]:
        """Return q (1 or more, nq) and v, checked."""
        return validation.states(self._settings.model, q=_on_host(q), v=_on_host(v))[0]

    def empty(self, *shape: int) -> Array:
        """Return an uninitialised array."""
        return np.empty(shape)

    @property
    def takes_wrenches(self) -> bool:
        """Whether `wrench` was accessed."""
        return self._wrench is not None

    @property
    def wrench(self) -> Array:
        """(batch, links, 6): the external wrenches, zero at first; steps use them once this was accessed."""
        if self._wrench is None:
            model = self._settings.model
            self._wrench = np.zeros((self._settings.batch, len(model.link_names), 6))
            self._workplaces, self._of_batch = [self._workplace()], None
            self.__dict__.pop("_steps", None)
        return self._wrench

    def _workplace(self) -> _Workplace:
        model, lanes, algorithm = self._settings.model, self._lanes, self._algorithm
        place = scratch(len(lanes), model.nq, model.nv)
        if self._wrench is not None:
            place = place._replace(wrenches=np.zeros((len(model.parent), 6 * len(lanes))))
        contact_state: ContactState | tuple[()] = ()
        if self._contact_state is not None:
            contact_state = self._contact_state._replace(contact=self._ground())
        return _Workplace(place, dynamics(algorithm, model, lanes), contact_state)

    def _ground(self) -> workspace.ContactWorkspace:
        """The contact workspace of a thread."""
        model, scene = self._settings.model, self._settings.scene
        assert scene is not None
        return workspace.contact_workspace(model, scene)

    def start(self, q: Array, v: Array) -> None:
        """Set the robots to q (1 or batch, nq) and v, with no steps taken."""
        self.q[:], self.v[:], self._diverged = q, v, 0
        self._divergences.steps[:] = 0
        if self._contact_state is not None:
            for array in workspace.of_steps(self._contact_state):
                array[:] = 0

    def restart(self, robots: NDArray[np.int64], q: Array, v: Array) -> None:
        """Set those robots alone to q (1 or as many, nq) and v, with no steps taken."""
        self.q[robots], self.v[robots] = q, v
        self._divergences.steps[robots] = 0
        if self._contact_state is not None:
            for array in workspace.of_steps(self._contact_state):
                array[robots] = 0

    def memory(self) -> tuple[Array, ...]:
        """Return copies of the warm start and the contacts of the last step."""
        if self._contact_state is None:
            return ()
        contact_state = ContactState(
            self._contact_state.contact, *(x.copy() for x in workspace.of_steps(self._contact_state))
        )
        beyond = np.arange(contact_state.which.shape[1]) >= contact_state.summary[:, CONTACT_COUNT, None]
        contact_state.which[beyond], contact_state.key[beyond], contact_state.seen[beyond] = 0, 0, 0.0
        return workspace.of_steps(contact_state)

    def glance(self) -> tuple[Array, ...]:
        """See `engine.stepper.Stepper`."""
        contact_state = self._contact_state
        if contact_state is None or len(contact_state.summary) > 1:
            return self.memory()
        number = int(contact_state.summary[0, CONTACT_COUNT])
        which, key = contact_state.which.copy(), contact_state.key.copy()
        which[0, number:] = key[0, number:] = 0
        return workspace.of_steps(contact_state._replace(which=which, key=key, seen=contact_state.seen[:, :number]))

    def resume(self, q: Array, v: Array, divergences: NDArray[np.int64], memory: tuple[Array, ...]) -> None:
        """See `engine.stepper.Stepper`."""
        self.start(q, v)
        self._divergences.steps[:], self._divergences.velocity[:] = divergences
        own = () if self._contact_state is None else workspace.of_steps(self._contact_state)
        for array, before in zip(own, memory, strict=True):
            array[:] = before

    def advance(
        self, n: int, done: int, controls: Array | None, every: int, record: tuple[Array | None, Array | None],
        count: Callable[[int], None],
    ) -> None:  # fmt: skip
        """Take steps `done` + 1 … `done` + n, see `Simulation.advance`."""
        inputs: dict[str, Array] = {"tau": self.tau, "target": self.target}
        if self._wrench is not None:
            inputs["wrench"] = self._wrench
        for name, x in inputs.items():
            if not all_finite(x.reshape(len(x), -1)):
                raise ValueError(f"sim.{name}[{', '.join(map(str, np.argwhere(~np.isfinite(x))[0]))}] is not finite")
        if self._contact_state is not None:
            self._contact_state.summary[:, WORST_RESIDUAL] = 0.0
        if not self._settings.freezes:
            self._divergences.steps[:] = 0
        _ = self._steps, self._group  # compiled here, where Ctrl-C need not wait

        def steps(n: int, controls: Array | None, every: int, record: tuple[Array | None, Array | None]) -> bool:
            nonlocal done
            with CtrlCWaits():
                self._stretch(n, done, controls, every, record)
                self._clear_diverged()
                done += n
                count(n)
            return not self._diverged

        in_stretches(n, longest(self._settings), controls, every, record, steps)

    def _stretch(
        self, n: int, done: int, controls: Array | None, every: int, record: tuple[Array | None, Array | None]
    ) -> None:
        """Run `advance` for few enough steps that Ctrl-C may wait for them."""
        self._phases[:] = 0
        batch, width = self._settings.batch, len(self._lanes)
        work = n * batch * max(1, len(self._settings.model.parent))
        threads = max(1, min(self._threads, -(-batch // width), work // SHARE)) if self._group is None else 1
        run = width * _blocks_of_run(-(-batch // width), work, threads) if threads > 1 else batch
        if self._group is not None and not self._alike:
            run = 1
        sequence = _NOTHING if controls is None else controls
        if threads == 1 and run == batch:
            diverged = [self.run_block(slice(0, batch), self._workplaces[0], n, done, sequence, every, record)]
        else:
            blocks = deque(slice(k, min(k + run, batch)) for k in range(0, batch, run))
            diverged = self._shared(blocks, threads, n, done, sequence, every, record)
        self._diverged = min((done + step + 1 for step in diverged if step >= 0), default=0)

    def _shared(
        self, blocks: deque[slice], threads: int, n: int, done: int, sequence: Array, every: int,
        record: tuple[Array | None, Array | None],
    ) -> list[int]:  # fmt: skip
        """Have threads take the steps of blocks; return the first of each that diverged, or −1."""
        while len(self._workplaces) < threads:
            self._workplaces.append(self._workplace())
        diverged: list[int] = []
        others: list[Future[None]] = []

        def share(place: _Workplace) -> None:
            taken = iter(partial(_taken, blocks), None)
            diverged.extend(self.run_block(block, place, n, done, sequence, every, record) for block in taken)

        try:
            with suppress(RuntimeError):  # no threads start while the interpreter ends
                others.extend(_pool().submit(share, place) for place in self._workplaces[1:threads])
            share(self._workplaces[0])
        finally:
            blocks.clear()
            late = [other for other in others if not other.cancel()]
            if late:
                wait(late)
        for other in late:
            other.result()
        return diverged

    def _clear_diverged(self) -> None:
        """Clear the contacts of robots that diverged: the step was not taken and may have no numbers."""
        if self._contact_state is not None and self._divergences.steps.any():
            lost = self._divergences.steps != 0
            for array in workspace.of_steps(self._contact_state):
                array[lost] = 0

    def run_block(
        self, block: slice, place: _Workplace, n: int, done: int, sequence: Array, every: int,
        record: tuple[Array | None, ...],
    ) -> int:  # fmt: skip
        """Take a block's steps; return the first that diverged, or −1."""
        if block.stop - block.start < self._settings.batch:
            arguments = self._arguments(block, place)
        elif (of_batch := self._of_batch) is not None:
            arguments = of_batch
        else:
            arguments = self._of_batch = self._arguments(block, place)
        if self._group is not None:
            self._group.begin(block.start if len(self._constants) > 1 else 0, arguments.dynamics.constants)
        recorded_q, recorded_v = (_NOTHING if array is None else array[block] for array in record)
        controls = sequence[block] if len(sequence) > 1 else sequence
        return self._steps(
            arguments, controls, Recording(recorded_q, recorded_v, every), n, done, self._settings.freezes
        )

    def _arguments(self, block: slice, place: _Workplace) -> BlockRun:
        """The arguments of a block's steps."""
        settings, wrench = self._settings, self._wrench
        rows, dynamics, contact_state = self._rows, place.dynamics, place.contact_state
        own: OwnParameters | tuple[()] = ()
        if self._group is None and not self._alike:
            own = OwnParameters(*(x[block] if len(x) > 1 else x for x in (self._constants, settings.joints)))
            rows = rows._replace(joints=np.empty_like(rows.joints))
            dynamics = dynamics._replace(constants=np.empty_like(dynamics.constants))
        if self._group is not None:
            rows = rows._replace(joints=_row(settings.joints, block))
            dynamics = dynamics._replace(constants=_row(self._constants, block), work=self._group.work)
        return BlockRun(
            Robots(self.q[block], self.v[block], self.tau[block], self.target[block]),
            () if wrench is None else Wrenches(wrench[block], pack_links(settings.model)), settings.integrator,
            rows, settings.rotations, place.scratch, dynamics,
            self._phases if block.start == 0 else self._phases[:0],
            Divergences(*(each[block] for each in self._divergences)),
            workspace.of_robots(contact_state, block) if contact_state else (), own,
        )  # fmt: skip

    @property
    def frozen(self) -> Array:
        """(batch,): whether each robot has diverged and been frozen."""
        frozen: Array = (self._divergences.steps != 0) & self._settings.freezes
        return frozen

    def divergences(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The steps after which each robot diverged, see `engine.stepper.UNKNOWN`, and the first velocity that did."""
        return self._divergences.steps, self._divergences.velocity

    def diverged(self, wait: bool) -> int:  # noqa: ARG002 - here there is nothing to wait for
        """The number of steps after which a state stopped being finite, or 0."""
        return self._diverged

    def contacts(self) -> Contacts | None:
        """The contacts of the last step; None where there can be none."""
        if self._contact_state is None:
            return None
        summary, seen = self._contact_state.summary, self._contact_state.seen
        link, other = (table[self._contact_state.which] for table in workspace.partners(self._contact_state.contact))
        wrench, other_wrench = np.zeros((*link.shape, 6)), np.zeros((*link.shape, 6))
        residual, number, worst = summary[:, RESIDUAL], summary[:, CONTACT_COUNT], summary[:, WORST_RESIDUAL]
        acting = np.arange(link.shape[1]) < number[:, None]
        wrench[acting] = _on_links(self._settings.model, link[acting], seen[acting][:, WRENCH:SEEN])
        if np.any(own := acting & (other >= 0)):
            other_wrench[own] = _on_links(self._settings.model, other[own], seen[own][:, OTHER:])
        return workspace.reported(number.astype(np.int64), link, seen, wrench, residual, worst, other, other_wrench)

    def contact_wrench(self) -> Array:
        """(batch, links, 6): the wrenches of the last step's contacts, N m and N."""
        contacts, shape = self.contacts(), (self._settings.batch, len(self._settings.model.link_names), 6)
        return np.zeros(shape) if contacts is None else contacts.wrenches(shape, self._settings.dt)

    def energies(self) -> tuple[Array, Array]:
        """See `engine.stepper.Stepper`."""
        return energies(self._settings.model, self.q, self.v, self._constants)

    def phases(self) -> dict[str, float]:
        """The duration of each phase of the last step, s, for the first block of robots; 0 without timing."""
        seconds = self._phases * 1e-9 if self._settings.timed else np.zeros(phases.COUNT)
        names = phases.names("cpu", self._algorithm, self._contact_state is not None)
        return {name: float(seconds[phases.NAMES.index(name)]) for name in names}

    def frames(self, robots: int, steps: Callable[[], int]) -> FrameReader:
        """Return a reader of frames with the links of that many robots; `steps` returns the number of steps taken."""
        return FrameReader(self._settings.model, self.q, self.v, robots, steps, self.phases)


STEPPERS = (Row(("abia", "jsiia", "cfa", "dca"), Stepper, dtypes=("float64",)),)


def _taken(blocks: deque[slice]) -> slice | None:
    """Claim the next block for the caller; return None where none is left."""
    try:
        return blocks.popleft()
    except IndexError:
        return None


_NEXT, _LAST = [1, 2, 0], [2, 0, 1]
"""The axes of a cross product, five times as fast as `numpy.cross` for a few contacts."""


def _on_links(model: Model, link: NDArray[np.int64], wrench: Array) -> Array:
    """Wrenches (…, 6) on bodies, in their frames, as wrenches on their links (…), in those frames."""
    R, p = model.link_rotation[link], model.link_position[link]
    force = wrench[..., 3:]
    moment = wrench[..., :3] - (p[..., _NEXT] * force[..., _LAST] - p[..., _LAST] * force[..., _NEXT])
    return np.concatenate([np.einsum("...ji,...j->...i", R, x) for x in (moment, force)], -1)


def _row(table: Array, block: slice) -> Array:
    """A table's row for a block of robots: its only one, or the block's."""
    row: Array = table[block.start if len(table) > 1 else 0]
    return row
