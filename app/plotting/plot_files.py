"""The samples of plots as a table of comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import numpy as np

from app.plotting.quantities import Quantity
from app.plotting.series import Series


def table(series: Mapping[Quantity, Series]) -> str:
    """Return a column of times, s, and one for each curve in SI units; a cell is empty if its curve has no sample."""
    times = np.unique(np.concatenate([line.time for line in series.values()] or [np.zeros(0)]))
    columns = []
    for quantity, line in series.items():
        column = np.full(len(times), np.nan)
        column[np.searchsorted(times, line.time)] = quantity.displayed(line, line.value)
        columns.append(column)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time [s]", *map(_heading, series)])
    for row in zip(times.tolist(), *(column.tolist() for column in columns), strict=True):
        writer.writerow([repr(row[0]), *("" if value != value else repr(value) for value in row[1:])])
    return text.getvalue()


def _heading(quantity: Quantity) -> str:
    unit = quantity.unit.si
    return f"{quantity.label} [{unit}]" if unit else quantity.label
