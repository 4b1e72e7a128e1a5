"""Joint friction and joint limits as rows, one a coordinate: what they ask of its velocity and its reaction.

They act on the velocity at the end of a step, v⁺. Coulomb friction of size f and the bounds lo ≤ v⁺ ≤ hi that position
and velocity limits give, lo ≤ 0 ≤ hi, hi = (upper − q)/dt at most, together ask of the force r at a joint

    v⁺ > 0: r = −f     v⁺ < 0: r = f     v⁺ = 0: |r| ≤ f     v⁺ = hi: r ≤ −f (f if hi = 0)     v⁺ = lo: r ≥ f (−f)

A row's *mode* says which of these five holds: a number of the kernel's own type.
"""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import is_single
from engine.step_settings import FRICTION

LOW, BACKWARD, STUCK, FORWARD, HIGH = -2.0, -1.0, 0.0, 1.0, 2.0  # the modes: v⁺ = lo, v⁺ < 0, v⁺ = 0, v⁺ > 0, v⁺ = hi
BLOCK_PIVOTS = 8  # rounds of moving all joints at once
ACTIVE_SET_STEPS = 20  # for each coordinate, at most: far more than it takes


@inline
def friction(joints, j, v):  # noqa: ARG001 (Coulomb's does not depend on v)
    """The law of joint friction: its size f at coordinate j, N m or N, where it begins to act at the velocity v of it.

    That is a step's first one, or with "rk4", where nothing touches, that to which its stages lead. `joints` (8, nv)
    are the robot's, see `engine.step_settings`. Where f may be above 0 that row must be.
    """
    return joints[FRICTION, j]


@inline
def rest(x):
    """What counts as nothing of a velocity, rad/s or m/s."""
    return 4e-6 if is_single(x) else 1e-12


@inline
def at_limit(x):
    """What counts as nothing of the way to a limit, rad or m."""
    return 1e-6 if is_single(x) else 1e-12


@inline
def slack_of_velocity(v):
    """What rounding may leave of a velocity that began as v."""
    return (2e-6 if is_single(v) else 1e-12) * (1.0 + abs(v))


@inline
def slack_of_reaction(f, drive):
    """What rounding may leave of a reaction beside friction f and another force."""
    return (1e-4 if is_single(drive) else 1e-10) * (f + abs(drive))


@inline
def slides(mode):
    """Whether a joint in this mode moves freely under its friction; else its velocity is prescribed."""
    return abs(mode) == 1


@inline
def velocity_bounds(here, lower, upper, most, rate):
    """lo and hi of v⁺ of a coordinate within limits whose rate is `most` at most, lo ≤ 0 ≤ hi; `rate` is 1/dt."""
    below, above, nothing = lower - here, upper - here, at_limit(here)
    low, high = (below if below < -nothing else 0.0) * rate, (above if above > nothing else 0.0) * rate
    return max(-most, low), min(most, high)


@inline
def held_at(mode, low, high):
    """v⁺ of a held row."""
    return high if mode == HIGH else (low if mode == LOW else 0.0)


@inline
def initial_mode(v, low, high, f):
    """The mode of a row as the step begins at velocity v: held where it rests or is as fast as it may be."""
    rests, nothing = abs(v) <= rest(v), rest(v)
    sliding = FORWARD if v >= 0.0 else BACKWARD
    still = HIGH if high == 0.0 else (LOW if low == 0.0 else (STUCK if f > 0.0 else sliding))
    moving = HIGH if v >= high - nothing else (LOW if v <= low + nothing else sliding)
    return still if rests else moving


@inline
def feasible_mode(after, low, high, f):
    """The mode of a row with v⁺ = `after`, within its bounds."""
    sliding = STUCK if after == 0.0 and f > 0.0 else (FORWARD if after >= 0.0 else BACKWARD)
    return HIGH if after == high else (LOW if after == low else sliding)


@inline
def released(mode, r, f, low, high, slack):
    """The mode that a held row asks for, given the force r that holding it takes."""
    stuck = BACKWARD if r > f + slack else (FORWARD if r < -f - slack else STUCK)
    at_high = HIGH if r <= (-f if high > 0.0 else f) + slack else (FORWARD if high > 0.0 else BACKWARD)
    at_low = LOW if r >= (f if low < 0.0 else -f) - slack else (BACKWARD if low < 0.0 else FORWARD)
    return stuck if mode == STUCK else (at_high if mode == HIGH else at_low)


@inline
def stopped(mode, after, f, low, high, slack):
    """The mode that a sliding row asks for, given its v⁺."""
    within = STUCK if f > 0.0 and mode * after < -slack else mode
    return HIGH if after > high + slack else (LOW if after < low - slack else within)


@inline
def pull(mode, r, f, low):
    """How far beyond its friction a held row pulls."""
    return abs(r) - f if mode == STUCK else abs(r - (f if (mode == LOW) == (low < 0.0) else -f))


@inline
def sliding_interval(mode, low, high, f):
    """Where v⁺ may lie while a row slides: on its own side of rest, where there is friction."""
    return (0.0 if f > 0.0 and mode == FORWARD else low), (0.0 if f > 0.0 and mode != FORWARD else high)
