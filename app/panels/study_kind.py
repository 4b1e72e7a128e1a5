"""A chart of a study's samples: the columns it shows, its axes, and the words for a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QRectF
from PyQt6.QtGui import QPainter

import engine
from app.panels.axes import Axis, image
from app.panels.study_rasters import Floats, Pixels

PICK_DISTANCE = 14  # px from a dot or a line within which a click selects it
SAME = 1  # px between samples that no click can distinguish


class Wanted(NamedTuple):
    """The columns of a chart; "" for none."""

    x: str
    y: str
    color: str


class Kind:
    """A chart of some columns. `results` has all samples, one a row."""

    uses_y = True

    def __init__(self, results: engine.StudyResults, wanted: Wanted):
        self.results, self.wanted = results, wanted
        self.scale: Axis | None = None
        """The colour scale; None if there are no colours."""
        self.has_lost = False
        """Whether something has the colour of diverged robots."""
        self.note = ""
        """The text below the chart."""
        self.x_axis = self.y_axis = Axis("", 0.0, 1.0)
        self.ratio = 1.0
        """Device pixels per pixel of the chart."""

    def numbers(self, name: str) -> Floats:
        """Return a column; predicates are NaN for diverged robots; of a logarithmic axis, the powers of ten."""
        found = self.results.numbers(name)
        if name in self.results.logarithmic:
            return np.log10(found)
        if self.is_predicate(name) and name != "diverged":
            found[self.results.columns["diverged"]] = np.nan
        return found

    def is_predicate(self, name: str) -> bool:
        return bool(self.results.columns[name].dtype.kind == "b")

    def words(self, name: str) -> Sequence[str]:
        """Return the words for a column's numbers."""
        return ("false", "true") if self.is_predicate(name) else self.results.words(name)

    def title(self, name: str) -> str:
        """Return a column's name with its unit."""
        unit = self.results.units.get(name)
        return f"{name} [{unit}]" if unit else name

    def axis(self, name: str, values: Floats) -> Axis:
        return self._axis_of(name, values, 0.04)

    def _axis_of(self, name: str, values: Floats, room: float) -> Axis:
        found = Axis.of(self.title(name), values, self.words(name), room)
        return replace(found, powers=name in self.results.logarithmic)

    def cells_axis(self, name: str, side: Any) -> Axis:
        """Return the axis of a side of `StudyResults.cells`, with a label at each value if it has them one by one."""
        values, words, powers = side.values, self.words(name), name in self.results.logarithmic
        if side.exact:
            values = 10.0**values if powers else values
            return Axis(self.title(name), 0, len(values), [words[int(k)] for k in values] if words else (), values)
        half = (values[1] - values[0]) / 2
        return Axis(self.title(name), values[0] - half, values[-1] + half, powers=powers)

    def colored(self) -> Floats:
        """Set the colour scale and return the numbers in 0 … 1 to colour by, (N,); NaN if not finite."""
        name = self.wanted.color
        if not name:
            return np.full(len(self.results.columns["sample"]), 0.5)
        values = self.numbers(name)
        self.scale = self._axis_of(name, values, 0.0)
        return self.scale.share(values)

    def paint(self, painter: QPainter, area: QRectF) -> None:
        """Draw the samples in the area; the axes are drawn already."""
        device = painter.device()
        assert device is not None
        self.ratio = device.devicePixelRatioF()
        width, height = (max(1, int(side * self.ratio)) for side in (area.width(), area.height()))
        painter.drawImage(area, image(self.pixels(width, height)))

    def pixels(self, width: int, height: int) -> Pixels:
        """Return the samples as RGBA pixels (height, width, 4)."""
        raise NotImplementedError

    def rows_at(self, place: QPointF, area: QRectF) -> NDArray[np.int64]:
        """Return the rows of the samples drawn at a position, those on top first; none if none is near."""
        raise NotImplementedError

    def mark(self, painter: QPainter, area: QRectF, row: int) -> None:
        """Mark the selected sample."""

    def description(self, row: int, rows: int, place: QPointF, area: QRectF) -> str:
        """Describe the sample in this row, one of `rows`, with the cell or bin at a position."""
        heading = self.heading(place, area) or ("" if rows == 1 else f"{rows} samples here")
        heading += "; each click opens the next:\n" if rows > 1 else ":\n" * bool(heading)
        return heading + sample_text(self.results, row, self.wanted)

    def heading(self, place: QPointF, area: QRectF) -> str | None:
        """Return the text shown before a sample's own numbers."""


def sample_text(results: engine.StudyResults, row: int, wanted: Wanted) -> str:
    """Describe a sample and its numbers, a line each."""
    columns = results.columns
    names = dict.fromkeys([*results.varied, *filter(None, wanted), *results.kept])
    lines = [f"sample {int(columns['sample'][row])}" + ", diverged" * bool(columns["diverged"][row])]
    for name in list(names)[:12]:
        x = columns[name][row]
        if columns[name].dtype.kind == "b":
            lines.append(f"{name}: {'–' if columns['diverged'][row] and name in results.kept else str(x).lower()}")
        elif name != "sample":
            lines.append(f"{name}: {x if columns[name].dtype.kind == 'U' else f'{x:.5g}'}")
    return "\n".join(lines)


def left_out(samples: np.signedinteger) -> str:
    """Say how many samples that diverged a chart leaves out; empty if none."""
    return (
        f"{samples} sample{' that diverged is' if samples == 1 else 's that diverged are'} left out" if samples else ""
    )


def together(away: Floats) -> NDArray[np.int64]:
    """Return the rows of the samples (N,) that no click can distinguish from the nearest, by their distances in px."""
    away = np.where(np.isfinite(away), away, np.inf)
    least = float(away.min(initial=np.inf))
    return np.flatnonzero(away <= least + SAME) if least <= PICK_DISTANCE else np.zeros(0, np.int64)
