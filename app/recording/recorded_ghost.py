"""`RecordedGhost`: a recorded run as the ghost of the robot. Free of Qt."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import engine
from app.link_extents import link_points, world_points
from app.recording.run_files import understand
from app.simulation.batch_spread import recorded_model
from app.simulation.messages import GhostState, Snapshot

_PLACES = "home_rotation", "home_position", "link_rotation", "link_position", "mass", "first_moment", "inertia"
SLACK = 1e-9  # s, the rounding of a sum of steps


class Instant(NamedTuple):
    """The ghost at one time: `poses` of its links (links, 4, 4), and its energy, J."""

    poses: np.ndarray
    energy: float


class RecordedGhost:
    """A recorded run of the robot `model`; at each time the ghost is as the run was then, before and after it at rest.

    `path` is the run's file; empty for a run of the window's own recording.
    """

    def __init__(self, model: engine.Model, recording: engine.Recording, run: engine.Run, name: str, path: str = ""):
        self.model, self.recording, self.run, self.name, self.path = model, recording, run, name, path
        self._points = link_points(model)
        self._worst, self._since, self._last = 0.0, np.inf, -np.inf

    def at(self, time: float) -> Instant:
        """Return the ghost at a time, s: between two frames of the run on the line from one q to the other."""
        with self.recording.lock:  # the oldest frames are dropped where there is no room
            index = self.recording.at(self.run, time)
            frame = self.recording.frame(self.run, index)
            after = self.recording.frame(self.run, min(index + 1, self.run.last))
        q, v = (np.array(getattr(frame.checkpoint, name)[0], float) for name in "qv")
        if frame.time < time and after.time > frame.time:
            share = min((time - frame.time) / (after.time - frame.time), 1.0)
            q, v = (
                x + share * (np.asarray(getattr(after.checkpoint, name)[0], float) - x)
                for name, x in (("q", q), ("v", v))
            )
            for _, quaternion in self.model.quaternions:
                q[quaternion] /= np.linalg.norm(q[quaternion])
        energy = float(np.add(*engine.energy(recorded_model(frame.setup), q, v)))
        return Instant(np.asarray(engine.link_poses(self.model, q)), energy)

    def deviation(self, here: np.ndarray, there: np.ndarray) -> np.ndarray:
        """(links,): the largest distances of the links' points, m, at link poses (links, 4, 4)."""
        apart = world_points(there, self._points) - world_points(here, self._points)
        return np.asarray(np.linalg.norm(apart, axis=2).max(1, initial=0.0))

    def state(self, frame: Snapshot) -> GhostState:
        """Return the ghost of a frame; its maximum deviation starts again where the time goes back."""
        poses, energy = self.at(frame.time)
        deviation = self.deviation(frame.link_poses, poses)
        if frame.time < self._last or np.isinf(self._since):
            self._worst, self._since = 0.0, frame.time
        self._worst, self._last = max(self._worst, float(deviation.max(initial=0.0))), frame.time
        source = self._reported(frame.time)
        return GhostState(poses, deviation, self._worst, self._since, source=source, energy=energy)

    def _reported(self, time: float) -> str:
        """Return the run's name and times, and why the ghost is at rest at a time, s, if it is."""
        begin, end = self.recording.span(self.run)
        rests = "; over, the ghost rests where it ended" if time > end + SLACK else ""
        rests = "; not begun, the ghost rests where it begins" if time < begin - SLACK else rests
        return f"{self.name}, {begin:.3f} to {end:.3f} s{rests}"


def read_ghost(path: str, model: engine.Model, source: str | None) -> RecordedGhost:
    """Return a run from a file as the ghost of the robot `model`, read from the file `source` if it has one.

    Raises ValueError and OSError, in one sentence, for a file without a run of this robot.
    """
    saved = engine.read_run(path)
    _require_robot(saved, model, source)
    recording = engine.recording_of(saved, model, understand)
    (run,) = recording.runs
    return RecordedGhost(model, recording, run, Path(path).name, path)


def _require_robot(saved: engine.SavedRun, model: engine.Model, source: str | None) -> None:
    """Raise ValueError for a run of another robot: with other joints or links, or of a file with another text."""
    refused = f"{Path(saved.path).name} is a run of another robot: "
    names, named = saved.arrays.get("coordinate_names"), saved.settings.get("robot")
    if names is not None and tuple(names.tolist()) != tuple(model.coordinate_names):
        floats = tuple(names.tolist()) == tuple(model.coordinate_names[6:])
        base = f"its base is fixed, and that of {model.name} floats; Simulation › Floating base fixes it again"
        raise ValueError(f"{refused}{base if floats else f'its joints are not those of {model.name}'}")
    stored = saved.settings.get("xacro_args")
    given = stored if isinstance(stored, dict) else {}
    try:
        there = engine.robot_of_text(saved, lambda file, **given: engine.load(file, **given or dict(model.options)))
        if there is None and source is not None and isinstance(named, str) and named:
            engine.refuse_endless(named)
            file = Path(engine.find_robot(named))
            if file.read_bytes() != Path(source).read_bytes():
                raise _Other(f"{refused}{Path(named).name} differs from {Path(source).name}")
            if given != dict(model.options.get("xacro_args") or {}):
                there = engine.load(str(file), **dict(model.options) | {"xacro_args": given})
    except _Other:
        raise
    except (OSError, ValueError):  # the file is gone or not readable, and the joints are the same
        return
    if there is not None and _differ(there, model):
        words = " with " + " ".join(f"{name}:={value}" for name, value in given.items()) if given else ""
        raise _Other(f"{refused}{there.name}{words} has other links than that shown")


class _Other(ValueError):
    """A run is of another robot."""


def _differ(one: engine.Model, other: engine.Model) -> bool:
    """Return whether two robots with the same joints differ in the places or masses of their links."""
    pairs = [(getattr(one, name), getattr(other, name)) for name in _PLACES]
    return not all(a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in pairs)
