"""Tests look at what a user or a caller sees: how often they reach into private names may only go down."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MAX_USES = 215
"""The uses of private names in tests. Who replaces some by what is public lowers it; it is never raised."""
PUBLIC = {"_replace", "_asdict", "_fields", "_make", "_field_defaults", "_exit", "_Element"}
"""Names of named tuples, of `os` and of lxml that are public in spite of their underscore."""
BY_NAME = {"setattr", "getattr", "delattr", "hasattr"}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def private_names(tree: ast.AST) -> Iterator[str]:
    """Private names that a module takes of others: attributes, but of `self` or `cls`, imports, and names to patch."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield ast.unparse(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            for alias in node.names:
                if any(map(_is_private, f"{module}.{alias.name}".split("."))):
                    yield f"import {module}.{alias.name}"
        elif isinstance(node, ast.Call) and (getattr(node.func, "attr", "") or getattr(node.func, "id", "")) in BY_NAME:
            for given in node.args[:2]:
                text = given.value if isinstance(given, ast.Constant) else None
                if isinstance(text, str) and any(map(_is_private, text.split("."))):
                    yield repr(text)


def test_tests_reach_into_no_more_private_names() -> None:
    found = Counter(
        {path: len([*private_names(ast.parse(path.read_text("utf-8")))]) for path in sorted(TESTS.rglob("*.py"))}
    )
    files = ", ".join(f"{path.relative_to(TESTS)} {count}" for path, count in found.most_common(10))
    assert found.total() <= MAX_USES, f"look at what the window or a caller shows instead; most have {files}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("viewport._view()", ["viewport._view"]),
        ("self._view; cls._view; row._replace(x=1); os._exit(1); each.__class__", []),
        ("self.window._view", ["self.window._view"]),
        ("from engine.model import _kinds, joint", ["import engine.model._kinds"]),
        ("import engine._made", ["import .engine._made"]),
        ("patch.setattr(module, '_made', 1); patch.setattr('app._made', 1)", ["'_made'", "'app._made'"]),
        ("getattr(x, 'made', '_')", []),
    ],
)  # fmt: skip
def test_private_names_are_found_in_each_form(text: str, names: list[str]) -> None:
    assert [*private_names(ast.parse(text))] == names
