"""Claims of docs/lessons.md."""

from collections.abc import Iterable

import page_text
from page_text import exempt

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
    yield f"joint can be pulled, by {pull.PULL:g} N m or N"


exempt(PAGE, "an example", "main.py lesson dca --stage 3")
