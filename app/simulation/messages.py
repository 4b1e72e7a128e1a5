"""What passes between the simulation's thread and the window: settings in, snapshots and events out."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import engine
from app.simulation.contacts import Contacts
from app.simulation.spread import ALONE, Spread

LEVEL = engine.Scene()
"""Infinite plane at height 0."""
SPENT = {"cpu": ("steps", "poses"), "cuda": ("host launch", "device steps", "poses", "copy")}
"""What a snapshot takes on each device, in the order in which it is done."""


TRUST = "--trust-xacro"


class Snapshot:
    """The state at one moment, in buffers that are used again; of a batch, that of the robot which is looked at."""

    def __init__(self, model: engine.Model):
        self.time = 0.0
        """Simulated time, s."""
        self.q = np.zeros(model.nq)
        self.v = np.zeros(model.nv)
        self.target = np.zeros(model.nv)
        """Where the joints that are held are pulled to, rad or m."""
        self.tau = np.zeros(model.nv)
        """What efforts are applied, N m or N."""
        self.effort = np.full(model.nv, np.nan)
        """What the drives give, N m or N: those efforts and the gains' pull; NaN where nobody has looked."""
        self.link_poses = np.zeros((len(model.link_names), 4, 4))
        self.phases: Mapping[str, float] = {}
        """Seconds of each phase of the last step, by name; none where no step was taken since the last snapshot."""
        self.spent: Mapping[str, float] = {}
        """Seconds of what else was done since the last snapshot, by the names of `SPENT`."""
        self.contacts: Contacts | None = None
        """Where the last step had the robot touch something; None where nothing, or moved by hand since."""
        self.residual = 0.0
        """The greatest of contacts, over the robots and the steps since the last snapshot."""
        self.pull: np.ndarray | None = None
        """(3,): the force of the mouse's spring in the world, N; None where none acts."""
        self.wrench: np.ndarray | None = None
        """(links, 6): of a recorded moment, what acted on the links from outside, N m and N, along their own axes."""
        self.ghost: GhostState | None = None
        """The ghost beside the robot; None where there is none."""
        self.companion: CompanionState | None = None
        """Another robot beside it; None where there is none."""
        self.robot = 0
        """Which robot of the batch all this is of."""
        self.batch: BatchState | None = None
        """All robots; None where there is but one."""
        self.recorded = False
        """Whether this is a moment of the recording, and not the present."""
        self.factor = math.nan
        """Simulated seconds per wall second, measured; NaN while paused or not yet known."""


@dataclass(frozen=True, eq=False)
class GhostState:
    """The ghost at the last moment that it shares with the robot.

    `link_poses` (links, 4, 4); `deviation` (links,) is the largest distance of a point of a link from where the ghost
    has it, m; `worst` the maximum of any link since both were in one place, m, and `since` when that was, s of
    simulated time. `algorithm`, `device` and the time step `dt`, s, are those by which it is computed.
    """

    link_poses: np.ndarray
    deviation: np.ndarray
    worst: float
    since: float
    algorithm: str
    device: str
    dt: float


@dataclass(frozen=True, eq=False)
class CompanionState:
    """Another robot: `link_poses` (links, 4, 4) where it is drawn, `q` (nq,) and `v` (nv,).

    `time`, s, is its own, since it began: a robot that goes on from a moment of its recording is at another.
    """

    model: engine.Model
    time: float
    link_poses: np.ndarray
    q: np.ndarray
    v: np.ndarray
    algorithm: str


@dataclass(frozen=True, eq=False)
class BatchState:
    """A batch at one moment: link_poses (robots, links, 4, 4); of each robot, (robots,), three more.

    `energy` in J, a moment old, NaN where it is not known; `deviation` in m, the farthest that a point of a link is
    from where robot 0 has it; `diverged`, whether the robot is frozen since its state stopped being finite.
    """

    link_poses: np.ndarray
    energy: np.ndarray
    deviation: np.ndarray
    diverged: np.ndarray


class Latest:
    """Hands snapshots from one thread to another: the latest wins, neither side waits for the other."""

    def __init__(self, model: engine.Model):
        self.back = Snapshot(model)
        """The writer's own, to fill before `publish`."""
        self._middle, self._front = Snapshot(model), Snapshot(model)
        self._fresh = False
        self._lock = threading.Lock()

    def publish(self) -> None:
        """Make the filled buffer the latest; whatever was there unfetched is dropped."""
        with self._lock:
            self.back, self._middle = self._middle, self.back
            self._fresh = True

    def withdraw(self) -> None:
        """Take back what nobody fetched."""
        with self._lock:
            self._fresh = False

    def take(self) -> Snapshot | None:
        """The latest snapshot, valid until the next `take`; None if there is none since the last."""
        with self._lock:
            if not self._fresh:
                return None
            self._front, self._middle, self._fresh = self._middle, self._front, False
            return self._front


