"""The values of a kernel's names during translation.

A value is one of: an LLVM number (i64, or i32 on a GPU; double, float, or i1 for a boolean); an `Array`; a `Record`,
which is a tuple; a `Known` array; a `ValueList`; or any other Python object that is known at compile time: a number, a
string, a module, a function.

A kernel can be *written out* for known arrays, in one number type: `writing_out`. Loops are then unrolled, names that
no branch changes are values without memory, a product with a known zero is zero, and a literal has the kernel's number
type.
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

_SHORT_LIMIT = 2**31  # the smallest magnitude that may not fit 32 bits


class Untranslatable(TypeError):
    """A construct that the translation does not know; the message has the line once it is `located`."""

    located = False


@dataclass(frozen=True)
class Array:
    """A contiguous array; `owners` are the indices of its function's arguments that it may be a part of.

    It starts at number `offset` from `data`. On a GPU the arrays of 32 robots are interleaved: number k of such an
    array is at `stride` · k from its first.
    """

    element: ir.Type
    data: Any
    shape: tuple[Any, ...]
    owners: frozenset[int] = frozenset()
    stride: int = 1
    offset: int = 0

    @property
    def on_gpu(self) -> bool:
        """Whether it is in a GPU's memory; the extents of such an array may be known."""
        return bool(self.data.type.addrspace)


@dataclass(frozen=True)
class Record:
    """A tuple; `fields` are its names, if any."""

    items: tuple[Any, ...]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Known:
    """An array with numbers known at compile time."""

    numbers: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return tuple(self.numbers.shape)


@dataclass(frozen=True, eq=False)
class Shaped:
    """An array with some known entries; entries that are NaN in the pattern are in memory, from `first` on."""

    numbers: Any
    memory: Array
    first: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return tuple(self.numbers.shape)


@dataclass(frozen=True, eq=False)
class LaneRows:
    """A row of numbers for each lane, by their addresses: its numbers are vectors."""

    element: ir.Type
    places: tuple[Any, ...]
    shape: tuple[int, ...]


class ValueList:
    """A list of `count` values of any kind that a written-out kernel fills: registers, not memory."""

    def __init__(self, count: int):
        self.values: list[Any] = [None] * count
        self.branches: int | None = None  # the number of open run-time branches where it was made


_real: ContextVar[ir.Type] = ContextVar("the number type of the kernel that is translated", default=DOUBLE)
_whole: ContextVar[ir.Type] = ContextVar("the type of whole numbers", default=INT)
_written_out: ContextVar[bool] = ContextVar("whether the kernel is written out", default=False)


@contextmanager
def writing_out(real: ir.Type) -> Iterator[None]:
    """A context in which kernels are written out, in this number type."""
    token = _written_out.set(True)
    try:
        with in_type(real):
            yield
    finally:
        _written_out.reset(token)


@contextmanager
def in_type(real: ir.Type, whole: ir.Type = INT) -> Iterator[None]:
    """A context in which kernels keep their loops, in this number type; integers have 32 or 64 bits."""
    tokens = _real.set(real), _whole.set(whole)
    try:
        yield
    finally:
        _real.reset(tokens[0])
        _whole.reset(tokens[1])


def written_out() -> bool:
    """Whether the kernel is being written out; otherwise its loops are kept."""
    return _written_out.get()


def real() -> ir.Type:
    """The number type of the kernel and of its literals."""
    return _real.get()


def whole() -> ir.Type:
    """The type of integers that are not read from an array; an array's element has its own."""
    return _whole.get()


_NUMBER = (ir.Value, int, float)  # a union expression would be evaluated each time


def is_number(value: Any) -> bool:
    """Whether a value is a number, known or not."""
    return isinstance(value, _NUMBER)


def of_python(value: Any) -> Any:
    """A Python constant as a value: tuples become records, NumPy numbers Python's."""
    if isinstance(value, tuple):
        return Record(tuple(map(of_python, value)), getattr(value, "_fields", ()))
    if isinstance(value, np.ndarray):
        return Known(value)
    if isinstance(value, np.generic) and not isinstance(value, type):
        return value.item()
    return value


