"""The papers' experiments: [Y]'s Figs. 2, 3a and 3b and [B]'s speed-up over processors, measured point by point.

[Y] uses chains with random twists, and averages a thousand calls with random joint inputs. Here a point's candidates
take turns in rounds over the same random inputs, so that a busy machine disturbs all alike; each round's mean is
stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engine.bench import intervals
from engine.bench.gpu_timing import quartiles
from engine.bench.states import State, residual, some_rows, state
from engine.bench.timer import alternate
from engine.compile import finish_compiling
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import arrays, clock
from engine.device_arrays import to_host
from engine.dynamics import ForwardDynamics
from engine.model import Model, generate
from engine.selection import capabilities
from engine.selection.choice import MAX_RESIDUAL

DTYPE = "float64"
MAX_CALL = 0.25
"""Seconds of one call, beyond which a candidate is skipped at a point."""
MEMORY = 4 << 30
"""Bytes on the host, beyond which it is skipped; on the GPU its memory is the limit."""
BYTES = {"cfa": 12_000, "abia-hybrid": 2_000}
"""Bytes per body of the NumPy implementations."""
MATRICES = 3
"""Mass matrices that JSIIA holds at a time on the CPU."""
CHECKED = 64
"""Number of robots of a batch, evenly spaced, whose results are checked."""
EXPONENTS = {("jsiia", "links"): 3}
"""Upper bound of the exponent of a call's time over size; 1 if not listed."""
INPUTS, MAX_INPUT_BODIES = 16, 1 << 20
"""Number of different inputs of the calls, reduced beyond this number of bodies in all."""
ROUNDS = 25
SLOW = 0.02
"""Seconds of a call that make launches negligible, so that GPU timing needs no graph."""
LONG, MAX_CALLS = 2e-3, 20
"""Seconds between two GPU events that make their cost negligible; maximum number of calls between them."""


class Candidate(NamedTuple):
    """An algorithm, its device, and on the CPU its number of threads, if given; the ABIA has one."""

    algorithm: str
    device: str
    threads: int | None = None


class Experiment(NamedTuple):
    """A figure of a paper: the time of a call over links or robots, also beyond the paper's sizes."""

    key: str
    source: str
    title: str
    axis: str
    """"links" or "batch", the one that varies."""
    fixed: int
    """The value of the other one."""
    sizes: tuple[int, ...]
    short: tuple[int, ...]
    """The sizes of the short version."""
    largest: int | None
    """The largest size in the paper; None if its abstract does not say."""

    def shape(self, size: int) -> tuple[int, int]:
        """Return links and batch."""
        return (size, self.fixed) if self.axis == "links" else (self.fixed, size)


EXPERIMENTS = (
    Experiment(
        "fig2", "[Y] Fig. 2", "one robot, over its links", "links", 1,
        (10, 20, 30, 50, 70, 100, 200, 300, 500, 700, 1000, 2000, 3000, 4096), (10, 30, 100, 300, 1000), 1000,
    ),
    Experiment(
        "fig3a", "[Y] Fig. 3a", "robots of 10 links", "batch", 10,
        (1, 4, 10, 40, 100, 400, 1000, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20), (1, 10, 100, 1000, 1 << 14), 1000,
    ),
    Experiment(
        "fig3b", "[Y] Fig. 3b", "robots of 200 links", "batch", 200,
        (1, 2, 5, 10, 20, 50, 100, 300, 1000, 4096, 1 << 14), (1, 10, 100, 1000), 100,
    ),
    Experiment(
        "speedup", "[B]", "DCA-ABA on threads, one chain", "links", 1,
        (20, 50, 100, 200, 500, 1000, 2000, 4000, 8000), (50, 200, 1000, 4000), None,
    ),
)  # fmt: skip


FIG2, FIG3A, FIG3B, PROCESSORS = EXPERIMENTS


