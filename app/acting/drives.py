"""The drives of single joints: a position, velocity or effort, constant or periodic, and gravity compensation.

Values that change with time or state are computed every `PERIOD` of simulated time, counted in steps from the last
jump, so that a run after a reset repeats bit for bit.
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
    """The drive of one joint.

    `value` is in rad or m in mode "target", the setpoint of the gains; per second in mode "velocity", held by kd; N m
    or N in mode "effort". "sine" adds ``amplitude · sin(2π t / period)``, "step" adds the amplitude in the second half
    of each period. `weight` adds the effort of gravity compensation.
    """

    mode: str = "target"
    value: float = 0.0
    wave: str = "constant"
    amplitude: float = 0.0
    period: float = 2.0
    weight: bool = False

    @property
    def kind(self) -> str:
        """What it drives, as the window names it: "position", "velocity" or "effort"."""
        return "position" if self.mode == "target" else self.mode

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
        turn = t / self.period
        if self.wave == "sine":
            return self.value + self.amplitude * math.sin(2 * math.pi * turn)
        if self.wave == "step":
            return self.value + self.amplitude * (turn % 1.0 >= 0.5)
        return self.value


class Drives(Attachment):
    """The drives that are not plain, by velocity index, in the simulation thread."""

    def __init__(self) -> None:
        self._model: engine.Model | None = None  # the model whose joints they drive
        self._drives: dict[int, Drive] = {}
        self._left = 0  # steps until they are computed again
        self._moving = False

    def set(self, v: int, drive: Drive, running: Running) -> None:
        """Set the drive of the joint with the velocity v."""
        self.drop(v, running)
        if drive.plain:
            running.set_one("target" if drive.mode == "target" else "tau", v, drive.value)
        else:
            self._drives[v] = drive
        self._changed()

    def drop(self, v: int, running: Running) -> None:
        """Remove the joint's drive, and set its effort to zero."""
        self._drives.pop(v, None)
        running.set_one("tau", v, 0.0)
        self._changed()

    def clear(self, running: Running) -> None:
        for v in tuple(self._drives):
            self.drop(v, running)

    def _changed(self) -> None:
        self._left, self._moving = 0, any(drive.moves for drive in self._drives.values())

    def after_jump(self, running: Running) -> None:
        if running.model is not self._model:
            self._model, self._drives = running.model, {}
        self._changed()

    def most_steps(self, running: Running) -> int | None:
        if not self._moving:
            return None
        return self._left or max(1, round(PERIOD / running.simulation.dt))

    def before_steps(self, running: Running, count: int) -> bool:  # noqa: ARG002
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

    def after_steps(self, running: Running, count: int) -> None:  # noqa: ARG002
        self._left = max(0, self._left - count)


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
