"""The suites' results as figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from engine import figures
from engine.bench import facts
from engine.selection import capabilities

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def algorithms(rows: list[dict[str, Any]]) -> Figure:
    """Plot the time of one call over links, from `suites.lengths`."""
    figure = figures.figure(width=6.4)
    panel = figure.subplots()
    for name in dict.fromkeys(name for row in rows for name in row["us"]):
        form = capabilities.ALGORITHMS[name].devices["cpu"]
        color, marker = figures.MARKS[name]
        points = [(row["links"], row["us"][name]) for row in rows if name in row["us"]]
        panel.loglog(
            *zip(*points, strict=True), color=color, marker=marker, markersize=4,
            linestyle="-" if form == "compiled" else "--", label=f"{name} ({form})",
        )  # fmt: skip
    figures.axes(
        panel, (row["links"] for row in rows), f"One forward dynamics call, double precision\n{facts.in_words()}", "µs"
    )
    panel.legend(fontsize=8)
    return figure


def threads(rows: list[dict[str, Any]]) -> Figure:
    """Plot DCA-ABA's speed-up over the ABA, from `suites.threads`: medians and quartiles of the rounds."""
    figure = figures.figure(width=6.4)
    panel = figure.subplots()
    links = [row["links"] for row in rows]
    for index, count in enumerate(rows[0]["speedup"]):
        low, middle, high = np.transpose([row["speedup"][count] for row in rows])
        color = figures.SEQUENCE[index % len(figures.SEQUENCE)]
        label = f"{count} thread{'s' if int(count) > 1 else ''}"
        panel.semilogx(links, middle, color=color, marker="o", markersize=4, label=label)
        panel.fill_between(links, low, high, color=color, alpha=0.2, linewidth=0)
    panel.axhline(1, color="0.5", linestyle=":", label="the ABA")
    panel.set_ylim(bottom=0)
    figures.axes(panel, links, f"DCA-ABA, one chain, double precision\n{facts.in_words()}", "times as fast as the ABA")
    panel.legend(fontsize=8)
    return figure
