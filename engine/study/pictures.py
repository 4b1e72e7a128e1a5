"""Results of a study as a picture: a heat map, a scatter, or the share of a predicate with its interval.

In come the columns of `Study.results` and three of their names, out goes a figure of Matplotlib's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.bench import plots
from engine.study.shares import wilson
from engine.study.tables import nearest

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure

Columns = Mapping[str, NDArray[Any]]
MOST_LINES = 10
"""Values that are told apart by lines of their own."""
MOST_CELLS = 1000
"""Values along a side of a heat map."""
MOST_DOTS, BINS = 50_000, 200
"""Dots of a scatter; more samples are a heat map of so many bins a side."""


class Axes(NamedTuple):
    """The columns that are drawn; without a third there are no colours."""

    x: str
    y: str
    color: str | None


def axes(varied: tuple[str, ...], kept: Mapping[str, bool], x: str | None, y: str | None, color: str | None) -> Axes:
    """What is asked for, or else what stands to reason. Raises ValueError for columns that are not there."""
    columns = [*varied, *kept, "sample", "diverged"]
    for name in filter(None, (x, y, color)):
        if name not in columns:
            raise ValueError(f"there is no column {name!r}; use one of {', '.join(columns)}{nearest(name, columns)}")
    numbers = [name for name, predicate in kept.items() if not predicate]
    predicates = [name for name, predicate in kept.items() if predicate]
    x = x or (varied or ("sample",))[0]
    y = y or next(name for name in (*varied, *numbers, *predicates) if name != x)
    color = color or next((name for name in (*predicates, *numbers, *varied) if name not in (x, y)), None)
    return Axes(x, y, color)


def drawn(title: str, columns: Columns, axes: Axes) -> Figure:
    """The picture; robots that diverged are in it only where "diverged" is drawn."""
    lost = columns["diverged"] if "diverged" not in axes else np.zeros(len(columns["diverged"]), bool)
    shown = {name: columns[name][~lost] for name in filter(None, axes)}
    figure = plots.figure(width=7.2, height=4.6)
    panel = figure.subplots()
    x, y = _numbers(shown[axes.x]), _numbers(shown[axes.y])
    if shown[axes.y].dtype == bool:
        _shares(panel, x, shown, axes)
    elif axes.color and shown[axes.color].dtype.kind != "U" and (cells := _cells(x, y, shown[axes.color])):
        figure.colorbar(panel.pcolormesh(*cells, shading="nearest", cmap="cividis"), label=axes.color)
    else:
        _scatter(figure, panel, x, y, shown, axes)
    for name, axis in ((axes.x, panel.xaxis), (axes.y, panel.yaxis)):
        if shown[name].dtype.kind == "U":
            words = np.unique(shown[name])
            axis.set_ticks(range(len(words)), words.tolist(), fontsize=8)
    panel.set_xlabel(axes.x)
    panel.set_ylabel(axes.y)
    panel.set_title(title, fontsize=9)
    panel.spines[["top", "right"]].set_visible(False)
    return figure


def _numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    """A column as numbers; words by their places in their order."""
    found = np.unique(column, return_inverse=True)[1] if column.dtype.kind == "U" else column
    return np.asarray(found, float)


def _cells(x: NDArray[Any], y: NDArray[Any], color: NDArray[Any]) -> tuple[Any, Any, Any] | None:
    """Both sides and the mean colour of each cell, where all samples lie on a grid."""
    if len(x) > MOST_DOTS:
        x, y = _binned(x), _binned(y)
    (across, i), (up, j) = (np.unique(side, return_inverse=True) for side in (x, y))
    if not (1 < len(across) <= MOST_CELLS and 1 < len(up) <= MOST_CELLS):
        return None
    total, count = np.zeros((2, len(up), len(across)))
    np.add.at(total, (j, i), color.astype(float))
    np.add.at(count, (j, i), 1)
    if np.count_nonzero(count) < 0.5 * count.size and len(x) <= MOST_DOTS:  # what is drawn by chance lies nowhere twice
        return None
    return across, up, np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _binned(side: NDArray[Any]) -> NDArray[Any]:
    """Numbers at the middles of bins, where they have more values than a heat map shows."""
    if len(np.unique(side)) <= MOST_CELLS:
        return side
    edges = np.linspace(side.min(), side.max(), BINS + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    found: NDArray[Any] = middles[np.clip(np.digitize(side, edges) - 1, 0, BINS - 1)]
    return found


def _shares(panel: Panel, x: NDArray[Any], shown: Columns, axes: Axes) -> None:
    """The share of a predicate at each x, with Wilson's interval, a line for each colour where these are few."""
    hits, color = shown[axes.y], shown[axes.color] if axes.color else np.zeros(len(x))
    values = np.unique(color)
    if len(values) > MOST_LINES or axes.color is None:
        color, values = np.zeros(len(x)), np.zeros(1)
    for k, value in enumerate(values):
        own = color == value
        across = np.unique(x[own])
        found = [
            wilson(int(np.count_nonzero(hits[own & (x == at)])), int(np.count_nonzero(own & (x == at))))
            for at in across
        ]
        low, share, high = np.array(found).T
        label = f"{axes.color} {value:g}" if values.dtype.kind == "f" else f"{value}"
        paint = plots.SEQUENCE[k % len(plots.SEQUENCE)]
        panel.plot(across, share, color=paint, marker="." if len(across) < 50 else "", label=label)
        panel.fill_between(across, low, high, color=paint, alpha=0.2, linewidth=0)
    panel.set_ylim(-0.02, 1.02)
    if len(values) > 1:
        panel.legend(fontsize=8, frameon=False)


def _scatter(figure: Figure, panel: Panel, x: NDArray[Any], y: NDArray[Any], shown: Columns, axes: Axes) -> None:
    """A dot for each sample, coloured by a number, or by words with a legend."""
    if axes.color is None or shown[axes.color].dtype.kind == "U":
        words = shown[axes.color] if axes.color else np.full(len(x), "")
        for word in np.unique(words):
            panel.plot(
                x[words == word], y[words == word], ".", color=plots.algorithm_color(word), label=word, markersize=4
            )
        if axes.color:
            panel.legend(fontsize=8, frameon=False)
        return
    dots = panel.scatter(x, y, s=6, c=shown[axes.color].astype(float), cmap="cividis", rasterized=len(x) > 5000)
    figure.colorbar(dots, label=axes.color)
