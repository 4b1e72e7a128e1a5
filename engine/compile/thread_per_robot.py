"""Kernels with their loops kept, for a GPU: a thread, or a few neighbours, take one robot of a batch.

Arguments come as a tree of tuples that says of each array where it lies (`Table`, `Own`, `OfBatch`); texts, truths and
Python's numbers are known as the kernel is translated. All tables lie in one piece of memory for each number type, and
so do the arrays that each robot has of its own: those of a warp's robots are interleaved, number by number, so that its
threads read neighbours. A function is handed these four places, whatever arrays it works on. Whole numbers have 32
bits, except in arrays that launches give: a GPU takes several instructions for 64. Where several threads work on a
robot they share loops over `spread(…)` and run the rest alike; the bits do not depend on how many there are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.compile.builder import Builder
from engine.compile.optimizing import parsed, tuned
from engine.compile.translate import Unit
from engine.compile.values import ELEMENTS, INT, SHORT, Array, Record, in_type, of_python

WARP = 32
_NVPTX = "nvptx64-nvidia-cuda"
_GLOBAL = 1
_INLINING = 10
_NEAR = {"div.rn.f32": "div.full.f32", "sqrt.rn.f32": "sqrt.approx.f32", "rcp.rn.f32": "rcp.approx.f32"}
_LABEL, _BRANCH = re.compile(r"^(\$L__BB\w+):.*$", re.MULTILINE), re.compile(r"bra(?:\.uni)?\s+(\$L__BB\w+)")


@dataclass(frozen=True, eq=False)
class Table:
    """An array that all robots read."""

    numbers: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Own:
    """An array that each robot has of its own, and what it holds at first."""

    numbers: NDArray[Any]


@dataclass(frozen=True)
class OfBatch:
    """An array (batch, …) of which the kernel sees the robot's row alone, (1, …); `shape` is that row's, (…)."""

    shape: tuple[int, ...]
    dtype: str = "float64"


@dataclass(frozen=True)
class Number:
    """A number that each launch gives, the same for all robots."""

    dtype: str


@dataclass(frozen=True)
class Given:
    """An array of any size that each launch gives, which the kernel reads as one row of numbers."""

    dtype: str = "float64"


class Number32:
    """A whole number of 32 bits that each launch gives."""


class RobotNumber:
    """Which robot of the batch it is."""


class Exists:
    """Whether the thread has a robot: those of a warp that have none come along."""


def _elements(dtype: str, real: str) -> str:
    return "int32" if np.dtype(dtype).kind in "iu" else real


class Layout:
    """Where the arrays of an argument tree lie: in pieces of tables and of own arrays, by number type.

    `threads` of a warp, a power of two, work on a robot. A warp takes `together` robots, whose own arrays are
    interleaved: with fewer than it has threads for, robots wait for fewer others.
    """

    def __init__(self, tree: tuple[Any, ...], real: str, threads: int = 1, together: int = WARP):
        self.real, self.threads, self.together = real, threads, min(together, WARP // threads)
        self.tables: dict[str, list[NDArray[Any]]] = {real: [], "int32": []}
        self.own: dict[str, list[NDArray[Any]]] = {real: [], "int32": []}
        self.parameters: list[OfBatch | Number | Given | Number32] = []
        self.place: dict[int, int] = {}
        self._size = {(kind, name): 0 for kind in (Table, Own) for name in (real, "int32")}
        self._kept: list[Any] = []
        self._walk(tree)

    def _walk(self, value: Any) -> None:
        if isinstance(value, tuple):
            for item in value:
                self._walk(item)
        elif isinstance(value, Table | Own):
            if id(value) not in self.place:
                name = _elements(str(value.numbers.dtype), self.real)
                (self.tables if isinstance(value, Table) else self.own)[name].append(value.numbers)
                self.place[id(value)] = self._size[type(value), name]
                self._size[type(value), name] += value.numbers.size
                self._kept.append(value)
        elif isinstance(value, OfBatch | Number | Given | Number32):
            self.parameters.append(value)

    def numbers_of(self, name: str) -> int:
        """How many numbers of a type each robot has of its own."""
        return self._size[Own, name]

    def table(self, name: str) -> NDArray[Any]:
        """All tables of a number type."""
        return np.concatenate([np.zeros(0), *(x.ravel() for x in self.tables[name])]).astype(name)

    def first(self, name: str) -> NDArray[Any]:
        """What a robot's own arrays of a number type hold at first."""
        return np.concatenate([np.zeros(0), *(x.ravel() for x in self.own[name])]).astype(name)

    def key(self, tree: Any) -> Any:
        """What the kernel's text depends on."""
        if isinstance(tree, tuple):
            return getattr(tree, "_fields", ()), tuple(map(self.key, tree))
        if isinstance(tree, Table | Own):
            return type(tree).__name__, str(tree.numbers.dtype), tree.numbers.shape
        known = RobotNumber | Exists | Number32
        return type(tree).__name__ if isinstance(tree, known) else repr(tree)


