"""The source of a function, and which of its names are constant."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple


class Source(NamedTuple):
    """A function's parameters and body."""

    parameters: tuple[str, ...]
    body: list[ast.stmt]
    settled: frozenset[str]
    """Names that are assigned once, and read only after that."""
    changed: frozenset[str]
    """Names that are assigned anywhere."""
    ends_with_return: bool
    """The only `return` is the last statement."""


@lru_cache(maxsize=256)
def _functions(path: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file by their first line, decorators included."""
    statements = _statements(ast.parse(Path(path).read_text("utf-8")).body)
    functions = (node for node in statements if isinstance(node, ast.FunctionDef))
    return {min(node.lineno, *(x.lineno for x in node.decorator_list), node.lineno): node for node in functions}


def _statements(suite: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a suite and of the suites in it."""
    for statement in suite:
        yield statement
        for part in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            for field in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(part, field, []))


@lru_cache(maxsize=1024)
def analyse(function: Callable[..., Any]) -> Source:
    """The source of a function."""
    code = function.__code__
    node = _functions(code.co_filename)[code.co_firstlineno]
    parameters = tuple(argument.arg for argument in node.args.args)
    returns = [x for x in _statements(node.body) if isinstance(x, ast.Return)]
    last = bool(returns) and returns == [node.body[-1]]
    stored: dict[str, list[tuple[int, ...]]] = {}
    loaded: dict[str, list[tuple[int, ...]]] = {}
    names: list[tuple[ast.Name, tuple[int, ...]]] = []
    _names(node.body, (), names)
    for name, suites in names:
        uses = loaded if isinstance(name.ctx, ast.Load) else stored
        uses.setdefault(name.id, []).append(suites)
    settled = frozenset(
        name
        for name, places in stored.items()
        if len(places) == 1 and all(loading[: len(places[0])] == places[0] for loading in loaded.get(name, ()))
    )
    return Source(parameters, node.body, settled - set(parameters), frozenset(stored), last or not returns)


def _names(suite: list[ast.stmt], suites: tuple[int, ...], names: list[tuple[ast.Name, tuple[int, ...]]]) -> None:
    """Collect the names of a suite and of the suites around it, outermost first."""
    inner_suites = (*suites, id(suite))
    for statement in suite:
        inner: list[list[ast.stmt]] = []
        for field in statement._fields:
            value = getattr(statement, field, None)
            if field in ("body", "orelse"):
                inner.append(value or [])
                continue
            name_suites = (
                (*inner_suites, id(statement.body))
                if field == "target" and isinstance(statement, ast.For)
                else inner_suites
            )
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    for name in _names_in(part):
                        names.append((name, name_suites))
                        if isinstance(statement, ast.AugAssign) and name is statement.target:
                            names.append((name, name_suites))  # changed, not only set
        for each in inner:
            _names(each, inner_suites, names)


_LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)


def _names_in(node: ast.AST) -> list[ast.Name]:
    """The names in an expression."""
    nodes, names = [node], list[ast.Name]()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Name):
            names.append(node)
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                nodes.extend(x for x in value if isinstance(x, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                nodes.append(value)
    return names
