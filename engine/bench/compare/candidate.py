"""One candidate of a comparison: made ready, checked by inverse dynamics in double precision, and timed in turns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np

from engine.bench import states
from engine.bench.compare import own
from engine.bench.states import State, some_rows
from engine.bench.timer import SLOT, repeated
from engine.compile import finish_compiling
from engine.cuda.runtime import arrays, clock, device
from engine.dynamics import ForwardDynamics, inverse_dynamics
from engine.model import Model
from engine.selection import capabilities
from engine.selection.choice import LARGEST_RESIDUAL
from engine.validation import Array, on_device

Verdict = Literal["waiting", "ok", "wrong", "refused", "failed"]
Call = Callable[[], Any]
CHECKED = 4096
"""Robots of a batch, evenly spread, whose answers are checked."""
PROBE, LONGEST = 16, 2.0
"""What was not requested by its name is left out where, by the time of `PROBE` robots, a call takes `LONGEST` s."""

UNDISTURBED = 0.1
"""Seconds: what takes less may have been slowed by something else, and is timed twice more."""


class Refused(Exception):
    """An algorithm does not serve the model there, for the reason that is the message."""


def sample_states(model: Model, batch: int, seed: int) -> State:
    """States by which algorithms can be told apart: as by `states.state`, with no acceleration near zero."""
    rng, n = np.random.default_rng(seed), model.nv
    q, v = model.random(rng, batch), rng.uniform(-1, 1, (batch, n)) / np.sqrt(n)
    a = rng.uniform(0.5, 1, (batch, n)) * rng.choice((-1.0, 1.0), (batch, n))
    return State(q, v, inverse_dynamics(model, q, v, a))


@dataclass
class Candidate:
    """An algorithm on a device, in a number type, for a batch of robots of one model."""

    model: Model
    title: str
    """The model's name, told apart from others of that name; `label` is the algorithm's."""
    algorithm: str
    label: str
    device: str
    dtype: str
    batch: int
    requested: bool
    """By its name; any other is left out where it would take too long."""
    verdict: Verdict = "waiting"
    reason: str = ""
    first: float | None = None
    residual: float | None = None
    cost: float = 0.0
    """Seconds of a turn."""
    host: Array = field(default_factory=lambda: np.empty(0))
    """(rounds,): seconds of a call until its answer is there; NaN in rounds without a turn."""
    on_device: Array = field(default_factory=lambda: np.empty(0))
    """(rounds,): seconds of a call between two events on the GPU."""
    _at: State | None = None
    _call: Call | None = None
    _queued: Call | None = None
    """`_inner` calls as the GPU's own clock times them."""
    _inner: int = 1
    _answer: Any = None

    def attempt(self, work: Callable[[], None]) -> None:
        """Do some of the work; what goes wrong becomes the verdict, and disturbs nobody else."""
        try:
            work()
        except Refused as why:
            self._out("refused", str(why))
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self._out("failed", own.error_text(error, own.parse(self.algorithm)))

    def _out(self, verdict: Verdict, reason: str) -> None:
        self.verdict, self.reason = verdict, reason
        self.release()

    def release(self) -> None:
        """Give back the buffers."""
        self._call = self._queued = self._answer = self._at = None

    def prepare(self, at: State, slot: float = SLOT) -> None:
        """Make it, have and check a first answer, and see how many calls make a turn of `slot` seconds."""
        at = State(*(x.astype(self.dtype) for x in at))
        if self.device == "cuda" and (why := device.why_not()):
            raise Refused(why)
        users = own.parse(self.algorithm)
        make = self._ours() if users is None else self._of(users)
        if not self.requested and self.batch > PROBE:
            self._probe(make, at)
        began = perf_counter()
        call = make(at)
        self._answer = call()
        self._wait()
        self.first, self._at, self._call = perf_counter() - began, at, call
        self.check()
        if self.verdict == "wrong":
            return
        finish_compiling()
        once = self._timed(call)
        if once < UNDISTURBED:
            once = min(once, self._timed(call), self._timed(call))
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
            raise Refused(f"it is sensible up to {largest} links; ask for it by its name to have it measured")

        def make(at: State) -> Call:
            fd = ForwardDynamics(self.model, len(at.q), name, self.device, self.dtype)
            if self.device == "cuda":
                q, v, tau = (arrays.to_device(x) for x in at)
                return partial(fd, q, v, tau, arrays.empty(at.v.shape, self.dtype))
            single = len(at.q) == 1
            q, v, tau = (x[0] if single else x for x in at)
            return partial(fd, q, v, tau, np.empty(v.shape, self.dtype))

        return make

    def _of(self, users: own.Own) -> Callable[[State], Call]:
        loaded = own.load(users)
        if self.device not in loaded.devices:
            raise Refused(f"{users.path.name} does not name {self.device!r} in DEVICES")

        def make(at: State) -> Call:
            if self.device == "cuda":
                return partial(loaded.function, self.model, *(arrays.to_device(x) for x in at))
            return partial(loaded.function, self.model, *map(_read_only, at))

        return make

    def _probe(self, make: Callable[[State], Call], at: State) -> None:
        call = make(State(*(x[:PROBE] for x in at)))
        call()
        self._wait()
        finish_compiling()
        seconds = self._timed(call) * self.batch / PROBE
        if seconds > LONGEST:
            raise Refused(f"one call would take about {seconds:.0f} s; ask for it by its name to have it measured")

    def _on_gpu(self, call: Call, ours: bool) -> None:
        """How the GPU's clock sees a turn. A user's streams are unknown, so calls are waited for between the events."""
        graph = clock.captured(call, self._inner) if ours else None
        if graph is not None:
            graph()
            self._queued = graph
        elif ours:
            self._queued = partial(repeated(call), self._inner)
        else:
            self._queued = partial(repeated(_both(call, clock.synchronize)), self._inner)

    def check(self) -> None:
        """See whether the last answer is right: the worst residual so far, against the bound of the number type."""
        assert self._at is not None
        answer, shape = self._answer, self._at.v.shape
        answer = np.asarray(arrays.to_host(answer) if on_device(answer) else answer)
        if answer.shape not in (shape, shape[1:] if self.batch == 1 else shape):
            return self._out("wrong", f"its answer has the shape {answer.shape}; expected {shape}")
        rows = some_rows(self.batch, CHECKED)
        checked = State(*(x[rows] for x in self._at))
        found = float(np.max(states.residual(self.model, checked, answer.reshape(shape)[rows])))
        self.residual = found if self.residual is None else max(found, self.residual)
        bound = LARGEST_RESIDUAL[self.dtype]
        if not self.residual <= bound:
            what = (
                f"its residual is {self.residual:.2g}" if math.isfinite(self.residual) else "its answer is not finite"
            )
            return self._out("wrong", f"{what}; allowed in {self.dtype}: {bound:g}")
        return None

    def time_turn(self) -> tuple[float, float]:
        """Seconds of a call on the host, until its answer is there, and on the GPU, else NaN: means of a turn."""
        call = self._call
        assert call is not None
        if self._inner > 1:
            call()  # its data comes back to the caches
            self._wait()
        start = perf_counter()
        for _ in range(self._inner):
            self._answer = call()
            self._wait()
        host = (perf_counter() - start) / self._inner
        return host, clock.device_seconds(self._queued) / self._inner if self._queued else math.nan

    def _timed(self, call: Call) -> float:
        start = perf_counter()
        call()
        self._wait()
        return perf_counter() - start

    def _wait(self) -> None:
        if self.device == "cuda":
            clock.synchronize()


def _read_only(x: Array) -> Array:
    """The same numbers, not to be written to."""
    view = x[:]
    view.flags.writeable = False
    return view


def _both(one: Call, other: Call) -> Call:
    def both() -> None:
        one()
        other()

    return both
