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
        """Whether a value has the structure of the first one; otherwise the name gets a new slot."""
        return bool(_form(value) == _form(self._like))

    def store(self, builder: Builder, value: Any) -> None:
        """Store a value, converted to the type of the first."""
        for pointer, leaf, like in zip(
            self._places, matching_leaves(value, self._like), leaves(self._like), strict=True
        ):
            same = leaf.type is like.type or leaf.type == like.type
            builder.store(leaf if same else arithmetic.converted(builder, leaf, like.type), pointer)
        if isinstance(value, Array):
            self._like = replace(self._like, owners=self._like.owners | value.owners)

    def load(self, builder: Builder) -> Any:
        """Load the present value."""
        if isinstance(self._like, ir.Value):
            return builder.load(self._places[0])
        return rebuilt(self._like, iter([builder.load(pointer) for pointer in self._places]))


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
    given, expected = leaves(materialised(value)), leaves(like)
    if len(given) != len(expected):
        raise Untranslatable(f"a name for {like!r:.60} that becomes {value!r:.60}, which has another structure")
    return given


def _plus(builder: Builder, offset: Any, index: Any) -> Any:
    """The sum of an offset and an index; no instruction for an offset of 0."""
    if isinstance(offset, ir.Value) or offset or getattr(index, "type", None) == BOOL:
        return arithmetic.binary(builder, ast.Add, offset, index)
    return index


def element(builder: Builder, array: Array, indices: list[Any]) -> Any:
    """The address of an element of an array, or of the first element of a part."""
    if not isinstance(array, Array):
        raise Untranslatable(f"an index into {array!r:.60}")
    if any(not isinstance(index, ir.Value) and index < 0 for index in indices):
        raise Untranslatable("a negative index, which would count from the end of an array")
    flat: Any = 0
    for axis, extent in enumerate(array.shape):
        if isinstance(flat, ir.Value) or flat:
            flat = arithmetic.binary(builder, ast.Mult, flat, extent)
        if axis < len(indices):
            flat = _plus(builder, flat, indices[axis])
    if array.offset:
        flat = arithmetic.binary(builder, ast.Add, flat, array.offset)
    if array.stride != 1:
        flat = arithmetic.binary(builder, ast.Mult, flat, array.stride)
    return builder.gep(array.data, [materialised(flat)])


def _lanes_load(builder: Builder, rows: LaneRows, index: int) -> Any:
    vector: Any = ir.Constant(ir.VectorType(rows.element, len(rows.places)), ir.Undefined)
    for lane, row in enumerate(rows.places):
        number = builder.load(builder.gep(row, [ir.Constant(INT, index)]))
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
    return vector


def lanes_store(builder: Builder, rows: LaneRows, index: int, value: Any) -> None:
    """Store a vector over a number of each lane's row."""
    value = arithmetic.converted(builder, value, ir.VectorType(rows.element, len(rows.places)))
    for lane, row in enumerate(rows.places):
        number = builder.extract_element(value, ir.Constant(ir.IntType(32), lane))
        builder.store(number, builder.gep(row, [ir.Constant(INT, index)]))


def _shaped_load(builder: Builder, array: Shaped, indices: list[Any]) -> Any:
    if any(isinstance(index, ir.Value) for index in indices):
        raise Untranslatable("a run-time index into an array with entries known at compile time")
    known, stride, first = array.numbers[tuple(indices)], array.numbers.size, array.first
    for index, extent in zip(indices, array.shape, strict=False):
        stride //= extent
        first += stride * index
    if len(indices) < len(array.shape):
        return Shaped(known, array.memory, first)
    return array_load(builder, array.memory, [first]) if np.isnan(known) else float(known)


def array_load(builder: Builder, array: Array, indices: list[Any]) -> Any:
    """An element of an array, or the part of it that fewer indices than dimensions select."""
    if isinstance(array, ValueList):
        return array.values[indices[0]]
    if isinstance(array, Known):
        if any(isinstance(index, ir.Value) for index in indices):
            raise Untranslatable("a run-time index into an array that is known at compile time")
        return of_python(array.numbers[tuple(indices)])
    if isinstance(array, Shaped):
        return _shaped_load(builder, array, indices)
    if isinstance(array, LaneRows):
        return _lanes_load(builder, array, indices[0])
    pointer = element(builder, array, indices)
    if len(indices) == len(array.shape):
        return builder.load(pointer)
    return Array(array.element, pointer, array.shape[len(indices) :], array.owners, array.stride)