class PaperPlan(NamedTuple):
    """The measurements of one run; rows of runs with equal plans are comparable."""

    device: str
    """The device of [Y]'s figures; [B]'s is the CPU."""
    short: bool
    seed: int

    @property
    def seconds(self) -> float:
        """Seconds of turns for each candidate of a point."""
        return 0.12 if self.short else 0.3

    def points(self) -> list[tuple[Experiment, int]]:
        """The experiments and their sizes, in the order of measurement."""
        return [
            (experiment, size)
            for experiment in EXPERIMENTS
            for size in (experiment.short if self.short else experiment.sizes)
        ]

    def candidates(self, experiment: Experiment) -> tuple[Candidate, ...]:
        """Return all algorithms on the device, with the CPU's ABIA beside a GPU; for [B], DCA-ABA on 1, 2, 4 and all
        cores.
        """
        if experiment is PROCESSORS:
            counts = sorted({count for count in (1, 2, 4, cores()) if count <= cores()})
            return Candidate("abia", "cpu"), *(Candidate("dca", "cpu", count) for count in counts)
        ours = [
            Candidate(name, self.device) for name, row in capabilities.ALGORITHMS.items() if self.device in row.devices
        ]
        return (*ours,) if self.device == "cpu" else (*ours, Candidate("abia", "cpu"))


def key(experiment: Experiment, size: int) -> str:
    """Return a point's name, which is the same in every run."""
    return f"{experiment.key}-{size}"


