"""Parse numbers as real files write them; accept a form with one reading, reject an ambiguous one.

Every pattern here matches in one way only, so that parsing takes time proportional to the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

SHORT = 40
"""Texts up to this number of characters are cached."""
COUNTS = {1: "one number", 3: "three numbers", 4: "four numbers", 7: "seven numbers"}

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_LETTERS = str.maketrans({"\u2212": "-", "\u2013": "-", "d": "e", "D": "e"})
"""Maps a word processor's minus and dash, and Fortran's exponents, to ASCII."""


MAX_CHARACTERS = 10_000
"""Maximum number of characters of a list of numbers; a double takes at most 1100. Patterns hold Python's lock."""
_PLAIN = re.compile(r"[0-9+\-.eE\s]*", re.ASCII)
"""Characters for which Python's float and `read` agree."""


def parse_plain(text: str, count: int) -> tuple[float, ...] | None:
    """Parse `count` plainly written numbers; None if `read` must examine the text."""
    return _short(text, count) if len(text) <= SHORT else _read_plain(text, count)


def _read_plain(text: str, count: int) -> tuple[float, ...] | None:
    if len(text) > MAX_CHARACTERS or not _PLAIN.fullmatch(text):
        return None
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return None
    return values if len(values) == count else None


_short = lru_cache(maxsize=4096)(_read_plain)
"""Cached, because files repeat the same zeros, sizes and colours."""


class Numbers(NamedTuple):
    """Parsed numbers; `oddity` describes an unusual notation ("": none), `text` is the standard notation."""

    values: tuple[float, ...]
    oddity: str
    text: str


class Unreadable(ValueError):
    """A text that is not the expected numbers; the message is the problem, `fix` what to do."""

    def __init__(self, problem: str, fix: str):
        super().__init__(problem)
        self.fix = fix


def read(text: str, count: int, attribute: str) -> Numbers:
    """Parse `count` finite numbers, separated by blanks.

    Accepted with an oddity: numbers separated by commas that cannot be decimal commas; more than three numbers for
    three (the first three are used); one number for the scale of three axes; a colour without opacity.

    Raises:
        Unreadable: the text is invalid or ambiguous.
    """
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"has {len(text)} characters", _wanted(count))
    words, oddities = text.split(), []
    if any(mark in text for mark in ",;"):
        words = _separated(text, count)
        oddities.append("is not separated by spaces")
    plain = [word if _NUMBER.fullmatch(word) else _plain(word) for word in words]
    for word, number in zip(words, plain, strict=True):
        if not number:
            raise Unreadable(*_not_a_number(text, word))
        if number != word:
            oddities.append(f"has {word!r}, which is not how a number is written")
    if attribute in ("xyz", "rpy", "scale") and len(words) > count == 3:
        oddities.append(f"has {len(words)} numbers where three are meant")
        plain = plain[:count]
    elif attribute == "scale" and len(words) == 1:
        oddities.append("has one number where three are meant")
        plain *= count
    elif attribute == "rgba" and len(words) == 3:
        oddities.append("has no opacity")
        plain.append("1")
    if len(plain) != count:
        came = f"{len(words)} number{'s' * (len(words) != 1)}"
        raise Unreadable(f"has {came}", _wanted(count))
    return Numbers(tuple(map(float, plain)), " and ".join(dict.fromkeys(oddities)), " ".join(plain))


def _wanted(count: int) -> str:
    return f"give {COUNTS[count]}" + ", separated by spaces" * (count > 1)


def format_number(value: float) -> str:
    """Format a number with all its digits."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def is_infinite(text: str) -> bool:
    """Whether a text means infinity, in words or as a number beyond the range of doubles."""
    word = text[:MAX_CHARACTERS].strip().lower().lstrip("+-")
    return word in ("inf", "infinity") or (bool(_NUMBER.fullmatch(word)) and float(word) == float("inf"))


def _separated(text: str, count: int) -> list[str]:
    """Split a text at commas or semicolons, if these can only be separators.

    That is so if all or none of them have a blank beside them, and in the latter case if three words stand for three
    numbers. A comma within a word may be a decimal comma.
    """
    marks = text.replace(";", ",").strip().rstrip(",")
    words = marks.replace(",", " ").split()
    inside = re.findall(r"\S,(?=\S)", marks)
    if inside and (re.search(r"\s", marks) or len(words) != count or count == 1):
        wrong = next(word for word in text.split() if re.search(r"[,;]", word))
        raise Unreadable(*_not_a_number(text, wrong))
    return words


def _plain(word: str) -> str:
    """Rewrite a number in plain notation; empty if it is not a number."""
    number = word.translate(_LETTERS).removesuffix(".")
    return number if _NUMBER.fullmatch(number) else ""


def _not_a_number(text: str, word: str) -> tuple[str, str]:
    """Return the problem and the fix for a word that is not a finite number."""
    if "${" in text or "$(" in text:
        return "is an expression of xacro", "name the file .urdf.xacro, or expand it first"
    if _NOT_FINITE.fullmatch(word):
        return "is not finite", "give a finite number"
    if _DECIMAL_COMMA.fullmatch(word):
        return f"has {word!r}, which is not a number", f"write {word.replace(',', '.')} with a decimal point"
    return f"has {word!r}, which is not a number", "write a decimal number such as 0.25"
