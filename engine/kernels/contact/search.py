"""The search for impulses: a sequence of plans, each an initial guess, a scaling of r and a first ε.

It advances step by step, so that on a GPU robots that need more steps do not delay the others.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.compile import compiled_apart, inline, kernel
from engine.compile.operations import is_single, parallel_range, thread_min
from engine.kernels.bodies import ZERO
from engine.kernels.contact.interior import begin_interior, prepare_interior, take_interior_step
from engine.kernels.contact.newton import clear_step, direction, respond
from engine.kernels.contact.problem import (
    ACCEPTED_RESIDUAL,
    ALL_FRICTIONAL,
    BEST_MERIT,
    BEST_RESIDUAL,
    BEST_RESIDUAL_OF_PLAN,
    CONTACTS,
    DETACHED,
    EPSILON,
    EPSILON_PER_MERIT,
    FINAL_STEPS,
    LARGEST_VELOCITY,
    METHOD,
    PLAN,
    R_SCALE,
    STALLED_STEPS,
    STEP_FRACTION,
    STEPS_LEFT,
    TOLERANCE,
    contact_violation,
    largest_velocity,
    merit,
    residual,
)
from engine.kernels.contact.rounding import extra_step_factor, min_epsilon, residual_tolerance, stalled_epsilon
from engine.kernels.contact.workspace import INTERIOR_COUNT, NEWTON_COUNT
from engine.kernels.spatial import add, dot, load3, scale, store3

(
    WARM_START,  # from the impulses of the step before
    OVERLAP_START,  # for overlaps
    COLD_START,
    POLISH_FIRST,  # if near: a line search stays at a kink of the map
    INTERIOR,  # which needs friction at all contacts
    POLISH,
    HELD_SLIP_INTERIOR,  # each step with the slip of the one before: that of a convex problem
    POLISH_AGAIN,
    DETACH,  # with the least loaded contact that violates the law held open; then with another
    COLD_SMALL_R,  # bodies that are wedged, whose impulses are not unique, need a smaller r or a larger one
    COLD_LARGE_R,
    POLISH_LAST,
) = range(12)
"""The plans, in their order; see `_plan`."""
_PRESENT, _ZERO, _BEST = range(3)
"""The impulses that a plan begins from."""
_NEWTON, _WHOLE_NEWTON, _INTERIOR_POINT = range(3)
"""Newton's steps with a line search, those of a length of 1, and the interior point's."""
_FINAL_EPSILON = 1e-4  # ε of a plan's final steps: rounding of some 1e-16/ε dominates there
_MAX_FINAL_STEPS = 3
_SMALL_MERIT = 1e-3  # below it a step without progress means that ε is too large, not that the iterate diverges
_MAX_STALLED = 6  # successive stalled steps at such a merit that end a plan
_HALVINGS = 4  # of a step by the line search
_STALLED = 0.5  # of the merit: a stalled step decreases it by less
_STALLED_WHOLE = 0.01  # of the merit: a stalled whole step changes it by less
_SWITCH_RESIDUAL, _SWITCH_RESIDUAL_SINGLE = 1e-8, 1e-4  # the residual at which Newton's steps follow the interior point
_KINK = 1e-4  # the best residual below which the interior point begins near it: Newton's steps end beside a kink
_START_PRODUCTS, _MIN_START_PRODUCTS = 10.0, 1e-5  # ν there, in units of that residual, and at least
_UPPER_BOUND = 1e30  # of residuals, merits and impulses
_MAX_DETACHED = 4  # contacts held open at a time
_OPENING_VELOCITY = 1e3  # the velocity that holds them open, in units of the largest one
_VIOLATING = 0.1  # of the largest violation: a contact that is held open next has at least so much


@inline
def _advance_impulses(contacts, joints, length, p):
    """Advance λ and u by `length` of the step."""
    for i in parallel_range(contacts):
        store3(p.impulse[i], add(load3(p.impulse[i]), scale(length, load3(p.change[i]))))
        store3(p.u[i], add(load3(p.u[i]), scale(length, load3(p.motion[i]))))
    for j in parallel_range(joints):
        p.joint_impulse[j] += length * p.joint_change[j]
        p.joint_u[j] += length * p.joint_motion[j]


@inline
def _store_best(contacts, joints, p):
    """Store the present impulses as the best iterate."""
    for i in parallel_range(contacts):
        store3(p.best[i], load3(p.impulse[i]))
    for j in parallel_range(joints):
        p.joint_best[j] = p.joint_impulse[j]


@inline
def _restore_best(contacts, joints, p):
    """Restore the best iterate's impulses."""
    for i in parallel_range(contacts):
        store3(p.impulse[i], load3(p.best[i]))
    for j in parallel_range(joints):
        p.joint_impulse[j] = p.joint_best[j]


