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
SOURCES = (".py", ".cu", ".cuh", ".vert", ".frag", ".glsl")
OPENING = re.compile(r"The same\b|.*\banswers (?:whether|how|which)\b")


def avoided(page: str) -> list[str]:
    """The avoided words of a page, outside CONTRIBUTING's word list."""
    text = (ROOT / page).read_text("utf-8")
    return IN_PAGES.findall(re.sub(r"\| say \| not \|.*?\n\n", "", text, flags=re.DOTALL))


def openings(path: str) -> Iterator[str]:
    """The first lines of a module's docstrings."""
    for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield (ast.get_docstring(node) or "").partition("\n")[0]


def remarks(path: Path) -> Iterator[tuple[int, str]]:
    """The comments of a source by their lines and, of Python, its docstrings, without code in backticks."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        found = [(number, line.partition("//")[2]) for number, line in enumerate(text.splitlines(), 1)]
    else:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        found = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
        bodies = [body for node in ast.walk(ast.parse(text)) if isinstance(body := getattr(node, "body", None), list)]
        for each in (statement for body in bodies for statement in body if isinstance(statement, ast.Expr)):
            if isinstance(each.value, ast.Constant) and isinstance(each.value.value, str):
                found.append((each.lineno, each.value.value))
    return ((number, re.sub(r"`[^`]*`", "", remark)) for number, remark in found)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_avoids_these_words(page: str) -> None:
    assert avoided(page) == []


@pytest.mark.parametrize("top", ["engine", "app", "tests"])
def test_comments_and_docstrings_avoid_these_words(top: str) -> None:
    paths = [path for path in sorted((ROOT / top).rglob("*")) if path.suffix in SOURCES]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {', '.join(words)}"
        for path in paths
        for number, remark in remarks(path)
        if (words := IN_CODE.findall(remark))
    ]
    assert len(paths) > 100
    assert found == []


def test_docstrings_can_be_read_alone() -> None:
    """No first line refers to the docstring before it, or has a function answer."""
    paths = [path.relative_to(ROOT).as_posix() for top in ("engine", "app") for path in (ROOT / top).rglob("*.py")]
    assert len(paths) > 300
    assert [path for path in paths if any(map(OPENING.match, openings(path)))] == []
