"""Sampling of plotted quantities during a simulation, in its thread, a few hundred times per simulated second."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import engine
from app.acting.coordinates import Coordinate, coordinates
from app.plotting.quantities import CONTACTS, EFFORTS, SETPOINTS, Evaluation, Quantity, States
from app.simulation.attachments import Attachment
from app.simulation.running import Running

SPACING = 0.002  # s between samples, simulated, at real-time speed
MAX_SHARE = 0.05  # largest share of the time for sampling
GATHERED = 0.03  # s after which samples are evaluated and sent
BLOCKS = 1000  # largest number of blocks waiting to be fetched; older ones are dropped


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples `values` (N, quantities), SI, of a robot of the batch at `time` (N,), s."""

    robot: int
    quantities: tuple[Quantity, ...]
    time: np.ndarray
    values: np.ndarray


class _Sample:
    """One state of the selected robot, with the further data that the quantities need."""

    __slots__ = ("contact", "effort", "logged", "q", "rate", "target", "time", "v")

    def __init__(self, running: Running, effort: bool, target: bool, contact: bool, before: _Sample | None):
        self.time, self.q, self.v = running.state()
        elapsed = self.time - before.time if before is not None else 0.0
        self.rate = (
            (self.v - before.v) / elapsed if before is not None and elapsed > 0 else np.full_like(self.v, np.nan)
        )
        self.effort = running.simulation.effort[running.robot] if effort else None
        self.target = np.where(running.pulled, running.target, np.nan) if target else None
        self.contact = running.contact_forces() if contact else None
        self.logged = running.simulation.logged


class Probe(Attachment):
    """Samples quantities of the selected robot, after steps and after other changes of its state.

    On a GPU there is one sample per frame. The interval grows where sampling takes more than `MAX_SHARE` of the time.
    """

    def __init__(self) -> None:
        self.speed = 1.0
        """The requested simulated seconds per wall second; may be set from any thread."""
        self.change: Callable[[Callable[[Running], None]], None] = lambda _: None
        """Runs a function in the simulation's thread."""
        self.quantities: tuple[Quantity, ...] = ()
        """Those that are sampled."""
        self._model: engine.Model | None = None
        self._rows: Sequence[Coordinate] = ()
        self._wants = (False, False, False)  # efforts, setpoints, contacts
        self._pending: list[_Sample] = []
        self._before: _Sample | None = None
        self._robot = 0
        self._own: engine.Model | None = None  # the sampled robot, with its own masses and gravity
        self._steps = 0  # since the last sample
        self._cost = self._spent = 0.0  # s per sample, and s spent on the pending samples so far
        self._due = 0.0
        self._blocks: deque[Samples] = deque(maxlen=BLOCKS)
        self._lock = threading.Lock()

    # From any thread.

    def take(self) -> list[Samples]:
        """Return the blocks sampled since the last call, in order."""
        with self._lock:
            blocks = list(self._blocks)
            self._blocks.clear()
        return blocks

    def watch(self, quantities: tuple[Quantity, ...]) -> None:
        """Sample these quantities of the current robot from now on."""
        self.change(partial(self.begin, quantities))

    def send(self) -> None:
        """Sample the state that steps ended at, and send the pending samples without waiting for more."""
        self.change(self._finish)

    @property
    def waits(self) -> bool:
        """Whether there are samples that have not been sent, or steps since the last one."""
        return bool(self.quantities) and (bool(self._pending) or self._steps > 0)

    # In the simulation's thread.

    def begin(self, quantities: Sequence[Quantity], running: Running) -> None:
        """Sample these quantities from now on, beginning at once."""
        if running.model is self._model:
            self.flush(running)
        kinds = {each.kind for each in quantities}
        if running.model is not self._model:
            self._model, self._rows = running.model, coordinates(running.model)
        self.quantities = tuple(quantities)
        self._cost = 0.0
        self._wants = bool(kinds & EFFORTS), bool(kinds & SETPOINTS), bool(kinds & CONTACTS)
        self.after_jump(running)

    def most_steps(self, running: Running) -> int | None:
        if not self.quantities or running.on_gpu:
            return None
        return max(1, self._stride(running) - self._steps)

    def after_steps(self, running: Running, count: int) -> None:
        if not self.quantities:
            return
        self._steps += count
        if running.on_gpu or running.robot != self._robot or self._steps >= self._stride(running):
            self._sample(running)
        if time.perf_counter() > self._due:
            self.flush(running)

    def after_jump(self, running: Running) -> None:
        if running.model is not self._model:  # the new model has none of these
            self.quantities, self._pending = (), []
        if self.quantities:
            self.flush(running)
            self._before, cost = None, self._cost
            self._sample(running)
            self.flush(running)
            self._cost = cost  # a single sample costs more

    def _stride(self, running: Running) -> int:
        """Return the number of steps between samples."""
        seconds = self.speed * max(SPACING, self._cost / MAX_SHARE)
        return max(1, round(seconds / running.simulation.dt))

    def _sample(self, running: Running) -> None:
        began = time.perf_counter()
        if running.robot != self._robot:
            self.flush(running)
            self._robot, self._before = running.robot, None
        self._steps, own_model = 0, running.own_model
        if own_model is not self._own:
            self.flush(running)
            self._own = own_model
        self._before = _Sample(running, *self._wants, self._before)
        self._pending.append(self._before)
        self._spent += time.perf_counter() - began

    def _finish(self, running: Running) -> None:
        if self.quantities and self._steps > 0:
            self._sample(running)
        self.flush(running)

    def flush(self, running: Running) -> None:  # noqa: ARG002, as `change` has it
        """Evaluate the pending samples, of the robot as it was sampled, and send them."""
        self._due = time.perf_counter() + GATHERED
        if not self._pending or self._own is None:
            return
        began, pending, self._pending = time.perf_counter(), self._pending, []
        times = np.array([each.time for each in pending])
        evaluation = Evaluation(self._own, self._rows, _states(times, pending))
        values = np.stack([evaluation.value(each) for each in self.quantities], 1)
        block = Samples(self._robot, self.quantities, times, values)
        with self._lock:
            self._blocks.append(block)
        if len(pending) > 1 or self._cost:  # a first evaluation takes longer
            cost = (self._spent + time.perf_counter() - began) / len(pending)
            self._cost = (self._cost + cost) / 2 if self._cost else cost
        self._spent = 0.0


def _states(times: np.ndarray, samples: Sequence[_Sample]) -> States:
    def stack(name: str) -> np.ndarray | None:
        first = getattr(samples[0], name)
        return None if first is None else np.stack([getattr(each, name) for each in samples])

    q, v, rate = (np.stack([getattr(each, name) for each in samples]) for name in ("q", "v", "rate"))
    return States(
        times,
        q,
        v,
        rate,
        stack("effort"),
        stack("target"),
        [each.contact for each in samples],
        [each.logged for each in samples],
    )
