"""Driving the joints: positions, setpoints and gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting.configuring import Configuring
from app.acting.coordinates import Coordinate, rows_of
from app.acting.drives import Drive
from app.acting.loaded_robot import LoadedRobot
from app.acting.saved_poses import joints_of_robot
from app.acting.undoing import Actions, on_or_off, undoable
from app.recording.replay import Replay
from app.simulation.batch_spread import OwnJoint, with_joints
from app.simulation.messages import Settings
from app.simulation.running import Running, gains_of, softening
from app.simulation.worker import Worker

HOLD_OR_PAUSE = "switch Hold on, or pause the simulation"


def clamp_drive(row: Coordinate, drive: Drive) -> Drive:
    """Return the drive with its value clamped to the joint's limits."""
    low, high = row.reach(drive.mode)
    return replace(drive, value=min(max(drive.value, low), high))


def _pose_text(robot: LoadedRobot, index: int, value: float) -> str:
    row = robot.coordinates[index]
    return f"Move {row.label} to {row.format(clamp_drive(row, Drive(value=value)).value)}"


def _drive_text(robot: LoadedRobot, index: int, _: object) -> str:
    row, drive = robot.coordinates[index], robot.newly_set.get(index) or robot.drive_of(index)
    wave = "" if drive.wave == "constant" else f"{drive.wave} about "
    if drive.wave == "trajectory":
        return f"Drive {row.label}: trajectory"
    return f"Drive {row.label}: {drive.kind} {wave}{row.format(drive.value, drive.mode)}"


def _gains_text(robot: LoadedRobot, index: int, gains: tuple[float, float] | None, *others: int) -> str:
    label = f"{1 + len(others)} joints" if others else robot.coordinates[index].label
    return f"Automatic gains of {label}" if gains is None else f"Gains of {label}: {gains[0]:.4g}, {gains[1]:.4g}"


def _own_text(robot: LoadedRobot, own: Mapping[int, OwnJoint | None]) -> str:
    label = f"{len(own)} joints" if len(own) > 1 else robot.coordinates[next(iter(own))].label
    return f"Effort limit and friction of {label}"


