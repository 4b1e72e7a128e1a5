"""`Replay`: which moment of the recording is shown instead of the present, and its playing on. Free of Qt."""

from __future__ import annotations

import math
import time

import numpy as np

import engine
from app.gl.extents import link_points
from app.simulation.contacts import contacts_of
from app.simulation.messages import BatchState, Snapshot
from app.simulation.spread import deviations


class Replay:
    """Shows frames of a recording to the thread that asks; while `run` is None the present is shown."""

    def __init__(self, recording: engine.Recording):
        self.recording = recording
        self.run: engine.Run | None = None
        self.frame: engine.RecordedFrame | None = None
        """What is shown; None for the present."""
        self.opened = False
        """Whether a file's run is shown and nothing goes on from it yet: there is no present to go back to."""
        self.growing: engine.Run | None = None
        """The run of a script that shows it while it goes on, see `engine.show`."""
        self.script = ""
        """The name of that script; empty once it has ended."""
        self.playing = False
        self.speed = 1.0
        """Recorded seconds per wall second."""
        self.robot = 0
        """Which one of a batch is looked at."""
        self._fresh = False
        self._wall = self._time = 0.0  # when it was last looked at, and the time of the run that is due then

    @property
    def active(self) -> bool:
        """Whether it is not the present that is shown."""
        return self.frame is not None

    @property
    def runs(self) -> tuple[engine.Run, ...]:
        """Those that can be looked at, the one that is going on last, if any is."""
        runs = self.recording.runs
        return runs[:-1] if self.opened else runs

    @property
    def newest(self) -> engine.Run | None:
        """The run that is going on."""
        return None if self.opened or not (runs := self.recording.runs) else runs[-1]

    @property
    def chosen(self) -> engine.Run | None:
        """The run that a timeline shows."""
        return self.newest if self.run is None else self.run

    def show(self, index: int, run: engine.Run | None = None) -> None:
        """The frame of that number of a run, by default of the one that is shown, or the nearest that there is."""
        run = run or self.chosen
        if run is None or not len(run):
            return
        for _ in range(3):  # the oldest may go meanwhile
            try:
                frame = self.recording.frame(run, min(max(index, run.first), run.last))
            except IndexError:
                continue
            self.show_frame(frame, run)
            return

    def show_frame(self, frame: engine.RecordedFrame, run: engine.Run) -> None:
        """A frame that may be gone from its run."""
        self.run, self.frame, self._fresh, self._time = run, frame, True, frame.time

    def seek(self, seconds: float) -> None:
        """The last frame at or before a time of the run."""
        if (run := self.chosen) is not None and len(run):
            self.show(self.recording.at(run, seconds), run)

    def move(self, frames: int) -> None:
        """So many frames on or back; from the present back from the newest."""
        run = self.chosen
        if run is not None and len(run):
            self.playing = False
            self.show((run.last if self.frame is None else self.frame.index) + frames, run)

    def skip(self, seconds: float) -> None:
        """So many seconds on or back."""
        run = self.chosen
        if run is not None and len(run):
            here = self.recording.span(run)[1] if self.frame is None else self.frame.time
            self.seek(here + seconds)

    def to_last(self) -> None:
        """The last frame of the run that is shown."""
        if (run := self.chosen) is not None:
            self.playing = False
            self.show(run.last, run)

    def leave(self) -> None:
        """Back to the present."""
        self.run = self.frame = None
        self.playing = self.opened = False

    @property
    def follows(self) -> bool:
        """Whether the newest frame of a script's run is shown, and so is the next."""
        return bool(self.script) and self.run is self.growing and self.at_end and not self.playing

    @property
    def driven(self) -> bool:
        """Whether a script drives the robot, and nothing goes on from its run here."""
        return bool(self.script) and self.opened

    @property
    def reason(self) -> str:
        """Why what is shown cannot be acted on, in a few words."""
        return f"{self.script} drives the robot" if self.driven else "a recorded frame is shown"

    @property
    def ways_on(self) -> str:
        """What the user may do where what was asked for is for the present alone."""
        branch = "press Branch here (Ctrl+B) to continue from it"
        return branch if self.opened else f"{branch}, or End to return to the live simulation"

    def toggle(self) -> None:
        """Play on from what is shown, from the beginning where that is the end; or pause."""
        if self.run is None or self.frame is None:
            return
        self.playing = not self.playing
        if self.playing and self.frame.index >= self.run.last:
            self.show(self.run.first, self.run)
        self._wall = time.perf_counter()

    @property
    def at_end(self) -> bool:
        """Whether what is shown is its run's last frame."""
        return self.run is not None and self.frame is not None and self.frame.index >= self.run.last

    @property
    def at_present(self) -> bool:
        """Whether what is shown is where the simulation goes on."""
        return self.at_end and self.run is self.newest

    def advance(self) -> None:
        """Come to the frame that is due by now, if it plays."""
        if not self.playing or self.run is None or self.frame is None:
            return
        now = time.perf_counter()
        due = self._time + self.speed * (now - self._wall)
        self._wall = now
        index = self.recording.at(self.run, due)
        if index != self.frame.index:
            self.show(index, self.run)
        self._time = due  # not the frame's: else what is slow would never come to the next
        if self.at_end:
            self.playing = False

    def take(self) -> Snapshot | None:
        """What is shown, if it is another than at the last call."""
        self.advance()
        if not self._fresh or self.frame is None:
            return None
        self._fresh = False
        return snapshot(self.frame, self.robot, self.run is not None and self.recording.is_sampled(self.run))


def effort_in(frame: engine.RecordedFrame, robot: int, sampled: bool) -> np.ndarray:
    """(nv,), N m or N: what drives give in a frame; NaN where gains pull in a sampled run, which has no setpoints."""
    settings, at = frame.setup.settings, frame.checkpoint
    effort = settings.effort(*(x.astype(float) for x in (at.q, at.v, at.tau, at.target)))[robot]
    kp = settings.kp[robot if len(settings.kp) > 1 else 0]
    return np.where(sampled & (kp > 0), np.nan, effort)


def snapshot(frame: engine.RecordedFrame, robot: int, sampled: bool = False) -> Snapshot:
    """A frame as the window shows states, with the robot of that number looked at; see `effort_in`."""
    model, at = frame.setup.model, frame.checkpoint
    robot = robot if robot < len(at.q) else 0
    into = Snapshot(model)
    q, v = at.q.astype(float), at.v.astype(float)
    poses = engine.link_poses(model, q)
    into.time, into.robot, into.recorded = frame.time, robot, True
    into.q[:], into.v[:], into.target[:], into.tau[:] = q[robot], v[robot], at.target[robot], at.tau[robot]
    into.link_poses[:] = poses[robot]
    into.effort[:] = effort_in(frame, robot, sampled)
    into.wrench = None if at.wrench is None else at.wrench[robot].astype(float)
    into.phases = {} if frame.begins else frame.phases
    if frame.touches is not None:
        into.residual = float(frame.touches.residual.max())
        into.contacts = contacts_of(frame.touches, frame.setup.settings.dt, robot)
    if len(q) > 1:
        poses = poses.astype(np.float32)
        into.batch = BatchState(poses, np.full(len(q), math.nan), deviations(poses, link_points(model)), at.frozen)
    return into
