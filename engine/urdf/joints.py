"""Read a URDF's joints: parent and child, frame, axis, limits, damping, friction and mimic relation."""

from __future__ import annotations

import math
from collections.abc import Iterator

from engine.urdf.elements import SEVERAL, TYPES, JointElement, Limits, Mimic
from engine.urdf.markup import NO_LIMIT, Document, Element, Repair, Vector
from engine.urdf.numerals import format_number


def read_joint(document: Document, element: Element) -> JointElement:
    """Return the joint of a <joint> element."""
    name, kind = document.name(element, "name") or "", _type(document, element)
    xyz, rpy = document.origin(element)
    kind = kind or "fixed"
    parent, child = _end(document, element, "parent"), _end(document, element, "child")
    axis, limits, mimic = JointElement.axis, JointElement.limits, None
    if kind not in ("fixed", "floating", "spherical"):
        axis = _axis(document, element)
    if kind == "spherical":
        _unused(document, element, ("mimic",), kind)
        limits = _limits_of_each_axis(document, element)
    elif kind in SEVERAL:
        _unused(document, element, ("limit", "dynamics", "mimic"), kind)
    elif kind != "fixed":
        limits, mimic = _limits(document, element, kind), _mimic(document, element)
    return JointElement(name, kind, parent, child, element, xyz, rpy, axis, limits, mimic)


def _type(document: Document, element: Element) -> str | None:
    """Return the joint's type; report an unknown type and return None."""
    kind = document.name(element, "type")
    if kind is None or kind in TYPES:
        return kind
    if kind.lower() in TYPES:
        used = f'read as {kind.lower()}; write type="{kind.lower()}"'
        document.warning(element, f'type="{kind}" has capitals', used, document.write(element, type=kind.lower()))
        return kind.lower()
    if kind.lower() == "ball":
        used = 'read as spherical; write type="spherical"'
        repair = document.write(element, type="spherical")
        document.warning(element, f'type="{kind}" is another word for spherical', used, repair)
        return "spherical"
    document.error(element, f"type {kind!r} is not known", f"the types are {', '.join(TYPES)}")
    return None


def _unused(document: Document, element: Element, tags: tuple[str, ...], kind: str) -> None:
    for tag in tags:
        child = document.one(element, tag)
        if child is not None:
            problem = f"a {kind} joint has several coordinates"
            document.warning(child, problem, "the element is not used", document.drop(child))


def _end(document: Document, element: Element, tag: str) -> str | None:
    child = document.one(element, tag)
    if child is None:
        document.error(element, f"no <{tag}>", f'add <{tag} link="…"/>')
        return None
    return document.name(child, "link")


def _axis(document: Document, element: Element) -> Vector:
    child = document.one(element, "axis")
    default = (1.0, 0.0, 0.0)
    if child is None:
        return default
    if child.get("xyz") is None:
        document.error(child, "no xyz", "give xyz as three numbers")
        return default
    x, y, z = document.vector(child, "xyz", default)
    length = math.hypot(x, y, z)
    if length < 1e-12:
        document.error(child, f'the axis is zero (xyz="{child.get("xyz")}")', "give a unit vector such as 0 0 1")
        return default
    axis = (x / length, y / length, z / length)
    if abs(length - 1) > 1e-3:
        used = " ".join(f"{value:.6g}" for value in axis)
        repair = document.write(child, xyz=" ".join(map(format_number, axis)))
        document.warning(child, f"the axis has length {length:.6g}, not 1", f"{used} is used", repair)
    return axis


def _limits(document: Document, element: Element, kind: str) -> Limits:
    damping, friction = _dynamics(document, element)
    child = document.one(element, "limit")
    if child is None:
        if kind != "continuous":
            problem = f"no <limit>, which a {kind} joint demands"
            repair = _without_limits(document, element, None)
            document.warning(element, problem, f"it moves without limits; if that is meant {_write(element)}", repair)
        return Limits(damping=damping, friction=friction)
    lower, upper = (-math.inf, math.inf) if kind == "continuous" else _range(document, child)
    velocity, effort = (_bound(document, child, attribute) for attribute in ("velocity", "effort"))
    return Limits(lower, upper, velocity, effort, damping, friction)


