"""The samples of plots as a table of comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from app.plotting.quantities import Quantity
from app.plotting.series import Series


def table(
    series: Mapping[Quantity, Series], compared: Mapping[Quantity, Series] = MappingProxyType({}), run: str = ""
) -> str:
    """Return a column of times, s, and one for each curve in SI units; a cell is empty if its curve has no sample.

    The curves that are `compared`, of a run of that name, follow.
    """
    lines = [(_heading(each), each, line) for each, line in series.items()]
    lines += [(f"{run}: {_heading(each)}", each, compared[each]) for each in series if each in compared]
    times = np.unique(np.concatenate([line.time for *_, line in lines] or [np.zeros(0)]))
    columns = []
    for _, quantity, line in lines:
        column = np.full(len(times), np.nan)
        column[np.searchsorted(times, line.time)] = quantity.displayed(line, line.value)
        columns.append(column)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time [s]", *(heading for heading, *_ in lines)])
    for row in zip(times.tolist(), *(column.tolist() for column in columns), strict=True):
        writer.writerow([repr(row[0]), *("" if value != value else repr(value) for value in row[1:])])
    return text.getvalue()


def _heading(quantity: Quantity) -> str:
    unit = quantity.unit.si
    return f"{quantity.label} [{unit}]" if unit else quantity.label
