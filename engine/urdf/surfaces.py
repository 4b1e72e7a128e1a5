"""Read the friction and restitution of links from Gazebo's and Bullet's elements in a URDF.

Gazebo: <gazebo reference="link"> with <mu1> (or <mu>, or those of SDF's <surface>) and <restitution_coefficient>.
Bullet: <link><contact> with <lateral_friction value="…"/> and <restitution value="…"/>; it takes precedence, since it
is part of the link.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.text import shorten
from engine.urdf import numerals
from engine.urdf.markup import MAX_QUANTITY, Document, Element

_Paths = dict[str, tuple[str, ...]]
_GAZEBO: _Paths = {"friction": ("mu1", "mu", ".//surface//mu"), "restitution": (".//restitution_coefficient",)}
_BULLET: _Paths = {"friction": ("lateral_friction",), "restitution": ("restitution",)}


class Surface(NamedTuple):
    """A link's coefficients of friction, at least 0, and of restitution, 0 … 1; None where the file gives none."""

    friction: float | None = None
    restitution: float | None = None


def surfaces(document: Document, root: Element) -> dict[str, Surface]:
    """Return the surfaces by link name, for links with any. Problems are recorded in the document."""
    places: dict[str, list[tuple[Element, _Paths]]] = {}
    for element in root.iterfind("link/contact"):
        places.setdefault(element.getparent().get("name", "").strip(), []).append((element, _BULLET))
    for element in root.iterfind("gazebo[@reference]"):
        places.setdefault(element.get("reference", "").strip(), []).append((element, _GAZEBO))
    by_link, links = {}, {element.get("name", "").strip() for element in root.iterfind("link")}
    for link, elements in places.items():
        friction, restitution = (_first(document, elements, name) for name in ("friction", "restitution"))
        if friction is None and restitution is None:
            continue
        by_link[link] = Surface(friction, restitution)
        if link not in links:
            document.warning(elements[0][0], f"there is no link {link!r}", "its friction and restitution are not used")
    return by_link


def _first(document: Document, places: Iterable[tuple[Element, _Paths]], name: str) -> float | None:
    """Return the first valid coefficient of a name."""
    elements = (element for place, paths in places for path in paths[name] if (element := place.find(path)) is not None)
    for element in elements:
        value = _coefficient(document, element, name)
        if value is not None:
            if element.tag == "mu1":
                _same_across(document, element, value)
            return value
    return None


def _coefficient(document: Document, element: Element, name: str) -> float | None:
    """Return an element's number, from its text or its attribute `value`; warn and return None if invalid."""
    text = _text(element)
    number = numerals.parse_plain(text, 1)
    used = f"the {name} of the scene is used"
    if number is None:
        document.warning(element, f"{shorten(text, 100)!r} is not a coefficient of {name}", used)
        return None
    value, upper = number[0], 1.0 if name == "restitution" else MAX_QUANTITY
    if not 0 <= value <= upper:
        bound = "at least 0" if name == "friction" else "0 to 1"
        document.warning(element, f"the coefficient of {name} is {value:g}; it is {bound}", used)
        return None
    return value


def _text(element: Element) -> str:
    text: str = element.get("value") or element.text or ""
    return text.strip()


def _same_across(document: Document, element: Element, mu1: float) -> None:
    """Warn if friction would depend on the direction."""
    across = element.getparent().find("mu2")
    mu2 = numerals.parse_plain(_text(across), 1) if across is not None else None
    if mu2 is not None and mu2[0] != mu1:
        problem = f"mu2 is {mu2[0]:g} and mu1 {mu1:g}, and friction is the same in all directions"
        document.warning(across, problem, "mu1 is used")
