"""Numbers as real files write them: read where there is one way to read them, refused where there are two.

Every pattern here has one way to match, so that reading takes time in proportion to the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

SHORT = 40
"""Letters of a text that may come again."""
COUNTS = {1: "one number", 3: "three numbers", 4: "four numbers", 7: "seven numbers"}

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_LETTERS = str.maketrans({"\u2212": "-", "\u2013": "-", "d": "e", "D": "e"})
"""Minus and dash of a word processor, and the exponent of Fortran."""


LONGEST = 10_000
"""Characters of numbers, of which a double takes 1100 at most; patterns keep Python's lock while they look."""
_PLAIN = re.compile(r"[0-9+\-.eE\s]*", re.ASCII)
"""Letters of which Python's float makes what `read` does."""


def plain(text: str, count: int) -> tuple[float, ...] | None:
    """`count` numbers that are written as they should be; None, without a reason, where `read` is to look at them."""
    return _short(text, count) if len(text) <= SHORT else _read_plain(text, count)


def _read_plain(text: str, count: int) -> tuple[float, ...] | None:
    if len(text) > LONGEST or not _PLAIN.fullmatch(text):
        return None
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return None
    return values if len(values) == count else None


_short = lru_cache(maxsize=4096)(_read_plain)
"""Files say the same zeros, sizes and colours again and again."""


class Numbers(NamedTuple):
    """What was read; `oddity` says what was odd about it ("": nothing), `text` how it is written."""

    values: tuple[float, ...]
    oddity: str
    text: str


class Unreadable(ValueError):
    """A text that is not the numbers that were meant; the message is the fault, `cure` what to do."""

    def __init__(self, fault: str, cure: str):
        super().__init__(fault)
        self.cure = cure


def read(text: str, count: int, attribute: str) -> Numbers:
    """`count` finite numbers, separated by blanks.

    Also read, and told: numbers separated by commas that cannot be decimal ones; more than three where three are
    meant, of which the first three are taken; one where it is the scale of three axes; a colour without its opacity.

    Raises:
        Unreadable: it is not that, or could be read in two ways.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"has {len(text)} characters", f"give {COUNTS[count]}, separated by spaces")
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
        raise Unreadable(f"has {came}", f"give {COUNTS[count]}, separated by spaces")
    return Numbers(tuple(map(float, plain)), " and ".join(dict.fromkeys(oddities)), " ".join(plain))


def written(value: float) -> str:
    """A number as a file writes it, with all its digits."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def is_infinite(text: str) -> bool:
    """Whether a text says infinity, in words or as a number beyond those of a computer."""
    word = text[:LONGEST].strip().lower().lstrip("+-")
    return word in ("inf", "infinity") or (bool(_NUMBER.fullmatch(word)) and float(word) == float("inf"))


def _separated(text: str, count: int) -> list[str]:
    """The words of a text with commas or semicolons, if these can only be separators.

    They can where blanks stand beside each of them, or nowhere; then three words are three numbers. A comma within
    a word may be the decimal one.
    """
    marks = text.replace(";", ",").strip().rstrip(",")
    words = marks.replace(",", " ").split()
    inside = re.findall(r"\S,(?=\S)", marks)
    if inside and (re.search(r"\s", marks) or len(words) != count or count == 1):
        wrong = next(word for word in text.split() if re.search(r"[,;]", word))
        raise Unreadable(*_not_a_number(text, wrong))
    return words


def _plain(word: str) -> str:
    """How a number is written that was written otherwise; empty where it is none."""
    number = word.translate(_LETTERS).removesuffix(".")
    return number if _NUMBER.fullmatch(number) else ""


def _not_a_number(text: str, word: str) -> tuple[str, str]:
    """The fault and the cure of a word that is no finite number."""
    if "${" in text or "$(" in text:
        return "is an expression of xacro", "name the file .urdf.xacro, or expand it first"
    if _NOT_FINITE.fullmatch(word):
        return "is not finite", "give a finite number"
    if _DECIMAL_COMMA.fullmatch(word):
        return f"has {word!r}, which is not a number", f"write {word.replace(',', '.')} with a decimal point"
    return f"has {word!r}, which is not a number", "write a decimal number such as 0.25"