def measure(plan: PaperPlan, finished: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the points not in `finished`, each when it is complete.

    A row has `key`, `experiment`, `links`, `batch` and `candidates`: for each its names and either its times or the
    reason for their absence in words: `left_out` (too slow or too large), `wrong` (the result) or `failure`.
    """
    rows = dict(finished)
    for experiment, size in plan.points():
        name = key(experiment, size)
        if name not in rows:
            family = [row for row in rows.values() if row["experiment"] == experiment.key]
            smaller = {row[experiment.axis]: row for row in family if row[experiment.axis] < size}
            rows[name] = Point(plan, experiment, size, smaller).row()
            yield rows[name]


class Point:
    """One size of one experiment: its inputs, and its candidates, prepared in sequence and then timed in turns."""

    def __init__(self, plan: PaperPlan, experiment: Experiment, size: int, smaller: dict[int, dict[str, Any]]):
        self._plan, self._experiment, self._size, self._smaller = plan, experiment, size, smaller
        self._links, self._batch = experiment.shape(size)
        self._model = generate.chain(self._links, plan.seed)
        rng = np.random.default_rng([plan.seed, self._links, self._batch])
        count = int(np.clip(MAX_INPUT_BODIES // (self._links * self._batch), 1, INPUTS))
        self._inputs: dict[str, list[Any]] = {"cpu": [state(self._model, rng, self._batch) for _ in range(count)]}

    def row(self) -> dict[str, Any]:
        candidates: list[dict[str, Any]] = []
        calls: list[tuple[dict[str, Any], _Call]] = []
        for candidate in self._plan.candidates(self._experiment):
            facts = {name: value for name, value in candidate._asdict().items() if value is not None}
            candidates.append(facts)
            try:
                if reason := self._too_large(candidate) or self._too_slow(candidate):
                    facts["left_out"] = reason
                    continue
                call = _Call(self._model, self._inputs_on(candidate.device), candidate)
                facts |= call.checked(self._inputs["cpu"][0])
                if "wrong" not in facts:
                    facts |= call.on_gpu(self._plan.seconds / 2)
                    calls.append((facts, call))
            except MemoryError as error:
                facts["left_out"] = str(error) or "the memory does not suffice"
            except Exception as error:  # stored in the row; the others continue
                facts["failure"] = f"{type(error).__name__}: {error}"
        if calls:
            self._take_turns(calls)
        point = {"key": key(self._experiment, self._size), "experiment": self._experiment.key}
        return {**point, "links": self._links, "batch": self._batch, "candidates": candidates}

    def _inputs_on(self, device: str) -> list[Any]:
        if device not in self._inputs:
            self._inputs[device] = [tuple(arrays.to_device(x) for x in at) for at in self._inputs["cpu"]]
        return self._inputs[device]

    def _take_turns(self, calls: list[tuple[dict[str, Any], _Call]]) -> None:
        seconds = self._plan.seconds * len(calls)
        rounds = int(np.clip(seconds / sum(call.once for _, call in calls), intervals.MIN_TURNS, ROUNDS))
        samples = alternate([(call, 1) for _, call in calls], seconds, rounds)
        for (facts, call), times in zip(calls, samples, strict=True):
            facts["call_us"], facts["calls"] = float(np.median(times)) * 1e6, call.count
            facts["rounds_us"] = [float(seconds) * 1e6 for seconds in times]

    def _too_large(self, candidate: Candidate) -> str | None:
        if candidate.device != "cpu":
            return None
        needed = self._links * self._batch * BYTES.get(candidate.algorithm, 0)
        if candidate.algorithm == "jsiia":
            needed = MATRICES * 8 * self._links**2
        if needed <= MEMORY:
            return None
        return f"it would take some {needed / (1 << 30):.0f} GiB; the limit here is {MEMORY >> 30} GiB"

    def _too_slow(self, candidate: Candidate) -> str | None:
        times = {size: facts for size, row in self._smaller.items() if (facts := row_data(row, candidate))}
        if not times:
            return None
        size = max(times)
        if "call_us" not in times[size]:
            return times[size].get("left_out")
        exponent = EXPONENTS.get((candidate.algorithm, self._experiment.axis), 1)
        expected = times[size]["call_us"] * 1e-6 * (self._size / size) ** exponent
        if expected <= MAX_CALL:
            return None
        sort = "links" if self._experiment.axis == "links" else "robots"
        return f"a call would take some {expected:.3g} s, by that for {size} {sort}; the limit here is {MAX_CALL:g} s"


def row_data(row: Mapping[str, Any], candidate: Candidate) -> dict[str, Any] | None:
    """Return a row's data on a candidate, or None."""
    requested = (candidate.algorithm, candidate.device, candidate.threads)
    return next((x for x in row["candidates"] if (x["algorithm"], x["device"], x.get("threads")) == requested), None)


class _Call:
    """One candidate's calls over a point's inputs: ``call(times)``, for `alternate`."""

    def __init__(self, model: Model, inputs: list[Any], candidate: Candidate):
        self._model, self._on_gpu = model, candidate.device == "cuda"
        self.once, self.count = 0.0, 0
        batch = len(inputs[0][0])
        single = batch == 1 and not self._on_gpu
        self._inputs = [tuple(x[0] for x in at) for at in inputs] if single else inputs
        out = np.full(model.nv if single else (batch, model.nv), np.nan)
        self._out = arrays.to_device(out) if self._on_gpu else out
        began = perf_counter()
        threads = 1 if candidate.algorithm == "abia" else candidate.threads
        self._fd = ForwardDynamics(model, batch, candidate.algorithm, candidate.device, DTYPE, threads)
        self(1)
        self._first = perf_counter() - began
        finish_compiling()

    def __call__(self, times: int) -> None:
        for turn in range(times):
            q, v, tau = self._inputs[turn % len(self._inputs)]
            self._fd(q, v, tau, self._out)
            if self._on_gpu:
                clock.synchronize()
        self.count += times

    def checked(self, at: State) -> dict[str, Any]:
        """Return the first call's time and residual, for at most `CHECKED` robots; or the reason why it is wrong."""
        began = perf_counter()
        self(1)
        self.once = perf_counter() - began
        rows = some_rows(len(at.q), CHECKED)
        result = np.reshape(to_host(self._out), at.v.shape)[rows]
        left, allowed = (
            float(np.max(residual(self._model, State(*(x[rows] for x in at)), result))),
            MAX_RESIDUAL[DTYPE],
        )
        if not left <= allowed:
            return {"wrong": f"its residual is {left:.2g}, and {allowed:g} is allowed"}
        return {"first_s": self._first, "residual": left}

    def on_gpu(self, seconds: float) -> dict[str, Any]:
        """Time a call by the GPU's clock, median and quartiles; of a captured graph of calls if possible."""
        if not self._on_gpu:
            return {}
        q, v, tau = self._inputs[0]
        call = partial(self._fd, q, v, tau, self._out)
        inner = int(np.clip(LONG / self.once, 1, MAX_CALLS))
        rounds = int(np.clip(seconds / (inner * self.once), 3, ROUNDS))
        times, captured = quartiles(call, inner, rounds, capture=self.once < SLOW)
        low, middle, high = (x * 1e6 for x in times)
        return {"device_us": middle, "device_us_middle_half": [low, high], "captured": captured}
