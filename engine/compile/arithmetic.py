"""Python's operators on values, as LLVM instructions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from engine.compile.builder import Builder
from engine.compile.builder import intrinsic as intrinsic_of
from engine.compile.values import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    SHORT,
    Record,
    Untranslatable,
    is_number,
    materialised,
    real,
    whole,
    written_out,
)

_KNOWN: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_REAL: dict[type, str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_WHOLE: dict[type, str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_BITS: dict[type, str] = {ast.LShift: "shl", ast.RShift: "ashr", ast.BitAnd: "and_", ast.BitOr: "or_"}
_COMPARED: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def is_vector(value: Any) -> bool:
    """Whether a value has a number for each of several lanes."""
    return isinstance(value, ir.Value) and isinstance(value.type, ir.VectorType)


def _in_one_lane(type_: ir.Type) -> ir.Type:
    return type_.element if isinstance(type_, ir.VectorType) else type_


def is_whole(type_: ir.Type) -> bool:
    """Whether the numbers of a type, or of its lanes, are integers or booleans."""
    return isinstance(_in_one_lane(type_), ir.IntType)


def converted(builder: Builder, value: Any, to: ir.Type) -> Any:
    """Convert a number to another type: boolean to integer, integer to real, single to double or back, scalar to
    vector."""
    if isinstance(value, float) and to in (DOUBLE, FLOAT):
        return ir.Constant(to, value)
    if isinstance(value, int | float) and isinstance(to, ir.VectorType):
        return ir.Constant(to, [value] * to.count)
    value = materialised(value)
    if value.type == to:
        return value
    if isinstance(to, ir.VectorType):
        return _in_lanes(builder, value, to)
    if value.type == BOOL and is_whole(to):
        return builder.zext(value, to)
    if is_whole(value.type) and is_whole(to):
        return builder.sext(value, to) if value.type.width < to.width else builder.trunc(value, to)
    if is_whole(value.type) and to in (DOUBLE, FLOAT):
        return builder.sitofp(value, to) if value.type != BOOL else builder.uitofp(value, to)
    if value.type == FLOAT and to == DOUBLE:
        return builder.fpext(value, to)
    if value.type == DOUBLE and to == FLOAT:
        return builder.fptrunc(value, to)
    raise Untranslatable(f"a number of type {value.type} where one of type {to} is expected")


def _in_lanes(builder: Builder, value: Any, to: ir.VectorType) -> Any:
    if is_vector(value):
        return (builder.fpext if to.element == DOUBLE else builder.fptrunc)(value, to)
    value, anything = converted(builder, value, to.element), ir.Constant(to, ir.Undefined)
    one = builder.insert_element(anything, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, anything, ir.Constant(ir.VectorType(ir.IntType(32), to.count), [0] * to.count))


def common(*values: Any) -> ir.Type:
    """The common type of these numbers, as in NumPy; Python numbers count as double or int64.

    Beside a vector a number takes the vector's type; where a kernel is written out, a literal takes its neighbour's.
    """
    first = values[0]
    if isinstance(first, ir.Value) and all(isinstance(x, ir.Value) and x.type is first.type for x in values):
        return first.type
    if written_out() or real() != DOUBLE:
        reals = {x.type for x in values if isinstance(x, ir.Value)} & {DOUBLE, FLOAT}
        if reals and not any(isinstance(x, ir.Value) and x.type not in (DOUBLE, FLOAT) for x in values):
            return DOUBLE if DOUBLE in reals else FLOAT
    types = [materialised(value).type for value in values]
    for candidate in types:
        if isinstance(candidate, ir.VectorType):
            return candidate
    if DOUBLE in types or (FLOAT in types and any(map(is_whole, types))):
        return DOUBLE if DOUBLE in types else real()
    for candidate in (FLOAT, INT, SHORT):
        if candidate in types:
            return candidate
    return BOOL


def binary(builder: Builder, sort: type, x: Any, y: Any) -> Any:
    """x ∘ y."""
    if not (is_number(x) and is_number(y)):
        raise Untranslatable(f"an operator between {x!r:.40} and {y!r:.40}")
    if not isinstance(x, ir.Value) and not isinstance(y, ir.Value):
        return _KNOWN[sort](x, y)
    if written_out() and (shorter := _simplified(builder, sort, x, y)) is not None:
        return shorter
    type_ = common(x, y)
    if sort is ast.Div and type_ in (INT, SHORT, BOOL):
        type_ = real()
    if type_ == BOOL and sort not in _BITS:
        type_ = whole()
    if written_out() and (fused := _fused(builder, sort, x, y, type_)) is not None:
        return fused
    x, y = converted(builder, x, type_), converted(builder, y, type_)
    if not is_whole(type_):
        return getattr(builder, _REAL[sort])(x, y, flags=builder.flags)
    if sort in _WHOLE:
        return getattr(builder, _WHOLE[sort])(x, y, flags=("nsw",))
    if sort in _BITS:
        return getattr(builder, _BITS[sort])(x, y)
    return _floored(builder, sort, x, y)


def _simplified(builder: Builder, sort: type, x: Any, y: Any) -> Any:
    """x ∘ y where a known 0, 1 or −1 saves the instruction; else None."""
    a, b = (None if isinstance(z, ir.Value) else z for z in (x, y))
    if sort is ast.Mult:
        if a == 0 or b == 0:
            return 0.0 if isinstance(x, float) or isinstance(y, float) else 0
        known, other = (a, y) if b is None else (b, x)
        return other if known == 1 else negative(builder, other) if known == -1 else None
    if sort is ast.Add and (a == 0 or b == 0):
        return y if a == 0 else x
    if sort is ast.Sub:
        return x if b == 0 else negative(builder, y) if a == 0 else None
    return None


def _fused(builder: Builder, sort: type, x: Any, y: Any, type_: ir.Type) -> Any:
    """The sum or difference of a product and another number, rounded once; None where neither is a product.

    The text alone decides what is fused, so the bits are the same for one robot, in the lanes of a vector, and on every
    machine.
    """
    if sort not in (ast.Add, ast.Sub) or is_whole(type_):
        return None
    for product, other, negated in ((x, y, False), (y, x, sort is ast.Sub)):
        if getattr(product, "opname", "") == "fneg":
            product, negated = product.operands[0], not negated
        if getattr(product, "opname", "") == "fmul" and _in_one_lane(product.type) == _in_one_lane(type_):
            a, b, c = (converted(builder, z, type_) for z in (*product.operands, other))
            a, c = builder.fneg(a) if negated else a, builder.fneg(c) if sort is ast.Sub and other is y else c
            return fma(builder, a, b, c)
    return None


def intrinsic(builder: Builder, name: str, *numbers: Any) -> Any:
    """Call an LLVM function of numbers of one type, or of vectors of it."""
    return builder.intrinsic(intrinsic_of(builder.module, name, numbers[0].type, len(numbers)), numbers)


def fma(builder: Builder, x: Any, y: Any, z: Any) -> Any:
    """x y + z of one type, rounded once."""
    return intrinsic(builder, "llvm.fma", x, y, z)


def _floored(builder: Builder, sort: type, x: Any, y: Any) -> Any:
    """x // y or x % y, rounded down as in Python; for y = 0 they are x and 0, where Python would raise."""
    zero = ir.Constant(x.type, 0)
    y = builder.select(builder.icmp_signed("==", y, zero), ir.Constant(x.type, 1), y)
    quotient, rest = builder.sdiv(x, y), builder.srem(x, y)
    other_sign = builder.icmp_signed("<", builder.xor(rest, y), zero)
    low = builder.and_(builder.icmp_signed("!=", rest, zero), other_sign)
    if sort is ast.FloorDiv:
        return builder.sub(quotient, builder.zext(low, x.type))
    return builder.select(low, builder.add(rest, y), rest)


