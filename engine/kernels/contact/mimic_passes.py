"""The passes of the recursion over bodies for coordinates that move several joints; `mimics` has the equations.

Functions with the parameter `tree` are called for every body, and do nothing where no such coordinate is: without mimic
joints they leave no code. `matrix` is M + d, "mass", or that of Newton's steps, "newton".
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.kernels.bodies import ZERO
from engine.kernels.contact import body_pairs
from engine.kernels.contact.mimics import ENDS, OWN, PASSES, R, T, is_busy
from engine.kernels.spatial import (
    add,
    cross,
    dot,
    load3,
    load9,
    minus_outer,
    minus_rank_one,
    mul,
    mul_t,
    scale,
    store3,
    sub,
)
from engine.model import FREE, REVOLUTE, WORLD


@inline
def _place(i, k, mimics):
    """The row of `Passed` for place k of body i."""
    return i * mimics.fate.shape[1] + k


@inline
def _remains(i, o, k, mimics):
    """Whether place k of body i is still to be eliminated once place o is."""
    what, then = mimics.fate[i, k], mimics.fate[i, o] == ENDS
    return what == PASSES or (then and (what == OWN or (what == ENDS and k > o)))


@inline
def _passed(matrix, tree):
    """What coordinates pass on of a matrix."""
    return tree.mimics.mass if matrix == "mass" else tree.mimics.newton


@kernel
def _clear(passed):
    for j in range(passed.u.shape[0]):
        for k in range(6):
            passed.u[j, k], passed.w[j, k] = 0.0, 0.0
        for k in range(passed.d.shape[1]):
            passed.d[j, k] = 0.0
        passed.force[j, R] = 0.0


@inline
def clear(matrix, tree):
    """Clear what is passed on."""
    if len(tree.mimics) > 0:
        _clear(_passed(matrix, tree))


@inline
def clear_r(matrix, tree):
    """Clear r of all coordinates."""
    if len(tree.mimics) > 0:
        passed = _passed(matrix, tree)
        for j in range(passed.force.shape[0]):
            passed.force[j, R] = 0.0


@inline
def column_at(i, k, passed, mimics):
    """u of place k of body i."""
    j = _place(i, k, mimics)
    return load3(passed.u[j]), load3(passed.u[j], 3)


@inline
def row_at(i, k, passed, mimics):
    """w of place k of body i; w/d once its coordinate is eliminated there."""
    j = _place(i, k, mimics)
    return load3(passed.w[j]), load3(passed.w[j], 3)


@inline
def add_drift(i, omega, velocity, tree):
    """Add to r of the coordinates that arrive at body i, by M + d, the effect of an added motion (ω, v) of the body."""
    if is_busy(i, tree):
        mimics, passed = tree.mimics, tree.mimics.mass
        for k in range(mimics.fate.shape[1] - 1):
            if mimics.fate[i, k] != 0:
                z, w = row_at(i, k, passed, mimics)
                passed.force[_place(i, k, mimics), R] += dot(z, omega) + dot(w, velocity)


@kernel
def add_axis(i, kind, s, forces, passed, mimics):
    """Add body i's joint, with motion s, to its coordinate: `forces` are I S, Iᵀ S, Sᵀ I S and Sᵀ p."""
    x, y, z, w, D, along = forces
    at, o = 0 if kind == REVOLUTE else 3, mimics.own[i]
    j = _place(i, o, mimics)
    for k in range(mimics.fate.shape[1]):
        other = _place(i, k, mimics)
        if k != o and mimics.fate[i, k] == PASSES:
            passed.d[j, k] += dot(s, load3(passed.u[other], at))
            passed.d[other, o] += dot(s, load3(passed.w[other], at))
    passed.d[j, o] += D + dot(s, load3(passed.u[j], at)) + dot(s, load3(passed.w[j], at))
    passed.force[j, R] += along
    store3(passed.u[j], add(load3(passed.u[j]), x))
    store3(passed.u[j], add(load3(passed.u[j], 3), y), 3)
    store3(passed.w[j], add(load3(passed.w[j]), z))
    store3(passed.w[j], add(load3(passed.w[j], 3), w), 3)


