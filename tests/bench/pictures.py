"""Figures of this folder's suites."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import figures
from engine.bench.curves import slope
from engine.selection.choice import MAX_RESIDUAL
from tests.bench import growth, rounds
from tests.bench.accuracy import Row, worst

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def accuracy(rows: Iterable[Row]) -> Figure:
    """Residuals over links, a panel for each number type, the worse of random and straight chains."""
    left = worst(rows)
    dtypes = tuple(dict.fromkeys(dtype for dtype, _, _ in left))
    figure = figures.figure(width=4.2 * len(dtypes))
    panels = figure.subplots(1, len(dtypes), sharex=True, squeeze=False)[0]
    for panel, dtype in zip(panels, dtypes, strict=True):
        curves: dict[str, dict[int, float]] = {}
        for (number, name, links), size in left.items():
            if number == dtype and np.isfinite(size):
                curves.setdefault(name, {})[links] = size
        for name, points in curves.items():
            color, marker = figures.MARKS[name]
            panel.loglog([*points], [*points.values()], color=color, marker=marker, markersize=4, label=name)
        panel.axhline(MAX_RESIDUAL[dtype], color="0.5", linestyle=":", label="bound of the automatic choice")
        figures.axes(
            panel, (links for _, _, links in left), dtype, "residual ‖ID(q̈) − τ‖ / ‖τ_δ‖" if panel is panels[0] else ""
        )
    panels[0].legend(fontsize=7)
    return figure


def rounds_of_trees(rows: list[dict[str, Any]]) -> Figure:
    """Rounds of a tree's schedule over its bodies, by `suites.rounds`, between log₂ n and its square."""
    figure = figures.figure(width=6.4)
    panel = figure.subplots()
    colors = figures.SEQUENCE + figures.OWN[1:]
    for color, (shape, curve) in zip(colors, rounds.curves(rows).items(), strict=False):
        panel.loglog([*curve], [*curve.values()], color=color, marker="o", markersize=4, label=shape)
    sizes = sorted({row["bodies"] for row in rows})
    depth = np.log2(sizes)
    panel.loglog(sizes, depth, color="0.5", linestyle=":", label="log₂ n")
    panel.loglog(sizes, depth**2, color="0.5", linestyle="--", label="log₂² n")
    ticks = [4, 8, 16, 32, 64, 128]
    figures.axes(panel, sizes, f"DCA-ABA for trees on {rounds.WARPS} warps", "rounds in a row", "bodies")
    panel.set_yticks(ticks, [str(tick) for tick in ticks])
    panel.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def grown(rows: list[dict[str, Any]]) -> Figure:
    """Times on the device over links and over robots, by `suites.growth`; the legend has the fitted slopes."""
    return _over_sizes(rows, dict.fromkeys(growth.PEERS, "--"))


def steps_grown(rows: list[dict[str, Any]]) -> Figure:
    """A step's times, by `suites.step_growth`: full lines on the GPU, dashed ones on the CPU."""
    names = {row["candidate"] for row in rows if "candidate" in row}
    return _over_sizes(rows, {name: "--" for name in names if name.endswith("cpu")})


def _over_sizes(rows: list[dict[str, Any]], lines: dict[str, str]) -> Figure:
    figure = figures.figure(width=9.6)
    panels = figure.subplots(1, 2)
    titles = {"links": "One chain, over its links", "batch": f"Chains of {growth.SHORT} links, over their number"}
    for panel, (axis, title) in zip(panels, titles.items(), strict=True):
        found = growth.curves(rows, axis)
        for name, curve in found.items():
            color, marker = figures.MARKS[name.partition(" on ")[0]]
            sizes, steep = sorted(curve), slope(curve)
            label = name if steep is None else f"{name}, slope {steep:.2f}"
            panel.loglog(
                sizes, [curve[size] for size in sizes], color=color, marker=marker, markersize=4, label=label,
                linestyle=lines.get(name, "-"),
            )  # fmt: skip
        sizes = sorted({size for curve in found.values() for size in curve})
        figures.axes(panel, sizes, title, "µs" if axis == "links" else "", "links" if axis == "links" else "robots")
        panel.set_xticks(sizes[::2], [figures.power(size) for size in sizes[::2]])
        panel.legend(fontsize=7)
    return figure
