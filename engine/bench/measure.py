"""The measurement on which the automatic choice rests: every compiled algorithm on generated chains and trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from engine import bench, choice, generate, measurements, serves
from engine.bench.accuracy import State, residual, state
from engine.dynamics import ForwardDynamics
from engine.measurements import Case, Measurements, Row, Shape

LENGTHS: dict[Shape, int] = {"chain": 13, "tree": 10}
"""Measured are 1, 2, 4, … links, up to this power of two."""
BATCHES = (1, 2, 8, 64)
LARGEST = 1 << 16
"""Bodies in a batch, beyond which nothing is measured: what follows is in proportion."""
HOPELESS = 10.0
"""Once an algorithm takes so many times the fastest's time, and more so from length to length, it is given up, if it
is one with a largest sensible size."""
SECONDS, ROUNDS = 0.006, 7
"""Of one algorithm on one case, at least; it is split into rounds, in which the algorithms take turns."""

_Contestant = tuple[str, str, str, int]


def measure_algorithms(progress: Callable[[int, int], None] = lambda _done, _all: None) -> Measurements:
    """Measure the algorithms on this machine for the automatic choice, and remember it on disk; some 10 s.

    `progress` is called with the number of cases done and that of all. Whatever interrupts it leaves the table on disk
    as it was.
    """
    cases, rows, given_up = plan(), list[Row](), set[_Contestant]()
    lag: dict[_Contestant, float] = {}
    for done, case in enumerate(cases):
        progress(done, len(cases))
        found = _measure(case, given_up)
        fastest = min(row.seconds for row in found)
        for row in found:
            contestant = _contestant(row.algorithm, case)
            before, lag[contestant] = lag.get(contestant, np.inf), row.seconds / fastest
            if serves.ALGORITHMS[row.algorithm].largest and lag[contestant] > max(HOPELESS, before):
                given_up.add(contestant)
        rows += found
    table = Measurements(measurements.table_path(), tuple(rows))
    table.save()
    progress(len(cases), len(cases))
    return table


def summary() -> list[str]:
    """What is chosen on this machine, a line for each shape of robot, batch and number type."""
    return [
        f"{shape}, batch {batch}, {dtype}: {choice.describe(choice.changes(model, batch, dtype))}"
        for shape, model in {"chains": generate.chain(2), "trees": generate.tree(4, branching=1)}.items()
        for dtype in ("float64", "float32")
        for batch in (1, 64)
    ]


def plan() -> list[Case]:
    """The cases that are measured, each family from short to long."""
    return [
        Case(shape, 1 << power, batch, dtype)
        for shape, powers in LENGTHS.items()
        for dtype in ("float64", "float32")
        for batch in BATCHES
        for power in range(powers + 1)
        if batch << power <= LARGEST
    ]


def _contestant(algorithm: str, case: Case) -> _Contestant:
    return algorithm, case.shape, case.dtype, case.batch


def _measure(case: Case, given_up: set[_Contestant]) -> list[Row]:
    model = generate.chain(case.links) if case.shape == "chain" else generate.tree(case.links)
    at = State(*(x.astype(case.dtype) for x in state(model, np.random.default_rng(0), case.batch)))
    arguments = at if case.batch > 1 else State(*(x[0] for x in at))
    names, contestants, residuals = [], [], []
    for name in choice.candidates(model):
        row = serves.ALGORITHMS[name]
        too_large = row.largest is not None and case.links > row.largest
        if too_large or (case.shape == "tree" and not row.trees) or _contestant(name, case) in given_up:
            continue
        fd = ForwardDynamics(model, case.batch, name, dtype=case.dtype)
        out = fd(*arguments)
        names.append(name)
        residuals.append(float(np.median(residual(model, at, np.reshape(out, (case.batch, -1))))))
        contestants.append((bench.repeated(partial(fd, *arguments, out=out)), 1))
    times = np.median(bench.alternate(contestants, SECONDS * len(contestants), ROUNDS), axis=1)
    return [
        Row(*case[:3], case.dtype, name, float(time), left)
        for name, time, left in zip(names, times, residuals, strict=True)
    ]
