"""Plot a study's results: a heat map, a scatter plot, or a predicate's share with its interval.

Inputs are the columns of `Study.results` and three of their names, the result is a Matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import figures
from engine.study.summaries import Cells, Side, cells, numbers, shares
from engine.study.tables import nearest
from engine.validation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure

Columns = Mapping[str, NDArray[Any]]
MAX_DOTS = 50_000
"""Maximum number of dots of a scatter plot; more samples become a binned heat map."""


MAX_TICKS = 12
"""Maximum number of values along a side of a heat map that have a label each."""


class Axes(NamedTuple):
    """The plotted columns; without a third there are no colours."""

    x: str
    y: str
    color: str | None


def axes(varied: tuple[str, ...], kept: Mapping[str, bool], x: str | None, y: str | None, color: str | None) -> Axes:
    """Return the requested columns, or sensible defaults. Raises ValueError for unknown columns."""
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


def draw(
    title: str,
    columns: Columns,
    axes: Axes,
    units: Mapping[str, str] = MappingProxyType({}),
    logarithmic: Set[str] = frozenset(),
) -> Figure:
    """Return the figure, with `units` by column; diverged robots are included only if "diverged" is plotted.

    Columns in `logarithmic` have such axes, except beside cells.
    """
    lost = columns["diverged"] if "diverged" not in axes else np.zeros(len(columns["diverged"]), bool)
    shown = {name: columns[name][~lost] for name in filter(None, axes)}
    figure = figures.figure(width=7.2, height=4.6)
    panel = figure.subplots()
    x, y = numbers(shown[axes.x]), numbers(shown[axes.y])
    label = {name: f"{name} [{units[name]}]" if units.get(name) else name for name in shown}
    if shown[axes.y].dtype == bool:
        _shares(panel, x, shown, axes)
    elif axes.color and shown[axes.color].dtype.kind != "U" and (cells := _cells(x, y, shown[axes.color])):
        logarithmic = frozenset()
        places = [_places(panel, axis, side) for axis, side in (("x", cells.x), ("y", cells.y))]
        figure.colorbar(panel.pcolormesh(*places, cells.mean, cmap="cividis"), label=label[axes.color])
    else:
        _scatter(figure, panel, x, y, shown, axes, label)
    panel.set(**{f"{axis}scale": "log" for axis in "xy" if getattr(axes, axis) in logarithmic})
    for name, axis in ((axes.x, panel.xaxis), (axes.y, panel.yaxis)):
        if shown[name].dtype.kind == "U":
            words = np.unique(shown[name])
            axis.set_ticks(range(len(words)), words.tolist(), fontsize=8)
    panel.set_xlabel(label[axes.x])
    panel.set_ylabel(label[axes.y])
    panel.set_title(title, fontsize=9)
    panel.spines[["top", "right"]].set_visible(False)
    return figure


def _places(panel: Panel, axis: str, side: Side) -> Array:
    """Return the edges of the cells along a side.

    A few values have cells of one size, with a tick each; more have their true places. No cell goes beyond the last.
    """
    if not side.exact:
        half = (side.values[1] - side.values[0]) / 2
        return np.append(side.values - half, side.values[-1] + half)
    count, values = len(side.values), side.values
    if count > MAX_TICKS:
        return np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
    panel.set(**{f"{axis}ticks": range(count), f"{axis}ticklabels": [f"{x:.4g}" for x in values]})
    return np.arange(count + 1) - 0.5


def _cells(x: NDArray[Any], y: NDArray[Any], color: NDArray[Any]) -> Cells | None:
    """Return both sides and each cell's mean colour, if the samples form a grid or are too many for dots."""
    if not len(x):
        return None
    grid, few = cells(x, y, color.astype(float)), len(x) <= MAX_DOTS
    if few and not (grid.x.exact and grid.y.exact):
        return None
    if min(grid.mean.shape) < 2 or (few and np.count_nonzero(grid.samples) < 0.5 * grid.samples.size):
        return None  # random values rarely coincide
    return grid


def _shares(panel: Panel, x: NDArray[Any], shown: Columns, axes: Axes) -> None:
    """Plot a predicate's share at each x, with Wilson's interval, and one line per colour if these are few."""
    lines = shares(x, shown[axes.y], shown[axes.color] if axes.color else None, axes.color or "")
    for k, line in enumerate(lines):
        paint = figures.SEQUENCE[k % len(figures.SEQUENCE)]
        panel.plot(line.x, line.share, color=paint, marker="." if len(line.x) < 50 else "", label=line.label)
        panel.fill_between(line.x, line.low, line.high, color=paint, alpha=0.2, linewidth=0)
    panel.set_ylim(-0.02, 1.02)
    if len(lines) > 1:
        panel.legend(fontsize=8, frameon=False)


def _scatter(
    figure: Figure, panel: Panel, x: NDArray[Any], y: NDArray[Any], shown: Columns, axes: Axes, label: Mapping[str, str]
) -> None:
    """Plot a dot for each sample, coloured by a number, or by words, such as true and false, with a legend."""
    if axes.color is None or shown[axes.color].dtype.kind in "Ub":
        words = shown[axes.color] if axes.color else np.full(len(x), "")
        words = np.where(words, "true", "false") if words.dtype == bool else words
        for k, word in enumerate(np.unique(words)):
            paint = figures.algorithm_color(word) if word in figures.MARKS else figures.OWN[k % len(figures.OWN)]
            panel.plot(x[words == word], y[words == word], ".", color=paint, label=word, markersize=4)
        if axes.color:
            panel.legend(fontsize=8, frameon=False)
        return
    dots = panel.scatter(x, y, s=6, c=shown[axes.color].astype(float), cmap="cividis", rasterized=len(x) > 5000)
    figure.colorbar(dots, label=label[axes.color])
