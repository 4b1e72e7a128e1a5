"""The quantities of a robot: their names, units, and evaluation from sampled states."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

import engine
from app.acting.coordinates import Coordinate, label_of
from app.acting.forces import EARTH
from app.acting.loaded_robot import alone
from app.desktop.angles import ANGLES
from app.plotting.series import Series
from app.simulation.contacts import ContactForces
from app.simulation.support import support_of

Array = np.ndarray


class Unit(NamedTuple):
    """A unit: `si` in files, `shown` on the axes, of which angles have two."""

    si: str
    shown: str = ""
    angle: bool = False
    """Whether the numbers are in the user's unit of angles, see `app.desktop.angles`; `shown` begins with °."""
    prefixes: bool = True
    """Whether the axes may use prefixes: mm, kN."""
    logarithmic: bool = False
    whole: bool = False
    """Whether the numbers are counts."""

    @property
    def label(self) -> str:
        return self.si if self.angle and ANGLES.radians else self.shown or self.si

    @property
    def scale(self) -> float:
        """The displayed number for 1 of SI."""
        return ANGLES.scale if self.angle else 1.0


ANGLE, ANGULAR_VELOCITY, ANGULAR_ACCELERATION = (
    Unit(f"rad{per}", f"°{per}", angle=True, prefixes=False) for per in ("", "/s", "/s²")
)
LENGTH, VELOCITY, ACCELERATION = Unit("m"), Unit("m/s"), Unit("m/s²")
TORQUE, FORCE, ENERGY, POWER = Unit("N m"), Unit("N"), Unit("J"), Unit("W")
MOMENTUM, ANGULAR_MOMENTUM = Unit("N s"), Unit("N m s")
COUNT, RESIDUAL = Unit("", prefixes=False, whole=True), Unit("", prefixes=False, logarithmic=True)
_UNITS = (
    ANGLE, ANGULAR_VELOCITY, ANGULAR_ACCELERATION, LENGTH, VELOCITY, ACCELERATION, TORQUE, FORCE, ENERGY, POWER,
    MOMENTUM, ANGULAR_MOMENTUM,
)  # fmt: skip
GHOST = "ghost"
"""The subject of quantities of the ghost, which no robot's states have."""
LOGGED = "logged"
"""The subject of numbers that a controller or a script logs, which have no kind: each is named as it is logged."""
AXES, NORM = ("x", "y", "z"), "norm"


@dataclass(frozen=True)
class Quantity:
    """A number that a robot has at each time.

    `subject` is "robot", "logged", "ghost", "joint" or "link", and `name` that of the logged number, the joint's
    coordinate or the link. For a vector `part` is "x", "y" or "z", along the world's axes, or "norm", otherwise "".
    """

    subject: str
    name: str
    kind: str
    part: str
    unit: Unit
    index: int = field(default=-1, compare=False)
    """The row of `coordinates`, or the link."""
    words: str = field(default="", compare=False)
    """Further search words."""
    relative: bool = False
    """Whether it is displayed as the difference from its curve's first value."""
    limits: tuple[float, float] = field(default=(-math.inf, math.inf), compare=False)
    """The joint's least and largest value, SI; infinite where it has none."""

    @property
    def _owner(self) -> str:
        return self.name.removesuffix(f" [{self.unit.si}]") if self.subject == LOGGED else label_of(self.name)

    @property
    def label(self) -> str:
        """The full name, such as "joint4 velocity", "hand velocity x" or "hand |velocity|"."""
        kind = f"|{self.kind}|" if self.part == NORM else f"{self.kind} {self.part}"
        return f"{self._owner} {kind}".strip()

    @property
    def short(self) -> str:
        """The name without the kind, for use below a title: "joint4", "hand x" or "hand |·|"; may be empty."""
        return " ".join(filter(None, (self._owner, "|·|" if self.part == NORM else self.part)))

    @property
    def key(self) -> str:
        """A name that stays the same from run to run."""
        return "/".join((self.subject, self.name, self.kind, self.part))

    def displayed(self, series: Series, value: Array) -> Array:
        """Return values of a curve, SI, as displayed: from its first one if the quantity is `relative`."""
        return value - series.value[0] if self.relative and len(series) else value


