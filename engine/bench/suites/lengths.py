"""Every algorithm over the number of links: one forward dynamics call for one serial chain, and its residual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from engine.bench import intervals, timer
from engine.bench.results import NONE, Rows
from engine.bench.states import residual, state
from engine.dynamics import ForwardDynamics
from engine.model import Model, generate
from engine.selection import capabilities

LINKS = tuple(1 << power for power in range(1, 13))
ROUNDS = 7
"""Turns within the time of a case; a turn of the slowest algorithms takes a second."""


def run(seconds: float, links: Iterable[int] = LINKS, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """Time, for each unfinished number of links, every algorithm that supports the chain, by about `seconds` of turns.

    `us` holds the medians of a call's time in µs, `residual` ‖ID(q̈) − τ‖ / ‖τ_δ‖, both by algorithm. An algorithm
    beyond its largest size is skipped.
    """
    for n in links:
        key = f"links-{n}"
        yield finished.get(key) or {"key": key, **_measure(generate.chain(n), seconds)}


def _measure(model: Model, seconds: float) -> dict[str, Any]:
    at = state(model, np.random.default_rng(0))
    q, v, tau = (x[0] for x in at)
    calls, left = {}, {}
    for name in capabilities.algorithms(model, "cpu"):
        largest = capabilities.ALGORITHMS[name].largest
        if largest is not None and model.nv > largest:
            continue
        fd = ForwardDynamics(model, algorithm=name, device="cpu")
        out = fd(q, v, tau)
        left[name] = float(residual(model, at, out[None])[0])
        calls[name] = timer.repeater(partial(fd, q, v, tau, out=out))
    samples = timer.alternate([(call, 1) for call in calls.values()], seconds, ROUNDS) * 1e6
    times = {name: float(np.median(us)) for name, us in zip(calls, samples, strict=True)}
    spread = {name: intervals.of_median(us) for name, us in zip(calls, samples, strict=True)}
    return {"links": model.nv, "us": times, "residual": left, "spread": spread}


def markdown(rows: list[dict[str, Any]]) -> str:
    """Format two tables, times and residuals: algorithms down, lengths across."""
    names = dict.fromkeys(name for row in rows for name in row["us"])
    heads = " | ".join(str(row["links"]) for row in rows)
    lines = []
    for title, key, form in (("µs a call", "us", _short), ("residual", "residual", "{:.0e}".format)):
        lines += ["", f"| {title} | {heads} |", "| --- |" + " ---: |" * len(rows)]
        for name in names:
            cells = (form(row[key][name]) if name in row[key] else "" for row in rows)
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join([*lines[1:], ""])


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
