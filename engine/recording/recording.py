"""`Recording`: runs of simulations with all that acted on them, in bounded memory; from any frame they run again."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.checkpoint import Checkpoint
from engine.copies import NotCopied
from engine.recording.frames import (
    RecordedFrame,
    Stored,
    StoredFrame,
    are_samples,
    checkpoint_of,
    diverged,
    size_of,
    taken_out,
)
from engine.recording.inputs import Change, Inputs, act, acting, dense, same
from engine.recording.packing import (
    Array,
    bundle_packed,
    bundle_touches,
    pack,
    pack_touches,
    same_bits,
    unpack_touches,
)
from engine.recording.setup import Setup
from engine.simulation import Simulation

BUDGET = 512 * 2**20
"""Bytes that a recording takes at most unless told otherwise."""
MOST_RUNS = 100
"""That are kept where another program records them, and often begins anew."""
_LET_GO = 4096  # places of a list that may stand empty at its front


@dataclass(eq=False)
class Run:
    """Frames of one run, in the order of their times, numbered from its beginning; the oldest may be dropped.

    `number` counts runs from 1. A branch has the frames of the run that it left before its own: `left` is the number
    of that run, and the time at which it was left.
    """

    number: int
    left: tuple[int, float] | None = None
    first: int = 0
    """The index of the oldest frame that is kept."""
    _shared: int = -1  # up to this index frames are those of another run, too
    _frames: list[Stored | None] = field(default_factory=list)
    _at: int = 0  # where it stands in the list
    _setups: list[Setup] = field(default_factory=list)
    _shapes: list[tuple[tuple[int, ...], ...]] = field(default_factory=list)  # of `Checkpoint.contact`, by setup
    _names: list[tuple[str, ...]] = field(default_factory=list)  # of phases
    held: bool = False
    """Whether it stays though no step is taken in it."""

    def __len__(self) -> int:
        """How many frames are kept."""
        return len(self._frames) - self._at

    @property
    def last(self) -> int:
        """The index of the newest frame."""
        return self.first + len(self) - 1

    @property
    def own(self) -> int:
        """The index of the first frame that is its own, and not of the run that it left; beyond `last` if none is."""
        return max(self._shared + 1, self.first)

    @property
    def setups(self) -> tuple[Setup, ...]:
        """How the simulations of the run were made, in their order."""
        return tuple(self._setups)

    @property
    def shapes(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Of the arrays in `Checkpoint.contact`, for each of `setups`."""
        return tuple(self._shapes)

    def _stored(self, index: int) -> StoredFrame:
        if not self.first <= index <= self.last:
            raise IndexError(f"frame {index} is not recorded; there are {self.first} to {self.last}")
        return StoredFrame(*self._frames[self._at + index - self.first])  # type: ignore[misc]

    def _drop(self) -> int:
        """Let the oldest frame go, of the only run; the bytes that are free then."""
        free = self._stored(self.first).bytes
        self._frames[self._at] = None
        self._at, self.first = self._at + 1, self.first + 1
        oldest = self._stored(self.first)  # which now has for itself what it shared with the one before
        alone = oldest._replace(bytes=size_of(oldest, ()))
        self._frames[self._at] = tuple(alone)
        if self._at > _LET_GO:
            del self._frames[: self._at]
            self._at = 0
        return free - (alone.bytes - oldest.bytes)


