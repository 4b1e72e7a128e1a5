"""What the names of a kernel stand for while it is translated.

A value is one of: LLVM's value of a number (i64, or i32 on a GPU; double, float, or i1 for a truth); an `Array`; a
`Record`, which is a tuple; a `Known` array; `Rows`; or anything else of Python's, known as the kernel is translated: a
number, a text, a module, a function.

A kernel can be *written out* for arrays that are known, in one number type: `writing_out`. Then every loop is written
once for each of its rounds, names that no branch changes are values and no memory, a product with a known zero is zero,
and a literal has the kernel's number type.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

INT, SHORT, BOOL, DOUBLE, FLOAT = ir.IntType(64), ir.IntType(32), ir.IntType(1), ir.DoubleType(), ir.FloatType()
ELEMENTS: dict[str, ir.Type] = {"float64": DOUBLE, "float32": FLOAT, "int64": INT, "int32": SHORT}
"""LLVM's types of the numbers in arrays, by NumPy's names."""

_BEYOND_SHORT = 2**31  # the least magnitude that is not sure to fit 32 bits


class Untranslatable(TypeError):
    """A kernel that says what the translation does not know; the message names the line, once it is `located`."""

    located = False


@dataclass(frozen=True)
class Array:
    """A contiguous array; `owners` are the places among its function's arguments that it may be a part of.

    Its first number is number `offset` at `data`. On a GPU the arrays of 32 robots are interleaved: number k of such an
    array is `stride` k numbers from its first.
    """

    element: ir.Type
    data: Any
    shape: tuple[Any, ...]
    owners: frozenset[int] = frozenset()
    stride: int = 1
    offset: int = 0

    @property
    def on_gpu(self) -> bool:
        """Whether it lies in a GPU's memory; the extents of such an array may be known."""
        return bool(self.data.type.addrspace)


@dataclass(frozen=True)
class Record:
    """A tuple; `fields` are its names, if it has any."""

    items: tuple[Any, ...]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Known:
    """An array whose numbers are known as the kernel is translated."""

    numbers: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return tuple(self.numbers.shape)


@dataclass(frozen=True, eq=False)
class Shaped:
    """An array of which some entries are known, NaN standing for the others: those lie in memory, from `first` on."""

    numbers: Any
    memory: Array
    first: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return tuple(self.numbers.shape)


@dataclass(frozen=True, eq=False)
class LaneRows:
    """A row of numbers for each lane, by the lanes' places: its numbers are vectors."""

    element: ir.Type
    places: tuple[Any, ...]
    shape: tuple[int, ...]


class Rows:
    """A list of so many values, of any kind, that a kernel which is written out fills: no memory, but registers."""

    def __init__(self, count: int):
        self.values: list[Any] = [None] * count
        self.branches: int | None = None  # open where it was made, of those that running decides


_real: ContextVar[ir.Type] = ContextVar("the number type of the kernel that is translated", default=DOUBLE)
_whole: ContextVar[ir.Type] = ContextVar("the type of whole numbers", default=INT)
_straight: ContextVar[bool] = ContextVar("whether the kernel is written out", default=False)


@contextmanager
def writing_out(real: ir.Type) -> Iterator[None]:
    """Kernels are written out, in this number type."""
    token = _straight.set(True)
    try:
        with in_type(real):
            yield
    finally:
        _straight.reset(token)


@contextmanager
def in_type(real: ir.Type, whole: ir.Type = INT) -> Iterator[None]:
    """Kernels are translated in this number type, with their loops; whole numbers take 32 bits, or 64."""
    tokens = _real.set(real), _whole.set(whole)
    try:
        yield
    finally:
        _real.reset(tokens[0])
        _whole.reset(tokens[1])


def written_out() -> bool:
    """Whether the kernel is being written out; kernels keep their loops otherwise."""
    return _straight.get()


def real() -> ir.Type:
    """The number type of the kernel that is translated: that of its literals."""
    return _real.get()


def whole() -> ir.Type:
    """The type of a whole number that is not read from an array: an array's element has its own."""
    return _whole.get()


_NUMBER = (ir.Value, int, float)  # a union is made anew wherever it is written


def is_number(value: Any) -> bool:
    """Whether it is a number, known or not."""
    return isinstance(value, _NUMBER)


def of_python(value: Any) -> Any:
    """A constant as a value: tuples become records, NumPy's numbers Python's."""
    if isinstance(value, tuple):
        return Record(tuple(map(of_python, value)), getattr(value, "_fields", ()))
    if isinstance(value, np.ndarray):
        return Known(value)
    if isinstance(value, np.generic) and not isinstance(value, type):
        return value.item()
    return value


