"""Kernels with their loops kept, for a GPU: one thread, or a few neighbours, per robot of a batch.

Any kernel can be compiled so; `written_out` unrolls the loops instead.

Arguments are a tree of tuples with the place of each array (`Table`, `Own`, `OfBatch`); strings, booleans and Python
numbers are known at compile time. All tables lie in one piece of memory for each number type, and so do the robots' own
arrays, interleaved by number over a warp's robots, so that its accesses are coalesced. A function takes these four
addresses, for any arrays. Integers have 32 bits, except in arrays given at launch, since a GPU takes several
instructions for 64. The threads of one robot divide loops over `parallel_range(…)` among them, and each runs all other
code; the bits do not depend on their number.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.compile import separate_functions
from engine.compile.builder import Builder
from engine.compile.optimizing import emitted, parsed, tuned
from engine.compile.units import Unit
from engine.compile.values import ELEMENTS, INT, SHORT, Array, Record, in_type, of_python

WARP = 32
_NVPTX = "nvptx64-nvidia-cuda"
_GLOBAL = 1
_INLINING = 10
_APPROXIMATE = {"div.rn.f32": "div.full.f32", "sqrt.rn.f32": "sqrt.approx.f32", "rcp.rn.f32": "rcp.approx.f32"}
_HEAD = re.compile(r"^(define .*\))( convergent)?( nounwind)?$", re.MULTILINE)
_LABEL, _BRANCH = re.compile(r"^(\$L__BB\w+):.*$", re.MULTILINE), re.compile(r"bra(?:\.uni)?\s+(\$L__BB\w+)")


@dataclass(frozen=True, eq=False)
class Table:
    """An array that all robots read."""

    numbers: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Own:
    """An array that each robot has of its own, with its initial values."""

    numbers: NDArray[Any]


@dataclass(frozen=True)
class OfBatch:
    """An array (batch, …) of which the kernel sees the robot's row alone, (1, …); `shape` is that row's, (…)."""

    shape: tuple[int, ...]
    dtype: str = "float64"


@dataclass(frozen=True)
class Number:
    """A number that is given at launch, the same for all robots."""

    dtype: str


@dataclass(frozen=True)
class Given:
    """An array of any size that is given at launch, which the kernel reads as one row of numbers."""

    dtype: str = "float64"


class Number32:
    """A 32-bit integer that is given at launch."""


class RobotNumber:
    """The index of the robot in the batch."""


class Exists:
    """Whether the thread has a robot: threads of a warp without one take part in its barriers."""


def _elements(dtype: str, real: str) -> str:
    return "int32" if np.dtype(dtype).kind in "iu" else real


class Layout:
    """The places of an argument tree's arrays: in pieces of tables and of own arrays, by number type.

    `threads` of a warp, a power of two, work on a robot. A warp has `robots_of_warp` robots, whose own arrays are
    interleaved. Where its threads would serve more robots, each robot waits for fewer others.
    """

    def __init__(self, tree: tuple[Any, ...], real: str, threads: int = 1, robots_of_warp: int = WARP):
        self.real, self.threads, self.robots_of_warp = real, threads, min(robots_of_warp, WARP // threads)
        self.tables: dict[str, list[NDArray[Any]]] = {real: [], "int32": []}
        self.own: dict[str, list[NDArray[Any]]] = {real: [], "int32": []}
        self.parameters: list[OfBatch | Number | Given | Number32] = []
        self.offset: dict[int, int] = {}
        self._size = {(kind, name): 0 for kind in (Table, Own) for name in (real, "int32")}
        self._referenced: list[Any] = []
        self._walk(tree)

    def _walk(self, value: Any) -> None:
        if isinstance(value, tuple):
            for item in value:
                self._walk(item)
        elif isinstance(value, Table | Own):
            if id(value) not in self.offset:
                name = _elements(str(value.numbers.dtype), self.real)
                (self.tables if isinstance(value, Table) else self.own)[name].append(value.numbers)
                self.offset[id(value)] = self._size[type(value), name]
                self._size[type(value), name] += value.numbers.size
                self._referenced.append(value)
        elif isinstance(value, OfBatch | Number | Given | Number32):
            self.parameters.append(value)

    def numbers_of(self, name: str) -> int:
        """The number of numbers of a type in each robot's own arrays."""
        return self._size[Own, name]

    def table(self, name: str) -> NDArray[Any]:
        """All tables of a number type."""
        return np.concatenate([np.zeros(0), *(x.ravel() for x in self.tables[name])]).astype(name)

    def first(self, name: str) -> NDArray[Any]:
        """The initial values of a robot's own arrays of a number type."""
        return np.concatenate([np.zeros(0), *(x.ravel() for x in self.own[name])]).astype(name)

    def key(self, tree: Any) -> Any:
        """A key of all that the kernel's text depends on."""
        if isinstance(tree, tuple):
            return getattr(tree, "_fields", ()), tuple(map(self.key, tree))
        if isinstance(tree, Table | Own):
            return type(tree).__name__, str(tree.numbers.dtype), tree.numbers.shape
        known = RobotNumber | Exists | Number32
        return type(tree).__name__ if isinstance(tree, known) else repr(tree)


