"""Messages between the simulation thread and the window: settings in, snapshots and events out."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

import engine
from app.simulation.batch_spread import ALONE, BatchSpread, OwnJoint
from app.simulation.contacts import Contacts

LEVEL = engine.Scene()
"""The infinite plane at height 0."""
SPENT = {"cpu": ("steps", "poses"), "cuda": ("host launch", "device steps", "poses", "copy")}
"""The parts of a snapshot's cost on each device, in order."""


TRUST = "--trust-xacro"


class Snapshot:
    """The state at one time, in reused buffers; for a batch, that of the selected robot."""

    def __init__(self, model: engine.Model):
        self.model = model
        """The robot as it is simulated, with its own masses, friction and gravity."""
        self.time = 0.0
        """Simulated time, s."""
        self.q = np.zeros(model.nq)
        self.v = np.zeros(model.nv)
        self.target = np.zeros(model.nv)
        """Setpoints of the held joints, rad or m."""
        self.tau = np.zeros(model.nv)
        """Applied efforts, N m or N."""
        self.effort = np.full(model.nv, np.nan)
        """Drive efforts, N m or N: `tau` and the gains' feedback; NaN if not computed."""
        self.link_poses = np.zeros((len(model.link_names), 4, 4))
        self.phases: Mapping[str, float] = {}
        """Seconds of each phase of the last step, by name; empty if no step was taken since the last snapshot."""
        self.spent: Mapping[str, float] = {}
        """Seconds of the other work since the last snapshot, by the names in `SPENT`."""
        self.contacts: Contacts | None = None
        """The contacts in the last step; None without contacts, or if the robot was moved by hand since."""
        self.residual = 0.0
        """The maximum contact residual over the robots and the steps since the last snapshot."""
        self.pull: np.ndarray | None = None
        """(3,): the force of the mouse's spring in the world, N; None if there is none."""
        self.wrench: np.ndarray | None = None
        """(links, 6): recorded external wrenches on the links, N m and N, in link axes."""
        self.ghost: GhostState | None = None
        """The ghost; None if there is none."""
        self.second_robot: SecondRobotState | None = None
        """The second robot; None if there is none."""
        self.control: tuple[float, float] | None = None
        """Seconds that a call of the controller takes on average, with all waiting, and the simulated seconds for
        which its efforts are held; None without calls."""
        self.robot = 0
        """The index in the batch of the robot shown."""
        self.batch: BatchState | None = None
        """All robots of a batch; None for a single robot."""
        self.recorded = False
        """Whether this frame is from the recording, not the current state."""
        self.factor = math.nan
        """Simulated seconds per wall second, measured; NaN while paused or not yet known."""


@dataclass(frozen=True, eq=False)
class GhostState:
    """The ghost at the last time that it shares with the robot.

    `link_poses` (links, 4, 4); `deviation` (links,) is the largest distance between a link's points on the robot and on
    the ghost, m; `worst` its maximum over all links since both last coincided, m, at the simulated time `since`, s.
    `energy`, J, is its kinetic and potential energy, NaN if unknown. `algorithm`, `device` and `dt`, s, are the ghost's
    own; one from a recording has its `source` instead.
    """

    link_poses: np.ndarray
    deviation: np.ndarray
    worst: float
    since: float
    algorithm: str = ""
    device: str = ""
    dt: float = 0.0
    source: str = ""
    energy: float = float("nan")


@dataclass(frozen=True, eq=False)
class SecondRobotState:
    """The second robot: `q` (nq,), `v` (nv,), and `place` (3,), m, which is added to the positions of its links.

    `time`, s, is its own, since its start; it differs from the robot's if it was opened later, or after a branch from a
    recording. `scene` is what it can touch, or None; it decides which algorithms support the robot. `contacts` are of
    its last step, without `place`. `simulated` is the model as it is simulated, with its gravity.
    """

    model: engine.Model
    simulated: engine.Model
    time: float
    place: np.ndarray
    q: np.ndarray
    v: np.ndarray
    algorithm: str
    scene: engine.Scene | None
    contacts: Contacts | None = None

    @cached_property
    def link_poses(self) -> np.ndarray:
        """(links, 4, 4): as drawn."""
        poses = np.array(engine.link_poses(self.model, self.q))
        poses[:, :3, 3] += self.place
        return poses


