"""The inspector's labels and numbers with their units, from a model and a state."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import engine
from app.acting.coordinates import IN_METRES_FROM
from app.acting.forces import EARTH
from app.acting.loaded_robot import alone
from app.desktop.angles import ANGLES
from app.desktop.numbers import prefix_for
from app.panels.robot_tree import joint_of_link
from app.plotting.quantities import center_of_mass, own_energy, typical_work
from app.simulation.batch_spread import factors
from app.simulation.contacts import Contacts
from app.simulation.messages import Snapshot
from app.simulation.support import support_of

ROUNDED = 0.005  # of an effort limit, which is shown in whole percents
FIXED = "fixed to the world: no moving mass"
TOTAL_TIP = "of all links, also those that are fixed to the world and move nowhere"
WHOLE_COM = "the centre of mass of all links, also of those that are fixed to the world"
NET_TIP = "The force of all contacts on the robot, as vectors: in a grasp they cancel"
SUM_TIP = "The magnitudes of the contact forces added up, as of both fingers in a grasp"
FREE_TIP = "The root link moves freely"
FIXED_TIP = "The root link does not move, whatever the robot stands on; Simulation › Floating base frees it"
ROBOTS_COM = "the centre of mass of the robot's moving links, in the world"
OF_SUPPORT = (
    "the distance of the centre of mass, seen along gravity, from the edge of the contacts' support polygon;\n"
    "negative outside, where a robot at rest tips; View › Overlays › Support polygon draws it"
)
OF_PRESSURE = "the centre of pressure of the contacts that carry the robot by this link, in the world"
OF_FRICTION = (
    "friction and damping of its joints in percent of robot 0's: the mean, the smallest and the largest;\n"
    "a link that is selected shows those of its joint"
)
ABOUT = "about the centre of mass, along the link's axes"


class Row(NamedTuple):
    """A line: label, numbers as text, an explanatory tooltip, and whether it is coloured as a warning."""

    label: str
    text: str
    tip: str = ""
    warns: bool = False


class Section(NamedTuple):
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, eq=False)
class Mass:
    """A body's mass, kg, its centre of mass in the link's frame, m, and its inertia about that centre, kg m².

    `principal` (3,) are the principal moments, `axes` (3, 3) has their axes as columns, both in the link's frame.
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray
    principal: np.ndarray
    axes: np.ndarray


def mass_of(model: engine.Model, link: int) -> Mass | None:
    """Return the mass of a link's body; None if it is fixed to the world."""
    body = int(model.link_body[link])
    if body < 0:
        return None
    mass = float(model.mass[body])
    R, p = model.link_rotation[link], model.link_position[link]
    center = model.first_moment[body] / mass if mass > 0 else np.zeros(3)
    about = model.inertia[body] - mass * (center @ center * np.eye(3) - np.outer(center, center))
    inertia = R.T @ about @ R
    principal, axes = np.linalg.eigh((inertia + inertia.T) / 2)
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return Mass(mass, R.T @ (center - p), inertia, principal, axes)


def fixed_facts(model: engine.Model, link: int, whole: engine.Model | None = None) -> tuple[Section, ...]:
    """Return the facts that do not depend on the state: mass, inertia, the joint and its limits.

    `whole` is the robot on a free base, which has the masses of links that are fixed to the world.
    """
    return (_mass_section(model, link, whole), *_joint_sections(model, link))


def _mass_section(model: engine.Model, link: int, whole: engine.Model | None) -> Section:
    found, fixed = mass_of(model, link), ""
    if found is None:
        if whole is None or link >= len(whole.link_names) or not (found := mass_of(whole, link)) or not found.mass:
            return Section("Mass", (Row("mass", FIXED),))
        model, fixed = whole, ", fixed to the world"
    others = [model.link_names[k] for k in np.flatnonzero(model.link_body == model.link_body[link]) if k != link]
    rows = [Row("mass", f"{number_text(found.mass)} kg{fixed}")]
    if others:
        held = ", ".join(others)
        rows.append(Row("of the body", f"with {held}", f"fixed joints hold them together: one mass for all ({held})"))
    if found.mass > 0 or np.any(found.principal):
        I, size = found.inertia, float(np.abs(found.principal).max())
        radius = 1e3 * math.sqrt(size / found.mass) if found.mass > 0 else 0.0  # of gyration, mm
        own = "principal moments of inertia about the centre of mass"
        rows += [
            Row("CoM in link, mm", _vector(1e3 * found.center, radius, 4), "the centre of mass, in the link's frame"),
            Row("I₁ I₂ I₃, kg m²", _vector(found.principal, size), own),
            Row("Ixx Iyy Izz, kg m²", _vector(np.diag(I), size), f"moments of inertia {ABOUT}"),
            Row("Ixy Ixz Iyz, kg m²", _vector(I[[0, 0, 1], [1, 2, 2]], size), f"products of inertia {ABOUT}"),
        ]
    return Section("Mass", tuple(rows))