def compare(builder: Builder, sort: type, x: Any, y: Any) -> Any:
    """x ∘ y as a boolean."""
    if isinstance(x, Record) and isinstance(y, Record) and sort is ast.Eq:
        if len(x.items) != len(y.items):
            return False
        equal: Any = True
        for a, b in zip(x.items, y.items, strict=True):
            equal = both(builder, equal, compare(builder, sort, a, b))
        return equal
    if not isinstance(x, ir.Value) and not isinstance(y, ir.Value):
        return _KNOWN[sort](x, y)
    type_ = common(x, y)
    x, y, symbol = converted(builder, x, type_), converted(builder, y, type_), _COMPARED[sort]
    if is_whole(type_):
        return builder.icmp_signed(symbol, x, y)
    return (builder.fcmp_unordered if sort is ast.NotEq else builder.fcmp_ordered)(symbol, x, y)


def both(builder: Builder, x: Any, y: Any) -> Any:
    """x and y, two booleans, both evaluated."""
    if not isinstance(x, ir.Value):
        return y if x else False
    if not isinstance(y, ir.Value):
        return x if y else False
    return builder.and_(x, y)


def negative(builder: Builder, x: Any) -> Any:
    """−x."""
    if not isinstance(x, ir.Value):
        return -x
    return builder.neg(x) if is_whole(x.type) else builder.fneg(x, flags=builder.flags)


def truth(builder: Builder, x: Any) -> Any:
    """Whether a number is not 0."""
    if not isinstance(x, ir.Value):
        return bool(x)
    return x if _in_one_lane(x.type) == BOOL else compare(builder, ast.NotEq, x, 0)