@dataclass(frozen=True, eq=False)
class BatchState:
    """A batch at one time: `link_poses` (robots, links, 4, 4), and arrays (robots,).

    `energy`, J, slightly out of date, NaN if unknown; `deviation`, m, the largest distance of a link's points from
    robot 0's; `diverged`, whether the robot is frozen because its state is no longer finite. `recorded` is the frame
    that it is of, None in a live state.
    """

    link_poses: np.ndarray
    energy: np.ndarray
    deviation: np.ndarray
    diverged: np.ndarray
    recorded: engine.RecordedFrame | None = None


class Latest:
    """Passes snapshots from one thread to another: the latest wins, and neither thread waits."""

    def __init__(self, model: engine.Model):
        self.back = Snapshot(model)
        """The writer's buffer, to be filled before `publish`."""
        self._middle, self._front = Snapshot(model), Snapshot(model)
        self._fresh = False
        self._lock = threading.Lock()

    def publish(self) -> None:
        """Make the filled buffer the latest; an unfetched one is dropped."""
        with self._lock:
            self.back, self._middle = self._middle, self.back
            self._fresh = True

    def withdraw(self) -> None:
        """Discard the unfetched snapshot."""
        with self._lock:
            self._fresh = False

    def take(self) -> Snapshot | None:
        """Return the latest snapshot, valid until the next `take`; None if there is no new one."""
        with self._lock:
            if not self._fresh:
                return None
            self._front, self._middle, self._fresh = self._middle, self._front, False
            return self._front


@dataclass(frozen=True)
class Settings:
    """The settings of a simulation."""

    dt: float = 1e-3
    integrator: str = "semi-implicit"
    gravity: bool = True
    gravity_vector: tuple[float, float, float] | None = None
    """The acceleration of gravity in the world, m/s², where it is on; None for the robot's own."""
    ground: bool = False
    """Whether the robot is on the ground of `scene`."""
    scene: engine.Scene = LEVEL
    algorithm: str = "auto"
    device: str = "auto"
    """"cpu", "cuda", or "auto" for the engine's choice."""
    automatic: bool = False
    """Whether `dt` and `integrator` come from `engine.suggested_step`."""
    held: bool = False
    """Whether `engine.holding_gains` hold the joints at their setpoints, except those driven by effort alone."""
    gains: tuple[tuple[int, float, float], ...] = ()
    """Gains that override these: velocity index, kp in N m/rad or N/m, kd in N m s/rad or N s/m."""
    by_velocity: frozenset[int] = frozenset()
    """Velocity indices of joints under velocity control, by kd alone."""
    driven: frozenset[int] = frozenset()
    """Velocity indices of joints without gains."""
    joints: tuple[OwnJoint, ...] = ()
    """The joints whose effort limit, friction and damping were set here."""
    masses: tuple[tuple[int, float], ...] = ()
    """Bodies and the masses, kg, that they have in place of the file's, with inertias in proportion."""
    spread: BatchSpread = ALONE

    composed: bool = False
    """Whether the robot has parts, which touch each other."""

    @property
    def touched(self) -> engine.Scene | None:
        """The scene that the robot may touch, without ground where `ground` is off; None if nothing."""
        scene = self.scene if self.ground else replace(self.scene, ground=None)
        there = scene.ground is not None or scene.obstacles or scene.self_collision or self.composed
        return scene if there else None

    def under_gravity(self, model: engine.Model) -> engine.Model:
        """Return the robot with the gravity in force."""
        vector = self.gravity_vector if self.gravity else (0.0, 0.0, 0.0)
        return model if vector is None else model.with_gravity(vector)

    def touching(self, scene: engine.Scene | None) -> Settings:
        """Return a copy in which `scene` is touched."""
        if scene is None:
            return replace(self, ground=False, scene=replace(self.scene, self_collision=False, obstacles=()))
        if scene.ground is not None:
            return replace(self, ground=True, scene=scene)
        return replace(self, ground=False, scene=replace(scene, ground=self.scene.ground))


class Request(NamedTuple):
    """A request for a robot: its number, whether the root link is freed, whether a xacro file may run any Python."""

    number: int = 0
    floating: bool = False
    trusted: bool = False


