"""`Replay`: select and play recorded frames in place of the live state. Free of Qt."""

from __future__ import annotations

import math
import time

import numpy as np

import engine
from app.link_extents import link_points
from app.simulation.batch_spread import deviations, recorded_model
from app.simulation.contacts import contacts_of
from app.simulation.messages import BatchState, Snapshot


class Replay:
    """Shows frames of a recording to the calling thread; while `run` is None, the live state is shown."""

    def __init__(self, recording: engine.Recording):
        self.recording = recording
        self.run: engine.Run | None = None
        self.frame: engine.RecordedFrame | None = None
        """The frame shown; None for the live state."""
        self.opened = False
        """Whether a run from a file is shown and not yet continued; there is no live state to return to."""
        self.growing: engine.Run | None = None
        """The growing run of a script, see `engine.show`."""
        self.script = ""
        """The name of that script; empty once it has ended."""
        self.playing = False
        self.loop: tuple[engine.Run, float, float] | None = None
        """A run, and the start and end, s, of its span that is played again and again."""
        self.speed = 1.0
        """Recorded seconds per wall second."""
        self.robot = 0
        """The index of the selected robot in a batch."""
        self._fresh = False
        self._wall = self._time = 0.0  # when it was last advanced, and the run time due then

    @property
    def active(self) -> bool:
        """Whether a recorded frame is shown."""
        return self.frame is not None

    @property
    def runs(self) -> tuple[engine.Run, ...]:
        """The runs that can be shown; a running simulation's run is the last."""
        runs = self.recording.runs
        return runs[:-1] if self.opened else runs

    @property
    def newest(self) -> engine.Run | None:
        """The run of the live simulation, if any."""
        return None if self.opened or not (runs := self.recording.runs) else runs[-1]

    @property
    def chosen(self) -> engine.Run | None:
        """The run that the timeline shows."""
        return self.newest if self.run is None else self.run

    def show(self, index: int, run: engine.Run | None = None) -> None:
        """Show a frame of a run, by default of the current one; the index is clamped to its frames."""
        run = run or self.chosen
        if run is None or not len(run):
            return
        for _ in range(3):  # the oldest may be dropped meanwhile
            try:
                frame = self.recording.frame(run, min(max(index, run.first), run.last))
            except IndexError:
                continue
            self.show_frame(frame, run)
            return

    def show_frame(self, frame: engine.RecordedFrame, run: engine.Run) -> None:
        """Show a frame, even one already dropped from its run."""
        self.run, self.frame, self._fresh, self._time = run, frame, True, frame.time

    def select_robot(self, robot: int) -> None:
        """Select the robot of a batch that frames show, also the present one."""
        self.robot, self._fresh = robot, True

    def seek(self, seconds: float) -> None:
        """Show the last frame at or before a time of the run."""
        if (run := self.chosen) is not None and len(run):
            self.show(self.recording.at(run, seconds), run)

    def move(self, frames: int) -> None:
        """Move by a number of frames; from the live state, relative to the newest."""
        run = self.chosen
        if run is not None and len(run):
            self.playing = False
            self.show((run.last if self.frame is None else self.frame.index) + frames, run)

    def skip(self, seconds: float) -> None:
        """Move by a number of seconds."""
        run = self.chosen
        if run is not None and len(run):
            here = self.recording.span(run)[1] if self.frame is None else self.frame.time
            self.seek(here + seconds)

    def to_first(self) -> None:
        """Show the current run's first frame; of several at its time, before steps by other settings, the last."""
        if (run := self.chosen) is not None and len(run):
            self.seek(self.recording.span(run)[0])

    def to_last(self) -> None:
        """Show the last frame of the current run."""
        if (run := self.chosen) is not None:
            self.playing = False
            self.show(run.last, run)

    def leave(self) -> None:
        """Return to the live state."""
        self.run = self.frame = None
        self.playing = self.opened = False

    @property
    def follows(self) -> bool:
        """Whether the newest frame of a script's run is shown, so that new frames are followed."""
        return bool(self.script) and self.run is self.growing and self.at_end and not self.playing

    @property
    def driven(self) -> bool:
        """Whether a script drives the robot and its run has not been continued here."""
        return bool(self.script) and self.opened

    @property
    def reason(self) -> str:
        """Why the frame shown cannot be acted on, in a few words."""
        return f"{self.script} drives the robot" if self.driven else "a recorded frame is shown"

    @property
    def ways_on(self) -> str:
        """Actions that the user can take where a request needs the live state."""
        branch = "press Branch here (Ctrl+B) to continue from it"
        return branch if self.opened else f"{branch}, or End to return to the live simulation"

    def toggle(self) -> None:
        """Play from the current frame, from the start if it is the last one; or pause."""
        if self.run is None or self.frame is None:
            return
        self.playing = not self.playing
        if self.playing and self._loops and not self.loop[1] <= self.frame.time < self.loop[2]:
            self.seek(self.loop[1])
        elif self.playing and self.frame.index >= self.run.last:
            self.to_first()
        self._wall = time.perf_counter()

    @property
    def at_end(self) -> bool:
        """Whether the last frame of the run is shown."""
        return self.run is not None and self.frame is not None and self.frame.index >= self.run.last

    @property
    def at_present(self) -> bool:
        """Whether the frame shown is the newest of the live run."""
        return self.at_end and self.run is self.newest

    def advance(self) -> None:
        """Show the frame due at this time, if playing."""
        if not self.playing or self.run is None or self.frame is None:
            return
        now = time.perf_counter()
        due = self._time + self.speed * (now - self._wall)
        self._wall = now
        if self._loops and due >= self.loop[2]:
            due = self.loop[1]
        index = self.recording.at(self.run, due)
        if index != self.frame.index:
            self.show(index, self.run)
        self._time = due  # not the frame's, or slow playback would never reach the next
        if self.at_end and not self._loops:
            self.playing = False

    def loop_of(self, run: engine.Run | None) -> tuple[float, float] | None:
        """Return the start and end, s, of a run's loop; None if it has none."""
        return self.loop[1:] if self.loop is not None and self.loop[0] is run else None

    @property
    def _loops(self) -> bool:
        """Whether the loop is of the run shown."""
        return self.loop_of(self.run) is not None

    def take(self) -> Snapshot | None:
        """Return the current frame as a snapshot; None if it did not change since the last call."""
        self.advance()
        if not self._fresh or self.frame is None:
            return None
        self._fresh = False
        return snapshot(self.frame, self.robot)