def _joint_sections(model: engine.Model, link: int) -> tuple[Section, ...]:
    joint = joint_of_link(model, link)
    if joint is None:
        return ()
    rows = [Row("type", joint.kind)]
    if joint.leader is not None:
        rows.append(Row("follows", f"{joint.multiplier:g} · {joint.leader} + {joint.offset:g}"))
        return (Section(f"Joint {joint.name}", tuple(rows)),)
    for v in range(joint.v.start, joint.v.stop) if joint.kind != "floating" else ():
        turns = joint.type.angular[v - joint.v.start]
        part = model.coordinate_names[v].removeprefix(joint.name).lstrip(".")
        name = f"{part} " if part else ""
        shown, unit = (ANGLES.scale, ANGLES.name) if turns else (1000.0, "mm")
        if np.isfinite(model.lower[v]) or np.isfinite(model.upper[v]):
            ends = f"{number_text(shown * model.lower[v])} … {number_text(shown * model.upper[v])} {unit}"
            rows.append(Row(f"{name}position limits", ends))
        if np.isfinite(model.velocity_limit[v]):
            rows.append(Row(f"{name}velocity limit", f"{number_text(shown * model.velocity_limit[v])} {unit}/s"))
        if np.isfinite(model.effort_limit[v]):
            rows.append(Row(f"{name}effort limit", f"{number_text(model.effort_limit[v])} {'N m' if turns else 'N'}"))
        for label, value, units in (
            ("damping", model.damping[v], ("N m s/rad", "N s/m")),
            ("friction", model.friction[v], ("N m", "N")),
        ):
            if value:
                rows.append(Row(f"{name}{label}", f"{number_text(value)} {units[not turns]}"))
    return (Section(f"Joint {joint.name}", tuple(rows)),)


def robot_facts(
    model: engine.Model, frame: Snapshot, nominal: engine.Model | None = None, whole: engine.Model | None = None
) -> tuple[Section, ...]:
    """Return the facts about a whole robot: size, energy, the joint nearest to its effort limit, contact.

    Free bodies and other robots around it do not count. In a batch its mass and friction are compared with the
    `nominal` model's, robot 0. `whole` as in `fixed_facts`.
    """
    own = alone(model)
    mass = float(own.mass.sum())
    kinetic, potential = own_energy(model, frame.q, frame.v, frame.link_poses)
    size = f"{_count(len(own.link_names), 'link')}, {_count(len(own.joints), 'joint')}, {own.nv} DoF"
    free = any(joint.kind == "floating" for joint in own.joints)
    base = Row("base", "free", FREE_TIP) if free else Row("base", "fixed to the world", FIXED_TIP)
    rows = [Row("size", size), base, Row("moving mass", f"{number_text(mass)} kg")]
    if frame.batch is not None and nominal is not None and nominal.nv == model.nv:
        rows[-1:] = _own_rows(mass, float(alone(nominal).mass.sum()), factors(nominal, model))
    elsewhere = 0.0 if whole is None else float(whole.mass[0])  # kg, fixed to the world
    if elsewhere:
        rows.insert(2, Row("total mass", f"{number_text(mass + elsewhere)} kg", TOTAL_TIP))
    of_work, of_force = typical_work(mass), mass * EARTH
    now = [
        Row("kinetic energy", _about(of_work, kinetic, "J")),
        Row("potential energy", _about(of_work, potential, "J"), "zero at the height of the world's origin"),
    ]
    now = now if math.isfinite(kinetic + potential) else []  # of a robot that diverged
    if mass > 0:
        now.insert(0, _place("CoM", center_of_mass(model, frame.link_poses), ROBOTS_COM))
    if elsewhere and mass > 0:
        center = mass * center_of_mass(model, frame.link_poses) + _moment_of_base(whole, frame)
        now.insert(1, _place("CoM with base", center / (mass + elsewhere), WHOLE_COM))
    shares = np.abs(frame.effort[: own.nv]) / np.where(own.effort_limit > 0, own.effort_limit, np.inf)
    if np.any(shares > 0):  # NaN where no efforts were sampled
        most = int(np.nanargmax(shares))
        words = f"{own.coordinate_names[most]}: {shares[most]:.0%} of its effort limit"
        now.append(Row("highest load", words, "at the limit the drive gives no more", shares[most] >= 1 - ROUNDED))
    if frame.contacts is not None:
        now += _contact_rows(frame.contacts, len(own.link_names), of_force)
        center = center_of_mass(model, frame.link_poses)
        if mass > 0 and (support := support_of(own, frame.contacts, center, frame.model.gravity)) is not None:
            now.append(Row("support margin, mm", _fixed(1000 * support.margin), OF_SUPPORT))
    if frame.batch is not None and frame.batch.diverged[frame.robot]:
        now.insert(0, Row("diverged", "as last drawn", "its state is no longer finite; the one before is shown"))
    of = "" if frame.batch is None else f" of robot {frame.robot}"
    return Section(f"Model{of}", tuple(rows)), Section(f"State{of}", tuple(now))


