"""Words that pages and docstrings avoid; CONTRIBUTING's word list has what to write instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import page_text
import pytest
from page_text import ROOT

PAGES = (*page_text.PAGES, "CHANGELOG.md")
IN_PAGES = re.compile(
    r"\bcures?\b|(?<!segmentation )(?<!page )\bfaults?\b|\breckon\w*"
    r"|\b(?:that|this|the|very|any|each|first|last) moment\b|\bmoments (?:later|before|named)\b",
    re.IGNORECASE,
)
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


@pytest.mark.parametrize("page", PAGES)
def test_a_page_avoids_these_words(page: str) -> None:
    assert avoided(page) == []


def test_docstrings_can_be_read_alone() -> None:
    """No first line refers to the docstring before it, or has a function answer."""
    paths = [path.relative_to(ROOT).as_posix() for top in ("engine", "app") for path in (ROOT / top).rglob("*.py")]
    assert len(paths) > 300
    assert [path for path in paths if any(map(OPENING.match, openings(path)))] == []
