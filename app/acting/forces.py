"""External forces on a robot: the mouse's spring at a point of a link, and wrenches entered as numbers.

The spring pulls the grabbed point x of a link to the cursor's x* by f = k (x* − x) − d ẋ. A quarter of the robot's size
stretches it as far as the robot's weight on Earth does, k = 4 m g / size. d gives critical damping for the point's
apparent mass, d = 2 √(k m̂), m̂ = 3 / tr Λ⁻¹, at most m. The force is evaluated at the end of the h seconds for which
it is held, including the point's response by the mobility Λ⁻¹ (`engine.point_mobility`): solved for f,

    (1 + (h d + h² k) Λ⁻¹) f = k (x* − x − h ẋ) − d ẋ,

which is stable for any h, k and d: the point's actual mobility is Λ⁻¹ or less where joints, gains and contacts hold it.
The spring is never stretched by more than the robot's size, four times its weight.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import engine
from app.simulation.attachments import Attachment, Poster
from app.simulation.messages import Snapshot
from app.simulation.running import Running

EARTH = 9.81  # m/s²: a robot's weight is that on Earth
STRETCH = 0.25  # robot sizes, the spring's stretch under the robot's weight
MAX_STRETCH = 1.0  # robot sizes
MIN_HOLD, MAX_HOLD = 0.002, 0.02  # s of simulated time for which a force is held
HOLD_RATIO = 4.0  # the time of the steps under a force, over that of computing it, within the limits above
RECOMPUTE_AFTER = 0.03  # s of wall time, after which the point's mobility is computed again


@dataclass(frozen=True, eq=False)
class SetWrench:
    """A wrench (6,) = (n, f) about a link's origin, N m and N, in the axes of the link or of the world.

    It acts from the simulated time `begin` until `end`, s.
    """

    link: int
    wrench: np.ndarray
    world: bool
    begin: float = 0.0
    end: float = math.inf

    @property
    def ends(self) -> bool:
        return self.end < math.inf

    def acts_at(self, time: float, dt: float = 0.0) -> bool:
        """Whether it acts in a step of `dt` s from `time` on, s; it begins and ends with the nearest steps."""
        return not self.ends or self.begin <= time + dt / 2 < self.end


@dataclass
class Spring:
    """The mouse's grip on `point` (3,) in the frame of `link` of one robot, and its target (3,) in the world."""

    robot: int
    link: int
    point: np.ndarray
    target: np.ndarray
    mass: float
    """The robot's mass, kg."""
    size: float
    """The robot's size, m."""
    mobility: np.ndarray | None = None
    due: float = 0.0  # the time when it is computed again

    @property
    def stiffness(self) -> float:
        """The stiffness k, N/m."""
        return self.mass * EARTH / (STRETCH * self.size)

    def force(self, model: engine.Model, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the force (3,), N, world, to hold for `h` s from q (nq,), v (nv,), and the link's pose (4, 4)."""
        pose, twist = engine.link_poses(model, q)[self.link], engine.link_twists(model, q, v)[self.link]
        arm = pose[:3, :3] @ self.point
        x, moving = pose[:3, 3] + arm, twist[3:] + np.cross(twist[:3], arm)
        began = time.perf_counter()
        if self.mobility is None or began > self.due:
            self.mobility = engine.point_mobility(model, q, self.link, self.point)
            now = time.perf_counter()
            self.due = now + max(RECOMPUTE_AFTER, 20 * (now - began))
        away = self.target - x
        away = away * min(1.0, MAX_STRETCH * self.size / max(float(np.linalg.norm(away)), 1e-30))
        return spring_force(away, moving, self.mobility, self.stiffness, self.mass, h), pose


def spring_force(
    away: np.ndarray, moving: np.ndarray, mobility: np.ndarray, k: float, mass: float, h: float
) -> np.ndarray:
    """Return f (3,), N, of a spring held for `h` s: see above. `away` (3,) is x* − x, m; `moving` (3,) is ẋ, m/s."""
    d = 2 * math.sqrt(k * min(mass, 3 / max(float(np.trace(mobility)), 1e-30)))
    result: np.ndarray = np.linalg.solve(
        np.eye(3) + (h * d + h * h * k) * mobility, k * (away - h * moving) - d * moving
    )
    return result


def on_link(pose: np.ndarray, point: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the wrench (6,), in the frame of a link at `pose` (4, 4), of a world force (3,) at a link point (3,)."""
    f = pose[:3, :3].T @ force
    return np.concatenate([np.cross(point, f), f])


class AppliedForces(Attachment):
    """The spring and the set wrenches, in the simulation thread; set wrenches act on all robots of a batch."""

    def __init__(self) -> None:
        self.spring: Spring | None = None
        self.set: dict[int, SetWrench] = {}
        """Set wrenches by link; never changed in place, since recordings keep it."""
        self.force: np.ndarray | None = None
        """(3,): the force of the spring in the world, N, in the steps that come; None if nothing is pulled."""
        self._acting = False  # whether a wrench in the simulation is not zero
        self._cost = self._step = 0.0  # s of wall time, of the last force and of a step
        self._worked_out = 0.0

    def release(self) -> None:
        """Remove the spring."""
        self.spring = self.force = None

    @property
    def inputs(self) -> dict[int, SetWrench]:
        return self.set

    def most_steps(self, running: Running) -> int | None:
        if self.spring is None and not self.set:
            return None
        dt, (now, *_) = running.simulation.dt, running.state()
        ends = (time for each in self.set.values() if each.ends for time in (each.begin, each.end))
        left = [steps for time in ends if (steps := round((time - now) / dt)) > 0]
        if self.spring is None and not any(each.world for each in self._acting_in(running)):
            return min(left, default=None)
        wanted = math.ceil(HOLD_RATIO * self._cost / self._step) if self._step else 1
        return max(1, min(max(wanted, round(MIN_HOLD / dt)), round(MAX_HOLD / dt), *left))

    def _acting_in(self, running: Running) -> list[SetWrench]:
        """Return the set wrenches that act in the next step."""
        (now, *_), dt = running.state(), running.simulation.dt
        return [each for each in self.set.values() if each.acts_at(now, dt)]

    def before_steps(self, running: Running, count: int) -> bool:
        if running.wrench is None:  # whose code is being compiled; what acts for a short time has to wait for it
            return not any(each.ends for each in self._acting_in(running))
        if not (self._acting or self.spring or self.set):
            return True
        began = time.perf_counter()
        model, wrench = running.simulation.model, np.zeros_like(running.wrench)
        self.force = None
        wrenches = self._acting_in(running)
        if any(each.world for each in wrenches):
            poses = engine.link_poses(model, running.present()[0])
        for each in wrenches:
            link, halves = each.link, each.wrench.reshape(2, 3)
            if each.world:  # Rᵀ of both
                wrench[:, link] += (halves @ poses[:, link, :3, :3]).reshape(-1, 6)
            else:
                wrench[:, link] += each.wrench
        if (spring := self.spring) is not None and spring.robot < len(wrench):
            q, v = running.present()
            self.force, pose = spring.force(model, q[spring.robot], v[spring.robot], count * running.simulation.dt)
            wrench[spring.robot, spring.link] += on_link(pose, spring.point, self.force)
        running.set_wrench(wrench)
        self._acting = bool(np.any(wrench))
        self._worked_out = time.perf_counter()
        self._cost = self._worked_out - began
        return True

    def after_steps(self, running: Running, count: int) -> None:  # noqa: ARG002
        self._step = (time.perf_counter() - self._worked_out) / count

    def show(self, frame: Snapshot) -> None:
        frame.pull = None if self.spring is None or self.force is None else self.force.copy()


class ForceControls:
    """The window's interface to `AppliedForces`; the effects are visible in the next frames."""

    def __init__(self, forces: AppliedForces, worker: Poster):
        self._forces, self._worker = forces, worker
        self.wrenches: dict[int, SetWrench] = {}
        """The set wrenches by link."""
        self.grabbed = False
        """Whether a link is grabbed."""

    def grab(self, link: int, point: np.ndarray, target: np.ndarray, size: float) -> None:
        """Grab `point` (3,), in the frame of `link` of the selected robot, whose size is `size` m."""

        def take_hold(running: Running) -> None:
            mass = float(running.simulation.model.mass.sum())
            self._forces.spring = Spring(running.robot, link, point.copy(), target.copy(), mass, max(size, 1e-3))

        self.grabbed = True
        self._worker.push(take_hold)

    def pull(self, target: np.ndarray) -> None:
        """Move the spring's target to `target` (3,), m, in the world."""

        def move(_: Running) -> None:
            if self._forces.spring is not None:
                self._forces.spring.target = target.copy()

        self._worker.change(move)

    def release(self) -> None:
        self.grabbed = False
        self._worker.change(lambda _: self._forces.release())

    def set(self, link: int, wrench: np.ndarray, world: bool, begin: float = 0.0, end: float = math.inf) -> None:
        """Set a wrench on a link, as in `SetWrench`."""
        self.set_all({**self.wrenches, link: SetWrench(link, np.array(wrench, float), world, begin, end)})

    def set_all(self, wrenches: Mapping[int, SetWrench]) -> None:
        """Set these wrenches, by link, and remove all others."""
        self.wrenches = applied = dict(wrenches)

        def take(_: Running) -> None:
            self._forces.set = applied

        (self._worker.push if applied else self._worker.change)(take)

    def clear(self, but_ending: bool = False) -> None:
        """Release the grabbed link, and remove all wrenches; `but_ending`: except those that act for a limited time."""
        self.release()
        self.set_all({link: each for link, each in self.wrenches.items() if but_ending and each.ends})
