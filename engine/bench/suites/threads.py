"""DCA-ABA over threads and links, beside the ABA and Pinocchio, for one serial chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

from engine.bench import intervals
from engine.bench.peers import pinocchio
from engine.bench.results import NONE, Rows
from engine.bench.timer import alternate, repeater
from engine.cpu.runtime.cores import cores
from engine.dynamics import ForwardDynamics
from engine.model import Model, generate

THREADS = (1, 2, 4, 8, 16)
LINKS = (500, 1000, 2000, 4000, 8000)
MAX_PEER = 500
"""Links beyond which Pinocchio is skipped: its model's memory grows with their cube."""


def run(seconds: float, links: tuple[int, ...] = LINKS, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """Measure median times in µs for each unfinished number of links, by about `seconds` of turns.

    `speedup` holds, for each number of threads up to that of cores, the 25, 50 and 75 % quantiles of the ABA's time
    over DCA-ABA's in the same round, `aba_ratio` those of the ABA's over Pinocchio's.
    """
    threads = tuple(count for count in THREADS if count <= cores())
    for n in links:
        key = f"links-{n}"
        yield finished.get(key) or {"key": key, **_measure(generate.chain(n), threads, seconds)}


def _measure(model: Model, threads: tuple[int, ...], seconds: float) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    q, v = model.random(rng), rng.uniform(-1, 1, model.nv) * 10 / model.nv
    tau, out = rng.uniform(-1, 1, model.nv), np.empty(model.nv)
    solvers = [ForwardDynamics(model, algorithm="abia")]
    solvers += [ForwardDynamics(model, algorithm="dca", threads=count) for count in threads]
    calls: list[Callable[[], Any]] = [partial(fd, q, v, tau, out) for fd in solvers]
    peer = pinocchio.pinocchio_aba(model) if model.nv <= MAX_PEER else None
    if peer is not None:
        calls.append(partial(peer.aba, *peer.states(q, v, tau)))
    times = alternate([(repeater(call), 1) for call in calls], seconds)
    medians = np.median(times, axis=1) * 1e6
    row: dict[str, Any] = {
        "links": model.nv,
        "aba_us": float(medians[0]),
        "dca_us": {str(count): float(medians[i]) for i, count in enumerate(threads, 1)},
        "spread": {
            "aba_us": intervals.of_median(times[0] * 1e6),
            **{f"dca_us on {count}": intervals.of_median(times[i] * 1e6) for i, count in enumerate(threads, 1)},
        },
        "speedup": {str(count): _quartiles(times[0] / times[i]) for i, count in enumerate(threads, 1)},
    }
    if peer is not None:
        row |= {"pinocchio_us": float(medians[-1]), "aba_ratio": _quartiles(times[0] / times[-1])}
    return row


def _quartiles(values: np.ndarray) -> list[float]:
    return [float(value) for value in np.quantile(values, (0.25, 0.5, 0.75))]


def table(rows: list[dict[str, Any]]) -> Table:
    """Format the rows: times in µs, and the speed-up over the ABA."""
    counts = tuple(rows[0]["dca_us"])
    times = Table("links", "Pinocchio", "ABA", *(f"DCA-ABA on {c}" for c in counts), box=None, title="µs a call")
    for row in rows:
        dca = (f"{row['dca_us'][count]:.1f} ({row['speedup'][count][1]:.2f} ×)" for count in counts)
        peer = f"{row['pinocchio_us']:.1f}" if "pinocchio_us" in row else "–"
        times.add_row(f"{row['links']}", peer, f"{row['aba_us']:.1f}", *dca)
    return times
