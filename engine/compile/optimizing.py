"""LLVM's intermediate code to machine code for this processor, quickly or so that it is fast.

llvmlite lets one thread at a time into LLVM. What takes long is called beside its lock, so that several threads
compile at once: each has a context and a target machine of its own, which is all that LLVM asks for. The process that
`background` starts reads this file as it stands: it imports llvmlite and nothing of the engine.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

SPEED = 3


@cache
def _beside_lock(name: str) -> Callable[..., Any]:
    """A function of LLVM's by its name in llvmlite's library."""
    library, locked = ctypes.CDLL(str(Path(llvm.__file__).with_name(ffi.get_library_name()))), getattr(ffi.lib, name)
    function: Callable[..., Any] = library[name]
    function.argtypes, function.restype = locked.argtypes, locked.restype  # type: ignore[attr-defined]
    return function


def target(speed: int = SPEED) -> Any:
    """A machine like this one, for one thread, and how much LLVM does to make code for it fast."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    x86 = llvm.get_process_triple().startswith(("x86", "i386", "i686"))
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features(), opt=speed,
        reloc="static" if x86 else "default", codemodel="jitdefault", jit=True,
    )  # fmt: skip


def features() -> str:
    """What the processor can do."""
    return str(llvm.get_host_cpu_features().flatten())


class Style(enum.Enum):
    """What code is like, and so what is done to make it fast: all else takes time to compile, and gains nothing."""

    LOOPS = enum.auto()
    """Loops over numbers or robots, which are taken several at a time."""
    ONE_ROBOT = enum.auto()
    """Loops over the bodies or contacts of one robot."""
    STRAIGHT = enum.auto()
    """Hardly a branch, and no memory."""
    QUICK = enum.auto()
    """Any: it runs until the same code is there that is fast, and has the same bits."""


def compiled(text: str, style: Style = Style.LOOPS) -> bytes:
    """Machine code, as an object file, for intermediate code."""
    machine = target(0 if style == Style.QUICK else SPEED)
    module = parsed(text, machine)
    if style in (Style.LOOPS, Style.ONE_ROBOT):
        tuned(module, machine, vectorised=style == Style.LOOPS)
    return _emitted(module, machine)


def _emitted(module: Any, machine: Any) -> bytes:
    with ffi.OutputString() as fault:
        buffer = _beside_lock("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, fault)
        if not buffer:
            raise RuntimeError(str(fault))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def parsed(text: str, machine: Any) -> Any:
    """LLVM's module for intermediate code, in a context of its own."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    return module


def tuned(module: Any, machine: Any, inlining: int | None = None, vectorised: bool = True) -> Any:
    """A module, made fast for a machine; functions cheaper than `inlining` become part of those that call them."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    tuning.loop_vectorization, tuning.slp_vectorization = vectorised, False
    tuning.loop_unrolling = False  # doubles the time of making a step with contact, whose steps it slows by a tenth
    if inlining is not None:
        tuning.inlining_threshold = inlining
    builder = llvm.create_pass_builder(machine, tuning)
    _beside_lock("LLVMPY_RunNewModulePassManager")(builder.getModulePassManager(), module, builder)
    return module