@inline
def _start_from_zero(contacts, joints, p, tree):
    """Set all impulses and the motion that they cause to zero."""
    for i in parallel_range(contacts):
        store3(p.impulse[i], (0.0, 0.0, 0.0))
        store3(p.u[i], load3(p.free[i]))
    for j in parallel_range(joints):
        p.joint_impulse[j], p.joint_u[j] = 0.0, p.joint_free[j]
    for i in parallel_range(tree.moved.shape[0]):
        store3(tree.moved[i], ZERO)
        store3(tree.moved[i], ZERO, 3)
    for j in parallel_range(p.total.size):
        p.total[j] = 0.0
    clear_step(contacts, joints, p, tree)


class _Plan(NamedTuple):
    start: int
    method: int
    r_scale: float  # r as a multiple of `ProblemArrays.r`: 3 lets a contact stick at once where others share its load
    max_steps: int  # single precision reaches its rounding in fewer
    eps_per_merit: float  # the first ε per merit


@inline
def _plan(k, single):
    """Plan k, in single or double precision."""
    if k == WARM_START:  # few steps, hardly damped: the solution is near, or a cold start finds it sooner
        return _Plan(_PRESENT, _NEWTON, 3.0, 6, 0.03)
    if k == OVERLAP_START:  # without friction the map is piecewise linear
        return _Plan(_ZERO, _NEWTON, 3.0, 12, 1e-4)
    if k == COLD_START:
        return _Plan(_ZERO, _NEWTON, 3.0, 16 if single else 25, 0.1)
    if k == INTERIOR:
        return _Plan(_ZERO, _INTERIOR_POINT, 3.0, 20 if single else 40, 1.0)
    if k == HELD_SLIP_INTERIOR:
        return _Plan(_ZERO, _INTERIOR_POINT, 3.0, 20 if single else 100, 1.0)
    if k == DETACH:
        return _Plan(_PRESENT, _NEWTON, 3.0, 12, 0.1)
    if k == COLD_SMALL_R or k == COLD_LARGE_R:  # far from zero, wholly damped at first
        return _Plan(_ZERO, _NEWTON, 0.3 if k == COLD_SMALL_R else 30.0, 20, 1.0)
    if k == POLISH_FIRST or k == POLISH_LAST:  # whole steps may go astray and come back
        return _Plan(_BEST, _WHOLE_NEWTON, 3.0, 12 if k == POLISH_FIRST else 30, 0.1)
    return _Plan(_BEST, _NEWTON, 3.0, 12, 0.1)


@inline
def _switch_residual(x):
    """The residual at which the interior point hands over; x has the number type."""
    return _SWITCH_RESIDUAL_SINGLE if is_single(x) else _SWITCH_RESIDUAL


@inline
def _next_plan(k, all_frictional, detached, best):
    """The plan after plan k and the residual `best`.

    `all_frictional` is 1 where all contacts have friction, `detached` the number of contacts that are held open.
    """
    if k < COLD_START:
        return COLD_START
    if k == COLD_START and best < _switch_residual(best):
        return POLISH_FIRST
    if k <= POLISH_FIRST:
        return INTERIOR if all_frictional == 1 else COLD_SMALL_R
    if k == POLISH_AGAIN and is_single(best):
        return COLD_SMALL_R
    if k == DETACH and detached > 0 and detached < _MAX_DETACHED:
        return DETACH
    return min(k + 1, POLISH_LAST)


