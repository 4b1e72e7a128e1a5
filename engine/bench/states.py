"""The states for timing forward dynamics, and the residual of results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.dynamics import bias, inverse_dynamics
from engine.model import Model
from engine.validation import Array


class State(NamedTuple):
    """Coordinates, velocities and torques, (batch, n) each."""

    q: Array
    v: Array
    tau: Array


def state(model: Model, rng: np.random.Generator, batch: int = 1) -> State:
    """Return states that reveal differences between algorithms: q̈ of about 1 at every joint, with matching torques.

    Random torques would accelerate only the light end of a long chain. Velocities are about 1/√n, which makes the
    links' velocities about 1; with joint velocities of about 1, τ_δ would be a small difference of large forces, and
    rounding τ would hide the algorithms' errors.
    """
    n = model.nv
    q = model.random(rng, batch)
    v, a = rng.uniform(-1, 1, (batch, n)) / np.sqrt(n), rng.uniform(-1, 1, (batch, n))
    return State(q, v, inverse_dynamics(model, q, v, a))


def some_rows(batch: int, most: int) -> Array:
    """Return the rows of at most `most` robots of a batch, evenly spaced."""
    return np.unique(np.linspace(0, batch - 1, most).astype(int))


def residual(model: Model, at: State, qdd: Array) -> Array:
    """‖ID(q̈) − τ‖ / ‖τ_δ‖ (batch,), by the compiled inverse dynamics in double precision."""
    q, v, tau, a = (np.asarray(x, np.float64) for x in (*at, qdd))
    if not np.all(np.isfinite(a)):
        return np.full(len(q), np.inf)
    missing = inverse_dynamics(model, q, v, a) - tau
    size: Array = np.linalg.norm(missing, axis=1) / np.linalg.norm(tau - bias(model, q, v), axis=1)
    return size
