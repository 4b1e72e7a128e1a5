"""The joints' drives in the workbench: positions, setpoints and gains."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting.coordinates import Coordinate
from app.acting.drives import Drive, DriveControls
from app.acting.undoing import Undoing, on_or_off, undoable
from app.recording.replay import Replay
from app.simulation.messages import Settings
from app.simulation.running import Running, gains_of, softening
from app.simulation.worker import Worker


class JointDriving(Undoing):
    """The part of a `Workbench` that drives its joints."""

    playing: bool
    time: float
    replay: Replay
    drives: DriveControls
    _worker: Worker
    _grabbed: int | None
    _suspended: tuple[engine.Model | None, Settings, dict[int, Drive]] | None
    """The model, settings and drives that `set_held` suspended."""

    def _configure(self, settings: Settings) -> None:
        raise NotImplementedError

    @undoable(lambda bench, index, value: bench.told_of_pose(index, value), steady=True)
    def set_coordinate(self, index: int, value: float) -> NDArray[np.floating] | None:
        """Set coordinate `index` of `coordinates` to `value`, rad or m, at rest; during play set its setpoint.

        The value is clamped to the joint's limits. At time zero it also changes the pose that `reset` restores. During
        play a joint without gains is held from then on, until `release`. Returns q (nq,) unless playing.

        Raises ValueError for a mimic coordinate, and during play for one that no gains can hold.
        """
        row = self.coordinates[index]
        if self.replay.active:
            raise ValueError(f"{self.replay.reason}; to move joints {self.replay.ways_on}")
        if row.leader is not None:
            raise ValueError(f"{row.name} follows {row.leader}; move {row.leader} instead")
        value = min(max(value, row.lower), row.upper) if row.limited else value
        if not self.playing:
            if self.time == 0:
                row.put(self.initial, value)
            if row.component is None:
                self._worker.set_coordinate(row.q, row.v, value)
            else:
                self._worker.set_rotation(partial(row.put, value=value), row.v)
            self._set.pop(index, None)
            q = self._here
            row.put(q, value)
            self._placed = q
            return q
        if not row.holdable:
            raise ValueError(f"{row.name} has no position drive; pause to set it by hand")
        if not self.is_held(index):
            grabbed = self.mode(index) == "effort"
            self.drive(index, by_effort=False)
            self._grabbed = index if grabbed else None
        self.set_drive(index, value)
        return None

    def release(self, index: int) -> None:
        """Release coordinate `index`, if `set_coordinate` had to hold it."""
        if self._grabbed == index:
            self.drive(index, by_effort=True)

    @undoable(lambda _, on: f"Hold {on_or_off(on)}")
    def set_held(self, on: bool) -> None:
        """Hold every joint at its position by gains, or release all; `on` restores what releasing suspended."""
        self._grabbed = None
        model, settings, drives = self._suspended or (None, self.settings, {})
        now, known = self.settings, self.drives.known
        self._set.clear()
        self.drives.clear()
        if on and model is self.model:
            self._suspended = None
            self._configure(replace(now, held=True, driven=settings.driven, by_velocity=settings.by_velocity))
            for v, drive in drives.items():
                self.drives.set(v, drive)
            return
        self._suspended = (self.model, now, known) if now.held and not on else None
        self._configure(replace(now, held=on, driven=frozenset(), by_velocity=frozenset()))

    @property
    def suspended(self) -> int:
        """The number of joints whose own drive `set_held` will restore."""
        return 0 if self._suspended is None else len(self._suspended[2])

    @undoable(lambda bench, index, by_effort: f"{'Release' if by_effort else 'Hold'} {bench.coordinates[index].label}")
    def drive(self, index: int, by_effort: bool) -> None:
        """Drive coordinate `index` by effort alone, or hold it by gains at its position."""
        self._grabbed = None
        self._set.pop(index, None)
        own = frozenset(self.coordinates[index].v)
        before = self.settings
        every = frozenset(v for row in self.coordinates if row.holdable for v in row.v)
        driven = before.driven if before.held else every
        driven = driven | own if by_effort else driven - own
        self.drives.drop(self.coordinates[index].effort_v)
        self._configure(replace(before, driven=driven, by_velocity=before.by_velocity - own, held=bool(every - driven)))
        if not by_effort and before.by_velocity & own:
            self._worker.change(partial(_aim, own))

    def is_held(self, index: int) -> bool:
        """Whether gains hold coordinate `index` at a setpoint."""
        return self.mode(index) == "target"

    def mode(self, index: int) -> str:
        """Return the drive mode of coordinate `index`, one of `MODES`; "" if it has no drive."""
        row, settings = self.coordinates[index], self.settings
        if not row.driveable:
            return ""
        if not (settings.held and row.holdable) or row.effort_v in settings.driven:
            return "effort"
        return "velocity" if row.effort_v in settings.by_velocity else "target"

    @property
    def held_rows(self) -> frozenset[int]:
        """The indices of all coordinates that gains hold."""
        return frozenset(index for index in range(len(self.coordinates)) if self.is_held(index))

    @undoable(lambda bench, index, _: bench.told_of_drive(index), steady=True)
    def set_drive(self, index: int, value: float) -> None:
        """Set the value of coordinate `index` in its drive mode: rad or m, per second, or N m or N.

        It is clamped to the joint's limits. The rest of the drive is unchanged.
        """
        row = self.coordinates[index]
        if self.replay.active:
            return
        if not row.driveable:
            raise ValueError(f"{row.name} follows another joint and has no drive of its own")
        drive = self.drives[row.effort_v] or Drive(self.mode(index))
        self._set[index] = within(row, replace(drive, value=value))
        self.drives.set(row.effort_v, self._set[index])

    def drive_of(self, index: int) -> Drive:
        """Return the drive of coordinate `index`; a plain drive has the value of the newest frame."""
        row, mode, frame = self.coordinates[index], self.mode(index), self.newest
        if (drive := self.drives[row.effort_v]) is not None:
            return drive
        of_mode = None if frame is None else {"target": frame.target, "effort": frame.tau}.get(mode)
        return Drive(mode or "effort", 0.0 if of_mode is None else float(of_mode[row.effort_v]))

    @undoable(lambda bench, index, _: bench.told_of_drive(index))
    def set_joint_drive(self, index: int, drive: Drive) -> None:
        """Set the drive of coordinate `index`, within the joint's limits.

        Raises ValueError for a coordinate without a drive, and for gains where none are possible.
        """
        row = self.coordinates[index]
        if not row.driveable or (drive.mode != "effort" and not row.holdable):
            raise ValueError(f"{row.name} has no drive that could hold a {drive.mode}")
        if drive.mode != self.mode(index):
            self.drive(index, by_effort=drive.mode == "effort")
        if drive.mode == "velocity":
            self._configure(replace(self.settings, by_velocity=self.settings.by_velocity | frozenset(row.v)))
        self._set[index] = within(row, drive)
        self.drives.set(row.effort_v, self._set[index])

    def gains(self, index: int) -> tuple[float, float]:
        """Return kp, N m/rad or N/m, and kd, N m s/rad or N s/m, of coordinate `index` when gains hold it."""
        v = self.coordinates[index].effort_v
        kp, kd = gains_of(self.model, replace(self.settings, held=True, driven=frozenset(), by_velocity=frozenset()))
        return float(kp[v]), float(kd[v])

    @property
    def softest(self) -> tuple[str, float]:
        """The joint held by automatic gains that the integrator and step soften most, and the factor.

        ("", 1.0) if none is softened, as with the implicit integrator.
        """
        settings = self.settings
        if self.model is None or settings.integrator == "implicit" or not settings.held:
            return "", 1.0
        factor, own = softening(self.model, settings.dt, settings.integrator), {v for v, *_ in settings.gains}
        held = [row for k, row in enumerate(self.coordinates) if self.is_held(k) and row.effort_v not in own]
        worst = max(held, key=lambda row: factor[row.effort_v], default=None)
        return ("", 1.0) if worst is None else (worst.name, float(factor[worst.effort_v]))

    @undoable(lambda bench, index, gains: bench.told_of_gains(index, gains))
    def set_gains(self, index: int, gains: tuple[float, float] | None) -> None:
        """Set kp and kd of coordinate `index`; None for automatic gains."""
        v = self.coordinates[index].effort_v
        others = [each for each in self.settings.gains if each[0] != v]
        own = [] if gains is None else [(v, *gains)]
        self._configure(replace(self.settings, gains=tuple(sorted([*others, *own]))))

    def told_of_pose(self, index: int, value: float) -> str:
        """Return the undo text for the new position of coordinate `index`."""
        row = self.coordinates[index]
        return f"Move {row.label} to {row.shown(min(max(value, row.lower), row.upper) if row.limited else value)}"

    def told_of_drive(self, index: int) -> str:
        """Return the undo text for the new drive of coordinate `index`."""
        row, drive = self.coordinates[index], self._set[index]
        wave = "" if drive.wave == "constant" else f"{drive.wave} about "
        kind = "position" if drive.mode == "target" else drive.mode
        return f"Drive {row.label}: {kind} {wave}{row.shown(drive.value, drive.mode)}"

    def told_of_gains(self, index: int, gains: tuple[float, float] | None) -> str:
        """Return the undo text for the gains of coordinate `index`."""
        label = self.coordinates[index].label
        return f"Automatic gains of {label}" if gains is None else f"Gains of {label}: {gains[0]:.4g}, {gains[1]:.4g}"


def within(row: Coordinate, drive: Drive) -> Drive:
    """Return the drive with its value clamped to the joint's limits."""
    low, high = row.reach(drive.mode)
    return replace(drive, value=min(max(drive.value, low), high))


def _aim(v: frozenset[int], running: Running) -> None:
    """Hold these velocities' joints at their current positions."""
    which = np.zeros(len(running.tau), bool)
    which[sorted(v)] = True
    running.hold(which)
