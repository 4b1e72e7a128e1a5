"""What the suites measured, as pictures. Matplotlib, the extra `plots`, is imported when one is drawn."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import files, serves
from engine.bench import machine
from engine.bench.accuracy import Row, worst
from engine.choice import LARGEST_RESIDUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")
MARKS = {
    "abia": ("#000000", "o"),
    "dca": ("#d55e00", "s"),
    "jsiia": ("#0072b2", "^"),
    "abia-hybrid": ("#009e73", "D"),
    "cfa": ("#cc79a7", "v"),
}
"""Each algorithm's colour, which colour-blind readers tell apart (M. Okabe, K. Ito 2008), and its marker."""
SEQUENCE = ("#56b4e9", "#0072b2", "#009e73", "#e69f00", "#d55e00")


def require(path: Path) -> None:
    """ValueError where no picture could be written to `path`: said before anything is measured."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"a picture is asked for as {path.name!r}; expected a name that ends in {', '.join(FORMATS)}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} for the picture {path.name!r}; make it first")
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError(
            "pictures need the package matplotlib, which is not installed; pip install matplotlib, or install Catena "
            "with its extra `plots`"
        )


def accuracy(rows: Iterable[Row]) -> Figure:
    """Residuals over links, a panel for each number type, the worse of random and straight chains."""
    left = worst(rows)
    dtypes = tuple(dict.fromkeys(dtype for dtype, _, _ in left))
    figure = _figure(width=4.2 * len(dtypes))
    panels = figure.subplots(1, len(dtypes), sharex=True, squeeze=False)[0]
    for panel, dtype in zip(panels, dtypes, strict=True):
        curves: dict[str, dict[int, float]] = {}
        for (number, name, links), size in left.items():
            if number == dtype and np.isfinite(size):
                curves.setdefault(name, {})[links] = size
        for name, points in curves.items():
            color, marker = MARKS[name]
            panel.loglog([*points], [*points.values()], color=color, marker=marker, markersize=4, label=name)
        panel.axhline(LARGEST_RESIDUAL[dtype], color="0.5", linestyle=":", label="bound of the automatic choice")
        _axes(
            panel, (links for _, _, links in left), dtype, "residual ‖ID(q̈) − τ‖ / ‖τ_δ‖" if panel is panels[0] else ""
        )
    panels[0].legend(fontsize=7)
    return figure


def algorithms(rows: list[dict[str, Any]]) -> Figure:
    """The time of one call over links, by `engine.bench.lengths`."""
    figure = _figure(width=6.4)
    panel = figure.subplots()
    for name in dict.fromkeys(name for row in rows for name in row["us"]):
        form = serves.ALGORITHMS[name].devices["cpu"]
        color, marker = MARKS[name]
        points = [(row["links"], row["us"][name]) for row in rows if name in row["us"]]
        panel.loglog(
            *zip(*points, strict=True), color=color, marker=marker, markersize=4,
            linestyle="-" if form == "compiled" else "--", label=f"{name} ({form})",
        )  # fmt: skip
    _axes(panel, (row["links"] for row in rows), f"One forward dynamics call, double precision\n{_machine()}", "µs")
    panel.legend(fontsize=8)
    return figure


def threads(rows: list[dict[str, Any]]) -> Figure:
    """DCA-ABA's speed-up over the ABA, by `engine.bench.threads`: medians, and the middle half of the rounds."""
    figure = _figure(width=6.4)
    panel = figure.subplots()
    links = [row["links"] for row in rows]
    for index, count in enumerate(rows[0]["speedup"]):
        low, middle, high = np.transpose([row["speedup"][count] for row in rows])
        color = SEQUENCE[index % len(SEQUENCE)]
        label = f"{count} thread{'s' if int(count) > 1 else ''}"
        panel.semilogx(links, middle, color=color, marker="o", markersize=4, label=label)
        panel.fill_between(links, low, high, color=color, alpha=0.2, linewidth=0)
    panel.axhline(1, color="0.5", linestyle=":", label="the ABA")
    panel.set_ylim(bottom=0)
    _axes(panel, links, f"DCA-ABA, one chain, double precision\n{_machine()}", "times as fast as the ABA")
    panel.legend(fontsize=8)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a picture in the format that its name ends in. Of like figures the files are alike, byte for byte."""
    from matplotlib import rc_context

    kind = path.suffix.lower().removeprefix(".")
    unsaid = {"svg": ("Date", "Creator"), "png": ("Software",), "pdf": ("Creator", "Producer", "CreationDate")}
    settings: Any = {"svg.hashsalt": "catena", "svg.fonttype": "none", "font.family": ["DejaVu Sans", "sans-serif"]}
    with rc_context(settings), files.replacing(path) as file:
        figure.savefig(file, format=kind, dpi=150, metadata=dict.fromkeys(unsaid[kind]))


def _figure(width: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, 3.9), layout="constrained")


def _axes(panel: Axes, links: Iterable[int], title: str, y: str) -> None:
    ticks = sorted(set(links))
    panel.set_xticks(ticks, [str(n) for n in ticks], fontsize=8)
    panel.minorticks_off()
    panel.set_title(title, fontsize=9)
    panel.set_xlabel("links")
    panel.set_ylabel(y)
    panel.grid(color="0.9", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _machine() -> str:
    facts = machine()
    return f"{facts['processor']}, {facts['cores']} cores"
