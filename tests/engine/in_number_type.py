"""Kernels compiled for this machine in one number type, with separate kernels inlined: as a GPU has them."""

from collections.abc import Callable
from typing import Any

from engine import compile as compiler
from engine.compile.entry import _Entry, sort_of
from engine.compile.parts import compiling
from engine.compile.units import Unit
from engine.compile.values import ELEMENTS, in_type

_compiled: dict[str, Callable[..., Any]] = {}


def specialise_in(function: Any, dtype: str, *examples: Any) -> Callable[..., Any]:
    """Compile a kernel in one number type for arguments like these, whose real arrays are of that type."""
    sorts = tuple(map(sort_of, examples))
    name = function._name((dtype, sorts))
    with compiling():
        if name not in _compiled:
            _compiled[name] = compiler._function(name, lambda: _written_in(function, dtype, sorts, name))
        return _compiled[name]


def _written_in(kernel: Any, dtype: str, sorts: tuple[Any, ...], name: str) -> Unit:
    unit = Unit(name, whole=True)
    with in_type(ELEMENTS[dtype]):
        _Entry(unit, kernel, [], sorts, name)
    return unit
