"""What a URDF says of its links and joints, element by element, before it is a tree.

The XML is read here directly and not through yourdfpy: a simulator needs to know which numbers the file
gives and which it leaves out, and on which line, and yourdfpy keeps neither. Each fault stands in
`Document.found`; what is faulty is replaced by something harmless (a unit mass, the x-axis, no limit), so
that no second fault follows from a first one.

Source: the URDF specification of ROS, https://wiki.ros.org/urdf/XML.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

from engine.description.markup import Document, Element
from engine.description.resources import Resources

Vector = tuple[float, float, float]
Color = tuple[float, float, float, float]

ZERO: Vector = (0.0, 0.0, 0.0)
UNIT = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
SIZES = {
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
}
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
class Shape:
    """A shape to draw, in the frame of its link; its own colour, or else the name of a material ("": none)."""

    kind: str
    size: tuple[float, ...]
    xyz: Vector
    rpy: Vector
    color: Color | None
    material: str
    mesh: str | None = None


@dataclass(frozen=True)
class Link:
    name: str
    inertial: Inertial | None
    shapes: tuple[Shape, ...]
    element: Element


@dataclass(frozen=True)
class Limits:
    """What holds for one coordinate; infinite where nothing is given."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0
    friction: float = 0.0


@dataclass(frozen=True)
class Mimic:
    """The coordinate is ``multiplier · q_leader + offset``."""

    leader: str
    multiplier: float
    offset: float
    element: Element


