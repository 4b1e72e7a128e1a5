"""Read the named poses of an SRDF: <group_state> elements with joint positions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.model import Joint
from engine.text import shorten
from engine.urdf import numerals
from engine.urdf.markup import MAX_QUANTITY, Document, Element
from engine.urdf.spelling import Spelling

States = dict[str, dict[str, tuple[float, ...]]]
Limits = tuple[NDArray[np.floating], NDArray[np.floating]]
BASE = "floating_base"
"""The free joint that `load` adds above the root link; in an SRDF it has the name of the <virtual_joint>."""
ROOT_JOINT = "root_joint"
"""Pinocchio's name for that joint."""
ROUND = 1e-6
"""The smallest norm of a quaternion that still defines an orientation."""

POSE_ROUNDING = 1e-3
"""rad or m: how far beyond a limit the rounding of files may put a value."""


def read_states(document: Document, root: Element, joints: Sequence[Joint], limits: Limits | None) -> States:
    """Return the poses by name; if two groups use the same name, by "NAME (GROUP)".

    A pose holds its joints' coordinates, rad and m. Mimic joints are ignored, and so is a free base that the robot does
    not have. Unusable entries are reported and omitted; values outside `limits` (nv,) are reported.
    """
    reader = _Reader(document, root, joints, limits)
    elements = list(root.iterfind("group_state"))
    names = Counter(_name(element) for element in elements)
    states: States = {}
    for element in elements:
        name, group = _name(element), (element.get("group") or "").strip()
        label = f"{name} ({group})" if names[name] > 1 and group else name
        if not name:
            document.warning(element, "no name", "it is left out")
        elif label in states:
            document.warning(element, f"a second state {label!r}", "the one before it is used")
        else:
            states[label] = dict(reader.coordinates(element))
    return {name: state for name, state in states.items() if state}


def _name(element: Element) -> str:
    return (element.get("name") or "").strip()


class _Reader:
    def __init__(self, document: Document, root: Element, joints: Sequence[Joint], limits: Limits | None):
        self.document, self.limits = document, limits
        self.joints = {joint.name: joint for joint in joints}
        self.spelling = Spelling(self.joints, "joint")
        self.reported: set[str] = set()
        self.bases = {ROOT_JOINT, *(_name(element) for element in root.iterfind("virtual_joint"))}

    def coordinates(self, state: Element) -> Iterator[tuple[str, tuple[float, ...]]]:
        """Return the joints of a state that have coordinates, with their values."""
        for element in state.iterfind("joint"):
            name = _name(element)
            if name in self.bases and name not in self.joints:
                if BASE not in self.joints:
                    continue
                name = BASE
            joint = self.joints.get(name)
            if joint is None:
                self._report_unknown(element, name)
            elif joint.leader is None and (values := self._values(element, joint.type.nq)) is not None:
                place = joint.type.quaternion
                if place is not None and math.hypot(*values[place:]) < ROUND:
                    self.document.warning(element, "its quaternion is zero", "it is left out")
                else:
                    if place is None and self.limits is not None:
                        self._report_outside(element, joint, np.array(values), *self.limits)
                    yield name, values

    def _report_outside(
        self,
        element: Element,
        joint: Joint,
        values: NDArray[np.floating],
        lower: NDArray[np.floating],
        upper: NDArray[np.floating],
    ) -> None:
        limits = lower[joint.v], upper[joint.v]
        turned = joint.turned(values, *limits)
        for value, low, high, angular in zip(turned, *limits, joint.type.angular, strict=True):
            if not low - POSE_ROUNDING <= value <= high + POSE_ROUNDING:
                problem = f"{value:g} is outside the joint's limits, {low:g} to {high:g} {'rad' if angular else 'm'}"
                self.document.warning(element, problem, f"the pose has {np.clip(value, low, high):g}")

    def _report_unknown(self, element: Element, name: str) -> None:
        if name not in self.reported:
            self.reported.add(name)
            fix = self.spelling.fix(name)
            used = f"it is left out; {fix}" if fix.startswith("did") else "it is left out"
            self.document.warning(element, f"the robot has no joint {name!r} that moves", used)

    def _values(self, element: Element, count: int) -> tuple[float, ...] | None:
        text = element.get("value")
        if text is None:
            self.document.warning(element, "no value", "it is left out")
            return None
        came = f'value="{shorten(text, 100)}"'
        try:
            values, oddity, plain = numerals.read(text, count, "value")
        except numerals.Unreadable as problem:
            self.document.warning(element, f"{came} {problem}", f"it is left out; {problem.fix}")
            return None
        if oddity:
            self.document.warning(element, f"{came} {oddity}", f'read as {plain}; write value="{plain}"')
        if any(abs(value) > MAX_QUANTITY for value in values):
            self.document.warning(element, "its value is too large to compute with", "it is left out")
            return None
        return values
