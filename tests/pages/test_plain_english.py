"""Words that pages, comments and docstrings avoid; CONTRIBUTING's word list has what to write instead."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import page_text
import pytest
from page_text import ROOT

from tests.statements import statements

PAGES = (*page_text.PAGES, "CHANGELOG.md")
IN_PAGES = re.compile(
    r"\bcures?\b|(?<!segmentation )(?<!page )\bfaults?\b|\breckon\w*"
    r"|\b(?:that|this|the|very|any|each|first|last) moment\b|\bmoments (?:later|before|named)\b",
    re.IGNORECASE,
)
IN_CODE = re.compile(
    r"\bcures?\b|(?<!segmentation )(?<!page )\bfaults?\b|\breckon\w*"
    r"|\b(?:this|that|any|each|same|recorded) moment\b(?! and)|\bwait a moment\b|\bmoments? (?:later|before|named)\b"
    r"|\bt(?:ells?|elling|old)\b|\bread again\b|\banswer(?:s|ed)\b(?! to\b|, and)|\bgreatest\b|\banew\b"
    r"|\bis not there\b|\b(?:go|goes|went) on\b|\bturning\b|\bpull to\b|\bpictures? a second\b",
    re.IGNORECASE,
)
IN_MESSAGES = re.compile(
    r"(?<!there )\b(?:is|are|was|were) no(?:ne)?\b(?! (?:longer|more|such))|\b(?:is|are) not there\b|\bnone of this\b",
    re.IGNORECASE,
)
IN_NAMES = re.compile(
    r"\b(?:tells?|told|looks?|looked|looking|hears?|heard|cures?|faults?|turning|greatest|answers?|anew|dress|veil|sought)\b"
    r"|\b(?:asleep|blame|blow|calm|doubt|felt|gone|haste|honest|hopeless|meet|met|sit|unsaid|wish)\b"
    r"|\b(?:(?:go|goes) on|let go|gives? way|stand(?:ing)? (?:by|ins?|back))\b"
)
NAMED = {
    "answer": "to a lesson's question; `engine.Controller.answer`",
    "go_on": "`engine.Recording.go_on`",
    "look_up": "an argument of `engine.resample`",
    "stand_by": "`engine.Compilation.stand_by`",
    "tell": "a method of Python's files",
    "_fault, _faults, FAULT": "files of segmentation faults",
    "meet, MEET": "also written in the kernels of the GPU",
}
SOURCES = (".py", ".cu", ".cuh", ".vert", ".frag", ".glsl")
OPENING = re.compile(r"The same\b|.*\banswers (?:whether|how|which)\b")


def avoided(page: str) -> list[str]:
    """The avoided words of a page, outside CONTRIBUTING's word list."""
    text = (ROOT / page).read_text("utf-8")
    return IN_PAGES.findall(re.sub(r"\| say \| not \|.*?\n\n", "", text, flags=re.DOTALL))


def openings(path: str) -> Iterator[str]:
    """The first lines of a module's docstrings."""
    for node in statements(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield (ast.get_docstring(node) or "").partition("\n")[0]


def remarks(path: Path) -> list[tuple[int, str]]:
    """The comments of a source by their lines and, of Python, its docstrings."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        found = [(number, line.partition("//")[2]) for number, line in enumerate(text.splitlines(), 1)]
    else:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline) if "#" in text else ()
        found = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
        for each in statements(ast.parse(text)):
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                found.append((each.lineno, each.value.value))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_avoids_these_words(page: str) -> None:
    assert avoided(page) == []


@pytest.mark.parametrize("top", ["engine", "app", "tests"])
def test_comments_and_docstrings_avoid_these_words(top: str) -> None:
    paths = [path for path in sorted((ROOT / top).rglob("*")) if path.suffix in SOURCES]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {', '.join(words)}"
        for path in paths
        if IN_CODE.search(path.read_text("utf-8"))  # few: to parse them all takes seconds
        for number, remark in remarks(path)
        if (words := IN_CODE.findall(re.sub(r"`[^`]*`", "", remark)))
    ]
    assert len(paths) > 100
    assert found == []


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module by their lines, without its docstrings."""
    every = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    alone = {id(each.value) for each in every if isinstance(each, ast.Expr)}
    for each in every:
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in alone:
            yield each.lineno, each.value


def test_messages_avoid_these_words() -> None:
    paths = [path for top in ("engine", "app") for path in sorted((ROOT / top).rglob("*.py"))]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {text}"
        for path in paths
        if IN_MESSAGES.search(path.read_text("utf-8"))
        for number, text in messages(path)
        if IN_MESSAGES.search(text)
    ]
    assert len(paths) > 300
    assert found == []


def test_docstrings_can_be_read_alone() -> None:
    """No first line refers to the docstring before it, or has a function answer."""
    paths = [path.relative_to(ROOT).as_posix() for top in ("engine", "app") for path in (ROOT / top).rglob("*.py")]
    assert len(paths) > 300
    assert [path for path in paths if any(map(OPENING.match, openings(path)))] == []


def identifiers(text: str) -> Iterator[str]:
    """The names of a source's functions, classes, parameters, attributes and constants, local variables left out."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
            fields = node.body if isinstance(node, ast.ClassDef) else []
            yield from (ast.unparse(each.target) for each in fields if isinstance(each, ast.AnnAssign))
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != node.id.lower():
            yield node.id


def test_identifiers_avoid_these_words() -> None:
    paths = [path for top in ("engine", "app") for path in (ROOT / top).rglob("*.py")]
    names = {name: path for path in paths for name in identifiers(path.read_text("utf-8"))}
    words = {name: re.sub("(?<=[a-z])(?=[A-Z])|_", " ", name).lower() for name in names}
    allowed = {name for each in NAMED for name in each.split(", ")}
    assert {name: path for name, path in names.items() if IN_NAMES.search(words[name]) and name not in allowed} == {}
    assert allowed <= names.keys()
