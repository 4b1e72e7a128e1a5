"""Tolerances of a step under contacts, by number type; x is any number of that type."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import is_single
from engine.scene.contact_tolerances import (
    ACCEPTED_RESIDUAL_SINGLE,
    GAP_TOLERANCE,
    GAP_TOLERANCE_SINGLE,
    MIN_EPSILON,
    MIN_EPSILON_SINGLE,
    OVERLAP_TOLERANCE_SINGLE,
    RESIDUAL_TOLERANCE,
    RESIDUAL_TOLERANCE_SINGLE,
    VELOCITY_FLOOR,
    VELOCITY_FLOOR_SINGLE,
)


@inline
def velocity_floor(x):
    """m/s: a lower bound of the unit of residuals."""
    return VELOCITY_FLOOR_SINGLE if is_single(x) else VELOCITY_FLOOR


@inline
def target_residual(x):
    """The residual that Newton's steps aim at: half the tolerance, since the step's own residual is computed again."""
    return 0.5 * RESIDUAL_TOLERANCE_SINGLE if is_single(x) else 0.5 * RESIDUAL_TOLERANCE


@inline
def acceptable_residual(x):
    """The residual at which no other plan is tried."""
    return 0.5 * ACCEPTED_RESIDUAL_SINGLE if is_single(x) else 0.5 * RESIDUAL_TOLERANCE


@inline
def residual_tolerance(x):
    """The residual that a step is to reach."""
    return RESIDUAL_TOLERANCE_SINGLE if is_single(x) else RESIDUAL_TOLERANCE


@inline
def extra_step_factor(contacts, x):
    """The fraction of the tolerance above which one more Newton step is taken; joints alone are solved to rounding."""
    return 1.0 if is_single(x) else (1e-1 if contacts > 0 else 1e-4)


@inline
def overlap_target_residual(x):
    """The residual of the overlap correction; the next step corrects the remainder."""
    return 2e-3 if is_single(x) else 1e-6


@inline
def min_epsilon(x):
    """The least ε of Newton's steps."""
    return MIN_EPSILON_SINGLE if is_single(x) else MIN_EPSILON


@inline
def stalled_epsilon(x):
    """The least ε where steps near the solution stall: sticking contacts push each other until one slips."""
    return 1e-5 if is_single(x) else 1e-10


@inline
def limit_slack(x):
    """m, rad: the distance at which a joint is at its limit."""
    return GAP_TOLERANCE_SINGLE if is_single(x) else GAP_TOLERANCE


@inline
def overlap_slack(x):
    """m: the depth below which shapes do not overlap."""
    return OVERLAP_TOLERANCE_SINGLE if is_single(x) else GAP_TOLERANCE


@inline
def closing_gap(gap, n, position):
    """The gap (m) that a contact at a place (3) with normal n (3) may close.

    In single precision it is reduced by the error of the coordinates, so that a robot at rest does not sink in jumps.
    """
    if is_single(gap):
        size = 1.0 + abs(n[0] * position[0]) + abs(n[1] * position[1]) + abs(n[2] * position[2])
        return max(gap - GAP_TOLERANCE_SINGLE * size, 0.0)
    return gap if gap > GAP_TOLERANCE else 0.0
