"""Lessons as they are written, in ``resources/lessons``: one file for the window and for pages.

    # Title
    minutes: 5
    run: elimination

    What is read before anything is computed.

    ## Title of a stage
    stage: eliminate
    picture: matrix
    source: engine.blocks.tridiagonal.eliminate

    Its words, with {facts} that are computed; $an equation$; *stress*; `a name`; [another lesson](dca).

        an equation stands four spaces in

    ## ? The question
    answer: fact
    hint: Where to look.

`stage` is a stage's name in the texts, and "join of velocities" that of one part alone; a section without one is
shown before the stages, or after them where it follows one that has. What has an `answer` asks, the last section for
one. `choices` of a question are facts or words with " | " between them, which are dragged to where `drag` is there; a
question without is answered by a number, which may be off by a tenth where `near` says so.
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
OF_TREES = ".tree.md"
"""How the name of a file ends that has a lesson's words for robots that branch."""


@dataclass(frozen=True)
class Section:
    """A part of a lesson: its title, what stands as ``key: value`` below it, and paragraphs, equations indented."""

    title: str
    keys: dict[str, str]
    paragraphs: tuple[str, ...]

    def serves(self, name: str, part: str) -> bool:
        """Whether it is about that stage."""
        wanted, _, of = self.keys.get("stage", "").partition(" of ")
        return name in wanted.split(" or ") and of in ("", part)


@dataclass(frozen=True)
class LessonText:
    """A file: its name, and its sections, of which the first has the lesson's title."""

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
    """The lessons' names, in the order in which they are taught."""
    return tuple((FOLDER / ORDER).read_text("utf-8").split())


@cache
def read(name: str, branches: bool = False) -> LessonText:
    """A lesson by its name; for a robot that `branches`, or is no serial chain otherwise, the words that there are for
    such. ValueError with the names that there are, where there is none of that name."""
    if name not in names():
        raise ValueError(f"there is no lesson {name!r}; the lessons are {', '.join(names())}")
    path, other = FOLDER / f"{name}.md", FOLDER / f"{name}{OF_TREES}"
    return parse(name, (other if branches and other.exists() else path).read_text("utf-8"))


def parse(name: str, text: str) -> LessonText:
    """A lesson from what its file says."""
    parts = re.split(r"^#{1,2} ", text, flags=re.MULTILINE)[1:]
    return LessonText(name, tuple(map(_section, parts)))


def _section(text: str) -> Section:
    title, _, rest = text.partition("\n")
    keys = {}
    while match := re.match(r"(\w+): (.*)\n?", rest):
        keys[match[1]] = match[2].strip()
        rest = rest[match.end() :]
    paragraphs = (part.strip("\n") for part in re.split(r"\n\s*\n", rest) if part.strip())
    return Section(title.strip(), keys, tuple(paragraphs))


def marked_up(text: str, equation: Callable[[str], str], link: Callable[[str], str]) -> str:
    """A paragraph as HTML: its $equations$ by `equation`, what stands between asterisks stressed, `names` of the
    program's text, and [words](lesson) that lead to the address which `link` gives of a lesson's name."""
    parts = re.split(r"\$([^$]+)\$", text)
    words = (_words(html.escape(part, quote=False), link) for part in parts[::2])
    return "".join(chain.from_iterable(zip(words, [*map(equation, parts[1::2]), ""], strict=True)))


def _words(text: str, link: Callable[[str], str]) -> str:
    stressed = re.sub(r"`([^`]+)`", r"<code>\1</code>", re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text))
    return re.sub(r"\[([^\]]+)\]\((\w+)\)", lambda found: f'<a href="{link(found[2])}">{found[1]}</a>', stressed)