@inline
def eliminate(i, o, right, added, passed, mimics):
    """Eliminate the coordinate at place o of body i from the others there; return 1/d and q. u and w/d remain."""
    q = _eliminate(i, o, right, added, passed, mimics)
    return passed.d[_place(i, o, mimics), o], q


@kernel
def _eliminate(i, o, right, added, passed, mimics):
    """`eliminate`, which returns q alone."""
    j = _place(i, o, mimics)
    reciprocal = 1.0 / (passed.d[j, o] + added)
    q = reciprocal * (right - passed.force[j, R])
    for c in range(6):
        passed.w[j, c] *= reciprocal
    for k in range(mimics.fate.shape[1]):
        if _remains(i, o, k, mimics):
            other = _place(i, k, mimics)
            a, b = reciprocal * passed.d[j, k], passed.d[other, o]
            for c in range(6):
                passed.u[other, c] -= a * passed.u[j, c]
                passed.w[other, c] -= b * passed.w[j, c]
            for c in range(mimics.fate.shape[1]):
                if _remains(i, o, c, mimics):
                    passed.d[other, c] -= reciprocal * b * passed.d[j, c]
            passed.force[other, R] += b * q
    for k in range(mimics.fate.shape[1]):
        if _remains(i, o, k, mimics):  # in the other columns is d_zy of those eliminated before
            passed.d[j, k] *= reciprocal
    passed.d[j, o], passed.force[j, T] = reciprocal, q
    return q


@kernel
def _eliminate_free(i, tree):
    """Eliminate a floating joint of a busy body from the coordinates that it passes on, by the factors of M + d."""
    mimics, passed, D = tree.mimics, tree.mimics.mass, tree.inverse[i]
    for k in range(mimics.fate.shape[1]):
        if mimics.fate[i, k] == PASSES:
            for c in range(6):
                passed.alpha[_place(i, k, mimics), c] = passed.u[_place(i, k, mimics), c]
    for k in range(mimics.fate.shape[1]):
        if mimics.fate[i, k] == PASSES:
            alpha, F = passed.alpha[_place(i, k, mimics)], load9(D, 9)
            a, b = load3(alpha), load3(alpha, 3)
            x, y = add(mul(load9(D), a), mul(F, b)), add(mul_t(F, a), mul(load9(D, 18), b))
            for other in range(mimics.fate.shape[1]):
                if mimics.fate[i, other] == PASSES:
                    to = passed.alpha[_place(i, other, mimics)]
                    passed.d[_place(i, other, mimics), k] -= dot(load3(to), x) + dot(load3(to, 3), y)
    _carry_nothing(i, passed, mimics)
    _add_free_again(i, tree)


@inline
def _add_free_again(i, tree):
    """Add to r of the coordinates that pass the floating joint of body i the effect of its t, by M + d."""
    mimics, passed, t = tree.mimics, tree.mimics.mass, tree.t[i]
    for k in range(mimics.fate.shape[1]):
        if mimics.fate[i, k] == PASSES:
            j = _place(i, k, mimics)
            passed.force[j, R] += dot(load3(passed.alpha[j]), load3(t))
            passed.force[j, R] += dot(load3(passed.alpha[j], 3), load3(t, 3))


@inline
def joint_load(i, matrix, tree, out):
    """Σ α ẏ of the floating joint of body i, from the velocities in `out`."""
    n, f = ZERO, ZERO
    if is_busy(i, tree):
        mimics, passed = tree.mimics, _passed(matrix, tree)
        for k in range(mimics.fate.shape[1]):
            if mimics.fate[i, k] == PASSES:
                alpha, y = passed.alpha[_place(i, k, mimics)], out[mimics.row[i, k]]
                n, f = add(n, scale(y, load3(alpha))), add(f, scale(y, load3(alpha, 3)))
    return n, f