def _limits_of_each_axis(document: Document, element: Element) -> Limits:
    """Return the velocity and effort limits, damping and friction of a ball joint about each of its three axes."""
    damping, friction = _dynamics(document, element)
    child = document.one(element, "limit")
    if child is None:
        return Limits(damping=damping, friction=friction)
    if child.get("lower") is not None or child.get("upper") is not None:
        problem = "lower and upper limit one angle, and a ball joint has none"
        repair = document.write(child, lower=None, upper=None)
        document.warning(child, problem, "they are not used: it turns without position limits", repair)
    velocity, effort = (_bound(document, child, attribute) for attribute in ("velocity", "effort"))
    return Limits(velocity=velocity, effort=effort, damping=damping, friction=friction)


def _without_limits(document: Document, joint: Element, limit: Element | None) -> Repair:
    """Return the repair that declares a joint's position unlimited."""
    if _revolute(joint):
        cleared = document.write(limit, lower=None, upper=None) if limit is not None else ()
        return document.write(joint, type="continuous") + cleared
    if limit is not None:
        return document.write(limit, lower=f"-{NO_LIMIT}", upper=NO_LIMIT)
    bounds = f'lower="-{NO_LIMIT}" upper="{NO_LIMIT}" effort="{NO_LIMIT}" velocity="{NO_LIMIT}"'
    return document.add(joint.find("child"), f"<limit {bounds}/>")


def _write(joint: Element) -> str:
    """Return the attributes that declare a joint's position unlimited."""
    return 'write type="continuous"' if _revolute(joint) else f'write lower="-{NO_LIMIT}" upper="{NO_LIMIT}"'


def _revolute(joint: Element) -> bool:
    return str(joint.get("type", "")).strip().lower() == "revolute"


def _range(document: Document, element: Element) -> tuple[float, float]:
    """Return the lower and upper position limit; infinite where there is none."""
    given = [side for side in ("lower", "upper") if element.get(side) is not None]
    lower = document.limit(element, "lower", -math.inf)
    upper = document.limit(element, "upper", math.inf)
    if lower is None or upper is None:
        return -math.inf, math.inf
    absent, default = "", {"lower": "", "upper": ""}
    if len(given) == 1:
        lower, upper = (lower, 0.0) if given == ["lower"] else (0.0, upper)
        absent = "upper" if given == ["lower"] else "lower"
        default[absent] = " (the default)"
    joint = element.getparent()
    problem = ""
    if not given or lower == upper == 0:
        problem = "neither lower nor upper" if not given else "lower and upper are both 0"
    elif lower > upper:
        bounds = f"lower {lower:g}{default['lower']} is above upper {upper:g}{default['upper']}"
        problem = f"{bounds}, which in files of other simulators means no limits"
    elif lower == -math.inf and upper == math.inf and _revolute(joint):
        problem = "lower and upper limit nothing"
    if problem:
        used = f"it moves without position limits; if that is meant {_write(joint)}"
        document.warning(element, problem, used, _without_limits(document, joint, element))
        return -math.inf, math.inf
    if absent:
        repair = document.write(element, **{absent: "0"})
        document.warning(element, f"no {absent}", f"{absent} is 0, the default of URDF", repair)
    if lower == upper:
        document.warning(element, f"lower and upper are both {lower:g}", f"the joint stays at {lower:g}")
    return lower, upper


def _bound(document: Document, element: Element, attribute: str) -> float:
    """Return a joint's velocity or effort limit; infinite where there is none."""
    absent = element.get(attribute) is None
    value = document.limit(element, attribute, math.inf)
    if value is None:
        return math.inf
    if value < 0:
        document.error(element, f"{attribute} {value:g} is negative", f"give a positive {attribute}")
    if value == 0 or absent:
        problem = f"no {attribute}" if absent else f"{attribute} is 0, treated as not given"
        repair = document.write(element, **{attribute: NO_LIMIT})
        used = f'no {attribute} limit is used; if that is meant write {attribute}="{NO_LIMIT}"'
        document.warning(element, problem, used, repair)
    return value if value > 0 else math.inf


def _dynamics(document: Document, element: Element) -> Iterator[float]:
    child = document.one(element, "dynamics")
    for attribute in ("damping", "friction"):
        value = document.number(child, attribute, 0.0) if child is not None else 0.0
        if value is not None and value < 0:
            document.error(child, f"{attribute} {value:g} is negative and would drive the joint", "give 0 or more")
        yield max(value or 0.0, 0.0)


def _mimic(document: Document, element: Element) -> Mimic | None:
    child = document.one(element, "mimic")
    if child is None:
        return None
    leader = document.name(child, "joint")
    multiplier, offset = document.number(child, "multiplier", 1.0), document.number(child, "offset", 0.0)
    if leader is None or multiplier is None or offset is None:
        return None
    return Mimic(leader, multiplier, offset, child)
