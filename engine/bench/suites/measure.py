"""Measure the timings for the automatic choice: every compiled algorithm on generated chains and trees."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engine import files
from engine.bench import timer
from engine.bench.states import State, residual, state
from engine.child_process import Children
from engine.compile import finish_compiling
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import arrays, clock
from engine.device_arrays import to_host
from engine.dynamics import ForwardDynamics
from engine.model import Model, generate
from engine.selection import capabilities, choice, shipped, timings
from engine.selection.steppers import advancing, dtypes
from engine.selection.timings import Case, Measurements, Row, Shape, Work
from engine.simulation import Simulation


class SuitePlan(NamedTuple):
    """The measurements on a device."""

    powers: Mapping[Shape, Sequence[int]]
    """Numbers of links, as powers of two."""
    batches: Sequence[int]
    largest: int
    """Maximum number of bodies in a batch; beyond it, time is proportional."""


PLANS: Mapping[str, SuitePlan] = {
    "cpu": SuitePlan({"chain": range(14), "tree": range(11)}, (1, 2, 8, 64), 1 << 16),
    "cuda": SuitePlan({"chain": range(0, 13, 2), "tree": range(2, 13, 2)}, (1, 64, 4096), 1 << 21),
}
"""On a GPU there are fewer lengths, since each is compiled separately."""
TOO_SLOW = 10.0
"""Ratio to the fastest at which an algorithm that has a largest size is dropped, if the ratio grows with length."""
STEPS = 16
"""Steps in one call, as taken between two frames of a window, unless they take long."""
SECONDS, ROUNDS = 0.006, 7
"""Minimum for one algorithm on one case; it is split into rounds, in which the algorithms take turns."""

SETTLED = 6e-4
"""Untimed seconds before a turn: slightly longer than idle threads spin for another call."""
WARM_UP_SECONDS = 0.1
"""Seconds of calls after which a GPU has left its idle clocks."""

PROCESSES = {"cpu": 4, "cuda": 8}
"""Maximum number of processes that compile in parallel."""
MODEST = 64
"""Links of the chains and trees with which a CPU's code is compiled: enough for threads to share them."""

_Candidate = tuple[str, str, str, int]


class Code(NamedTuple):
    """The compiled code of some cases' calls or steps, most of it common to them."""

    algorithm: str
    work: Work
    cases: list[Case]


def measure_algorithms(
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    device: str = "cpu",
    stop: Callable[[], bool] = lambda: False,
    ship: str | None = None,
    nice: int = 0,
) -> Measurements | None:
    """Measure the algorithms on this machine, on `device`, for the automatic choice, and remember it on disk.

    With `ship`, a name for the machine, the table goes to those that ship with Catena instead (`selection.shipped`).

    First all that has to be compiled is, in some processes side by side, or in one at low priority for `nice` above 0;
    then one process measures. On "cpu" that takes some 20 s, and the first time a minute more on two cores; on "cuda",
    where kernels are compiled for each length, a minute or two. A call's time there is that until the answer stands in
    the GPU's memory, from arguments that stood there. `progress` is called with the number of parts done and that of
    all. Its processes are ended at once where `stop` returns True: then the answer is None. Whatever interrupts it
    leaves the table on disk as it was. Raises OSError, before anything is measured where others could write to it.
    """
    if ship is None:
        files.make_own(timings.table_path(device).parent)
    cases, parts, rows = plan(device), code(device), list[Row]()
    every = len(parts) + len(cases)
    progress(0, every)
    with Children(1 if nice else max(1, min(PROCESSES[device], cores()))) as children:
        for _ in children.starting(stop):
            pass
        for done in children.share(_compiled, [(part, device, nice) for part in parts], stop):
            progress(done, every)
        done = 0
        for output in () if stop() else children[0].work(_measured, cases, device, nice, stop=stop):
            if isinstance(output, list):
                rows += output
                done += 1
                if done < len(cases):
                    progress(len(parts) + done, every)
    if done < len(cases):
        return None
    table = Measurements(timings.table_path(device), tuple(rows), device=device)
    if ship is None:
        table.save()
    else:
        shipped.write(table, shipped.machine(device, ship))
    progress(every, every)
    return table


def code(device: str = "cpu") -> list[Code]:
    """Return the code to compile for the measurement, in independent parts.

    On a CPU that is one case for each number type and shape, on a GPU every length.
    """
    cases = plan(device)
    if device == "cpu":
        last = {(case.shape, case.dtype): case for case in cases if case.links <= MODEST}  # of the largest batch
        cases = list(last.values())
    parts: dict[tuple[Any, ...], Code] = {}
    for case in cases:
        for name, work in _works(case, device):
            part = parts.setdefault((case.shape, case.links, case.dtype, name, work), Code(name, work, []))
            part.cases.append(case)
    return list(parts.values())


def _compiled(part: Code, device: str, nice: int) -> Iterator[Case]:
    """Compile code, to be read from disk when it is measured; yield each case that is done."""
    _set_priority(nice)
    for case in part.cases:
        with suppress(MemoryError):
            model = _model(case)
            if part.work == "step":
                simulation(case, part.algorithm, device).step()
            else:
                fd = ForwardDynamics(model, case.batch, part.algorithm, device, case.dtype)
                if device == "cpu" or case.batch == 1:
                    fd(*_state(model, case))
        finish_compiling()
        yield case


