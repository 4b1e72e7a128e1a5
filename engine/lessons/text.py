"""Read the text of lessons from ``resources/lessons``: one file for both the window and the pages.

    # Title
    minutes: 5
    run: elimination

    The introduction.

    ## Title of a stage
    stage: eliminate
    picture: matrix
    source: engine.blocks.tridiagonal.eliminate

    Its words, with {facts} that are computed; $an equation$; *stress*; `a name`; [another lesson](dca).

        an equation stands four spaces in

    ---

    In the window, further text about the first such stage is a step of its own; later stages have only this text.

    ## ? The question
    answer: fact
    hint: Where to look.

`stage` is a stage's name in the algorithm; "join of velocities" is a stage of one part only. A section without `stage`
is shown before the stages. If it follows a section with `stage`, it is shown after the stages, and repeats the last
`picture` of the kind that it names. A section with an `answer`, usually the last, is a question. `choices` are facts or
words separated by " | ", to be dragged if `drag` is set; `answer` may name several of them. A question without
`choices` expects a number, with a tolerance of a tenth if `near` is set.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "resources" / "lessons"
ORDER = "order.txt"
RENAMED = {"aba": "abia"}
"""The names of lessons by those in older sessions and commands."""
BREAK = "---"
OF_TREES = ".tree.md"
"""File name suffix of a lesson's text for branching robots."""


@dataclass(frozen=True)
class Section:
    """A section of a lesson: its title, its ``key: value`` lines, and paragraphs, with equations indented."""

    title: str
    keys: dict[str, str]
    paragraphs: tuple[str, ...]
    breaks: tuple[int, ...] = ()
    """Numbers of the paragraphs with which a further step of the window begins."""

    def serves(self, name: str, part: str) -> bool:
        """Whether it describes that stage."""
        wanted, _, of = self.keys.get("stage", "").partition(" of ")
        return name in wanted.split(" or ") and of in ("", part)


@dataclass(frozen=True)
class LessonText:
    """A file: its name, and its sections, the first with the lesson's title."""

    name: str
    sections: tuple[Section, ...]

    @property
    def title(self) -> str:
        return self.sections[0].title

    @property
    def keys(self) -> dict[str, str]:
        return self.sections[0].keys


@cache
def names() -> tuple[str, ...]:
    """Return the lessons' names, in teaching order."""
    return tuple((FOLDER / ORDER).read_text("utf-8").split())


@cache
def read(name: str, branches: bool = False) -> LessonText:
    """Read a lesson by name; if the robot `branches` or is otherwise no serial chain, in that version if it exists.

    Raises ValueError with the existing names for an unknown name.
    """
    if name not in names():
        raise ValueError(f"there is no lesson {name!r}; the lessons are {', '.join(names())}")
    path, other = FOLDER / f"{name}.md", FOLDER / f"{name}{OF_TREES}"
    return parse(name, (other if branches and other.exists() else path).read_text("utf-8"))


def parse(name: str, text: str) -> LessonText:
    """Parse a lesson's file."""
    parts = re.split(r"^#{1,2} ", text, flags=re.MULTILINE)[1:]
    return LessonText(name, tuple(map(_section, parts)))


def _section(text: str) -> Section:
    title, _, rest = text.partition("\n")
    keys = {}
    while match := re.match(r"(\w+): (.*)\n?", rest):
        keys[match[1]] = match[2].strip()
        rest = rest[match.end() :]
    paragraphs, breaks = list[str](), list[int]()
    for part in (part.strip("\n") for part in re.split(r"\n\s*\n", rest) if part.strip()):
        if part == BREAK:
            breaks.append(len(paragraphs))
        else:
            paragraphs.append(part)
    return Section(title.strip(), keys, tuple(paragraphs), tuple(breaks))


def marked_up(text: str, equation: Callable[[str], str], link: Callable[[str], str]) -> str:
    """Convert a paragraph to HTML: $equations$ by `equation`, *stress*, `names` of code, [links](lesson) by `link`."""
    parts = re.split(r"\$([^$]+)\$", text)
    words = (_words(html.escape(part, quote=False), link) for part in parts[::2])
    return "".join(chain.from_iterable(zip(words, [*map(equation, parts[1::2]), ""], strict=True)))


def _words(text: str, link: Callable[[str], str]) -> str:
    stressed = re.sub(r"`([^`]+)`", r"<code>\1</code>", re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text))
    return re.sub(r"\[([^\]]+)\]\((\w+)\)", lambda match: f'<a href="{link(match[2])}">{match[1]}</a>', stressed)
