"""The measurement on which the automatic choice rests: every compiled algorithm on generated chains and trees."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engine.bench import timer
from engine.bench.child import Children
from engine.bench.states import State, residual, state
from engine.cuda.runtime import arrays, clock
from engine.dynamics import ForwardDynamics
from engine.model import Model, generate
from engine.selection import capabilities, choice, shipped, timings
from engine.selection.timings import Case, Measurements, Row, Shape, Work
from engine.simulation import Simulation, advancing


class Plan(NamedTuple):
    """What is measured on a device."""

    powers: Mapping[Shape, Sequence[int]]
    """Numbers of links, as powers of two."""
    batches: Sequence[int]
    largest: int
    """Bodies in a batch, beyond which nothing is measured: what follows is in proportion."""


PLANS: Mapping[str, Plan] = {
    "cpu": Plan({"chain": range(14), "tree": range(11)}, (1, 2, 8, 64), 1 << 16),
    "cuda": Plan({"chain": range(0, 13, 2), "tree": range(2, 13, 2)}, (1, 64, 4096), 1 << 21),
}
"""On a GPU fewer lengths, since each is compiled for."""
HOPELESS = 10.0
"""Once an algorithm takes so many times the fastest's time, and more so from length to length, it is given up, if it
is one with a largest sensible size."""
STEPS = 16
"""Steps in one call, as a window takes them between two pictures, unless they take long."""
SECONDS, ROUNDS = 0.006, 7
"""Of one algorithm on one case, at least; it is split into rounds, in which the algorithms take turns."""

_Candidate = tuple[str, str, str, int]


def measure_algorithms(
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    device: str = "cpu",
    stop: Callable[[], bool] = lambda: False,
    ship: str | None = None,
) -> Measurements | None:
    """Measure the algorithms on this machine for the automatic choice, and remember it on disk.

    With `ship`, a name for the machine, the table goes to those that ship with Catena instead (`selection.shipped`).

    On "cpu" it takes some 20 s, and two minutes more the first time, with all that has to be compiled; on "cuda" some
    minutes, since kernels are compiled for each length; a call's
    time there is that until the answer stands in the GPU's memory, from arguments that stood there. `progress` is
    called with the number of cases done and that of all. It is done in a process of its own, which is ended at once
    where `stop` answers True: then the answer is None. Whatever interrupts it leaves the table on disk as it was.
    """
    cases, rows = plan(device), list[Row]()
    progress(0, len(cases))
    with Children(1) as children:
        measured = chain(children.starting(stop), children[0].work(_measured, cases, device, stop=stop))
        done = 0
        for answer in measured:
            if isinstance(answer, list):
                rows += answer
                done += 1
                if done < len(cases):
                    progress(done, len(cases))
    if done < len(cases):
        return None
    table = Measurements(timings.table_path(device), tuple(rows), device=device)
    if ship is None:
        table.save()
    else:
        shipped.write(shipped.FOLDER / f"{device}-{ship.replace(' ', '-')}.json", table, shipped.machine(device, ship))
    progress(len(cases), len(cases))
    return table


def _measured(cases: Sequence[Case], device: str) -> Iterator[list[Row]]:
    """The rows of each case in turn."""
    given_up = set[_Candidate]()
    lag: dict[_Candidate, float] = {}
    for case in cases:
        found = measure(case, device, given_up)
        calls = [row for row in found if row.work == "call"]
        fastest = min((row.seconds for row in calls), default=0.0)
        for row in calls:
            candidate = _candidate(row.algorithm, case)
            before, lag[candidate] = lag.get(candidate, np.inf), row.seconds / fastest
            if capabilities.ALGORITHMS[row.algorithm].largest and lag[candidate] > max(HOPELESS, before):
                given_up.add(candidate)
        yield found


def summary(device: str = "cpu") -> list[str]:
    """What is chosen on this machine's device, a line for each shape of robot, batch and number type."""
    shapes = {"chains": generate.chain(2), "trees": generate.tree(4, branching=1)}
    cases = product(shapes, ("float64", "float32"), (1, 64))
    changes = {case: choice.changes(shapes[case[0]], case[2], case[1], device) for case in cases}
    return [
        f"{device}, {shape}, batch {batch}, {dtype}: {choice.describe(found)}"
        for (shape, dtype, batch), found in changes.items()
        if found
    ]