def text(kernel: Any, tree: tuple[Any, ...], layout: Layout, name: str) -> str:
    """The LLVM IR of `kernel(*tree)`.

    It takes the tables and the own arrays, reals and integers each; then, in their order, the values given at launch;
    and the size of the batch.
    """
    unit, real = Unit(name, whole=True), ELEMENTS[layout.real]
    unit.module.triple, unit.module.threads = _NVPTX, layout.threads
    pieces = [real.as_pointer(_GLOBAL), SHORT.as_pointer(_GLOBAL)] * 2
    types = [_type(x, real) for x in layout.parameters]
    function = ir.Function(unit.module, ir.FunctionType(ir.VoidType(), [*pieces, *types, ir.IntType(32)]), name)
    function.calling_convention = "ptx_kernel"
    for argument in function.args[: 2 if layout.threads > 1 else None]:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")  # except for the exchange between a robot's threads
    builder = Builder(function.append_basic_block("entry"))
    robot, exists = _robot(builder, function.args[-1], layout)
    with in_type(real, SHORT):
        arguments = _Arguments(builder, layout, function.args, robot, exists)
        values = [arguments.value(argument) for argument in tree]
        body = unit.function(kernel, values)
        body.call(builder, body, values)
    builder.ret_void()
    return _as_one(str(unit.module)) if layout.threads > 1 else str(unit.module)


def _as_one(code: str) -> str:
    """The LLVM IR with functions marked convergent: the threads of a robot enter them together."""
    return _HEAD.sub(r"\1 convergent nounwind", code)


def _type(x: OfBatch | Number | Given | Number32, real: ir.Type) -> ir.Type:
    if isinstance(x, Number32):
        return ir.IntType(32)
    element = INT if np.dtype(x.dtype).kind in "iu" else real
    return element if isinstance(x, Number) else element.as_pointer(_GLOBAL)


