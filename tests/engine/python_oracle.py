"""Python as the oracle of kernels: the result of a text, and its rounding tolerance."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from engine.compile.operations import at_run_time, fma, reciprocal, registers

AMPLIFIED = 2000
"""The maximum number of rounding errors in a result: 1e-12 of it in double precision, 5e-4 in single."""


class Undecided(Exception):
    """Rounding decides what a text does."""


class Double:
    """A number and how far at most from it any order of rounding leaves the compiled one, to first order.

    Each operation passes on its operands' errors and adds one of its own, `unit` of its result. That is four times
    what rounding to nearest leaves: a product and a sum that become one fused instruction, which leaves out the first
    of two roundings, a reciprocal to the last bit or two, sine and cosine of a library are all within it.
    """

    unit, least = 4 * 2.0**-53, 1e-300
    __slots__ = ("error", "value")

    def __init__(self, value: float, error: float = 0.0):
        self.value, self.error = float(value), error

    @classmethod
    def literal(cls, value: float) -> Double:
        return cls(value)

    def _other(self, other: Any) -> Double:
        return other if isinstance(other, Double) else type(self)(other)

    def _made(self, value: float, error: float) -> Double:
        made = type(self)(value, error + self.unit * abs(value) + self.least)
        if not made.error < 1.0:
            raise Undecided
        return made

    def __add__(self, other):
        other = self._other(other)
        return self._made(self.value + other.value, self.error + other.error)

    def __mul__(self, other):
        other = self._other(other)
        error = abs(self.value) * other.error + abs(other.value) * self.error + self.error * other.error
        return self._made(self.value * other.value, error)

    def __truediv__(self, other):
        other = self._other(other)
        if not abs(other.value) > 2 * other.error:
            raise Undecided
        value = self.value / other.value
        return self._made(value, 2 * (self.error + abs(value) * other.error) / abs(other.value))

    def __sub__(self, other):
        return self + -self._other(other)

    def __rsub__(self, other):
        return self._other(other) - self

    def __rtruediv__(self, other):
        return self._other(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return type(self)(-self.value, self.error)

    def __abs__(self):
        return type(self)(abs(self.value), self.error)

    def __lt__(self, other):
        other = self._other(other)
        margin, apart = self.error + other.error, other.value - self.value
        if margin and not abs(apart) > margin:
            raise Undecided
        return apart > 0

    def __gt__(self, other):
        return self._other(other) < self

    def __le__(self, other):
        return not self > other

    def __ge__(self, other):
        return not self < other

    def __int__(self):
        ends = {int(self.value - self.error), int(self.value + self.error)}
        if len(ends) > 1:
            raise Undecided
        return ends.pop()

    def of(self, function: Callable[[float], float], slope: float) -> Double:
        return self._made(function(self.value), slope * self.error)


class Single(Double):
    """A number in single precision, as are literals."""

    unit, least = 4 * 2.0**-24, 1e-36
    __slots__ = ()

    @classmethod
    def literal(cls, value: float) -> Double:
        return cls(value, abs(float(np.float32(value)) - value))


class _Wrapped(ast.NodeTransformer):
    """A text whose reals are all made by `literal` and `divided`."""

    def visit_Constant(self, node):
        return _call("literal", node) if isinstance(node.value, float) else node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return _call("divided", node.left, node.right) if isinstance(node.op, ast.Div) else node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def python(text: str, real: type[Double] | None) -> dict[str, Any]:
    """The names of a text as Python's own functions, on numbers of that kind or Python's."""
    tree = ast.parse(text)
    tree.body = [x for x in tree.body if not isinstance(x, ast.ImportFrom | ast.Import)]
    names: dict[str, Any] = {"NamedTuple": NamedTuple, "inline": lambda f: f, "kernel": lambda f: f, "np": np}
    names |= {"__name__": "text", "compiled_apart": lambda f: f, "registers": registers, "at_run_time": at_run_time}
    names |= {"reciprocal": reciprocal, "fma": fma}
    if real:
        names["fma"] = lambda x, y, z: x * y + z
        tree = ast.fix_missing_locations(_Wrapped().visit(tree))
        names |= {"literal": real.literal, "divided": lambda x, y: (x if isinstance(x, Double) else real(x)) / y}
        waves = {
            "sin": lambda x: x.of(math.sin, 1.0),
            "cos": lambda x: x.of(math.cos, 1.0),
            "sqrt": lambda x: x.of(math.sqrt, 0.75 / math.sqrt(x.value)),
        }
        names["np"] = SimpleNamespace(array=np.array, **waves)
    exec(compile(tree, "text", "exec"), names)
    return names


def given(argument: Any, real: Callable[[float], Any]) -> Any:
    """An argument for Python: of its own, arrays of objects."""
    if isinstance(argument, np.ndarray):
        made = [real(x) if isinstance(x, float) else x for x in argument.ravel().tolist()]
        array = np.empty(len(made), object)
        array[:] = made
        return array.reshape(argument.shape)
    if isinstance(argument, tuple):
        return type(argument)(*(given(item, real) for item in argument))
    return real(argument) if isinstance(argument, float) else argument


def flat(value: Any) -> list[Any]:
    """Return all numbers of arguments and of a result."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()
    if isinstance(value, tuple | list):
        return [number for item in value for number in flat(item)]
    return [value] if isinstance(value, Double | float | int) else []


def run(names: dict[str, Any], arguments: Any, real: Callable[[float], Any]) -> list[Any]:
    """Return all numbers of the arguments after `main` has run, and of its result."""
    arguments = [given(argument, real) for argument in arguments]
    answer = names["main"](*arguments)
    return flat([arguments, answer])


def bounds(text: str, arguments: Any, real: type[Double]) -> list[float | None]:
    """Return each number's tolerance to Python's after the run; None for an integer. May raise Undecided."""
    found: list[float | None] = []
    for number in run(python(text, real), arguments, real.literal):
        if not isinstance(number, Double):
            found.append(None)
            continue
        bound = number.error + real.unit * abs(number.value) + real.least
        if not bound < AMPLIFIED * real.unit * (1 + abs(number.value)):
            raise Undecided
        found.append(2 * bound)  # Python's own is not exact either
    return found


def loaded(text: str, folder: Path) -> ModuleType:
    """A text as a module, of its own name and file."""
    name = f"random_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
