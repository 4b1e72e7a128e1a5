"""Words of memory that threads share: loads, stores and counts that other threads see whole and in order."""

from __future__ import annotations

import platform
import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from engine.cpu.runtime import clock
from engine.cpu.runtime.epochs import EPOCH, IDLE_NS, SPINS, STOP
from engine.cpu.runtime.numba_kernels import inline, instruction

_X86 = platform.machine().lower() in ("x86_64", "amd64")

_yield_processor: Any = types.ExternalFunction(
    "SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32()
)


def _word(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    return builder.gep(data, [context.cast(builder, args[1], sig.args[1], types.intp)])


@instruction
def read(_typing, control, place):
    """control[place], and with it all that was written before it was `write`n."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load_atomic(_word(context, builder, sig, args), "acquire", 8)

    return types.int64(control, place), generate


@instruction
def write(_typing, control, place, value):
    """control[place] = value, after all that was written before."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = context.cast(builder, args[2], sig.args[2], types.int64)
        builder.store_atomic(value, _word(context, builder, sig, args), "release", 8)
        return context.get_dummy_value()

    return types.void(control, place, value), generate


@instruction
def count(_typing, control, place):
    """Add 1 to control[place]; answers the sum."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one = ir.Constant(ir.IntType(64), 1)
        return builder.add(builder.atomic_rmw("add", _word(context, builder, sig, args), one, "acq_rel"), one)

    return types.int64(control, place), generate


@instruction
def exchange(_typing, control, place, expected, value):
    """Set control[place] to `value` if it is `expected`; answers whether it was."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        expected, value = (context.cast(builder, args[j], sig.args[j], types.int64) for j in (2, 3))
        pair = builder.cmpxchg(_word(context, builder, sig, args), expected, value, "acq_rel", "acquire")
        return builder.extract_value(pair, 1)

    return types.boolean(control, place, expected, value), generate


@instruction
def pause(_typing):
    """Tell the processor that this thread only waits."""

    def generate(context: Any, builder: Any, _sig: Any, _args: Any) -> Any:
        if _X86:
            nothing = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, nothing, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


@instruction
def pointer(_typing, address, like):
    """An address as a pointer to numbers of the type that the array `like` holds."""
    result = types.CPointer(like.dtype)

    def generate(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(result))

    return result(address, like), generate


@instruction
def call(_typing, address, control, me, epoch):
    """Call the function at an address with the address of `control`, and two numbers."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [word] * 3).as_pointer())
        place = builder.ptrtoint(context.make_array(sig.args[1])(context, builder, args[1]).data, word)
        builder.call(function, [place, *(context.cast(builder, args[j], sig.args[j], types.int64) for j in (2, 3))])
        return context.get_dummy_value()

    return types.void(address, control, me, epoch), generate


@inline
def back_off(spins):
    """One more moment of waiting, after so many; a wait that lasts lets other threads have the processor."""
    if spins < SPINS:
        pause()
    else:
        _yield_processor()


@inline
def wait_for(control, place, least):
    """Until control[place] is `least` or more."""
    spins = 0
    while read(control, place) < least:
        back_off(spins)
        spins += 1


@inline
def next_epoch(control, seen, buffer):
    """The epoch after `seen`, once it comes; −1 once none has come for IDLE_NS, or the word STOP is set."""
    looks, deadline = 0, clock.now(buffer) + IDLE_NS
    while read(control, STOP) == 0:
        epoch = read(control, EPOCH)
        if epoch != seen:
            return epoch
        looks += 1
        if looks % 64 == 0 and clock.now(buffer) > deadline:
            return -1
        back_off(looks)
    return -1