@inline
def _line_search(contacts, joints, p, r_scale, best, unit):
    """Return the step length, the best of 1, 1/2, 1/4, …, and its merit; a length of 0 where no merit is finite."""
    length, best_length, least = 1.0, 0.0, _UPPER_BOUND
    for _ in range(_HALVINGS + 1):
        value = merit(contacts, joints, p, r_scale, length, unit)
        if value < least:
            best_length, least = length, value
        if value < (1.1 * best if best < _SMALL_MERIT else best):
            break
        length *= 0.5
    return best_length, least


@inline
def _least_loaded(contacts, p, detached):
    """The contact with the least impulse among loaded contacts that violate the law and are not held open, or −1.

    A contact whose load sliding relieves may have no velocity beside that at which it sticks: it comes off. Iterates
    stay where it still sticks, with all contacts around it a little off the law.
    """
    chosen, least, largest = -1, _UPPER_BOUND, 0.0
    for i in range(contacts):
        largest = max(largest, contact_violation(i, p))
    for i in range(contacts):
        excluded = contact_violation(i, p) < _VIOLATING * largest or p.impulse[i, 0] <= 0.0
        for k in range(detached):
            excluded = excluded or p.detached[k] == i
        if p.impulse[i, 0] < least and not excluded:
            chosen, least = i, p.impulse[i, 0]
    return chosen


@inline
def _detach(contacts, joints, topology, bodies, solver):
    """Hold one more contact open, as if it moved away from the surface that it touches; if none is left, release
    all."""
    p, counts, unit = solver.problem, solver.search.counts, solver.search.numbers[LARGEST_VELOCITY]
    if counts[DETACHED] == 0:
        _restore_best(contacts, joints, p)
        respond(contacts, joints, topology, bodies, solver)
    i = _least_loaded(contacts, p, counts[DETACHED])
    if i < 0:
        for k in range(counts[DETACHED]):
            p.free[p.detached[k], 0] = p.attached[k]
        counts[DETACHED] = 0
    else:
        p.detached[counts[DETACHED]], p.attached[counts[DETACHED]] = i, p.free[i, 0]
        counts[DETACHED] += 1
    for k in range(counts[DETACHED]):
        i = p.detached[k]
        p.free[i, 0] = p.attached[k] + _OPENING_VELOCITY * unit
        store3(p.impulse[i], (0.0, 0.0, 0.0))
    respond(contacts, joints, topology, bodies, solver)


@inline
def _attach(contacts, joints, topology, bodies, solver):
    """Release the contacts that are held open; the impulses are stored if they obey the law best."""
    p, numbers, counts = solver.problem, solver.search.numbers, solver.search.counts
    for k in range(counts[DETACHED]):
        p.free[p.detached[k], 0] = p.attached[k]
    respond(contacts, joints, topology, bodies, solver)
    residual_now = residual(contacts, joints, p, numbers[LARGEST_VELOCITY])
    if residual_now < numbers[BEST_RESIDUAL]:
        numbers[BEST_RESIDUAL] = residual_now
        _store_best(contacts, joints, p)


@inline
def _begin_plan(k, contacts, joints, inertia, topology, bodies, solver):
    """Begin plan k."""
    p, numbers, counts = solver.problem, solver.search.numbers, solver.search.counts
    unit = numbers[LARGEST_VELOCITY]
    plan = _plan(k, is_single(unit))
    near = k == INTERIOR and numbers[BEST_RESIDUAL] < _KINK
    restores = near
    if plan.start == _BEST:
        respond(contacts, joints, topology, bodies, solver)
        restores = not residual(contacts, joints, p, unit) < numbers[BEST_RESIDUAL]
    if restores:
        _restore_best(contacts, joints, p)
        respond(contacts, joints, topology, bodies, solver)
    elif plan.start == _ZERO:
        _start_from_zero(contacts, joints, p, solver.tree)
    if not is_single(unit) and k == DETACH:
        _detach(contacts, joints, topology, bodies, solver)
    if plan.method == _INTERIOR_POINT:
        nu = max(_MIN_START_PRODUCTS, _START_PRODUCTS * numbers[BEST_RESIDUAL]) if near else 0.0
        begin_interior(nu, contacts, joints, inertia, topology, bodies, solver)
    residual_now = residual(contacts, joints, p, unit)
    merit_now = merit(contacts, joints, p, plan.r_scale, 0.0, unit)
    counts[PLAN], counts[METHOD], counts[STEPS_LEFT], counts[FINAL_STEPS] = k, plan.method, plan.max_steps, 0
    counts[STALLED_STEPS], numbers[R_SCALE], numbers[EPSILON_PER_MERIT] = 0, plan.r_scale, plan.eps_per_merit
    numbers[BEST_MERIT], numbers[BEST_RESIDUAL_OF_PLAN], numbers[STEP_FRACTION] = merit_now, residual_now, 0.0
    numbers[EPSILON] = max(min_epsilon(merit_now), plan.eps_per_merit * min(1.0, merit_now))
    if residual_now < numbers[BEST_RESIDUAL] and k != DETACH:
        numbers[BEST_RESIDUAL] = residual_now
        _store_best(contacts, joints, p)


