"""Parse the XML of a robot's file: elements with line numbers, strict numbers, and diagnostics."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from lxml import etree

from engine import files
from engine.model import Diagnostic, Edit
from engine.model.diagnostic import OF_EXPANDED_TEXT
from engine.text import in_one_line, shorten
from engine.urdf import non_xml, numerals
from engine.urdf.mesh_paths import PathName
from engine.urdf.source import Source, TagOffsets
from engine.urdf.xacro.sandbox import XacroError, expand

Element = Any
"""An lxml element; lxml has no types."""

Vector = tuple[float, float, float]

ZERO: Vector = (0.0, 0.0, 0.0)

MAX_QUANTITY = 1e15
"""No length, mass or inertia of a robot in SI units is this large; beyond it products overflow."""

UNLIMITED = 1e9
"""A position, velocity or effort from here on is no limit: files write ±1e10 and the like for "no limit"."""

NO_LIMIT = "1e10"
"""The value for "no limit" where the format requires one."""

MAX_DIAGNOSTICS = 50_000
"""Maximum number of diagnostics kept. Further warnings are only counted; a further error stops the reading."""

MAX_LOCATED_ATTRIBUTES = 10_000
"""Elements with more attributes are not located in the file."""

MAX_LISTED_FILES = 3
"""Maximum number of a folder's files to list in a message."""

MAX_CHARACTERS = 1000
"""Maximum number of characters of a name and of a message; no robot's file needs more."""

FOLLOWING = "correct the XML here; later problems may follow from it"
CUT_OFF = "get the whole file or complete it; the other problems may be due to the missing part"
_UNFINISHED = ("ERR_GT_REQUIRED", "ERR_ATTRIBUTE_NOT_FINISHED", "ERR_COMMENT_NOT_FINISHED")
_WITHIN = re.compile(r"(?:[Tt]ag|mismatch:) (\S+) line (\d+)")

Repair = tuple[Edit, ...]


class TooMany(Exception):
    """A file has an error beyond the maximum number of diagnostics; reading stops."""


