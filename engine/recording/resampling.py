"""`resample`: simulate a recorded run again, with a frame at each step or at an interval, and its efforts."""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import NamedTuple

import numpy as np

from engine.device_arrays import to_host
from engine.recording.frames import restore
from engine.recording.inputs import act
from engine.recording.packing import Array
from engine.recording.recording import Recording
from engine.recording.run import Run
from engine.recording.setup import Setup
from engine.simulation import Simulation

LIMIT = 2 * 2**30
"""Maximum bytes of the frames."""


class Resampled(NamedTuple):
    """A run in a recording of its own; `effort` (batch, frames, nv), N m or N, is that of the drives in the last step.

    With the integrator "implicit" it is the effort at the end of the step, else at its start. A frame that begins a
    simulation has the effort in its state.
    """

    recording: Recording
    run: Run
    effort: Array


def resample(
    recording: Recording,
    run: Run,
    interval: float | None = None,
    look_up: Callable[[float], None] = lambda _: None,
    span: tuple[float, float] | None = None,
) -> Resampled:
    """Return the run with a frame at each step, or at the steps closest to multiples of `interval`, s.

    All inputs are applied again, so states common to both runs agree to the bit. Frames at which a simulation was
    changed (moved by hand, other settings) are kept too. If the batch size changed, the run begins with the last size.
    `look_up` is called with the time, s, of each frame of `run`. A `span`, s, leaves out what is before and after;
    it begins and ends at the last recorded frames up to these times.

    Raises ValueError if the frames would exceed `LIMIT` bytes, IndexError if the oldest frames of `run` are dropped
    meanwhile, and any exception of `Simulation`, for example if its GPU is missing.
    """
    if interval is not None and not interval > 0:
        raise ValueError(f"interval is {interval!r}; expected a time above 0, s, or None for each step")
    resampling = _Resampling(recording, run, interval, span)
    for index in range(resampling.first, resampling.last + 1):
        resampling.follow(index)
        look_up(resampling.time)
    return resampling.made()


def first_of(recording: Recording, run: Run) -> int:
    """Return the frame at which resampling starts: the first with the same number of robots as the last."""
    first, batch = run.last, _batch(recording, run, run.last)
    while first > run.first and _batch(recording, run, first - 1) == batch:
        first -= 1
    return first


def _batch(recording: Recording, run: Run, index: int) -> int:
    return int(recording.frame(run, index).checkpoint.q.shape[0])


class _Resampling:
    """A simulation that repeats a recorded one, and its recording."""

    def __init__(self, recording: Recording, run: Run, interval: float | None, span: tuple[float, float] | None):
        self._source, self._run, self._interval = recording, run, interval
        self.first, self.last = first_of(recording, run), run.last
        if span is not None:
            self.first = max(self.first, recording.at(run, span[0]))
            self.last = max(self.first, recording.at(run, span[1]))
        self._frame = recording.frame(run, self.first)
        self._simulation: Simulation | None = None
        self._setup: Setup | None = None
        self._recording = Recording(LIMIT)
        self._effort: dict[int, Array] = {}  # by the frame's index

    @property
    def time(self) -> float:
        return self._frame.time

    def made(self) -> Resampled:
        (run,) = self._recording.runs
        return Resampled(self._recording, run, np.stack([self._effort[k] for k in range(len(run))], 1))

    def follow(self, index: int) -> None:
        """Advance to a frame of the recorded run."""
        with self._source.lock:  # the newest frame of a running run may be replaced
            self._frame = self._source.frame(self._run, index)
            changes = self._source.stored(self._run, index, 1)[0].changes
        following = self._source.frame(self._run, index + 1) if index < self.last else None
        left = following is not None and following.begins  # no step starts from here
        replaced = left and following is not None and following.time == self.time
        end = self._frame.checkpoint.steps
        if self._simulation is None or self._frame.begins:
            if not replaced and (index == self.first or not left or self._is_wanted(end)):
                self._begin()
            return
        limit = end - 1 if replaced else end
        for steps, inputs in changes:
            self._advance(self._simulation, steps, limit)
            act(self._simulation, inputs)
            self._recording.note(self._simulation)
        self._advance(self._simulation, end, limit)

    def _begin(self) -> None:
        """Continue from a state that does not follow from the previous frame by steps."""
        checkpoint, setup, is_first = self._frame.checkpoint, self._frame.setup, self._simulation is None
        is_other, self._setup = setup is not self._setup, setup
        simulation = setup.simulation() if self._simulation is None or is_other else self._simulation
        self._simulation = simulation
        restore(simulation, checkpoint)
        simulation.logged = self._frame.logged
        if is_first:
            self._recording.begin(simulation, self.time, setup.about, setup.watched)
        elif is_other:
            self._recording.go_on(simulation, self.time, setup.about, setup.watched)
        else:
            self._recording.add(simulation, begins=True)
        self._keep(simulation.effort)

    def _advance(self, simulation: Simulation, end: int, limit: int) -> None:
        """Advance to step `end`, with a frame after each wanted step, up to `limit`."""
        after = None
        while simulation.steps < end:
            start = simulation.steps
            steps = next(filter(self._is_wanted, range(start + 1, min(end, limit) + 1)), None)
            if (count := (end if steps is None else steps - 1) - start) > 0:
                simulation.step(count)
                after = None
            if steps is not None:
                before = simulation.state() if after is None else after
                simulation.step(1)
                after = simulation.state()
                tau, target = (to_host(x).astype(float) for x in (simulation.tau, simulation.target))
                self._recording.add(simulation)
                self._keep(simulation.settings.applied(before, after, tau, target))

    def _is_wanted(self, steps: int) -> bool:
        """Whether this step is the closest to a multiple of the interval."""
        if self._interval is None:
            return True
        time, half = self._frame.setup.time(steps), self._frame.setup.settings.dt / 2
        before, after = (floor((time + offset) / self._interval + 1e-9) for offset in (-half, half))
        return after > before

    def _keep(self, effort: Array) -> None:
        (run,) = self._recording.runs
        if run.first:
            raise ValueError(f"its frames would take more than {LIMIT / 2**30:.0f} GB; export it at a longer interval")
        self._effort[run.last] = effort
