"""A recorded ghost's deviation and energy over the time of another recorded run. Free of Qt."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

import engine
from app.recording.recorded_ghost import SLACK, RecordedGhost

FRAMES = 2000  # largest number of a run's frames, evenly spaced, for its curves


@dataclass(frozen=True, eq=False)
class GhostRun:
    """Which frames of a run the ghost is compared with: up to `last`."""

    run: engine.Run
    last: int
    ghost: RecordedGhost


@dataclass(frozen=True, eq=False)
class GhostCurves:
    """`deviation`, m, and `energy`, J, (N,) each, at `time` (N,), s, as far as both runs go."""

    wanted: GhostRun | None
    time: np.ndarray
    deviation: np.ndarray
    energy: np.ndarray
    over: bool = True
    problem: str = ""


def evaluate(recording: engine.Recording, wanted: GhostRun, stop: threading.Event) -> GhostCurves:
    """Return the curves at up to `FRAMES` frames of the run that the ghost's run covers."""
    run, ghost = wanted.run, wanted.ghost
    begin, end = ghost.recording.span(ghost.run)
    number = wanted.last - run.first + 1
    found = []
    for index in np.unique(np.linspace(run.first, wanted.last, min(number, FRAMES)).round().astype(int)).tolist():
        if stop.is_set():
            break
        try:
            frame = recording.frame(run, index)
            if begin - SLACK <= frame.time <= end + SLACK:
                state = ghost.at(frame.time)
                poses = np.asarray(engine.link_poses(ghost.model, frame.checkpoint.q[0].astype(float)))
                found.append((frame.time, ghost.deviation(poses, state.poses).max(initial=0.0), state.energy))
        except IndexError:  # the oldest frames are dropped
            continue
    return GhostCurves(wanted, *np.array(found, float).reshape(-1, 3).T)


def nothing(problem: str) -> GhostCurves:
    """Return no curves, because of a problem."""
    none = np.zeros(0)
    return GhostCurves(None, none, none, none, problem=problem)
