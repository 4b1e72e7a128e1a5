"""A study's text as TOML tables, and its problems, each with its line and its fix.

The input is a file or a dictionary; a `Table` returns checked values by key and collects all `Problems`.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine import files
from engine.model import Diagnostic
from engine.real_numbers import excerpt
from engine.text import in_one_line

Way = tuple[str | int, ...]
"""The keys and array indices that lead to a value."""


class StudyError(ValueError):
    """A study, called `name`, that cannot be run; `diagnostics` holds every problem, each with its line and fix."""

    def __init__(self, name: str, diagnostics: Sequence[Diagnostic]):
        super().__init__("\n".join(f"{name}: {diagnostic}" for diagnostic in diagnostics))
        self.diagnostics = tuple(diagnostics)


def read(path: Path) -> tuple[dict[str, Any], str]:
    """Return the tables of a file, and its text. Raises OSError, and StudyError if it is not TOML."""
    try:
        text = files.content(path).decode("utf-8")
        return tomllib.loads(text), text
    except UnicodeDecodeError:
        problem = Diagnostic("error", None, "the file", "it is not text in UTF-8", "save it as UTF-8")
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        wording = str(error)[: place.start()].strip() if place else str(error)
        line = int(place[1]) if place else None
        problem = Diagnostic("error", line, "TOML", wording, "write key = value, [table] or [[table]] on each line")
    except RecursionError:
        problem = Diagnostic(
            "error", None, "TOML", "its tables are nested too deeply", "write them as docs/studies.md has"
        )
    raise StudyError(path.name, [problem])


def line_of(text: str, path: Way) -> int | None:
    """Return the line of a value, or else of its table; None if neither is found."""
    at: int | None = None
    counts: dict[str, int] = {}
    table: Way = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*(\[\[?)\s*([\w.\"'-]+)\s*\]", line):
            name = header[2].strip("\"'")
            if header[1] == "[[":
                table = (name, counts.get(name, 0))
                counts[name] = counts.get(name, 0) + 1
            else:
                table = (*name.split("."),)
            if table == path[: len(table)]:
                at = number
        elif (key := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*=", line)) and (*table, key[1]) == path[: len(table) + 1]:
            return number
    return at


class Problems:
    """The problems of a study, collected to be reported together."""

    def __init__(self, name: str, text: str):
        self._name, self._text = name, text
        self.diagnostics: list[Diagnostic] = []

    def add(self, path: Way, problem: str, fix: str) -> None:
        """Add a problem of the value, or the table, at these keys."""
        element = ".".join(f"{key + 1}" if isinstance(key, int) else key for key in path) or "the study"
        line = line_of(self._text, path)
        self.diagnostics.append(Diagnostic("error", line, in_one_line(element), in_one_line(problem), in_one_line(fix)))

    def end(self) -> None:
        """Raise StudyError if there are any."""
        if self.diagnostics:
            raise StudyError(self._name, sorted(self.diagnostics, key=lambda diagnostic: diagnostic.line or 0))


class Table:
    """One table: its values are read by key and checked; `end` reports keys that were never read.

    For an invalid value, the problem is recorded and the default is returned.
    """

    def __init__(self, content: dict[str, Any], path: Way, problems: Problems):
        self._content, self.path, self.problems = content, path, problems
        self._known: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def problem(self, key: str, problem: str, fix: str) -> None:
        """Add a problem of a key's value; "" is the table itself."""
        self.problems.add((*self.path, key) if key else self.path, problem, fix)

    def value(self, key: str) -> Any:
        """Return a key's value without checks; None if it is missing."""
        self._known[key] = None
        return self._content.get(key)

    def number(self, key: str, default: float, least: float = -math.inf, above: bool = False, unit: str = "") -> float:
        """Return a finite number of at least `least`, or greater than `above`."""
        value = self.value(key)
        if value is None:
            return default
        if is_number(value) and (value > least if above else value >= least):
            return float(value)
        bound = "" if least == -math.inf else f" {'above' if above else 'of at least'} {least:g}"
        self.problem(key, f"it is {excerpt(value)}", f"give a number{bound}{f' in {unit}' if unit else ''}")
        return default

    def whole(self, key: str, default: int, least: int) -> int:
        """Return an integer of at least `least`."""
        value = self.value(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self.problem(key, f"it is {excerpt(value)}", f"give a whole number of {least} or more")
        return default

    def flag(self, key: str, default: bool | None) -> bool | None:
        """Return true or false."""
        value = self.value(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.problem(key, f"it is {excerpt(value)}", "give true or false")
        return default

    def text(self, key: str, default: str, choices: Sequence[str] = ()) -> str:
        """Return a text, one of `choices` if there are any."""
        value = self.value(key)
        if value is None:
            return default
        if isinstance(value, str) and value and (not choices or value in choices):
            return value
        wanted = f"one of {', '.join(choices)}" if choices else "a text"
        self.problem(key, f"it is {excerpt(value)}", f"give {wanted}{nearest(value, choices)}")
        return default

    def numbers(self, key: str, default: tuple[float, ...], count: int) -> tuple[float, ...]:
        """Return `count` finite numbers."""
        value = self.value(key)
        if value is None:
            return default
        if isinstance(value, list) and len(value) == count and all(map(is_number, value)):
            return tuple(map(float, value))
        self.problem(key, f"it is {excerpt(value)}", f"give {count} numbers, [{', '.join('…' for _ in range(count))}]")
        return default

    def tables(self, key: str) -> list[Table]:
        """Return the tables of an array of tables, [[key]]."""
        value = self.value(key)
        if value is None:
            return []
        if isinstance(value, list) and all(isinstance(each, dict) for each in value):
            return [Table(each, (*self.path, key, k), self.problems) for k, each in enumerate(value)]
        self.problem(key, f"it is {excerpt(value)}", f"write each as a table of its own, [[{key}]]")
        return []

    def end(self) -> None:
        """Report each key that was never read."""
        for key in self._content:
            if key not in self._known:
                keys = ", ".join(self._known)
                self.problem(
                    key, "there is no such key", f"leave it out, or use one of {keys}{nearest(key, [*self._known])}"
                )


def is_number(value: object) -> bool:
    """Whether it is a finite real number, and not a boolean."""
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return whole or (isinstance(value, float) and math.isfinite(value))


def nearest(word: object, names: Sequence[str]) -> str:
    """Return a hint with the name that was probably meant."""
    close = difflib.get_close_matches(word, names, 1) if isinstance(word, str) else []
    return f"; perhaps {close[0]!r} is meant" if close else ""