def _set_priority(nice: int) -> None:
    if nice and hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, 0, nice)


def _measured(cases: Sequence[Case], device: str, nice: int = 0) -> Iterator[list[Row]]:
    """Yield the rows of each case."""
    _set_priority(nice)
    given_up = set[_Candidate]()
    lag: dict[_Candidate, float] = {}
    for case in cases:
        rows = measure(case, device, given_up)
        calls = [row for row in rows if row.work == "call"]
        fastest = min((row.seconds for row in calls), default=0.0)
        for row in calls:
            candidate = _candidate(row.algorithm, case)
            before, lag[candidate] = lag.get(candidate, np.inf), row.seconds / fastest
            if capabilities.ALGORITHMS[row.algorithm].largest and lag[candidate] > max(TOO_SLOW, before):
                given_up.add(candidate)
        yield rows


def summary(device: str = "cpu") -> list[str]:
    """Describe the choices on this machine's device, a line per shape of robot, batch and number type."""
    shapes = {"chains": generate.chain(2), "trees": generate.tree(4, branching=1)}
    cases = product(shapes, ("float64", "float32"), (1, 64))
    changes = {case: choice.changes(shapes[case[0]], case[2], case[1], device) for case in cases}
    return [
        f"{device}, {shape}, batch {batch}, {dtype}: {choice.describe(choices)}"
        for (shape, dtype, batch), choices in changes.items()
        if choices
    ]


def plan(device: str = "cpu") -> list[Case]:
    """Return the cases to measure, each family in order of length."""
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
    """Measure every candidate's forward dynamics and, if simulations use it, its step, in turns."""
    model = _model(case)
    arguments = _state(model, case)
    at = State(*(x.reshape(case.batch, -1) for x in arguments))
    entries: list[tuple[str, Work, float]] = []
    candidates, residuals = [], dict[str, float]()
    for name, work in _works(case, device):
        if _candidate(name, case) in given_up:
            continue
        with suppress(MemoryError):  # if the GPU's memory does not suffice, there are no rows
            if work == "call":
                fd = ForwardDynamics(model, case.batch, name, device, case.dtype)
                call, output = _on_gpu(fd, arguments) if device == "cuda" else _on_cpu(fd, arguments)
                left = float(np.median(residual(model, at, np.reshape(output(), (case.batch, -1)))))
                timed = call, 1
                residuals |= {name: left} if np.isfinite(left) else {}
            elif name in residuals:
                timed = _steps(case, name, device)
            if name in residuals:
                entries.append((name, work, residuals[name]))
                candidates.append((timer.repeater(timed[0]), timed[1]))
    if device == "cuda" and candidates:
        timer.run_for(WARM_UP_SECONDS, candidates[0][0])
    if not entries:
        return []
    times = np.median(timer.alternate(candidates, SECONDS * len(candidates), ROUNDS, SETTLED), axis=1)
    return [
        Row(*case[:3], case.dtype, name, float(time), left, work)
        for (name, work, left), time in zip(entries, times, strict=True)
    ]


def _works(case: Case, device: str) -> Iterator[tuple[str, Work]]:
    """Return a case's works: each algorithm's call, then its step if simulations use it."""
    model = _model(case)
    for name in choice.candidates(model, device):
        row = capabilities.ALGORITHMS[name]
        too_large = row.largest is not None and case.links > row.largest
        if too_large or (case.shape == "tree" and not row.trees):
            continue
        yield name, "call"
        if name in advancing(model)[device] and case.dtype in dtypes(device):
            yield name, "step"


@lru_cache(maxsize=16)
def _model(case: Case) -> Model:
    return generate.chain(case.links) if case.shape == "chain" else generate.tree(case.links)


def _state(model: Model, case: Case) -> State:
    """Return random robots, or one as vectors."""
    at = (x.astype(case.dtype) for x in state(model, np.random.default_rng(0), case.batch))
    return State(*(x if case.batch > 1 else x[0] for x in at))


def simulation(case: Case, algorithm: str, device: str) -> Simulation:
    """Return the simulation that takes the steps of a case."""
    return Simulation(
        _model(case), case.batch, 1e-4, algorithm=algorithm, device=device, dtype=case.dtype, timed=False
    )  # fmt: skip


_Call = Callable[[], Any]


def _steps(case: Case, algorithm: str, device: str) -> tuple[_Call, int]:
    """Return a function that steps robots from rest and waits, and the number of steps: fewer for slow ones."""
    robots = simulation(case, algorithm, device)
    robots.step()
    robots.check()
    finish_compiling()
    start = perf_counter()
    robots.step()
    robots.check()
    steps = max(1, min(STEPS, int(SECONDS / (perf_counter() - start))))

    def call() -> None:
        robots.step(steps)
        robots.check()
        robots.reset()

    return call, steps


def _on_cpu(fd: ForwardDynamics, arguments: State) -> tuple[_Call, _Call]:
    """Return a function to time, and one that returns its result."""
    out = fd(*arguments)
    return partial(fd, *arguments, out=out), lambda: out


def _on_gpu(fd: ForwardDynamics, arguments: State) -> tuple[_Call, _Call]:
    q, v, tau = (arrays.to_device(x) for x in arguments)
    out = fd(q, v, tau)

    def call() -> None:
        fd(q, v, tau, out=out)
        clock.synchronize()

    return call, lambda: to_host(out)
