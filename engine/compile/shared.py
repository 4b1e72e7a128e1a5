"""Memory that threads share, for kernels: arrays at an address, atomic words with ordering, waiting."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from engine.compile import arithmetic
from engine.compile.builder import Builder
from engine.compile.memory import element
from engine.compile.values import BOOL, ELEMENTS, INT, Array, Record

_X86 = platform.machine().lower() in ("x86_64", "amd64")
_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


def array_at(_address: int, _dtype: str, _shape: tuple[int, ...]) -> Any:
    """The contiguous array at an address; writes to it are not seen as writes to any argument."""
    raise NotImplementedError("a kernel's own")


def read(_control: Any, _place: int) -> int:
    """Load control[place] (acquire): writes before its `write` are visible."""
    raise NotImplementedError("a kernel's own")


def write(_control: Any, _place: int, _value: int) -> None:
    """Store control[place] = value (release), after all earlier writes."""
    raise NotImplementedError("a kernel's own")


def count(_control: Any, _place: int) -> int:
    """Add 1 to control[place]; return the sum."""
    raise NotImplementedError("a kernel's own")


def exchange(_control: Any, _place: int, _expected: int, _value: int) -> bool:
    """Set control[place] to `value` if it is `expected`; return whether it was."""
    raise NotImplementedError("a kernel's own")


def pause() -> None:
    """Hint to the processor that this thread only waits."""
    raise NotImplementedError("a kernel's own")


def give_way() -> None:
    """Yield the processor to other threads."""
    raise NotImplementedError("a kernel's own")


def _array_at(builder: Builder, address: Any, dtype: str, shape: Record) -> Array:
    type_ = ELEMENTS[dtype]
    return Array(type_, builder.inttoptr(arithmetic.converted(builder, address, INT), type_.as_pointer()), shape.items)


def _read(builder: Builder, control: Array, place: Any) -> Any:
    return builder.load_atomic(element(builder, control, [place]), "acquire", 8)


def _write(builder: Builder, control: Array, place: Any, value: Any) -> None:
    builder.store_atomic(arithmetic.converted(builder, value, INT), element(builder, control, [place]), "release", 8)


def _count(builder: Builder, control: Array, place: Any) -> Any:
    one = ir.Constant(INT, 1)
    return builder.add(builder.atomic_rmw("add", element(builder, control, [place]), one, "acq_rel"), one)


def _exchange(builder: Builder, control: Array, place: Any, expected: Any, value: Any) -> Any:
    expected, value = (arithmetic.converted(builder, x, INT) for x in (expected, value))
    pair = builder.cmpxchg(element(builder, control, [place]), expected, value, "acq_rel", "acquire")
    return builder.trunc(builder.zext(builder.extract_value(pair, 1), INT), BOOL)


def _pause(builder: Builder) -> None:
    if _X86:
        builder.call(_function(builder, "llvm.x86.sse2.pause", ir.VoidType()), [])


def _give_way(builder: Builder) -> None:
    builder.call(_function(builder, _YIELD, ir.IntType(32)), [])


def _function(builder: Builder, name: str, result: ir.Type) -> Any:
    module = builder.module
    return module.globals[name] if name in module.globals else ir.Function(module, ir.FunctionType(result, []), name)


SHARED_CALLS: dict[Any, Callable[..., Any]] = {
    array_at: _array_at, read: _read, write: _write, count: _count, exchange: _exchange,
    pause: _pause, give_way: _give_way,
}  # fmt: skip
"""The translations of these functions."""