@dataclass(frozen=True)
class Joint:
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
    """Everything the file says, in its order."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    materials: dict[str, Color | None]


def read(document: Document, resources: Resources) -> Description | None:
    """The links and joints of a document; None where it holds no robot. Faults are kept in the document."""
    root = document.root
    if root is None:
        return None
    if root.tag != "robot":
        document.error(root, f"the outermost element is <{root.tag}>", "a URDF is one <robot> element")
        return None
    if not document.expanded and any(
        element.prefix == "xacro" or element.tag.startswith("xacro:") for element in root.iter("*")
    ):
        document.error(root, "has elements of xacro, unexpanded", "name the file .urdf.xacro, or expand it first")
    return _Reader(document, resources).robot(root)


class _Reader:
    def __init__(self, document: Document, resources: Resources):
        self.document = document
        self.resources = resources
        self.materials: dict[str, Color | None] = {}
        self.missing: set[str] = set()

    def robot(self, root: Element) -> Description:
        name = root.get("name", "").strip()
        if not name:
            name = self.document.path.name.split(".")[0]
            self.document.warning(root, "no name", f"the file's name, {name!r}, is used")
        for element in root.findall("material"):
            self._material(element)
        links = [self._link(element) for element in root.findall("link")]
        joints = tuple(self._joint(element) for element in root.findall("joint"))
        for element in root.iterfind("link/visual/material"):
            painted = element.find("color") is not None or element.find("texture") is not None
            if not painted and element.get("name", "").strip() not in self.materials:
                self.document.warning(element, "the material is not defined", "a neutral colour is used")
        return Description(name, tuple(link for link in links if link), joints, self.materials)

    def _link(self, element: Element) -> Link | None:
        name = self.document.name(element, "name")
        inertial = self.document.one(element, "inertial")
        shapes = [self._shape(visual) for visual in element.findall("visual")]
        for collision in element.findall("collision"):
            self._shape(collision)
        mass = self._inertial(inertial) if inertial is not None else None
        if name is None:
            return None
        return Link(name, mass, tuple(shape for shape in shapes if shape), element)

    def _inertial(self, element: Element) -> Inertial:
        xyz, rpy = self._origin(element)
        mass = self._mass(element)
        tensor = self.document.one(element, "inertia")
        if tensor is None:
            self.document.error(
                element, "no <inertia>", 'add <inertia ixx="…" ixy="…" ixz="…" iyy="…" iyz="…" izz="…"/>'
            )
            return Inertial(1.0, xyz, rpy, UNIT, element)
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        moments = [self.document.number(tensor, name) for name in names]
        if mass is None or None in moments:
            return Inertial(1.0, xyz, rpy, UNIT, element)
        return Inertial(mass, xyz, rpy, cast(tuple[float, ...], tuple(moments)), element)

    def _mass(self, element: Element) -> float | None:
        child = self.document.one(element, "mass")
        if child is None:
            self.document.error(element, "no <mass>", 'add <mass value="…"/> in kilograms')
            return None
        mass = self.document.number(child, "value")
        if mass is not None and mass < 0:
            self.document.error(child, f"the mass is {mass:g} kg", "give a mass that is positive, in kilograms")
            return None
        return mass

    def _origin(self, element: Element) -> tuple[Vector, Vector]:
        origin = self.document.one(element, "origin")
        if origin is None:
            return ZERO, ZERO
        return self._vector(origin, "xyz"), self._vector(origin, "rpy")

    def _vector(self, element: Element, attribute: str, default: Vector = ZERO) -> Vector:
        if element.get(attribute) is None:
            return default
        values = self.document.numbers(element, attribute, 3)
        return default if values is None else (values[0], values[1], values[2])

    def _shape(self, element: Element) -> Shape | None:
        """A <visual> or <collision>; None, and a fault, where it cannot be drawn."""
        xyz, rpy = self._origin(element)
        material = self.document.one(element, "material")
        color = self._material(material) if material is not None else None
        geometry = self.document.one(element, "geometry")
        solid = next(geometry.iterchildren("*"), None) if geometry is not None else None
        if solid is None:
            self.document.warning(element, "no shape inside <geometry>", "it is left out")
            return None
        size, mesh = self._mesh(solid) if solid.tag == "mesh" else (self._size(solid), None)
        if size is None:
            return None
        name = material.get("name", "").strip() if material is not None else ""
        return Shape(solid.tag, size, xyz, rpy, color, name, mesh)

    def _size(self, element: Element) -> tuple[float, ...] | None:
        counts = SIZES.get(element.tag)
        if counts is None:
            used = f"it is left out; the shapes are {', '.join(SIZES)} and mesh"
            self.document.warning(element, f"shape <{element.tag}> is not known", used)
            return None
        parts = [self.document.numbers(element, attribute, count) for attribute, count in counts.items()]
        size = tuple(value for part in parts if part is not None for value in part)
        if None in parts:
            return None
        if min(size) < 0:
            came = " ".join(f"{value:g}" for value in size)
            self.document.warning(element, f"the size is negative ({came})", "it is left out")
            return None
        return size

    def _mesh(self, element: Element) -> tuple[Vector | None, str | None]:
        """The scale and the file of a mesh; a file that is not found stays named."""
        scale = self._vector(element, "scale", (1.0, 1.0, 1.0))
        name = element.get("filename", "").strip()
        if not name:
            self.document.warning(element, "no filename", "it is left out")
            return None, None
        path = self.resources.find(name)
        if path is None and name not in self.missing:
            self.missing.add(name)
            self.document.warning(element, f"mesh {name} is not found", f"{self._where(name)}; a placeholder is drawn")
        return scale, name if path is None else str(path)

    def _where(self, name: str) -> str:
        """What to do about a mesh that is missing."""
        scheme, _, rest = name.rpartition("://")
        package = rest.partition("/")[0]
        if scheme == "package" and not self.resources.packages(package):
            ways = "File › Package folders, by --package-dir, package_dirs or ROS_PACKAGE_PATH"
            return f"add the folder of {package} in {ways}"
        if scheme in ("", "file", "package"):
            return "put the file there or correct the name"
        return "names begin with package://, file:// or are relative to the URDF"

    def _material(self, element: Element) -> Color | None:
        """The colour given in a <material>, which is kept under the material's name."""
        color = self.document.one(element, "color")
        name = element.get("name", "").strip()
        if color is None:
            if name and element.find("texture") is not None:
                self.materials.setdefault(name, None)
            return None
        rgba = self.document.numbers(color, "rgba", 4)
        if rgba is None:
            return None
        clipped = cast(Color, tuple(min(max(value, 0.0), 1.0) for value in rgba))
        if clipped != rgba:
            self.document.warning(color, f'rgba="{color.get("rgba")}" leaves 0…1', "it is cut to that range")
        if name:
            self.materials.setdefault(name, clipped)
        return clipped

    def _joint(self, element: Element) -> Joint:
        document = self.document
        name, kind = document.name(element, "name") or "", document.name(element, "type")
        if kind is not None and kind not in TYPES:
            document.error(element, f"type {kind!r} is not known", f"the types are {', '.join(TYPES)}")
            kind = None
        xyz, rpy = self._origin(element)
        joint = Joint(
            name, kind or "fixed", self._end(element, "parent"), self._end(element, "child"), element, xyz, rpy
        )
        if joint.type in ("fixed", "floating"):
            if joint.type == "floating":
                self._unused(element, ("limit", "dynamics", "mimic"), joint.type)
            return joint
        joint = replace(joint, axis=self._axis(element))
        if joint.type == "planar":
            self._unused(element, ("limit", "dynamics", "mimic"), joint.type)
            return joint
        return replace(joint, limits=self._limits(element, joint.type), mimic=self._mimic(element))

    def _unused(self, element: Element, tags: tuple[str, ...], kind: str) -> None:
        for tag in tags:
            child = self.document.one(element, tag)
            if child is not None:
                self.document.warning(child, f"a {kind} joint has several coordinates", "the element is not used")

    def _end(self, element: Element, tag: str) -> str | None:
        child = self.document.one(element, tag)
        if child is None:
            self.document.error(element, f"no <{tag}>", f'add <{tag} link="…"/>')
            return None
        return self.document.name(child, "link")

    def _axis(self, element: Element) -> Vector:
        child = self.document.one(element, "axis")
        default = (1.0, 0.0, 0.0)
        if child is None:
            return default
        if child.get("xyz") is None:
            self.document.error(child, "no xyz", "give xyz as three numbers")
            return default
        x, y, z = self._vector(child, "xyz", default)
        length = math.hypot(x, y, z)
        if length < 1e-12:
            self.document.error(
                child, f'the axis is zero (xyz="{child.get("xyz")}")', "give a unit vector such as 0 0 1"
            )
            return default
        axis = (x / length, y / length, z / length)
        if abs(length - 1) > 1e-3:
            used = " ".join(f"{value:.6g}" for value in axis)
            self.document.warning(child, f"the axis has length {length:.6g}, not 1", f"{used} is used")
        return axis

    def _limits(self, element: Element, kind: str) -> Limits:
        damping, friction = self._dynamics(element)
        child = self.document.one(element, "limit")
        if child is None:
            if kind != "continuous":
                self.document.warning(element, f"no <limit>, which a {kind} joint demands", "it moves without limits")
            return Limits(damping=damping, friction=friction)
        lower, upper = (-math.inf, math.inf) if kind == "continuous" else self._range(child)
        velocity, effort = (self._bound(child, attribute) for attribute in ("velocity", "effort"))
        return Limits(lower, upper, velocity, effort, damping, friction)

    def _range(self, element: Element) -> tuple[float, float]:
        given = [side for side in ("lower", "upper") if element.get(side) is not None]
        lower = self.document.limit(element, "lower", -math.inf)
        upper = self.document.limit(element, "upper", math.inf)
        if lower is None or upper is None:
            return -math.inf, math.inf
        if len(given) == 1:
            lower, upper = (lower, 0.0) if given == ["lower"] else (0.0, upper)
            absent = "upper" if given == ["lower"] else "lower"
            self.document.warning(element, f"no {absent}", f"{absent} is 0, the default of URDF")
        if not given or lower == upper == 0:
            came = "neither lower nor upper" if not given else "lower and upper are both 0"
            self.document.warning(element, came, "it moves without position limits")
            return -math.inf, math.inf
        if lower > upper:
            self.document.error(element, f"lower {lower:g} is above upper {upper:g}", "exchange the two")
            return -math.inf, math.inf
        if lower == upper:
            self.document.warning(element, f"lower and upper are both {lower:g}", f"the joint stays at {lower:g}")
        return lower, upper

    def _bound(self, element: Element, attribute: str) -> float:
        """The velocity or effort that a joint reaches; infinite where none is given."""
        if element.get(attribute) is None:
            self.document.warning(element, f"no {attribute}", f"no {attribute} limit is used")
        value = self.document.limit(element, attribute, math.inf)
        if value is None:
            return math.inf
        if value < 0:
            self.document.error(element, f"{attribute} {value:g} is negative", f"give a positive {attribute}")
        if value == 0:
            self.document.warning(element, f"{attribute} is 0, taken as not given", f"no {attribute} limit is used")
        return value if value > 0 else math.inf

    def _dynamics(self, element: Element) -> Iterator[float]:
        child = self.document.one(element, "dynamics")
        for attribute in ("damping", "friction"):
            value = self.document.number(child, attribute, 0.0) if child is not None else 0.0
            if value is not None and value < 0:
                self.document.error(
                    child, f"{attribute} {value:g} is negative and would drive the joint", "give 0 or more"
                )
            yield max(value or 0.0, 0.0)

    def _mimic(self, element: Element) -> Mimic | None:
        child = self.document.one(element, "mimic")
        if child is None:
            return None
        leader = self.document.name(child, "joint")
        multiplier, offset = self.document.number(child, "multiplier", 1.0), self.document.number(child, "offset", 0.0)
        if leader is None or multiplier is None or offset is None:
            return None
        return Mimic(leader, multiplier, offset, child)
