"""`Recording`: runs of simulations with all inputs, in bounded memory; any frame can be resimulated."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.checkpoint import Checkpoint
from engine.logged import numbers_of
from engine.recording.frames import RecordedFrame, StoredFrame, are_samples, checkpoint_of, diverged, restore, taken_out
from engine.recording.inputs import Change, Inputs, act, acting, dense, shared_with
from engine.recording.packing import (
    Array,
    bundle_contacts,
    bundle_packed,
    pack,
    pack_contacts,
    same_bits,
    unpack_contacts,
)
from engine.recording.run import Run, Shapes
from engine.recording.setup import Setup
from engine.simulation import Simulation
from engine.uncopyable import NotCopied

BUDGET = 512 * 2**20
"""Default maximum bytes of a recording."""
MAX_RUNS = 100
"""Maximum number of runs recorded from another program, which may reset often."""


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
        shapes: list[Shapes],
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
            run.set_up(setups, shapes, [()] * len(setups))
            before: Inputs | tuple[()] = ()
            if left is not None:
                run.share(*left)
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
                like, run = run, Run(self._next_number, held=True)
                run.set_up(like.setups, like.shapes, like.phases)
                if self._is_unstepped(present := self._runs[-1]):  # so that shown runs have no gaps
                    run.number, present.number = present.number, run.number
                self._runs.insert(len(self._runs) - 1, run)
                if len(self._runs) > MAX_RUNS:
                    self._forget_first()
            for frame in frames:
                before = run.newest
                if before is not None and before.steps == frame.steps:
                    self._pop(run)  # replaced by a state set by hand
                    before = run.newest
                self._keep(run, frame, before.inputs if before else ())
            self._make_room(run)
            return run

    def _keep(self, run: Run, frame: StoredFrame, before: Inputs | tuple[()]) -> None:
        """Append a frame with unbundled contacts to the run."""
        bundled = frame._replace(contact=bundle_packed(frame.contact), contacts=bundle_contacts(frame.contacts))
        self._bytes += run.append(bundled, before)

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
        return run.frame(run.last).time == run.frame(0).time

    def _pop(self, run: Run) -> None:
        """Remove a run's newest frame, which may remain in runs that share it."""
        self._bytes -= run.pop(self._runs)

    def branch(self, run: Run, index: int) -> Run:
        """A new run that leaves `run` at the frame `index`; the simulation that continues it starts at its checkpoint.

        Another run before it in which no step was taken is forgotten.
        """
        with self.lock:
            left = run.frame(index)
            self._forget_unstepped(but=run)
            branch, end = Run(self._next_number), left.setup + 1
            branch.share(run, index)
            branch.set_up(run.setups[:end], run.shapes[:end], run.phases[:end])
            self._runs.append(branch)
            self._inputs, self._changes = left.inputs, []
            return branch

    def go_on(self, simulation: Simulation, time: float, about: Any = None, watched: bool = False) -> None:
        """The present run continues by another simulation, from its `time` on, s; see `Setup` for the rest."""
        with self.lock:
            self._runs[-1].set_up([Setup.of(simulation, time - simulation.time, about, watched)], [()], [()])
            self._inputs, self._changes = None, []
            self.add(simulation, begins=True)

    def note(self, simulation: Simulation) -> None:
        """Store the simulation's inputs if they have changed; call before each call for steps."""
        with self.lock:
            inputs = acting(simulation)
            if (before := self._inputs) is None:
                self._inputs = inputs
                return
            inputs = shared_with(before, inputs)
            if any(one is not other for one, other in zip(inputs, before, strict=True)):
                self._require_wrenches(simulation)
                self._inputs = inputs
                self._changes.append((simulation.steps, self._inputs))

    def _require_wrenches(self, simulation: Simulation) -> None:
        """Begin a new setup at this time if steps now take wrenches, which makes them round differently."""
        setup = self._runs[-1].setups[-1]
        if simulation.takes_wrenches and not setup.wrenches:
            self.add(simulation)
            self._runs[-1].set_up([Setup.of(simulation, setup.time_before, setup.about)], [()], [()])
            self.add(simulation, begins=True)

    def add(self, simulation: Simulation, begins: bool = False, over: bool = False) -> None:
        """Add the simulation's current state as a frame. Waits for its steps.

        Nothing is added if nothing has changed. `begins`: the state was set; it replaces a frame of the same time.
        `over`: replace the newest frame, since frames are dense enough.
        """
        with self.lock:
            run = self._runs[-1]
            checkpoint, setup, last = simulation.checkpoint(), len(run.setups) - 1, run.newest
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
            run.describe(tuple(x.shape for x in checkpoint.contact), tuple(phases))
            before = () if begins or (newest := run.newest) is None else newest.inputs
            frame = StoredFrame(
                run.setups[setup].time(checkpoint.steps), checkpoint.steps, setup, begins, checkpoint.q, checkpoint.v,
                self._inputs, changes=tuple(self._changes), divergences=diverged(checkpoint),
                contact=bundle_packed(map(pack, checkpoint.contact)),
                contacts=bundle_contacts(pack_contacts(simulation.contacts)),
                phases=np.fromiter(phases.values(), float, len(phases)),
            )  # fmt: skip
            self._changes = []
            self._bytes += run.append(frame, before)
            self._make_room()

    def _make_room(self, growing: Run | None = None) -> None:
        """Drop the oldest frames until there is room: earlier runs first, and never the newest frame.

        A run `growing` beside the current one also keeps its newest frame, unless a branch shares it.
        """
        shared = growing is not None and any(run.left and run.left[0] == growing.number for run in self._runs)
        while self._bytes > self.room and len(self._runs) > 1 and (shared or self._runs[0] is not growing):
            self._forget_first()
        while self._bytes > self.room and self._runs and len(self._runs[0]) > 1:
            self._bytes -= self._runs[0].drop()

    def _forget_first(self) -> None:
        self._bytes -= self._runs.pop(0).bytes_beside(self._runs)
        if len(self._runs) == 1:
            self._runs[0].shared = -1

    # Reading.

    def frame(self, run: Run, index: int) -> RecordedFrame:
        """The frame `index` of a run. Raises IndexError where it is missing, or was discarded."""
        with self.lock:
            stored = taken_out(run.frame(index))
            setup, shapes, names = run.setups[stored.setup], run.shapes[stored.setup], run.phases[stored.setup]
        phases = dict(zip(names, stored.phases.tolist(), strict=False))  # frames from files have none
        return RecordedFrame(
            index, stored.time, setup, stored.begins, checkpoint_of(stored, setup, shapes),
            unpack_contacts(stored.contacts), phases, numbers_of(stored.inputs[3]),
        )  # fmt: skip

    def stored(self, run: Run, first: int = 0, most: int | None = None) -> list[StoredFrame]:
        """The frames of a run from the index `first` on, in their order, `most` at most, not to be changed."""
        with self.lock:
            frames = run.frames(first, most)
        return [taken_out(frame) for frame in frames]

    def at(self, run: Run, time: float) -> int:
        """Return the index of the last frame at or before a time in s; the oldest if there is none."""
        with self.lock:
            return run.at(time)

    def span(self, run: Run) -> tuple[float, float]:
        """Return the times of the oldest and the newest frame, s."""
        with self.lock:
            return (run.frame(run.first).time, run.frame(run.last).time) if len(run) else (0.0, 0.0)

    def is_sampled(self, run: Run) -> bool:
        """Whether the frames are samples from a file: without inputs, and not connected by steps."""
        with self.lock:
            return are_samples(run.frames(most=2), run.setups)

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
            stored = run.frame(index)
        for steps, inputs in stored.changes:
            simulation.step(steps - simulation.steps)
            act(simulation, inputs)
        simulation.step(stored.steps - simulation.steps)

    def changes(self, run: Run, index: int) -> tuple[tuple[int, Array, Array, Array | None], ...]:
        """What began to act between a frame, `index`, and the one before: after how many steps, tau, target and wrench.

        tau and target are (batch, nv), wrench (batch, links, 6) or None where none acted.
        """
        with self.lock:
            stored = run.frame(index)
            setup = run.setups[stored.setup]
        return tuple((steps, *dense(inputs, setup)) for steps, inputs in stored.changes)
