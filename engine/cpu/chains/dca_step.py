"""DCA-ABA in a simulation's step: what the step loop says of a robot, and calls; the work is that of `trees.dca`.

The loop writes where its arrays are into `arguments`, and calls the function whose address is there too: no Python
comes between steps, and the threads' code is compiled once for all kinds of steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import kernel
from engine.compile.operations import address, call

# fmt: off
# where things lie, 0 for what is not there
Q, V, TAU, OUT = range(4)
GRAVITY = 4    # (3,)
WRENCHES = 5   # external wrenches (n, 6)
INERTIA = 6    # (n,), like the next three: what `accelerations.Forces` and `Accelerations` say
LOCKED = 7
TARGET = 8
REACTION = 9
PHASES = 10    # (phases.COUNT,) int64
CONTROL = 11   # the group's control block
TASK = 12      # what to call, with that and two numbers
# and what else a call is told
FRESH = 13     # not 0 where q, v or what acts on the bodies changed since the last call
SINCE = 14     # when the present phase began, in ns
CLOCK = 15     # 2 scratch
ARGUMENTS = 17
# fmt: on


class Room(NamedTuple):
    """What the step loop knows of a thread group: its `arguments` (ARGUMENTS,)."""

    arguments: NDArray[np.int64]


@kernel
def prepare(q, v, room, loads, phases):
    """Say where q and v (1, n) lie, and what acts on the bodies, see `accelerations.prepare`."""
    arguments = room.arguments
    gravity, wrenches = loads
    arguments[Q], arguments[V], arguments[GRAVITY] = address(q), address(v), address(gravity)
    arguments[WRENCHES] = 0
    if len(wrenches) > 0:
        arguments[WRENCHES] = address(wrenches)
    arguments[PHASES] = address(phases) if phases.size else 0
    arguments[FRESH] = 1


@kernel
def accelerations(forces, answer, room):
    """q̈ and reactions (1, n) into `answer`, see `accelerations.accelerations`."""
    arguments = room.arguments
    arguments[TAU], arguments[INERTIA] = address(forces.force), address(forces.inertia)
    arguments[LOCKED], arguments[TARGET] = address(forces.locked), address(forces.target)
    arguments[OUT], arguments[REACTION] = address(answer.qdd), address(answer.reaction)
    call(arguments[TASK], arguments[CONTROL], 0, 0)
    arguments[FRESH] = 0
