"""The drives of single joints: a position, velocity or effort, constant, periodic or sampled; gravity compensation.

Values that change with time or state are computed before each step, so that a run after a reset, or a branch from a
recorded frame, repeats bit for bit. On a GPU gravity compensation needs a frame, and is computed every `PERIOD`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import engine
from app.simulation.attachments import Attachment, Poster
from app.simulation.batch_spread import with_masses
from app.simulation.running import Running

MODES = ("target", "velocity", "effort")
WAVES = ("constant", "sine", "step", "trajectory")
PERIOD = 0.002  # s of simulated time, counted in steps, between computations of gravity compensation on a GPU


class Samples(str):
    """Values over time as text, which sessions keep as it is: each time, s, and its value, parted by spaces.

    Raises ValueError for other texts, and for times that do not grow.
    """

    times: NDArray[np.floating]
    """(N,), s."""
    values: NDArray[np.floating]
    """(N,), SI."""

    def __new__(cls, text: str) -> Self:
        """Return the samples in a text."""
        made = super().__new__(cls, text)
        try:
            made.times, made.values = np.array(text.split(), float).reshape(-1, 2).T.copy()
        except ValueError as error:
            raise ValueError(f"the trajectory is {text[:40]!r}; expected times and values") from error
        if not (made.times.size and np.isfinite([made.times, made.values]).all() and np.all(np.diff(made.times) > 0)):
            raise ValueError(f"the trajectory is {text[:40]!r}; expected finite values at times that grow")
        return made

    @classmethod
    def of(cls, times: Sequence[float], values: Sequence[float]) -> Self:
        """Return the samples of times, s, that grow, and their values, SI."""
        return cls(" ".join(f"{t!r} {x!r}" for t, x in zip(times, values, strict=True)))

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self  # nothing of it changes

    def at(self, t: float) -> float:
        """Return the value at the time t, s: linear between two samples, and that of the first or last beyond them."""
        return float(np.interp(t, self.times, self.values))


@dataclass(frozen=True)
class Drive:
    """The drive of one joint.

    `value` is in rad or m in mode "target", the setpoint of the gains; per second in mode "velocity", held by kd; N m
    or N in mode "effort". "sine" adds ``amplitude · sin(2π t / period + phase)``, "step" adds the amplitude in the
    second half of each period, which its `phase`, rad, shifts too. "trajectory" has the values of `samples`, of which
    `value` is the first. `weight` adds the effort of gravity compensation.

    Raises ValueError for a trajectory without samples.
    """

    mode: str = "target"
    value: float = 0.0
    wave: str = "constant"
    amplitude: float = 0.0
    period: float = 2.0
    weight: bool = False
    phase: float = 0.0
    samples: str = ""

    def __post_init__(self) -> None:
        if self.wave == "trajectory" and not isinstance(self.samples, Samples):
            object.__setattr__(self, "samples", Samples(self.samples))

    @property
    def kind(self) -> str:
        """What it drives, as the window names it: "position", "velocity" or "effort"."""
        return "position" if self.mode == "target" else self.mode

    @property
    def extremes(self) -> tuple[float, float]:
        """The least and the largest value of its wave."""
        if isinstance(self.samples, Samples):
            return float(self.samples.values.min()), float(self.samples.values.max())
        ends = {"sine": (-self.amplitude, self.amplitude), "step": (0.0, self.amplitude)}.get(self.wave, (0.0, 0.0))
        return self.value + min(ends), self.value + max(ends)

    @property
    def plain(self) -> bool:
        """Whether a setpoint or an effort is set once, and nothing has to be computed."""
        return self.mode != "velocity" and self.wave == "constant" and not self.weight

    @property
    def moves(self) -> bool:
        """Whether it has to be computed repeatedly."""
        return self.wave != "constant" or self.weight

    def at(self, t: float) -> float:
        """Return the value at the time t, s."""
        if isinstance(self.samples, Samples):
            return self.samples.at(t)
        turn = t / self.period + self.phase / (2 * math.pi)
        if self.wave == "sine":
            return self.value + self.amplitude * math.sin(2 * math.pi * turn)
        if self.wave == "step":
            return self.value + self.amplitude * (turn % 1.0 >= 0.5)
        return self.value


class Drives(Attachment):
    """The drives that are not plain, by velocity index, in the simulation thread."""

    def __init__(self) -> None:
        self._model: engine.Model | None = None  # the model whose joints they drive
        self._drives: dict[int, Drive] = {}  # never changed in place, since recordings keep it
        self._due = False  # whether they are computed before the next step

    @property
    def inputs(self) -> dict[int, Drive]:
        return self._drives

    def set(self, v: int, drive: Drive, running: Running) -> None:
        """Set the drive of the joint with the velocity v."""
        self.drop(v, running)
        if drive.plain:
            running.set_one("target" if drive.mode == "target" else "tau", v, drive.value)
        else:
            self._drives = {**self._drives, v: drive}

    def drop(self, v: int, running: Running) -> None:
        """Remove the joint's drive, and set its effort to zero."""
        self._drives, self._due = {each: drive for each, drive in self._drives.items() if each != v}, True
        running.set_one("tau", v, 0.0)

    def clear(self, running: Running) -> None:
        for v in tuple(self._drives):
            self.drop(v, running)

    def continue_from(self, drives: dict[int, Drive], begins: bool) -> None:
        """Continue with the drives of a recorded frame, of which the efforts act; `begins`: they do not yet."""
        self._drives, self._due = drives, begins

    def after_jump(self, running: Running) -> None:
        if running.model is not self._model:
            self._model, self._drives = running.model, {}
        self._due = True

    def most_steps(self, running: Running) -> int | None:
        if not running.on_gpu or not self._has_weight:
            return None
        period = _period(running)
        return period - running.simulation.steps % period

    @property
    def varies(self) -> bool:
        return any(drive.moves for drive in self._drives.values())

    @property
    def _has_weight(self) -> bool:
        return any(drive.weight for drive in self._drives.values())

    def before_steps(self, running: Running, count: int) -> bool:  # noqa: ARG002
        if self._drives and (self._due or self.varies):
            self.before_next(running)
        return True

    def before_next(self, running: Running) -> None:
        simulation, tau, target = running.simulation, running.tau.copy(), running.target.copy()
        t, weights = running.next_time, None
        if self._has_weight and (self._due or not running.on_gpu or simulation.steps % _period(running) == 0):
            weights = engine.static_loads(
                with_masses(simulation.model, running.settings.masses), running.present()[0][0]
            )
        kd = np.broadcast_to(simulation.settings.kd, (len(simulation.settings.kd), len(tau)))[0]
        for v, drive in self._drives.items():
            value = drive.at(t)
            if drive.mode == "target":
                target[v] = value
            if drive.weight and weights is None:
                continue
            tau[v] = {"target": 0.0, "velocity": kd[v] * value, "effort": value}[drive.mode]
            if weights is not None and drive.weight:
                tau[v] += weights[v]
        running.set_all("tau", tau)
        running.set_all("target", target)
        self._due = False


