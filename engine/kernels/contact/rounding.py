"""What a step under contacts asks of its numbers, by the number type in which it is computed."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import is_single
from engine.scene.thresholds import OVERLAP_SINGLE, SHUT, SHUT_SINGLE
from engine.scene.touches import BEARABLE_SINGLE, TOLERANCE, TOLERANCE_SINGLE

LEAST_VELOCITY = 1e-30
"""m/s: what residuals are relative to at least, so that they are numbers where nothing moves."""


@inline
def asked(x):
    """The residual that Newton's steps aim at: half of what is promised, since that is worked out anew."""
    return 0.5 * TOLERANCE_SINGLE if is_single(x) else 0.5 * TOLERANCE


@inline
def bearable(x):
    """The residual that needs no other start."""
    return 0.5 * BEARABLE_SINGLE if is_single(x) else 0.5 * TOLERANCE


@inline
def promised(x):
    """The residual that a step is to have."""
    return TOLERANCE_SINGLE if is_single(x) else TOLERANCE


@inline
def fine(x):
    """Of the residual that is asked: what is farther off gets one step more, where that costs less than it leaves."""
    return 1.0 if is_single(x) else 1e-3


@inline
def asked_of_overlaps(x):
    """The residual of the displacement that takes overlaps back, of which the next step sees what is left."""
    return 2e-3 if is_single(x) else 1e-6


@inline
def least_weight(x):
    """ε, the weight of the proximal term, at least: what it leaves of the digits."""
    return 1e-3 if is_single(x) else 1e-6


@inline
def stalled_weight(x):
    """ε at least where steps near the solution change nothing: contacts that stick push each other until one slips."""
    return 1e-5 if is_single(x) else 1e-10


@inline
def shut(x):
    """m, rad: what is no way to a joint's limit."""
    return SHUT_SINGLE if is_single(x) else SHUT


@inline
def overlap(x):
    """m: what is no overlap."""
    return OVERLAP_SINGLE if is_single(x) else SHUT


@inline
def opening(gap, n, at):
    """The gap (m) that a contact at a place (3) with normal n (3) may close: in single precision less by what the
    coordinates are known to, so that a robot at rest does not come down now and then."""
    if is_single(gap):
        return max(gap - SHUT_SINGLE * (1.0 + abs(n[0] * at[0]) + abs(n[1] * at[1]) + abs(n[2] * at[2])), 0.0)
    return gap if gap > SHUT else 0.0
