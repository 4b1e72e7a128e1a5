"""Steps of a primal active-set method for joint friction and limits: feasible iterates, one row at a time.

Where block pivoting cycles, these steps do not: each decreases the energy. They work on a table of a robot's
coordinates, (ROWS, nv).
"""

from __future__ import annotations

from engine.compile import inline
from engine.kernels.joint_constraints import (
    HIGH,
    LOW,
    STUCK,
    feasible_mode,
    friction_excess,
    next_mode_of_held,
    slack_of_reaction,
    slack_of_velocity,
    slides,
    sliding_interval,
)

(
    IS_ROW,  # 1 for a coordinate with friction or a limit, else 0 and without the next six
    LOWEST,  # lo
    HIGHEST,  # hi
    FRICTION,  # f
    DRIVE,  # the joint force without friction
    REACTION,  # of a held row
    MODE,
    NEXT,  # v⁺ in these modes
    FEASIBLE,  # the iterate, within its bounds
    ROWS,
) = range(10)
"""Rows of the table, and their number."""


@inline
def set_feasible(table, count):
    """Set a feasible velocity, the last one clipped to its bounds, and its modes."""
    for k in range(count):
        velocity = table[NEXT, k]
        if table[IS_ROW, k] != 0.0:
            low, high = table[LOWEST, k], table[HIGHEST, k]
            velocity = min(max(velocity, low), high)
            table[MODE, k] = feasible_mode(velocity, low, high, table[FRICTION, k])
        table[FEASIBLE, k] = velocity


@inline
def take_step(table, count):
    """Move to the velocity of the present modes, or to the first blocking row; return False at the solution."""
    smallest, blocking, bound, mode = 1.0, -1, 0.0, STUCK
    for k in range(count):
        if table[IS_ROW, k] != 0.0 and slides(table[MODE, k]):
            lowest, highest = table[LOWEST, k], table[HIGHEST, k]
            low, high = sliding_interval(table[MODE, k], lowest, highest, table[FRICTION, k])
            feasible, target = table[FEASIBLE, k], table[NEXT, k]
            slack = slack_of_velocity(feasible)
            above, below = target > high + slack, target < low - slack
            fraction = (max(0.0, high - feasible) if above else min(0.0, low - feasible)) / (target - feasible)
            if (above or below) and fraction < smallest:
                smallest, blocking, bound = fraction, k, high if above else low
                mode = (HIGH if high == highest else STUCK) if above else (LOW if low == lowest else STUCK)
    for k in range(count):
        table[FEASIBLE, k] += smallest * (table[NEXT, k] - table[FEASIBLE, k])
    if blocking < 0:
        blocking, mode = _release(table, count)
    else:
        table[FEASIBLE, blocking] = bound
    if blocking >= 0:
        table[MODE, blocking] = mode
    return blocking >= 0


@inline
def _release(table, count):
    """The held row with the largest reaction beyond its friction, −1 for none, and its next mode."""
    largest, chosen, mode = 0.0, -1, STUCK
    for k in range(count):
        if table[IS_ROW, k] != 0.0 and not slides(table[MODE, k]):
            low, high, f, present = table[LOWEST, k], table[HIGHEST, k], table[FRICTION, k], table[MODE, k]
            r = table[REACTION, k]
            next_mode = next_mode_of_held(present, r, f, low, high, slack_of_reaction(f, table[DRIVE, k]))
            excess = friction_excess(present, r, f, low)
            if next_mode != present and low < high and (excess > largest or chosen < 0):
                largest, chosen, mode = excess, k, next_mode
    return chosen, mode
