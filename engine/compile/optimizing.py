"""LLVM IR to machine code for this processor, quickly or optimised.

llvmlite admits one thread at a time into LLVM. Long calls bypass its lock, so that several threads compile at once:
each has its own context and target machine, which is all that LLVM requires. The background process (`background`)
reads this file as it is: it imports llvmlite and nothing of the engine.
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
def _unlocked(name: str) -> Callable[..., Any]:
    """A function of LLVM's, by its name in llvmlite's library, called without the lock."""
    library, locked = ctypes.CDLL(str(Path(llvm.__file__).with_name(ffi.get_library_name()))), getattr(ffi.lib, name)
    function: Callable[..., Any] = library[name]
    function.argtypes, function.restype = locked.argtypes, locked.restype  # type: ignore[attr-defined]
    return function


def target(speed: int = SPEED) -> Any:
    """The target machine of this host, for one thread, and its optimisation level."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    x86 = llvm.get_process_triple().startswith(("x86", "i386", "i686"))
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features(), opt=speed,
        reloc="static" if x86 else "default", codemodel="jitdefault", jit=True,
    )  # fmt: skip


def features() -> str:
    """The processor's features."""
    return str(llvm.get_host_cpu_features().flatten())


class Style(enum.Enum):
    """The kind of code, which selects its optimisations: others take compile time without gain."""

    LOOPS = enum.auto()
    """Loops over numbers or robots, which are vectorised."""
    ONE_ROBOT = enum.auto()
    """Loops over the bodies or contacts of one robot."""
    STRAIGHT = enum.auto()
    """Hardly any branches or memory accesses."""
    QUICK = enum.auto()
    """Any kind: runs until the same code is optimised, with the same bits."""


def compiled(text: str, style: Style = Style.LOOPS) -> bytes:
    """Compile LLVM IR to an object file."""
    machine = target(0 if style == Style.QUICK else SPEED)
    module = parsed(text, machine)
    if style in (Style.LOOPS, Style.ONE_ROBOT):
        tuned(module, machine, vectorised=style == Style.LOOPS)
    return emitted(module, machine)


def emitted(module: Any, machine: Any, binary: bool = True) -> bytes:
    """The module as an object file, or as assembly."""
    with ffi.OutputString() as problem:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, int(binary), problem)
        if not buffer:
            raise RuntimeError(str(problem))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def parsed(text: str, machine: Any) -> Any:
    """Parse LLVM IR to a module in a context of its own."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    return module


def tuned(module: Any, machine: Any, inlining: int | None = None, vectorised: bool = True) -> Any:
    """Optimise a module for a machine; functions cheaper than `inlining` are inlined."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    tuning.loop_vectorization, tuning.slp_vectorization = vectorised, False
    tuning.loop_unrolling = False  # doubles the compile time of a step with contact, and slows it by a tenth
    if inlining is not None:
        tuning.inlining_threshold = inlining
    builder = llvm.create_pass_builder(machine, tuning)
    _unlocked("LLVMPY_RunNewModulePassManager")(builder.getModulePassManager(), module, builder)
    return module
