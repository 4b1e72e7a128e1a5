"""LLVM for this processor: intermediate code to machine code, machine code to functions of Python's."""

from __future__ import annotations

import ctypes
import enum
import sys
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from engine.compile.entry import OWN, PYTHON

SPEED = 3


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    x86 = llvm.get_process_triple().startswith(("x86", "i386", "i686"))
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features(), opt=SPEED,
        reloc="static" if x86 else "default", codemodel="jitdefault", jit=True,
    )  # fmt: skip


def _features() -> str:
    return str(llvm.get_host_cpu_features().flatten())


@cache
def describe() -> tuple[str, ...]:
    """What machine code depends on besides the kernels: the system, the processor and the layout of objects."""
    return (
        llvm.get_process_triple(), llvm.get_host_cpu_name(), _features(),
        llvmlite.__version__, np.__version__, sys.version, str(object.__basicsize__),
    )  # fmt: skip


class Style(enum.Enum):
    """What code is like, and so what is done to make it fast: all else takes time to compile, and gains nothing."""

    LOOPS = enum.auto()
    """Loops over numbers or robots, which are taken several at a time."""
    ONE_ROBOT = enum.auto()
    """Loops over the bodies or contacts of one robot."""
    STRAIGHT = enum.auto()
    """Hardly a branch, and no memory."""


def compiled(text: str, style: Style = Style.LOOPS) -> bytes:
    """Machine code, as an object file, for intermediate code."""
    machine = _target()
    module = parsed(text, machine)
    if style != Style.STRAIGHT:
        tuned(module, machine, vectorised=style == Style.LOOPS)
    return bytes(machine.emit_object(module))


def parsed(text: str, machine: Any) -> Any:
    """LLVM's module for intermediate code."""
    module = llvm.parse_assembly(text)
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
    builder.getModulePassManager().run(module, builder)
    return module


@cache
def _engine() -> Any:
    machine = _target()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    for name in PYTHON:
        llvm.add_symbol(OWN + name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    for name, thing in (("ndarray", np.ndarray), ("not_implemented", NotImplemented)):
        llvm.add_symbol(OWN + name, id(thing))
    return engine


def address(code: bytes, name: str) -> int:
    """Where the function of that name in an object file is, once loaded."""
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(name))
