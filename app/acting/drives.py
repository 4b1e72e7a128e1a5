"""What drives single joints: a target, a velocity or an effort, constant or as a wave, and the joint's weight.

What changes with time or state is worked out every `PERIOD` of simulated time, counted in steps from the last jump, so
that a run after a reset repeats bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import engine
from app.simulation.attachments import Attachment, Poster
from app.simulation.running import Running

MODES = ("target", "velocity", "effort")
WAVES = ("constant", "sine", "step")
PERIOD = 0.002  # s


@dataclass(frozen=True)
class Drive:
    """How one joint is driven.

    `value` is in rad or m for mode "target", where gains pull the joint to; per second for "velocity", which its kd
    holds; N m or N for "effort". To it a wave adds ``amplitude · sin(2π t / period)`` with "sine"; with "step" the
    amplitude from half of each period on. `weight`: the effort that carries what hangs on the joint is added.
    """

    mode: str = "target"
    value: float = 0.0
    wave: str = "constant"
    amplitude: float = 0.0
    period: float = 2.0
    weight: bool = False

    @property
    def plain(self) -> bool:
        """Whether a target or an effort is set once, and nothing has to be worked out."""
        return self.mode != "velocity" and self.wave == "constant" and not self.weight

    @property
    def moves(self) -> bool:
        """Whether it has to be worked out again and again."""
        return self.wave != "constant" or self.weight

    def at(self, t: float) -> float:
        """The value at the time t, s."""
        turn = t / self.period
        if self.wave == "sine":
            return self.value + self.amplitude * math.sin(2 * math.pi * turn)
        if self.wave == "step":
            return self.value + self.amplitude * (turn % 1.0 >= 0.5)
        return self.value


class Drives(Attachment):
    """The drives that are not plain, in the simulation's thread, by their velocities."""

    def __init__(self) -> None:
        self._model: engine.Model | None = None  # whose joints they drive
        self._drives: dict[int, Drive] = {}
        self._left = 0  # steps until they are worked out again
        self._moving = False

    def set(self, v: int, drive: Drive, running: Running) -> None:
        """Drive the joint of the velocity v from now on."""
        self.drop(v, running)
        if drive.plain:
            running.set_one("target" if drive.mode == "target" else "tau", v, drive.value)
        else:
            self._drives[v] = drive
        self._changed()

    def drop(self, v: int, running: Running) -> None:
        """Leave the joint without an effort."""
        self._drives.pop(v, None)
        running.set_one("tau", v, 0.0)
        self._changed()

    def clear(self, running: Running) -> None:
        for v in tuple(self._drives):
            self.drop(v, running)

    def _changed(self) -> None:
        self._left, self._moving = 0, any(drive.moves for drive in self._drives.values())

    def jumped(self, running: Running) -> None:
        if running.model is not self._model:
            self._model, self._drives = running.model, {}
        self._changed()

    def most(self, running: Running) -> int | None:
        if not self._moving:
            return None
        return self._left or max(1, round(PERIOD / running.simulation.dt))

    def before(self, running: Running, count: int) -> bool:  # noqa: ARG002
        if not self._drives or self._left:
            return True
        simulation, tau, target = running.simulation, running.tau.copy(), running.target.copy()
        t, *_ = running.state()
        weights: np.ndarray = 0.0 * tau
        if any(drive.weight for drive in self._drives.values()):
            weights = engine.static_loads(simulation.model, running.present()[0][0])
        kd = np.broadcast_to(simulation.settings.kd, (len(simulation.settings.kd), len(tau)))[0]
        for v, drive in self._drives.items():
            value = drive.at(t)
            tau[v] = {"target": 0.0, "velocity": kd[v] * value, "effort": value}[drive.mode]
            tau[v] += weights[v] if drive.weight else 0.0
            if drive.mode == "target":
                target[v] = value
        running.set_all("tau", tau)
        running.set_all("target", target)
        self._left = max(1, round(PERIOD / simulation.dt))
        return True

    def after(self, running: Running, count: int) -> None:  # noqa: ARG002
        self._left = max(0, self._left - count)


class DriveControls:
    """What the window's thread asks of `Drives`, and remembers of it."""

    def __init__(self, drives: Drives, worker: Poster):
        self._drives, self._worker = drives, worker
        self._known: dict[int, Drive] = {}

    @property
    def known(self) -> dict[int, Drive]:
        """Those that are not plain, by their velocities."""
        return dict(self._known)

    def __getitem__(self, v: int) -> Drive | None:
        """The drive of the velocity v, if it is one that was set here and is not plain."""
        return self._known.get(v)

    def set(self, v: int, drive: Drive) -> None:
        """Drive the joint of the velocity v from now on."""
        self._known.pop(v, None)
        if not drive.plain:
            self._known[v] = drive
        self._worker.change(lambda running: self._drives.set(v, drive, running))

    def drop(self, v: int) -> None:
        """Leave it without what is not plain."""
        if self._known.pop(v, None) is not None:
            self._worker.change(lambda running: self._drives.drop(v, running))

    def clear(self) -> None:
        """Leave all joints without what is not plain."""
        self._known.clear()
        self._worker.change(self._drives.clear)
