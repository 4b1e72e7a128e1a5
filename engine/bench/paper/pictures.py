"""The papers' figures, with their axes, from these measurements; Matplotlib is imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.bench.paper.claims import NAMES, OF_YANG, SPEEDUP, Measured
from engine.bench.paper.experiments import MAX_CALL, PROCESSORS, Candidate, Experiment
from engine.figures import MARKS, SEQUENCE
from engine.selection import capabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXES = {"links": "Link Number", "batch": "Group Number"}
LIMIT = f"{MAX_CALL:g} s a call, the limit here"
CLOCKS = {"call_us": "a call, until its result is available", "device_us": "of that on the GPU, by its own clock"}


def label(measured: Measured, experiment: Experiment, candidate: Candidate) -> str:
    """Return the papers' name of a candidate, with its distinction in an experiment."""
    name, where = NAMES[candidate.algorithm], candidate.device
    if experiment is PROCESSORS:
        count = candidate.threads
        return name if count is None else f"{name}, {count} thread{'s' if count > 1 else ''}"
    if where == "cpu" and measured.plan.device != "cpu":
        return f"{name}, one CPU core"
    if capabilities.ALGORITHMS[candidate.algorithm].devices[where] == "text":
        return f"{name} (text on NumPy)"
    return name


def times(measured: Measured, experiment: Experiment, machine: str) -> Figure:
    """Plot the computation time over links or robots, log-log: of the call and, if available, on the GPU."""
    from matplotlib.figure import Figure

    candidates = measured.plan.candidates(experiment)
    clocks = [clock for clock in CLOCKS if any(measured.curve(experiment, x, clock) for x in candidates)] or [*CLOCKS][
        :1
    ]
    figure = Figure(figsize=(1.2 + 5.4 * len(clocks), 4.6), layout="constrained")
    figure.suptitle(f"{experiment.source}: {experiment.title}\n{machine}", fontsize=10)
    panels = figure.subplots(1, len(clocks), sharex=True, sharey=True, squeeze=False)[0]
    for panel, clock in zip(panels, clocks, strict=True):
        for candidate in candidates:
            _draw(panel, measured, experiment, candidate, clock)
        _of_the_paper(panel, experiment)
        panel.set_title(CLOCKS[clock], fontsize=9)
        panel.set_xlabel(AXES[experiment.axis])
        panel.set_ylabel("Computation Time (ms)" if clock == "call_us" else "")
        panel.grid(color="0.88", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    rows = [facts for x in candidates for facts in measured.facts(experiment, x).values()]
    if any("the limit here" in facts.get("left_out", "") for facts in rows):
        panels[0].axhline(MAX_CALL * 1e3, color="0.3", linestyle=":", linewidth=0.9, label=LIMIT)
    figure.legend(
        *panels[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def _draw(panel: Axes, measured: Measured, experiment: Experiment, candidate: Candidate, clock: str) -> None:
    curve = measured.curve(experiment, candidate, clock)
    beside = candidate.device != measured.plan.device
    color, marker = MARKS[candidate.algorithm]
    if curve:
        panel.loglog(
            [*curve], [us / 1e3 for us in curve.values()], color="0.55" if beside else color, marker=marker,
            markersize=5, linestyle=":" if beside else "-" if candidate.algorithm in OF_YANG else "--",
            linewidth=1.8 if candidate.algorithm in OF_YANG else 1.2, label=label(measured, experiment, candidate),
        )  # fmt: skip


def _of_the_paper(panel: Axes, experiment: Experiment) -> None:
    """Shade the paper's range of sizes; the rest is ours."""
    assert experiment.largest is not None
    low, high = panel.get_xlim()
    panel.axvspan(low, experiment.largest, color="0.95", zorder=0, label="the paper's sizes")
    panel.set_xlim(low, max(high, experiment.largest))


def speedup(measured: Measured, experiment: Experiment, machine: str) -> Figure:
    """Plot DCA-ABA's speed-up over the ABA over the links, by threads: medians and their intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 4.6), layout="constrained")
    figure.suptitle(f"{experiment.source}: {experiment.title}\n{machine}", fontsize=10)
    panel = figure.subplots()
    for index, candidate in enumerate(x for x in measured.plan.candidates(experiment) if x.threads):
        gains = measured.gains(experiment, candidate, Candidate("abia", "cpu"))
        color = SEQUENCE[index % len(SEQUENCE)]
        words = label(measured, experiment, candidate)
        panel.semilogx([*gains], [x.middle for x in gains.values()], color=color, marker="o", markersize=4, label=words)
        low, high = [x.low for x in gains.values()], [x.high for x in gains.values()]
        panel.fill_between([*gains], low, high, color=color, alpha=0.18, linewidth=0)
    panel.axhline(SPEEDUP, color="0.3", linestyle="--", linewidth=0.9, label=f"{SPEEDUP}: [B] on four processors")
    panel.axhline(1, color="0.3", linestyle=":", linewidth=0.9, label="1: the ABA")
    panel.set_ylim(bottom=0)
    panel.set_xlabel(AXES["links"])
    panel.set_ylabel("times as fast as the ABA on one core")
    panel.grid(color="0.88", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)
    figure.legend(fontsize=8, loc="outside lower center", ncols=3, frameon=False)
    return figure
