"""The XML of a robot's file: elements with their lines, numbers read strictly, faults where they stand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from lxml import etree

from engine.description.resources import PathName
from engine.description.xacro import XacroError, expand
from engine.model import Diagnostic

Element = Any
"""An lxml element; lxml has no types."""

Vector = tuple[float, float, float]

ZERO: Vector = (0.0, 0.0, 0.0)

LARGEST = 1e15
"""No length, mass or inertia of a robot in SI units comes near; beyond it products overflow."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_COUNTS = {1: "one number", 3: "three numbers", 4: "four numbers"}


class Document:
    """A URDF's XML and the faults found in it.

    `root` is None where the file cannot be read at all. Malformed XML is an error, and yet what can be
    recovered of it is there to be checked, so that one pass finds what one pass can.
    """

    def __init__(self, path: PathName, package_dirs: Iterable[PathName] = (), trust_xacro: bool = False):
        self.path = Path(path)
        self.found: list[Diagnostic] = []
        self.expanded = self.path.suffix == ".xacro"
        self.root: Element | None = None
        try:
            data = expand(self.path, package_dirs, trust_xacro) if self.expanded else self.path.read_bytes()
        except OSError as fault:
            reason = fault.strerror or str(fault)
            self.report("error", None, f"cannot be read: {reason}", "give the path of a URDF file", "file")
            return
        except XacroError as fault:
            self.found.append(Diagnostic("error", fault.line, "xacro", str(fault), fault.cure))
            return
        self._lines = data.split(b"\n")
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, remove_comments=True)
        try:
            self.root = etree.fromstring(data, parser)
        except etree.XMLSyntaxError:
            self.root = None
        if self.root is None:
            reason = parser.error_log[0].message.strip() if len(parser.error_log) else "nothing is in it"
            self.report("error", 1, f"the file is not XML: {reason}", "give the path of a URDF file", "XML")
            return
        seen: set[int] = set()
        for entry in parser.error_log:
            if entry.domain_name != "NAMESPACE" and entry.line not in seen:
                seen.add(entry.line)
                fault = f"malformed XML: {entry.message.strip()}"
                self.report("error", entry.line, fault, "correct the XML here; later faults may follow from it", "XML")
        if self.root.prefix is None and self.root.nsmap.get(None):
            for element in self.root.iter("*"):
                element.tag = etree.QName(element).localname if element.prefix is None else element.tag

    def report(
        self, severity: Literal["error", "warning"], line: int | None, fault: str, cure: str, element: str
    ) -> None:
        """Keep one diagnostic."""
        if self.expanded and line is not None:
            cure += " (the line is that of the expanded text: xacrodoc FILE shows it)"
        self.found.append(Diagnostic(severity, line, element, fault, cure))

    def error(self, element: Element, fault: str, cure: str) -> None:
        """A fault with which the robot cannot be simulated, or not rightly."""
        self.report("error", self.line(element), fault, cure, label(element))

    def warning(self, element: Element, fault: str, used: str) -> None:
        """A fault that is bridged; `used` says by which number or choice."""
        self.report("warning", self.line(element), fault, used, label(element))

    def line(self, element: Element) -> int:
        """The line on which the element's tag begins (lxml gives the one on which it ends)."""
        last: int = element.sourceline
        tag = b"<" + element.tag.encode()
        for line in range(last, max(last - 50, 0), -1):
            if tag in self._lines[line - 1]:
                return line
        return last

    @property
    def failed(self) -> bool:
        return any(entry.severity == "error" for entry in self.found)

    def one(self, element: Element, tag: str) -> Element | None:
        """The child of that tag, the first where there are more, or None."""
        children = element.findall(tag)
        for child in children[1:]:
            if tag in ("parent", "child"):
                self.error(child, f"a second <{tag}>", f"keep one <{tag}>: a joint joins two links")
            else:
                self.warning(child, f"a second <{tag}>", f"the <{tag}> before it is used")
        return children[0] if children else None

    def name(self, element: Element, attribute: str) -> str | None:
        """A name that must be there; None, and a fault, where it is not."""
        text: str = element.get(attribute, "").strip()
        if not text:
            self.error(element, f"no {attribute}", f'write {attribute}="…"')
        return text or None

    def numbers(self, element: Element, attribute: str, count: int) -> tuple[float, ...] | None:
        """`count` finite numbers of an attribute; None, and a fault, where it is not that."""
        text = element.get(attribute)
        if text is None:
            self.error(element, f"no {attribute}", f"give {attribute} as {_COUNTS[count]}")
            return None
        words = text.split()
        wrong = [word for word in words if not _NUMBER.fullmatch(word)]
        if wrong:
            self.error(element, *_not_a_number(attribute, text, wrong[0], count))
            return None
        if len(words) != count:
            came = f"{len(words)} number{'s' * (len(words) != 1)}"
            self.error(element, f'{attribute}="{text}" has {came}', f"give {_COUNTS[count]}, separated by spaces")
            return None
        values = tuple(float(word) for word in words)
        if any(abs(value) > LARGEST for value in values):
            self.error(element, f'{attribute}="{text}" is too large to compute with', "give it in SI units")
            return None
        return values

    def origin(self, element: Element) -> tuple[Vector, Vector]:
        """The position and the angles (roll, pitch, yaw) of an element's <origin>; zeros where it has none."""
        origin = self.one(element, "origin")
        if origin is None:
            return ZERO, ZERO
        return self.vector(origin, "xyz"), self.vector(origin, "rpy")

    def vector(self, element: Element, attribute: str, default: Vector = ZERO) -> Vector:
        """Three numbers; `default` where the attribute is absent or faulty."""
        if element.get(attribute) is None:
            return default
        values = self.numbers(element, attribute, 3)
        return default if values is None else (values[0], values[1], values[2])

    def number(self, element: Element, attribute: str, default: float | None = None) -> float | None:
        """One finite number; `default` where the attribute is absent, if that is allowed."""
        if default is not None and element.get(attribute) is None:
            return default
        values = self.numbers(element, attribute, 1)
        return values[0] if values else None

    def limit(self, element: Element, attribute: str, none: float) -> float | None:
        """One number, `none` (an infinity) where it is absent; an infinite one is taken, with a warning."""
        text = element.get(attribute, "").strip()
        if re.fullmatch(r"[+-]?inf(inity)?", text, re.IGNORECASE) or (
            _NUMBER.fullmatch(text) and math.isinf(float(text))
        ):
            self.warning(element, f'{attribute}="{text}" is not finite', f"no {attribute} limit is used")
            return none
        if _NUMBER.fullmatch(text) and abs(float(text)) > LARGEST:
            return none
        return self.number(element, attribute, none)


