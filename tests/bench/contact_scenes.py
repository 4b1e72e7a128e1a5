"""Closed-form motions of one body on a plane, and a simulator's deviation from them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine import lie
from engine.scene import Scene
from engine.validation import Array
from tests.bench import mujoco_contact
from tests.bench.contact_cases import INERTIA, G, body, simulated

MASS = 2.0
DT = 1e-3
BALL = 0.1
"""m, its radius."""
RATIO = INERTIA / (MASS * BALL**2)
"""I / m r² of the ball."""
LOW = (0.4, 0.4, 0.02)
TALL = (0.1, 0.1, 0.4)
ROD = (0.01, 0.6)
"""m: the edges of two boxes, the radius of a capsule and the length between its ends."""


class State(NamedTuple):
    """A body's state in the world: position (3,) in m, rotation (3, 3), velocities (3,) in m/s and rad/s."""

    position: Array
    rotation: Array
    linear: Array
    angular: Array


class Case(NamedTuple):
    """A body of 2 kg that starts on the plane z = 0 and moves for some s; `off` is its final deviation from theory.

    `shape` and `size` (m) are those of `Collision`. Gravity is tilted by `slope` (rad) towards +x, `force` (N) acts at
    the centre of mass, `tilt` (rad) is its initial rotation about y.
    """

    name: str
    shape: str
    size: tuple[float, ...]
    mu: float
    seconds: float
    off: Callable[[State], float]
    slope: float = 0.0
    linear: tuple[float, float, float] = (0.0, 0.0, 0.0)
    angular: tuple[float, float, float] = (0.0, 0.0, 0.0)
    force: float = 0.0
    tilt: float = 0.0

    @property
    def gravity(self) -> Array:
        """m/s²."""
        return G * np.array([np.sin(self.slope), 0.0, -np.cos(self.slope)])

    @property
    def rotation(self) -> Array:
        """(3, 3), as it begins."""
        return lie.rotation_from_rpy([0.0, self.tilt, 0.0])

    @property
    def height(self) -> float:
        """The initial height of the centre of mass over the plane, m."""
        if self.shape == "box":
            x, _, z = self.size
            return float(0.5 * (x * abs(np.sin(self.tilt)) + z * np.cos(self.tilt)))
        if self.shape == "capsule":
            return float(self.size[0] + 0.5 * self.size[1] * np.cos(self.tilt))
        return self.size[0]


def _relative(expected: float, found: Callable[[State], float]) -> Callable[[State], float]:
    """Return the deviation in % of the expected value."""
    return lambda state: 100 * abs(found(state) / expected - 1)


def _way(state: State) -> float:
    return float(state.position[0])


def _turned(state: State) -> float:
    """About the vertical, rad."""
    return float(np.arctan2(state.rotation[1, 0], state.rotation[0, 0]))


def _toppled(state: State) -> float:
    """% off the speed that a box rotating about its lower edge has by its energy, on a slope of 0.35 rad."""
    a, h = TALL[0] / 2, TALL[2] / 2
    angle = float(np.arctan2(state.rotation[0, 2], state.rotation[2, 2]))
    reach, first = np.hypot(a, h), np.arctan2(a, h)

    def height(turn: float) -> float:  # of the centre of mass over the edge, against gravity
        return float(reach * np.cos(turn - first + 0.35))

    about_edge = INERTIA + MASS * reach**2
    expected = np.sqrt(2 * MASS * G * (height(0.0) - height(angle)) / about_edge)
    return float(100 * abs(state.angular[1] / expected - 1)) if expected > 0 else np.inf


def _fallen(state: State) -> float:
    """% off the speed that a rod on ice, falling from rest at 0.1 rad, has by its energy: its centre falls straight."""
    half, angle = ROD[1] / 2, float(np.arctan2(state.rotation[0, 2], state.rotation[2, 2]))
    drop = half * (np.cos(0.1) - np.cos(angle))
    expected = np.sqrt(2 * MASS * G * drop / (INERTIA + MASS * (half * np.sin(angle)) ** 2))
    return float(100 * abs(state.angular[1] / expected - 1))


def _steep(mu: float, slope: float) -> float:
    return float(G * (np.sin(slope) - mu * np.cos(slope)))


