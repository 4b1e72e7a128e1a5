"""Kernels written out for what is known: one function of LLVM's that works on one robot, for the host or a GPU.

On a GPU a thread has a robot: number r of a batch has row r of each array. On the host the function is given the first
row's place in each.
"""

from __future__ import annotations

from typing import Any

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

from engine.compile.machine import optimised
from engine.compile.translate import Emitted, Frame, Unit
from engine.compile.values import ELEMENTS, INT, Array, of_python, writing_out

_NVPTX = "nvptx64-nvidia-cuda"
_GLOBAL = 1  # the address space of a GPU's memory


class _Whole(Emitted):
    """The one function, which all that it calls becomes part of."""

    def __init__(self, unit: Unit):
        self.unit, self.written = unit, set()

    def touch(self, _value: Any) -> None:
        """Nobody asks which arrays are written to."""


def text(kernel: Any, known: Any, widths: tuple[int, ...], dtype: str, name: str, gpu: bool) -> str:
    """Intermediate code of `kernel(known, *rows)`, whose arrays have rows of these widths and numbers of `dtype`."""
    unit, real = Unit(name), ELEMENTS[dtype]
    unit.module.triple = _NVPTX if gpu else llvm.get_process_triple()
    pointer = real.as_pointer(_GLOBAL if gpu else 0)
    types = [pointer] * len(widths) + [ir.IntType(32)] * gpu
    function = ir.Function(unit.module, ir.FunctionType(ir.VoidType(), types), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    robot: Any = ir.Constant(INT, 0)
    if gpu:
        function.calling_convention = "ptx_kernel"
        robot = _robot(builder, function.args[-1])
    with writing_out(real):
        rows = [
            Array(real, builder.gep(place, [builder.mul(robot, ir.Constant(INT, width))]), (width,))
            for place, width in zip(function.args, widths, strict=False)
        ]
        Frame(_Whole(unit), builder, kernel.function, [of_python(known), *rows]).inlined()
    builder.ret_void()
    return str(unit.module)


def _robot(builder: ir.IRBuilder, batch: Any) -> Any:
    """The number of this thread's robot; the thread ends where there is none."""
    kind = ir.FunctionType(ir.IntType(32), [])
    block, size, thread = (
        builder.call(builder.module.declare_intrinsic(f"llvm.nvvm.read.ptx.sreg.{x}.x", [], kind), [])
        for x in ("ctaid", "ntid", "tid")
    )
    robot = builder.add(builder.mul(block, size), thread)
    with builder.if_then(builder.icmp_unsigned(">=", robot, batch)):
        builder.ret_void()
    return builder.zext(robot, INT)


def versions() -> tuple[str, ...]:
    """What the code for a GPU depends on besides the kernels."""
    return llvmlite.__version__, *map(str, llvm.llvm_version_info)


def ptx(code: str, architecture: str) -> str:
    """A GPU's assembly, such as that of "sm_90", for intermediate code."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(_NVPTX).create_target_machine(cpu=architecture, opt=3)
    return str(machine.emit_assembly(optimised(code, machine)))
