"""The loaded robot as the window's thread knows it: its newest frame, and what was set since. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

import engine
from app.acting.coordinates import Coordinate, coordinates
from app.acting.drives import Drive, DriveControls
from app.simulation.batch_spread import with_joints, with_masses
from app.simulation.messages import Loaded, Settings, Snapshot


class LoadedRobot:
    """The robot and its settings, which the objects that act on it share."""

    def __init__(self, drives: DriveControls):
        self.drives = drives
        self.model: engine.Model | None = None
        self.settings = Settings(automatic=True)
        self.floating = False
        """Whether the file's root link was set free of the world."""
        self.groundless = False
        """Whether it is from a run without ground, which nobody has switched since."""
        self.playing = False
        self.time = 0.0
        self.newest: Snapshot | None = None
        """The newest frame that was shown."""
        self.start: np.ndarray = np.zeros(0)
        """(nq,): the first pose, which a reset at time zero restores."""
        self.initial: np.ndarray = np.zeros(0)
        """(nq,): the pose that other resets restore."""
        self.placed: np.ndarray | None = None
        """q (nq,) set by hand, not yet in a frame."""
        self.newly_set: dict[int, Drive] = {}
        """Drives as they were set last, which no frame may show yet, by row of `coordinates`."""
        self.first_setpoints: dict[int, float] = {}
        """The setpoints of held joints that were set at time zero, rad or m, which a reset restores, by row."""
        self.controlled = False
        """Whether a controller drives the joints, and the efforts in frames are its own."""
        self.overloaded: tuple[str, ...] = ()
        """The held joints whose effort limits could not carry their weight at the last start of play."""

    def update_from(self, event: Loaded) -> None:
        """Become another robot, paused at time zero."""
        self.model, self.settings = event.model, event.settings
        self.start, self.initial, self.time, self.playing = event.start, event.start.copy(), 0.0, False
        self.newest, self.placed, self.overloaded = None, None, ()
        self.newly_set.clear()
        self.first_setpoints.clear()

    def show(self, frame: Snapshot) -> None:
        """Take the newest frame; a pose set by hand is forgotten once a frame shows it."""
        self.time, self.newest = frame.time, frame
        if self.placed is not None and np.array_equal(frame.q, self.placed):
            self.placed = None

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Its rows, with the effort limits in force."""
        return () if self.model is None else coordinates(with_joints(self.model, self.settings.joints))

    @property
    def q(self) -> np.ndarray:
        """A copy of the robot's q (nq,)."""
        if self.placed is not None:
            return self.placed.copy()
        return (self.initial if self.newest is None else self.newest.q).copy()

    def place(self, put: Callable[[np.ndarray], None]) -> np.ndarray:
        """Return q (nq,) changed by `put`; while paused the robot is put there, at time zero for a reset as well."""
        q = self.q
        put(q)
        if not self.playing:
            self.placed = q
            if self.time == 0:
                put(self.initial)
        return q

    def aim(self, q: np.ndarray) -> None:
        """Know every plain setpoint to be its joint's position in q (nq,), as the simulation sets it."""
        if self.time == 0 and not self.playing:
            self.first_setpoints.clear()
        held = (k for k, row in enumerate(self.coordinates) if self.is_held(k) and self.drives[row.effort_v] is None)
        self.newly_set = {k: Drive(value=float(q[self.coordinates[k].q])) for k in held}

    @property
    def floats(self) -> bool:
        """Whether the robot has a free joint, and so falls under gravity without ground."""
        return self.model is not None and any(joint.kind == "floating" for joint in self.model.joints)

    @property
    def base_floats(self) -> bool:
        """Whether the robot has a free joint of its own; free bodies around it do not count."""
        return self.model is not None and any(joint.kind == "floating" for joint in alone(self.model).joints)

    @property
    def parts(self) -> tuple[engine.Part, ...]:
        """The other parts: free bodies and other robots."""
        return () if self.model is None else self.model.parts[1:]

    def steppers(self, device: str) -> tuple[str, ...]:
        """Return the algorithms that can simulate the robot, in its scene, on a device."""
        return () if self.model is None else engine.simulation_algorithms(self.model, device, self.settings.touched)

    @property
    def drives_now(self) -> JointDrives:
        """The drives of the joints, of which plain ones have the values of the newest frame, or of a start."""
        held = self.initial if self.placed is None else self.placed
        return JointDrives(self.coordinates, self.settings, self.drives.known, self.newest, held)

    def mode(self, index: int) -> str:
        """Return the drive mode of coordinate `index`, one of `MODES`; "" if it has no drive."""
        return mode_of(self.coordinates[index], self.settings)

    def is_held(self, index: int) -> bool:
        """Whether gains hold coordinate `index` at a setpoint."""
        return self.mode(index) == "target"

    def drive_of(self, index: int) -> Drive:
        """Return the drive of coordinate `index`."""
        return self.drives_now[index]

    def set_drive(self, index: int) -> Drive:
        """Return the drive of coordinate `index` as it was set: without the efforts of a controller."""
        if (new := self.newly_set.get(index)) is not None:
            return new
        drive = self.drive_of(index)
        return Drive("effort") if self.controlled and drive.plain and drive.mode == "effort" else drive

    def check_loads(self) -> None:
        """Find the joints that are `overloaded` in the newest frame: none unless the robot plays, held by gains."""
        settings, self.overloaded = self.settings, ()
        if self.playing and settings.gravity and settings.held and not self.floats:
            q = self.initial if self.newest is None else self.newest.q
            limits = with_joints(self.model, settings.joints).effort_limit
            heavy = (
                np.abs(engine.static_loads(settings.under_gravity(with_masses(self.model, settings.masses)), q))
                > limits
            )
            held = (self.coordinates[k] for k in sorted(self.drives_now.held_rows))
            self.overloaded = tuple(row.name for row in held if heavy[row.effort_v])