@kernel
def begin(plan, tolerance, accepted, contacts, joints, inertia, topology, bodies, solver):
    """Begin a search for the residual `tolerance`; no plan follows one that leaves at most `accepted`.

    `plan` is the first one: `COLD_START`; `WARM_START`, from consistent `impulse`, `u`, `total` and twists of the
    bodies; or `OVERLAP_START`, for contacts without friction and no joint rows.
    """
    numbers, least = solver.search.numbers, 1.0
    for i in parallel_range(contacts):
        least = min(least, solver.problem.mu[i])
    solver.search.counts[DETACHED] = 0
    solver.search.counts[ALL_FRICTIONAL] = 1 if thread_min(least) > 0.0 else 0
    numbers[LARGEST_VELOCITY] = largest_velocity(contacts, joints, solver.problem)
    numbers[BEST_RESIDUAL], numbers[TOLERANCE], numbers[ACCEPTED_RESIDUAL] = _UPPER_BOUND, tolerance, accepted
    _begin_plan(plan, contacts, joints, inertia, topology, bodies, solver)


@inline
def _is_over(numbers, counts):
    """Whether the plan is over."""
    near = (
        _switch_residual(numbers[LARGEST_VELOCITY])
        if counts[METHOD] == _INTERIOR_POINT
        else extra_step_factor(counts[CONTACTS], numbers[EPSILON]) * numbers[TOLERANCE]
    )
    return counts[STEPS_LEFT] == 0 or counts[FINAL_STEPS] == _MAX_FINAL_STEPS or numbers[BEST_RESIDUAL_OF_PLAN] <= near


@inline
def _is_done(numbers, counts):
    """Whether no plan follows."""
    accepted = numbers[BEST_RESIDUAL] <= numbers[ACCEPTED_RESIDUAL] and counts[METHOD] != _INTERIOR_POINT
    return accepted or counts[PLAN] == POLISH_LAST


@inline
def _take_newton_step(contacts, joints, eps, p, numbers, counts):
    """Take a step along Newton's direction for this ε, and choose the next ε."""
    unit, best_merit, r_scale = numbers[LARGEST_VELOCITY], numbers[BEST_MERIT], numbers[R_SCALE]
    whole_steps = counts[METHOD] == _WHOLE_NEWTON
    if whole_steps:
        length, merit_after = 1.0, merit(contacts, joints, p, r_scale, 1.0, unit)
    else:
        length, merit_after = _line_search(contacts, joints, p, r_scale, best_merit, unit)
    numbers[STEP_FRACTION] = length
    change = abs(merit_after - best_merit) if whole_steps else best_merit - merit_after
    stalled = best_merit < _SMALL_MERIT and change < (_STALLED_WHOLE if whole_steps else _STALLED) * best_merit
    counts[STALLED_STEPS] = counts[STALLED_STEPS] + 1 if stalled else 0
    if length == 0.0 or counts[STALLED_STEPS] == _MAX_STALLED:
        counts[STEPS_LEFT] = 0
    else:
        _advance_impulses(contacts, joints, length, p)
        if best_merit < _SMALL_MERIT and 0.9 * best_merit < merit_after and merit_after < 1.1 * best_merit:
            eps = max(stalled_epsilon(unit), 0.1 * eps)
        elif merit_after < best_merit:
            eps = max(min_epsilon(unit), min(numbers[EPSILON_PER_MERIT] * merit_after, 0.3 * eps))
        else:
            eps = min(1.0, max(2.0 * eps, 1e-6))
        if whole_steps:
            eps = max(min_epsilon(unit), min(1e-2, merit_after))
        numbers[EPSILON], numbers[BEST_MERIT] = eps, min(best_merit, merit_after)


