"""Kernels: functions that are compiled to machine code when they are first called, and kept on disk.

A kernel's text goes to LLVM in one pass (`translate`), with a function before it that Python calls (`entry`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from engine.compile import machine, parts
from engine.compile.entry import function_object, sort_of, written, written_for, written_for_code, written_in
from engine.compile.known import described
from engine.compile.machine import Style
from engine.compile.parts import compiling
from engine.compile.translate import Emitted, Unit
from engine.compile.values import kind, lanes


class Function:
    """A kernel, or a small function that becomes part of each kernel that calls it."""

    def __init__(
        self, function: Callable[..., Any], inlined: bool = False, guards: bool = False, apart: bool = False,
        rare: bool = False,
    ):  # fmt: skip
        self.function, self.inlined, self.guards, self.apart, self.rare = function, inlined, guards, apart, rare
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self._loaded: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._addresses: dict[int, int] = {}
        self._last: Callable[..., Any] = self._first

    def _first(self, *_arguments: Any) -> Any:
        return NotImplemented  # nothing is compiled yet

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel, compiled for whatever these arguments are; a small function runs as it stands."""
        if self.inlined:
            return self.function(*arguments)
        if (answer := self._last(*arguments)) is not NotImplemented:
            return answer
        sorts = tuple(map(sort_of, arguments))
        self._last = self.specialised(sorts)
        if (answer := self._last(*arguments)) is NotImplemented:
            raise TypeError(
                f"{self.__name__} is compiled for {sorts}; an array is read-only or of a foreign byte order"
            )
        return answer

    def specialised(self, sorts: tuple[Any, ...]) -> Callable[..., Any]:
        """The kernel compiled for arguments of these sorts; for any other it answers NotImplemented, at once."""
        with compiling():
            if sorts not in self._loaded:
                name = self._name(sorts)
                code = parts.read(name) or parts.begun(name, written(self, sorts, name))
                self._loaded[sorts] = function_object(parts.address(name, code), name)
            return self._loaded[sorts]

    def at_hand(self, sorts: tuple[Any, ...]) -> bool:
        """Whether it is compiled for arguments of these sorts, in memory or on disk."""
        return sorts in self._loaded or parts.read(self._name(sorts)) is not None

    def address(self, count: int) -> int:
        """Where the kernel is, compiled for so many whole numbers, for kernels that `call` it."""
        with compiling():
            if count not in self._addresses:
                name = self._name(("address", count))
                code = parts.read(name) or parts.begun(name, written_for_code(self, count, name))
                self._addresses[count] = parts.address(name, code)
            return self._addresses[count]

    def has_address(self, count: int) -> bool:
        """Whether it is compiled for so many whole numbers, in memory or on disk."""
        return count in self._addresses or parts.read(self._name(("address", count))) is not None

    def part(self, arguments: list[Any]) -> tuple[str, parts.Code]:
        """The name and the code of the kernel for a caller's arguments, as a part that stands apart."""
        name = self._name(("part", tuple(map(kind, arguments))))
        if (code := parts.read(name)) is None:
            unit = Unit(name)
            emitted = Emitted(unit, self.function, arguments, name)
            answer = str(emitted.llvm.ftype.return_type)
            style = Style.LOOPS if max(map(lanes, arguments), default=1) > 1 else Style.ONE_ROBOT
            make = parts.deferred if self.rare else parts.begun
            code = make(name, unit, style, written=tuple(sorted(emitted.written)), answer=answer)
        return name, code

    def _name(self, sorts: tuple[Any, ...]) -> str:
        cells = tuple(cell.cell_contents for cell in self.function.__closure__ or ())
        key = (self.__module__, self.function.__qualname__, cells, sorts, machine.describe())
        return f"{self.__name__}_{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}"


def kernel(function: Callable[..., Any]) -> Function:
    """A function that is compiled for the arguments that it is called with, and kept on disk."""
    return Function(function)


def apart(function: Callable[..., Any]) -> Function:
    """A kernel that is compiled by itself, once for all kernels that call it with arguments of the same kinds."""
    return Function(function, apart=True)


def rare(function: Callable[..., Any]) -> Function:
    """A kernel that stands apart and that few steps call: it is compiled when one does."""
    return Function(function, apart=True, rare=True)


def guard(function: Callable[..., Any]) -> Function:
    """A kernel whose arrays must all be writeable: a look, in 0.1 µs, at what threads get by its address."""
    return Function(function, guards=True)


def inline(function: Callable[..., Any]) -> Function:
    """A small function that becomes part of each kernel which calls it."""
    return Function(function, inlined=True)


def specialise(function: Function, *examples: Any) -> Callable[..., Any]:
    """A kernel compiled for arguments like these and no others: any other call answers NotImplemented, at once."""
    return function.specialised(tuple(map(sort_of, examples)))


def specialise_in(function: Function, dtype: str, *examples: Any) -> Callable[..., Any]:
    """A kernel compiled in one number type for arguments like these, whose real arrays are of that type."""
    sorts = tuple(map(sort_of, examples))
    name = function._name((dtype, sorts))
    with compiling():
        if name not in _written_out:
            code = parts.read(name) or parts.begun(name, written_in(function, dtype, sorts, name))
            _written_out[name] = function_object(parts.address(name, code), name)
        return _written_out[name]


def specialise_for(function: Function, known: tuple[Any, ...], dtype: str, *examples: Any) -> Callable[..., Any]:
    """A kernel written out in a number type for its first argument, which is known, and compiled for others like these.

    Any other call answers NotImplemented, at once. The code is kept in memory and on disk by what is known.
    """
    sorts = tuple(map(sort_of, examples))
    name = _name_for(function, known, dtype, sorts)
    with compiling():
        if name not in _written_out:
            place = _place(name, lambda: written_for(function, known, dtype, sorts, name))
            _written_out[name] = function_object(place, name)
        return _written_out[name]


def address_for(function: Function, known: tuple[Any, ...], dtype: str, count: int) -> int:
    """Where such a kernel is, compiled for `count` whole numbers besides, for kernels that `call` it."""
    name = _name_for(function, known, dtype, count)
    with compiling():
        if name not in _places:
            _places[name] = _place(name, lambda: written_for_code(function, count, name, known, dtype))
        return _places[name]


def _name_for(function: Function, known: tuple[Any, ...], dtype: str, others: Any) -> str:
    key = function.__module__, function.function.__qualname__, dtype, others, machine.describe()
    return f"{function.__name__}_{described(key, known)}"


def _place(name: str, write: Callable[[], Unit]) -> int:
    """Where code that is written out is, read from disk or made."""
    return parts.address(name, parts.read(name) or parts.begun(name, write(), Style.STRAIGHT))


_places: dict[str, int] = {}
_written_out: dict[str, Callable[..., Any]] = {}