class Recording(NotCopied):
    """What simulations do, and all that acts on them, while somebody calls `note` before and `add` after steps.

    A *run* begins with `begin`, may change its simulation by `go_on`, and consists of frames. A frame holds all that
    its next steps depend on; what acts is kept whenever it changes, so that `resimulate` gives the frames' bits again.
    Where more than `budget` bytes would be taken the oldest frames go, those of earlier runs first.

    All methods may be called from any thread; frames never change.
    """

    instead = "write its runs with save_run, and read them with read_run and recording_of"

    def __init__(self, budget: int = BUDGET):
        self._lock = threading.RLock()
        self._budget, self._bytes = budget, 0
        self._runs: list[Run] = []
        self._inputs: Inputs | None = None
        self._changes: list[Change] = []

    @property
    def bytes(self) -> int:
        """That all frames take."""
        return self._bytes

    @property
    def budget(self) -> int:
        """Bytes that they may take; less than there is lets the oldest frames go."""
        return self._budget

    @budget.setter
    def budget(self, budget: int) -> None:
        with self._lock:
            self._budget = budget
            self._make_room()

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs that have frames, the present one last."""
        with self._lock:
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
        """A run that was recorded elsewhere, for which the budget grows if it must; `shapes` are as in `Run`.

        `left`: it is a branch, which leaves that run of this recording at that frame; `frames` are its own. `number` is
        that of the run, if no later one is there.
        """
        with self._lock:
            run = Run(max(self._next_number, number), held=True)
            run._setups, run._shapes, run._names = setups, shapes, [()] * len(setups)
            before: Inputs | tuple[()] = ()
            if left is not None:
                other, index = left
                run.left, run.first, run._shared = (other.number, other._stored(index).time), other.first, index
                run._frames = other._frames[other._at : other._at + index - other.first + 1]
            for frame in frames:
                self._keep(run, frame, before)
                before = frame.inputs
            self._runs.append(run)
            self._inputs, self._changes = None, []
            self._budget = max(self._budget, self._bytes)
            return run

    def receive(self, run: Run, frames: list[StoredFrame], anew: bool = False) -> Run:
        """Frames that are recorded elsewhere, after those of a run that was adopted; the run that has them.

        That is another, like it, where the frames begin `anew`, or the run is gone. The present run stays the last.
        """
        with self._lock:
            if anew or run not in self._runs:
                run = Run(self._next_number, held=True, _setups=run._setups, _shapes=run._shapes, _names=run._names)
                if self._is_unstepped(present := self._runs[-1]):  # runs that are shown are counted without a gap
                    run.number, present.number = present.number, run.number
                self._runs.insert(len(self._runs) - 1, run)
                if len(self._runs) > MOST_RUNS:
                    self._forget_first()
            for frame in frames:
                before = run._stored(run.last) if len(run) else None
                if before is not None and before.steps == frame.steps:
                    self._pop(run)  # it was put elsewhere by hand
                    before = run._stored(run.last) if len(run) else None
                self._keep(run, frame, before.inputs if before else ())
            self._make_room(run)
            return run

    def _keep(self, run: Run, frame: StoredFrame, before: Inputs | tuple[()]) -> None:
        """A frame whose contacts are taken out, after those of the run."""
        bundled = StoredFrame(*frame[:9], bundle_packed(frame.contact), bundle_touches(frame.touches), frame.phases, 0)
        taken = size_of(bundled, before)
        run._frames.append((*bundled[:-1], taken))
        self._bytes += taken

    def take_over(self, other: Recording) -> None:
        """The runs of another recording, which is not used any more; there is room for as much again."""
        with self._lock:
            self._runs, self._bytes = list(other.runs), other.bytes
            self._budget = max(self._budget, 2 * self._bytes)

    def clear(self) -> None:
        """Forget all runs."""
        with self._lock:
            self._runs.clear()
            self._bytes, self._inputs, self._changes = 0, None, []

    def begin(self, simulation: Simulation, time: float = 0.0, about: Any = None) -> None:
        """A new run: this simulation at `time`, s, with its present state as the first frame; `about` is the setup's.

        A run before it in which no step was taken is forgotten, unless it is `held`.
        """
        with self._lock:
            self._forget_unstepped()
            self._runs.append(Run(self._next_number))
            self.go_on(simulation, time, about)

    def _forget_unstepped(self, but: Run | None = None) -> None:
        """Let the newest run go, if it is no branch, not `but`, and no step was taken in it."""
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
        """Let the newest frame of a run go, which may stay in those that share it."""
        shared, frame = run.last <= run._shared, run._frames.pop()
        run._shared = min(run._shared, run.last)
        if not shared or not any(each is frame for other in self._runs for each in other._frames):
            self._bytes -= StoredFrame(*frame).bytes  # type: ignore[misc]

    def branch(self, run: Run, index: int) -> Run:
        """A new run that leaves `run` at the frame `index`; the simulation that goes on starts at its checkpoint.

        Another run before it in which no step was taken is forgotten.
        """
        with self._lock:
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

    def go_on(self, simulation: Simulation, time: float, about: Any = None) -> None:
        """The present run goes on by another simulation, from that `time` of the run on, s; of `about` see `Setup`."""
        with self._lock:
            self._set_up(self._runs[-1], Setup.of(simulation, time - simulation.time, about))
            self._inputs, self._changes = None, []
            self.add(simulation, begins=True)

    def _set_up(self, run: Run, setup: Setup) -> None:
        run._setups.append(setup)
        run._shapes.append(())
        run._names.append(())

    def note(self, simulation: Simulation) -> None:
        """Keep what acts on the simulation, if it has changed: to be called before each call for steps."""
        with self._lock:
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
        """Steps that take wrenches round otherwise: from the frame before on, which is of this very moment."""
        run = self._runs[-1]
        setup = run._setups[-1]
        if simulation.takes_wrenches and not setup.wrenches:
            self.add(simulation)
            self._set_up(run, Setup.of(simulation, setup.time_before, setup.about))
            self.add(simulation, begins=True)

    def add(self, simulation: Simulation, begins: bool = False, over: bool = False) -> None:
        """A frame: the simulation as it is now. Waits for its steps.

        Where nothing has changed since the last frame there is none. `begins`: the state was put there; it takes the
        place of the frame of this moment. `over`: the newest frame gives way to this one, since there are enough.
        """
        with self._lock:
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
                self._inputs, tuple(self._changes), diverged(checkpoint),
                bundle_packed(map(pack, checkpoint.contact)), bundle_touches(pack_touches(simulation.contacts)),
                np.fromiter(phases.values(), float, len(phases)), 0,
            )  # fmt: skip
            frame = frame._replace(bytes=size_of(frame, before))
            self._changes = []
            run._frames.append(tuple(frame))
            self._bytes += frame.bytes
            self._make_room()

    def _make_room(self, growing: Run | None = None) -> None:
        """Drop the oldest frames until the rest fit: those of earlier runs first, and never the newest.

        A run that is `growing` beside the present one keeps its newest, too, unless a branch shares its frames.
        """
        shared = growing is not None and any(run.left and run.left[0] == growing.number for run in self._runs)
        while self._bytes > self._budget and len(self._runs) > 1 and (shared or self._runs[0] is not growing):
            self._forget_first()
        while self._bytes > self._budget and self._runs and len(self._runs[0]) > 1:
            self._bytes -= self._runs[0]._drop()

    def _forget_first(self) -> None:
        gone = self._runs.pop(0)._frames
        kept = {id(frame) for run in self._runs for frame in run._frames if run._shared >= run.first}
        self._bytes -= sum(StoredFrame(*frame).bytes for frame in gone if frame is not None and id(frame) not in kept)
        if len(self._runs) == 1:
            self._runs[0]._shared = -1

    # Reading.

    def frame(self, run: Run, index: int) -> RecordedFrame:
        """The frame `index` of a run. Raises IndexError where it is not there, or no longer."""
        with self._lock:
            stored = taken_out(run._stored(index))
            setup, shapes, names = run._setups[stored.setup], run._shapes[stored.setup], run._names[stored.setup]
        phases = dict(zip(names, stored.phases.tolist(), strict=False))  # a file's frames have none
        return RecordedFrame(
            index, stored.time, setup, stored.begins, checkpoint_of(stored, setup, shapes),
            unpack_touches(stored.touches), phases,
        )  # fmt: skip

    def stored(self, run: Run, first: int = 0, most: int | None = None) -> list[StoredFrame]:
        """The frames of a run from the index `first` on, in their order, `most` at most, not to be changed."""
        with self._lock:
            begin = run._at + max(first - run.first, 0)
            kept = run._frames[begin : None if most is None else begin + most]
        return [taken_out(StoredFrame(*frame)) for frame in kept if frame is not None]

    def at(self, run: Run, time: float) -> int:
        """The index of the last frame at or before a time in s; of the oldest where none is."""
        with self._lock:
            found = bisect_right(run._frames, time, lo=run._at, key=lambda frame: frame[0])  # type: ignore[index]
            return max(run.first, run.first + found - run._at - 1)

    def span(self, run: Run) -> tuple[float, float]:
        """The times of the oldest and the newest frame, s."""
        with self._lock:
            return (run._stored(run.first).time, run._stored(run.last).time) if len(run) else (0.0, 0.0)

    def is_sampled(self, run: Run) -> bool:
        """Whether its frames are samples from a file: they do not say what acted, and no steps lead on from them."""
        with self._lock:
            return are_samples([run._stored(run.first + k) for k in range(min(2, len(run)))], run._setups)

    def resimulate(self, run: Run, index: int) -> Iterator[tuple[int, Checkpoint]]:
        """The frames after `index`, computed anew from there under all that acted: index and checkpoint of each.

        What was put by hand, or began with another simulation, is taken as it was recorded.
        """
        frame = self.frame(run, index)
        simulation = frame.setup.simulation()
        simulation.restore(frame.checkpoint)
        setup = frame.setup
        while index < run.last:
            index += 1
            frame = self.frame(run, index)
            if frame.begins:
                simulation = simulation if frame.setup is setup else frame.setup.simulation()
                setup = frame.setup
                simulation.restore(frame.checkpoint)
            else:
                self._repeat(simulation, run, index)
            yield index, simulation.checkpoint()

    def _repeat(self, simulation: Simulation, run: Run, index: int) -> None:
        """The steps from the frame before to this one."""
        with self._lock:
            stored = run._stored(index)
        for steps, inputs in stored.changes:
            simulation.step(steps - simulation.steps)
            act(simulation, inputs)
        simulation.step(stored.steps - simulation.steps)

    def changes(self, run: Run, index: int) -> tuple[tuple[int, Array, Array, Array | None], ...]:
        """What began to act between a frame, `index`, and the one before: after how many steps, tau, target and wrench.

        tau and target are (batch, nv), wrench (batch, links, 6) or None where none acted.
        """
        with self._lock:
            stored, setup = run._stored(index), run._setups[run._stored(index).setup]
        return tuple((steps, *dense(inputs, setup)) for steps, inputs in stored.changes)