@inline
def eliminate_axis(i, k, kind, e, factors, matrix, tree):
    """Eliminate axis k of a joint with several, e, from the coordinates that body i passes on; `factors` (I S, Sᵀ I/D,
    1/D, q)."""
    if is_busy(i, tree):
        _eliminate_axis(i, k, kind, e, factors, _passed(matrix, tree), tree.mimics)


@kernel
def _eliminate_axis(i, k, kind, e, factors, passed, mimics):
    x, y, z, w, reciprocal, q = factors
    at = 0 if kind == REVOLUTE else 3
    for place in range(mimics.fate.shape[1]):
        if mimics.fate[i, place] == PASSES:
            j = _place(i, place, mimics)
            passed.alpha[j, k] = reciprocal * dot(e, load3(passed.u[j], at))
            passed.beta[j, k] = dot(e, load3(passed.w[j], at))
            passed.force[j, R] += passed.beta[j, k] * q
    for place in range(mimics.fate.shape[1]):
        if mimics.fate[i, place] == PASSES:
            j = _place(i, place, mimics)
            a, b, u, v = passed.alpha[j, k], passed.beta[j, k], passed.u[j], passed.w[j]
            store3(u, sub(load3(u), scale(a, x)))
            store3(u, sub(load3(u, 3), scale(a, y)), 3)
            store3(v, sub(load3(v), scale(b, z)))
            store3(v, sub(load3(v, 3), scale(b, w)), 3)
            for other in range(mimics.fate.shape[1]):
                if mimics.fate[i, other] == PASSES:
                    passed.d[j, other] -= b * passed.alpha[_place(i, other, mimics), k]


@inline
def eliminate_axis_in_pairs(i, k, reciprocal, tree):
    """Eliminate axis k of a joint with several from what coordinates and pairs mean for each other."""
    if is_busy(i, tree):
        mimics, newton = tree.mimics, tree.mimics.newton
        for place in range(mimics.fate.shape[1]):
            if mimics.fate[i, place] == PASSES:
                j = _place(i, place, mimics)
                along, across = newton.alpha[j, k], reciprocal * newton.beta[j, k]
                _share_with_pairs(i, mimics.row[i, place], along, across, tree.pairs)


@inline
def _carry_nothing(i, passed, mimics):
    """Clear u and w of the coordinates that body i passes on, whose floating joint moves freely."""
    for k in range(mimics.fate.shape[1]):
        if mimics.fate[i, k] == PASSES:
            j = _place(i, k, mimics)
            for c in range(6):
                passed.u[j, c], passed.w[j, c] = 0.0, 0.0


@inline
def along_axis(i, k, matrix, tree, out):
    """Σ α ẏ/D of axis k of body i's joint, from the velocities in `out`."""
    total = 0.0
    if is_busy(i, tree):
        mimics, passed = tree.mimics, _passed(matrix, tree)
        for place in range(mimics.fate.shape[1]):
            if mimics.fate[i, place] == PASSES:
                total += passed.alpha[_place(i, place, mimics), k] * out[mimics.row[i, place]]
    return total


@inline
def add_along_axis(i, k, q, matrix, tree):
    """Add to r of the coordinates that body i passes on the effect of q along axis k of its joint."""
    if is_busy(i, tree):
        mimics, passed = tree.mimics, _passed(matrix, tree)
        for place in range(mimics.fate.shape[1]):
            if mimics.fate[i, place] == PASSES:
                passed.force[_place(i, place, mimics), R] += passed.beta[_place(i, place, mimics), k] * q


@inline
def leave_joint(i, kind, parent, arm, matrix, tree):
    """Pass the coordinates that stay on to the parent, which may be the world, behind the joint of body i."""
    if is_busy(i, tree):
        if kind == FREE:
            if matrix == "mass":
                _eliminate_free(i, tree)
            else:
                _carry_nothing(i, tree.mimics.newton, tree.mimics)
        _pass_on(i, parent, arm, _passed(matrix, tree), tree.mimics)