@dataclass(frozen=True)
class Settings:
    """How a simulation is set up."""

    dt: float = 1e-3
    integrator: str = "semi-implicit"
    gravity: bool = True
    ground: bool = False
    """The robot stands on the ground of `scene`."""
    scene: engine.Scene = LEVEL
    algorithm: str = "auto"
    device: str = "auto"
    """"cpu", "cuda", or "auto" for the engine's choice."""
    automatic: bool = False
    """`dt` and `integrator` are those that `engine.suggested_step` gives."""
    held: bool = False
    """`engine.holding_gains` pull the joints to their targets; but for those that are driven by an effort alone."""
    gains: tuple[tuple[int, float, float], ...] = ()
    """Gains in place of those: velocity, kp in N m/rad or N/m, kd in N m s/rad or N s/m."""
    by_velocity: frozenset[int] = frozenset()
    """The velocities whose joints kd alone holds, to a velocity."""
    driven: frozenset[int] = frozenset()
    """The velocities whose joints no gains hold."""
    spread: Spread = ALONE

    composed: bool = False
    """The robot has parts, which touch each other."""

    @property
    def touched(self) -> engine.Scene | None:
        """What the robot may touch: `scene`, without its ground where it stands on none; None for nothing."""
        scene = self.scene if self.ground else replace(self.scene, ground=None)
        there = scene.ground is not None or scene.obstacles or scene.self_collision or self.composed
        return scene if there else None

    def touching(self, scene: engine.Scene | None) -> Settings:
        """These, but with `scene` for what is touched."""
        if scene is None:
            return replace(self, ground=False, scene=replace(self.scene, self_collision=False, obstacles=()))
        if scene.ground is not None:
            return replace(self, ground=True, scene=scene)
        return replace(self, ground=False, scene=replace(scene, ground=self.scene.ground))


@dataclass(frozen=True)
class Loaded:
    """A robot was loaded and stands ready, paused at time zero. Its snapshots come through `frames`."""

    model: engine.Model
    path: str
    frames: Latest
    start: np.ndarray
    """(nq,): the neutral pose, put down on the ground where there is one."""
    settings: Settings
    algorithm: str
    device: str
    why: str
    touches: bool = False
    """Whether it has shapes to touch the ground with."""


@dataclass(frozen=True)
class Preparing:
    """A simulation for the device that was asked for, "auto" or "cuda", is being made; a `Configured` tells its end."""

    device: str


@dataclass(frozen=True)
class GpuLookedFor:
    """It is known whether there is a GPU here; `why_not` in a sentence, None where there is one."""

    why_not: str | None


@dataclass(frozen=True)
class Compiling:
    """Machine code is being made, about so many seconds; 0 once it is there."""

    seconds: float
    meanwhile: bool = False
    """Whether the simulation goes on meanwhile as before, rather than wait for it."""


def _parted(sentence: str) -> tuple[str, str]:
    """What is wrong, and after the last semicolon what to do."""
    fault, _, cure = sentence.rpartition("; ")
    return (fault, cure) if fault else (sentence, "correct the file")


@dataclass(frozen=True)
class Refused:
    """A file was not loaded; the robot before it is still there."""

    path: str
    diagnostics: tuple[engine.Diagnostic, ...]

    @classmethod
    def because(cls, path: str, fault: OSError | ValueError) -> Refused:
        """For a fault that has no diagnostics of its own."""
        unread = isinstance(fault, OSError)
        reason = (fault.strerror or str(fault)) if isinstance(fault, OSError) else str(fault)
        cure = "check the path and that the file may be read"
        if not unread:
            reason, cure = _parted(reason)
        return cls(path, (engine.Diagnostic("error", None, Path(path).name, reason, cure),))


@dataclass(frozen=True)
class Findings:
    """The diagnostics of one file, and what became of it."""

    path: str
    diagnostics: tuple[engine.Diagnostic, ...]
    refused: bool

    @property
    def wants_trust(self) -> bool:
        """Whether the file was refused for what only a trusted xacro file may do, as its cure then says."""
        return self.refused and any(TRUST in each.cure for each in self.diagnostics)


@dataclass(frozen=True)
class Stopped:
    """The run ended by itself: the state is no longer finite, or a fault in the program."""

    message: str
    detail: str = ""


@dataclass(frozen=True)
class ControllerChanged:
    """The file whose function drives the robot from now on, none where empty; or why it does not, and the traceback.

    `late`: it has not returned for a second, and the simulation waits; `loading`: its file is still being executed.
    """

    path: str
    fault: str = ""
    detail: str = ""
    late: bool = False
    loading: bool = False


@dataclass(frozen=True)
class LimitsReached:
    """Joint coordinates that have just come to a position limit."""

    time: float
    names: tuple[str, ...]


@dataclass(frozen=True)
class Configured:
    """The settings in force from now on. `refusal`: why those asked for are not, in a sentence; else empty."""

    number: int
    """Which call of `Worker.configure` it answers."""
    settings: Settings
    algorithm: str
    device: str
    why: str
    refusal: str = ""


Event = (
    Loaded | Preparing | GpuLookedFor | Compiling | Refused | Stopped | LimitsReached | Configured | ControllerChanged
)
