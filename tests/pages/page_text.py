"""The pages as text, and what they are held to: sentences whose numbers, names and signs are the program's.

A claim is a sentence, or a part of one, of a page, written with what the program has in it: it is to be found in the
page as it stands. `of` enters a function that yields the claims about one subject; `exempt` names the parts of a page
whose numbers no program has, with the reason.
"""

import argparse
import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

import main
from engine import cli

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
Claims = Callable[[], Iterable[str]]
CLAIMS: list[tuple[str, Claims]] = []
SLOW: list[tuple[str, Claims]] = []
EXEMPT: list[tuple[str, str, str]] = []
_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


def of(page: str, slow: bool = False) -> Callable[[Claims], Claims]:
    """Enter a function of claims about a page; one that takes seconds is `slow`."""

    def enter(function: Claims) -> Claims:
        (SLOW if slow else CLAIMS).append((page, function))
        return function

    return enter


def exempt(page: str, reason: str, *parts: str) -> None:
    """Exempt numbers in these parts of a page. A part "from … to" spans from one text to another."""
    EXEMPT.extend((page, part, reason) for part in parts)


def flat(text: str) -> str:
    """Normalise white space to single spaces."""
    return " ".join(text.split())


@cache
def source(page: str) -> str:
    """Return a page's source."""
    return (ROOT / page).read_text("utf-8")


@cache
def page_text(page: str) -> str:
    """A page, or the help of "main.py COMMAND", with single spaces."""
    return flat(source(page)) if page.endswith(".md") else flat("\n".join(help_lines(page.removeprefix("main.py "))))


@cache
def commands() -> dict[str, argparse.ArgumentParser]:
    """The parsers of all headless commands, by name."""
    table = {**cli.COMMANDS, **main.RENDER}
    _, commands = cli.parser(table, table)
    return dict(commands.choices)


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options and arguments of a parser, which has no public name for them."""
    return parser._actions


def help_lines(command: str) -> Iterator[str]:
    """Each option of a command with what its help says, on a line of its own."""
    for action in actions(commands()[command]):
        names = "/".join(action.option_strings) or action.dest
        yield f"{names}: {action.help or ''}."


def defaults(command: str) -> dict[str, object]:
    """Return a command's defaults."""
    return {action.dest: action.default for action in actions(commands()[command])}


def prose(page: str) -> str:
    """Return a page's source without its examples."""
    return re.sub(r"```.*?```", "", source(page), flags=re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The examples in a language on a page."""
    return re.findall(rf"```{language}\n(.*?)```", source(page), re.DOTALL)


def missing(page: str, claims: Iterable[str]) -> list[str]:
    """Return the claims that a page lacks; of several rows of a table all are to be there, and no other."""
    return [claim for claim in claims if not _has(page, claim)]


def _has(page: str, claim: str) -> bool:
    if "\n| " in claim:
        return bool(re.search(rf"(?:\n|-:? \|)\n{re.escape(claim.rstrip())}\n(?!\|)", source(page)))
    return flat(claim) in page_text(page)


def g(x: float, form: str = "g") -> str:
    """A number as pages write it: 1e-9, 0.015, 4000."""
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].strip("+"), f"{x:{form}}")


e = partial(g, form=".0e")
"""A small number by its power of ten: 1e-3."""


def word(n: float) -> str:
    """A small whole number in letters."""
    assert n == int(n)
    return _WORDS[int(n)]


def words(names: Iterable[str], last: str = "and", mark: str = "") -> str:
    """A list in a sentence: a, b and c."""
    *some, end = (f"{mark}{name}{mark}" for name in names)
    return f"{', '.join(some)} {last} {end}" if some else end


def assigned(path: str, name: str) -> ast.expr:
    """What a module of the tests assigns to a name; it may import what is missing here."""
    (value,) = (
        node.value
        for node in ast.parse((ROOT / "tests" / path).read_text("utf-8")).body
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == [name]
    )
    return value


@cache
def constants(path: str) -> dict[str, str]:
    """The `constexpr` numbers of a CUDA source as it has them, the doubles' side and the floats' with `NAME:double`."""
    text = re.sub(r"//.*", "", (ROOT / "engine" / "cuda" / path).read_text("utf-8"))
    found: dict[str, str] = {}
    for line in map(flat, re.findall(r"constexpr (?:int|double|unsigned|Real) ([^;{}]*?);", text)):
        for name, value in re.findall(r"(\w+) = (.+?)(?=, \w+ = |$)", line):
            found[name] = value
            sides = re.fullmatch(r"sizeof\(Real\) == 8 \? (.+) : (.+)", value)
            if sides:
                found[f"{name}:double"], found[f"{name}:single"] = sides.groups()
    return found


def spans(page: str, parts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of these parts in a page's text; "from … to" spans both ends and everything between."""
    text = page_text(page)
    for part in map(flat, parts):
        first, _, last = part.partition(" … ")
        begin = text.find(part)
        if begin >= 0:
            while begin >= 0:
                yield begin, begin + len(part)
                begin = text.find(part, begin + 1)
        elif last and (begin := text.find(first)) >= 0 and (end := text.find(last, begin)) >= 0:
            yield begin, end + len(last)


def untold(page: str) -> list[str]:
    """Numbers of a page that are in no claim, and not exempted either; each with its words."""
    text = page_text(page)
    covered = bytearray(len(text))
    claims = [claim for each, function in CLAIMS if each == page for claim in function()]
    parts = [part for each, part, _ in EXEMPT if each in (page, "")]
    for begin, end in spans(page, (*claims, *parts)):
        covered[begin:end] = b"\1" * (end - begin)
    for pattern in PLAIN:
        for found in re.finditer(pattern, text):
            covered[found.start() : found.end()] = b"\1" * (found.end() - found.start())
    left = [found for found in re.finditer(TOLD, text) if not all(covered[found.start() : found.end()])]
    return [f"{text[max(0, at.start() - 60) : at.end() + 30]!r}" for at in left]


TOLD = r"(?<![\w.`/-])[−+-]?\d(?:[\d.,]*\d)?(?:e[+-]?\d+)?"
"""A number; test_keys.py has the keys, test_options.py the options."""
PLAIN = (
    r"```python.*?```",  # examples, which test_examples.py runs
    r"\$\$.*?\$\$",  # equations, and what follows from them
    r"\$[^$]*\$",
    r"## References.*",
    r"\((?:\[Y\] )?\(?[CSG]?\d{1,2}\)?(?:(?:,| to| and|–)? \(?\d{1,2}\)?)*\)",  # equations that are cited, list items
    r"(?:(?<= )|(?<=\())\(?(?:19|20)\d\d\)",  # papers
    r"[A-Z][\w.]+(?:,? \w+){0,4},? (?:19|20)\d\d\b",
    r"\]\([^)]*\)",  # links
    r"(?<=\s)\d+\. (?=[A-Z])",  # lists
)
"""The exempted numbers."""
