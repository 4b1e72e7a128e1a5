"""One candidate of a comparison: prepared, checked by inverse dynamics in double precision, and timed in turns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np

from engine.bench import states
from engine.bench.compare import user_algorithms
from engine.bench.states import State, some_rows
from engine.bench.timer import SLOT, repeater
from engine.compile import finish_compiling
from engine.cuda.runtime import arrays, clock, device
from engine.device_arrays import on_device, to_host
from engine.dynamics import ForwardDynamics, inverse_dynamics
from engine.model import Model
from engine.selection import capabilities
from engine.selection.choice import MAX_RESIDUAL
from engine.validation import Array

Verdict = Literal["waiting", "ok", "wrong", "refused", "failed"]
Call = Callable[[], Any]
CHECKED = 4096
"""Number of robots of a batch, evenly spaced, whose results are checked."""
PROBE_ROBOTS, MAX_SECONDS = 16, 2.0
"""A candidate not requested by name is skipped if a call takes `MAX_SECONDS` s, extrapolated from `PROBE_ROBOTS`."""

MIN_UNDISTURBED_SECONDS = 0.1
"""Seconds: shorter measurements may be disturbed, and are repeated twice."""


class Refused(Exception):
    """An algorithm does not support the model on the device, for the reason in the message."""


def sample_states(model: Model, batch: int, seed: int) -> State:
    """Return states that reveal differences between algorithms: those of `states.state`, with no acceleration near
    zero.
    """
    rng, n = np.random.default_rng(seed), model.nv
    q, v = model.random(rng, batch), rng.uniform(-1, 1, (batch, n)) / np.sqrt(n)
    a = rng.uniform(0.5, 1, (batch, n)) * rng.choice((-1.0, 1.0), (batch, n))
    return State(q, v, inverse_dynamics(model, q, v, a))


@dataclass
class Candidate:
    """An algorithm on a device, in a number type, for a batch of robots of one model."""

    model: Model
    title: str
    """The model's name, made unique; `label` is the algorithm's."""
    algorithm: str
    label: str
    device: str
    dtype: str
    batch: int
    requested: bool
    """Requested by name; any other is skipped if it would take too long."""
    verdict: Verdict = "waiting"
    reason: str = ""
    first: float | None = None
    residual: float | None = None
    cost: float = 0.0
    """Seconds of a turn."""
    host: Array = field(default_factory=lambda: np.empty(0))
    """(rounds,): seconds of a call until its result is available; NaN in rounds without a turn."""
    on_device: Array = field(default_factory=lambda: np.empty(0))
    """(rounds,): seconds of a call between two events on the GPU."""
    _at: State | None = None
    _call: Call | None = None
    _queued: Call | None = None
    """`_inner` calls, as timed by the GPU's clock."""
    _inner: int = 1
    result: Any = None
    """What the last call returned."""

    def attempt(self, work: Callable[[], None]) -> None:
        """Run part of the work; an exception becomes the verdict, and does not affect other candidates."""
        try:
            work()
        except Refused as why:
            self._out("refused", str(why))
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self._out("failed", user_algorithms.error_text(error, user_algorithms.parse(self.algorithm)))

    def _out(self, verdict: Verdict, reason: str) -> None:
        self.verdict, self.reason = verdict, reason
        self.release()

    def release(self) -> None:
        """Free the buffers."""
        self._call = self._queued = self.result = self._at = None

    def prepare(self, at: State, slot: float = SLOT) -> None:
        """Create the algorithm, check its first result, and find how many calls make a turn of `slot` seconds."""
        at = State(*(x.astype(self.dtype) for x in at))
        if self.device == "cuda" and (why := device.why_not()):
            raise Refused(why)
        users = user_algorithms.parse(self.algorithm)
        make = self._ours() if users is None else self._of(users)
        if not self.requested and self.batch > PROBE_ROBOTS:
            self._probe(make, at)
        began = perf_counter()
        call = make(at)
        self.result = call()
        self._wait()
        self.first, self._at, self._call = perf_counter() - began, at, call
        self.check()
        if self.verdict == "wrong":
            return
        finish_compiling()
        once = self.timed(call)
        if once < MIN_UNDISTURBED_SECONDS:
            once = min(once, self.timed(call), self.timed(call))
        self._inner = max(1, math.ceil(slot / once))
        self.cost = once * self._inner
        if self.device == "cuda":
            self._on_gpu(call, users is None)
            self.cost *= 2
        self.verdict = "ok"

    def _ours(self) -> Callable[[State], Call]:
        name, bodies = self.algorithm, len(self.model.parent)
        if why := capabilities.reason(name, self.model, self.device):
            raise Refused(why)
        largest = capabilities.ALGORITHMS[name].largest
        if not self.requested and largest is not None and bodies > largest:
            raise Refused(f"it is recommended up to {largest} links; name it to have it measured")

        def make(at: State) -> Call:
            fd = ForwardDynamics(self.model, len(at.q), name, self.device, self.dtype)
            if self.device == "cuda":
                q, v, tau = (arrays.to_device(x) for x in at)
                return partial(fd, q, v, tau, arrays.empty(at.v.shape, self.dtype))
            single = len(at.q) == 1
            q, v, tau = (x[0] if single else x for x in at)
            return partial(fd, q, v, tau, np.empty(v.shape, self.dtype))

        return make

    def _of(self, users: user_algorithms.FunctionName) -> Callable[[State], Call]:
        loaded = user_algorithms.load(users)
        if self.device not in loaded.devices:
            raise Refused(f"{users.path.name} does not name {self.device!r} in DEVICES")

        def make(at: State) -> Call:
            if self.device == "cuda":
                return partial(loaded.function, self.model, *(arrays.to_device(x) for x in at))
            return partial(loaded.function, self.model, *map(_read_only, at))

        return make

    def _probe(self, make: Callable[[State], Call], at: State) -> None:
        call = make(State(*(x[:PROBE_ROBOTS] for x in at)))
        call()
        self._wait()
        finish_compiling()
        seconds = self.timed(call) * self.batch / PROBE_ROBOTS
        if seconds > MAX_SECONDS:
            raise Refused(f"one call would take about {seconds:.0f} s; name it to have it measured")

    def _on_gpu(self, call: Call, ours: bool) -> None:
        """Return a turn for the GPU's clock. A user's streams are unknown, so calls are awaited between the events."""
        graph = clock.capture_graph(call, self._inner) if ours else None
        if graph is not None:
            graph()
            self._queued = graph
        elif ours:
            self._queued = partial(repeater(call), self._inner)
        else:
            self._queued = partial(repeater(_both(call, clock.synchronize)), self._inner)

    def check(self) -> None:
        """Check the last result: compare the worst residual so far with the bound of the number type."""
        assert self._at is not None
        result, shape = self.result, self._at.v.shape
        result = np.asarray(to_host(result) if on_device(result) else result)
        if result.shape not in (shape, shape[1:] if self.batch == 1 else shape):
            return self._out("wrong", f"its result has the shape {result.shape}; expected {shape}")
        rows = some_rows(self.batch, CHECKED)
        checked = State(*(x[rows] for x in self._at))
        residual = float(np.max(states.residual(self.model, checked, result.reshape(shape)[rows])))
        self.residual = residual if self.residual is None else max(residual, self.residual)
        bound = MAX_RESIDUAL[self.dtype]
        if not self.residual <= bound:
            what = (
                f"its residual is {self.residual:.2g}" if math.isfinite(self.residual) else "its result is not finite"
            )
            return self._out("wrong", f"{what}; allowed in {self.dtype}: {bound:g}")
        return None

    def time_turn(self) -> tuple[float, float]:
        """Return mean seconds of a turn's calls: on the host including the wait, and on the GPU, else NaN."""
        call = self._call
        assert call is not None
        if self._inner > 1:
            call()  # warms up the caches
            self._wait()
        start = perf_counter()
        for _ in range(self._inner):
            self.result = call()
            self._wait()
        host = (perf_counter() - start) / self._inner
        return host, clock.device_seconds(self._queued) / self._inner if self._queued else math.nan

    def timed(self, call: Call) -> float:
        """Return the seconds of a call until its result is available."""
        start = perf_counter()
        call()
        self._wait()
        return perf_counter() - start

    def _wait(self) -> None:
        if self.device == "cuda":
            clock.synchronize()


def _read_only(x: Array) -> Array:
    """Return a read-only view."""
    view = x[:]
    view.flags.writeable = False
    return view


def _both(one: Call, other: Call) -> Call:
    def both() -> None:
        one()
        other()

    return both