def materialised(value: Any) -> Any:
    """The value with known numbers as LLVM constants."""
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, bool):
        return ir.Constant(BOOL, int(value))
    if isinstance(value, int):
        return _whole_number((whole() if abs(value) < _SHORT_LIMIT else INT).width, value)
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


def as_argument(value: Any) -> Any:
    """A function's argument: `materialised`, except that booleans and other known values stay known."""
    if isinstance(value, bool) or (constant(value) and not is_number(value)):
        return value
    if isinstance(value, Record):
        return Record(tuple(map(as_argument, value.items)), value.fields)
    return materialised(value)


def leaves(value: Any) -> list[Any]:
    """The LLVM values that a value consists of."""
    if isinstance(value, ir.Value):
        return [value]
    values: list[Any] = []
    _gather(value, values)
    return values


def _gather(value: Any, values: list[Any]) -> None:
    if isinstance(value, ir.Value):
        values.append(value)
    elif isinstance(value, Array):
        values.append(value.data)
        values += [extent for extent in value.shape if isinstance(extent, ir.Value)]
    elif isinstance(value, Record):
        for item in value.items:
            _gather(item, values)


def rebuilt(value: Any, parts: Iterator[Any], owners: frozenset[int] | None = None) -> Any:
    """A value like this one with other leaves, and other owners of its arrays if given."""
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
    """The properties of a value that determine a function's translation."""
    if isinstance(value, ir.Value):
        return str(value.type)
    if isinstance(value, Array):
        return "array", str(value.data.type), tuple(map(kind, value.shape)), value.stride, value.offset
    if isinstance(value, Record):
        return value.fields, tuple(map(kind, value.items))
    return "known", repr(value)


def lanes(value: Any) -> int:
    """The number of robots that a kernel with this argument works on at a time: the length of its tuple of zeros."""
    if not isinstance(value, Record):
        return 1
    if value.items and all(type(item) is int for item in value.items):
        return len(value.items)
    return max(map(lanes, value.items), default=1)


_AT_RUN_TIME = (ir.Value, Array, ValueList)


def constant(value: Any) -> bool:
    """Whether a value is known at compile time."""
    if isinstance(value, Record):
        return all(map(constant, value.items))
    return not isinstance(value, _AT_RUN_TIME)


def _is_base(leaf: Any) -> bool:
    """Whether a leaf is an address in a GPU's memory that several arrays may share."""
    return isinstance(leaf.type, ir.PointerType) and bool(leaf.type.addrspace)


def argument_leaves(arguments: list[Any]) -> list[Any]:
    """The leaves of a function's arguments, which are passed; an address in a GPU's memory that arrays share comes
    once."""
    unique, seen = [], set()
    for leaf in (leaf for argument in arguments for leaf in leaves(argument)):
        if id(leaf) not in seen or not _is_base(leaf):
            unique.append(leaf)
        seen.add(id(leaf))
    return unique


def shared_places(arguments: list[Any]) -> tuple[int, ...]:
    """For each such address among a function's arguments, the index of its first occurrence."""
    first: dict[int, int] = {}
    flat = [leaf for argument in arguments for leaf in leaves(argument) if _is_base(leaf)]
    return tuple(first.setdefault(id(leaf), index) for index, leaf in enumerate(flat))


def arguments_from_leaves(arguments: list[Any], parts: Any) -> list[Any]:
    """Arguments like these, rebuilt from their `argument_leaves`; each array is owned by its argument's index."""
    values, bases = iter(parts), dict[int, Any]()

    def each(argument: Any) -> Iterator[Any]:
        for leaf in leaves(argument):
            if not _is_base(leaf):
                yield next(values)
            else:
                if id(leaf) not in bases:
                    bases[id(leaf)] = next(values)
                yield bases[id(leaf)]

    return [rebuilt(argument, each(argument), frozenset([index])) for index, argument in enumerate(arguments)]