def _moment_of_base(whole: engine.Model, frame: Snapshot) -> np.ndarray:
    """Return mass times centre of mass (3,) in the world, kg m, of a robot's links that are fixed to the world."""
    R, p = whole.link_rotation[0], whole.link_position[0]
    in_root = R.T @ (whole.first_moment[0] - whole.mass[0] * p)
    pose = frame.link_poses[0]
    return np.asarray(pose[:3, :3] @ in_root + whole.mass[0] * pose[:3, 3])


def _own_rows(mass: float, nominal: float, shares: np.ndarray) -> tuple[Row, ...]:
    """Return the rows of a robot's mass, kg, and of its joints' `shares` of friction and damping of robot 0's."""
    of_zero = f", {100 * mass / nominal:.1f} %" if nominal else ""
    moving = Row("moving mass", f"{number_text(mass)} kg{of_zero}", "in percent of robot 0's")
    if not len(shares):
        return (moving,)
    least, mean, most = (100 * each for each in (shares.min(), shares.mean(), shares.max()))
    return moving, Row("joint friction", f"{mean:.1f} %, {least:.0f} … {most:.0f} %", OF_FRICTION)


def _contact_rows(contacts: Contacts, links: int, typical: float) -> tuple[Row, ...]:
    """Return the rows of the contacts of a robot's links, the first of a model; its own touch each other with two."""
    on, against = contacts.link < links, (contacts.other >= 0) & (contacts.other < links)
    net = float(np.linalg.norm((on.astype(float) - against) @ contacts.force))
    sizes = float(np.linalg.norm(contacts.force[on | against], axis=1).sum())
    count = int(np.count_nonzero(on | against))
    return (
        Row("contact", f"{_count(count, 'point')}, net {_about(typical, net, 'N')}", NET_TIP),
        Row("contact, sum", _about(typical, sizes, "N"), SUM_TIP),
    )


