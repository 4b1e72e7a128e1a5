"""The numbers that colour a batch besides energy and deviation: a plotted quantity, or each robot's own parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting.coordinates import Coordinate
from app.jobs.background import Background
from app.picture.crowd import COLORINGS, ENERGY
from app.plotting.batch_values import batch_values
from app.plotting.catalogue import Catalogue
from app.plotting.quantities import LOGGED, Quantity, Unit
from app.plotting.second_quantities import is_sampled
from app.simulation.batch_spread import factors
from app.simulation.messages import Snapshot
from app.workbench import Workbench

MASS, FRICTION = "moving mass", "joint friction"
GRAM, PERCENT = Unit("g"), Unit("%", prefixes=False)
PAUSE = 3.0  # times as long as an evaluation takes, before the next begins: it shares the interpreter with the window
TOTAL_ENERGY = "robot//total energy/"


class _Wanted(NamedTuple):
    """What is evaluated: numbers of the name `coloring` in the frame `number` of a run."""

    coloring: str
    run: engine.Run
    number: int


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Numbers of each robot, (robots,), SI; none if there is a problem."""

    wanted: _Wanted | None
    values: NDArray[np.float64]
    over: bool = True


class BatchColors:
    """Evaluates the numbers of all robots in a thread, from recorded frames."""

    def __init__(self, bench: Workbench):
        self._bench = bench
        self._quantities: dict[str, Quantity] = {}
        self._wanted: _Wanted | None = None
        self._due = 0.0
        self._catalogue = Catalogue()
        self._work: Background[_Numbers] = Background("colours of a batch", lambda _: _Numbers(None, np.zeros(0)))

    def offer(self, catalogue: Catalogue, plotted: Sequence[Quantity]) -> tuple[str, ...]:
        """Take the robot's quantities and the plotted ones; return the names that colour a batch."""
        self._catalogue = catalogue
        of_robots = (each for each in plotted if is_sampled(each) and each.subject != LOGGED)
        self._quantities = {each.label: each for each in of_robots if not each.relative}
        return (*COLORINGS, MASS, FRICTION, *(each for each in self._quantities if each not in COLORINGS))

    def unit(self, coloring: str) -> Unit:
        """Return the unit of the numbers of that name."""
        own = {MASS: GRAM, FRICTION: PERCENT}
        return own[coloring] if coloring in own else self._quantities[coloring].unit

    def want(self, coloring: str, frame: Snapshot) -> bool:
        """Request the numbers of that name in the frame that is shown; return whether the last ones are of it."""
        replay, values_in = self._bench.replay, self._values_in(coloring, frame.recorded)
        run = replay.run if frame.recorded else replay.newest
        if values_in is None or run is None or not len(run):
            return True
        number = run.last if not frame.recorded or replay.frame is None else replay.frame.index
        wanted = _Wanted(coloring, run, number)
        if wanted == self._wanted or self._work.running or time.perf_counter() < self._due:
            return wanted == self._wanted and not self._work.running
        self._wanted, recording = wanted, replay.recording

        def evaluate(_: object) -> _Numbers:
            began = time.perf_counter()
            try:
                before = recording.frame(run, number - 1) if number > run.first else None
                values = values_in(recording.frame(run, number), before)
            except IndexError:  # the oldest frames are dropped
                values = np.zeros(0)
            self._due = time.perf_counter() + PAUSE * (time.perf_counter() - began)
            return _Numbers(wanted, values)

        self._work.run(evaluate)
        return False

    def forget(self) -> None:
        """Drop the request."""
        self._wanted = None

    def poll(self) -> NDArray[np.float64] | None:
        """Return the numbers evaluated since the last call, (robots,), SI; None if there are none of the request."""
        found = self._work.poll()
        return None if found is None or found.wanted is not self._wanted else found.values

    def values(self, coloring: str, frame: engine.RecordedFrame) -> NDArray[np.float64] | None:
        """Return the numbers of that name in a recorded frame at once; None for own colours and deviations."""
        values_in = self._values_in(coloring, recorded=True)
        return None if values_in is None else values_in(frame, None)

    def close(self) -> None:
        """Stop the thread."""
        self._work.close()

    def _values_in(
        self, coloring: str, recorded: bool
    ) -> Callable[[engine.RecordedFrame, engine.RecordedFrame | None], NDArray[np.float64]] | None:
        """Return what evaluates the numbers of a frame; None for those that each state has.

        Recorded frames have no energies.
        """
        if coloring in (MASS, FRICTION):
            return lambda frame, _: _own(coloring, frame)
        quantity = self._quantities.get(coloring)
        if coloring == ENERGY:
            quantity = self._catalogue.named(TOTAL_ENERGY) if recorded else None
        if quantity is None:
            return None
        rows: Sequence[Coordinate] = self._bench.robot.coordinates
        return lambda frame, before: batch_values(frame, before, quantity, rows)


def _own(name: str, frame: engine.RecordedFrame) -> NDArray[np.float64]:
    """Return each robot's moving mass, g, or the mean of its joints' friction, percent of the file's."""
    robots, model, parameters = len(frame.checkpoint.q), frame.setup.model, frame.setup.settings.parameters
    if name == MASS:
        mass = np.full(robots, model.mass.sum()) if parameters is None else np.asarray(parameters.mass).sum(1)
        return np.asarray(1e3 * mass, float)
    if parameters is None:
        return np.full(robots, 100.0)
    of_each = [factors(model, parameters.robot(k)) for k in range(robots)]
    return np.array([100 * each.mean() if len(each) else 100.0 for each in of_each])
