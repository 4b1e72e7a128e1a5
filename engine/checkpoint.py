"""`Checkpoint`: all that the next steps of a simulation depend on, besides how it was made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.validation import Array


class Checkpoint(NamedTuple):
    """A simulation's robots between two steps, on the host, in arrays of their own and of its number type.

    `steps` are counted from the last reset. q (batch, nq) and v (batch, nv) are the state; tau and target (batch, nv)
    and wrench (batch, links, 6) act in the next step, where `wrench` is None if it was never asked for. `frozen`
    (batch,), bool, are the robots that diverged and stay. `contact` is what the next step under contacts starts its
    solver from, as the device keeps it; empty where there is no scene. `divergences` (2, batch) tell after how many
    steps each robot diverged, 0 where it did not, and in which velocity first; None where nobody kept it.
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
