"""A step of a chain's or a tree's simulation, within a run of many: DCA-ABA and ABIA on the GPU, ABIA on one core."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from rich.table import Table

from engine.bench.results import NONE, Rows
from engine.bench.suites import trees
from engine.cuda.runtime import clock, device
from engine.model import Model, generate
from engine.simulation import Simulation

CASES = (*((1, n, held) for held in (False, True) for n in (50, 200, 1000, 4000)), (100, 200, False))
"""Chains, links of each, and whether joint limits and friction act."""
TREES = (("binary", 255), ("binary", 4096), ("random", 1024), ("snake", 1000))
"""Robots that branch or float, as `trees.Case` makes them: each without anything on its joints, and with."""
MOST_ROWS = len(CASES) + 2 * len(TREES)
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
        row = {"key": key, "shape": "chain", "links": n, "batch": batch, "held": held}
        yield finished.get(key) or {**row, **_measure(batch, chain(n, held))}
    for (shape, n), held in product(TREES, (False, True)):
        key = f"steps-{shape}-{n}{'-held' if held else ''}"
        row = {"key": key, "shape": shape, "links": n, "batch": 1, "held": held}
        yield finished.get(key) or {**row, **_measure(1, tree(shape, n, held))}


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


def tree(shape: str, n: int, held: bool) -> Model:
    """The same of a robot of that shape; nothing acts on the joint by which it floats, if it does."""
    model = trees.Case(shape, n).model()
    rows, near = model.constrained, np.where(model.q_of_v >= 0, 0.2, np.inf)
    if not held:
        return dataclasses.replace(model, friction=0.0 * rows, damping=0.0 * rows)
    load = model.mass.copy()
    for i in range(n - 1, 0, -1):
        if model.parent[i] >= 0:
            load[model.parent[i]] += load[i]
    load = np.repeat(load, np.diff([*model.v_start, model.nv]))
    return dataclasses.replace(
        model, friction=0.3 * load * np.random.default_rng(n).random(model.nv) * rows, damping=0.01 * rows, lower=-near,
        upper=near, velocity_limit=np.where(rows, 2.0, np.inf), effort_limit=np.where(rows, 3 * load, np.inf),
    )  # fmt: skip


def _measure(batch: int, model: Model) -> dict[str, Any]:
    rng, rows = np.random.default_rng(len(model.parent)), model.q_of_v >= 0
    q = np.tile(model.neutral(), (batch, 1))
    q[:, model.q_of_v[rows]] = rng.uniform(-0.2, 0.2, (batch, rows.sum()))
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
    shown = Table("robots × links", "limits and friction", *(f"{name}, µs" for name in names), "apart")
    for row in rows:
        cells = (f"{row['us'][name]:,.1f}" for name in names)
        size = f"{row['batch']} × {row['links']}{_kind(row)}"
        shown.add_row(size, "on" if row["held"] else "none", *cells, f"{row['apart']:.0e}")
    return shown


def _kind(row: dict[str, Any]) -> str:
    """The shape of a row's robots, where they are no chains."""
    return "" if row.get("shape", "chain") == "chain" else f", {row['shape']}"
