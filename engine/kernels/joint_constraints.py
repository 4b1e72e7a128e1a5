"""Joint friction and joint limits as rows, one a coordinate: conditions on its velocity and its reaction.

They act on the velocity at the end of a step, v⁺. With Coulomb friction of size f and bounds lo ≤ v⁺ ≤ hi from position
and velocity limits, lo ≤ 0 ≤ hi ≤ (upper − q)/dt, the force r at a joint obeys

    v⁺ > 0: r = −f     v⁺ < 0: r = f     v⁺ = 0: |r| ≤ f     v⁺ = hi: r ≤ −f (f if hi = 0)     v⁺ = lo: r ≥ f (−f)

A row's *mode* is the one of these five that holds, a number of the kernel's type.
"""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import is_single
from engine.step_settings import FRICTION

LOW, BACKWARD, STUCK, FORWARD, HIGH = -2.0, -1.0, 0.0, 1.0, 2.0  # modes: v⁺ = lo, v⁺ < 0, v⁺ = 0, v⁺ > 0, v⁺ = hi
BLOCK_PIVOTS = 8  # rounds in which all rows change their modes at once
ACTIVE_SET_STEPS = 20  # the maximum per coordinate, far more than needed
REST, REST_SINGLE = 1e-12, 4e-6  # rad/s or m/s: the velocity below which a joint is at rest
AT_LIMIT, AT_LIMIT_SINGLE = 1e-12, 1e-6  # rad or m: the distance within which a joint is at its limit
VELOCITY_SLACK, VELOCITY_SLACK_SINGLE = 1e-12, 2e-6  # the relative rounding error of a velocity
REACTION_SLACK, REACTION_SLACK_SINGLE = 1e-10, 1e-4  # that of a reaction


@inline
def joint_law(y, gf, lo, hi):
    """clamp(soft(y, g f), lo, hi)."""
    return min(max(y - gf if y > gf else (y + gf if y < -gf else 0.0), lo), hi)


@inline
def friction(joints, j, v):  # noqa: ARG001 (Coulomb's does not depend on v)
    """The law of joint friction: its size f, N m or N, at coordinate j with velocity v.

    v is the velocity at the beginning of a step or, with "rk4" and no contact, that of the combined stages. `joints`
    (8, nv) are the robot's, see `engine.step_settings`. A coordinate whose f can be positive needs a positive entry
    there.
    """
    return joints[FRICTION, j]


@inline
def rest_speed(x):
    """The velocity below which a joint is at rest, rad/s or m/s."""
    return REST_SINGLE if is_single(x) else REST


@inline
def limit_distance(x):
    """The distance within which a joint is at its limit, rad or m."""
    return AT_LIMIT_SINGLE if is_single(x) else AT_LIMIT


@inline
def slack_of_velocity(v):
    """A bound of the rounding error of a velocity that began as v."""
    return (VELOCITY_SLACK_SINGLE if is_single(v) else VELOCITY_SLACK) * (1.0 + abs(v))


@inline
def slack_of_reaction(f, drive):
    """A bound of the rounding error of a reaction, given friction f and the other joint force."""
    return (REACTION_SLACK_SINGLE if is_single(drive) else REACTION_SLACK) * (f + abs(drive))


@inline
def slides(mode):
    """Whether a joint in this mode slides; otherwise its velocity is prescribed."""
    return abs(mode) == 1


@inline
def velocity_bounds(position, lower, upper, max_speed, rate):
    """lo and hi of v⁺ from position limits and the velocity limit `max_speed`, lo ≤ 0 ≤ hi; `rate` is 1/dt."""
    below, above, tolerance = lower - position, upper - position, limit_distance(position)
    low, high = (below if below < -tolerance else 0.0) * rate, (above if above > tolerance else 0.0) * rate
    return max(-max_speed, low), min(max_speed, high)


@inline
def held_velocity(mode, low, high):
    """The prescribed v⁺ of a held row."""
    return high if mode == HIGH else (low if mode == LOW else 0.0)


@inline
def initial_mode(v, low, high, f):
    """The initial mode of a row at velocity v: held at rest or at its velocity limit."""
    at_rest, tolerance = abs(v) <= rest_speed(v), rest_speed(v)
    sliding = FORWARD if v >= 0.0 else BACKWARD
    resting_mode = HIGH if high == 0.0 else (LOW if low == 0.0 else (STUCK if f > 0.0 else sliding))
    moving_mode = HIGH if v >= high - tolerance else (LOW if v <= low + tolerance else sliding)
    return resting_mode if at_rest else moving_mode


@inline
def feasible_mode(v_next, low, high, f):
    """The mode of a row with v⁺ = `v_next`, within its bounds."""
    sliding = STUCK if v_next == 0.0 and f > 0.0 else (FORWARD if v_next >= 0.0 else BACKWARD)
    return HIGH if v_next == high else (LOW if v_next == low else sliding)


@inline
def next_mode_of_held(mode, r, f, low, high, slack):
    """The next mode of a held row with reaction r."""
    from_stuck = BACKWARD if r > f + slack else (FORWARD if r < -f - slack else STUCK)
    from_high = HIGH if r <= (-f if high > 0.0 else f) + slack else (FORWARD if high > 0.0 else BACKWARD)
    from_low = LOW if r >= (f if low < 0.0 else -f) - slack else (BACKWARD if low < 0.0 else FORWARD)
    return from_stuck if mode == STUCK else (from_high if mode == HIGH else from_low)


@inline
def next_mode_of_sliding(mode, v_next, f, low, high, slack):
    """The next mode of a sliding row with v⁺ = `v_next`."""
    within = STUCK if f > 0.0 and mode * v_next < -slack else mode
    return HIGH if v_next > high + slack else (LOW if v_next < low - slack else within)


@inline
def friction_excess(mode, r, f, low):
    """By how much the reaction of a held row exceeds its friction."""
    return abs(r) - f if mode == STUCK else abs(r - (f if (mode == LOW) == (low < 0.0) else -f))


@inline
def sliding_interval(mode, low, high, f):
    """The interval of v⁺ in which a row slides: with friction, on its own side of zero."""
    return (0.0 if f > 0.0 and mode == FORWARD else low), (0.0 if f > 0.0 and mode != FORWARD else high)