class JointDriving:
    """Drives the joints, by hand and by gains."""

    def __init__(self, robot: LoadedRobot, configuring: Configuring, worker: Worker, replay: Replay, actions: Actions):
        self._robot, self._configuring, self._worker, self._replay = robot, configuring, worker, replay
        self.actions = actions
        self.grabbed: int | None = None
        """The coordinate that `set_coordinate` had to hold, until it is released."""
        self._suspended: tuple[engine.Model | None, Settings, dict[int, Drive]] | None = None  # by `set_held`

    @undoable(_pose_text, steady=True)
    def set_coordinate(self, index: int, value: float) -> NDArray[np.floating] | None:
        """Set coordinate `index` of `coordinates` to `value`, rad or m, at rest; during play set its setpoint.

        The value is clamped to the joint's limits. At time zero it also changes the pose that `reset` restores. During
        play a joint without gains is held from then on, until `release`. Returns q (nq,) unless playing.

        Raises ValueError for a mimic coordinate, and during play for one that no gains can hold.
        """
        self._require_present("move joints")
        robot, row = self._robot, self._robot.coordinates[index]
        if row.leader is not None:
            raise ValueError(f"{row.name} follows {row.leader}; move {row.leader} instead")
        value = clamp_drive(row, Drive(value=value)).value
        if not robot.playing:
            put = partial(row.put, value=value)
            if row.direct:
                self._worker.set_coordinate(row.q, row.v, value)
            else:
                self._worker.set_rotation(put, row.v)
            robot.newly_set.pop(index, None)
            if robot.time == 0:
                robot.first_setpoints.pop(index, None)
            if robot.is_held(index) and robot.drives[row.effort_v] is None:
                robot.newly_set[index] = Drive(value=value)
            return robot.place(put)
        if not row.holdable:
            raise ValueError(f"{row.name} has no position drive; pause to set it by hand")
        if not robot.is_held(index):
            grabbed = robot.mode(index) == "effort"
            self.drive(index, by_effort=False)
            self.grabbed = index if grabbed else None
        self.set_drive(index, value)
        return None

    def _require_present(self, purpose: str) -> None:
        """Raise ValueError while a recorded frame is shown."""
        if self._replay.active:
            raise ValueError(f"{self._replay.reason}; to {purpose} {self._replay.ways_on}")

    def release(self, index: int) -> None:
        """Release coordinate `index`, if `set_coordinate` had to hold it."""
        if self.grabbed == index:
            self.drive(index, by_effort=True)

    @undoable(lambda _, on: f"Hold {on_or_off(on)}")
    def set_held(self, on: bool) -> None:
        """Hold every joint at its position by gains, or release all; `on` restores what releasing suspended."""
        robot, now, known = self._robot, self._robot.settings, self._robot.drives.known
        self.grabbed = None
        model, settings, drives = self._suspended or (None, now, {})
        robot.newly_set.clear()
        robot.first_setpoints.clear()
        robot.drives.clear()
        if on and model is robot.model:
            self._suspended = None
            self._configuring.configure(
                replace(now, held=True, driven=settings.driven, by_velocity=settings.by_velocity)
            )
            for v, drive in drives.items():
                robot.drives.set(v, drive)
            return
        self._suspended = (robot.model, now, known) if now.held and not on else None
        self._configuring.configure(replace(now, held=on, driven=frozenset(), by_velocity=frozenset()))

    @property
    def suspended(self) -> int:
        """The number of joints whose own drive `set_held` will restore."""
        return 0 if self._suspended is None else len(self._suspended[2])

    @undoable(lambda robot, index, by_effort: f"{'Release' if by_effort else 'Hold'} {robot.coordinates[index].label}")
    def drive(self, index: int, by_effort: bool) -> None:
        """Drive coordinate `index` by effort alone, or hold it by gains at its position.

        Raises ValueError while a recorded frame is shown, as the other methods that set a drive or gains do.
        """
        self._require_present("drive joints")
        robot, row, before = self._robot, self._robot.coordinates[index], self._robot.settings
        self.grabbed = None
        robot.newly_set.pop(index, None)
        robot.first_setpoints.pop(index, None)
        own, every = frozenset(row.v), frozenset(v for row in robot.coordinates if row.holdable for v in row.v)
        driven = before.driven if before.held else every
        driven = driven | own if by_effort else driven - own
        robot.drives.drop(row.effort_v)
        self._configuring.configure(
            replace(before, driven=driven, by_velocity=before.by_velocity - own, held=bool(every - driven))
        )
        if not by_effort and before.by_velocity & own:
            self._worker.change(partial(_aim, own))

    @undoable(_drive_text, steady=True)
    def set_drive(self, index: int, value: float) -> None:
        """Set the value of coordinate `index` in its drive mode: rad or m, per second, or N m or N.

        It is clamped to the joint's limits. The rest of the drive is unchanged, but for a trajectory, which ends.
        """
        self._require_present("drive joints")
        robot, row = self._robot, self._robot.coordinates[index]
        if not row.driveable:
            raise ValueError(f"{row.name} follows another joint and has no drive of its own")
        drive = robot.drives[row.effort_v] or Drive(robot.mode(index))
        if drive.wave == "trajectory":
            drive = replace(drive, wave="constant", samples="")
        self._set(index, replace(drive, value=value))

    @undoable(_drive_text)
    def set_joint_drive(self, index: int, drive: Drive) -> None:
        """Set the drive of coordinate `index`, within the joint's limits.

        Raises ValueError for a coordinate without a drive, and for gains where none are possible.
        """
        self._require_present("drive joints")
        robot, row = self._robot, self._robot.coordinates[index]
        if not row.driveable or (drive.mode != "effort" and not row.holdable):
            raise ValueError(f"{row.name} has no drive that could hold a {drive.kind}")
        if drive.mode != robot.mode(index):
            self.drive(index, by_effort=drive.mode == "effort")
        if drive.mode == "velocity":
            by_velocity = robot.settings.by_velocity | frozenset(row.v)
            self._configuring.configure(replace(robot.settings, by_velocity=by_velocity))
        self._set(index, drive)

    def aim(self, name: str, q: NDArray[np.floating]) -> None:
        """Set the setpoints of held joints to the pose `name`, q (nq,), where it differs from the robot's during play.

        Raises ValueError if no joint of the robot is held.
        """
        self._require_present("drive joints")
        robot, model = self._robot, self._robot.model
        own = [k for joint in joints_of_robot(model) for k in sorted(rows_of(model, joint)) if robot.is_held(k)]
        if not own:
            raise ValueError(f"no joint is held, so none would move to the pose {name}; {HOLD_OR_PAUSE}")
        with self.actions.as_one(f"Pose {name}"):
            for k in own:
                row = robot.coordinates[k]
                if row.value(q) != row.value(robot.q):
                    self.set_drive(k, row.value(q))

    def _set(self, index: int, drive: Drive) -> None:
        robot, row = self._robot, self._robot.coordinates[index]
        robot.newly_set[index] = drive = clamp_drive(row, drive)
        if not (drive.mode == "target" and drive.plain):
            robot.first_setpoints.pop(index, None)
        elif robot.time == 0 and not robot.playing:
            robot.first_setpoints[index] = drive.value
        robot.drives.set(row.effort_v, drive)

    def gains(self, index: int, settings: Settings | None = None) -> tuple[float, float]:
        """Return kp, N m/rad or N/m, and kd, N m s/rad or N s/m, of coordinate `index` when gains hold it.

        `settings` are those of a recorded frame, if not those of now.
        """
        robot, v = self._robot, self._robot.coordinates[index].effort_v
        held = replace(settings or robot.settings, held=True, driven=frozenset(), by_velocity=frozenset())
        kp, kd = gains_of(robot.model, held)
        return float(kp[v]), float(kd[v])

    @property
    def softest(self) -> tuple[str, float]:
        """The joint held by automatic gains that the integrator and step soften most, and the factor.

        ("", 1.0) if none is softened, as with the implicit integrator.
        """
        robot, settings = self._robot, self._robot.settings
        if robot.model is None or settings.integrator == "implicit" or not settings.held:
            return "", 1.0
        factor, own = softening(robot.model, settings.dt, settings.integrator), {v for v, *_ in settings.gains}
        held = [row for k, row in enumerate(robot.coordinates) if robot.is_held(k) and row.effort_v not in own]
        worst = max(held, key=lambda row: factor[row.effort_v], default=None)
        return ("", 1.0) if worst is None else (worst.name, float(factor[worst.effort_v]))

    @undoable(_gains_text)
    def set_gains(self, index: int, gains: tuple[float, float] | None, *others: int) -> None:
        """Set kp and kd of coordinate `index`, and of `others`; None for automatic gains."""
        self._require_present("set gains")
        settings, every = self._robot.settings, {self._robot.coordinates[k].effort_v for k in (index, *others)}
        kept = [each for each in settings.gains if each[0] not in every]
        own = [] if gains is None else [(v, *gains) for v in every]
        self._configuring.configure(replace(settings, gains=tuple(sorted([*kept, *own]))))

    def own(self, index: int, settings: Settings | None = None) -> OwnJoint:
        """Return the numbers of coordinate `index`, those of a recorded frame's `settings` if not of now."""
        robot, v = self._robot, self._robot.coordinates[index].effort_v
        model = with_joints(robot.model, (settings or robot.settings).joints)
        return OwnJoint(v, *(float(each[v]) for each in (model.effort_limit, model.friction, model.damping)))

    @undoable(_own_text)
    def set_own(self, own: Mapping[int, OwnJoint | None]) -> None:
        """Set effort limits, friction and damping of joints, by coordinate; None for those of the file."""
        self._require_present("set limits and friction")
        settings, every = self._robot.settings, {self._robot.coordinates[k].effort_v for k in own}
        kept = [each for each in settings.joints if each.v not in every]
        self._configuring.configure(replace(settings, joints=tuple(sorted([*kept, *filter(None, own.values())]))))


def _aim(v: frozenset[int], running: Running) -> None:
    """Hold these velocities' joints at their current positions."""
    which = np.zeros(len(running.tau), bool)
    which[sorted(v)] = True
    running.hold(which)