def label(element: Element) -> str:
    """How a diagnostic names an element: ``<mass> of <inertial> of link 'hand'``."""
    parts = []
    while element.getparent() is not None:
        name = element.get("name")
        if element.tag in ("link", "joint", "material") and name:
            parts.append(f"{element.tag} {name!r}")
        else:
            parts.append(f"<{element.tag}>")
        element = element.getparent()
    return " of ".join(parts) or f"<{element.tag}>"


def _not_a_number(attribute: str, text: str, word: str, count: int) -> tuple[str, str]:
    """The fault and the cure of a word that is no finite number."""
    came = f'{attribute}="{text}"'
    if "${" in text or "$(" in text:
        return f"{came} is an expression of xacro", "name the file .urdf.xacro, or expand it first"
    if _NOT_FINITE.fullmatch(word):
        return f"{came} is not finite", "give a finite number"
    pieces = [piece for piece in re.split(r"[,;\s]+", text) if piece]
    if len(pieces) == count > 1 and all(map(_NUMBER.fullmatch, pieces)):
        return f"{came} is not separated by spaces", f'write {attribute}="{" ".join(pieces)}"'
    if re.fullmatch(r"[+-]?\d+,\d+", word):
        return f"{came}: {word!r} is not a number", f"write {word.replace(',', '.')} with a decimal point"
    return f"{came}: {word!r} is not a number", "write a decimal number such as 0.25"
