"""Memory that threads share, for kernels: arrays at an address, atomic words with ordering, waiting."""

from __future__ import annotations

import platform
import sys
from typing import Any

from llvmlite import ir

from engine.compile import arithmetic
from engine.compile.builder import Builder
from engine.compile.memory import element
from engine.compile.operations import for_kernels
from engine.compile.values import BOOL, ELEMENTS, INT, Array, Record

_X86 = platform.machine().lower() in ("x86_64", "amd64")
_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


@for_kernels
def array_at(builder: Builder, address: Any, dtype: str, shape: Record) -> Array:
    """The contiguous array at an address; writes to it are not seen as writes to any argument."""
    type_ = ELEMENTS[dtype]
    return Array(type_, builder.inttoptr(arithmetic.converted(builder, address, INT), type_.as_pointer()), shape.items)


@for_kernels
def read(builder: Builder, control: Array, index: Any) -> Any:
    """Load control[place] (acquire): writes before its `write` are visible."""
    return builder.load_atomic(element(builder, control, [index]), "acquire", 8)


@for_kernels
def write(builder: Builder, control: Array, index: Any, value: Any) -> None:
    """Store control[place] = value (release), after all earlier writes."""
    builder.store_atomic(arithmetic.converted(builder, value, INT), element(builder, control, [index]), "release", 8)


@for_kernels
def count(builder: Builder, control: Array, index: Any) -> Any:
    """Add 1 to control[place]; return the sum."""
    one = ir.Constant(INT, 1)
    return builder.add(builder.atomic_rmw("add", element(builder, control, [index]), one, "acq_rel"), one)


@for_kernels
def exchange(builder: Builder, control: Array, index: Any, expected: Any, value: Any) -> Any:
    """Set control[place] to `value` if it is `expected`; return whether it was."""
    expected, value = (arithmetic.converted(builder, x, INT) for x in (expected, value))
    pair = builder.cmpxchg(element(builder, control, [index]), expected, value, "acq_rel", "acquire")
    return builder.trunc(builder.zext(builder.extract_value(pair, 1), INT), BOOL)


@for_kernels
def pause(builder: Builder) -> None:
    """Hint to the processor that this thread only waits."""
    if _X86:
        builder.call(_function(builder, "llvm.x86.sse2.pause", ir.VoidType()), [])


@for_kernels
def yield_processor(builder: Builder) -> None:
    """Yield the processor to other threads."""
    builder.call(_function(builder, _YIELD, ir.IntType(32)), [])


def _function(builder: Builder, name: str, result: ir.Type) -> Any:
    module = builder.module
    return module.globals[name] if name in module.globals else ir.Function(module, ir.FunctionType(result, []), name)
