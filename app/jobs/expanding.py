"""Expand a xacro file in the background, for the lines that its problems name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import engine
from app.jobs.background import Background


@dataclass(frozen=True)
class Expanded:
    """The lines of the expanded text of the file `path`; none where it cannot be expanded, because of a `problem`."""

    path: str
    lines: tuple[str, ...] = ()
    problem: str = ""
    over: bool = True


class Expanding(Background[Expanded]):
    """Expands one file at a time."""

    def __init__(self) -> None:
        super().__init__("expanding", lambda problem: Expanded("", problem=problem))

    def start(self, path: str, expand: Callable[[], bytes]) -> None:
        """Expand the file at `path` by calling `expand`; does nothing while another one is being expanded."""
        self.run(lambda _: Expanded(path, tuple(expand().decode("utf-8", "replace").splitlines())))


def expander(path: str, package_dirs: tuple[str, ...], arguments: dict[str, str]) -> Callable[[], bytes] | None:
    """Return a function that expands a xacro file without trusting it; None for a file of another kind."""
    if not path.endswith(".xacro"):
        return None
    return lambda: engine.expand_xacro(path, package_dirs, arguments=arguments).text
