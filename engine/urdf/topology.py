"""Build one tree from a URDF's links and joints, and resolve mimic joints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine import lie
from engine.urdf import foreign
from engine.urdf.elements import SCALAR, TYPES, Description, JointElement, Limits, Link, Mimic
from engine.urdf.markup import MAX_QUANTITY, Document
from engine.urdf.numerals import format_number
from engine.urdf.spelling import Spelling

FLOATING_BASE = "floating_base"
OWN_BASE = "load it without adding a free base"
"""The fix of a file that has its own where another is asked for."""

_NO_LINKS = {False: "add at least one <link>", True: "this is an SRDF; give the URDF, and this one as its srdf"}
MAX_CYCLE_CHECKS = 100
"""Number of surplus joints that are checked for a cycle: each check may walk to the root."""


@dataclass(frozen=True)
class Branch:
    """A link of the tree and the joint to its parent (None: fixed to the world)."""

    link: Link
    joint: JointElement | None
    parent: int
    """The index of the parent branch; -1 at a root."""


@dataclass(frozen=True)
class Topology:
    """The tree in depth-first order, children in file order; mimic joints, and limits merged with theirs."""

    branches: tuple[Branch, ...]
    followers: dict[str, Mimic]
    limits: dict[str, Limits]


def connect(document: Document, description: Description, floating: bool, mimic: bool) -> Topology:
    """Build the tree of a description. Problems are recorded in the document; links in a cycle are omitted."""
    links = {link.name: link for link in reversed(description.links)}
    _unique(document, "link", description.links)
    _unique(document, "joint", [joint for joint in description.joints if joint.name])
    if not links and not document.failed:
        document.error(document.root, "the robot has no links", _NO_LINKS[foreign.is_srdf(document.root)])
    carriers = _carriers(document, description.joints, links)
    roots = _roots(document, description, links)
    _cycles(document, carriers)
    branches = _depth_first(links, carriers, roots)
    if floating and branches:
        branches = _freed(document, branches)
    followers = _followers(document, description.joints) if mimic else {}
    limits = _merged(document, description.joints, followers)
    return Topology(tuple(branches), followers, limits)


def _unique(document: Document, kind: str, entries: Sequence[Link] | Sequence[JointElement]) -> None:
    first: dict[str, Link | JointElement] = {}
    for entry in entries:
        other = first.setdefault(entry.name, entry)
        if other is not entry:
            line = document.line(other.element)
            document.error(entry.element, f"the name is taken by the {kind} of line {line}", f"rename one {kind}")


def _carriers(document: Document, joints: Iterable[JointElement], links: dict[str, Link]) -> dict[str, JointElement]:
    """Return each link's parent joint: the first joint that names the link as its child."""
    carriers: dict[str, JointElement] = {}
    surplus: list[JointElement] = []
    spelling = Spelling(links, "link")
    for joint in joints:
        for tag, name in (("parent", joint.parent), ("child", joint.child)):
            if name is not None and name not in links:
                document.error(joint.element.find(tag), f"there is no link {name!r}", spelling.fix(name))
        if joint.child in links and carriers.setdefault(joint.child, joint) is not joint:
            surplus.append(joint)
    for count, joint in enumerate(surplus):
        child, parent = joint.child or "", joint.parent
        problem = f"link {child!r} has two parents: joint {carriers[child].name!r} carries it too"
        if count < MAX_CYCLE_CHECKS and parent is not None and child in _ancestors(parent, carriers):
            problem += f"; this joint closes a cycle from {child!r} to {parent!r} and back"
        document.error(joint.element, problem, "a link hangs on one joint; remove one of the two")
    return carriers


def _ancestors(link: str, carriers: dict[str, JointElement]) -> set[str]:
    """Return the link and all its ancestors."""
    seen: set[str] = set()
    name: str | None = link
    while name is not None and name not in seen:
        seen.add(name)
        name = carriers[name].parent if name in carriers else None
    return seen


def _roots(document: Document, description: Description, links: dict[str, Link]) -> list[str]:
    """Return the links without a parent joint.

    A joint without a child name leaves an additional root, which is not reported.
    """
    children = {joint.child for joint in description.joints}
    roots = [name for name in dict.fromkeys(link.name for link in description.links) if name not in children]
    astray = sum(joint.child not in links for joint in description.joints)
    if len(roots) > 1 + astray:
        named = ", ".join(map(repr, roots[:6])) + (" …" if len(roots) > 6 else "")
        element = links[roots[1]].element
        document.error(
            element, f"there are {len(roots)} roots: {named}", "join them by joints: a robot has one root link"
        )
    return roots


