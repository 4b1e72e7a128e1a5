"""`Checkpoint`: all state of a simulation on which its next steps depend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.validation import Array


class Checkpoint(NamedTuple):
    """A simulation's robots between two steps, in copies on the host, of its number type.

    `steps` are counted from the last reset. q (batch, nq) and v (batch, nv) are the state; tau and target (batch, nv)
    and wrench (batch, links, 6) act in the next step; `wrench` is None if it was never used. `frozen` (batch,), bool,
    are the robots that diverged and are kept. `contact` is the warm start of the contact solver, in the device's
    layout; empty without a scene. `divergences` (2, batch) are the number of steps after which each robot diverged,
    else 0, and the index of its first velocity to diverge; None where unknown.
    """

    steps: int
    q: Array
    v: Array
    tau: Array
    target: Array
    wrench: Array | None
    frozen: NDArray[np.bool_]
    contact: tuple[Array, ...]
    divergences: NDArray[np.int64] | None = None
