"""Comparisons as pictures: bars of what was timed, and curves over sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.bench import plots
from engine.bench.compare.scaling import Growth
from engine.bench.compare.standing import Standing, Standings, times
from engine.choice import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def standings(found: Standings) -> Figure:
    """Bars of the medians of a call's time for each model, with their intervals, residuals and badges."""
    models = list(dict.fromkeys(row.model for row in found.rows))
    counts = [sum(row.model == model for row in found.rows) for model in models]
    figure = plots.figure(width=8.4, height=0.9 + 0.45 * len(models) + 0.27 * len(found.rows))
    panels = figure.subplots(len(models), 1, sharex=True, squeeze=False, height_ratios=counts)[:, 0]
    several = len({row.dtype for row in found.rows}) > 1
    for panel, model in zip(panels, models, strict=True):
        rows = [row for row in found.rows if row.model == model]
        panel.set_title(model, fontsize=9, loc="left")
        panel.set_yticks(range(len(rows)), [_who(row, several) for row in rows], fontsize=8)
        panel.set_ylim(len(rows) - 0.4, -0.6)
        panel.set_xscale("log")
        for place, row in enumerate(rows):
            _bar(panel, place, row)
        panel.grid(axis="x", color="0.9", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    us = [row.host * 1e6 for row in found.rows if row.host is not None]
    if us:
        panels[0].set_xlim(min(us) / 2, max(us) * max(50, (max(us) / min(us)) ** 0.8))
    robots = "" if found.rows[0].batch == 1 else f" for {found.rows[0].batch} robots"
    panels[-1].set_xlabel(f"µs of a call{robots} until its answer is there, median")
    figure.suptitle(plots.machine(_on_gpu(found.rows)), fontsize=8, color="0.4")
    return figure


def _on_gpu(rows: Iterable[Standing]) -> bool:
    return any(row.device == "cuda" and row.host is not None for row in rows)


def _who(row: Standing, several: bool) -> str:
    return f"{row.algorithm}, {row.device}" + (f", {row.dtype}" if several else "")


def _bar(panel: Axes, place: int, row: Standing) -> None:
    """A contestant's bar, or the words that stand in its place."""
    beside: Any = {"va": "center", "fontsize": 7, "xytext": (4, 0), "textcoords": "offset points"}
    if row.host is None:
        text = f"{row.verdict}: {row.reason}".removesuffix(": ")
        color = "#d55e00" if row.verdict in ("wrong", "failed") else "0.5"
        at: Any = panel.get_yaxis_transform()
        panel.annotate(text[:110], (0, place), xycoords=at, color=color, **beside)
        return
    middle = row.host * 1e6
    low, _, high = row.host_interval or (row.host,) * 3
    error = [[middle - low * 1e6], [high * 1e6 - middle]]
    panel.barh(place, middle, xerr=error, color=_mark(row.algorithm)[0], height=0.7, alpha=0.85, capsize=2)
    words = [in_words(row.host)]
    if row.ratio is not None and not row.ratio.low == row.ratio.high == 1:
        words.append(f"{times(row.ratio.middle)} × ({times(row.ratio.low)}–{times(row.ratio.high)})")
    words += ["fastest"] if row.winner else ["no difference"] if row.level else []
    words.append(f"residual {row.residual:.0e}")
    panel.annotate(", ".join(words), (max(middle, high * 1e6), place), **beside)


def over_sizes(found: Growth) -> Figure:
    """The time of a call over links or robots, and where curves cross for good."""
    figure = plots.figure(width=6.4)
    panel = figure.subplots()
    curves = found.curves()
    for index, (name, curve) in enumerate(curves.items()):
        color, marker = _mark(name.rpartition(" on ")[0], index)
        us = [seconds * 1e6 for seconds in curve.values()]
        line = "--" if name.endswith(" on cpu") and any(key.endswith(" on cuda") for key in curves) else "-"
        panel.loglog([*curve], us, color=color, marker=marker, markersize=4, linestyle=line, label=name)
    for above, crossing in enumerate(found.crossings()):
        curve = curves[crossing.faster]
        height = np.exp(np.interp(np.log(crossing.size), np.log([*curve]), np.log([*curve.values()]))) * 1e6
        panel.plot(crossing.size, height, "o", color="0.3", markersize=11, fillstyle="none")
        panel.annotate(
            f"{round(crossing.size):,}", (crossing.size, height), textcoords="offset points",
            xytext=(0, -14 if above % 2 else 8), ha="center", fontsize=7, color="0.3",
        )  # fmt: skip
    sizes = sorted({point.size for point in found.points})
    title = plots.machine(_on_gpu(point.standing for point in found.points))
    plots.axes(panel, sizes, title, "µs of a call, median", "links" if found.axis == "links" else "robots")
    panel.set_xticks(sizes, [plots.power(size) for size in sizes], fontsize=8)
    panel.legend(fontsize=7)
    return figure


def _mark(algorithm: str, index: int = 0) -> tuple[str, str]:
    """An algorithm's colour and marker; of one that is a user's, one of the sequence."""
    return plots.MARKS.get(algorithm.partition(" (")[0], (plots.SEQUENCE[index % len(plots.SEQUENCE)], "*"))
