"""Numbers that are vectors: one value per lane, for kernels that work on several chains or chunks at once.

`load` reads L numbers that lie side by side as one value, and +, −, ·, / act on all lanes in one instruction. The
functions of `spatial` take such values wherever they take numbers, so one text serves both. L is the length of the
tuple `lanes`, known when a kernel is compiled; a processor with shorter registers takes several for a value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, models, register_model

from engine.cpu.runtime.numba_kernels import inline, instruction
from engine.kernels.spatial import nearest, quarter_turns

_CONTRACT = ("contract", "nsz")


class Vector(types.Type):
    """Numba's type of `width` numbers in one value."""

    def __init__(self, number: Any, width: int):
        self.number, self.width = number, width
        super().__init__(f"vector({number}, {width})")


@register_model(Vector)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        number = dmm.lookup(fe_type.number).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(number, fe_type.width))  # type: ignore[no-untyped-call]


@lower_cast(types.Number, Vector)  # type: ignore[untyped-decorator]
def _in_every_lane(context: Any, builder: Any, fromty: Any, toty: Any, number: Any) -> Any:
    number = context.cast(builder, number, fromty, toty.number)
    vector = ir.Constant(context.get_value_type(toty), ir.Undefined)
    for lane in range(toty.width):
        vector = builder.insert_element(vector, number, cgutils.int32_t(lane))
    return vector


def _operation(symbol: Callable[..., Any], instruction: str, arity: int) -> None:
    """Teach Numba one operator on vectors, and on a vector and a number, which then stands in every lane."""

    class Operation(AbstractTemplate):
        def generic(self, args: Any, _kws: Any) -> Any:
            vectors = {arg for arg in args if isinstance(arg, Vector)}
            if len(vectors) != 1 or not all(isinstance(arg, Vector | types.Number) for arg in args):
                return None
            vector = vectors.pop()
            return signature(vector, *[vector] * len(args))

    def lower(_context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args, flags=_CONTRACT)

    infer_global(symbol)(Operation)
    lower_builtin(symbol, *[Vector] * arity)(lower)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _operation(_symbol, _instruction, 2)
_operation(operator.neg, "fneg", 1)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Any, vector: Any) -> Any:
    """Where vector number `place` of a contiguous array stands."""
    data = context.make_array(array_type)(context, builder, array).data
    first = builder.mul(place, ir.Constant(place.type, vector.width))
    return builder.bitcast(builder.gep(data, [first]), context.get_value_type(vector).as_pointer())


@instruction
def load(_typing, row, place, lanes):
    """Vector number `place` of a contiguous array, which is as many numbers long as `lanes`."""
    vector = Vector(row.dtype, len(lanes))

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = _pointer(context, builder, sig.args[0], args[0], place, vector)
        return builder.load(pointer, align=row.dtype.bitwidth // 8)

    return vector(row, place, lanes), generate


@instruction
def store(_typing, row, place, value):
    """Write a vector over number `place` of a contiguous array."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = _pointer(context, builder, sig.args[0], args[0], place, value)
        builder.store(args[2], pointer, align=row.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(row, place, value), generate


@instruction
def where(_typing, condition, x, y):
    """x in the lanes where `condition` is not 0, y in the others."""

    def generate(_context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        zero = ir.Constant(args[0].type, None)
        return builder.select(builder.fcmp_unordered("!=", args[0], zero), args[1], args[2])

    return x(condition, x, y), generate


@instruction
def double(_typing, x):
    """The same numbers in double precision."""
    result = Vector(types.float64, x.width)

    def generate(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return args[0] if x == result else builder.fpext(args[0], context.get_value_type(result))

    return result(x), generate


@instruction
def as_precise_as(_typing, x, like):
    """Numbers in double precision rounded to those of `like`."""

    def generate(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return args[0] if x == like else builder.fptrunc(args[0], context.get_value_type(like))

    return like(x, like), generate


@inline
def _odd(k):
    """Not 0 where the whole number k is odd."""
    return k - nearest(k * 0.5) * 2.0


@inline
def sincos(x):
    """sin x and cos x for |x| ≤ LARGEST_ANGLE, within an ulp or so."""
    k, s, c = quarter_turns(double(x))
    odd = _odd(k)
    sine, cosine = where(odd, c, s), where(odd, s, c)
    one = odd * odd
    sine = where(_odd((k - one) * 0.5), -sine, sine)
    cosine = where(_odd((k + one) * 0.5), -cosine, cosine)
    return as_precise_as(sine, x), as_precise_as(cosine, x)


@inline
def vload3(row, place, lanes):
    return load(row, place, lanes), load(row, place + 1, lanes), load(row, place + 2, lanes)


@inline
def vload6(row, place, lanes):
    a, b = vload3(row, place, lanes), vload3(row, place + 3, lanes)
    return a[0], a[1], a[2], b[0], b[1], b[2]


@inline
def vload9(row, place, lanes):
    a, b, c = vload3(row, place, lanes), vload3(row, place + 3, lanes), vload3(row, place + 6, lanes)
    return a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]


@inline
def vstore3(row, place, x):
    store(row, place, x[0])
    store(row, place + 1, x[1])
    store(row, place + 2, x[2])


@inline
def vstore6(row, place, x):
    vstore3(row, place, (x[0], x[1], x[2]))
    vstore3(row, place + 3, (x[3], x[4], x[5]))


@inline
def vstore9(row, place, x):
    vstore6(row, place, (x[0], x[1], x[2], x[3], x[4], x[5]))
    vstore3(row, place + 6, (x[6], x[7], x[8]))


def aligned(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A zeroed array that starts on a cache line, so that no vector straddles two."""
    count, size = int(np.prod(shape)), np.dtype(dtype).itemsize
    raw = np.zeros(count * size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * size].view(dtype).reshape(shape)
