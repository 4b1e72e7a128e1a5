"""The search for impulses: plans of Newton's steps, each with a scaling of r and a first ε, until one leaves little.

It is taken step by step, so that a GPU can let robots that need many steps take them while others go on.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import is_single, least_of, spread
from engine.kernels.contact.interior import begin_inside, follow_inside, prepare_inside
from engine.kernels.contact.newton import direction, respond, stay
from engine.kernels.contact.problem import (
    BEST,
    ENOUGH,
    EPS,
    LAST,
    LEAST,
    LEFT,
    LOWEST,
    MOST,
    PART,
    PLAN,
    RUBS,
    STALLED,
    TOLERANCE,
    greatest_velocity,
    merit,
    residual,
)
from engine.kernels.contact.rounding import fine, least_weight, stalled_weight
from engine.kernels.spatial import add, load3, scale, store3
from engine.kernels.world import ZERO

WARM, OVERLAP, COLD, INSIDE, POLISH, SMOOTHER, POLISH_AGAIN, SMALLER = range(8)
"""The plans: from the impulses of the step before; of overlaps; from none; by the interior point; from the best
impulses; by the interior point on a smoother path; from the best again. Where not all contacts rub: from none with a
smaller r."""
_LAST_STEP, _LAST_STEPS = 1e-4, 3
"""ε in the last step, where rounding, some 1e-16/ε, is what is left; and how many there are at most."""
_CLOSE = 1e-3
"""Merit below which a step that changes nothing is one that ε holds up, and not one that goes astray."""
_STALLED = 6
"""As many steps in a row that gain nothing there end a plan."""
_NEAR, _NEAR_SINGLE = 1e-8, 1e-4
"""The residual at which Newton's steps go on from the interior point."""
_FAR = 1e30


@inline
def _go(contacts, joints, part, p):
    """λ and u `part` of the step on."""
    for i in spread(contacts):
        store3(p.impulse[i], 0, 1, add(load3(p.impulse[i], 0, 1), scale(part, load3(p.change[i], 0, 1))))
        store3(p.u[i], 0, 1, add(load3(p.u[i], 0, 1), scale(part, load3(p.motion[i], 0, 1))))
    for j in spread(joints):
        p.joint_impulse[j] += part * p.joint_change[j]
        p.joint_u[j] += part * p.joint_motion[j]


@inline
def _keep(contacts, joints, p):
    """The present impulses as the best."""
    for i in spread(contacts):
        store3(p.best[i], 0, 1, load3(p.impulse[i], 0, 1))
    for j in spread(joints):
        p.joint_best[j] = p.joint_impulse[j]


@inline
def _take(contacts, joints, p):
    """The best impulses as the present ones."""
    for i in spread(contacts):
        store3(p.impulse[i], 0, 1, load3(p.best[i], 0, 1))
    for j in spread(joints):
        p.joint_impulse[j] = p.joint_best[j]


@inline
def _from_nothing(contacts, joints, p, tree):
    """No impulses, and nothing moves."""
    for i in spread(contacts):
        store3(p.impulse[i], 0, 1, (0.0, 0.0, 0.0))
        store3(p.u[i], 0, 1, load3(p.free[i], 0, 1))
    for j in spread(joints):
        p.joint_impulse[j], p.joint_u[j] = 0.0, p.joint_free[j]
    for i in spread(tree.moved.shape[0]):
        store3(tree.moved[i], 0, 1, ZERO)
        store3(tree.moved[i], 3, 1, ZERO)
    for j in spread(p.total.size):
        p.total[j] = 0.0
    stay(contacts, joints, p, tree)


@inline
def _is_inside(k):
    """Whether plan k takes steps of the interior point."""
    first = k == INSIDE
    return first or k == SMOOTHER


@inline
def _polishes(k):
    """Whether plan k begins at the best impulses."""
    first = k == POLISH
    return first or k == POLISH_AGAIN


@inline
def _plan(k, x):
    """r in multiples of 1/size, steps at most, and ε for each of the merit at first; x has the number type."""
    if k == WARM:
        return 3.0, 6, 0.03
    if k == OVERLAP:
        return 3.0, 12, 1e-4
    if k == COLD:
        return 3.0, 16 if is_single(x) else 25, 0.1
    if _is_inside(k):
        return 3.0, 20 if is_single(x) else 40, 1.0
    if _polishes(k):
        return 3.0, 12, 0.1
    return 0.3, 12 if is_single(x) else 20, 1.0


@inline
def _next_plan(k, rubs):
    """The plan after plan k; `rubs`: all contacts have friction, which the interior point asks for."""
    if k < COLD:
        return COLD
    if k == COLD:
        return INSIDE if rubs == 1 else SMALLER
    return POLISH_AGAIN if k == SMALLER else k + 1


@inline
def _near(x):
    """The residual at which the interior point hands on; x has the number type."""
    return _NEAR_SINGLE if is_single(x) else _NEAR


@inline
def _longest_step(contacts, joints, p, share, best, most):
    """How much of a step is gone: all, or the part of five, each half of the one before, that leaves least; and what it
    leaves of the merit. None, 0, where that is no number."""
    part, tried, there = 1.0, 0.0, _FAR
    for _ in range(5):
        left = merit(contacts, joints, p, share, part, most)
        if left < there:
            tried, there = part, left
        if left < (1.1 * best if best < _CLOSE else best):
            break
        part *= 0.5
    return tried, there