def _period(running: Running) -> int:
    """The steps after which gravity compensation is computed again on a GPU."""
    return max(1, round(PERIOD / running.simulation.dt))


class DriveControls:
    """The window's interface to `Drives`, with a copy of its state."""

    def __init__(self, drives: Drives, worker: Poster):
        self._drives, self._worker = drives, worker
        self._known: dict[int, Drive] = {}

    @property
    def known(self) -> dict[int, Drive]:
        """The drives that are not plain, by velocity index."""
        return dict(self._known)

    def __getitem__(self, v: int) -> Drive | None:
        """Return the drive of the velocity v if it was set here and is not plain."""
        return self._known.get(v)

    def set(self, v: int, drive: Drive) -> None:
        """Set the drive of the joint with the velocity v."""
        self._known.pop(v, None)
        if not drive.plain:
            self._known[v] = drive
        self._worker.change(lambda running: self._drives.set(v, drive, running))

    def drop(self, v: int) -> None:
        """Remove a drive that is not plain."""
        if self._known.pop(v, None) is not None:
            self._worker.change(lambda running: self._drives.drop(v, running))

    def clear(self) -> None:
        """Remove all drives that are not plain."""
        self._known.clear()
        self._worker.change(self._drives.clear)

    def continue_from(self, drives: Mapping[int, Drive], begins: bool) -> None:
        """Continue with the drives of a recorded frame; `begins` as in `RecordedFrame`."""
        self._known = dict(drives)
        self._worker.change(lambda _: self._drives.continue_from(dict(drives), begins))