_SPUN, _CORNER = 15.0, float(np.hypot(0.2, 0.2))  # rad/s about the vertical, m from it to a corner
CASES: tuple[Case, ...] = (
    Case("box pushed off at 2 m/s, its way, %", "box", LOW, 0.5, 1.0, _relative(4 / (2 * 0.5 * G), _way),
         linear=(2, 0, 0)),
    Case("box sliding down 0.5 rad, its way, %", "box", LOW, 0.3, 1.0, _relative(_steep(0.3, 0.5) / 2, _way),
         slope=0.5),
    Case("box on 0.5 rad that holds, m in 10 s", "box", LOW, 0.6, 10.0, lambda state: abs(_way(state)), slope=0.5),
    Case("box drawn by 1.5 μ m g, its way, %", "box", LOW, 0.5, 1.0, _relative(0.25 * G / 2, _way),
         force=0.75 * MASS * G),
    Case("box drawn by 0.9 μ m g, m in 10 s", "box", LOW, 0.5, 10.0, lambda state: abs(_way(state)),
         force=0.45 * MASS * G),
    Case("box spun about the vertical, its angle, %", "box", LOW, 0.2, 1.0,
         _relative(_SPUN**2 * INERTIA / (2 * 0.2 * MASS * G * _CORNER), _turned), angular=(0, 0, _SPUN)),
    Case("box at rest, its depth, m", "box", LOW, 0.5, 2.0, lambda state: abs(float(state.position[2]) - LOW[2] / 2)),
    Case("box toppling over its edge, its speed, %", "box", TALL, 2.0, 0.35, _toppled, slope=0.35),
    Case("ball bowled at 3 m/s, its speed when it rolls, %", "sphere", (BALL,), 0.3, 1.5,
         _relative(3 / (1 + RATIO), lambda state: float(state.linear[0])), linear=(3, 0, 0)),
    Case("ball rolling down 0.3 rad, its way, %", "sphere", (BALL,), 0.8, 2.0,
         _relative(2 * G * np.sin(0.3) / (1 + RATIO), _way), slope=0.3),
    Case("ball slipping down 1 rad, its spin, %", "sphere", (BALL,), 0.2, 1.0,
         _relative(0.2 * G * np.cos(1.0) * MASS * BALL / INERTIA, lambda state: float(state.angular[1])), slope=1.0),
    Case("rod falling on ice, its speed, %", "capsule", ROD, 0.0, 0.16, _fallen, tilt=0.1),
)  # fmt: skip
"""Each name ends in the unit: a share of the expected value, or metres if that is 0."""
_SHAPES = {
    "box": '<box size="{} {} {}"/>',
    "sphere": '<sphere radius="{}"/>',
    "capsule": '<capsule radius="{}" length="{}"/>',
}


def ours(case: Case) -> State:
    """Return Catena's result."""
    model = body(_SHAPES[case.shape].format(*case.size)).with_gravity(case.gravity)
    q, v = model.neutral(), np.zeros(6)
    R = case.rotation
    q[2], q[3:7] = case.height, [0, np.sin(case.tilt / 2), 0, np.cos(case.tilt / 2)]
    v[:3], v[3:] = R.T @ case.angular, R.T @ case.linear
    simulation = simulated(model, Scene(friction=case.mu), q, v=v, dt=DT)
    if case.force:
        simulation.wrench[0, -1, 3] = case.force  # the body does not turn, so its axes are the world's
    simulation.step(round(case.seconds / DT))
    R = lie.rotation_from_quaternion(simulation.q[0, 3:7])
    w = simulation.v[0]
    return State(simulation.q[0, :3], R, R @ w[3:], R @ w[:3])


def mujoco(case: Case) -> State:
    """MuJoCo's. Raises Missing."""
    start = np.array(case.linear), np.array(case.angular)
    given = mujoco_contact.Body(
        case.shape, case.size, case.mu, MASS, INERTIA, case.gravity, case.height, case.rotation, *start, case.force
    )
    return State(*mujoco_contact.free_body(given, DT, case.seconds))


def off(answer: Callable[[Case], State]) -> dict[str, Any]:
    """Return each result's deviation from theory, by case."""
    return {case.name: case.off(answer(case)) for case in CASES}