@dataclass(frozen=True, eq=False)
class States:
    """Sampled states of one robot: `time` (N,), q (N, nq), v (N, nv), and data that is None if no quantity needs it.

    `effort` (N, nv) is the drives' effort, `target` (N, nv) their setpoint or NaN; `contact` has None for a sample
    without a scene. `rate` (N, nv) is the change of v since the previous sample, per s.
    """

    time: Array
    q: Array
    v: Array
    rate: Array
    effort: Array | None = None
    target: Array | None = None
    contact: Sequence[ContactForces | None] = ()
    logged: Sequence[Mapping[str, float]] = ()


class Evaluation:
    """Evaluates quantities from states; common intermediate results are computed once."""

    def __init__(self, model: engine.Model, rows: Sequence[Coordinate], states: States):
        """Take states and the model's `coordinates` as `rows`."""
        self.model, self.rows, self.states = model, rows, states
        self._contact_forces: dict[int, Array] = {}

    def value(self, quantity: Quantity) -> Array:
        """Return a quantity's values (N,), SI; NaN where it has none."""
        return np.asarray(_FORMULAS[quantity.subject, quantity.kind](self, quantity), float)

    @cached_property
    def energy(self) -> tuple[Array, Array]:
        return engine.energy(self.model, self.states.q, self.states.v)

    @cached_property
    def momentum(self) -> Array:
        return engine.momentum(self.model, self.states.q, self.states.v)

    @cached_property
    def link_poses(self) -> Array:
        return engine.link_poses(self.model, self.states.q)

    @cached_property
    def link_twists(self) -> Array:
        return engine.link_twists(self.model, self.states.q, self.states.v)

    def contact_force(self, link: int) -> Array:
        """Return the contact force on a link, (N, 3), or with −1 on the robot."""
        if link not in self._contact_forces:
            total = self._contact_forces[link] = np.full((len(self.states.time), 3), np.nan)
            for k, contact in enumerate(self.states.contact):
                if contact is not None:
                    total[k] = (contact.force if link < 0 else contact.force[contact.link == link]).sum(0)
        return self._contact_forces[link]


def center_of_mass(model: engine.Model, link_poses: Array) -> Array:
    """Return the centre of mass of the robot's moving links, (…, 3), m, for `link_poses` (…, links, 4, 4).

    The parts around a composed robot do not count.
    """
    bodies, first = np.unique(model.link_body, return_index=True)  # the first link of each body
    of_robot = (bodies >= 0) & (model.part_of_link[first] == 0)
    bodies, first = bodies[of_robot], first[of_robot]
    mass, poses = model.mass[bodies, None], link_poses[..., first, :, :]
    moment = model.first_moment[bodies] - mass * model.link_position[first]  # about the link's origin
    turned = np.einsum("...nij,nkj,nk->...ni", poses[..., :3, :3], model.link_rotation[first], moment)
    return np.asarray((turned + mass * poses[..., :3, 3]).sum(-2) / mass.sum())


def own_energy(model: engine.Model, q: Array, v: Array, link_poses: Array) -> tuple[float, float]:
    """Return the kinetic and the potential energy, J, of a robot without the parts around it."""
    robot = alone(model)
    kinetic, potential = engine.energy(robot, q[: robot.nq], v[: robot.nv])
    if robot is not model and robot.mass.any():  # its part may stand elsewhere than the file has it
        potential = -robot.mass.sum() * model.gravity @ center_of_mass(model, link_poses)
    return float(kinetic), float(potential)


def typical_work(mass: float) -> float:
    """Return the work, J, of lifting a mass, kg, by the edge of a cube of water that has it."""
    return mass * EARTH * (mass / 1000) ** (1 / 3)


def _part(vectors: Array, part: str) -> Array:
    return np.linalg.norm(vectors, axis=-1) if part == NORM else vectors[..., AXES.index(part)]


def _position(e: Evaluation, at: Quantity) -> Array:
    """Return positions without wrapping angles as the joint panel does: a curve has no jumps."""
    row = e.rows[at.index]
    if not row.direct:
        return np.array([row.value(q) for q in e.states.q])
    return row.multiplier * e.states.q[:, row.q] + row.offset


def _rate(e: Evaluation, rates: Array, at: Quantity) -> Array:
    row = e.rows[at.index]
    if row.leader is None:
        return rates[:, row.effort_v]
    leader = next(other for other in e.rows if other.leader is None and other.q == row.q)
    return row.multiplier * rates[:, leader.effort_v]


