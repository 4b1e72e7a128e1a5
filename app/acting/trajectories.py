"""Setpoints of joints over time from a table in a file: `read`. Free of Qt.

The table is that of `engine.save_csv`, or one with times in its first column and further columns by joint.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import engine
from app.acting.coordinates import Coordinate
from app.acting.drives import Drive, Samples

MAX_ROWS = 100_000
TIMES = {"s": 1.0, "ms": 1e-3}
"""Seconds per unit of a column of times."""
ANGLES, LENGTHS = {"rad": 1.0, "deg": math.pi / 180, "°": math.pi / 180}, {"m": 1.0, "mm": 1e-3}
OTHERS = ("v", "tau", "wrench")
"""The kinds of columns of an exported table that hold no positions."""
HEADER = "time [s],shoulder [rad],elbow [rad]"
_HEAD = re.compile(r"(?:(?P<kind>q|v|tau|wrench):)?(?P<name>.*?)\s*(?:\[(?P<unit>[^\]]*)\])?")


def read(path: str, rows: Sequence[Coordinate], model: engine.Model) -> dict[int, Drive]:
    """Return the drives by which joints follow the table in a file, by row of `rows`, the model's coordinates.

    A column is a joint's by its name, as in ``elbow`` or ``q:elbow [rad]``, in rad and m unless it says deg or mm.
    Columns of velocities, efforts and wrenches, and of joints without a position drive, are left out. Numbers may have
    decimal commas where semicolons separate them. Raises OSError, and ValueError with one sentence for other files.
    """
    name = Path(path).name
    engine.refuse_endless(path)
    try:
        text = engine.file_content(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not text; expected a table with commas (.csv), which begins {HEADER}") from error
    first = text.lstrip().partition("\n")[0]
    separator = next((each for each in ";\t" if each in first), ",")
    try:
        table = [(line, row) for line, row in _lines(text, separator) if any(map(str.strip, row))]
    except csv.Error as error:
        raise ValueError(f"{name} is not a table with commas: {error}; expected one that begins {HEADER}") from error
    if len(table) < 2:
        raise ValueError(f"{name} has no rows of numbers; expected a row of names, as {HEADER}, and such rows below it")
    if len(table) > MAX_ROWS + 1:
        raise ValueError(f"{name} has {len(table) - 1} rows; expected {MAX_ROWS} at most: write it less often")
    head = [each.strip() for each in table[0][1]]
    scales, columns = _columns(name, head, rows, model)
    for line, row in table[1:]:
        if len(row) != len(head):
            raise ValueError(f"{name}, line {line}: it has {len(row)} values; expected {len(head)}, one a column")
    comma = separator == ";"
    times = _numbers(name, table, 0, scales[0], comma)
    for k, (one, other) in enumerate(pairwise(times)):
        if not other > one:
            raise ValueError(
                f"{name}, line {table[k + 2][0]}: the time {other:g} s follows {one:g} s; expected times that grow"
            )
    found = {}
    for k, column in columns.items():
        values = _numbers(name, table, column, scales[column], comma)
        found[k] = Drive("target", values[0], "trajectory", samples=Samples.of(times, values))
    return found


def _lines(text: str, separator: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    return [(reader.line_num, row) for row in reader]


def _columns(
    file: str, head: list[str], rows: Sequence[Coordinate], model: engine.Model
) -> tuple[dict[int, float], dict[int, int]]:
    """Return SI units per number of each column, and the columns by the rows of the joints that they drive."""
    time = _HEAD.fullmatch(head[0])
    if time is None or time["name"].lower() not in ("time", "t"):
        raise ValueError(f"{file} has no column of times: its first is {head[0]!r:.60}; expected one as in {HEADER}")
    scales, columns = {0: _scale(file, head[0], time["unit"] or "s", TIMES)}, dict[int, int]()
    known = {row.name: k for k, row in enumerate(rows)}
    for column, title in enumerate(head[1:], 1):
        parts = _HEAD.fullmatch(title)
        kind, name, unit = parts.groups() if parts is not None else (None, title, None)
        if title in known:  # a joint may be named as a unit or a kind would be
            kind, name, unit = None, title, None
        if kind in OTHERS:
            continue
        if name not in known and not any(name.startswith(f"{each.name}.") for each in model.joints):
            names = ", ".join(row.name for row in rows if row.holdable)
            raise ValueError(f"{file} has a column {title!r:.60}, which no joint has; the joints are {names:.200}")
        if name not in known or not rows[known[name]].holdable:
            continue  # of a free base, a ball or a mimic joint
        k = known[name]
        if k in columns:
            raise ValueError(f"{file} has two columns of {name}; remove one")
        units = ANGLES if rows[k].angular else LENGTHS
        columns[k], scales[column] = column, _scale(file, title, unit or next(iter(units)), units)
    if not columns:
        raise ValueError(f"{file} has no column of a joint's position; expected them by joint, as in {HEADER}")
    return scales, columns


def _scale(file: str, title: str, unit: str, units: dict[str, float]) -> float:
    if unit not in units:
        raise ValueError(f"{file} has a column {title!r:.60} in {unit:.20}; expected {' or '.join(units)}")
    return units[unit]


def _numbers(file: str, table: list[tuple[int, list[str]]], column: int, scale: float, comma: bool) -> list[float]:
    """Return the numbers of a column in SI units."""
    found = []
    for line, row in table[1:]:
        text = row[column].strip()
        try:
            value = float(text.replace(",", ".") if comma else text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            title = table[0][1][column].strip()
            raise ValueError(f"{file}, line {line}: {title:.60} is {text!r:.40}; expected a finite number")
        found.append(value * scale)
    return found
