"""A step of one long chain's simulation, within a run of many: DCA-ABA and ABIA on the GPU, ABIA on one core."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from rich.table import Table

from engine.bench.results import NONE, Rows
from engine.cuda.runtime import clock, device
from engine.model import Model, generate
from engine.simulation import Simulation

CASES = (*((1, n, held) for held in (False, True) for n in (50, 200, 1000, 4000)), (100, 200, False))
"""Chains, links of each, and whether joint limits and friction act."""
MOST_ROWS = len(CASES)
STEPS, RUNS, DT = 1000, 5, 1e-5
WALKED = 50
"""Steps of a run in which a thread walks the chain, or a core does."""


def run(_seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each case not finished: the median time `us` of a step in float64, by algorithm and device.

    On the GPU by its own clock over runs of 1000 steps (ABIA: 50), on the CPU over runs of 50. `apart` is how far
    DCA-ABA's velocities are from the CPU's after 50 steps, relative. Raises `device.NoGpu` where there is none.
    """
    device.require()
    for batch, n, held in CASES:
        key = f"steps-{n}x{batch}{'-held' if held else ''}"
        yield finished.get(key) or {"key": key, "links": n, "batch": batch, "held": held, **_measure(batch, n, held)}


def chain(n: int, held: bool) -> Model:
    """A random chain that nothing holds back or, `held`, with damping, friction and limits on every joint."""
    model, one = generate.chain(n), np.ones(n)
    if not held:
        return dataclasses.replace(model, friction=0 * one, damping=0 * one)
    load = np.cumsum(model.mass[::-1])[::-1]
    friction = 0.3 * load * np.random.default_rng(n).random(n)
    return dataclasses.replace(
        model, friction=friction, damping=0.01 * one, lower=-0.2 * one, upper=0.2 * one, velocity_limit=2 * one,
        effort_limit=3 * load,
    )  # fmt: skip


def _measure(batch: int, n: int, held: bool) -> dict[str, Any]:
    model = chain(n, held)
    q = np.random.default_rng(n).uniform(-0.2, 0.2, (batch, n))
    times, ends = {}, {}
    for algorithm, where, steps in (("dca", "cuda", STEPS), ("abia", "cuda", WALKED), ("abia", "cpu", WALKED)):
        threads = None if where == "cuda" else 1
        simulation = Simulation(model, batch, DT, algorithm=algorithm, q=q, device=where, timed=False, threads=threads)
        simulation.step(WALKED)
        simulation.check()
        ends[algorithm, where] = simulation.v.get() if where == "cuda" else simulation.v.copy()
        samples = [_seconds(simulation, q, steps, where) for _ in range(RUNS)]
        simulation.check()
        times[f"{algorithm} on {where}"] = float(np.median(samples)) / steps * 1e6
    theirs = ends["abia", "cpu"]
    apart = float(np.abs(ends["dca", "cuda"] - theirs).max() / np.abs(theirs).max())
    return {"us": times, "apart": apart}


def _seconds(simulation: Simulation, q: np.ndarray, steps: int, where: str) -> float:
    """Of a run from its beginning, without the host's part where it runs on the GPU."""
    simulation.reset(q)
    if where == "cuda":
        simulation.step(1)
        clock.synchronize()
        return clock.device_seconds(lambda: simulation.step(steps))
    began = perf_counter()
    simulation.step(steps)
    return perf_counter() - began


def table(rows: list[dict[str, Any]]) -> Table:
    """Cases down, algorithms across, µs a step."""
    names = list(dict.fromkeys(name for row in rows for name in row["us"]))
    shown = Table("chains × links", "limits and friction", *(f"{name}, µs" for name in names), "apart")
    for row in rows:
        cells = (f"{row['us'][name]:,.1f}" for name in names)
        shown.add_row(
            f"{row['batch']} × {row['links']}", "on" if row["held"] else "none", *cells, f"{row['apart']:.0e}"
        )
    return shown
