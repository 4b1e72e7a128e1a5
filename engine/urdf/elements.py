"""The links and joints that a URDF describes, as data, before the tree is built."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.model.joints import JOINT_TYPES
from engine.urdf.markup import ZERO, Element, Vector
from engine.urdf.surfaces import Surface

Color = tuple[float, float, float, float]

TYPES = (*JOINT_TYPES, "fixed")
SEVERAL = tuple(kind for kind, row in JOINT_TYPES.items() if row.nv > 1)
"""The joint types with several coordinates."""
SCALAR = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Inertial:
    """Mass, the pose of the frame at the centre of mass, and the inertia in that frame (ixx … izz)."""

    mass: float
    xyz: Vector
    rpy: Vector
    moments: tuple[float, ...]
    element: Element


@dataclass(frozen=True)
class ShapeElement:
    """A <visual> or <collision> in its link's frame, with its own colour or else a material's name ("": none)."""

    kind: str
    size: tuple[float, ...]
    xyz: Vector
    rpy: Vector
    color: Color | None
    material: str
    mesh: str | None
    name: str


@dataclass(frozen=True)
class Link:
    name: str
    inertial: Inertial | None
    visuals: tuple[ShapeElement, ...]
    collisions: tuple[ShapeElement, ...]
    element: Element


@dataclass(frozen=True)
class Limits:
    """The limits of one coordinate; infinite where the file gives none."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0
    friction: float = 0.0


@dataclass(frozen=True)
class Mimic:
    """Mimic relation: the coordinate is ``multiplier · q_leader + offset``."""

    leader: str
    multiplier: float
    offset: float
    element: Element


@dataclass(frozen=True)
class JointElement:
    """A joint; `parent` and `child` are None where the file does not name them."""

    name: str
    type: str
    parent: str | None
    child: str | None
    element: Element
    xyz: Vector = ZERO
    rpy: Vector = ZERO
    axis: Vector = (1.0, 0.0, 0.0)
    limits: Limits = Limits()
    mimic: Mimic | None = None


@dataclass(frozen=True)
class Description:
    """All links and joints of the file, in the file's order."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[JointElement, ...]
    materials: dict[str, Color | None]
    surfaces: Mapping[str, Surface]
