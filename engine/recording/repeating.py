"""Repeat a saved run, and compare it with the file bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from engine.model import Model
from engine.recording.files import SavedRun, recording_of
from engine.recording.frames import RecordedFrame
from engine.recording.packing import Array, same_bits
from engine.recording.setup import Setup
from engine.simulation import Diverged

MAX_STEPS = 10**10
"""Maximum number of steps to repeat, which takes hours."""
_State = tuple[Array, Array]
"""q (batch, nq) and v (batch, nv)."""


@dataclass(frozen=True)
class Repeated:
    """The result of repeating a file: `differs` is the time (s) of its first state with other bits, else None."""

    setup: Setup
    samples: int
    steps: int
    differs: float | None
    farthest: float
    """The largest difference between numbers of that state."""
    placed: int = 0
    """The number of states after the first to which no steps lead, and which are therefore not compared."""


def repeat(saved: SavedRun, model: Model) -> Repeated:
    """Repeat the run of a file, of this robot.

    Raises ValueError with one sentence if the file lacks inputs or steps, or is of another robot, and any exception
    of `Simulation`, for example if the required GPU is missing.
    """
    if "study" in saved.settings and "sample" in saved.settings:
        raise ValueError(
            f"{Path(saved.path).name} was written by a study, without the inputs of its steps; repeat sample "
            f"{saved.settings['sample']!r:.20} by Open run in the window's Study panel, or by engine.Study.trajectory"
        )
    recording = recording_of(saved, model)
    (run,) = recording.runs
    frames = [recording.frame(run, index) for index in range(run.first, run.last + 1)]
    counts, setup = [frame.checkpoint.steps for frame in frames], frames[0].setup
    states = [(frame.checkpoint.q, frame.checkpoint.v) for frame in frames]
    repeated: Iterator[_State]
    placed = 0
    if "setups" in saved.arrays:
        steps = sum(b - a for (a, b), frame in zip(pairwise(counts), frames[1:], strict=True) if not frame.begins)
        placed = sum(after.begins and not _are_one(before, after) for before, after in pairwise(frames))
        if placed and not steps:
            raise ValueError(
                f"{Path(saved.path).name} has {len(frames)} states and no steps between them, as a file of `main.py "
                "run` that the window opened and exported again; repeat the file that it opened"
            )
        repeated = ((checkpoint.q, checkpoint.v) for _, checkpoint in recording.resimulate(run, run.first))
    else:
        steps, repeated = counts[-1], _run_again(saved, setup, counts, states[0])
        _require_every(saved, counts, setup.settings.dt)
    if steps > MAX_STEPS:
        raise ValueError(f"{Path(saved.path).name} has {steps:.3g} steps; at most {MAX_STEPS:.3g} can be repeated")
    for frame, recorded, computed in zip(frames[1:], states[1:], repeated, strict=True):
        if not all(map(same_bits, recorded, computed)):
            deviation = max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(recorded, computed, strict=True))
            return Repeated(setup, len(frames), steps, frame.time, deviation, placed)
    return Repeated(setup, len(frames), steps, None, 0.0, placed)


def _are_one(before: RecordedFrame, after: RecordedFrame) -> bool:
    """Whether frames have the same time and state, as where other settings began."""
    a, b = before.checkpoint, after.checkpoint
    return before.time == after.time and same_bits(a.q, b.q) and same_bits(a.v, b.v)


def _require_every(saved: SavedRun, counts: list[int], dt: float) -> None:
    """Raise ValueError unless the steps between states agree with the file's count."""
    every = saved.settings.get("every", 1)
    for before, count in pairwise(counts):
        if count - before != every:
            raise ValueError(
                f"{Path(saved.path).name} declares {every!r:.80} steps from each state to the next, and its times of "
                f"{count - before} steps of {dt:g} s"
            )


def _run_again(saved: SavedRun, setup: Setup, counts: list[int], start: _State) -> Iterator[_State]:
    """Return the states after the first of a run of `main.py run`, at these numbers of steps."""
    simulation, model = setup.simulation(), setup.model
    simulation.reset(*start)
    scalar = model.q_of_v >= 0
    simulation.target[:, scalar] = simulation.array(start[0][:, model.q_of_v[scalar]])
    controls = _controls(saved, setup, counts[-1])
    for begin, end in pairwise(counts):
        part = None if controls is None else simulation.array(np.ascontiguousarray(controls[:, begin:end]))
        try:
            simulation.advance(end - begin, part)
            simulation.check()
        except Diverged as error:
            raise ValueError(f"{Path(saved.path).name} came to {end} steps, and now {error}") from None
        yield simulation.state()


def _controls(saved: SavedRun, setup: Setup, steps: int) -> Array | None:
    """(1 or batch, steps, nv), or None for a run without inputs."""
    name = Path(saved.path).name
    if "controls" in saved.arrays:
        controls = np.asarray(saved.arrays["controls"], float)
        controls = controls[None] if controls.ndim == 2 else controls
        nv, rows = setup.model.nv, (1, setup.settings.batch)
        if controls.ndim != 3 or len(controls) not in rows or controls.shape[1] < steps or controls.shape[2] != nv:
            raise ValueError(f"{name} has controls of shape {controls.shape}; expected (1, {steps} or more, {nv})")
        return controls[:, :steps]
    if np.any(saved.trajectory.tau):
        raise ValueError(f"{name} does not say what drove each of its steps; it has no controls")
    return None
