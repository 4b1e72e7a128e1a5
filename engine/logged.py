"""Numbers of its own that a program logs by name while it steps a simulation, see `Simulation.logged`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.real_numbers import excerpt, reals

Array = NDArray[Any]
Logged = tuple[tuple[str, ...], Array]
"""The names and values (names,) of logged numbers in the form that recordings store."""
MAX_LOGGED, MAX_NAME = 256, 80
"""How many numbers of its own a program may log, and the characters of their names."""


def named_numbers(logged: Mapping[Any, Any], known: set[str]) -> dict[str, float]:
    """Return numbers that a user's program logs, by name; NaN is one that has no value now.

    Their names are added to those `known` before. Raises ValueError in one sentence where these become more than
    `MAX_LOGGED`, for names that are no printable text of at most `MAX_NAME` characters, and for values that are not one
    number, or infinite.
    """
    numbers = dict[str, float]()
    for name, value in logged.items():
        if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
            raise ValueError(
                f"{excerpt(name)} is the name of a logged number; expected text of 1 to {MAX_NAME} printable characters"
            )
        try:
            number = reals(value)
        except (TypeError, ValueError):
            number = np.zeros(2)
        if number.shape != ():
            raise ValueError(f"{excerpt(value)} is logged as {name!r}; expected one number, or NaN where it has none")
        if np.isinf(number):
            raise ValueError(f"{number:g} is logged as {name!r}; expected a finite number, or NaN where it has none")
        numbers[name] = float(number)
    if not known.issuperset(numbers):
        known.update(numbers)
        if len(known) > MAX_LOGGED:
            raise ValueError(
                f"numbers are logged under more than {MAX_LOGGED} different names; use the same ones again"
            )
    return numbers


def logged_of(numbers: Mapping[str, float]) -> Logged | None:
    """Return logged numbers as they are stored; None if there are none."""
    return (tuple(numbers), np.fromiter(numbers.values(), float, len(numbers))) if numbers else None


def numbers_of(logged: Logged | None) -> dict[str, float]:
    """Return stored numbers by name, the inverse of `logged_of`."""
    return {} if logged is None else dict(zip(logged[0], logged[1].tolist(), strict=True))


def names_in(logged: Iterable[Logged | None]) -> tuple[str, ...]:
    """Return all names, in order of appearance."""
    return tuple(dict.fromkeys(name for each in logged if each is not None for name in each[0]))


def table_of_logged(logged: Sequence[Logged | None], names: Sequence[str]) -> Array:
    """Return the values (len(logged), names) of stored numbers, NaN where there is none."""
    column, values = {name: k for k, name in enumerate(names)}, np.full((len(logged), len(names)), np.nan)
    for row, each in zip(values, logged, strict=True):
        if each is not None:
            row[[column[name] for name in each[0]]] = each[1]
    return values


def rows_of_logged(values: Array, names: Sequence[str]) -> list[Logged | None]:
    """Return a table's rows as they are stored, the inverse of `table_of_logged`."""
    there, all_names = ~np.isnan(values), tuple(names)
    rows: list[Logged | None] = []
    for row, here in zip(values, there, strict=True):
        some = all_names if here.all() else tuple(name for name, known in zip(names, here, strict=True) if known)
        rows.append((some, row[here]) if some else None)
    return rows


def same_logged(a: Logged | None, b: Logged | None) -> bool:
    """Whether two have the same names and bits."""
    if a is None or b is None:
        return a is b
    return a[0] == b[0] and a[1].tobytes() == b[1].tobytes()