def texts(arguments: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the arguments of a xacro file as text."""
    return {str(name): str(value) for name, value in (arguments or {}).items()}


class Document:
    """A URDF's XML and its diagnostics.

    `root` is None if the file cannot be read at all. Malformed XML is an error, but the recoverable part is still
    checked, so that one pass finds as many problems as possible.
    """

    def __init__(
        self,
        path: PathName,
        package_dirs: Iterable[PathName] = (),
        trust_xacro: bool = False,
        content: bytes | None = None,
        xacro_args: Mapping[str, str] | None = None,
    ):
        self.path = Path(path)
        self.diagnostics: list[Diagnostic] = []
        self._unlisted: Counter[str] = Counter()
        self._labels: dict[Element, str] = {}
        self._parent: Element | None = None
        self._children: dict[str, list[Element]] = {}
        self.expanded = self.path.suffix == ".xacro"
        self.root: Element | None = None
        self.unread: set[tuple[Element, str]] = set()
        """Attributes whose text is unreadable and already reported."""
        self.declared: Mapping[str, str] = {}
        """The values of the arguments that a xacro file declares."""
        self.files: tuple[str, ...] = ()
        """The files that a xacro file includes or reads."""
        try:
            if content is None:
                content = self._expand(package_dirs, trust_xacro, texts(xacro_args)) if self.expanded else None
            if content is None:
                content = files.content(path, pipes=True)
        except OSError as problem:
            reason, fix = problem.strerror or str(problem), "give the path of a URDF file"
            if self.path.is_dir():
                there = sorted(each.name for each in (*self.path.glob("*.urdf"), *self.path.glob("*/*.urdf")))
                reason, fix = "it is a folder", f"give a URDF file in it{_listed(there)}"
            self.report("error", None, f"cannot be read: {reason}", fix, "file")
            return
        except XacroError as problem:
            self.diagnostics.append(Diagnostic("error", problem.line, "xacro", str(problem), problem.fix))
            return
        self.source = Source(content)
        self._parse()
        for offset, element, oddity, used, repair in self.source.oddities:
            self.report("warning", self.source.line(offset), oddity, used, element, repair)

    def _expand(self, package_dirs: Iterable[PathName], trust: bool, arguments: Mapping[str, str]) -> bytes:
        """Return the URDF of a xacro file, and report arguments that it does not declare."""
        content, self.declared, included = expand(self.path, package_dirs, trust, arguments)
        self.files = tuple(included)
        has = f"its arguments are {', '.join(self.declared)}" if self.declared else "it has none"
        for name in arguments.keys() - self.declared.keys():
            problem = f"{self.path.name} declares no argument {name!r}; {has}"
            self.diagnostics.append(Diagnostic("warning", None, "xacro", problem, "the argument is ignored"))
        return content

    def _parse(self) -> None:
        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, remove_comments=True)
        self.root = self._tree(parser)
        if (
            any(entry.type_name == "ERR_HYPHEN_IN_COMMENT" for entry in parser.error_log)
            and self.source.mend_comments()
        ):
            parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, remove_comments=True)
            self.root = self._tree(parser)
        if self.root is None:
            self.source.oddities.clear()  # they are consequences of the wrong file type
            self._report_no_tree(parser.error_log)
            return
        by_line: dict[int, list[Any]] = {}
        for entry in parser.error_log:
            if entry.domain_name != "NAMESPACE":
                by_line.setdefault(entry.line, []).append(entry)
        for line, entries in by_line.items():
            self.report("error", line, *self._malformed(entries), "XML")
        default = self.root.nsmap.get(None) if self.root.prefix is None else None
        if default:
            for element in self.root.iter(f"{{{default}}}*"):
                with suppress(ValueError):  # a malformed name that the parser accepts and the tree rejects
                    element.tag = etree.QName(element).localname

    def _malformed(self, entries: list[Any]) -> tuple[str, str]:
        """Return the problem and the fix for a line that the parser rejects."""
        there = self.source.xml.rstrip()
        ended = not there.endswith(b">") and entries[0].line > there.count(b"\n")
        signs = (*(_UNFINISHED if ended else ()), "ERR_TAG_NOT_FINISHED")
        if not any(each.type_name in signs for each in entries):
            return f"malformed XML: {_first_line(entries[0].message)}", FOLLOWING
        within = next(filter(None, (_WITHIN.search(each.message) for each in entries)), None)
        inside = f"inside <{within[1]}> of line {within[2]}" if within else "within a tag"
        return f"the file ends {inside}, as if it were cut off", CUT_OFF

    def _report_no_tree(self, entries: Any) -> None:
        """Report why there is no XML: at its line where the root's tag lacks its "<" below a declaration or comment."""
        first = next(iter(entries), None)
        if first is not None and first.type_name == "ERR_DOCUMENT_EMPTY" and first.line > 1 and _is_begun(self.source):
            self.report("error", first.line, f"malformed XML: {_first_line(first.message)}", FOLLOWING, "XML")
            return
        self.report("error", 1, *self._no_xml([_first_line(entry.message) for entry in entries]), "XML")

    def _no_xml(self, wording: list[str]) -> tuple[str, str]:
        """Identify a file that is not XML, where possible, and say what to do; include the parser's message."""
        if any("entity" in each for each in wording) and b"<!ENTITY" in self.source.data:
            return "its entities grow without bound, or contain each other", "write out their content"
        return non_xml.explain_non_xml(self.source.raw, self.source.data, wording[0] if wording else "nothing is in it")

    def _tree(self, parser: Any) -> Element | None:
        try:
            return etree.fromstring(self.source.xml, parser)
        except etree.XMLSyntaxError:
            return None

    def report(
        self,
        severity: Literal["error", "warning"],
        line: int | None,
        problem: str,
        fix: str,
        element: str,
        repair: Repair = (),
    ) -> None:
        """Store one diagnostic."""
        if self.expanded and line is not None:
            fix += f" {OF_EXPANDED_TEXT}"
            repair = ()
        problem, fix = (shorten(in_one_line(text), MAX_CHARACTERS) for text in (problem, fix))
        self.diagnostics.append(
            Diagnostic(severity, line, shorten(in_one_line(element), MAX_CHARACTERS), problem, fix, repair)
        )

    def all_diagnostics(self) -> list[Diagnostic]:
        """Return all diagnostics in line order; the last gives the number that was dropped, if any.

        A truncated file is reported first: other problems may follow from it.
        """
        diagnostics = sorted(self.diagnostics, key=lambda entry: (entry.fix != CUT_OFF, entry.line or 0))
        if self._unlisted:
            severity: Literal["error", "warning"] = "error" if self._unlisted["error"] else "warning"
            many = "there are more problems" if self._unlisted["error"] else f"{self._unlisted.total()} more problems"
            problem = f"{many}, which are not listed"
            diagnostics.append(Diagnostic(severity, None, "file", problem, "correct those that are, and check again"))
        return diagnostics

    def error(self, element: Element, problem: str, fix: str) -> None:
        """Report a problem that prevents a correct simulation. Raises TooMany beyond `MAX_DIAGNOSTICS` diagnostics."""
        if len(self.diagnostics) >= MAX_DIAGNOSTICS:
            self._unlisted["error"] += 1
            raise TooMany
        self.report("error", self.line(element), problem, fix, self._label(element))

    def warning(self, element: Element, problem: str, used: str, repair: Repair = ()) -> None:
        """Report a problem that can be worked around; `used` is the substituted value, and `repair` writes it into the
        file.
        """
        if len(self.diagnostics) >= MAX_DIAGNOSTICS:
            self._unlisted["warning"] += 1
            return
        self.report("warning", self.line(element), problem, used, self._label(element), repair)

    @cached_property
    def _places(self) -> dict[Element, TagOffsets]:
        """Return the position of each element; empty if the XML is malformed."""
        elements = list(self.root.iter("*")) if self.root is not None else []
        if any(len(element.attrib) > MAX_LOCATED_ATTRIBUTES for element in elements):  # too many to locate
            return {}
        places = self.source.places()
        return dict(zip(elements, places, strict=True)) if len(elements) == len(places) else {}

    def line(self, element: Element) -> int:
        """Return the line on which the element's tag begins, or, in malformed XML, ends."""
        place = self._places.get(element)
        return self.source.line(place.start) if place else int(element.sourceline)

    def _label(self, element: Element) -> str:
        """Return an element's name in diagnostics: ``<mass> of <inertial> of link 'hand'``."""
        parent, name = element.getparent(), element.get("name")
        if element.tag in ("link", "joint", "material") and name and parent is not None:
            label = f"{element.tag} {shorten(name, 100)!r}"
        else:
            label = f"<{shorten(tag_of(element), 100)}>"
        if parent is None or parent.getparent() is None:
            return label
        if parent not in self._labels:
            self._labels[parent] = self._label(parent)
        return f"{label} of {self._labels[parent]}"

    def write(self, element: Element, **attributes: str | None) -> Repair:
        """Return the repair that sets these attributes of an element; None removes one."""
        place = self._places.get(element)
        return self.source.write(place, attributes) if place else ()

    def drop(self, element: Element) -> Repair:
        """Return the repair that removes an element."""
        place = self._places.get(element)
        return self.source.drop(place) if place else ()

    def add(self, element: Element | None, xml: str) -> Repair:
        """Return the repair that inserts an element after another."""
        place = self._places.get(element)
        return self.source.add(place, xml) if place else ()

    @property
    def failed(self) -> bool:
        return self._unlisted["error"] > 0 or any(entry.severity == "error" for entry in self.diagnostics)

    def children(self, element: Element, tag: str) -> Sequence[Element]:
        """Return the child elements with a tag."""
        if element is not self._parent:  # cached, because children are requested tag by tag
            self._parent, self._children = element, {}
            for child in element if len(element) else ():
                self._children.setdefault(child.tag, []).append(child)
        return self._children.get(tag, ())

    def one(self, element: Element, tag: str) -> Element | None:
        """Return the first child with a tag, or None; report further ones."""
        children = self.children(element, tag)
        for child in children[1:]:
            if tag in ("parent", "child"):
                self.error(child, f"a second <{tag}>", f"keep one <{tag}>: a joint joins two links")
            else:
                self.warning(child, f"a second <{tag}>", f"the <{tag}> before it is used", self.drop(child))
        return children[0] if children else None

    def name(self, element: Element, attribute: str) -> str | None:
        """Return a required name; report a missing one and return None."""
        text: str = element.get(attribute, "").strip()
        if not text:
            self.error(element, f"no {attribute}", f'write {attribute}="…"')
        elif len(text) > MAX_CHARACTERS:
            self.error(element, f"{attribute} has {len(text)} characters", f"give a name of at most {MAX_CHARACTERS}")
            return None
        return text or None

    def numbers(
        self, element: Element, attribute: str, count: int, largest: float = MAX_QUANTITY
    ) -> tuple[float, ...] | None:
        """Return `count` finite numbers of an attribute; report invalid text and return None."""
        text = element.get(attribute)
        if text is None:
            self.error(element, f"no {attribute}", f"give {attribute} as {numerals.COUNTS[count]}")
            return None
        simple = numerals.parse_plain(text, count)
        if simple is not None and max(map(abs, simple)) <= largest:
            return simple
        if (element, attribute) in self.unread:
            return None
        came = f'{attribute}="{shorten(text, 100)}"'
        try:
            values, oddity, plain = numerals.read(text, count, attribute)
        except numerals.Unreadable as problem:
            self.error(element, f"{came} {problem}", problem.fix)
            return None
        if any(abs(value) > largest for value in values):
            self.error(element, f"{came} is too large to compute with", "give it in SI units")
            return None
        if oddity:
            used = f'read as {plain}; write {attribute}="{plain}"'
            self.warning(element, f"{came} {oddity}", used, self.write(element, **{attribute: plain}))
        return values

    def origin(self, element: Element) -> tuple[Vector, Vector]:
        """Return the position and the angles (roll, pitch, yaw) of an element's <origin>; zeros without one."""
        origin = self.one(element, "origin")
        if origin is None:
            return ZERO, ZERO
        return self.vector(origin, "xyz"), self.vector(origin, "rpy")

    def vector(self, element: Element, attribute: str, default: Vector = ZERO) -> Vector:
        """Return three numbers; `default` if the attribute is absent or invalid."""
        if element.get(attribute) is None:
            return default
        values = self.numbers(element, attribute, 3)
        return default if values is None else (values[0], values[1], values[2])

    def number(self, element: Element, attribute: str, default: float | None = None) -> float | None:
        """Return one finite number; `default` if the attribute is absent and optional."""
        if default is not None and element.get(attribute) is None:
            return default
        values = self.numbers(element, attribute, 1)
        return values[0] if values else None

    def each(self, element: Element, attributes: tuple[str, ...]) -> list[float | None]:
        """Apply `number` to several attributes."""
        texts = [element.get(attribute, "") for attribute in attributes]
        joined = " ".join(texts)
        if all(texts) and joined.count(" ") == len(texts) - 1:  # otherwise one of them is not a single number
            simple = numerals.parse_plain(joined, len(texts))
            if simple is not None and max(map(abs, simple)) <= MAX_QUANTITY:
                return [*simple]
        return [self.number(element, attribute) for attribute in attributes]

    def limit(self, element: Element, attribute: str, none: float) -> float | None:
        """Return one number; `none` (an infinity) if it is absent or too large to be a limit."""
        text = element.get(attribute)
        if text is None:
            return none
        simple = numerals.parse_plain(text, 1)
        if simple is not None and abs(simple[0]) < UNLIMITED:
            return simple[0]
        if numerals.is_infinite(text):
            plain = NO_LIMIT if none > 0 else f"-{NO_LIMIT}"
            repair = self.write(element, **{attribute: plain})
            self.warning(
                element,
                f'{attribute}="{text}" is not finite',
                f'no {attribute} limit is used; write {attribute}="{plain}"',
                repair,
            )
            return none
        values = self.numbers(element, attribute, 1, math.inf)
        if values is None:
            return None
        if abs(value := values[0]) < UNLIMITED:
            return value
        meant = value == math.copysign(float(f"1e{round(math.log10(abs(value)))}"), none)
        if not meant:  # as a power of ten is, of the sign that suits
            plain = NO_LIMIT if none > 0 else f"-{NO_LIMIT}"
            used = f'no {attribute} limit is used; write {attribute}="{plain}" if that is meant, else a smaller one'
            self.warning(element, f"{attribute} {value:g} is read as no limit, as from {UNLIMITED:g} on", used)
        return none


def _listed(names: Sequence[str]) -> str:
    """Return the first names after a colon; nothing without names."""
    more = ", …" if len(names) > MAX_LISTED_FILES else ""
    return f": {', '.join(names[:MAX_LISTED_FILES])}{more}" if names else ""


def _is_begun(source: Source) -> bool:
    """Whether a file begins with a declaration or a comment of XML."""
    return source.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<?xml", b"<!--"))


def _first_line(message: str) -> str:
    """Return the first line of a parser's message; the rest quotes the text."""
    return message.strip().partition("\n")[0]


def tag_of(element: Element) -> str:
    """Return an element's tag with its prefix as the file writes it, declared or not."""
    tag = str(element.tag)
    return f"{element.prefix}:{tag.partition('}')[2]}" if element.prefix else tag
