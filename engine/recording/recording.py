"""`Recording`: runs of simulations with all inputs, in bounded memory; any frame can be resimulated."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.checkpoint import Checkpoint
from engine.recording.frames import (
    RecordedFrame,
    Stored,
    StoredFrame,
    are_samples,
    checkpoint_of,
    diverged,
    restore,
    size_of,
    taken_out,
)
from engine.recording.inputs import Change, Inputs, act, acting, dense, same
from engine.recording.packing import (
    Array,
    bundle_contacts,
    bundle_packed,
    pack,
    pack_contacts,
    same_bits,
    unpack_contacts,
)
from engine.recording.setup import Setup
from engine.simulation import Simulation
from engine.uncopyable import NotCopied

BUDGET = 512 * 2**20
"""Default maximum bytes of a recording."""
MAX_RUNS = 100
"""Maximum number of runs recorded from another program, which may reset often."""
_MAX_EMPTY = 4096  # empty entries allowed at the front of a list


@dataclass(eq=False)
class Run:
    """The frames of one run, in time order, indexed from its beginning; the oldest may be dropped.

    `number` counts runs from 1. A branch begins with the frames of the run that it left: `left` is that run's number,
    and the time of leaving.
    """

    number: int
    left: tuple[int, float] | None = None
    first: int = 0
    """The index of the oldest frame that is kept."""
    shared: int = -1
    """Up to this index frames belong to another run, too."""
    _frames: list[Stored | None] = field(default_factory=list)
    _at: int = 0  # position in the list
    _setups: list[Setup] = field(default_factory=list)
    _shapes: list[tuple[tuple[int, ...], ...]] = field(default_factory=list)  # of `Checkpoint.contact`, by setup
    _names: list[tuple[str, ...]] = field(default_factory=list)  # of phases
    held: bool = False
    """Whether the run is kept even without steps."""

    def __len__(self) -> int:
        """Return the number of frames kept."""
        return len(self._frames) - self._at

    @property
    def last(self) -> int:
        """The index of the newest frame."""
        return self.first + len(self) - 1

    @property
    def own(self) -> int:
        """The index of the first frame of its own, after the run that it left; `last` + 1 if there is none."""
        return max(self.shared + 1, self.first)

    @property
    def setups(self) -> tuple[Setup, ...]:
        """The setups of the run's simulations, in order."""
        return tuple(self._setups)

    @property
    def shapes(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The shapes of the arrays in `Checkpoint.contact`, for each of `setups`."""
        return tuple(self._shapes)

    def _stored(self, index: int) -> StoredFrame:
        if not self.first <= index <= self.last:
            raise IndexError(f"frame {index} is not recorded; there are {self.first} to {self.last}")
        return StoredFrame(*self._frames[self._at + index - self.first])  # type: ignore[misc]

    def _drop(self) -> int:
        """Drop the run's oldest frame; return the bytes freed."""
        free = self._stored(self.first).bytes
        self._frames[self._at] = None
        self._at, self.first = self._at + 1, self.first + 1
        oldest = self._stored(self.first)  # it now owns the inputs it shared with the previous one
        alone = oldest._replace(bytes=size_of(oldest, ()))
        self._frames[self._at] = tuple(alone)
        if self._at > _MAX_EMPTY:
            del self._frames[: self._at]
            self._at = 0
        return free - (alone.bytes - oldest.bytes)


class Recording(NotCopied):
    """A recording of simulations and their inputs; call `note` before and `add` after steps.

    A *run* begins with `begin`, may change its simulation by `go_on`, and consists of frames. A frame contains
    everything that the next steps depend on. Inputs are stored whenever they change, so that `resimulate` reproduces
    the frames bit by bit. Beyond `room` bytes the oldest frames are dropped, those of earlier runs first.

    All methods are thread-safe; frames never change.
    """

    instead = "write its runs with save_run, and read them with read_run and recording_of"

    def __init__(self, budget: int = BUDGET):
        self.lock = threading.RLock()
        """Held around several reads that have to fit together while another thread records."""
        self._budget, self._bytes = budget, 0
        self._adopted = 0  # bytes that runs recorded elsewhere may take beyond the budget
        self._runs: list[Run] = []
        self._inputs: Inputs | None = None
        self._changes: list[Change] = []

    @property
    def bytes(self) -> int:
        """The bytes of all frames."""
        return self._bytes

    @property
    def budget(self) -> int:
        """The maximum bytes of frames recorded here; setting it drops the oldest beyond it, adopted ones too."""
        return self._budget

    @budget.setter
    def budget(self, budget: int) -> None:
        with self.lock:
            self._budget, self._adopted = budget, 0
            self._make_room()

    @property
    def room(self) -> int:
        """The maximum bytes of all frames: `budget`, or more where runs recorded elsewhere are there."""
        return max(self._budget, self._adopted)

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs that have frames, the current one last."""
        with self.lock:
            return tuple(run for run in self._runs if len(run))

    # Writing.

    @property
    def _next_number(self) -> int:
        return max((run.number for run in self._runs), default=0) + 1

    def adopt(
        self,
        setups: list[Setup],
        shapes: list[tuple[tuple[int, ...], ...]],
        frames: list[StoredFrame],
        left: tuple[Run, int] | None = None,
        number: int = 1,
    ) -> Run:
        """A run that was recorded elsewhere, for which the `room` grows if it must; `shapes` are as in `Run`.

        `left`: it is a branch, which leaves that run of this recording at that frame; `frames` are its own. `number` is
        that of the run, if no later one is there.
        """
        with self.lock:
            run = Run(max(self._next_number, number), held=True)
            run._setups, run._shapes, run._names = setups, shapes, [()] * len(setups)
            before: Inputs | tuple[()] = ()
            if left is not None:
                other, index = left
                run.left, run.first, run.shared = (other.number, other._stored(index).time), other.first, index
                run._frames = other._frames[other._at : other._at + index - other.first + 1]
            for frame in frames:
                self._keep(run, frame, before)
                before = frame.inputs
            self._runs.append(run)
            self._inputs, self._changes = None, []
            self._adopted = max(self._adopted, self._bytes)
            return run

    def receive(self, run: Run, frames: list[StoredFrame], new_run: bool = False) -> Run:
        """Append frames recorded elsewhere to an adopted run; return the run that contains them.

        With `new_run`, or if the run was dropped, it is a new run like it. The current run stays the last.
        """
        with self.lock:
            if new_run or run not in self._runs:
                run = Run(self._next_number, held=True, _setups=run._setups, _shapes=run._shapes, _names=run._names)
                if self._is_unstepped(present := self._runs[-1]):  # so that shown runs have no gaps
                    run.number, present.number = present.number, run.number
                self._runs.insert(len(self._runs) - 1, run)
                if len(self._runs) > MAX_RUNS:
                    self._forget_first()
            for frame in frames:
                before = run._stored(run.last) if len(run) else None
                if before is not None and before.steps == frame.steps:
                    self._pop(run)  # replaced by a state set by hand
                    before = run._stored(run.last) if len(run) else None
                self._keep(run, frame, before.inputs if before else ())
            self._make_room(run)
            return run

    def _keep(self, run: Run, frame: StoredFrame, before: Inputs | tuple[()]) -> None:
        """Append a frame with unbundled contacts to the run."""
        bundled = frame._replace(
            contact=bundle_packed(frame.contact), contacts=bundle_contacts(frame.contacts), bytes=0
        )
        taken = size_of(bundled, before)
        run._frames.append((*bundled[:-1], taken))
        self._bytes += taken

    def take_over(self, other: Recording) -> None:
        """Take the runs of another recording, which is no longer used; the `room` grows by as much."""
        with self.lock:
            self._runs, self._bytes = list(other.runs), other.bytes
            self._adopted = 2 * self._bytes

    def clear(self) -> None:
        """Drop all runs."""
        with self.lock:
            self._runs.clear()
            self._bytes, self._adopted, self._inputs, self._changes = 0, 0, None, []

    def begin(self, simulation: Simulation, time: float = 0.0, about: Any = None, watched: bool = False) -> None:
        """A new run: this simulation at `time`, s, with its present state as the first frame; see `Setup` for the rest.

        A run before it in which no step was taken is forgotten, unless it is `held`.
        """
        with self.lock:
            self._forget_unstepped()
            self._runs.append(Run(self._next_number))
            self.go_on(simulation, time, about, watched)

    def _forget_unstepped(self, but: Run | None = None) -> None:
        """Drop the newest run if it is not a branch, is not `but`, and has no steps."""
        run = self._runs[-1] if self._runs else None
        if run is not None and run is not but and self._is_unstepped(run):
            while len(run):
                self._pop(run)
            self._runs.pop()

    def _is_unstepped(self, run: Run) -> bool:
        if run.held or run.left is not None or run.first or not len(run):
            return False
        return run._stored(run.last).time == run._stored(0).time

    def _pop(self, run: Run) -> None:
        """Remove a run's newest frame, which may remain in runs that share it."""
        shared, frame = run.last <= run.shared, run._frames.pop()
        run.shared = min(run.shared, run.last)
        if not shared or not any(each is frame for other in self._runs for each in other._frames):
            self._bytes -= StoredFrame(*frame).bytes  # type: ignore[misc]

    def branch(self, run: Run, index: int) -> Run:
        """A new run that leaves `run` at the frame `index`; the simulation that continues it starts at its checkpoint.

        Another run before it in which no step was taken is forgotten.
        """
        with self.lock:
            left = run._stored(index)
            self._forget_unstepped(but=run)
            frames, setups = run._frames[run._at : run._at + index - run.first + 1], slice(left.setup + 1)
            branch = Run(
                self._next_number, (run.number, left.time), run.first, index, frames, 0,
                run._setups[setups], run._shapes[setups], run._names[setups],
            )  # fmt: skip
            self._runs.append(branch)
            self._inputs, self._changes = left.inputs, []
            return branch

    def go_on(self, simulation: Simulation, time: float, about: Any = None, watched: bool = False) -> None:
        """The present run continues by another simulation, from its `time` on, s; see `Setup` for the rest."""
        with self.lock:
            self._set_up(self._runs[-1], Setup.of(simulation, time - simulation.time, about, watched))
            self._inputs, self._changes = None, []
            self.add(simulation, begins=True)

    def _set_up(self, run: Run, setup: Setup) -> None:
        run._setups.append(setup)
        run._shapes.append(())
        run._names.append(())

    def note(self, simulation: Simulation) -> None:
        """Store the simulation's inputs if they have changed; call before each call for steps."""
        with self.lock:
            tau, target, wrench = acting(simulation)
            if (before := self._inputs) is None:
                self._inputs = tau, target, wrench
                return
            tau = before[0] if same_bits(tau, before[0]) else tau
            target = before[1] if same_bits(target, before[1]) else target
            wrench = before[2] if same(wrench, before[2]) else wrench
            if tau is not before[0] or target is not before[1] or wrench is not before[2]:
                self._require_wrenches(simulation)
                self._inputs = tau, target, wrench
                self._changes.append((simulation.steps, self._inputs))

    def _require_wrenches(self, simulation: Simulation) -> None:
        """Begin a new setup at this time if steps now take wrenches, which makes them round differently."""
        run = self._runs[-1]
        setup = run._setups[-1]
        if simulation.takes_wrenches and not setup.wrenches:
            self.add(simulation)
            self._set_up(run, Setup.of(simulation, setup.time_before, setup.about))
            self.add(simulation, begins=True)

    def add(self, simulation: Simulation, begins: bool = False, over: bool = False) -> None:
        """Add the simulation's current state as a frame. Waits for its steps.

        Nothing is added if nothing has changed. `begins`: the state was set; it replaces a frame of the same time.
        `over`: replace the newest frame, since frames are dense enough.
        """
        with self.lock:
            run = self._runs[-1]
            checkpoint, setup = simulation.checkpoint(), len(run._setups) - 1
            last = run._stored(run.last) if len(run) else None
            if last is not None and last.setup == setup and last.steps == checkpoint.steps:
                if same_bits(last.q, checkpoint.q) and same_bits(last.v, checkpoint.v):
                    return
                self._pop(run)
                begins = True
            elif over and last is not None and last.setup == setup and not (last.begins or begins):
                self._pop(run)
                self._changes = [*last.changes, *self._changes]
            if begins or last is None or self._inputs is None:
                begins, self._inputs, self._changes = True, acting(simulation), []
            phases = simulation.phases
            run._shapes[setup] = tuple(x.shape for x in checkpoint.contact)
            run._names[setup] = tuple(phases)
            before = () if begins or not len(run) else run._stored(run.last).inputs
            frame = StoredFrame(
                run._setups[setup].time(checkpoint.steps), checkpoint.steps, setup, begins, checkpoint.q, checkpoint.v,
                self._inputs, changes=tuple(self._changes), divergences=diverged(checkpoint),
                contact=bundle_packed(map(pack, checkpoint.contact)),
                contacts=bundle_contacts(pack_contacts(simulation.contacts)),
                phases=np.fromiter(phases.values(), float, len(phases)),
            )  # fmt: skip
            frame = frame._replace(bytes=size_of(frame, before))
            self._changes = []
            run._frames.append(tuple(frame))
            self._bytes += frame.bytes
            self._make_room()

    def _make_room(self, growing: Run | None = None) -> None:
        """Drop the oldest frames until there is room: earlier runs first, and never the newest frame.

        A run `growing` beside the current one also keeps its newest frame, unless a branch shares it.
        """
        shared = growing is not None and any(run.left and run.left[0] == growing.number for run in self._runs)
        while self._bytes > self.room and len(self._runs) > 1 and (shared or self._runs[0] is not growing):
            self._forget_first()
        while self._bytes > self.room and self._runs and len(self._runs[0]) > 1:
            self._bytes -= self._runs[0]._drop()

    def _forget_first(self) -> None:
        gone = self._runs.pop(0)._frames
        shared = {id(frame) for run in self._runs for frame in run._frames if run.shared >= run.first}
        self._bytes -= sum(StoredFrame(*frame).bytes for frame in gone if frame is not None and id(frame) not in shared)
        if len(self._runs) == 1:
            self._runs[0].shared = -1

    # Reading.

    def frame(self, run: Run, index: int) -> RecordedFrame:
        """The frame `index` of a run. Raises IndexError where it is missing, or was discarded."""
        with self.lock:
            stored = taken_out(run._stored(index))
            setup, shapes, names = run._setups[stored.setup], run._shapes[stored.setup], run._names[stored.setup]
        phases = dict(zip(names, stored.phases.tolist(), strict=False))  # frames from files have none
        return RecordedFrame(
            index, stored.time, setup, stored.begins, checkpoint_of(stored, setup, shapes),
            unpack_contacts(stored.contacts), phases,
        )  # fmt: skip

    def stored(self, run: Run, first: int = 0, most: int | None = None) -> list[StoredFrame]:
        """The frames of a run from the index `first` on, in their order, `most` at most, not to be changed."""
        with self.lock:
            begin = run._at + max(first - run.first, 0)
            frames = run._frames[begin : None if most is None else begin + most]
        return [taken_out(StoredFrame(*frame)) for frame in frames if frame is not None]

    def at(self, run: Run, time: float) -> int:
        """Return the index of the last frame at or before a time in s; the oldest if there is none."""
        with self.lock:
            index = bisect_right(run._frames, time, lo=run._at, key=lambda frame: frame[0])  # type: ignore[index]
            return max(run.first, run.first + index - run._at - 1)

    def span(self, run: Run) -> tuple[float, float]:
        """Return the times of the oldest and the newest frame, s."""
        with self.lock:
            return (run._stored(run.first).time, run._stored(run.last).time) if len(run) else (0.0, 0.0)

    def is_sampled(self, run: Run) -> bool:
        """Whether the frames are samples from a file: without inputs, and not connected by steps."""
        with self.lock:
            return are_samples([run._stored(run.first + k) for k in range(min(2, len(run)))], run._setups)

    def resimulate(self, run: Run, index: int) -> Iterator[tuple[int, Checkpoint]]:
        """Simulate again from frame `index` with all inputs; yield index and checkpoint of each later frame.

        States that were set by hand, or by another simulation, are taken from the recording.
        """
        frame = self.frame(run, index)
        simulation = frame.setup.simulation()
        restore(simulation, frame.checkpoint)
        setup = frame.setup
        while index < run.last:
            index += 1
            frame = self.frame(run, index)
            if frame.begins:
                simulation = simulation if frame.setup is setup else frame.setup.simulation()
                setup = frame.setup
                restore(simulation, frame.checkpoint)
            else:
                self._repeat(simulation, run, index)
            yield index, simulation.checkpoint()

    def _repeat(self, simulation: Simulation, run: Run, index: int) -> None:
        """Repeat the steps from the previous frame to this one."""
        with self.lock:
            stored = run._stored(index)
        for steps, inputs in stored.changes:
            simulation.step(steps - simulation.steps)
            act(simulation, inputs)
        simulation.step(stored.steps - simulation.steps)

    def changes(self, run: Run, index: int) -> tuple[tuple[int, Array, Array, Array | None], ...]:
        """What began to act between a frame, `index`, and the one before: after how many steps, tau, target and wrench.

        tau and target are (batch, nv), wrench (batch, links, 6) or None where none acted.
        """
        with self.lock:
            stored, setup = run._stored(index), run._setups[run._stored(index).setup]
        return tuple((steps, *dense(inputs, setup)) for steps, inputs in stored.changes)
