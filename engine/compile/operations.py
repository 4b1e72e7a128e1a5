"""Functions for kernels, as LLVM instructions: of Python and NumPy, the clock, GPU threads, and code at an address."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir

from engine.compile import arithmetic
from engine.compile.builder import Builder
from engine.compile.memory import element
from engine.compile.values import (
    DOUBLE,
    FLOAT,
    INT,
    SHORT,
    Array,
    Known,
    Record,
    Shaped,
    Untranslatable,
    ValueList,
    materialised,
    real,
    whole,
    written_out,
)

KNOWN_CALLS: dict[Any, Callable[..., Any]] = {}
"""The translations of the functions that kernels call: of this package, Python's and NumPy's."""


def for_kernels(translation: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that only kernels call, without the builder of instructions, from its translation."""

    @wraps(translation)
    def stub(*_: Any) -> Any:
        raise NotImplementedError(f"{translation.__name__} can only be called in a compiled kernel")

    KNOWN_CALLS[stub] = translation
    return stub


def registers(count: int) -> list[Any]:
    """A list of `count` values in registers, for kernels that are written out; unset ones are None."""
    return [None] * count


def shaped(pattern: Any, numbers: Any, first: int) -> Any:
    """An array like `pattern`; a kernel that is written out knows its entries that are not NaN, others are
    numbers[first…]."""
    return numbers[first : first + pattern.size].reshape(pattern.shape)


def local(*shape: int) -> Any:
    """A local array of the number type in which the kernel is written out, uninitialised."""
    return np.full(shape, np.nan)


def at_run_time(number: int) -> int:
    """A known number as a run-time one, so that a loop up to it is not unrolled."""
    return number


def atomic_min(array: Any, index: int, value: int) -> None:
    """array[place] = min(array[place], value), atomically, for non-negative integers."""
    array[index] = min(array[index], value)


def count_threads(test: bool) -> int:
    """The number of threads of a GPU's block for which a test holds, with a barrier of the block; elsewhere 0 or 1."""
    return int(test)


def parallel_range(count: int) -> range:
    """range(count), distributed over the threads that work on one robot: `for k in parallel_range(count)`.

    Writes in such a loop are visible to all of them after it. Every thread runs all other code.
    """
    return range(count)


def thread_index() -> int:
    """The index of this thread among the threads of its robot."""
    return 0


def thread_max(x: float) -> float:
    """The maximum of x over a robot's threads, NaN if one of them is."""
    return x


def thread_min(x: float) -> float:
    """The minimum of x over a robot's threads."""
    return x


def is_single(x: Any) -> bool:
    """Whether a number is of single precision."""
    return isinstance(x, np.float32)


def fma(x: Any, y: Any, z: Any) -> Any:
    """x y + z, rounded once."""
    if not math.isfinite(x * y + z):
        return x * y + z
    return type(x)(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))


def low_bits(x: Any) -> int:
    """The bits of a number as an integer, the last 32 of a double."""
    return int(np.asarray(x).reshape(1).view(np.uint32)[0])


def reciprocal(x: Any) -> Any:
    """1/x, within two ulp."""
    return 1 / x


def _registers(_builder: Builder, count: Any) -> ValueList:
    return ValueList(count)


def _shaped(_builder: Builder, pattern: Known, numbers: Array, first: int) -> Shaped:
    return Shaped(pattern.numbers, numbers, first)


def _local(builder: Builder, *shape: int) -> Array:
    if not written_out():
        raise Untranslatable("local(…) in a kernel that is not written out")
    with builder.goto_entry_block():
        pointer = builder.alloca(real(), math.prod(shape))
    return Array(real(), pointer, shape)


def _at_run_time(_builder: Builder, number: Any) -> Any:
    return materialised(number)


def _atomic_min(builder: Builder, array: Array, index: Any, value: Any) -> None:
    builder.atomic_rmw("umin", element(builder, array, [index]), arithmetic.converted(builder, value, INT), "monotonic")


def _count_threads(builder: Builder, test: Any) -> Any:
    test = materialised(test)
    if not builder.on_gpu:
        return builder.zext(test, INT)
    count = builder.module.declare_intrinsic("llvm.nvvm.barrier0.popc", [], ir.FunctionType(SHORT, [SHORT]))
    counted = builder.call(count, [builder.zext(test, SHORT)])
    return arithmetic.converted(builder, counted, whole())


def threads(builder: Builder) -> int:
    """The number of neighbouring threads of a GPU that work on one robot."""
    return int(getattr(builder.module, "threads", 1))


def _lane(builder: Builder) -> Any:
    kind = ir.FunctionType(SHORT, [])
    return builder.call(builder.module.declare_intrinsic("llvm.nvvm.read.ptx.sreg.laneid", [], kind), [])


def thread(builder: Builder) -> Any:
    """The index of this thread among them."""
    own = builder.and_(_lane(builder), ir.Constant(SHORT, threads(builder) - 1))
    return arithmetic.converted(builder, own, whole())


