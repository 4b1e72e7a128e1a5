"""Reading a URDF's joints: ends, frame, axis, limits, resistance and mimicry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from engine.description.elements import TYPES, Joint, Limits, Mimic
from engine.description.markup import Document, Element, Vector


def read_joint(document: Document, element: Element) -> Joint:
    name, kind = document.name(element, "name") or "", document.name(element, "type")
    if kind is not None and kind not in TYPES:
        document.error(element, f"type {kind!r} is not known", f"the types are {', '.join(TYPES)}")
        kind = None
    xyz, rpy = document.origin(element)
    joint = Joint(
        name, kind or "fixed", _end(document, element, "parent"), _end(document, element, "child"), element, xyz, rpy
    )
    if joint.type in ("fixed", "floating"):
        if joint.type == "floating":
            _unused(document, element, ("limit", "dynamics", "mimic"), joint.type)
        return joint
    joint = replace(joint, axis=_axis(document, element))
    if joint.type == "planar":
        _unused(document, element, ("limit", "dynamics", "mimic"), joint.type)
        return joint
    return replace(joint, limits=_limits(document, element, joint.type), mimic=_mimic(document, element))


def _unused(document: Document, element: Element, tags: tuple[str, ...], kind: str) -> None:
    for tag in tags:
        child = document.one(element, tag)
        if child is not None:
            document.warning(child, f"a {kind} joint has several coordinates", "the element is not used")


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
        document.warning(child, f"the axis has length {length:.6g}, not 1", f"{used} is used")
    return axis


def _limits(document: Document, element: Element, kind: str) -> Limits:
    damping, friction = _dynamics(document, element)
    child = document.one(element, "limit")
    if child is None:
        if kind != "continuous":
            document.warning(element, f"no <limit>, which a {kind} joint demands", "it moves without limits")
        return Limits(damping=damping, friction=friction)
    lower, upper = (-math.inf, math.inf) if kind == "continuous" else _range(document, child)
    velocity, effort = (_bound(document, child, attribute) for attribute in ("velocity", "effort"))
    return Limits(lower, upper, velocity, effort, damping, friction)


def _range(document: Document, element: Element) -> tuple[float, float]:
    given = [side for side in ("lower", "upper") if element.get(side) is not None]
    lower = document.limit(element, "lower", -math.inf)
    upper = document.limit(element, "upper", math.inf)
    if lower is None or upper is None:
        return -math.inf, math.inf
    if len(given) == 1:
        lower, upper = (lower, 0.0) if given == ["lower"] else (0.0, upper)
        absent = "upper" if given == ["lower"] else "lower"
        document.warning(element, f"no {absent}", f"{absent} is 0, the default of URDF")
    if not given or lower == upper == 0:
        came = "neither lower nor upper" if not given else "lower and upper are both 0"
        document.warning(element, came, "it moves without position limits")
        return -math.inf, math.inf
    if lower > upper:
        document.error(element, f"lower {lower:g} is above upper {upper:g}", "exchange the two")
        return -math.inf, math.inf
    if lower == upper:
        document.warning(element, f"lower and upper are both {lower:g}", f"the joint stays at {lower:g}")
    return lower, upper


def _bound(document: Document, element: Element, attribute: str) -> float:
    """The velocity or effort that a joint reaches; infinite where none is given."""
    if element.get(attribute) is None:
        document.warning(element, f"no {attribute}", f"no {attribute} limit is used")
    value = document.limit(element, attribute, math.inf)
    if value is None:
        return math.inf
    if value < 0:
        document.error(element, f"{attribute} {value:g} is negative", f"give a positive {attribute}")
    if value == 0:
        document.warning(element, f"{attribute} is 0, taken as not given", f"no {attribute} limit is used")
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