def materialised(value: Any) -> Any:
    """The same value with LLVM's constants for the numbers that are known."""
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, bool):
        return ir.Constant(BOOL, int(value))
    if isinstance(value, int):
        return _whole_number((whole() if abs(value) < _BEYOND_SHORT else INT).width, value)
    if isinstance(value, float):
        return ir.Constant(real(), value)
    if isinstance(value, Array):
        return value if value.on_gpu else replace(value, shape=tuple(map(materialised, value.shape)))
    if isinstance(value, Record):
        return Record(tuple(map(materialised, value.items)), value.fields)
    return value


@lru_cache(maxsize=1024)
def _whole_number(width: int, value: int) -> Any:
    return ir.Constant(ir.IntType(width), value)


def handed_over(value: Any) -> Any:
    """A function's argument: `materialised`, but that truths and all that is known and no number stay known."""
    if isinstance(value, bool) or (constant(value) and not is_number(value)):
        return value
    if isinstance(value, Record):
        return Record(tuple(map(handed_over, value.items)), value.fields)
    return materialised(value)


def leaves(value: Any) -> list[Any]:
    """LLVM's values that a value is made of."""
    if isinstance(value, ir.Value):
        return [value]
    found: list[Any] = []
    _gather(value, found)
    return found


def _gather(value: Any, found: list[Any]) -> None:
    if isinstance(value, ir.Value):
        found.append(value)
    elif isinstance(value, Array):
        found.append(value.data)
        found += [extent for extent in value.shape if isinstance(extent, ir.Value)]
    elif isinstance(value, Record):
        for item in value.items:
            _gather(item, found)


def rebuilt(value: Any, parts: Iterator[Any], owners: frozenset[int] | None = None) -> Any:
    """A value like this one made of other leaves, its arrays with other owners where they are given."""
    if isinstance(value, ir.Value):
        return next(parts)
    if isinstance(value, Array):
        data = next(parts)
        shape = tuple(rebuilt(extent, parts) for extent in value.shape)
        owners = value.owners if owners is None else owners
        return Array(value.element, data, shape, owners, value.stride, value.offset)
    if isinstance(value, Record):
        return Record(tuple(rebuilt(item, parts, owners) for item in value.items), value.fields)
    return value


def kind(value: Any) -> Any:
    """What two values have in common that one translation of a function serves."""
    if isinstance(value, ir.Value):
        return str(value.type)
    if isinstance(value, Array):
        return "array", str(value.data.type), tuple(map(kind, value.shape)), value.stride, value.offset
    if isinstance(value, Record):
        return value.fields, tuple(map(kind, value.items))
    return "known", repr(value)


def lanes(value: Any) -> int:
    """How many robots the kernel that is given this works on at a time: tuples of zeros, one for each, say so."""
    if not isinstance(value, Record):
        return 1
    if value.items and all(type(item) is int for item in value.items):
        return len(value.items)
    return max(map(lanes, value.items), default=1)


_MADE_AS_IT_RUNS = (ir.Value, Array, Rows)


def constant(value: Any) -> bool:
    """Whether it is known as the kernel is translated."""
    if isinstance(value, Record):
        return all(map(constant, value.items))
    return not isinstance(value, _MADE_AS_IT_RUNS)


def _is_base(leaf: Any) -> bool:
    """Whether a leaf is a place in a GPU's memory, in which several arrays may lie."""
    return isinstance(leaf.type, ir.PointerType) and bool(leaf.type.addrspace)


def handed(arguments: list[Any]) -> list[Any]:
    """The leaves of a function's arguments; where arrays lie in one piece of a GPU's memory, its place comes once."""
    found, seen = [], set()
    for leaf in (leaf for argument in arguments for leaf in leaves(argument)):
        if id(leaf) not in seen or not _is_base(leaf):
            found.append(leaf)
        seen.add(id(leaf))
    return found


def shared_places(arguments: list[Any]) -> tuple[int, ...]:
    """Which leaves of a function's arguments are handed over once: of each such place the number of its first."""
    first: dict[int, int] = {}
    flat = [leaf for argument in arguments for leaf in leaves(argument) if _is_base(leaf)]
    return tuple(first.setdefault(id(leaf), place) for place, leaf in enumerate(flat))


def received(arguments: list[Any], parts: Any) -> list[Any]:
    """Arguments like these, made of the leaves that were `handed` over; each array is owned by its argument's place."""
    given, own = iter(parts), dict[int, Any]()

    def each(argument: Any) -> Iterator[Any]:
        for leaf in leaves(argument):
            if not _is_base(leaf):
                yield next(given)
            else:
                if id(leaf) not in own:
                    own[id(leaf)] = next(given)
                yield own[id(leaf)]

    return [rebuilt(argument, each(argument), frozenset([place])) for place, argument in enumerate(arguments)]
