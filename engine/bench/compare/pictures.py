"""Plot comparisons: bars for one size, and curves over sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import figures
from engine.bench import facts
from engine.bench.compare.result import AlgorithmResult, ComparisonResult, times
from engine.bench.compare.scaling import Growth
from engine.selection.choice import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 20
"""Ratio to the fastest beyond which bars show ratios."""


def bars(comparison: ComparisonResult) -> Figure:
    """Plot bars of the median times of a call for each model, with intervals, residuals and badges."""
    models = list(dict.fromkeys(row.model for row in comparison.rows))
    counts = [sum(row.model == model for row in comparison.rows) for model in models]
    figure = figures.figure(width=8.4, height=0.9 + 0.45 * len(models) + 0.27 * len(comparison.rows))
    panels = figure.subplots(len(models), 1, sharex=True, squeeze=False, height_ratios=counts)[:, 0]
    several = len({row.dtype for row in comparison.rows}) > 1
    wide = _wide(comparison.rows)
    for panel, model in zip(panels, models, strict=True):
        rows = [row for row in comparison.rows if row.model == model]
        panel.set_title(model, fontsize=9, loc="left")
        panel.set_yticks(range(len(rows)), [_who(row, several) for row in rows], fontsize=8)
        panel.set_ylim(len(rows) - 0.4, -0.6)
        fastest = min((row.host for row in rows if row.host is not None), default=1.0)
        if wide:
            panel.set_xscale("log")
        for place, row in enumerate(rows):
            _bar(panel, place, row, fastest if wide else None)
        panel.grid(axis="x", color="0.9", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_xlim(*((1, wide**1.8) if wide else (0, 1.8 * max((_us(row) for row in comparison.rows), default=1))))
    robots = "" if comparison.rows[0].batch == 1 else f" for {comparison.rows[0].batch} robots"
    of = "times the fastest's, from 1 on, logarithmic: median" if wide else "µs, median"
    panels[-1].set_xlabel(f"a call{robots} until its result is available, {of}")
    figure.suptitle(facts.in_words(_on_gpu(comparison.rows)), fontsize=8, color="0.4")
    return figure


def _wide(rows: Iterable[AlgorithmResult]) -> float | None:
    """Return the largest ratio to the fastest on its robot, if it is too large for a linear axis."""
    times: dict[str, list[float]] = {}
    for row in rows:
        if row.host is not None:
            times.setdefault(row.model, []).append(row.host)
    largest = max((max(each) / min(each) for each in times.values()), default=1.0)
    return largest if largest > WIDE else None


def _us(row: AlgorithmResult) -> float:
    return (row.host or 0.0) * 1e6


def _on_gpu(rows: Iterable[AlgorithmResult]) -> bool:
    return any(row.device == "cuda" and row.host is not None for row in rows)


def _who(row: AlgorithmResult, several: bool) -> str:
    return f"{row.algorithm}, {row.device}" + (f", {row.dtype}" if several else "")


def _bar(panel: Axes, place: int, row: AlgorithmResult, fastest: float | None) -> None:
    """Draw a candidate's bar, as a ratio to the `fastest` time or in µs; or the reason for its absence."""
    beside: Any = {"va": "center", "fontsize": 7, "xytext": (4, 0), "textcoords": "offset points"}
    if row.host is None:
        text = f"{row.verdict}: {row.reason}".removesuffix(": ")
        color = "#d55e00" if row.verdict in ("wrong", "failed") else "0.5"
        transform: Any = panel.get_yaxis_transform()
        panel.annotate(text[:110], (0, place), xycoords=transform, color=color, **beside)
        return
    unit, left = (1e-6, 0) if fastest is None else (fastest, 1)
    low, middle, high = (seconds / unit for seconds in row.host_interval or (row.host,) * 3)
    error = [[middle - max(low, left)], [high - middle]]
    panel.barh(
        place,
        middle - left,
        left=left,
        xerr=error,
        color=figures.algorithm_color(row.algorithm),
        height=0.7,
        alpha=0.85,
        capsize=2,
    )
    words = [in_words(row.host)]
    if row.ratio is not None and not row.ratio.low == row.ratio.high == 1:
        words.append(f"{times(row.ratio.middle)} × ({times(row.ratio.low)}–{times(row.ratio.high)})")
    words += ["fastest"] if row.winner else ["no difference"] if row.level else []
    words.append(f"residual {row.residual:.0e}")
    panel.annotate(", ".join(words), (high, place), **beside)


def over_sizes(growth: Growth) -> Figure:
    """Plot the time of a call over links or robots, and final crossings of curves."""
    figure = figures.figure(width=6.4)
    panel = figure.subplots()
    curves = growth.curves()
    both = any(of.device == "cuda" for of in curves)
    for of, curve in curves.items():
        color, marker = figures.mark(of.algorithm)
        us = [seconds * 1e6 for seconds in curve.values()]
        line = "--" if both and of.device == "cpu" else "-"
        panel.loglog([*curve], us, color=color, marker=marker, markersize=4, linestyle=line, label=str(of))
    for above, crossing in enumerate(growth.crossings()):
        curve = curves[crossing.faster]
        height = np.exp(np.interp(np.log(crossing.size), np.log([*curve]), np.log([*curve.values()]))) * 1e6
        panel.plot(crossing.size, height, "o", color="0.3", markersize=11, fillstyle="none")
        panel.annotate(
            crossing.words().removeprefix("about "), (crossing.size, height), textcoords="offset points",
            xytext=(0, -14 if above % 2 else 8), ha="center", fontsize=7, color="0.3",
        )  # fmt: skip
    sizes = sorted({point.size for point in growth.points})
    title = facts.in_words(_on_gpu(point.result for point in growth.points))
    figures.axes(panel, sizes, title, "µs of a call, median", "links" if growth.axis == "links" else "robots")
    panel.set_xticks(sizes, [figures.power(size) for size in sizes], fontsize=8)
    panel.legend(fontsize=7)
    return figure
