"""Memory for values: variables, and the elements of arrays."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir

from engine.compile import arithmetic
from engine.compile.builder import Builder
from engine.compile.values import (
    BOOL,
    INT,
    Array,
    Known,
    LaneRows,
    Record,
    Shaped,
    Untranslatable,
    ValueList,
    is_number,
    leaves,
    materialised,
    of_python,
    rebuilt,
)


class Slot:
    """Memory of a variable."""

    def __init__(self, builder: Builder, value: Any):
        with builder.goto_entry_block():
            self._places = [builder.alloca(leaf.type) for leaf in leaves(value)]
        self._like = value

    def takes(self, value: Any) -> bool:
        """Whether it has room for a value: otherwise the name gets a new slot."""
        return bool(_form(value) == _form(self._like))

    def store(self, builder: Builder, value: Any) -> None:
        """Store a value, converted to the type of the first."""
        for place, leaf, like in zip(self._places, matching_leaves(value, self._like), leaves(self._like), strict=True):
            same = leaf.type is like.type or leaf.type == like.type
            builder.store(leaf if same else arithmetic.converted(builder, leaf, like.type), place)
        if isinstance(value, Array):
            self._like = replace(value, owners=self._like.owners | value.owners)

    def load(self, builder: Builder) -> Any:
        """Load the present value."""
        if isinstance(self._like, ir.Value):
            return builder.load(self._places[0])
        return rebuilt(self._like, iter([builder.load(place) for place in self._places]))


def _form(value: Any) -> Any:
    """The structure of a value, without the types of its numbers."""
    if isinstance(value, Array):
        extents = tuple(None if isinstance(extent, ir.Value) else extent for extent in value.shape)
        return str(value.data.type), extents if value.on_gpu else len(extents), value.stride, value.offset
    if isinstance(value, Record):
        return value.fields, tuple(map(_form, value.items))
    return is_number(value)


def matching_leaves(value: Any, like: Any) -> list[Any]:
    """The leaves of a value, which must have the structure of another."""
    found, expected = leaves(materialised(value)), leaves(like)
    if len(found) != len(expected):
        raise Untranslatable(f"a name that stands for {like!r:.60} and then for {value!r:.60}")
    return found


def _plus(builder: Builder, flat: Any, index: Any) -> Any:
    """The sum of a place and an index; no instruction for a place of 0."""
    if isinstance(flat, ir.Value) or flat or getattr(index, "type", None) == BOOL:
        return arithmetic.binary(builder, ast.Add, flat, index)
    return index


def element(builder: Builder, array: Array, place: list[Any]) -> Any:
    """The place of an element of an array, or of the first of a part."""
    if not isinstance(array, Array):
        raise Untranslatable(f"an index into {array!r:.60}")
    if any(not isinstance(index, ir.Value) and index < 0 for index in place):
        raise Untranslatable("an index from the end of an array")
    flat: Any = 0
    for axis, extent in enumerate(array.shape):
        if isinstance(flat, ir.Value) or flat:
            flat = arithmetic.binary(builder, ast.Mult, flat, extent)
        if axis < len(place):
            flat = _plus(builder, flat, place[axis])
    if array.offset:
        flat = arithmetic.binary(builder, ast.Add, flat, array.offset)
    if array.stride != 1:
        flat = arithmetic.binary(builder, ast.Mult, flat, array.stride)
    return builder.gep(array.data, [materialised(flat)])


def _lanes_load(builder: Builder, rows: LaneRows, place: int) -> Any:
    vector: Any = ir.Constant(ir.VectorType(rows.element, len(rows.places)), ir.Undefined)
    for lane, row in enumerate(rows.places):
        number = builder.load(builder.gep(row, [ir.Constant(INT, place)]))
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
    return vector


def lanes_store(builder: Builder, rows: LaneRows, place: int, value: Any) -> None:
    """Store a vector over a number of each lane's row."""
    value = arithmetic.converted(builder, value, ir.VectorType(rows.element, len(rows.places)))
    for lane, row in enumerate(rows.places):
        number = builder.extract_element(value, ir.Constant(ir.IntType(32), lane))
        builder.store(number, builder.gep(row, [ir.Constant(INT, place)]))


def _shaped_load(builder: Builder, array: Shaped, place: list[Any]) -> Any:
    if any(isinstance(index, ir.Value) for index in place):
        raise Untranslatable("an index that is not known into an array of which entries are")
    found, stride, first = array.numbers[tuple(place)], array.numbers.size, array.first
    for index, extent in zip(place, array.shape, strict=False):
        stride //= extent
        first += stride * index
    if len(place) < len(array.shape):
        return Shaped(found, array.memory, first)
    return array_load(builder, array.memory, [first]) if np.isnan(found) else float(found)


def array_load(builder: Builder, array: Array, place: list[Any]) -> Any:
    """An element of an array, or the part of it that fewer indices than dimensions select."""
    if isinstance(array, ValueList):
        return array.values[place[0]]
    if isinstance(array, Known):
        if any(isinstance(index, ir.Value) for index in place):
            raise Untranslatable("an index that is not known into an array that is")
        return of_python(array.numbers[tuple(place)])
    if isinstance(array, Shaped):
        return _shaped_load(builder, array, place)
    if isinstance(array, LaneRows):
        return _lanes_load(builder, array, place[0])
    pointer = element(builder, array, place)
    if len(place) == len(array.shape):
        return builder.load(pointer)
    return Array(array.element, pointer, array.shape[len(place) :], array.owners, array.stride)
