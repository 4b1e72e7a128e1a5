"""Read an SRDF, MoveIt's companion to a URDF: link pairs without collision checks, and named poses.

Only <disable_collisions>, <disable_default_collisions>, <enable_collisions> and <group_state> are read, as MoveIt and
Pinocchio do: https://wiki.ros.org/srdf.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from engine import files
from engine.model import Diagnostic, Joint
from engine.urdf import foreign
from engine.urdf.group_states import Limits, States, read_states
from engine.urdf.markup import Document, Element, TooMany
from engine.urdf.mesh_paths import PathName
from engine.urdf.spelling import Spelling

Pair = tuple[int, int]
MAX_PAIRS = 1_000_000
"""Maximum number of pairs from `disable_default_collisions`."""
HEAD = 10_000  # bytes; the robot's name must be within them


SUFFIX, FOLDER = ".srdf", "srdf"


class Semantics(NamedTuple):
    """The content of an SRDF: link index pairs that never collide, smaller index first; named poses; diagnostics."""

    pairs: tuple[Pair, ...]
    states: States
    diagnostics: list[Diagnostic]


def read(
    path: PathName,
    link_names: Sequence[str],
    joints: Sequence[Joint] = (),
    package_dirs: Iterable[PathName] = (),
    trust_xacro: bool = False,
    limits: Limits | None = None,
) -> Semantics:
    """Read an SRDF for a robot with these links and joints, of which `limits` are the lower and upper ones, (nv,) each.

    Each diagnostic names the file. Links and joints that the robot does not have are reported once each and ignored.
    """
    document = Document(path, package_dirs, trust_xacro)
    root, pairs, states = document.root, set[Pair](), States()
    if root is not None and foreign.is_robot(document, root, "an SRDF"):
        with suppress(TooMany):
            pairs = _Links(document, root, link_names).pairs(root)
            states = read_states(document, root, joints, limits)
    name = Path(path).name
    diagnostics = [
        dataclasses.replace(
            entry, element=f"{entry.element} in {name}", fix=entry.fix.replace("a URDF file", "an SRDF file")
        )
        for entry in document.all_diagnostics()
    ]
    return Semantics(tuple(sorted(pairs)), states, diagnostics)


def find_srdf(path: PathName, robot: str) -> Path | None:
    """Find the SRDF of the robot whose file is at `path`: in its folder, or in a folder "srdf" in or beside it.

    An SRDF matches by its file name's stem or by the name of its <robot>. Of several, the one whose stem equals the
    file's, or starts it, comes first. None if there is none.
    """
    folder, stem = Path(path).absolute().parent, Path(path).name.partition(".")[0]
    candidates: list[tuple[bool, bool, int, str, Path]] = []
    for place in (folder, folder / FOLDER, folder.parent / FOLDER):
        with suppress(OSError):
            for file in place.glob(f"*{SUFFIX}"):
                same, begins = file.stem == stem, stem.startswith(file.stem)
                if same or _robot_of(file).casefold() == robot.casefold():
                    candidates.append((not same, not begins, len(file.stem), file.stem, file))
    return min(candidates)[-1] if candidates else None


def _robot_of(file: Path) -> str:
    """Return the name of an SRDF's robot; empty without a name or if the file is no SRDF."""
    try:
        with files.regular(file) as opened:
            begin = opened.read(HEAD).decode("utf-8", "replace")
    except OSError:
        return ""
    named = re.search(r"<robot\b[^>]*?\bname\s*=\s*[\"']([^\"']*)", begin)
    return named[1] if named else ""


class _Links:
    def __init__(self, document: Document, root: Element, link_names: Sequence[str]):
        self.document = document
        self.index = {name: link for link, name in enumerate(link_names)}
        self.spelling = Spelling(link_names, "link")
        attributes = ("link", "link1", "link2")
        elements = root.iterfind("*")
        self.unknown = Counter(
            text.strip()
            for element in elements
            for key in attributes
            if (text := element.get(key)) and text.strip() not in self.index
        )

    def pairs(self, root: Element) -> set[Pair]:
        """Return the pairs that are disabled after all rules are applied."""
        if root.find("link") is not None and root.find("joint") is not None:
            self.document.warning(root, "it holds links and joints: this is a URDF", "of these nothing is used")
        disabled = self._named(root, "disable_collisions")
        elements = {self._link(element, "link"): element for element in root.iterfind("disable_default_collisions")}
        links = {link: element for link, element in elements.items() if link is not None}
        if len(links) * len(self.index) > MAX_PAIRS:
            element = next(iter(links.values()))
            problem = f"{len(links)} links touch none of {len(self.index)} by default"
            self.document.error(element, problem, f"name at most {MAX_PAIRS} pairs; leave out links that have no shape")
            return set()
        disabled |= {_ordered(link, other) for link in links for other in self.index.values() if other != link}
        return disabled - self._named(root, "enable_collisions")

    def _named(self, root: Element, tag: str) -> set[Pair]:
        """Return the pairs that elements with a tag name."""
        pairs = set()
        for element in root.iterfind(tag):
            one, other = self._link(element, "link1"), self._link(element, "link2")
            if one is not None and one == other:
                self.document.warning(element, "link1 and link2 are one link", "it is left out")
            elif one is not None and other is not None:
                pairs.add(_ordered(one, other))
        return pairs

    def _link(self, element: Element, attribute: str) -> int | None:
        name = self.document.name(element, attribute)
        if name is None or name in self.index:
            return None if name is None else self.index[name]
        if times := self.unknown.pop(name, 0):
            more = f" (named {times} times)" if times > 1 else ""
            fix = self.spelling.fix(name)
            used = f"it is left out; {fix}" if fix.startswith("did") else "it is left out"
            self.document.warning(element, f"the robot has no link {name!r}{more}", used)
        return None


def _ordered(one: int, other: int) -> Pair:
    return min(one, other), max(one, other)