class _Arguments:
    """The values of a kernel's arguments for the thread of a robot."""

    def __init__(self, builder: Builder, layout: Layout, given: Any, robot: Any, exists: Any):
        self._builder, self._layout, self._robot, self._exists = builder, layout, robot, exists
        self._given = iter(given[4:])
        names = layout.real, "int32"
        self._tables = dict(zip(names, given[:2], strict=True))
        self._own = {name: self._first(given[2 + k], layout.numbers_of(name)) for k, name in enumerate(names)}

    def _first(self, piece: Any, size: int) -> Any:
        """The place of the robot's own numbers."""
        builder, robots_of_warp = self._builder, self._layout.robots_of_warp
        group, slot = (f(self._robot, ir.Constant(INT, robots_of_warp)) for f in (builder.udiv, builder.urem))
        return builder.gep(piece, [builder.add(builder.mul(group, ir.Constant(INT, robots_of_warp * size)), slot)])

    def value(self, argument: Any) -> Any:
        """The value of an argument."""
        if isinstance(argument, tuple):
            return Record(tuple(map(self.value, argument)), getattr(argument, "_fields", ()))
        if isinstance(argument, Table | Own):
            name = _elements(str(argument.numbers.dtype), self._layout.real)
            data = (self._tables if isinstance(argument, Table) else self._own)[name]
            stride = 1 if isinstance(argument, Table) else self._layout.robots_of_warp
            offset = self._layout.offset[id(argument)]
            return Array(ELEMENTS[name], data, argument.numbers.shape, frozenset(), stride, offset)
        if isinstance(argument, OfBatch):
            data, row = next(self._given), ir.Constant(INT, int(np.prod(argument.shape)))
            start = self._builder.gep(data, [self._builder.mul(self._robot, row)])
            return Array(data.type.pointee, start, (1, *argument.shape))
        if isinstance(argument, Given):
            data = next(self._given)
            return Array(data.type.pointee, data, (None,))
        if isinstance(argument, Number):
            return next(self._given)
        if isinstance(argument, Number32):
            return next(self._given)
        if isinstance(argument, RobotNumber | Exists):
            return self._robot if isinstance(argument, RobotNumber) else self._exists
        return of_python(argument)


def _robot(builder: Builder, batch: Any, layout: Layout) -> tuple[Any, Any]:
    """The index of this thread's robot, 0 without one, and whether it has one."""
    kind, short = ir.FunctionType(ir.IntType(32), []), ir.IntType(32)
    block, size, thread = (
        builder.call(builder.module.declare_intrinsic(f"llvm.nvvm.read.ptx.sreg.{x}.x", [], kind), [])
        for x in ("ctaid", "ntid", "tid")
    )
    number = builder.add(builder.mul(block, size), thread)
    warp, lane = (f(number, ir.Constant(short, WARP)) for f in (builder.udiv, builder.urem))
    slot = builder.udiv(lane, ir.Constant(short, layout.threads))
    robots_of_warp = ir.Constant(short, layout.robots_of_warp)
    robot = builder.add(builder.mul(warp, robots_of_warp), slot)
    exists = builder.and_(builder.icmp_unsigned("<", slot, robots_of_warp), builder.icmp_unsigned("<", robot, batch))
    return builder.zext(builder.select(exists, robot, ir.Constant(short, 0)), INT), exists


def ptx(code: str, architecture: str, registers: int) -> str:
    """Compile LLVM IR to PTX for an architecture such as "sm_90", with a maximum number of registers per thread.

    GPUs stall on the instruction cache with long code, so functions called more than once are not inlined, and loops
    are kept, which the driver's assembler would unroll. Quotients and square roots in single precision are within two
    ulp, in a tenth of the instructions of rounded ones. Several threads compile the parts into which
    `separate_functions` divides the module.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()

    def compiled(part: str) -> str:
        machine = llvm.Target.from_triple(_NVPTX).create_target_machine(cpu=architecture, opt=3)
        module = tuned(parsed(part, machine), machine, inlining=_INLINING, vectorised=False)
        return emitted(module, machine, binary=False).decode()

    with ThreadPoolExecutor() as pool:
        text = separate_functions.joined(list(pool.map(compiled, separate_functions.parts(code))))
    for exact, near in _APPROXIMATE.items():
        text = text.replace(exact, near)
    limit = r"\1.maxnreg " + str(registers) + "\n{"
    return _with_loops(re.sub(r"(\.visible \.entry \w+\([^)]*\)\s*)\{", limit, text, count=1))


def _with_loops(text: str) -> str:
    """The PTX with a directive not to unroll each loop."""
    seen, heads = set[str](), set[str]()
    for line in text.splitlines():
        if label := _LABEL.match(line):
            seen.add(label[1])
        heads.update(seen.intersection(_BRANCH.findall(line)))
    return _LABEL.sub(lambda x: x[0] + ('\n\t.pragma "nounroll";' if x[1] in heads else ""), text)