@inline
def _begin_plan(plan, contacts, joints, inertia, topology, bodies, work):
    """Begin a plan."""
    p, numbers, counts = work.problem, work.search.numbers, work.search.counts
    share, steps, first = _plan(plan, numbers[MOST])
    if _polishes(plan):
        if not numbers[LOWEST] <= _near(numbers[MOST]):
            _take(contacts, joints, p)
        respond(contacts, joints, topology, bodies, work, p.total)
    elif plan != WARM:
        _from_nothing(contacts, joints, p, work.tree)
    if _is_inside(plan):
        begin_inside(contacts, joints, inertia, topology, bodies, work)
    left = residual(contacts, joints, p, 0.0, numbers[MOST])
    best = merit(contacts, joints, p, share, 0.0, numbers[MOST])
    counts[PLAN], counts[LEFT], counts[LAST], counts[STALLED] = plan, steps, 0, 0
    numbers[BEST], numbers[LOWEST], numbers[PART] = best, left, 0.0
    numbers[EPS] = max(least_weight(best), first * min(1.0, best))
    if left < numbers[LEAST]:
        numbers[LEAST] = left
        _keep(contacts, joints, p)


@kernel
def begin(plan, tolerance, enough, contacts, joints, inertia, topology, bodies, work):
    """Begin a search that aims at the residual `tolerance`; what leaves less than `enough` needs no other plan.

    `plan` is the first: `COLD`; `WARM`, from `impulse`, `u`, `total` and the bodies' twists as they are, which belong
    together; or `OVERLAP`, of contacts without friction and of no joints.
    """
    numbers, least = work.search.numbers, 1.0
    for i in spread(contacts):
        least = min(least, work.problem.mu[i])
    work.search.counts[RUBS] = 1 if least_of(least) > 0.0 else 0
    numbers[MOST] = greatest_velocity(contacts, joints, work.problem)
    numbers[LEAST], numbers[TOLERANCE], numbers[ENOUGH] = _FAR, tolerance, enough
    _begin_plan(plan, contacts, joints, inertia, topology, bodies, work)


@inline
def _is_over(numbers, counts):
    """Whether the plan is over: the interior point hands on to Newton's steps what they can do."""
    near = _near(numbers[MOST]) if _is_inside(counts[PLAN]) else fine(numbers[EPS]) * numbers[TOLERANCE]
    return counts[LEFT] == 0 or counts[LAST] == _LAST_STEPS or numbers[LOWEST] <= near


@inline
def _is_done(numbers, counts):
    """Whether no plan follows."""
    found = numbers[LEAST] <= numbers[ENOUGH] and not _is_inside(counts[PLAN])
    return found or counts[PLAN] == POLISH_AGAIN


@inline
def _follow_newton(contacts, joints, eps, p, numbers, counts):
    """What follows the direction of a Newton step with this ε."""
    most, best = numbers[MOST], numbers[BEST]
    share, _, first = _plan(counts[PLAN], most)
    part, there = _longest_step(contacts, joints, p, share, best, most)
    numbers[PART] = part
    counts[STALLED] = counts[STALLED] + 1 if best < _CLOSE and there > 0.5 * best else 0
    if part == 0.0 or counts[STALLED] == _STALLED:
        counts[LEFT] = 0
    else:
        _go(contacts, joints, part, p)
        if best < _CLOSE and 0.9 * best < there and there < 1.1 * best:
            eps = max(stalled_weight(most), 0.1 * eps)
        elif there < best:
            eps = max(least_weight(most), min(first * there, 0.3 * eps))
        else:
            eps = min(1.0, max(2.0 * eps, 1e-6))
        numbers[EPS], numbers[BEST] = eps, min(best, there)


@kernel
def advance(contacts, joints, inertia, topology, bodies, work, count):
    """A step of the search, unless it is over; returns whether it is. The impulses are in `best` then.

    `inertia` (nv,) is d of the robot; `count` (3,): its second and third numbers grow by the steps taken, Newton's and
    those of the interior point. Both take one direction each, at one place of the program, so that a GPU's threads take
    theirs together.
    """
    p, numbers, counts = work.problem, work.search.numbers, work.search.counts
    while _is_over(numbers, counts):
        if _is_done(numbers, counts):
            return True
        following = _next_plan(counts[PLAN], counts[RUBS])
        _begin_plan(following, contacts, joints, inertia, topology, bodies, work)
    inside, smoother, share, eps = _is_inside(counts[PLAN]), counts[PLAN] == SMOOTHER, 0.0, numbers[EPS]
    if inside:
        prepare_inside(smoother, contacts, joints, p, numbers)
    else:
        share = _plan(counts[PLAN], eps)[0]
        if numbers[LOWEST] <= numbers[TOLERANCE]:
            counts[LAST], eps = counts[LAST] + 1, _LAST_STEP
    direction(contacts, joints, numbers[PART], share, eps, inertia, topology, bodies, work)
    counts[LEFT] -= 1
    if inside:
        count[2] += 1
        follow_inside(smoother, contacts, joints, p, numbers, counts)
    else:
        count[1] += 1
        _follow_newton(contacts, joints, eps, p, numbers, counts)
    left = residual(contacts, joints, p, 0.0, numbers[MOST])
    if left < numbers[LOWEST]:
        numbers[LOWEST] = left
        if left < numbers[LEAST]:
            numbers[LEAST] = left
            _keep(contacts, joints, p)
    if not left < _FAR:
        counts[LEFT] = 0
    return _is_over(numbers, counts) and _is_done(numbers, counts)
