"""Kernels with their loops kept, for a GPU: a thread takes one robot of a batch.

Arguments come as a tree of tuples that says of each array where it lies (`Table`, `Own`, `OfBatch`); texts, truths and
Python's numbers are known as the kernel is translated. All tables lie in one piece of memory for each number type, and
so do the arrays that each robot has of its own: those of 32 robots are interleaved, number by number, so that the
threads of a warp read neighbours. A function is handed these four places, whatever arrays it works on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from engine.compile.translate import Unit
from engine.compile.values import ELEMENTS, INT, Array, Record, in_type, of_python

WARP = 32
_NVPTX = "nvptx64-nvidia-cuda"
_GLOBAL = 1


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


class RobotNumber:
    """Which robot of the batch it is."""


def _elements(dtype: str, real: str) -> str:
    return "int64" if np.dtype(dtype).kind in "iu" else real


class Layout:
    """Where the arrays of an argument tree lie: in pieces of tables and of own arrays, by number type."""

    def __init__(self, tree: tuple[Any, ...], real: str):
        self.real = real
        self.tables: dict[str, list[NDArray[Any]]] = {real: [], "int64": []}
        self.own: dict[str, list[NDArray[Any]]] = {real: [], "int64": []}
        self.parameters: list[OfBatch | Number] = []
        self.place: dict[int, int] = {}
        self._size = {(kind, name): 0 for kind in (Table, Own) for name in (real, "int64")}
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
        elif isinstance(value, OfBatch | Number):
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
        return "robot" if isinstance(tree, RobotNumber) else repr(tree)


def text(kernel: Any, tree: tuple[Any, ...], layout: Layout, name: str) -> str:
    """Intermediate code of `kernel(*tree)`, a thread a robot.

    It takes the tables and the own arrays, reals and whole numbers each; then, in their order, the arrays `OfBatch` and
    the `Number`s; the size of the batch; and how many robots a warp takes: with fewer than 32, robots wait for fewer
    others, and there are more warps.
    """
    unit, real = Unit(name, whole=True), ELEMENTS[layout.real]
    unit.module.triple = _NVPTX
    pieces = [real.as_pointer(_GLOBAL), INT.as_pointer(_GLOBAL)] * 2
    types = [_type(x, real) for x in layout.parameters]
    function = ir.Function(
        unit.module, ir.FunctionType(ir.VoidType(), [*pieces, *types, ir.IntType(32), ir.IntType(32)]), name
    )
    function.calling_convention = "ptx_kernel"
    for place in (*range(4), *(k + 4 for k, x in enumerate(layout.parameters) if isinstance(x, OfBatch))):
        function.args[place].add_attribute("noalias")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    batch, robots = function.args[-2:]
    robot = _robot(builder, batch, robots)
    with in_type(real):
        arguments = _Arguments(builder, layout, function.args, robot)
        values = [arguments.value(argument) for argument in tree]
        body = unit.function(kernel, values)
        body.call(builder, body, values)
    builder.ret_void()
    return str(unit.module)


def _type(x: OfBatch | Number, real: ir.Type) -> ir.Type:
    element = INT if np.dtype(x.dtype).kind in "iu" else real
    return element.as_pointer(_GLOBAL) if isinstance(x, OfBatch) else element


class _Arguments:
    """The values of a kernel's arguments, as the thread of a robot sees them."""

    def __init__(self, builder: ir.IRBuilder, layout: Layout, given: Any, robot: Any):
        self._builder, self._layout, self._robot = builder, layout, robot
        self._given = iter(given[4:])
        names = layout.real, "int64"
        self._tables = dict(zip(names, given[:2], strict=True))
        self._own = {name: self._first(given[2 + k], layout.numbers_of(name)) for k, name in enumerate(names)}

    def _first(self, piece: Any, size: int) -> Any:
        """Where the robot's own numbers begin."""
        builder, shift = self._builder, ir.Constant(INT, 5)
        group, lane = builder.lshr(self._robot, shift), builder.and_(self._robot, ir.Constant(INT, WARP - 1))
        return builder.gep(piece, [builder.add(builder.mul(group, ir.Constant(INT, WARP * size)), lane)])

    def value(self, argument: Any) -> Any:
        """The value of an argument."""
        if isinstance(argument, tuple):
            return Record(tuple(map(self.value, argument)), getattr(argument, "_fields", ()))
        if isinstance(argument, Table | Own):
            name = _elements(str(argument.numbers.dtype), self._layout.real)
            data = (self._tables if isinstance(argument, Table) else self._own)[name]
            stride = 1 if isinstance(argument, Table) else WARP
            place = self._layout.place[id(argument)]
            return Array(ELEMENTS[name], data, argument.numbers.shape, frozenset(), stride, place)
        if isinstance(argument, OfBatch):
            data, row = next(self._given), ir.Constant(INT, int(np.prod(argument.shape)))
            start = self._builder.gep(data, [self._builder.mul(self._robot, row)])
            return Array(data.type.pointee, start, (1, *argument.shape))
        if isinstance(argument, Number):
            return next(self._given)
        if isinstance(argument, RobotNumber):
            return self._robot
        return of_python(argument)


def _robot(builder: ir.IRBuilder, batch: Any, robots: Any) -> Any:
    """The number of this thread's robot; the thread ends where there is none."""
    kind, short = ir.FunctionType(ir.IntType(32), []), ir.IntType(32)
    block, size, thread = (
        builder.call(builder.module.declare_intrinsic(f"llvm.nvvm.read.ptx.sreg.{x}.x", [], kind), [])
        for x in ("ctaid", "ntid", "tid")
    )
    number = builder.add(builder.mul(block, size), thread)
    warp, lane = builder.lshr(number, ir.Constant(short, 5)), builder.and_(number, ir.Constant(short, WARP - 1))
    robot = builder.add(builder.mul(warp, robots), lane)
    none = builder.or_(builder.icmp_unsigned(">=", lane, robots), builder.icmp_unsigned(">=", robot, batch))
    with builder.if_then(none):
        builder.ret_void()
    return builder.zext(robot, INT)