def _effort(e: Evaluation, at: Quantity) -> Array:
    assert e.states.effort is not None
    return e.states.effort[:, e.rows[at.index].effort_v]


def _setpoint(e: Evaluation, at: Quantity) -> Array:
    assert e.states.target is not None
    return e.states.target[:, e.rows[at.index].effort_v]


def _of_contacts(e: Evaluation, name: str) -> Array:
    return np.array([np.nan if contact is None else getattr(contact, name) for contact in e.states.contact])


def logged_unit(name: str) -> Unit:
    """Return the unit in brackets at the end of the name of a logged number; one without a symbol if there is none."""
    si = name.rpartition(" [")[2].removesuffix("]") if name.endswith("]") and " [" in name else ""
    return next((unit for unit in _UNITS if unit.si == si), Unit(si, prefixes=False))


def _logged(e: Evaluation, at: Quantity) -> Array:
    return np.array([each.get(at.name, np.nan) for each in e.states.logged])


def _unknown(e: Evaluation, _: Quantity) -> Array:
    return np.full(len(e.states.time), np.nan)


def _support_margin(e: Evaluation, _: Quantity) -> Array:
    robot, center = alone(e.model), center_of_mass(e.model, e.link_poses)
    found = (
        None if contact is None else support_of(robot, contact.contacts, here, e.model.gravity)
        for contact, here in zip(e.states.contact, center, strict=True)
    )  # fmt: skip
    return np.array([np.nan if support is None else support.margin for support in found])


_FORMULAS: dict[tuple[str, str], Callable[[Evaluation, Quantity], Array]] = {
    ("joint", "position"): _position,
    ("joint", "velocity"): lambda e, at: _rate(e, e.states.v, at),
    ("joint", "acceleration"): lambda e, at: _rate(e, e.states.rate, at),
    ("joint", "torque"): _effort,
    ("joint", "force"): _effort,
    ("joint", "power"): lambda e, at: _effort(e, at) * _rate(e, e.states.v, at),
    ("joint", "position setpoint"): _setpoint,
    ("joint", "error"): lambda e, at: _setpoint(e, at) - _position(e, at),
    ("link", "position"): lambda e, at: _part(e.link_poses[:, at.index, :3, 3], at.part),
    ("link", "velocity"): lambda e, at: _part(e.link_twists[:, at.index, 3:], at.part),
    ("link", "angular velocity"): lambda e, at: _part(e.link_twists[:, at.index, :3], at.part),
    ("link", "contact force"): lambda e, at: _part(e.contact_force(at.index), at.part),
    ("robot", "kinetic energy"): lambda e, _: e.energy[0],
    ("robot", "potential energy"): lambda e, _: e.energy[1],
    ("robot", "total energy"): lambda e, _: np.add(*e.energy),
    ("robot", "energy drift"): lambda e, _: np.add(*e.energy),
    ("robot", "centre of mass"): lambda e, at: _part(center_of_mass(e.model, e.link_poses), at.part),
    ("robot", "momentum"): lambda e, at: _part(e.momentum[:, 3:], at.part),
    ("robot", "angular momentum"): lambda e, at: _part(e.momentum[:, :3], at.part),
    ("robot", "contact force"): lambda e, at: _part(e.contact_force(-1), at.part),
    ("robot", "contacts"): lambda e, _: _of_contacts(e, "number"),
    (LOGGED, ""): _logged,
    (GHOST, "ghost deviation"): _unknown,
    (GHOST, "ghost energy"): _unknown,
    ("robot", "contact residual"): lambda e, _: _of_contacts(e, "residual"),
    ("robot", "support margin"): _support_margin,
}
EFFORTS, SETPOINTS = frozenset(("torque", "force", "power")), frozenset(("position setpoint", "error"))
CONTACTS = frozenset(("contact force", "contacts", "contact residual", "support margin"))
"""The kinds that need more of a sample than q and v."""
_ENERGIES = "kinetic energy", "potential energy", "total energy", "energy drift"
OF_MASSES = frozenset((*_ENERGIES, "centre of mass", "momentum", "angular momentum", "support margin"))
"""The kinds that depend on a robot's masses."""