def live_facts(model: engine.Model, link: int, frame: Snapshot) -> tuple[Section, ...]:
    """Return the facts that change with the state: joint motion and effort, link pose and twist, contacts."""
    pose = frame.link_poses[link]
    twist = engine.link_twists(model, frame.q, frame.v)[link]
    unit, scale, digits = ANGLES.name, ANGLES.scale, 2 + ANGLES.more_digits
    motion = [
        _place("position", pose[:3, 3], "of the link's frame, in the world"),
        Row(
            f"roll pitch yaw, {unit}",
            _fixed(scale * roll_pitch_yaw(pose[:3, :3]), digits),
            "fixed axes x, y, z, as in URDF",
        ),
        Row("velocity, mm/s", _fixed(1000 * twist[3:]), "of the link's origin, along the world's axes"),
        Row(
            f"angular velocity, {unit}/s", _fixed(scale * twist[:3], digits), "angular velocity, along the world's axes"
        ),
    ]
    found = mass_of(model, link)
    if found is not None and found.mass > 0:
        center = pose[:3, :3] @ found.center + pose[:3, 3]
        motion.insert(2, _place("CoM", center, "the centre of mass of its body, in the world"))
    sections = [Section("Motion in the world", tuple(motion))]
    if rows := _joint_state(model, link, frame):
        sections.insert(0, Section("Joint state", rows))
    if frame.contacts is not None:
        force = frame.contacts.on(link)
        text = _fixed(force.sum(0)) if len(force) else "none"
        tip = f"on the link, along the world's axes; {_count(len(force), 'contact point')}"
        rows_of = [Row("force, N", text, tip)]
        center = center_of_mass(model, frame.link_poses)
        support = support_of(alone(model), frame.contacts, center, frame.model.gravity)
        if support is not None and link in support.links:
            rows_of.append(_place("CoP", support.pressed[support.links == link][0], OF_PRESSURE))
        sections.append(Section("Contact", tuple(rows_of)))
    return tuple(sections)


def _joint_state(model: engine.Model, link: int, frame: Snapshot) -> tuple[Row, ...]:
    joint = joint_of_link(model, link)
    if joint is None or joint.kind in ("floating", "spherical"):
        return ()
    owner = joint if joint.leader is None else model.joint(joint.leader)
    scale, offset = (joint.multiplier, joint.offset) if joint.leader is not None else (1.0, 0.0)
    rows = []
    for q, v in zip(range(owner.q.start, owner.q.stop), range(owner.v.start, owner.v.stop), strict=True):
        turns = joint.type.angular[v - owner.v.start]
        part = model.coordinate_names[v].removeprefix(owner.name).lstrip(".")
        name = f"{part} " if part else ""
        shown, unit = (ANGLES.scale, ANGLES.name) if turns else (1000.0, "mm")
        digits = 2 + (ANGLES.more_digits if turns else 0)
        rows.append(Row(f"{name}position", f"{_fixed(shown * (scale * frame.q[q] + offset), digits)} {unit}"))
        rows.append(Row(f"{name}velocity", f"{_fixed(shown * scale * frame.v[v], digits)} {unit}/s"))
        if joint.leader is None and np.isfinite(frame.effort[v]):
            effort, unit = ("torque", "N m") if turns else ("force", "N")
            rows.append(Row(f"{name}{effort}", f"{_fixed(frame.effort[v])} {unit}", "effort of the joint's drive"))
    return tuple(rows)


def roll_pitch_yaw(R: np.ndarray) -> np.ndarray:
    """Return the angles, (3,) rad, of successive rotations about the fixed axes x, y, z that make R (3, 3)."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) < 1e-9:
        return np.array([math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])])


def _count(count: int, name: str) -> str:
    return f"{count} {name}{'s' if count != 1 else ''}"


def number_text(value: float, digits: int = 4) -> str:
    """Format a number with `digits` significant digits, without an exponent for common magnitudes."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "–"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return re.sub(r"e([+-])0", r"e\1", f"{value:.2e}")


def _fixed(values: np.ndarray | float, digits: int = 2) -> str:
    """Format changing numbers to as many decimals, so that their width stays steady."""
    return " ".join(f"{round(float(value), digits) + 0.0:.{digits}f}" for value in np.atleast_1d(values))


def _about(typical: float, value: float, unit: str) -> str:
    """Format a changing number with its unit, whose prefix is that of a typical one."""
    prefix, per_unit = prefix_for(typical)
    return f"{_fixed(per_unit * value)} {prefix}{unit}"


def _place(name: str, x: np.ndarray, tip: str) -> Row:
    """Return the row of a position (3,), m, in the unit that the joints' rows have for such lengths."""
    far = np.abs(x).max() >= IN_METRES_FROM
    return Row(f"{name}, {'m' if far else 'mm'}", _fixed(x if far else 1000 * x), tip)


def _vector(values: np.ndarray, size: float, digits: int = 3) -> str:
    """Format numbers in a row, with `digits` digits; values far below the largest or `size` are shown as 0."""
    least = 1e-6 * max(size, float(np.abs(values).max(initial=0.0)))
    return " ".join(number_text(float(value) if abs(value) > least else 0.0, digits) for value in values)