FIRST = Request()


@dataclass(frozen=True)
class Loaded:
    """A robot has been loaded and is paused at time zero. Its snapshots come through `frames`."""

    model: engine.Model
    path: str
    frames: Latest
    start: np.ndarray
    """(nq,): the first pose, put down on the ground if there is one."""
    settings: Settings
    algorithm: str
    device: str
    why: str
    touches: bool = False
    """Whether it has shapes that can touch the ground."""
    reaches_below: bool = False
    """Whether it is fixed, with moving parts below the ground in its starting pose."""
    request: Request = FIRST


@dataclass(frozen=True)
class Reading:
    """A robot's file has been read; the convex hulls of these collision meshes, in this order, may follow."""

    meshes: tuple[str, ...]


@dataclass(frozen=True)
class Preparing:
    """A simulation for the requested device, "auto" or "cuda", is being made; `Configured` reports the result."""

    device: str


@dataclass(frozen=True)
class GpuSearched:
    """The GPU search has finished; `why_not` is the reason in a sentence, None if there is a GPU."""

    why_not: str | None


@dataclass(frozen=True)
class Compiling:
    """Machine code is being compiled, in about `seconds`; 0 once it is ready."""

    seconds: float
    meanwhile: bool = False
    """Whether the simulation keeps running with the previous settings meanwhile."""


def _parted(sentence: str) -> tuple[str, str]:
    """Split a sentence at its last semicolon into the problem and the fix."""
    problem, _, fix = sentence.rpartition("; ")
    return (problem, fix) if problem else (sentence, "correct the file")


@dataclass(frozen=True)
class Refused:
    """A file was not loaded; the previous robot is kept."""

    path: str
    diagnostics: tuple[engine.Diagnostic, ...]
    request: Request = FIRST

    @classmethod
    def because(cls, path: str, error: OSError | ValueError, request: Request = FIRST) -> Refused:
        """Return the event for an error without diagnostics."""
        unread = isinstance(error, OSError)
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        fix = "check the path and that the file may be read"
        if not unread:
            reason, fix = _parted(reason)
        return cls(path, (engine.Diagnostic("error", None, Path(path).name, reason, fix),), request)


@dataclass(frozen=True)
class Findings:
    """The diagnostics of one file, and whether it was refused."""

    path: str
    diagnostics: tuple[engine.Diagnostic, ...]
    refused: bool

    @property
    def wants_trust(self) -> bool:
        """Whether the file was refused for something that only a trusted xacro file may do."""
        return self.refused and any(TRUST in each.fix for each in self.diagnostics)


@dataclass(frozen=True)
class Stopped:
    """The run stopped by itself: the state is no longer finite, or the program failed, with its traceback as `detail`.

    `damped`: the implicit integrator would be stable.
    """

    problem: str
    detail: str = ""
    damped: bool = False


@dataclass(frozen=True)
class ControllerChanged:
    """The controller file in use, "" for none; if it failed, the error, its traceback, and its line of the file.

    `late`: it has not returned for a second, and the simulation waits; `loading`: its file is still being executed.
    """

    path: str
    problem: str = ""
    detail: str = ""
    late: bool = False
    loading: bool = False
    line: int | None = None


@dataclass(frozen=True)
class LimitsReached:
    """Joint coordinates that have just reached a position limit."""

    time: float
    names: tuple[str, ...]


@dataclass(frozen=True)
class EffortsCut:
    """Joint coordinates of which larger efforts are asked, N m or N, than their `limits`, to which these are cut."""

    time: float
    names: tuple[str, ...]
    asked: tuple[float, ...]
    limits: tuple[float, ...]


@dataclass(frozen=True)
class Configured:
    """The settings now in force. `refusal`: why the requested ones are not, in a sentence; else empty."""

    number: int
    """The number of the `Worker.configure` call."""
    settings: Settings
    algorithm: str
    device: str
    why: str
    refusal: str = ""


Event = (
    Reading
    | Loaded
    | Preparing
    | GpuSearched
    | Compiling
    | Refused
    | Stopped
    | LimitsReached
    | EffortsCut
    | Configured
    | ControllerChanged
)
