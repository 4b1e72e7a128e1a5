"""What the suites measured, as pictures. Matplotlib, the extra `plots`, is imported when one is drawn."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import files, serves
from engine.bench import growth, machine
from engine.bench.accuracy import Row, worst
from engine.bench.compare import Standing, Standings, times
from engine.bench.scaling import Growth
from engine.choice import LARGEST_RESIDUAL, in_words

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
    "pinocchio": ("#e69f00", "P"),
    "mujoco-warp": ("#56b4e9", "X"),
}
"""Each algorithm's and peer's colour, which colour-blind readers tell apart (M. Okabe, K. Ito 2008), and its marker."""
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


def grown(rows: list[dict[str, Any]]) -> Figure:
    """Times on the device over links and over robots, by `engine.bench.growth`; the legend has the fitted slopes."""
    figure = _figure(width=9.6)
    panels = figure.subplots(1, 2)
    titles = {"links": "One chain, over its links", "batch": f"Chains of {growth.SHORT} links, over their number"}
    for panel, (axis, title) in zip(panels, titles.items(), strict=True):
        found = growth.curves(rows, axis)
        for name, curve in found.items():
            color, marker = MARKS[name]
            sizes, steep = sorted(curve), growth.slope(curve)
            label = name if steep is None else f"{name}, slope {steep:.2f}"
            panel.loglog(
                sizes, [curve[size] for size in sizes], color=color, marker=marker, markersize=4, label=label,
                linestyle="--" if name in growth.PEERS else "-",
            )  # fmt: skip
        sizes = sorted({size for curve in found.values() for size in curve})
        _axes(panel, sizes, title, "µs" if axis == "links" else "", "links" if axis == "links" else "robots")
        panel.set_xticks(sizes[::2], [_power(size) for size in sizes[::2]])
        panel.legend(fontsize=7)
    return figure


def standings(found: Standings) -> Figure:
    """Bars of the medians of a call's time for each model, with their intervals, residuals and badges."""
    models = list(dict.fromkeys(row.model for row in found.rows))
    counts = [sum(row.model == model for row in found.rows) for model in models]
    figure = _figure(width=8.4, height=0.9 + 0.45 * len(models) + 0.27 * len(found.rows))
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
    figure.suptitle(_machine(), fontsize=8, color="0.4")
    return figure


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
    figure = _figure(width=6.4)
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
            f"{crossing.size:.3g}", (crossing.size, height), textcoords="offset points",
            xytext=(0, -14 if above % 2 else 8), ha="center", fontsize=7, color="0.3",
        )  # fmt: skip
    sizes = sorted({point.size for point in found.points})
    _axes(panel, sizes, _machine(), "µs of a call, median", "links" if found.axis == "links" else "robots")
    panel.set_xticks(sizes, [_power(size) for size in sizes], fontsize=8)
    panel.legend(fontsize=7)
    return figure


def _mark(algorithm: str, index: int = 0) -> tuple[str, str]:
    """An algorithm's colour and marker; of one that is a user's, one of the sequence."""
    return MARKS.get(algorithm.partition(" (")[0], (SEQUENCE[index % len(SEQUENCE)], "*"))


def _power(size: int) -> str:
    return f"$2^{{{size.bit_length() - 1}}}$" if size > 4096 else f"{size}"


def save(figure: Figure, path: Path) -> None:
    """Write a picture in the format that its name ends in. Of like figures the files are alike, byte for byte."""
    from matplotlib import rc_context

    kind = path.suffix.lower().removeprefix(".")
    unsaid = {"svg": ("Date", "Creator"), "png": ("Software",), "pdf": ("Creator", "Producer", "CreationDate")}
    settings: Any = {"svg.hashsalt": "catena", "svg.fonttype": "none", "font.family": ["DejaVu Sans", "sans-serif"]}
    with rc_context(settings), files.replacing(path) as file:
        figure.savefig(file, format=kind, dpi=150, metadata=dict.fromkeys(unsaid[kind]))


def _figure(width: float, height: float = 3.9) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _axes(panel: Axes, links: Iterable[int], title: str, y: str, x: str = "links") -> None:
    ticks = sorted(set(links))
    panel.set_xticks(ticks, [str(n) for n in ticks], fontsize=8)
    panel.minorticks_off()
    panel.set_title(title, fontsize=9)
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    panel.grid(color="0.9", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _machine() -> str:
    facts = machine()
    return f"{facts['processor']}, {facts['cores']} cores"
