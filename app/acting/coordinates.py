"""The rows of the joint panel: the coordinates of a robot that can be shown, in display units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

import engine
from app.desktop.angles import ANGLES

TURN, SHIFT = math.pi, 1.0  # rad and m, the slider's range if the joint has no limits
_HALF_TURN = math.pi * (1 - 1e-9)  # rad; at π a rotation vector and its opposite are one rotation
_QUARTER_TURN = math.pi / 2 - 1e-6  # rad; at π/2 roll and yaw have one axis
ROAM = 2.0  # m, the slider's range for a free joint's position
IN_METRES_FROM = 10.0  # m; longer lengths are shown in metres


def label_of(name: str) -> str:
    """Return a coordinate's displayed name; a body of the scene has one joint, whose name is dropped."""
    return name.replace("/floating_base", "")


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of q with its name, unit and slider range.

    A mimic coordinate has no number of its own: it shows ``multiplier · q + offset`` of the one at `q`, and `leader` is
    the joint that it follows.
    """

    name: str
    q: int
    """The index in q."""
    v: tuple[int, ...]
    """The velocity indices that become zero when it is set by hand."""
    lower: float
    """The slider's lower end, rad or m, even if the joint has no limits."""
    upper: float
    angular: bool
    limited: bool
    leader: str | None = None
    multiplier: float = 1.0
    offset: float = 0.0
    effort: float = math.inf
    """The drive's effort limit, N m or N."""
    velocity: float = math.inf
    """The joint's velocity limit, rad/s or m/s."""
    component: int | None = None
    """The index, in a rotation (rad), of this component; `q` is then the quaternion's start. None for others."""
    rpy: bool = False
    """Whether `component` is of roll, pitch and yaw, as in URDF, instead of the rotation vector."""
    home: np.ndarray | None = field(default=None, compare=False)
    """(4, 4): a free base's place at q = 0, unless that is the world's origin; its rows are in the world."""
    axis: int = 0
    """The index of a free base's position along x, y or z."""
    effort_v: int = -1
    """The velocity index of its drive's effort; −1 if it has no drive."""

    @property
    def label(self) -> str:
        """The displayed name."""
        return label_of(self.name)

    @property
    def direct(self) -> bool:
        """Whether it is a number of q, or a multiple of one, and nothing composed of several."""
        return self.component is None and self.home is None

    @property
    def driveable(self) -> bool:
        """Whether it can have its own drive: not part of a free joint, and no mimic."""
        return self.effort_v >= 0

    @property
    def holdable(self) -> bool:
        """Whether gains can hold it at a setpoint: `driveable`, and not an axis of a ball joint."""
        return self.driveable and self.component is None

    @property
    def effort_unit(self) -> str:
        return "N m" if self.angular else "N"

    @property
    def unit(self) -> str:
        return ANGLES.name if self.angular else "mm"

    @property
    def scale(self) -> float:
        """Displayed units per rad or m."""
        return ANGLES.scale if self.angular else 1000.0

    @property
    def more_digits(self) -> int:
        """Decimals that its numbers need beyond those in degrees or mm, for a hundredth of a short travel."""
        if self.angular:
            return ANGLES.more_digits
        travel = self.scale * (self.upper - self.lower)
        return math.ceil(max(0.0, 1.0 - math.log10(travel))) if self.limited and travel > 0 else 0

    def unit_of(self, mode: str) -> str:
        """Return the display unit of a drive's value, in one of `drives.MODES`."""
        return {"target": self.unit, "velocity": f"{self.unit}/s", "effort": self.effort_unit}[mode]

    def format(self, value: float, mode: str = "target") -> str:
        """Format a drive's SI value; adding zero turns −0 into 0. From 10 m on lengths are in m."""
        if not self.angular and mode == "target" and abs(value) >= IN_METRES_FROM:
            return f"{value:.2f} m"
        if mode == "effort":
            return f"{round(value, 1) + 0.0:.1f} {self.effort_unit}"
        digits = 1 + self.more_digits
        return f"{round(value * self.scale, digits) + 0.0:.{digits}f} {self.unit_of(mode)}"

    @property
    def widest(self) -> str:
        """The widest text of its value."""
        far = max(abs(self.lower), abs(self.upper)) if self.limited else math.pi if self.angular else IN_METRES_FROM
        return self.format(-far if self.angular else -min(far, IN_METRES_FROM - 1e-3))

    def reach(self, mode: str) -> tuple[float, float]:
        """Return the limits of a drive's value, SI, in one of `drives.MODES`."""
        return {
            "target": (self.lower, self.upper) if self.limited else (-math.inf, math.inf),
            "velocity": (-self.velocity, self.velocity),
            "effort": (-self.effort, self.effort),
        }[mode]

    def value(self, q: np.ndarray) -> float:
        """Return the coordinate in rad or m, from q (nq,); an angle without limits is wrapped to ±π."""
        if self.component is not None:
            return float((self._angles(q) if self.rpy else _rotation_vector(q[self.q : self.q + 4]))[self.component])
        if self.home is not None:
            return float(self._place(q)[self.axis])
        value = self.multiplier * float(q[self.q]) + self.offset
        if self.angular and not self.limited and abs(value) > math.pi:
            value = math.remainder(value, 2 * math.pi)
        return value

    def put(self, q: np.ndarray, value: float) -> None:
        """Write the coordinate, rad or m, into q (nq,).

        The length of a ball joint's rotation vector stays below π, and pitch inside ±90°, where roll and yaw differ.
        """
        if self.direct:
            q[self.q] = value
            return
        if self.rpy:
            angles = self._angles(q)
            angles[self.component] = min(max(value, self.lower), self.upper) if self.limited else value
            turn = engine.rotation_from_rpy(angles)
            turn = turn if self.home is None else self.home[:3, :3].T @ turn
            q[self.q : self.q + 4] = engine.quaternion_from_rotation(turn)
            return
        if self.home is not None:
            place, start = self._place(q), self.q - self.axis
            place[self.axis] = value
            q[start : start + 3] = self.home[:3, :3].T @ (place - self.home[:3, 3])
            return
        vector = _rotation_vector(q[self.q : self.q + 4])
        vector[self.component] = 0.0
        room = math.sqrt(max(_HALF_TURN**2 - float(vector @ vector), 0.0))
        vector[self.component] = min(max(value, -room), room)
        half = float(np.linalg.norm(vector)) / 2
        q[self.q : self.q + 3] = np.sinc(half / math.pi) / 2 * vector
        q[self.q + 3] = math.cos(half)

    def _place(self, q: np.ndarray) -> np.ndarray:
        """Return the free base's position (3,) in the world, m."""
        start = self.q - self.axis
        return np.asarray(self.home[:3, :3] @ q[start : start + 3] + self.home[:3, 3])

    def _angles(self, q: np.ndarray) -> np.ndarray:
        """Return the free base's roll, pitch and yaw (3,) in the world, rad."""
        quaternion = q[self.q : self.q + 4]
        if self.home is not None:
            quaternion = _product(engine.quaternion_from_rotation(self.home[:3, :3]), quaternion)
        return _rpy(quaternion)

    def at_limit(self, q: np.ndarray) -> bool:
        """Whether the joint is within a thousandth of its range of a limit, or beyond it."""
        value, slack = self.value(q), 1e-3 * (self.upper - self.lower)
        return self.limited and not (self.lower + slack <= value <= self.upper - slack)


