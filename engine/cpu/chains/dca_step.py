"""DCA-ABA in a simulation's step: the interface of the step loop to `trees.dca`.

The loop writes the addresses of its arrays into `arguments` and calls a function by its address there: no Python runs
between steps, and the threads' code is compiled once for all kinds of steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import kernel
from engine.compile.operations import address, call

# fmt: off
# addresses, 0 for arrays that are not given
Q, V, TAU, OUT = range(4)
GRAVITY = 4    # (3,)
WRENCHES = 5   # external wrenches (n, 6)
ADDED_INERTIA = 6  # (n,), like the next three: see `accelerations.CoordinateForces` and `Accelerations`
HELD = 7
TARGET_ACCELERATION = 8
REACTION = 9
PHASES = 10    # (phases.COUNT,) int64
CONTROL = 11   # the group's control block
TASK = 12      # the function to call, with that and two numbers
# other arguments
FRESH = 13     # not 0 where q, v or the loads changed since the last call
SINCE = 14     # when the present phase began, in ns
ARGUMENTS = 15
# fmt: on


class GroupArguments(NamedTuple):
    """The step loop's view of a thread group: its `arguments` (ARGUMENTS,)."""

    arguments: NDArray[np.int64]


@kernel
def prepare(q, v, dynamics, loads, phases):
    """Store the addresses of q and v (1, n) and of the loads, see `accelerations.prepare`."""
    arguments = dynamics.work.arguments
    gravity, wrenches = loads
    arguments[Q], arguments[V], arguments[GRAVITY] = address(q), address(v), address(gravity)
    arguments[WRENCHES] = 0
    if len(wrenches) > 0:
        arguments[WRENCHES] = address(wrenches)
    arguments[PHASES] = address(phases) if phases.size else 0
    arguments[FRESH] = 1


@kernel
def accelerations(forces, result, dynamics, _loads, _phases):
    """Compute q̈ and reactions (1, n) into `result`, see `accelerations.accelerations`."""
    arguments = dynamics.work.arguments
    arguments[TAU], arguments[ADDED_INERTIA] = address(forces.force), address(forces.added_inertia)
    arguments[HELD], arguments[TARGET_ACCELERATION] = address(forces.held), address(forces.target_acceleration)
    arguments[OUT], arguments[REACTION] = address(result.qdd), address(result.reaction)
    call(arguments[TASK], arguments[CONTROL], 0, 0)
    arguments[FRESH] = 0