@kernel
def advance(contacts, joints, inertia, topology, bodies, solver, step_counts):
    """Take one step of the search unless it is over, and return whether it is; `best` then holds the impulses.

    `inertia` (nv,) is d; `step_counts` is that of `ContactWorkspace`.
    Both kinds compute their direction at one place of the program, so that the threads of a GPU do it together.
    """
    p, numbers, counts = solver.problem, solver.search.numbers, solver.search.counts
    while _is_over(numbers, counts):
        if not is_single(numbers[LARGEST_VELOCITY]) and counts[PLAN] == DETACH:
            _attach(contacts, joints, topology, bodies, solver)
        if _is_done(numbers, counts):
            return True
        following = _next_plan(counts[PLAN], counts[ALL_FRICTIONAL], counts[DETACHED], numbers[BEST_RESIDUAL])
        _begin_plan(following, contacts, joints, inertia, topology, bodies, solver)
    interior, slip_held = counts[METHOD] == _INTERIOR_POINT, counts[PLAN] == HELD_SLIP_INTERIOR
    r_scale, eps = 0.0, numbers[EPSILON]
    if interior:
        prepare_interior(slip_held, contacts, joints, p, numbers)
    else:
        r_scale = numbers[R_SCALE]
        if numbers[BEST_RESIDUAL_OF_PLAN] <= numbers[TOLERANCE]:
            counts[FINAL_STEPS], eps = counts[FINAL_STEPS] + 1, _FINAL_EPSILON
    direction(contacts, joints, numbers[STEP_FRACTION], r_scale, eps, inertia, topology, bodies, solver)
    counts[STEPS_LEFT] -= 1
    if interior:
        step_counts[INTERIOR_COUNT] += 1
        take_interior_step(slip_held, contacts, joints, p, numbers, counts)
    else:
        step_counts[NEWTON_COUNT] += 1
        _take_newton_step(contacts, joints, eps, p, numbers, counts)
    residual_now = residual(contacts, joints, p, numbers[LARGEST_VELOCITY])
    if residual_now < numbers[BEST_RESIDUAL_OF_PLAN]:
        numbers[BEST_RESIDUAL_OF_PLAN] = residual_now
        if slip_held:
            counts[STALLED_STEPS] = 0
        # Rounding takes digits of an interior point's velocities.
        if residual_now < numbers[BEST_RESIDUAL] and not interior and counts[PLAN] != DETACH:
            numbers[BEST_RESIDUAL] = residual_now
            _store_best(contacts, joints, p)
    if not residual_now < _UPPER_BOUND:
        counts[STEPS_LEFT] = 0
    return _is_over(numbers, counts) and _is_done(numbers, counts)


@compiled_apart
def finish_search(contacts, joints, inertia, topology, contact):
    """Run a search to its end. Numbers of rows in registers, not in memory, save up to a twentieth of a step."""
    over = False
    while not over:
        over = advance(contacts, joints, inertia, topology, contact.bodies, contact.solver, contact.step_counts)


@inline
def restore_significant(contacts, joints, unit, p):
    """Restore the best impulses; an impulse that moves its contact by less than the tolerance becomes 0, as at an open
    contact."""
    for i in parallel_range(contacts):
        x = load3(p.best[i])
        threshold = 0.1 * residual_tolerance(unit) * unit * p.r[i]
        store3(p.impulse[i], x if dot(x, x) > threshold * threshold else (0.0, 0.0, 0.0))
    for j in parallel_range(joints):
        p.joint_impulse[j] = p.joint_best[j]