@kernel
def _pass_on(i, parent, arm, passed, mimics):
    above = parent if parent != WORLD else mimics.fate.shape[0] - 1
    for k in range(mimics.fate.shape[1]):
        if mimics.fate[i, k] == PASSES:
            own, to = _place(i, k, mimics), _place(above, mimics.into[i, k], mimics)
            u, w = passed.u[to], passed.w[to]
            x, y, z, v = load3(passed.u[own]), load3(passed.u[own], 3), load3(passed.w[own]), load3(passed.w[own], 3)
            store3(u, add(load3(u), add(x, cross(arm, y))))
            store3(u, add(load3(u, 3), y), 3)
            store3(w, add(load3(w), add(z, cross(arm, v))))
            store3(w, add(load3(w, 3), v), 3)
            passed.force[to, R] += passed.force[own, R]
            for c in range(mimics.fate.shape[1]):
                if mimics.fate[i, c] == PASSES:
                    passed.d[to, mimics.into[i, c]] += passed.d[own, c]


@inline
def without_ended_symmetric(i, right, added, body, tree):
    """Eliminate the coordinates that end at body i from its inertia and wrench, `body` (A, B, C, n, f), by M + d."""
    A, B, C, n, f = body
    if is_busy(i, tree):
        mimics, passed = tree.mimics, tree.mimics.mass
        for k in range(mimics.fate.shape[1]):
            if mimics.fate[i, k] == ENDS:
                reciprocal, q = eliminate(i, k, right[mimics.row[i, k]], added[mimics.row[i, k]], passed, mimics)
                x, y = column_at(i, k, passed, mimics)
                A, B, C = minus_rank_one(A, B, C, x, y, reciprocal)
                n, f = add(n, scale(q, x)), add(f, scale(q, y))
    return A, B, C, n, f


@inline
def without_ended(i, right, added, body, tree):
    """`without_ended_symmetric` for `body` ([a b; c d], n, f), by Newton's matrix."""
    a, b, c, d, n, f = body
    if is_busy(i, tree):
        mimics, passed = tree.mimics, tree.mimics.newton
        for k in range(mimics.fate.shape[1]):
            if mimics.fate[i, k] == ENDS:
                y = mimics.row[i, k]
                reciprocal, q = eliminate(i, k, right[y], added[y], passed, mimics)
                (x, v), (z, w) = column_at(i, k, passed, mimics), row_at(i, k, passed, mimics)
                a, b, c, d = minus_outer(a, x, z), minus_outer(b, x, w), minus_outer(c, v, z), minus_outer(d, v, w)
                n, f = add(n, scale(q, x)), add(f, scale(q, v))
                if body_pairs.have_unknowns(tree):
                    body_pairs.eliminate(i, REVOLUTE, ZERO, x, v, z, w, reciprocal, q, y, tree.pairs)
                    eliminate_in_pairs(i, k, reciprocal, passed, tree)
    return a, b, c, d, n, f


@inline
def eliminate_in_pairs(i, o, reciprocal, passed, tree):
    """Eliminate place o of body i from what other coordinates and pairs mean for each other, after `body_pairs`."""
    mimics = tree.mimics
    for k in range(mimics.fate.shape[1]):
        if _remains(i, o, k, mimics):
            along, across = passed.d[_place(i, o, mimics), k], reciprocal * passed.d[_place(i, k, mimics), o]
            _share_with_pairs(i, mimics.row[i, k], along, across, tree.pairs)