def _thread_index(builder: Builder) -> Any:
    return thread(builder) if threads(builder) > 1 else 0


def _mask(builder: Builder) -> Any:
    """The bits of the robot's threads in the warp."""
    first = builder.and_(_lane(builder), ir.Constant(SHORT, -threads(builder)))
    return builder.shl(ir.Constant(SHORT, (1 << threads(builder)) - 1), first)


def wait_for_threads(builder: Builder) -> None:
    """A barrier of the robot's threads, after which they see each other's writes."""
    kind = ir.FunctionType(ir.VoidType(), [SHORT])
    builder.call(builder.module.declare_intrinsic("llvm.nvvm.bar.warp.sync", [], kind), [_mask(builder)])


def _from_thread(builder: Builder, x: Any, distance: int) -> Any:
    """x of the thread whose index differs in one bit, `distance`."""
    shuffle = builder.module.declare_intrinsic("llvm.nvvm.shfl.sync.bfly.i32", [], ir.FunctionType(SHORT, [SHORT] * 4))
    mask, rest = _mask(builder), [ir.Constant(SHORT, distance), ir.Constant(SHORT, 31)]

    def other(part: Any) -> Any:
        return builder.call(shuffle, [mask, part, *rest])

    if x.type == FLOAT:
        return builder.bitcast(other(builder.bitcast(x, SHORT)), FLOAT)
    bits = builder.bitcast(x, INT)
    low, high = builder.trunc(bits, SHORT), builder.trunc(builder.lshr(bits, ir.Constant(INT, 32)), SHORT)
    low, high = builder.zext(other(low), INT), builder.shl(builder.zext(other(high), INT), ir.Constant(INT, 32))
    return builder.bitcast(builder.or_(low, high), x.type)


def _thread_extreme(sort: str) -> Callable[..., Any]:
    """The maximum or minimum over a robot's threads, a reduction."""

    def emit(builder: Builder, x: Any) -> Any:
        x, distance = materialised(x), threads(builder) // 2
        while distance:
            y = _from_thread(builder, x, distance)
            chosen = builder.select(builder.fcmp_ordered(sort, x, y), x, y)
            x = builder.select(builder.fcmp_unordered("uno", x, y), builder.fadd(x, y), chosen)
            distance //= 2
        return x

    return emit


def _is_single(_builder: Builder, x: Any) -> bool:
    return materialised(x).type in (FLOAT, ir.VectorType(FLOAT, getattr(materialised(x).type, "count", 1)))


def _fma(builder: Builder, *numbers: Any) -> Any:
    type_ = arithmetic.common(*numbers)
    return arithmetic.fma(builder, *(arithmetic.converted(builder, x, type_) for x in numbers))


def _low_bits(builder: Builder, x: Any) -> Any:
    if arithmetic.is_vector(x):  # in integers as wide as the lanes, of which only the last bits are used
        wide = ir.IntType(32 if x.type.element == FLOAT else 64)
        return builder.bitcast(x, ir.VectorType(wide, x.type.count))
    bits = builder.bitcast(x, ir.IntType(32 if x.type == FLOAT else 64))
    bits = bits if x.type == FLOAT else builder.trunc(bits, ir.IntType(32))
    return bits if bits.type == whole() else builder.zext(bits, whole())


def _reciprocal(builder: Builder, x: Any) -> Any:
    if not isinstance(x, ir.Value):
        return 1 / x if x else float("inf")
    one = arithmetic.converted(builder, 1.0, x.type)
    if not builder.on_gpu:
        return builder.fdiv(one, x)
    letter = "f" if x.type == FLOAT else "d"
    nearly = f"llvm.nvvm.rcp.approx.ftz.{letter}"
    r = builder.call(builder.module.declare_intrinsic(nearly, [], ir.FunctionType(x.type, [x.type])), [x])
    e = _fma(builder, builder.fneg(x), r, one)
    return _fma(builder, r, e if letter == "f" else _fma(builder, e, e, e), r)  # r (1 + e + e²): the error is e³


def _length(_builder: Builder, value: Any) -> Any:
    return len(value.items) if isinstance(value, Record) else value.shape[0]


def _extreme(sort: type) -> Callable[..., Any]:
    """The minimum or maximum as in Python: the second number if the comparison holds, else the first, also with NaN."""

    def emit(builder: Builder, x: Any, y: Any) -> Any:
        if not isinstance(x, ir.Value) and not isinstance(y, ir.Value):
            return (min if sort is ast.Lt else max)(x, y)
        type_ = arithmetic.common(x, y)
        x, y = arithmetic.converted(builder, x, type_), arithmetic.converted(builder, y, type_)
        return builder.select(arithmetic.compare(builder, sort, y, x), y, x)

    return emit


def _absolute(builder: Builder, x: Any) -> Any:
    if not isinstance(x, ir.Value):
        return abs(x)
    if x.type in (INT, SHORT):
        negative = arithmetic.compare(builder, ast.Lt, x, 0)
        return builder.select(negative, builder.neg(x), x)
    return arithmetic.intrinsic(builder, "llvm.fabs", x)