def _rpy(quaternion: np.ndarray) -> np.ndarray:
    """Return roll, pitch and yaw (3,), rad, of one quaternion x, y, z, w, faster than `engine.rpy_from_rotation`."""
    x, y, z, w = quaternion.tolist()
    across, along = 2 * (x * y + w * z), w * w + x * x - y * y - z * z
    roll = math.atan2(2 * (y * z + w * x), w * w - x * x - y * y + z * z)
    pitch = math.atan2(2 * (w * y - x * z), math.hypot(along, across))
    return np.array([roll, pitch, math.atan2(across, along)])


def _product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the quaternion (4,), x, y, z, w, of the rotation `other` followed by `one`."""
    u, v = one[:3], other[:3]
    return np.append(one[3] * v + other[3] * u + np.cross(u, v), one[3] * other[3] - u @ v)


def _rotation_vector(quaternion: np.ndarray) -> np.ndarray:
    """Return axis times angle (3,), rad, at most π long, of a quaternion x, y, z, w."""
    x, w = quaternion[:3], float(quaternion[3])
    sine = float(np.linalg.norm(x))
    if sine < 1e-12:
        return np.zeros(3)
    angle = 2 * math.atan2(sine, abs(w))
    return x * (math.copysign(angle, w) / sine)


@lru_cache(maxsize=4)
def coordinates(model: engine.Model) -> tuple[Coordinate, ...]:
    """Return one row per coordinate, in the order of the joints.

    A free joint gives x, y, z, roll, pitch and yaw; a ball joint the three components of its rotation vector.
    """
    return tuple(row for joint in model.joints for row in _rows(model, joint))


def rows_of(model: engine.Model, joint: engine.Joint) -> frozenset[int]:
    """Return the rows of a joint among `coordinates`."""
    q_rows = range(joint.q.start, joint.q.stop)
    return frozenset(
        k
        for k, row in enumerate(coordinates(model))
        if (row.q in q_rows and row.leader is None if joint.leader is None else row.name == joint.name)
    )


def _rows(model: engine.Model, joint: engine.Joint) -> Iterator[Coordinate]:
    start = joint.q.start
    if joint.kind == "floating":
        home = _home(model, joint)
        rotation, linear = tuple(range(joint.v.start, joint.v.start + 3)), tuple(range(joint.v.start + 3, joint.v.stop))
        for offset, axis in enumerate("xyz"):
            yield Coordinate(
                f"{joint.name}.{axis}",
                start + offset,
                linear,
                -ROAM,
                ROAM,
                angular=False,
                limited=False,
                home=home,
                axis=offset,
            )
        for component, (name, reach) in enumerate((("roll", TURN), ("pitch", _QUARTER_TURN), ("yaw", TURN))):
            yield Coordinate(
                f"{joint.name}.{name}",
                start + 3,
                rotation,
                -reach,
                reach,
                angular=True,
                limited=name == "pitch",
                component=component,
                rpy=True,
                home=home,
            )
        return
    if joint.leader is not None:
        yield _follower(model, joint)
        return
    ball, every = joint.kind == "spherical", tuple(range(joint.v.start, joint.v.stop))
    for part, dof in enumerate(every):
        name = f"{joint.name}.{'xyz'[part]}" if ball else model.coordinate_names[dof]
        q, v, component = (start, every, part) if ball else (start + part, (dof,), None)
        angular = joint.type.angular[part]
        lower, upper, limited = (-TURN, TURN, False) if ball else _span(model, dof, angular)
        effort, velocity = float(model.effort_limit[dof]), float(model.velocity_limit[dof])
        yield Coordinate(
            name, q, v, lower, upper, angular, limited, None, 1.0, 0.0, effort, velocity, component, effort_v=dof
        )


def _home(model: engine.Model, joint: engine.Joint) -> np.ndarray | None:
    """Return the place (4, 4) of a free base whose q is zero; None at the world's origin or on another body."""
    body, home = joint.bodies.start, np.eye(4)
    home[:3, :3], home[:3, 3] = model.home_rotation[body], model.home_position[body]
    return None if model.parent[body] >= 0 or np.array_equal(home, np.eye(4)) else home


def _follower(model: engine.Model, joint: engine.Joint) -> Coordinate:
    leader = model.joint(joint.leader or "")
    angular = joint.kind in ("revolute", "continuous")
    lower, upper, limited = _span(model, leader.v.start, leader.kind in ("revolute", "continuous"))
    lower, upper = sorted(joint.multiplier * end + joint.offset for end in (lower, upper))
    return Coordinate(
        joint.name, leader.q.start, (), lower, upper, angular, limited, leader.name, joint.multiplier, joint.offset
    )


def _span(model: engine.Model, dof: int, angular: bool) -> tuple[float, float, bool]:
    lower, upper = float(model.lower[dof]), float(model.upper[dof])
    reach = TURN if angular else SHIFT
    limited = math.isfinite(lower) or math.isfinite(upper)
    if not math.isfinite(lower):
        lower = min(-reach, upper - reach) if math.isfinite(upper) else -reach
    if not math.isfinite(upper):
        upper = max(reach, lower + reach)
    return lower, upper, limited