def _cycles(document: Document, carriers: dict[str, JointElement]) -> None:
    done: set[str] = set()
    for start in carriers:
        path: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in done and name not in path:
            path[name] = None
            name = carriers[name].parent if name in carriers else None
        if name is not None and name in path:
            cycle = [*path][[*path].index(name) :][::-1]
            cycle = [cycle[-1], *cycle]
            problem = f"a cycle of links: {_shortened(cycle)}"
            document.error(carriers[name].element, problem, "remove one joint of the cycle")
        done.update(path)


def _depth_first(links: dict[str, Link], carriers: dict[str, JointElement], roots: list[str]) -> list[Branch]:
    children: dict[str, list[JointElement]] = {}
    for carrier in carriers.values():
        children.setdefault(carrier.parent or "", []).append(carrier)
    branches: list[Branch] = []
    stack: list[tuple[str, JointElement | None, int]] = [(name, None, -1) for name in reversed(roots)]
    while stack:
        name, joint, parent = stack.pop()
        index = len(branches)
        branches.append(Branch(links[name], joint, parent))
        stack += [(child.child or "", child, index) for child in reversed(children.get(name, ()))]
    return branches


def _freed(document: Document, branches: list[Branch]) -> list[Branch]:
    """Return the tree with a free joint between world and root link."""
    root, fixed = branches[0], {0}
    for index, branch in enumerate(branches[1:], 1):
        if branch.parent not in fixed or branch.joint is None:
            continue
        if branch.joint.type == "fixed":
            fixed.add(index)
        elif branch.joint.type == "floating":
            problem = f"the root {root.link.name!r} already carries the robot by a floating joint"
            document.error(branch.joint.element, problem, OWN_BASE)
            return branches
    for branch in branches:
        if branch.joint is not None and branch.joint.name == FLOATING_BASE and branch.joint.type != "fixed":
            problem = f"a free base adds a joint of the name {FLOATING_BASE!r}, which is in use"
            document.error(branch.joint.element, problem, "rename this joint")
    base = JointElement(FLOATING_BASE, "floating", None, root.link.name, root.link.element)
    return [replace(root, joint=base), *branches[1:]]


def _by_name(joints: Iterable[JointElement]) -> dict[str, JointElement]:
    """Return the joints by name; a duplicate is an error, and the first is used."""
    named: dict[str, JointElement] = {}
    for joint in joints:
        named.setdefault(joint.name, joint)
    return named


def _followers(document: Document, joints: Iterable[JointElement]) -> dict[str, Mimic]:
    """Return, for each mimic joint, the independent joint that it follows in the end, and how."""
    mimics = _mimics(document, _by_name(joints))
    followers: dict[str, Mimic] = {}
    resolved = _resolved(mimics)
    for name, mimic in mimics.items():
        leader, multiplier, offset = resolved[name]
        if leader in mimics:
            if leader == name:
                cycle = _shortened(_cycle_from(name, mimics))
                fix = "let one of them move by itself"
                document.error(mimic.element, f"a cycle of joints that mimic: {cycle}", fix)
        elif not (abs(multiplier) <= MAX_QUANTITY and abs(offset) <= MAX_QUANTITY):
            problem = f"the multipliers and offsets up to {leader!r} make {multiplier:g} and {offset:g}"
            document.error(mimic.element, problem, "give numbers that can be computed with")
        else:
            followers[name] = replace(mimic, leader=leader, multiplier=multiplier, offset=offset)
            if mimic.leader != leader:
                problem = f"follows {mimic.leader!r}, which itself mimics {mimics[mimic.leader].leader!r}"
                repair = document.write(
                    mimic.element, joint=leader, multiplier=format_number(multiplier), offset=format_number(offset)
                )
                document.warning(mimic.element, problem, f"{multiplier:g} · {leader} + {offset:g} is used", repair)
    return followers


def _resolved(mimics: dict[str, Mimic]) -> dict[str, tuple[str, float, float]]:
    """Return, for each mimic joint, the joint that it follows in the end, the multiplier and the offset.

    In a cycle, the joint named is the cycle's first in file order.
    """
    resolved: dict[str, tuple[str, float, float]] = {}
    order = {name: index for index, name in enumerate(mimics)}
    for start in mimics:
        path: dict[str, None] = {}
        name = start
        while name in mimics and name not in resolved and name not in path:
            path[name] = None
            name = mimics[name].leader
        leader, multiplier, offset = resolved.get(name, (name, 1.0, 0.0))
        if name in path:
            leader = min(_cycle_from(name, mimics), key=order.__getitem__)
        for entry in reversed(path):
            step = mimics[entry]
            multiplier, offset = step.multiplier * multiplier, step.multiplier * offset + step.offset
            resolved[entry] = (leader, multiplier, offset)
    return resolved