def plan(device: str = "cpu") -> list[Case]:
    """The cases that are measured, each family from short to long."""
    powers, batches, largest = PLANS[device]
    return [
        Case(shape, 1 << power, batch, dtype)
        for shape in powers
        for dtype in ("float64", "float32")
        for batch in batches
        for power in powers[shape]
        if batch << power <= largest
    ]


def _candidate(algorithm: str, case: Case) -> _Candidate:
    return algorithm, case.shape, case.dtype, case.batch


def measure(case: Case, device: str, given_up: Container[_Candidate] = ()) -> list[Row]:
    """Every candidate's call of forward dynamics, and its step where a simulation takes it, side by side."""
    model = generate.chain(case.links) if case.shape == "chain" else generate.tree(case.links)
    at = State(*(x.astype(case.dtype) for x in state(model, np.random.default_rng(0), case.batch)))
    arguments = at if case.batch > 1 else State(*(x[0] for x in at))
    found: list[tuple[str, Work, float]] = []
    candidates = []
    for name in choice.candidates(model, device):
        row = capabilities.ALGORITHMS[name]
        too_large = row.largest is not None and case.links > row.largest
        chains_alone = not row.trees or "trees" in row.except_on.get(device, ())
        if too_large or (case.shape == "tree" and chains_alone) or _candidate(name, case) in given_up:
            continue
        with suppress(MemoryError):  # of the GPU: what finds no room there has no rows
            fd = ForwardDynamics(model, case.batch, name, device, case.dtype)
            call, answer = _on_gpu(fd, arguments) if device == "cuda" else _on_cpu(fd, arguments)
            left = float(np.median(residual(model, at, np.reshape(answer(), (case.batch, -1)))))
            if not np.isfinite(left):
                continue
            found.append((name, "call", left))
            candidates.append((timer.repeated(call), 1))
            if name in advancing(model)[device] and (device == "cuda" or case.dtype == "float64"):
                steps, count = _steps(model, case, name, device)
                found.append((name, "step", left))
                candidates.append((timer.repeated(steps), count))
    times = np.median(timer.alternate(candidates, SECONDS * len(candidates), ROUNDS), axis=1) if found else ()
    return [
        Row(*case[:3], case.dtype, name, float(time), left, work)
        for (name, work, left), time in zip(found, times, strict=True)
    ]


_Call = Callable[[], Any]


def _steps(model: Model, case: Case, algorithm: str, device: str) -> tuple[_Call, int]:
    """What takes steps of robots that start at rest and waits for them, and how many: fewer where they take long."""
    simulation = Simulation(model, case.batch, 1e-4, algorithm=algorithm, device=device, dtype=case.dtype, timed=False)
    simulation.step()
    simulation.check()
    start = perf_counter()
    simulation.step()
    simulation.check()
    steps = max(1, min(STEPS, int(SECONDS / (perf_counter() - start))))

    def call() -> None:
        simulation.step(steps)
        simulation.check()
        simulation.reset()

    return call, steps


def _on_cpu(fd: ForwardDynamics, arguments: State) -> tuple[_Call, _Call]:
    """What to time, and what answers its result."""
    out = fd(*arguments)
    return partial(fd, *arguments, out=out), lambda: out


def _on_gpu(fd: ForwardDynamics, arguments: State) -> tuple[_Call, _Call]:
    q, v, tau = (arrays.to_device(x) for x in arguments)
    out = fd(q, v, tau)

    def call() -> None:
        fd(q, v, tau, out=out)
        clock.synchronize()

    return call, lambda: arrays.to_host(out)
