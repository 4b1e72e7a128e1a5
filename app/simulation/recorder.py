"""`Recorder` records everything that the simulation thread does."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import engine
from app.simulation.attachments import Attachment
from app.simulation.running import Running

Controllers = tuple[tuple[float, str], ...]
"""The changes of a run's controller: the time from which it drives, s, and its file, empty where it ends."""

SPARE = 100  # inputs beyond two per frame, before those of dropped frames are dropped
SPACING = 0.015  # s, wall time or simulated, between frames that are kept; the newest is always kept


@dataclass(frozen=True, eq=False)
class Opened:
    """A recording from a file; `floating`: the robot's root link was set free of the world."""

    model: engine.Model
    recording: engine.Recording
    floating: bool
    named: tuple[tuple[int, float, str], ...] = ()
    """Keyframes with names: the run's number, the time in s, the name."""
    growing: bool = False
    """Whether a script is still adding to it; its file is deleted with the script."""
    controllers: Mapping[int, Controllers] = field(default_factory=dict)
    """The controllers of runs, by the run's number."""


class Recorder(Attachment):
    """Records the current robot; attached after all that sets its inputs."""

    def __init__(self, acting: Sequence[Attachment] = ()) -> None:
        """`acting` are those whose `inputs` are kept: the second robot, drives, wrenches, and last the controller."""
        self._acting = acting
        self._inputs: WeakKeyDictionary[engine.Run, list[tuple[int, tuple[Any, ...]]]] = WeakKeyDictionary()
        """The inputs of each run's frames, where they changed, with the frame's index."""
        self._begins = False  # whether the newest frame was set, and its inputs are those of the next step
        self.recording = engine.Recording()
        self.opened: Opened | None = None
        """The recording opened from a file for the current or next robot; its runs are then in `recording`."""
        self.handed_over: Callable[[engine.Recording, engine.Model, tuple[engine.Run, ...]], None] = lambda *_: None
        """Called in the simulation thread with the previous robot's runs, the new robot, and its runs from a file."""
        self._running: Running | None = None
        self._due = self._due_simulated = 0.0  # times of the next frame to be kept beside the newest
        self._over = False  # whether the next frame replaces the newest
        self._branch: tuple[engine.Run, engine.RecordedFrame] | None = None  # where the next run branches off

    def after_jump(self, running: Running) -> None:
        before, self._running = self._running, running
        self._over = False
        if self._branch is not None:
            (run, frame), self._branch = self._branch, None
            self._leave(running, run, frame)
            return
        if before is None or before.model is not running.model:
            self._change_robot(running)
        elif running is not before:
            self.recording.go_on(running.simulation, running.time, running.settings)
        elif running.time == 0:
            self.recording.begin(running.simulation, 0.0, running.settings)
        else:
            self.recording.add(running.simulation, begins=True)
        self._begins = True
        self._keep_inputs()

    def _change_robot(self, running: Running) -> None:
        left = engine.Recording()
        left.take_over(self.recording)
        self.recording.clear()
        if self.opened is not None and self.opened.model is not running.model:
            self.opened = None
        opened = () if self.opened is None or self.opened.growing else self.opened.recording.runs
        self.handed_over(left, running.model, opened)  # before the new robot's runs replace the old one's
        if self.opened is not None:
            self.recording.take_over(self.opened.recording)
            self.opened.recording.clear()
            self._take_controllers(self.opened.controllers)
        self.recording.begin(running.simulation, running.time, running.settings)

    def _leave(self, running: Running, run: engine.Run, frame: engine.RecordedFrame) -> None:
        self._begins = not (run in self.recording.runs and run.first <= frame.index <= run.last)
        if self._begins:  # a keyframe whose run is gone
            self.recording.begin(running.simulation, frame.time, running.settings)
        else:
            branch = self.recording.branch(run, frame.index)
            with self.recording.lock:
                self._inputs[branch] = [each for each in self._inputs.get(run, ()) if each[0] <= frame.index]

    def before_steps(self, running: Running, count: int) -> bool:  # noqa: ARG002
        self.recording.note(running.simulation)
        if self._begins:
            self._keep_inputs()
        return True

    def before_next(self, running: Running) -> None:
        self.recording.note(running.simulation)

    def after_steps(self, running: Running, count: int) -> None:  # noqa: ARG002
        self.recording.add(running.simulation, over=self._over)
        self._begins = False
        self._keep_inputs()
        now, simulated = time.perf_counter(), running.simulation.time
        self._over = now < self._due and simulated < self._due_simulated
        if not self._over:
            self._due, self._due_simulated = now + SPACING, simulated + SPACING

    def branch(self, run: engine.Run, frame: engine.RecordedFrame) -> None:
        """Announce that the simulation goes back to a frame: the next run branches off there, if it still exists."""
        self._branch = run, frame

    def _keep_inputs(self) -> None:
        """Keep what acts with the newest frame, if it differs from the frame before."""
        with self.recording.lock:
            run, inputs = self.recording.runs[-1], tuple(each.inputs for each in self._acting)
            changes = self._inputs.setdefault(run, [])
            if changes and all(one is other for one, other in zip(changes[-1][1], inputs, strict=True)):
                return
            if changes and changes[-1][0] >= run.last:
                changes.pop()
            if len(changes) > 2 * len(run) + SPARE:  # the oldest frames are dropped
                del changes[: max(bisect_right(changes, run.first, key=lambda each: each[0]) - 1, 0)]
            changes.append((run.last, inputs))

    def inputs_of(self, run: engine.Run, index: int) -> Any:
        """Return the inputs of a frame, in the order of the attachments; empty where unknown, as of runs from files."""
        with self.recording.lock:
            changes = self._inputs.get(run, [])
            position = bisect_right(changes, index, key=lambda each: each[0])
            return changes[position - 1][1] if position else ()

    def _take_controllers(self, by_run: Mapping[int, Controllers]) -> None:
        """Take the controllers of runs from a file, of whose inputs nothing else is known."""
        for run in self.recording.runs:
            for since, path in by_run.get(run.number, ()):
                index = self.recording.at(run, since)
                if index < run.last and self.recording.frame(run, index).time < since:
                    index += 1
                self._inputs.setdefault(run, []).append((index, (None, {}, {}, path)))

    def controllers_of(self, run: engine.Run) -> Controllers:
        """Return the changes of a run's controller, as far as its frames are kept."""
        changes: list[tuple[float, str]] = []
        with self.recording.lock:
            for index, (*_, path) in self._inputs.get(run, ()):
                if path != (changes[-1][1] if changes else "") and index <= run.last:
                    changes.append((self.recording.frame(run, max(index, run.first)).time, path))
        return tuple(changes)
