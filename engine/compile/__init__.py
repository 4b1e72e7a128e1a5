"""Kernels: functions that are compiled to machine code on their first call, and cached on disk.

A kernel's source goes to LLVM in one pass (`statements`, `expressions`), with an entry function that Python calls
(`entry`).
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

from engine.compile import machine, parts
from engine.compile.entry import Definition, sort_of, translate_entry, written_for, written_for_code
from engine.compile.known import digest_of
from engine.compile.optimizing import Style
from engine.compile.parts import compiling
from engine.compile.units import Emitted, Unit
from engine.compile.values import kind, lanes


class Function:
    """A kernel, or a small function that is inlined into each kernel that calls it."""

    def __init__(
        self, function: Callable[..., Any], inlined: bool = False, guards: bool = False, separate: bool = False,
        rare: bool = False,
    ):  # fmt: skip
        self.function, self.inlined, self.guards, self.separate, self.rare = function, inlined, guards, separate, rare
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self._loaded: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._addresses: dict[int, ctypes.c_void_p] = {}
        self._last: Callable[..., Any] = self._first

    def _first(self, *_arguments: Any) -> Any:
        return NotImplemented  # not compiled yet

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel, compiled for the types of these arguments; a small function runs as Python."""
        if self.inlined:
            return self.function(*arguments)
        if (result := self._last(*arguments)) is not NotImplemented:
            return result
        sorts = tuple(map(sort_of, arguments))
        self._last = self.specialised(sorts)
        if (result := self._last(*arguments)) is NotImplemented:
            raise TypeError(
                f"{self.__name__} is compiled for {sorts}; an array is read-only or of a foreign byte order"
            )
        return result

    def specialised(self, sorts: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the kernel compiled for arguments of these sorts; for any other it returns NotImplemented at once."""
        with compiling():
            if sorts not in self._loaded:
                name = self._name(sorts)
                self._loaded[sorts] = _function(name, lambda: translate_entry(self, sorts, name))
            return self._loaded[sorts]

    def is_compiled(self, sorts: tuple[Any, ...]) -> bool:
        """Whether it is compiled for arguments of these sorts, in memory or on disk."""
        return sorts in self._loaded or parts.read(self._name(sorts)) is not None

    def address(self, count: int) -> int:
        """The place of the kernel's address, compiled for `count` integers, for kernels that `call` it."""
        with compiling():
            if count not in self._addresses:
                name = self._name(("address", count))
                self._addresses[count] = _pointer_to(name, lambda: written_for_code(self, count, name))
            return ctypes.addressof(self._addresses[count])

    def has_address(self, count: int) -> bool:
        """Whether it is compiled for `count` integers, in memory or on disk."""
        return count in self._addresses or parts.read(self._name(("address", count))) is not None

    def part(self, arguments: list[Any]) -> tuple[str, parts.Code]:
        """The name and code of the kernel for a caller's arguments, as a separate part."""
        name = self._name(("part", tuple(map(kind, arguments))))
        if (code := parts.read(name)) is None:
            unit = Unit(name)
            emitted = Emitted(unit, self.function, arguments, name)
            result = str(emitted.llvm.ftype.return_type)
            style = Style.LOOPS if max(map(lanes, arguments), default=1) > 1 else Style.ONE_ROBOT
            make = parts.defer if self.rare else parts.begin
            code = make(name, unit, style, written=tuple(sorted(emitted.written)), result=result)
        return name, code

    def _name(self, sorts: tuple[Any, ...]) -> str:
        cells = tuple(cell.cell_contents for cell in self.function.__closure__ or ())
        key = (self.__module__, self.function.__qualname__, cells, sorts, machine.describe())
        return f"{self.__name__}_{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}"


def kernel(function: Callable[..., Any]) -> Function:
    """Declare a function that is compiled for the arguments of its calls, and cached on disk."""
    return Function(function)


def compiled_apart(function: Callable[..., Any]) -> Function:
    """Declare a kernel that is compiled separately, once for all kernels that call it with arguments of the same
    kinds."""
    return Function(function, separate=True)


def rare(function: Callable[..., Any]) -> Function:
    """Declare a separate kernel that few steps call, and that is compiled when one does."""
    return Function(function, separate=True, rare=True)


def guard(function: Callable[..., Any]) -> Function:
    """Declare a kernel whose arrays must all be writeable: a check, in 0.1 µs, before threads get their addresses."""
    return Function(function, guards=True)


def inline(function: Callable[..., Any]) -> Function:
    """Declare a small function that is inlined into each kernel that calls it."""
    return Function(function, inlined=True)


def specialise(function: Function, *examples: Any) -> Callable[..., Any]:
    """Compile a kernel for arguments like these alone: any other call returns NotImplemented at once."""
    return function.specialised(tuple(map(sort_of, examples)))


def specialise_for(function: Function, known: tuple[Any, ...], dtype: str, *examples: Any) -> Callable[..., Any]:
    """Compile a kernel, written out in a number type for its known first argument, for others like these.

    Any other call returns NotImplemented at once. The code is cached in memory and on disk by the known argument.
    """
    sorts = tuple(map(sort_of, examples))
    name = _name_for(function, known, dtype, sorts)
    with compiling():
        if name not in _written_out:
            _written_out[name] = _function(name, lambda: written_for(function, known, dtype, sorts, name), _STRAIGHT)
        return _written_out[name]


def address_for(function: Function, known: tuple[Any, ...], dtype: str, count: int) -> int:
    """The place of such a kernel's address, compiled for `count` further integers, for `call` of it."""
    name = _name_for(function, known, dtype, count)
    with compiling():
        if name not in _pointers:
            _pointers[name] = _pointer_to(
                name, lambda: written_for_code(function, count, name, known, dtype), _STRAIGHT
            )
        return ctypes.addressof(_pointers[name])


def finish_compiling() -> None:
    """Wait until all code that was called on the CPU is optimised, so that it can be timed.

    Steps begin with quickly compiled code while the same code is being optimised, with the same bits. Raises
    RuntimeError with the reason if that fails.
    """
    parts.finish()


def _name_for(function: Function, known: tuple[Any, ...], dtype: str, others: Any) -> str:
    key = function.__module__, function.function.__qualname__, dtype, others, machine.describe()
    return f"{function.__name__}_{digest_of(key, known)}"


def _begun(name: str, write: Callable[[], Unit], style: Style) -> str:
    """The name of code that is read from disk or compiled."""
    if parts.read(name) is None:
        parts.begin(name, write(), style)
    return name


def _function(name: str, write: Callable[[], Unit], style: Style = Style.LOOPS) -> Callable[..., Any]:
    """A Python function for code that is read from disk or compiled; it switches to optimised code when that is
    ready."""
    definition = Definition(name)
    parts.load(_begun(name, write, style), definition.turn_to)
    return definition.function()


def _pointer_to(name: str, write: Callable[[], Unit], style: Style = Style.LOOPS) -> ctypes.c_void_p:
    """The place of such code's address."""
    pointer = ctypes.c_void_p()
    parts.load(_begun(name, write, style), partial(setattr, pointer, "value"))
    return pointer


_STRAIGHT = Style.STRAIGHT
_pointers: dict[str, ctypes.c_void_p] = {}
_written_out: dict[str, Callable[..., Any]] = {}