@kernel
def _share_with_pairs(i, y, along, across, pairs):
    """Eliminate an axis or coordinate z from what y and the pairs on body i mean for each other; d_zy/d_zz and
    d_yz/d_zz."""
    side = pairs.head[i]
    while side >= 0:
        before = pairs.begin[side // 2]
        for c in range(before + pairs.first[side // 2], before + body_pairs.ALL):
            pairs.passed_on[y, 0, c] -= across * pairs.alpha[c]
            pairs.passed_on[y, 1, c] -= along * pairs.beta[c]
        side = pairs.next_side[side]


@inline
def wrench_without_ended(i, n, f, tau, kept, matrix, tree):
    """Compute t of the coordinates that end at body i, and the wrench (n, f) without them, for another τ (nv,).

    With `kept` 1, not 0, the wrench is an added one, without τ: its effect is added to the last t.
    """
    if is_busy(i, tree):
        for k in range(tree.mimics.fate.shape[1]):
            if tree.mimics.fate[i, k] == ENDS:
                n, f = _without_place(i, k, n, f, tau, kept, _passed(matrix, tree), tree.mimics)
    return n, f


@inline
def wrench_without_axis(i, along, n, f, tau, kept, matrix, tree):
    """`wrench_without_ended` for the joint of a busy body with one axis, `along` = Sᵀ p."""
    mimics, passed, o = tree.mimics, _passed(matrix, tree), tree.mimics.own[i]
    passed.force[_place(i, o, mimics), R] += along
    if mimics.fate[i, o] == OWN:
        n, f = _without_place(i, o, n, f, tau, kept, passed, mimics)
    return n, f


@inline
def pass_forces(i, kind, parent, matrix, tree):
    """Pass r of the coordinates that stay on to the parent, which may be the world, behind the joint of body i."""
    if is_busy(i, tree):
        mimics, passed = tree.mimics, _passed(matrix, tree)
        if kind == FREE and matrix == "mass":
            _add_free_again(i, tree)
        above = parent if parent != WORLD else mimics.fate.shape[0] - 1
        for k in range(mimics.fate.shape[1]):
            if mimics.fate[i, k] == PASSES:
                own, to = _place(i, k, mimics), _place(above, mimics.into[i, k], mimics)
                passed.force[to, R] += passed.force[own, R]
                passed.force[own, R] = 0.0


@inline
def _without_place(i, o, n, f, tau, kept, passed, mimics):
    """Compute t of the coordinate eliminated at place o of body i; return the wrench without it, and change r of the
    others."""
    force, (x, y) = passed.force[_place(i, o, mimics)], column_at(i, o, passed, mimics)
    q = passed.d[_place(i, o, mimics), o] * ((1.0 - kept) * tau[mimics.row[i, o]] - force[R])
    force[R], force[T] = 0.0, force[T] + q if kept > 0.0 else q  # not NaN of a failed search
    for k in range(mimics.fate.shape[1]):
        if _remains(i, o, k, mimics):
            other = _place(i, k, mimics)
            passed.force[other, R] += passed.d[other, o] * q
    return add(n, scale(q, x)), add(f, scale(q, y))


@inline
def velocity(i, omega, v, alone, matrix, tree, out):
    """The velocity of the coordinate of body i's joint, which is eliminated there, from those in `out`.

    The body's twist is (ω, v); `alone` is the velocity where no coordinate moves several joints.
    """
    y = alone
    if is_busy(i, tree):
        y = _velocity(i, tree.mimics.own[i], omega, v, _passed(matrix, tree), tree.mimics, out)
    return y


@inline
def _velocity(i, o, omega, v, passed, mimics, out):
    """The velocity of the coordinate eliminated at place o of body i, whose twist is (ω, v), from those in `out`."""
    j, (z, w) = _place(i, o, mimics), row_at(i, o, passed, mimics)
    y = passed.force[j, T] - (dot(z, omega) + dot(w, v))
    for k in range(mimics.fate.shape[1]):
        if _remains(i, o, k, mimics):
            y -= passed.d[j, k] * out[mimics.row[i, k]]
    return y


@inline
def ended_velocities(i, omega, v, matrix, tree, out):
    """Compute the velocities of the coordinates that end at body i, whose twist is (ω, v), into `out`."""
    if is_busy(i, tree):
        mimics = tree.mimics
        for k in range(mimics.fate.shape[1] - 1, -1, -1):
            if mimics.fate[i, k] == ENDS:
                out[mimics.row[i, k]] = _velocity(i, k, omega, v, _passed(matrix, tree), mimics, out)