def _real_function(name: str) -> Callable[..., Any]:
    def emit(builder: Builder, x: Any) -> Any:
        x = materialised(x)
        as_it_is = x.type == FLOAT or arithmetic.is_vector(x)
        return arithmetic.intrinsic(builder, name, x if as_it_is else arithmetic.converted(builder, x, DOUBLE))

    return emit


def _external(builder: Builder, name: str, result: ir.Type, *arguments: Any) -> Any:
    """Call a function of the C library."""
    module = builder.module
    if name not in module.globals:
        ir.Function(module, ir.FunctionType(result, [argument.type for argument in arguments]), name)
    return builder.call(module.globals[name], arguments)


def _arctan2(builder: Builder, y: Any, x: Any) -> Any:
    return _external(builder, "atan2", DOUBLE, *(arithmetic.converted(builder, value, DOUBLE) for value in (y, x)))


def _is_finite(builder: Builder, x: Any) -> Any:
    x = materialised(x)
    if arithmetic.is_whole(x.type):
        return True
    return builder.fcmp_ordered("<", arithmetic.intrinsic(builder, "llvm.fabs", x), ir.Constant(x.type, float("inf")))


def _whole(builder: Builder, x: Any) -> Any:
    """The integer part of a number, as Python's int; clipped to 64 bits, 0 for NaN."""
    if not isinstance(x, ir.Value):
        return int(x)
    if arithmetic.is_whole(x.type):
        return arithmetic.converted(builder, x, whole())
    type_ = ir.FunctionType(whole(), [x.type])
    return builder.call(builder.module.declare_intrinsic("llvm.fptosi.sat", [whole(), x.type], type_), [x])


def _expand(_builder: Builder, array: Array, axis: Any) -> Any:
    if axis != 0:
        raise Untranslatable("a new axis that is not the first")
    return replace(array, shape=(1, *array.shape))


@for_kernels
def cycles(builder: Builder) -> Any:
    """The processor's counter of time: cycles on a GPU, ns elsewhere."""
    return _gpu_register(builder, "clock64") if builder.on_gpu else KNOWN_CALLS[now](builder)


def _gpu_register(builder: Builder, name: str) -> Any:
    kind = ir.FunctionType(INT, [])
    return builder.call(builder.module.declare_intrinsic(f"llvm.nvvm.read.ptx.sreg.{name}", [], kind), [])


@for_kernels
def now(builder: Builder) -> Any:
    """Monotonic time in ns, for kernels."""
    if builder.on_gpu:
        return _gpu_register(builder, "globaltimer")
    with builder.goto_entry_block():
        pointer = builder.alloca(INT, 2)
    if sys.platform == "win32":  # ticks of 100 ns, as Windows has counted them since version 10
        _external(builder, "QueryPerformanceCounter", ir.IntType(32), pointer)
        return builder.mul(builder.load(pointer), ir.Constant(INT, 100))
    which = ir.Constant(ir.IntType(32), 6 if sys.platform == "darwin" else 1)
    _external(builder, "clock_gettime", ir.IntType(32), which, pointer)
    seconds = builder.mul(builder.load(pointer), ir.Constant(INT, 1_000_000_000))
    return builder.add(seconds, builder.load(builder.gep(pointer, [ir.Constant(INT, 1)])))


@for_kernels
def address(builder: Builder, array: Array) -> Any:
    """The address of an array's numbers; writes through it are not seen as writes to the array."""
    return builder.ptrtoint(array.data, INT)


@for_kernels
def call(builder: Builder, function: Any, *numbers: Any) -> None:
    """Call the function whose address is at a place, see `Function.address`, with integers."""
    type_ = ir.FunctionType(ir.VoidType(), [INT] * len(numbers))
    values = [arithmetic.converted(builder, number, INT) for number in numbers]
    pointer = builder.inttoptr(function, type_.as_pointer().as_pointer())
    builder.call(builder.load_atomic(pointer, "monotonic", 8), values)


KNOWN_CALLS |= {
    len: _length,
    min: _extreme(ast.Lt),
    max: _extreme(ast.Gt),
    abs: _absolute,
    np.sqrt: _real_function("llvm.sqrt"),
    np.sin: _real_function("llvm.sin"),
    np.cos: _real_function("llvm.cos"),
    np.arctan2: _arctan2,
    np.isfinite: _is_finite,
    int: _whole,
    np.expand_dims: _expand,
    registers: _registers,
    shaped: _shaped,
    local: _local,
    at_run_time: _at_run_time,
    atomic_min: _atomic_min,
    count_threads: _count_threads,
    thread_index: _thread_index,
    thread_max: _thread_extreme(">"),
    thread_min: _thread_extreme("<"),
    is_single: _is_single,
    fma: _fma,
    low_bits: _low_bits,
    reciprocal: _reciprocal,
}
