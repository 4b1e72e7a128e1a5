"""Runs in parts: files written while runs grow, and the recording assembled from them.

A part contains consecutive frames of one run; of a branch, only its own frames. Since a run's newest frame may be
replaced, the next part begins with that frame again.
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
from engine.recording.recording import Recording
from engine.recording.run import Run, Shapes
from engine.recording.setup import Setup


def save_part(
    path: str | Path,
    recording: Recording,
    run: Run,
    settings: dict[str, Any],
    describe: Callable[[Any], Any] = lambda about: about,
    first: int = 0,
    most: int = 1000,
) -> tuple[int, int]:
    """Write frames of a run, from the index `first` on and at most `most`.

    Return the index of the last frame written, and that from which to continue. Fewer are written if the number of
    robots changes. A branch's first part begins at its first own frame. Otherwise as `save_run`, but without
    compression. Raises IndexError if the run has no such frames.
    """
    with recording.lock:
        shared = run.shared if run.left is not None else -1
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
    """Return the number of the run that was left; if it has no own frame to write, of the one that it left."""
    runs = {run.number: run for run in recording.runs}
    while (run := runs.get(number)) is not None and run.left is not None and run.last < run.own:
        number = run.left[0]
    return number


@dataclass
class _Joined:
    """A run as far as its parts were read; the indices of its first frame, and of its first own frame."""

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
    """Assemble the runs of all parts of this robot, in the order in which `save_part` wrote them.

    If parts are missing, a run begins after them. `understand` is the inverse of `save_part`'s `describe`. Raises
    ValueError with one sentence for a file that is not a part or is of another robot.
    """
    runs: dict[int, _Joined] = {}
    for part in parts:
        number, first, shift, left = _reported(part)
        setups, shapes, frames = frames_of(part, model, understand)
        joined = runs.get(number)
        if joined is None or not max(joined.own, joined.end - 1) <= first <= joined.end:
            joined = runs[number] = _begun(runs, first, left)
        del joined.frames[first - joined.first :]
        joined.frames += [frame._replace(setup=frame.setup + shift) for frame in frames] if shift else frames
        joined.setups |= {shift + k: each for k, each in enumerate(zip(setups, shapes, strict=True))}
    recording = Recording()
    adopted: dict[int, Run] = {}
    for number, joined in sorted(runs.items()):
        used = sorted(joined.setups)
        places = {setup: k for k, setup in enumerate(used)}
        listed, other, begin = [joined.setups[setup] for setup in used], None, 0
        if joined.left is not None and runs[joined.left[0]].first == joined.first and joined.left[0] in adopted:
            other, begin = (adopted[joined.left[0]], joined.left[1] - joined.first), joined.own - joined.first
        own_frames = joined.frames[begin:]
        if used != list(range(len(used))):
            own_frames = [each._replace(setup=places[each.setup]) for each in own_frames]
        setups, shapes = [each[0] for each in listed], [each[1] for each in listed]
        adopted[number] = recording.adopt(setups, shapes, own_frames, other, number)
    return recording


def _reported(part: SavedRun) -> tuple[int, int, int, tuple[int, int] | None]:
    """Return a part's header: its run, the indices of its first frame and first setup, and the run it left."""
    try:
        head = part.settings["part"]
        number, first, setup = (operator.index(head[name]) for name in ("run", "first", "setup"))
        left = None if head["left"] is None else (operator.index(head["left"][0]), operator.index(head["left"][1]))
        if min(number, first, setup, *(left or ())) < 0:
            raise ValueError("a number is negative")
    except (LookupError, TypeError, ValueError) as problem:
        raise ValueError(f"{Path(part.path).name} is not a part of a run ({problem})") from None
    return number, first, setup, left


def _begun(runs: dict[int, _Joined], first: int, left: tuple[int, int] | None) -> _Joined:
    """Return a run that begins at that frame; a branch includes the previous frames, if they were read."""
    other = None if left is None else runs.get(left[0])
    if left is None or other is None or left[1] + 1 != first or not other.first <= left[1] < other.end:
        return _Joined(first, first)
    frames = other.frames[: left[1] + 1 - other.first]
    setups = {k: each for k, each in other.setups.items() if k <= frames[-1].setup}
    return _Joined(other.first, first, left, frames, setups)