@dataclass(frozen=True, eq=False)
class JointDrives:
    """The drives of a robot's joints, now or in a recorded frame, by row of `coordinates`.

    `special` are those that are not plain, by velocity index; the plain ones have their values in `frame`, and are held
    at `q` (nq,) where there is none.
    """

    coordinates: tuple[Coordinate, ...]
    settings: Settings
    special: Mapping[int, Drive]
    frame: Snapshot | None
    q: np.ndarray

    def __getitem__(self, index: int) -> Drive:
        row, frame = self.coordinates[index], self.frame
        mode = mode_of(row, self.settings)
        if (drive := self.special.get(row.effort_v)) is not None:
            return drive
        if frame is None:  # at rest, and held there
            return Drive(mode or "effort", row.value(self.q) if mode == "target" else 0.0)
        of_mode = {"target": frame.target, "effort": frame.tau}.get(mode)
        return Drive(mode or "effort", 0.0 if of_mode is None else float(of_mode[row.effort_v]))

    @property
    def held_rows(self) -> frozenset[int]:
        """The indices of all coordinates that gains hold."""
        rows = enumerate(self.coordinates)
        return frozenset(index for index, row in rows if mode_of(row, self.settings) == "target")

    @property
    def special_rows(self) -> dict[int, Drive]:
        """The drives that are not plain."""
        rows = enumerate(self.coordinates)
        return {index: self.special[row.effort_v] for index, row in rows if row.effort_v in self.special}


def mode_of(row: Coordinate, settings: Settings) -> str:
    """Return a coordinate's drive mode, one of `MODES`; "" if it has no drive."""
    if not row.driveable:
        return ""
    if not (settings.held and row.holdable) or row.effort_v in settings.driven:
        return "effort"
    return "velocity" if row.effort_v in settings.by_velocity else "target"


def alone(model: engine.Model) -> engine.Model:
    """Return a robot without the parts around it."""
    return model.parts[0].model if model.parts else model