def text(kernel: Any, tree: tuple[Any, ...], layout: Layout, name: str) -> str:
    """Intermediate code of `kernel(*tree)`.

    It takes the tables and the own arrays, reals and whole numbers each; then, in their order, what launches give; and
    the size of the batch.
    """
    unit, real = Unit(name, whole=True), ELEMENTS[layout.real]
    unit.module.triple, unit.module.threads = _NVPTX, layout.threads
    pieces = [real.as_pointer(_GLOBAL), SHORT.as_pointer(_GLOBAL)] * 2
    types = [_type(x, real) for x in layout.parameters]
    function = ir.Function(unit.module, ir.FunctionType(ir.VoidType(), [*pieces, *types, ir.IntType(32)]), name)
    function.calling_convention = "ptx_kernel"
    for argument in function.args[: 2 if layout.threads > 1 else None]:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")  # but for what threads of a robot write for each other
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
    """The same, whose functions the threads of a robot enter together: none may be called in one branch only."""
    return re.sub(r"^(define .*\))( nounwind)?$", r"\1 convergent nounwind", code, flags=re.MULTILINE)


def _type(x: OfBatch | Number | Given | Number32, real: ir.Type) -> ir.Type:
    if isinstance(x, Number32):
        return ir.IntType(32)
    element = INT if np.dtype(x.dtype).kind in "iu" else real
    return element if isinstance(x, Number) else element.as_pointer(_GLOBAL)


class _Arguments:
    """The values of a kernel's arguments, as the thread of a robot sees them."""

    def __init__(self, builder: Builder, layout: Layout, given: Any, robot: Any, exists: Any):
        self._builder, self._layout, self._robot, self._exists = builder, layout, robot, exists
        self._given = iter(given[4:])
        names = layout.real, "int32"
        self._tables = dict(zip(names, given[:2], strict=True))
        self._own = {name: self._first(given[2 + k], layout.numbers_of(name)) for k, name in enumerate(names)}

    def _first(self, piece: Any, size: int) -> Any:
        """Where the robot's own numbers begin."""
        builder, together = self._builder, self._layout.together
        group, place = (f(self._robot, ir.Constant(INT, together)) for f in (builder.udiv, builder.urem))
        return builder.gep(piece, [builder.add(builder.mul(group, ir.Constant(INT, together * size)), place)])

    def value(self, argument: Any) -> Any:
        """The value of an argument."""
        if isinstance(argument, tuple):
            return Record(tuple(map(self.value, argument)), getattr(argument, "_fields", ()))
        if isinstance(argument, Table | Own):
            name = _elements(str(argument.numbers.dtype), self._layout.real)
            data = (self._tables if isinstance(argument, Table) else self._own)[name]
            stride = 1 if isinstance(argument, Table) else self._layout.together
            place = self._layout.place[id(argument)]
            return Array(ELEMENTS[name], data, argument.numbers.shape, frozenset(), stride, place)
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
    """The number of this thread's robot, and whether it has one; else the number is 0."""
    kind, short = ir.FunctionType(ir.IntType(32), []), ir.IntType(32)
    block, size, thread = (
        builder.call(builder.module.declare_intrinsic(f"llvm.nvvm.read.ptx.sreg.{x}.x", [], kind), [])
        for x in ("ctaid", "ntid", "tid")
    )
    number = builder.add(builder.mul(block, size), thread)
    warp, lane = (f(number, ir.Constant(short, WARP)) for f in (builder.udiv, builder.urem))
    place, together = builder.udiv(lane, ir.Constant(short, layout.threads)), ir.Constant(short, layout.together)
    robot = builder.add(builder.mul(warp, together), place)
    exists = builder.and_(builder.icmp_unsigned("<", place, together), builder.icmp_unsigned("<", robot, batch))
    return builder.zext(builder.select(exists, robot, ir.Constant(short, 0)), INT), exists


def ptx(code: str, architecture: str, registers: int) -> str:
    """A GPU's assembly, such as that of "sm_90", for intermediate code; a thread has so many registers at most.

    A GPU waits for instructions where there are many: so functions that are called more than once stay functions, and
    loops stay loops, which the driver's assembler would write out. Quotients and roots of single precision are within
    two units in the last place, in a tenth of the instructions that rounding them takes.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(_NVPTX).create_target_machine(cpu=architecture, opt=3)
    text = str(machine.emit_assembly(tuned(parsed(code, machine), machine, inlining=_INLINING)))
    for exact, near in _NEAR.items():
        text = text.replace(exact, near)
    limit = r"\1.maxnreg " + str(registers) + "\n{"
    return _with_loops(re.sub(r"(\.visible \.entry \w+\([^)]*\)\s*)\{", limit, text, count=1))


def _with_loops(text: str) -> str:
    """The assembly with a word to leave each loop as it is."""
    seen, heads = set[str](), set[str]()
    for line in text.splitlines():
        if label := _LABEL.match(line):
            seen.add(label[1])
        heads.update(seen.intersection(_BRANCH.findall(line)))
    return _LABEL.sub(lambda x: x[0] + ('\n\t.pragma "nounroll";' if x[1] in heads else ""), text)
