"""Claims of docs/lessons.md."""

from __future__ import annotations

from collections.abc import Iterable

import page_text

import engine
from engine.lessons import drawing, pull

PAGE = "docs/lessons.md"
claims = page_text.of(PAGE)


@claims
def names() -> Iterable[str]:
    """Which there are, and on how many processors their time is given."""
    for name in engine.Lesson.names():
        yield f"| `{name}` |"
    first, *_, last = drawing.PROCESSORS
    yield f"the time on {first} to {last} processors"
    yield "main.py lesson dca --stage 3 --robot arm7"
    yield f"joint can be pulled, by {pull.PULL:g} N m or N"


@page_text.of("docs/shell.md")
def commands() -> Iterable[str]:
    """Both commands; the window's has its words tried in test_window_words.py."""
    assert {"--out", "--robot"} <= {word for a in page_text.commands()["lessons"]._actions for word in a.option_strings}
    yield "opens the window with a lesson on a robot; `--robot FILE` names it, `--stage N` the step to begin with"
    yield "writes all lessons as pages for a browser; `--out FOLDER` says where, `--robot FILE` on which robot"
