"""Docstrings of what `engine` exports name each argument, the shapes of arrays and what is raised."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

import engine

SHAPE = re.compile(r"\((?:[\w.…*+ ]+,)+[\w.…*+ ]*\)|scalar")
ARRAYS = re.compile(r"\b(?:Array|ArrayLike|NDArray|Indices)\b")


def fields(kind: type) -> str:
    """The names of a class's properties, and those of fields with a docstring below them."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    reported = [a.target.id for a, b in pairwise(body) if isinstance(a, ast.AnnAssign) and is_text(b)]
    return " ".join([*reported, *(name for name, value in vars(kind).items() if isinstance(value, property))])


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def exported() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions and classes that have arguments, and the methods of classes."""
    for name in engine.__all__:
        value = getattr(engine, name)
        if inspect.isroutine(value) or inspect.isclass(value):
            yield name, value
        for method, found in vars(value).items() if inspect.isclass(value) else ():
            function = getattr(found, "__func__", found)
            if inspect.isfunction(function) and not method.startswith("_"):
                yield f"{name}.{method}", function


def docstring(value: Callable[..., Any]) -> str:
    """That of a function; of a class with its constructor's and its fields."""
    more = f" {inspect.getdoc(value.__init__)} {fields(value)}" if isinstance(value, type) else ""
    return (inspect.getdoc(value) or "") + more


@pytest.mark.parametrize("value", [pytest.param(each, id=name) for name, each in exported()])
def test_a_docstring_names_arguments_shapes_and_errors(value: Callable[..., Any]) -> None:
    """An argument that is one of `engine`'s classes, or a path, may be named by its type; what a docstring refers to
    counts as its own."""
    own = docstring(value)
    referred = [getattr(engine, each) for each in re.findall(r"`(?:engine\.)?(\w+)`", own) if each in engine.__all__]
    reported = " ".join([own, *(inspect.getdoc(each) or "" for each in referred)])
    try:
        signature = inspect.signature(value)
    except ValueError:
        return  # an exception without a constructor of its own
    types = {each.name: str(each.annotation) for each in signature.parameters.values() if each.kind not in (2, 4)}
    requested = {
        argument
        for argument, kind in types.items()
        if argument not in ("self", "cls") and argument[0] != "_" and "Path" not in kind
        and not set(re.findall(r"\w+", kind)) & set(engine.__all__)
    }  # fmt: skip
    assert {each for each in requested if not re.search(rf"(?<![\w.]){each}(?!\w)", reported)} == set()
    if ARRAYS.search(" ".join([*types.values(), str(signature.return_annotation)])):
        assert SHAPE.search(reported), "it gives no shape"
    tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    if not isinstance(value, type) and any(isinstance(node, ast.Raise) for node in ast.walk(tree)):
        assert re.search(r"[Rr]aise|Error", own), "it does not say what it raises"
