"""Read a URDF's links, shapes and materials, element by element; `joints` reads the joints.

The XML is not read through yourdfpy, which keeps neither line numbers nor the difference between a given value and a
default. Each problem is recorded in `Document.diagnostics`. An invalid value is replaced by a harmless one (unit mass,
x-axis, no limit), so that it causes no further problems.

Source: the URDF specification of ROS, https://wiki.ros.org/urdf/XML.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from engine.urdf import foreign, substitution
from engine.urdf.elements import Color, Description, Inertial, Link, ShapeElement
from engine.urdf.joints import read_joint
from engine.urdf.markup import Document, Element, Vector
from engine.urdf.mesh_paths import Resources
from engine.urdf.physical_checks import negative_mass
from engine.urdf.surfaces import surfaces

UNIT = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
MIN_MASS = 1e-200
"""kg: the inverse of a mass below is infinite, or makes what follows so."""
SIZES = {
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
}


def read(document: Document, resources: Resources) -> Description | None:
    """Return the links and joints of a document, or None without a robot. Problems are recorded in the document."""
    root = document.root
    if root is None or not foreign.is_robot(document, root):
        return None
    if not document.expanded and any(mark in document.source.data for mark in (b"<xacro:", b"${", b"$(")):
        substitution.substitute(document, root)
    foreign.name_once(document, root)
    foreign.name_capitals(document, root)
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
            repair = self.document.write(root, name=name)
            self.document.warning(root, "no name", f"the file's name, {name!r}, is used", repair)
        for element in root.findall("material"):
            self._material(element)
        links = [self._link(element) for element in root.findall("link")]
        joints = tuple(read_joint(self.document, element) for element in root.findall("joint"))
        for element in root.iterfind("link/visual/material"):
            painted = element.find("color") is not None or element.find("texture") is not None
            if not painted and element.get("name", "").strip() not in self.materials:
                self.document.warning(element, "the material is not defined", "a neutral colour is used")
        touching = surfaces(self.document, root)
        return Description(name, tuple(link for link in links if link), joints, self.materials, touching)

    def _link(self, element: Element) -> Link | None:
        name = self.document.name(element, "name")
        inertial = self.document.one(element, "inertial")
        visuals, collisions = (
            tuple(shape for entry in entries if (shape := self._shape(entry)))
            for entries in [self.document.children(element, tag) for tag in ("visual", "collision")]
        )
        mass = self._inertial(inertial) if inertial is not None else None
        if name is None:
            return None
        return Link(name, mass, visuals, collisions, element)

    def _inertial(self, element: Element) -> Inertial:
        xyz, rpy = self.document.origin(element)
        mass = self._mass(element)
        tensor = self.document.one(element, "inertia")
        if tensor is None:
            self.document.error(
                element, "no <inertia>", 'add <inertia ixx="…" ixy="…" ixz="…" iyy="…" iyz="…" izz="…"/>'
            )
            return Inertial(1.0, xyz, rpy, UNIT, element)
        moments = self.document.each(tensor, ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        if mass is None or None in moments:
            return Inertial(1.0, xyz, rpy, UNIT, element)
        return Inertial(mass, xyz, rpy, cast(tuple[float, ...], tuple(moments)), element)

    def _mass(self, element: Element) -> float | None:
        child = self.document.one(element, "mass")
        if child is None:
            self.document.error(element, "no <mass>", 'add <mass value="…"/> in kilograms')
            return None
        mass = self.document.number(child, "value")
        if mass is not None and 0 < mass < MIN_MASS:
            self.document.error(child, f"the mass of {mass:g} kg is too small to compute with", "give 0, or kilograms")
            return None
        return None if mass is None or negative_mass(self.document, child, mass) else mass

    def _shape(self, element: Element) -> ShapeElement | None:
        """Return a <visual> or <collision>; report one without a shape and return None."""
        xyz, rpy = self.document.origin(element)
        material = self.document.one(element, "material")
        color = self._material(material) if material is not None else None
        geometry = self.document.one(element, "geometry")
        solid, *more = (geometry is not None and [*geometry.iterchildren("*")]) or [None]
        if solid is None:
            self.document.warning(element, "no shape inside <geometry>", "it is left out")
            return None
        for other in more:
            used = f"the <{solid.tag}> before it is used"
            self.document.warning(other, "a second shape inside <geometry>", used, self.document.drop(other))
        size, mesh = self._mesh(solid) if solid.tag == "mesh" else (self._size(solid), None)
        if size is None:
            return None
        paint = material.get("name", "").strip() if material is not None else ""
        return ShapeElement(solid.tag, size, xyz, rpy, color, paint, mesh, element.get("name", "").strip())

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
        """Return the scale and the file of a mesh; a missing file keeps its name."""
        scale = self.document.vector(element, "scale", (1.0, 1.0, 1.0))
        name = element.get("filename", "").strip()
        if not name:
            self.document.warning(element, "no filename", "it is left out")
            return None, None
        path = self.resources.find(name)
        if path is None and name not in self.missing:
            self.missing.add(name)
            problem, fix = self._why_not(name)
            self.document.warning(element, f"mesh {name} {problem}", f"{fix}; a placeholder is drawn")
        named = f"file://{name}" if Path(name).is_absolute() else name  # so that no other file is opened
        return scale, named if path is None else str(path)

    def _why_not(self, name: str) -> tuple[str, str]:
        """Return the reason why a mesh was not found, and the fix."""
        scheme, _, rest = name.rpartition("://")
        package = rest.lstrip("/").partition("/")[0]
        ways = "File › Package folders, by --package-dir, package_dirs or ROS_PACKAGE_PATH"
        if self.resources.outside(name):
            return "lies outside the robot's folders and is not read", f"if it may be read add its folder in {ways}"
        if scheme == "package" and not self.resources.packages(package):
            fix = f"add the folder of {package} in {ways}" if package else "write package://PACKAGE/FILE"
            return "is not found", fix
        if scheme not in ("", "file", "package"):
            return "is not found", "names begin with package://, file:// or are relative to the URDF"
        if "\\" in name and self.resources.find(name.replace("\\", "/")):
            return "is not found", "write / where the name has \\"
        return "is not found", "put the file there or correct the name"

    def _material(self, element: Element) -> Color | None:
        """Return the colour of a <material>, and register it under the material's name."""
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
            repair = self.document.write(color, rgba=" ".join(f"{value:g}" for value in clipped))
            self.document.warning(color, f'rgba="{color.get("rgba")}" leaves 0…1', "it is cut to that range", repair)
        if name:
            self.materials.setdefault(name, clipped)
        return clipped
