"""Python's operators, functions and methods for xacro expressions, with limits on the size of their results.

Only the standard library is imported, since a child process starts with this folder.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import re
import string
from collections.abc import Callable, Iterable
from typing import Any

Function = Callable[..., Any]

SIZE = 1_000_000
"""Maximum number of characters of a text, and of elements of a list, including nested ones."""
MAX_BITS = 4096
"""Maximum number of bits of an integer."""


class Refused(Exception):
    """An expression needs something that is allowed only in trusted xacro files."""


def check_size(value: Any) -> Any:
    """Return the value. Raises Refused if it exceeds the limits above."""
    weight, rest = 0, [value]
    while rest:
        entry = rest.pop()
        if isinstance(entry, int) and entry.bit_length() > MAX_BITS:
            raise Refused(f"a whole number of more than {MAX_BITS} bits")
        weight += 1 + (len(entry) if isinstance(entry, str) else 0)
        if isinstance(entry, list | tuple | set):
            rest += list.__iter__(entry) if isinstance(entry, list) else entry
        elif isinstance(entry, dict):
            rest += [*dict.keys(entry), *dict.values(entry)]
        if weight + len(rest) > SIZE:
            raise Refused(f"a value of more than {SIZE} characters or elements")
    return value


def fits(size: float) -> None:
    if size > SIZE:
        raise Refused(f"a value of more than {SIZE} characters or elements")


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, str | list | tuple) and isinstance(b, str | list | tuple):
        fits(len(a) + len(b))
    return a + b


def _multiply(a: Any, b: Any) -> Any:
    for sequence, count in ((a, b), (b, a)):
        if isinstance(sequence, str | list | tuple) and isinstance(count, int):
            fits(len(sequence) * count)
    return a * b


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and a.bit_length() * b > 2 * MAX_BITS:
        raise Refused(f"a power of more than {MAX_BITS} bits")
    return a**b


def _shift(a: Any, b: Any) -> Any:
    if isinstance(b, int) and b > MAX_BITS:
        raise Refused(f"a whole number of more than {MAX_BITS} bits")
    return a << b


def check_form(text: str, wide: str) -> str:
    """Return the format. Raises Refused for a wide field, or for a width taken from an argument."""
    if re.search(wide, text):
        raise Refused("a format with a width of more than 999, or one that is computed")
    return text


def _modulo(a: Any, b: Any) -> Any:
    if isinstance(a, str):
        check_form(a, r"%(\([^)]*\))?[-+ #0]*(\*|\d{4}|\d*\.(\*|\d{4}))")
        check_size(b)
    return a % b


OPERATORS: dict[type[ast.AST], Function] = {
    ast.Add: _add, ast.Sub: operator.sub, ast.Mult: _multiply, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: _modulo, ast.Pow: _power, ast.LShift: _shift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_, ast.Invert: operator.invert,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip


class _Formatter(string.Formatter):
    """Formatter whose fields are arguments by number or name, never their attributes or entries."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        if not re.fullmatch(r"\w*", field_name) or field_name.startswith("__"):
            raise Refused(f"the field {{{field_name}}} of a format")
        return super().get_field(field_name, args, kwargs)


def _format(text: str, *args: Any, **kwargs: Any) -> str:
    check_form(re.sub(r"\{\{|\}\}", "", text), r"\{[^{}]*:[^{}]*\d{4}|\{[^{}]*\{")
    check_size([args, kwargs])
    return _Formatter().vformat(text, args, kwargs)


def _join(separator: str, parts: Iterable[str]) -> str:
    parts = list(parts)
    fits(len(separator) * len(parts) + sum(map(len, parts)))
    return separator.join(parts)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    fits(len(text) + text.count(old) * len(new))
    return text.replace(old, new, count)


def _padded(method: Function) -> Function:
    def pad(text: str, width: int, *fill: str) -> Any:
        fits(width)
        return method(text, width, *fill)

    return pad


_TEXT = (
    str.capitalize, str.casefold, str.count, str.endswith, str.find, str.index, str.isalnum, str.isalpha,
    str.isdecimal, str.isdigit, str.islower, str.isnumeric, str.isspace, str.isupper, str.lower, str.lstrip,
    str.partition, str.removeprefix, str.removesuffix, str.rfind, str.rindex, str.rpartition, str.rsplit,
    str.rstrip, str.split, str.splitlines, str.startswith, str.strip, str.swapcase, str.title, str.upper,
)  # fmt: skip

METHODS: dict[type, dict[str, Function]] = {
    str: {
        **{method.__name__: method for method in _TEXT},
        **{method.__name__: _padded(method) for method in (str.center, str.ljust, str.rjust, str.zfill)},
        "format": _format,
        "join": _join,
        "replace": _replace,
    },
    float: {"is_integer": float.is_integer},
    list: {"count": list.count, "index": list.index},
    tuple: {"count": tuple.count, "index": tuple.index},
    dict: {
        "get": dict.get,
        "items": lambda value: [*dict.items(value)],
        "keys": lambda value: [*dict.keys(value)],
        "values": lambda value: [*dict.values(value)],
    },
}


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if numbers[SIZE : SIZE + 1]:
        fits(SIZE + 1)
    return numbers


def _round(number: Any, digits: int | None = None) -> Any:
    if digits is not None and abs(digits) > 400:
        raise Refused("rounding to more than 400 digits")
    return round(number, digits)


def _sum(values: Iterable[Any], start: Any = 0) -> Any:
    total = start
    for value in values:
        total = check_size(_add(total, value))
    return total


def _product(values: Iterable[Any], *, start: Any = 1) -> Any:
    total = start
    for value in values:
        total = check_size(_multiply(total, value))
    return total


def _small(function: Function) -> Function:
    def of_small(*numbers: int) -> Any:
        if any(number > 500 for number in numbers):
            raise Refused(f"{function.__name__} of a number above 500")
        return function(*numbers)

    return of_small


def _listed(function: Function) -> Function:
    """Wrap a function to return its items as a list."""
    return lambda *args: [*function(*args)]


def _of_bounded(function: Function) -> Function:
    """Wrap a function that formats a whole value; its arguments are size-checked."""
    return lambda *args: function(*map(check_size, args))


_SAFE = (abs, all, any, bool, dict, divmod, float, int, isinstance, len, list, ord, set, tuple)

FUNCTIONS: dict[Any, Function] = {
    **{function: function for function in _SAFE},
    **{function: _listed(function) for function in (enumerate, reversed, zip)},
    **{function: function for name, function in vars(math).items() if name[0] != "_" and callable(function)},
    **{function: _small(function) for function in (math.comb, math.factorial, math.perm)},
    math.prod: _product,
    builtins.range: _range,
    repr: _of_bounded(repr),
    round: _round,
    str: _of_bounded(str),
    sum: _sum,
}
"""The replacement of each Python function that a xacro file may call."""
