"""Common to the peers: their timings, the reason for a missing one, and a body as they describe it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engine import lie
from engine.model import Model
from engine.validation import Array

CALLS = 5


class Missing(RuntimeError):
    """A peer that is not installed, or does not support the model; the message says which."""


class Timing(NamedTuple):
    """A peer's time for one forward dynamics call for each robot of a batch."""

    seconds: float
    how: str
    """The hardware and the clock."""
    first: float
    """Seconds until its first result: building its model, compiling its kernels."""
    residual: float
    """‖ID(q̈) − τ‖ / ‖τ_δ‖ of its result by our inverse dynamics, the worst of some robots."""


def or_missing(measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a peer's figures; its absence or failure, which must not affect ours, is `missing` in words."""
    try:
        return measure()
    except Missing as reason:
        return {"missing": str(reason)}
    except Exception as error:  # such as of memory
        return {"missing": f"it fails: {type(error).__name__}: {error}"[:300]}


def require(package: str, of: str) -> None:
    """Raise Missing unless a package is installed."""
    if find_spec(package) is None:
        raise Missing(f"{of} is not installed")


def of_a_call(batched: Callable[..., Any], states: Sequence[Any], seconds: float) -> float:
    """Return the median time of a call through JAX, s, each awaited after four others, for that many seconds."""
    times: list[float] = []
    while sum(times) < seconds or len(times) < 3:
        start = perf_counter()
        for _ in range(CALLS):
            last = batched(*states)
        last.block_until_ready()
        times.append((perf_counter() - start) / CALLS)
    return float(np.median(times))


def central_inertia(model: Model, body: int) -> tuple[Array, Array]:
    """Return a body's centre of mass (3,) and its rotational inertia about it (3, 3), in its frame."""
    mass = model.mass[body]
    center = model.first_moment[body] / mass if mass > 0 else np.zeros(3)
    c = lie.skew(center)
    return center, model.inertia[body] + mass * c @ c
