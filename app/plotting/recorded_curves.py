"""Curves of a recorded run, evaluated from its frames where nothing was sampled while it ran. Free of Qt."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

import engine
from app.acting.coordinates import Coordinate
from app.jobs.background import Background
from app.plotting.quantities import CONTACTS, Evaluation, Quantity, States
from app.plotting.second_quantities import SecondFrames, is_of_second
from app.recording.replay import effort_in
from app.simulation.batch_spread import recorded_model
from app.simulation.contacts import ContactForces, contact_forces

FRAMES = 4000  # largest number of a run's frames, evenly spaced, for its curves
COARSE = 16  # stride of the frames evaluated first
AT_ONCE = 32  # frames evaluated together
_NOTHING = ContactForces(np.zeros(0, int), np.zeros((0, 3)), 0, 0.0)


class Wanted(NamedTuple):
    """A request for curves of one robot's frames, from `first` to `last` of a run."""

    run: engine.Run
    first: int
    last: int
    robot: int
    quantities: tuple[Quantity, ...]
    rows: Sequence[Coordinate]
    """The model's `coordinates`."""
    second: SecondFrames | None = None
    """The second robot in these frames, if it is known."""

    def includes(self, other: Wanted) -> bool:
        """Return whether these curves include all curves of another request."""
        return self[:4] == other[:4] and set(other.quantities) <= set(self.quantities)


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves: `values` (N, quantities), SI, at `time` (N,), s; none if there is a `problem`."""

    wanted: Wanted
    time: np.ndarray
    values: np.ndarray
    over: bool = True
    problem: str = ""


class RecordedCurves:
    """Evaluates requested curves in a thread: first coarsely, then from up to `FRAMES` frames."""

    def __init__(self, recording: engine.Recording):
        self._recording = recording
        self._wanted: Wanted | None = None
        self._work: Background[Curves] = Background("recorded curves", self._failed)

    @property
    def running(self) -> bool:
        """Whether `poll` will return more."""
        return self._work.running

    def want(self, wanted: Wanted) -> None:
        """Request curves, unless the last request includes them; it is dropped otherwise."""
        if self._wanted is not None and self._wanted.includes(wanted):
            return
        self._wanted = wanted
        self._work.stop()
        self._begin()

    def forget(self) -> None:
        """Drop the request."""
        self._wanted = None
        self._work.stop()

    def poll(self) -> Curves | None:
        """Return the newest curves of the request; None if there are none since the last call."""
        curves = self._work.poll()
        if curves is None or curves.wanted is self._wanted:
            return curves
        if curves.over:
            self._begin()
        return None

    def close(self) -> None:
        """Stop the thread."""
        self._work.close()

    def _begin(self) -> None:
        if (wanted := self._wanted) is not None:
            self._work.run(lambda stop: self._evaluate(wanted, stop))

    def _failed(self, problem: str) -> Curves:
        return _none(self._wanted or Wanted(engine.Run(0), 0, 0, 0, (), ()), problem)

    def _evaluate(self, wanted: Wanted, stop: threading.Event) -> Curves:
        number = wanted.last - wanted.first + 1
        chosen = np.unique(np.linspace(wanted.first, wanted.last, min(number, FRAMES)).round().astype(int))
        for indices in (chosen[::COARSE], chosen):
            parts = []
            for start in range(0, len(indices), AT_ONCE):
                if stop.is_set():
                    return _none(wanted)
                parts.append(evaluate(self._recording, wanted, indices[start : start + AT_ONCE].tolist()))
            time, values = (np.concatenate(part) for part in zip(*parts, strict=True))
            curves = Curves(wanted, time, values, over=indices is chosen)
            if not curves.over:
                self._work.publish(curves)
        return curves


def _none(wanted: Wanted, problem: str = "") -> Curves:
    return Curves(wanted, np.zeros(0), np.zeros((0, len(wanted.quantities))), problem=problem)


class _FramePair(NamedTuple):
    """A frame and the one before it, if that is recorded."""

    frame: engine.RecordedFrame
    before: engine.RecordedFrame | None


def evaluate(recording: engine.Recording, wanted: Wanted, indices: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return times (N,), s, and values (N, quantities), SI, of the given frames that are still recorded."""
    pairs, sampled = [], recording.is_sampled(wanted.run)
    for index in indices:
        try:
            frame = recording.frame(wanted.run, index)
            before = recording.frame(wanted.run, index - 1) if index > wanted.run.first else None
        except IndexError:  # the oldest frames are dropped
            continue
        pairs.append(_FramePair(frame, before))
    times, values = [np.zeros(0)], [np.zeros((0, len(wanted.quantities)))]
    of_second = [k for k, each in enumerate(wanted.quantities) if is_of_second(each)]
    for _, group in groupby(pairs, key=lambda pair: id(pair.frame.setup)):
        states, model = _states(list(group), wanted, sampled)
        evaluation = Evaluation(model, wanted.rows, states)
        times.append(states.time)
        nothing = np.full(len(states.time), np.nan)
        own = [nothing if is_of_second(each) else evaluation.value(each) for each in wanted.quantities]
        values.append(np.stack(own, 1))
    found = np.concatenate(values)
    if of_second and wanted.second is not None:
        numbers = [pair.frame.index for pair in pairs]
        found[:, of_second] = wanted.second.values(wanted.run, numbers, [wanted.quantities[k] for k in of_second])
    return np.concatenate(times), found


def _states(pairs: Sequence[_FramePair], wanted: Wanted, sampled: bool) -> tuple[States, engine.Model]:
    """Return the robot's states in frames of one setup, and the robot as it was simulated there."""
    settings, robot = pairs[0].frame.setup.settings, wanted.robot
    robot = robot if robot < settings.batch else 0
    pulled = settings.kp[robot if len(settings.kp) > 1 else 0] > 0
    with_contacts = any(each.kind in CONTACTS for each in wanted.quantities)
    q, v, rate, effort, target, contact, logged = [], [], [], [], [], [], [pair.frame.logged for pair in pairs]
    for frame, before in pairs:
        at = frame.checkpoint
        q.append(at.q[robot].astype(float))
        v.append(at.v[robot].astype(float))
        rate.append(np.full_like(v[-1], np.nan))
        if before is not None and frame.time > before.time and (sampled or frame.setup.watched or not frame.begins):
            rate[-1] = (v[-1] - before.checkpoint.v[robot]) / (frame.time - before.time)
        effort.append(effort_in(frame, robot))
        target.append(np.where(pulled, at.target[robot], np.nan))
        contact.append(contact_in(frame, robot) if with_contacts else None)
    time = np.array([pair.frame.time for pair in pairs])
    states = States(
        time, np.stack(q), np.stack(v), np.stack(rate), np.stack(effort), np.stack(target), contact, logged
    )  # fmt: skip
    return states, recorded_model(pairs[0].frame.setup, robot)


def contact_in(frame: engine.RecordedFrame, robot: int) -> ContactForces | None:
    """Return the contact forces on a robot in a frame; None without a scene, or before the first step."""
    if (frame.begins and not frame.setup.watched) or frame.setup.settings.scene is None:
        return None
    if frame.contacts is None:
        return _NOTHING
    return contact_forces(frame.contacts, frame.setup.settings.dt, robot)
