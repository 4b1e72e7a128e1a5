"""Vector numbers, one per lane, for kernels that work on several bodies or chunks at once.

`load` reads L adjacent numbers as one value; +, −, ·, / act on all lanes in one instruction, and a scalar is broadcast.
L is the length of the tuple `lanes`; with one lane a value is a scalar.
"""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from engine.compile import arithmetic
from engine.compile.builder import Builder
from engine.compile.memory import array_load, element
from engine.compile.operations import for_kernels
from engine.compile.values import DOUBLE, ELEMENTS, INT, Array, LaneRows, Record, materialised


def _bytes(type_: ir.Type) -> int:
    return 8 if type_ in (DOUBLE, INT) else 4


def _pointer(builder: Builder, row: Array, index: Any, type_: ir.VectorType) -> Any:
    first = arithmetic.binary(builder, ast.Mult, index, type_.count)
    return builder.bitcast(element(builder, row, [first]), type_.as_pointer())


@for_kernels
def load(builder: Builder, row: Array, index: Any, lanes: Record) -> Any:
    """Value number `index` of a contiguous array, each as many numbers wide as `lanes`."""
    if len(lanes.items) == 1:
        return array_load(builder, row, [index])
    type_ = ir.VectorType(row.element, len(lanes.items))
    return builder.load(_pointer(builder, row, index, type_), align=_bytes(row.element))


@for_kernels
def store(builder: Builder, row: Array, index: Any, value: Any) -> None:
    """Store a value as number `index` of a contiguous array."""
    if not arithmetic.is_vector(value):
        builder.store(arithmetic.converted(builder, value, row.element), element(builder, row, [index]))
        return
    type_ = ir.VectorType(row.element, value.type.count)
    value = arithmetic.converted(builder, value, type_)
    builder.store(value, _pointer(builder, row, index, type_), align=_bytes(row.element))


@for_kernels
def gather(builder: Builder, numbers: Array, places: Array, lanes: Record) -> Any:
    """numbers[places[k]] in lane k, 0 where the place is negative; `numbers` has at least one entry."""
    lane_values, zero = [], ir.Constant(numbers.element, 0.0)
    for k in range(len(lanes.items)):
        index = array_load(builder, places, [k])
        exists = builder.icmp_signed(">=", index, ir.Constant(INT, 0))
        index = builder.select(exists, index, ir.Constant(INT, 0))
        lane_values.append(builder.select(exists, array_load(builder, numbers, [index]), zero))
    if len(lane_values) == 1:
        return lane_values[0]
    vector = ir.Constant(ir.VectorType(numbers.element, len(lane_values)), ir.Undefined)
    for k, number in enumerate(lane_values):
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), k))
    return vector


@for_kernels
def scatter(builder: Builder, numbers: Array, places: Array, value: Any) -> None:
    """Store lane k in numbers[places[k]], unless the place is negative."""
    for k in range(value.type.count if arithmetic.is_vector(value) else 1):
        number = (
            builder.extract_element(value, ir.Constant(ir.IntType(32), k)) if arithmetic.is_vector(value) else value
        )
        index = array_load(builder, places, [k])
        with builder.if_then(builder.icmp_signed(">=", index, ir.Constant(INT, 0))):
            builder.store(arithmetic.converted(builder, number, numbers.element), element(builder, numbers, [index]))


@for_kernels
def robots_at(builder: Builder, address: Any, dtype: str, width: int, robots: Any, lanes: Record) -> LaneRows:
    """A row of `width` numbers for each of as many robots as lanes, whose rows follow each other at an address.

    Its numbers are vectors, a robot a lane. With fewer robots than lanes, the last is repeated.
    """
    element_, last = ELEMENTS[dtype], builder.sub(materialised(robots), ir.Constant(INT, 1))
    first, pointers = builder.inttoptr(address, element_.as_pointer()), []
    for lane in range(len(lanes.items)):
        number = ir.Constant(INT, lane)
        number = builder.select(builder.icmp_signed("<", number, last), number, last)
        pointers.append(builder.gep(first, [builder.mul(number, ir.Constant(INT, width))]))
    return LaneRows(element_, tuple(pointers), (width,))


@for_kernels
def every(builder: Builder, truth: Any) -> Any:
    """Whether a condition holds in every lane."""
    if not arithmetic.is_vector(truth):
        return truth
    bits = builder.bitcast(truth, ir.IntType(truth.type.count))
    return builder.icmp_signed("==", bits, ir.Constant(bits.type, -1))


@for_kernels
def where(builder: Builder, condition: Any, x: Any, y: Any) -> Any:
    """x in the lanes where `condition` is not 0, y in the others."""
    type_ = arithmetic.common(condition, x, y)
    condition, x, y = (arithmetic.converted(builder, value, type_) for value in (condition, x, y))
    return builder.select(builder.fcmp_unordered("!=", condition, ir.Constant(type_, None)), x, y)


@for_kernels
def double(builder: Builder, x: Any) -> Any:
    """The numbers in double precision."""
    return arithmetic.converted(builder, x, ir.VectorType(DOUBLE, x.type.count) if arithmetic.is_vector(x) else DOUBLE)


@for_kernels
def as_precise_as(builder: Builder, x: Any, like: Any) -> Any:
    """Numbers in double precision rounded to the type of `like`."""
    return arithmetic.converted(builder, x, like.type)
