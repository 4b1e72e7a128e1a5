"""Run kernels as plain Python: slow, but visible to Python's tools.

    with as_python():
        simulation.step()

The kernel language's extensions are emulated here: reading and writing several lanes at once, memory at an address,
words shared by threads (there is one thread), code at an address. Results differ from machine code by rounding: there
is no fused multiply-add.
"""

import ctypes
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import engine.cpu
from engine.compile import Function, operations, shared, vectors
from engine.cpu.stepping import integrators, stepper
from engine.cpu.trees import thread_group

FAR = 1 << 24
"""Numbers that an array at an address is long whose first axis is not said."""
_C = {"float64": ctypes.c_double, "float32": ctypes.c_float, "int64": ctypes.c_int64}
_FIRST = 1 << 40
_functions: list[Function] = []


def _whole(x: Any) -> int:
    if isinstance(x, int | np.integer):
        return int(x)
    return 0 if np.isnan(x) else int(min(max(x, -(2.0**63)), 2.0**63))


def _now() -> int:
    return 1


def _address(array: np.ndarray) -> int:
    return array.ctypes.data


def _call(function: int, *numbers: int) -> None:
    _functions[function - _FIRST].function(*map(int, numbers))


def _address_of(function: Function, _count: int) -> int:
    if function not in _functions:
        _functions.append(function)
    return _FIRST + _functions.index(function)


def _array_at(address: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    if not address:
        return np.zeros(shape, dtype)
    wide = int(np.prod(shape[1:]))
    rows = int(shape[0]) or FAR // wide
    memory = (_C[dtype] * (rows * wide)).from_address(int(address))
    return np.frombuffer(memory, dtype).reshape(rows, *shape[1:])


def _read(control: np.ndarray, place: int) -> int:
    return int(control[place])


def _write(control: np.ndarray, place: int, value: int) -> None:
    control[place] = value


def _count(control: np.ndarray, place: int) -> int:
    control[place] += 1
    return int(control[place])


def _exchange(control: np.ndarray, place: int, expected: int, value: int) -> bool:
    was = control[place] == expected
    if was:
        control[place] = value
    return bool(was)


def _load(row: np.ndarray, place: int, lanes: tuple[int, ...]) -> Any:
    L = len(lanes)
    return row[place] if L == 1 else row[place * L : (place + 1) * L].copy()


def _store(row: np.ndarray, place: int, value: Any) -> None:
    L = np.size(value)
    row[place * L : (place + 1) * L] = value


def _gather(numbers: np.ndarray, places: np.ndarray, lanes: tuple[int, ...]) -> Any:
    found = np.array([numbers[max(places[k], 0)] if places[k] >= 0 else 0.0 for k in range(len(lanes))])
    return found[0] if len(lanes) == 1 else found


def _scatter(numbers: np.ndarray, places: np.ndarray, value: Any) -> None:
    for k, number in enumerate(np.atleast_1d(value)):
        if places[k] >= 0:
            numbers[places[k]] = number


def _where(condition: Any, x: Any, y: Any) -> Any:
    return np.where(np.asarray(condition) != 0, x, y)[()]


def _double(x: Any) -> Any:
    return np.asarray(x, np.float64)[()]


def _as_precise_as(x: Any, like: Any) -> Any:
    return np.asarray(x, np.asarray(like).dtype)[()]


_STAND_INS: dict[Any, Callable[..., Any]] = {
    operations.now: _now, operations.address: _address, operations.call: _call,
    shared.array_at: _array_at, shared.read: _read, shared.write: _write, shared.count: _count,
    shared.exchange: _exchange, shared.pause: lambda: None, shared.yield_processor: lambda: None,
    vectors.load: _load, vectors.store: _store, vectors.gather: _gather, vectors.scatter: _scatter,
    vectors.where: _where, vectors.double: _double, vectors.as_precise_as: _as_precise_as,
}  # fmt: skip


def modules() -> Iterator[Any]:
    """Return the modules with kernels."""
    for found in pkgutil.walk_packages(engine.cpu.__path__, "engine.cpu."):
        if ".runtime" not in found.name:
            importlib.import_module(found.name)
    for name, module in list(sys.modules.items()):
        if name.startswith("engine.cpu.") and module is not None:
            yield module


def of_a_step() -> list[Function]:
    """Return every kernel and helper function that a CPU step can call."""
    found: list[Function] = []
    left = [integrators.run, thread_group.step]
    while left:
        function = left.pop()
        if function in found:
            continue
        found.append(function)
        code, own = function.function.__code__, function.function.__globals__
        for name in code.co_names:
            value = own.get(name)
            inside: Iterable[Any] = value if isinstance(value, tuple) else ()
            if type(value) is type(sys):
                inside = [getattr(value, x, None) for x in code.co_names]
            left += [x for x in (value, *inside) if isinstance(x, Function)]
    return found


@contextmanager
def as_python() -> Iterator[None]:
    """Within it kernels are Python; simulations made before keep what they have compiled."""
    with ExitStack() as stack:
        for module in modules():
            for name, value in list(vars(module).items()):
                if callable(value) and getattr(value, "__module__", "").startswith("engine.compile") and (
                    stand_in := next((y for x, y in _STAND_INS.items() if x is value), None)
                ):  # fmt: skip
                    stack.enter_context(patch.object(module, name, stand_in))
        for function in of_a_step():
            if "int" in function.function.__code__.co_names:
                stack.enter_context(patch.dict(function.function.__globals__, {"int": _whole}))
        stack.enter_context(patch.object(Function, "__call__", lambda self, *arguments: self.function(*arguments)))
        stack.enter_context(patch.object(Function, "specialised", lambda self, _sorts: self.function))
        stack.enter_context(patch.object(Function, "address", _address_of))
        stack.enter_context(patch.object(stepper, "check_threads", lambda _threads: 1))
        stack.enter_context(np.errstate(all="ignore"))
        yield