def effort_in(frame: engine.RecordedFrame, robot: int) -> np.ndarray:
    """(nv,), N m or N: efforts of the drives in a frame."""
    settings, at = frame.setup.settings, frame.checkpoint
    return np.asarray(settings.effort(*(x.astype(float) for x in (at.q, at.v, at.tau, at.target)))[robot])


def snapshot(frame: engine.RecordedFrame, robot: int) -> Snapshot:
    """Convert a frame to a snapshot with the robot of that index selected."""
    model, at = frame.setup.model, frame.checkpoint
    robot = robot if robot < len(at.q) else 0
    into = Snapshot(recorded_model(frame.setup, robot))
    q, v = at.q.astype(float), at.v.astype(float)
    poses = engine.link_poses(model, q)
    into.time, into.robot, into.recorded = frame.time, robot, True
    into.q[:], into.v[:], into.target[:], into.tau[:] = q[robot], v[robot], at.target[robot], at.tau[robot]
    into.link_poses[:] = poses[robot]
    into.effort[:] = effort_in(frame, robot)
    into.wrench = None if at.wrench is None else at.wrench[robot].astype(float)
    into.phases = {} if frame.begins else frame.phases
    if frame.contacts is not None:
        into.residual = float(frame.contacts.residual.max())
        into.contacts = contacts_of(frame.contacts, frame.setup.settings.dt, robot)
    if len(q) > 1:
        poses = poses.astype(np.float32)
        diverged = at.frozen if at.divergences is None else at.divergences[0] != 0  # a script's may end its run
        energy, apart = np.full(len(q), math.nan), deviations(poses, link_points(model))
        into.batch = BatchState(poses, energy, apart, diverged, frame)
    return into


def run_name(run: engine.Run) -> str:
    """Return a run's name in lists of runs."""
    if run.left is None:
        return f"Run {run.number}"
    return f"Run {run.number}, from run {run.left[0]} at {run.left[1]:.2f} s"
