"""Runs in parts: files that are written one after another while runs grow, and the recording that they are together.

A part holds frames of one run that follow each other, of a branch those of its own alone. Since the newest frame of a
run may be replaced, the part after one that ended with it begins with that frame again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.model import Model
from engine.recording.files import SavedRun, frames_of, write_frames
from engine.recording.frames import StoredFrame
from engine.recording.recording import Recording, Run
from engine.recording.setup import Setup

Shapes = tuple[tuple[int, ...], ...]


def save_part(
    path: str | Path,
    recording: Recording,
    run: Run,
    settings: dict[str, Any],
    describe: Callable[[Any], Any] = lambda about: about,
    first: int = 0,
    most: int = 1000,
) -> tuple[int, int]:
    """Write frames of a run, from the index `first` on and `most` at most.

    Returns the index of the last that is written, and that from which the next part is to go on. Fewer are written
    where the number of robots changes. Of a branch the first part begins at its first own frame. The rest is as in
    `save_run`, but that nothing is compressed. Raises IndexError where the run has no such frames.
    """
    with recording._lock:
        shared = run._shared if run.left is not None else -1
        first, newest = max(first, run.own), run.last
        frames = recording.stored(run, first, most)
    if not frames:
        raise IndexError(f"run {run.number} has no frames from {first} on")
    batch = frames[0].q.shape[0]
    frames = frames[: next((k for k, frame in enumerate(frames) if frame.q.shape[0] != batch), None)]
    left = None if run.left is None or shared < 0 else [_written(recording, run.left[0]), shared]
    part = {"run": run.number, "first": first, "setup": frames[0].setup, "left": left}
    write_frames(path, frames, run, {**settings, "part": part}, describe, packed=False)
    last = first + len(frames) - 1
    return last, min(last + 1, newest)


def _written(recording: Recording, number: int) -> int:
    """The number of a run that was left; of the one that it left itself, where it has no frame of its own to write."""
    runs = {run.number: run for run in recording.runs}
    while (run := runs.get(number)) is not None and run.left is not None and run.last < run.own:
        number = run.left[0]
    return number


@dataclass
class _Joined:
    """A run as far as its parts were read; the index of its first frame, and that of the first that is its own."""

    first: int
    own: int
    left: tuple[int, int] | None = None
    frames: list[StoredFrame] = field(default_factory=list)
    setups: dict[int, tuple[Setup, Shapes]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.first + len(self.frames)


def recording_of_parts(
    parts: Iterable[SavedRun], model: Model, understand: Callable[[Any], Any] = lambda text: text
) -> Recording:
    """The runs of all parts, in the order in which `save_part` wrote them, of this robot.

    Where parts are missing a run begins after them. `understand` is the inverse of `save_part`'s `describe`. Raises
    ValueError with one sentence for what is no part, or of another robot.
    """
    runs: dict[int, _Joined] = {}
    for part in parts:
        number, first, at, left = _told(part)
        setups, shapes, frames = frames_of(part, model, understand)
        joined = runs.get(number)
        if joined is None or not max(joined.own, joined.end - 1) <= first <= joined.end:
            joined = runs[number] = _begun(runs, first, left)
        del joined.frames[first - joined.first :]
        joined.frames += [frame._replace(setup=frame.setup + at) for frame in frames] if at else frames
        joined.setups |= {at + k: each for k, each in enumerate(zip(setups, shapes, strict=True))}
    recording = Recording()
    adopted: dict[int, Run] = {}
    for number, joined in sorted(runs.items()):
        known = sorted(joined.setups)
        places = {setup: k for k, setup in enumerate(known)}
        listed, other, begin = [joined.setups[setup] for setup in known], None, 0
        if joined.left is not None and runs[joined.left[0]].first == joined.first and joined.left[0] in adopted:
            other, begin = (adopted[joined.left[0]], joined.left[1] - joined.first), joined.own - joined.first
        own = joined.frames[begin:]
        if known != list(range(len(known))):
            own = [each._replace(setup=places[each.setup]) for each in own]
        setups, shapes = [each[0] for each in listed], [each[1] for each in listed]
        adopted[number] = recording.adopt(setups, shapes, own, other, number)
    return recording


def _told(part: SavedRun) -> tuple[int, int, int, tuple[int, int] | None]:
    """What a part says of itself: its run, the index of its first frame, that of the first setup, and what was left."""
    try:
        told = part.settings["part"]
        number, first, setup = (operator.index(told[name]) for name in ("run", "first", "setup"))
        left = None if told["left"] is None else (operator.index(told["left"][0]), operator.index(told["left"][1]))
        if min(number, first, setup, *(left or ())) < 0:
            raise ValueError("a number is negative")
    except (LookupError, TypeError, ValueError) as fault:
        raise ValueError(f"{Path(part.path).name} is no part of a run ({fault})") from None
    return number, first, setup, left


def _begun(runs: dict[int, _Joined], first: int, left: tuple[int, int] | None) -> _Joined:
    """A run that begins at that frame: a branch with the frames before it, if they were read."""
    other = None if left is None else runs.get(left[0])
    if left is None or other is None or left[1] + 1 != first or not other.first <= left[1] < other.end:
        return _Joined(first, first)
    frames = other.frames[: left[1] + 1 - other.first]
    setups = {k: each for k, each in other.setups.items() if k <= frames[-1].setup}
    return _Joined(other.first, first, left, frames, setups)