def _cycle_from(name: str, mimics: dict[str, Mimic]) -> list[str]:
    """Return the joints of a cycle, from one of them back to it."""
    cycle = [name]
    while len(cycle) == 1 or cycle[-1] != name:
        cycle.append(mimics[cycle[-1]].leader)
    return cycle


def _shortened(cycle: list[str]) -> str:
    return " → ".join(cycle if len(cycle) <= 8 else [*cycle[:4], "…", *cycle[-3:]])


def _mimics(document: Document, named: dict[str, JointElement]) -> dict[str, Mimic]:
    """Return each joint's own <mimic>, if the joint that it names can be followed."""
    mimics: dict[str, Mimic] = {}
    spelling = Spelling(named, "joint")
    for joint in named.values():
        if joint.mimic is None:
            continue
        leader = named.get(joint.mimic.leader)
        if leader is None:
            used = f"it moves by itself; {spelling.fix(joint.mimic.leader)}"
            document.warning(joint.mimic.element, f"there is no joint {joint.mimic.leader!r}", used)
        elif leader.type in SCALAR:
            mimics[joint.name] = joint.mimic
        elif str(leader.element.get("type")).strip().lower() in (*TYPES, "ball"):  # else already reported
            problem = f"joint {leader.name!r} is {leader.type} and has not one coordinate to follow"
            fix = f"follow a joint that is {', '.join(SCALAR[:-1])} or {SCALAR[-1]}"
            document.error(joint.mimic.element, problem, fix)
    return mimics


def _merged(document: Document, joints: Iterable[JointElement], followers: dict[str, Mimic]) -> dict[str, Limits]:
    """Return the limits of each independent joint, including those that its followers impose.

    With ``q_f = m q + o``, ranges are intersected, velocities divided by ``|m|``, and the virtual work of the
    followers' resistance adds ``m²`` of their damping and ``|m|`` of their friction.
    """
    named = _by_name(joints)
    limits = {name: joint.limits for name, joint in named.items() if name not in followers}
    for name, mimic in followers.items():
        m, follower, leader = mimic.multiplier, named[name].limits, limits[mimic.leader]
        lower, upper = -math.inf, math.inf
        if m != 0:
            lower, upper = sorted(((follower.lower - mimic.offset) / m, (follower.upper - mimic.offset) / m))
        if max(lower, leader.lower) > min(upper, leader.upper) or (
            m == 0 and not follower.lower <= mimic.offset <= follower.upper
        ):
            problem = f"its limits and those of {mimic.leader!r} are never met together"
            document.warning(mimic.element, problem, f"the limits of {mimic.leader!r} are used")
            lower, upper = -math.inf, math.inf
        limits[mimic.leader] = replace(
            leader,
            lower=max(leader.lower, lower),
            upper=min(leader.upper, upper),
            velocity=min(leader.velocity, follower.velocity / abs(m)) if m else leader.velocity,
            damping=leader.damping + m * m * follower.damping,
            friction=leader.friction + abs(m) * follower.friction,
        )
    return limits


def lock_joints(topology: Topology, positions: dict[str, float]) -> Topology:
    """Return the tree with some revolute and prismatic joints locked, each at a position."""
    branches = [
        replace(branch, joint=_fixed_at(branch.joint, positions[branch.joint.name]))
        if branch.joint is not None and branch.joint.name in positions
        else branch
        for branch in topology.branches
    ]
    followers = {name: mimic for name, mimic in topology.followers.items() if name not in positions}
    return replace(topology, branches=tuple(branches), followers=followers)


def _fixed_at(joint: JointElement, position: float) -> JointElement:
    motion = np.multiply(joint.axis, position)
    R0, p0 = lie.rotation_from_rpy(joint.rpy), np.array(joint.xyz)
    if joint.type == "prismatic":
        x, y, z = (p0 + R0 @ motion).tolist()
        return replace(joint, type="fixed", xyz=(x, y, z))
    roll, pitch, yaw = lie.rpy_from_rotation(R0 @ lie.exp([*motion, 0, 0, 0])[0]).tolist()
    return replace(joint, type="fixed", rpy=(roll, pitch, yaw))
