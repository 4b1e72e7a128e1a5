"""Time forward dynamics on the GPU by four clocks, for the suites `gpu` and `growth`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engine.bench.states import State, residual, some_rows
from engine.bench.timer import repeater
from engine.cuda.runtime import arrays, clock
from engine.device_arrays import to_host
from engine.dynamics import ForwardDynamics
from engine.model import Model

CHECKED = 64
"""Number of robots of a batch, evenly spaced, whose results are checked."""
LONG = 2e-3
"""Seconds between two events that make the cost of events and launches negligible."""
MAX_CALLS, ROUNDS = 20, 15


class Timed(NamedTuple):
    """Seconds of one call for a whole batch, medians unless stated otherwise."""

    algorithm: str
    device: float
    """On the GPU between events, for a captured graph of calls, independent of the host; else for queued calls."""
    device_quartiles: tuple[float, float]
    captured: bool
    """Whether the calls could be captured as a graph."""
    queued: float
    """On the GPU between events, for consecutive calls from Python."""
    call: float
    """On the host, for a call from Python until its end."""
    first: float
    """On the host, for creation and first call: compiling, or loading compiled code."""
    residual: float
    """‖ID(q̈) − τ‖ / ‖τ_δ‖, the worst of the checked robots; infinite for results that are not finite."""

    def row(self) -> dict[str, Any]:
        """Return a dictionary for JSON, in µs except `first_s`."""
        return {
            "algorithm": self.algorithm,
            "device_us": self.device * 1e6,
            "device_us_quartiles": [x * 1e6 for x in self.device_quartiles],
            "captured": self.captured,
            "queued_us": self.queued * 1e6,
            "call_us": self.call * 1e6,
            "first_s": self.first,
            "residual": self.residual,
        }


class OnDevice(NamedTuple):
    """States of a batch of robots on the GPU, and the checked ones on the host."""

    model: Model
    dtype: str
    states: tuple[Any, Any, Any]
    rows: np.ndarray
    checked: State

    @classmethod
    def of(cls, model: Model, at: State, dtype: str) -> OnDevice:
        """Copy the states to the GPU in number type `dtype`."""
        at = State(*(x.astype(dtype) for x in at))
        rows = some_rows(len(at.q), CHECKED)
        q, v, tau = (arrays.to_device(x) for x in at)
        return cls(model, dtype, (q, v, tau), rows, State(*(x[rows] for x in at)))


def time_algorithm(robots: OnDevice, algorithm: str, seconds: float) -> Timed:
    """Time one algorithm on the GPU for these states, by about `seconds` of calls."""
    q, v, tau = robots.states
    out = arrays.to_device(np.full(v.shape, np.nan, robots.dtype))
    clock.synchronize()
    began = perf_counter()
    fd = ForwardDynamics(robots.model, len(q), algorithm, "cuda", robots.dtype)
    fd(q, v, tau, out)
    clock.synchronize()
    first = perf_counter() - began
    left = float(np.max(residual(robots.model, robots.checked, to_host(out)[robots.rows])))
    call = partial(fd, q, v, tau, out)
    once = clock.median_device_seconds(call, rounds=3)
    inner = int(np.clip(LONG / once, 1, MAX_CALLS))
    rounds = int(np.clip(seconds / 3 / (inner * once), 3, ROUNDS))
    queued = clock.median_device_seconds(call, inner, rounds)
    (low, middle, high), captured = quartiles(call, inner, rounds)
    waited = float(np.median([_waited(call) for _ in range(rounds)]))
    return Timed(algorithm, middle, (low, high), captured, queued, waited, first, left)


def quartiles(call: Callable[[], Any], inner: int, rounds: int, capture: bool = True) -> tuple[list[float], bool]:
    """Return the 25, 50 and 75 % quantiles of a call's seconds by the GPU's clock, and whether of a graph.

    There are `rounds` rounds of `inner` calls. They are captured as a graph if `capture` is set and it is possible;
    else the host launches them one after another.
    """
    graph = clock.capture_graph(call, inner) if capture else None
    timed = graph or partial(repeater(call), inner)
    timed()
    samples = [clock.device_seconds(timed) / inner for _ in range(rounds)]
    return [float(x) for x in np.quantile(samples, (0.25, 0.5, 0.75))], graph is not None


def _waited(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    clock.synchronize()
    return perf_counter() - start


def copies(at: State, dtype: str) -> tuple[float, float]:
    """Return the seconds to copy q, v and τ to the GPU, and to copy accelerations back, medians of five."""
    at, there, back = State(*(x.astype(dtype) for x in at)), [], []
    for _ in range(5):
        start = perf_counter()
        q, v, tau = (arrays.to_device(x) for x in at)
        clock.synchronize()
        there.append(perf_counter() - start)
        start = perf_counter()
        to_host(tau)
        back.append(perf_counter() - start)
        del q, v, tau
    return float(np.median(there)), float(np.median(back))
