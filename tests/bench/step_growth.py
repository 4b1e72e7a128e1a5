"""Times of a simulation's step over the numbers of links and of robots, by every algorithm and device."""

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from engine.bench.curves import Curve, slope
from engine.bench.results import NONE, Rows, measured_rows
from engine.cuda.runtime import device
from engine.selection import capabilities
from engine.simulation import Simulation
from engine.validation import Array
from tests.bench import growth, steps

LINKS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
BATCHES = tuple(1 << power for power in range(0, 21, 2))
SIZES = {"links": LINKS, "batch": BATCHES}
HOPELESS = 0.2
"""Seconds of one step, from which on a curve is not followed further."""
FOR_A_RUN, MAX_STEPS, RUNS = 0.02, 500, 3
"""Seconds that a run of steps takes, the steps of one at most, and the runs whose median counts."""
MAX_ROWS = 2 * len(capabilities.ALGORITHMS) * (len(LINKS) + len(BATCHES)) + 1
"""The findings among them."""


def run(_seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each point, those finished as they are: the candidate, "dca on cuda", and the µs of a batch's step.

    One chain of 1 to 10 000 links, and 1 to 2²⁰ chains of ten, in double precision, from rest, with nothing that holds
    them; on the CPU on all its cores. The last row holds the `findings`: slopes and crossings. Raises `device.NoGpu`
    where no GPU can be used.
    """
    device.require()
    rows = (row for axis, sizes in SIZES.items() for row in _curves(axis, sizes, finished))
    yield from growth.with_findings(rows, findings)


def _curves(axis: str, sizes: tuple[int, ...], finished: Rows) -> Iterator[dict[str, Any]]:
    given_up: set[str] = set()
    for size in sizes:
        links, batch = (size, 1) if axis == "links" else (growth.SHORT, size)
        model = steps.chain(links, False)
        q = np.random.default_rng(links).uniform(-0.2, 0.2, (batch, links))
        measures = {
            name: partial(_measured, model, q, algorithm, where)
            for where in ("cuda", "cpu") for algorithm in steps.candidates(model, where)
            if (name := f"{algorithm} on {where}") not in given_up
        }  # fmt: skip
        parts = [(f"{axis}-{size}-{name}", measure) for name, measure in measures.items()]
        for name, row in zip(measures, measured_rows(parts, finished), strict=True):
            if row.get("us", np.inf) * 1e-6 > HOPELESS:
                given_up.add(name)
            point = {"axis": axis, "candidate": name, "links": links, "batch": batch}
            yield row if row["key"] in finished else row | point


def _measured(model: Any, q: Array, algorithm: str, where: str) -> dict[str, Any]:
    """The median µs of a step in runs of some; on the GPU by its own clock, but for what its host has to do."""
    simulation = Simulation(model, len(q), steps.DT, algorithm=algorithm, q=q, device=where, timed=False)
    simulation.step()
    simulation.check()
    once = steps.run_seconds(simulation, q, 1, where)
    count = int(np.clip(FOR_A_RUN / once, 1, MAX_STEPS))
    times = [steps.run_seconds(simulation, q, count, where) for _ in range(RUNS if once < HOPELESS else 1)]
    simulation.check()
    return {"us": float(np.median(times)) / count * 1e6, "steps": count}


def findings(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return slopes by axis and candidate, and sentences on crossings: on each device, and the best of both."""
    slopes: dict[str, Any] = {}
    words: list[str] = []
    for axis in SIZES:
        found = growth.curves(rows, axis)
        slopes[axis] = {name: slope(curve) for name, curve in found.items()}
        pairs = [pair for pair in combinations(found, 2) if pair[0].split()[-1] == pair[1].split()[-1]]
        here, there = "the best on cuda", "the best on cpu"
        best = {here: _best(found, "cuda"), there: _best(found, "cpu")}
        words += [growth.said(axis, one, other, found) for one, other in pairs]
        words.append(growth.said(axis, here, there, best))
    return {"slopes": slopes, "crossings": [word for word in words if word]}


def _best(found: dict[str, Curve], where: str) -> Curve:
    """The least time at each size, of those on a device."""
    curves = [curve for name, curve in found.items() if name.endswith(where)]
    return {
        size: min(curve[size] for curve in curves if size in curve) for size in sorted({s for c in curves for s in c})
    }


def markdown(rows: list[dict[str, Any]]) -> str:
    """A table of µs for each axis, with the slopes, and the crossings in words."""
    reported = rows[-1] if "crossings" in rows[-1] else findings(rows)
    return growth.tables(rows, reported)
