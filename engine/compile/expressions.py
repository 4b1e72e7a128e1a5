"""Translation of a kernel's expressions to values."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from llvmlite import ir

from engine.compile import arithmetic
from engine.compile.builder import Builder
from engine.compile.memory import Slot, array_load, element, matching_leaves
from engine.compile.operations import KNOWN_CALLS
from engine.compile.values import (
    Array,
    Known,
    LaneRows,
    Record,
    Shaped,
    Untranslatable,
    leaves,
    materialised,
    of_python,
    rebuilt,
    written_out,
)

_METHODS = {kind: f"_{kind.__name__}" for kind in ast.expr.__subclasses__()}
"""The names of the methods that translate each kind of expression."""


class Expressions:
    """The translation of one function's expressions: its names, and the builder of its code."""

    def __init__(self, builder: Builder, function: Callable[..., Any]):
        self.builder, self._function = builder, function
        self._names: dict[str, Any] = {}

    def _called(self, function: Any, arguments: list[Any]) -> Any:
        """The result of a kernel, or a small function, for arguments."""
        raise NotImplementedError

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        return getattr(self, _METHODS[type(node)])(node)

    def _truth(self, node: ast.expr) -> Any:
        return arithmetic.truth(self.builder, self.value(node))

    def _Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        return self._name(node.id)

    def _name(self, name: str) -> Any:
        if name in self._names:
            value = self._names[name]
            return value.load(self.builder) if isinstance(value, Slot) else value
        code = self._function.__code__
        if name in code.co_freevars and self._function.__closure__:
            return of_python(self._function.__closure__[code.co_freevars.index(name)].cell_contents)
        if name in self._function.__globals__:
            return of_python(self._function.__globals__[name])
        return getattr(builtins, name)

    def _Tuple(self, node: ast.Tuple) -> Any:
        return Record(tuple(map(self.value, node.elts)))

    def _Attribute(self, node: ast.Attribute) -> Any:
        value = self.value(node.value)
        if isinstance(value, ModuleType):
            return of_python(getattr(value, node.attr))
        if isinstance(value, Record) and node.attr in value.fields:
            return value.items[value.fields.index(node.attr)]
        if isinstance(value, Array | Known | LaneRows | Shaped) and node.attr == "shape":
            return Record(value.shape)
        if isinstance(value, Array) and node.attr == "size":
            size: Any = 1
            for extent in value.shape:
                size = arithmetic.binary(self.builder, ast.Mult, size, extent)
            return size
        raise Untranslatable(f"{node.attr} of {value!r:.60}")

    def _Subscript(self, node: ast.Subscript) -> Any:
        value = self.value(node.value)
        if isinstance(value, Record):
            return self._item(value, self.value(node.slice))
        if isinstance(node.slice, ast.Slice):
            return self._slice(value, node.slice)
        return array_load(self.builder, value, self._index(node))

    def _item(self, record: Record, index: Any) -> Any:
        """An item of a tuple; for an index known only at run time, of a tuple of like items."""
        if not isinstance(index, ir.Value):
            return record.items[index]
        selected = materialised(record.items[-1])
        for number, item in reversed(list(enumerate(record.items[:-1]))):
            matches = self.builder.icmp_signed("==", index, ir.Constant(index.type, number))
            pairs = zip(matching_leaves(item, selected), leaves(selected), strict=True)
            selected = rebuilt(selected, iter([self.builder.select(matches, one, other) for one, other in pairs]))
        return selected

    def _slice(self, array: Array, node: ast.Slice) -> Any:
        """Rows of an array."""
        start = 0 if node.lower is None else self.value(node.lower)
        end = array.shape[0] if node.upper is None else self.value(node.upper)
        if node.step is not None:
            raise Untranslatable("a slice with a step")
        data = element(self.builder, array, [start])
        rows = arithmetic.binary(self.builder, ast.Sub, end, start)
        return replace(array, data=data, offset=0, shape=(rows, *array.shape[1:]))

    def _index(self, node: ast.Subscript) -> list[Any]:
        index = self.value(node.slice)
        return list(index.items) if isinstance(index, Record) else [index]

    def _BinOp(self, node: ast.BinOp) -> Any:
        return arithmetic.binary(self.builder, type(node.op), self.value(node.left), self.value(node.right))

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            test = self._truth(node.operand)
            return self.builder.not_(test) if isinstance(test, ir.Value) else not test
        if isinstance(node.op, ast.USub):
            return arithmetic.negative(self.builder, self.value(node.operand))
        if isinstance(node.op, ast.UAdd):
            return self.value(node.operand)
        raise Untranslatable(f"an operator that kernels do not have: {ast.unparse(node)}")

    def _Compare(self, node: ast.Compare) -> Any:
        left, result = self.value(node.left), True
        for sort, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            result = arithmetic.both(self.builder, result, arithmetic.compare(self.builder, type(sort), left, right))
            left = right
        return result

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        """`and` and `or` of booleans: later operands are evaluated only if needed."""
        decides = isinstance(node.op, ast.Or)
        test = self._truth(node.values[0])
        for following in node.values[1:]:
            if not isinstance(test, ir.Value):
                if test is decides:
                    return test
                test = self._truth(following)
                continue
            test = self._chosen(test, *((lambda: decides, lambda f=following: self._truth(f))[:: 1 if decides else -1]))
        return test

    def _IfExp(self, node: ast.IfExp) -> Any:
        test = self._truth(node.test)
        if not isinstance(test, ir.Value):
            return self.value(node.body if test else node.orelse)
        return self._chosen(test, lambda: self.value(node.body), lambda: self.value(node.orelse))

    def _selected(self, test: Any, one: Any, other: Any) -> Any:
        """One of two values, both of which are computed."""
        if isinstance(one, Record) and isinstance(other, Record) and len(one.items) == len(other.items):
            pairs = zip(one.items, other.items, strict=True)
            return Record(tuple(self._selected(test, x, y) for x, y in pairs), one.fields)
        if not isinstance(one, ir.Value) and not isinstance(other, ir.Value) and one == other:
            return one
        type_ = arithmetic.common(one, other)
        one, other = (arithmetic.converted(self.builder, x, type_) for x in (one, other))
        return self.builder.select(test, one, other)

    def _chosen(self, test: Any, *branches: Callable[[], Any]) -> Any:
        """The value of one of two branches, of which only one runs; where a kernel is written out, both do."""
        if written_out():
            return self._selected(test, *(branch() for branch in branches))
        blocks = [self.builder.append_basic_block(name) for name in ("if", "else")]
        after, ends, values = self.builder.append_basic_block("chosen"), [], []
        self.builder.cbranch(test, *blocks)
        for block, branch in zip(blocks, branches, strict=True):
            self.builder.position_at_end(block)
            values.append(materialised(branch()))
            ends.append(self.builder.block)
        kinds = [leaves(value) for value in values]
        merged = [x.type if x.type == y.type else arithmetic.common(x, y) for x, y in zip(*kinds, strict=True)]
        for side, end in enumerate(ends):
            self.builder.position_at_end(end)
            kinds[side] = [
                x if x.type == type_ else arithmetic.converted(self.builder, x, type_)
                for x, type_ in zip(kinds[side], merged, strict=True)
            ]
            self.builder.branch(after)
        self.builder.position_at_end(after)
        joined = []
        for type_, x, y in zip(merged, *kinds, strict=True):
            phi = self.builder.phi(type_)
            phi.add_incoming(x, ends[0])
            phi.add_incoming(y, ends[1])
            joined.append(phi)
        return rebuilt(values[0], iter(joined))

    def _Call(self, node: ast.Call) -> Any:
        if node.keywords:
            raise Untranslatable("a call with keyword arguments")
        function = self.value(node.func)
        arguments = [self.value(argument) for argument in node.args]
        if function in KNOWN_CALLS:
            return KNOWN_CALLS[function](self.builder, *arguments)
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            return Record(tuple(arguments), function._fields)
        if getattr(function, "inlined", None) is None:
            raise Untranslatable(f"a call of {ast.unparse(node.func)}, which kernels cannot call")
        return self._called(function, arguments)
