"""Kernels written out for known values: one LLVM function without loops that works on one robot, on the host or a GPU.

Any kernel can be compiled so; `with_loops` keeps the loops instead. `cuda.rigid_body.written_out` and
`cpu.rigid_body.aba_batch` use this for a robot's dynamics.

On a GPU a thread has a robot, which is row r of each array. On the host robots are processed sequentially.
"""

from __future__ import annotations

from typing import Any

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

from engine.compile.builder import Builder
from engine.compile.optimizing import parsed, tuned
from engine.compile.statements import Frame
from engine.compile.units import Emitted, Unit
from engine.compile.values import ELEMENTS, INT, Array, Record, of_python, real, writing_out

_NVPTX = "nvptx64-nvidia-cuda"
_GLOBAL = 1  # the address space of a GPU's memory


class _Whole(Emitted):
    """The single function that all calls are inlined into."""

    def __init__(self, unit: Unit):
        self.unit, self.written = unit, set()

    def touch(self, _value: Any) -> None:
        """Ignore writes: no caller needs them."""


def text(kernel: Any, known: Any, arguments: tuple[Any, ...], dtype: str, name: str, gpu: bool) -> str:
    """The LLVM IR of `kernel(known, *arguments)` for each robot of a batch, whose size comes last, in 32 bits.

    An argument is the width of a row, of an array of `dtype` with a row a robot; a tuple of arguments; or one of

    - "real", "int64": a number that all robots share;
    - "reals", "int64s": a contiguous array, the same for all of them;
    - "robot": the robot's index, which is not passed.
    """
    unit, number = Unit(name), ELEMENTS[dtype]
    unit.module.triple = _NVPTX if gpu else llvm.get_process_triple()
    types = [*(_type(x, number, _GLOBAL if gpu else 0) for x in passed(arguments)), ir.IntType(32)]
    function = ir.Function(unit.module, ir.FunctionType(ir.VoidType(), types), name)
    with writing_out(number):
        builder = Builder(function.append_basic_block("entry"))
        if gpu:
            function.calling_convention = "ptx_kernel"
            _for_robot(builder, kernel, known, arguments, _robot(builder, function.args[-1]))
        else:
            _for_each(builder, kernel, known, arguments)
    builder.ret_void()
    return str(unit.module)


def passed(arguments: tuple[Any, ...]) -> list[int | str]:
    """The arguments that a launch passes, in their order."""
    nested = [passed(x) if isinstance(x, tuple) else [x] for x in arguments if x != "robot"]
    return [x for part in nested for x in part]


def _type(argument: int | str, number: ir.Type, space: int) -> ir.Type:
    one = INT if isinstance(argument, str) and argument.startswith("int64") else number
    return one if argument in ("real", "int64") else one.as_pointer(space)


def _for_robot(builder: Builder, kernel: Any, known: Any, arguments: tuple[Any, ...], robot: Any) -> None:
    """Write the kernel's body for the robot of that index."""
    given, element = iter(builder.function.args), real()

    def value(argument: Any) -> Any:
        if isinstance(argument, tuple):
            return Record(tuple(map(value, argument)), getattr(argument, "_fields", ()))
        if argument == "robot":
            return robot
        parameter: Any = next(given)
        if isinstance(argument, int):
            return Array(element, builder.gep(parameter, [builder.mul(robot, ir.Constant(INT, argument))]), (argument,))
        return Array(parameter.type.pointee, parameter, (None,)) if argument in ("reals", "int64s") else parameter

    values = list(map(value, arguments))
    Frame(_Whole(Unit("")), builder, kernel.function, [of_python(known), *values]).inlined()


def _for_each(builder: Builder, kernel: Any, known: Any, arguments: tuple[Any, ...]) -> None:
    """Write a loop over robots around the kernel's body."""
    before, (head, body, after) = builder.block, map(builder.append_basic_block, ("robots", "robot", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    robot = builder.phi(INT)
    robot.add_incoming(ir.Constant(INT, 0), before)
    builder.cbranch(builder.icmp_signed("<", robot, builder.zext(builder.function.args[-1], INT)), body, after)
    builder.position_at_end(body)
    _for_robot(builder, kernel, known, arguments, robot)
    robot.add_incoming(builder.add(robot, ir.Constant(INT, 1)), builder.block)
    builder.branch(head)
    builder.position_at_end(after)


def _robot(builder: Builder, batch: Any) -> Any:
    """The index of this thread's robot; a thread without one ends."""
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
    """What code for a GPU depends on besides the kernels."""
    return llvmlite.__version__, *map(str, llvm.llvm_version_info)


def ptx(code: str, architecture: str) -> str:
    """Compile LLVM IR to PTX for an architecture such as "sm_90"."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(_NVPTX).create_target_machine(cpu=architecture, opt=3)
    return str(machine.emit_assembly(tuned(parsed(code, machine), machine)))
