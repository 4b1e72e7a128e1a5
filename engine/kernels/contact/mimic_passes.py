"""The passes of the recursion over bodies for shared coordinates; `mimics` has the equations.

Functions with the parameter `tree` are called for every body, and do nothing where no such coordinate is: without mimic
joints they leave no code. `matrix` is "mass" for M + d, or "newton" for the matrix of Newton's steps.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.kernels.bodies import ZERO
from engine.kernels.contact import body_pairs
from engine.kernels.contact.mimics import ELIMINATED, PASSED_ON, WITH_JOINT, has_shared_coordinates
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
def _index(i, k, mimics):
    """The row of `Passed` for slot k of body i."""
    return i * mimics.action.shape[1] + k


@inline
def _slots(i, action, mimics):
    """The slots of body i with coordinates of this `Mimics.action`."""
    for k in range(mimics.action.shape[1]):
        if mimics.action[i, k] == action:
            yield k


@inline
def _remaining(i, own, mimics):
    """The slots of body i whose coordinates are still to be eliminated once that in slot `own` is."""
    is_eliminated = mimics.action[i, own] == ELIMINATED
    for k in range(mimics.action.shape[1]):
        action = mimics.action[i, k]
        if action == PASSED_ON or (is_eliminated and (action == WITH_JOINT or (action == ELIMINATED and k > own))):
            yield k


@inline
def _passed(matrix, tree):
    """The terms of shared coordinates that bodies pass on, of a matrix."""
    return tree.mimics.mass if matrix == "mass" else tree.mimics.newton


@kernel
def _clear(passed):
    for j in range(passed.u.shape[0]):
        for k in range(6):
            passed.u[j, k], passed.w[j, k] = 0.0, 0.0
        for k in range(passed.d.shape[1]):
            passed.d[j, k] = 0.0
        passed.r[j] = 0.0


@inline
def clear(matrix, tree):
    """Clear the terms that are passed on."""
    if len(tree.mimics) > 0:
        _clear(_passed(matrix, tree))


@inline
def clear_r(matrix, tree):
    """Clear r of all coordinates."""
    if len(tree.mimics) > 0:
        passed = _passed(matrix, tree)
        for j in range(passed.r.shape[0]):
            passed.r[j] = 0.0


@inline
def column_at(i, k, passed, mimics):
    """u of slot k of body i."""
    j = _index(i, k, mimics)
    return load3(passed.u[j]), load3(passed.u[j], 3)


@inline
def row_at(i, k, passed, mimics):
    """w of slot k of body i; w/d once its coordinate is eliminated there."""
    j = _index(i, k, mimics)
    return load3(passed.w[j]), load3(passed.w[j], 3)


@inline
def add_drift(i, omega, velocity, tree):
    """Add the effect of an added motion (ω, v) of body i to r of the coordinates that arrive there, by M + d."""
    if has_shared_coordinates(i, tree):
        mimics, passed = tree.mimics, tree.mimics.mass
        for k in range(mimics.action.shape[1] - 1):
            if mimics.action[i, k] != 0:
                z, w = row_at(i, k, passed, mimics)
                passed.r[_index(i, k, mimics)] += dot(z, omega) + dot(w, velocity)


@kernel
def add_axis(i, kind, s, forces, passed, mimics):
    """Add body i's joint, with motion s, to its coordinate: `forces` are I S, Iᵀ S, Sᵀ I S and Sᵀ p."""
    x, y, z, w, D, along = forces
    offset, own = 0 if kind == REVOLUTE else 3, mimics.joint_slot[i]
    j = _index(i, own, mimics)
    for k in range(mimics.action.shape[1]):
        other = _index(i, k, mimics)
        if k != own and mimics.action[i, k] == PASSED_ON:
            passed.d[j, k] += dot(s, load3(passed.u[other], offset))
            passed.d[other, own] += dot(s, load3(passed.w[other], offset))
    passed.d[j, own] += D + dot(s, load3(passed.u[j], offset)) + dot(s, load3(passed.w[j], offset))
    passed.r[j] += along
    store3(passed.u[j], add(load3(passed.u[j]), x))
    store3(passed.u[j], add(load3(passed.u[j], 3), y), 3)
    store3(passed.w[j], add(load3(passed.w[j]), z))
    store3(passed.w[j], add(load3(passed.w[j], 3), w), 3)


@inline
def eliminate_coordinate(i, own, rhs, added, passed, mimics):
    """Eliminate the coordinate in slot `own` of body i from its other ones; return 1/d and q. u and w/d remain."""
    q = _eliminate_coordinate(i, own, rhs, added, passed, mimics)
    return passed.inverse[_index(i, own, mimics)], q


@kernel
def _eliminate_coordinate(i, own, rhs, added, passed, mimics):
    """`eliminate_coordinate`, which returns q alone."""
    y = _index(i, own, mimics)
    reciprocal = 1.0 / (passed.d[y, own] + added)
    q = reciprocal * (rhs - passed.r[y])
    for c in range(6):
        passed.w[y, c] *= reciprocal
    for k in _remaining(i, own, mimics):
        z = _index(i, k, mimics)
        d_yz, d_zy = passed.d[y, k], passed.d[z, own]
        for c in range(6):
            passed.u[z, c] -= reciprocal * d_yz * passed.u[y, c]
            passed.w[z, c] -= d_zy * passed.w[y, c]
        for c in _remaining(i, own, mimics):
            passed.d[z, c] -= reciprocal * d_zy * passed.d[y, c]
        passed.r[z] += d_zy * q
    for k in _remaining(i, own, mimics):  # in the other columns is d_zy of those eliminated before
        passed.d[y, k] *= reciprocal
    passed.inverse[y], passed.t[y] = reciprocal, q
    return q


@kernel
def _eliminate_free(i, tree):
    """Eliminate the floating joint of body i from the coordinates that it passes on, by the factors of M + d."""
    mimics, passed, D = tree.mimics, tree.mimics.mass, tree.inverse[i]
    for k in _slots(i, PASSED_ON, mimics):
        for c in range(6):
            passed.alpha[_index(i, k, mimics), c] = passed.u[_index(i, k, mimics), c]
    for k in _slots(i, PASSED_ON, mimics):
        alpha, F = passed.alpha[_index(i, k, mimics)], load9(D, 9)
        a, b = load3(alpha), load3(alpha, 3)
        x, y = add(mul(load9(D), a), mul(F, b)), add(mul_t(F, a), mul(load9(D, 18), b))
        for other in _slots(i, PASSED_ON, mimics):
            to = passed.alpha[_index(i, other, mimics)]
            passed.d[_index(i, other, mimics), k] -= dot(load3(to), x) + dot(load3(to, 3), y)
    _clear_passed_on(i, passed, mimics)
    _add_free_joint(i, tree)


@inline
def _add_free_joint(i, tree):
    """Add the effect of t of the floating joint of body i to r of the coordinates that are passed on, by M + d."""
    mimics, passed, t = tree.mimics, tree.mimics.mass, tree.t[i]
    for k in _slots(i, PASSED_ON, mimics):
        j = _index(i, k, mimics)
        passed.r[j] += dot(load3(passed.alpha[j]), load3(t))
        passed.r[j] += dot(load3(passed.alpha[j], 3), load3(t, 3))


@inline
def joint_load(i, matrix, tree, out):
    """Σ α ẏ of the floating joint of body i, from the velocities in `out`."""
    n, f = ZERO, ZERO
    if has_shared_coordinates(i, tree):
        mimics, passed = tree.mimics, _passed(matrix, tree)
        for k in _slots(i, PASSED_ON, mimics):
            alpha, y = passed.alpha[_index(i, k, mimics)], out[mimics.v_index[i, k]]
            n, f = add(n, scale(y, load3(alpha))), add(f, scale(y, load3(alpha, 3)))
    return n, f


@inline
def eliminate_axis_from_coordinates(i, k, kind, e, factors, matrix, tree):
    """Eliminate axis k of a joint with several, e, from the coordinates that body i passes on; `factors` (I S, Sᵀ I/D,
    1/D, q)."""
    if has_shared_coordinates(i, tree):
        _eliminate_axis_from_coordinates(i, k, kind, e, factors, _passed(matrix, tree), tree.mimics)


@kernel
def _eliminate_axis_from_coordinates(i, k, kind, e, factors, passed, mimics):
    x, y, z, w, reciprocal, q = factors
    offset = 0 if kind == REVOLUTE else 3
    for slot in _slots(i, PASSED_ON, mimics):
        j = _index(i, slot, mimics)
        passed.alpha[j, k] = reciprocal * dot(e, load3(passed.u[j], offset))
        passed.beta[j, k] = dot(e, load3(passed.w[j], offset))
        passed.r[j] += passed.beta[j, k] * q
    for slot in _slots(i, PASSED_ON, mimics):
        j = _index(i, slot, mimics)
        a, b, u, v = passed.alpha[j, k], passed.beta[j, k], passed.u[j], passed.w[j]
        store3(u, sub(load3(u), scale(a, x)))
        store3(u, sub(load3(u, 3), scale(a, y)), 3)
        store3(v, sub(load3(v), scale(b, z)))
        store3(v, sub(load3(v, 3), scale(b, w)), 3)
        for other in _slots(i, PASSED_ON, mimics):
            passed.d[j, other] -= b * passed.alpha[_index(i, other, mimics), k]


@inline
def eliminate_axis_from_cross_terms(i, k, reciprocal, tree):
    """Eliminate axis k of a joint with several from the cross terms of coordinates and pairs."""
    if has_shared_coordinates(i, tree):
        mimics, newton = tree.mimics, tree.mimics.newton
        for slot in _slots(i, PASSED_ON, mimics):
            j = _index(i, slot, mimics)
            along, across = newton.alpha[j, k], reciprocal * newton.beta[j, k]
            _eliminate_cross_terms(i, mimics.v_index[i, slot], along, across, tree.pairs)


@inline
def _clear_passed_on(i, passed, mimics):
    """Clear u and w of the coordinates that body i passes on, whose floating joint moves freely."""
    for k in _slots(i, PASSED_ON, mimics):
        j = _index(i, k, mimics)
        for c in range(6):
            passed.u[j, c], passed.w[j, c] = 0.0, 0.0


@inline
def along_axis(i, k, matrix, tree, out):
    """Σ α ẏ/D of axis k of body i's joint, from the velocities in `out`."""
    total = 0.0
    if has_shared_coordinates(i, tree):
        mimics, passed = tree.mimics, _passed(matrix, tree)
        for slot in _slots(i, PASSED_ON, mimics):
            total += passed.alpha[_index(i, slot, mimics), k] * out[mimics.v_index[i, slot]]
    return total


@inline
def add_along_axis(i, k, q, matrix, tree):
    """Add the effect of q along axis k of body i's joint to r of the coordinates that it passes on."""
    if has_shared_coordinates(i, tree):
        mimics, passed = tree.mimics, _passed(matrix, tree)
        for slot in _slots(i, PASSED_ON, mimics):
            passed.r[_index(i, slot, mimics)] += passed.beta[_index(i, slot, mimics), k] * q


@inline
def pass_to_parent(i, kind, parent, arm, matrix, tree):
    """Pass the coordinates that body i does not eliminate to its parent or the world, after its joint."""
    if has_shared_coordinates(i, tree):
        if kind == FREE:
            if matrix == "mass":
                _eliminate_free(i, tree)
            else:
                _clear_passed_on(i, tree.mimics.newton, tree.mimics)
        _pass_on(i, parent, arm, _passed(matrix, tree), tree.mimics)


@kernel
def _pass_on(i, parent, arm, passed, mimics):
    parent_body = parent if parent != WORLD else mimics.action.shape[0] - 1
    for k in _slots(i, PASSED_ON, mimics):
        source, target = _index(i, k, mimics), _index(parent_body, mimics.parent_slot[i, k], mimics)
        u, w = passed.u[target], passed.w[target]
        x, y = load3(passed.u[source]), load3(passed.u[source], 3)
        z, v = load3(passed.w[source]), load3(passed.w[source], 3)
        store3(u, add(load3(u), add(x, cross(arm, y))))
        store3(u, add(load3(u, 3), y), 3)
        store3(w, add(load3(w), add(z, cross(arm, v))))
        store3(w, add(load3(w, 3), v), 3)
        passed.r[target] += passed.r[source]
        for c in _slots(i, PASSED_ON, mimics):
            passed.d[target, mimics.parent_slot[i, c]] += passed.d[source, c]


@inline
def eliminate_coordinates_symmetric(i, rhs, added, body, tree):
    """Eliminate coordinates in body i from its inertia and wrench, `body` (A, B, C, n, f), by M + d."""
    A, B, C, n, f = body
    if has_shared_coordinates(i, tree):
        mimics, passed = tree.mimics, tree.mimics.mass
        for k in _slots(i, ELIMINATED, mimics):
            y = mimics.v_index[i, k]
            reciprocal, q = eliminate_coordinate(i, k, rhs[y], added[y], passed, mimics)
            x, z = column_at(i, k, passed, mimics)
            A, B, C = minus_rank_one(A, B, C, x, z, reciprocal)
            n, f = add(n, scale(q, x)), add(f, scale(q, z))
    return A, B, C, n, f


@inline
def eliminate_coordinates(i, rhs, added, body, tree):
    """`eliminate_coordinates_symmetric` for `body` ([a b; c d], n, f), by Newton's matrix."""
    a, b, c, d, n, f = body
    if has_shared_coordinates(i, tree):
        mimics, passed = tree.mimics, tree.mimics.newton
        for k in _slots(i, ELIMINATED, mimics):
            y = mimics.v_index[i, k]
            reciprocal, q = eliminate_coordinate(i, k, rhs[y], added[y], passed, mimics)
            (x, v), (z, w) = column_at(i, k, passed, mimics), row_at(i, k, passed, mimics)
            a, b, c, d = minus_outer(a, x, z), minus_outer(b, x, w), minus_outer(c, v, z), minus_outer(d, v, w)
            n, f = add(n, scale(q, x)), add(f, scale(q, v))
            if body_pairs.have_unknowns(tree):
                factors = x, v, z, w, reciprocal, q
                body_pairs.eliminate_axis_from_pairs(i, REVOLUTE, ZERO, factors, y, tree.pairs)
                eliminate_coordinate_from_cross_terms(i, k, reciprocal, passed, tree)
    return a, b, c, d, n, f


@inline
def eliminate_coordinate_from_cross_terms(i, own, reciprocal, passed, tree):
    """Eliminate slot `own` of body i from the cross terms of its other coordinates and pairs, after `body_pairs`."""
    mimics = tree.mimics
    for k in _remaining(i, own, mimics):
        along, across = passed.d[_index(i, own, mimics), k], reciprocal * passed.d[_index(i, k, mimics), own]
        _eliminate_cross_terms(i, mimics.v_index[i, k], along, across, tree.pairs)


@kernel
def _eliminate_cross_terms(i, y, along, across, pairs):
    """Eliminate an axis or coordinate z from the cross terms of y and the pairs on body i; `along` is d_zy/d_zz and
    `across` d_yz/d_zz."""
    for _, _, k in body_pairs.unknowns_at(i, pairs):
        pairs.passed_on[y, 0, k] -= across * pairs.alpha[k]
        pairs.passed_on[y, 1, k] -= along * pairs.beta[k]


@inline
def wrench_without_coordinates(i, n, f, tau, increment, matrix, tree):
    """Compute t of the coordinates eliminated in body i, and the wrench (n, f) without them, for another τ (nv,).

    With `increment` 1, not 0, the wrench is an added one, without τ: its effect is added to the last t.
    """
    if has_shared_coordinates(i, tree):
        for k in _slots(i, ELIMINATED, tree.mimics):
            n, f = _wrench_without_slot(i, k, n, f, tau, increment, _passed(matrix, tree), tree.mimics)
    return n, f


@inline
def wrench_without_axis(i, along, n, f, tau, increment, matrix, tree):
    """`wrench_without_coordinates` for the joint with one axis of a body with shared coordinates; `along` is Sᵀ p."""
    mimics, passed, own = tree.mimics, _passed(matrix, tree), tree.mimics.joint_slot[i]
    passed.r[_index(i, own, mimics)] += along
    if mimics.action[i, own] == WITH_JOINT:
        n, f = _wrench_without_slot(i, own, n, f, tau, increment, passed, mimics)
    return n, f


@inline
def pass_forces(i, kind, parent, matrix, tree):
    """Pass r of the coordinates that body i does not eliminate to its parent or the world, after its joint."""
    if has_shared_coordinates(i, tree):
        mimics, passed = tree.mimics, _passed(matrix, tree)
        if kind == FREE and matrix == "mass":
            _add_free_joint(i, tree)
        parent_body = parent if parent != WORLD else mimics.action.shape[0] - 1
        for k in _slots(i, PASSED_ON, mimics):
            source, target = _index(i, k, mimics), _index(parent_body, mimics.parent_slot[i, k], mimics)
            passed.r[target] += passed.r[source]
            passed.r[source] = 0.0


@inline
def _wrench_without_slot(i, own, n, f, tau, increment, passed, mimics):
    """Compute t of the coordinate eliminated in slot `own` of body i; return the wrench without it, and change r of the
    others."""
    j, (x, y) = _index(i, own, mimics), column_at(i, own, passed, mimics)
    q = passed.inverse[j] * ((1.0 - increment) * tau[mimics.v_index[i, own]] - passed.r[j])
    passed.r[j], passed.t[j] = 0.0, passed.t[j] + q if increment > 0.0 else q  # not NaN of a failed search
    for k in _remaining(i, own, mimics):
        other = _index(i, k, mimics)
        passed.r[other] += passed.d[other, own] * q
    return add(n, scale(q, x)), add(f, scale(q, y))


@inline
def velocity(i, omega, v, unshared, matrix, tree, out):
    """The velocity of the coordinate of body i's joint, which is eliminated there, from those in `out`.

    The body's twist is (ω, v); `unshared` is the velocity where no coordinate moves several joints.
    """
    y = unshared
    if has_shared_coordinates(i, tree):
        y = _velocity(i, tree.mimics.joint_slot[i], omega, v, _passed(matrix, tree), tree.mimics, out)
    return y


@inline
def _velocity(i, own, omega, v, passed, mimics, out):
    """The velocity of the coordinate eliminated in slot `own` of body i, whose twist is (ω, v), from those in `out`."""
    j, (z, w) = _index(i, own, mimics), row_at(i, own, passed, mimics)
    y = passed.t[j] - (dot(z, omega) + dot(w, v))
    for k in _remaining(i, own, mimics):
        y -= passed.d[j, k] * out[mimics.v_index[i, k]]
    return y


@inline
def eliminated_velocities(i, omega, v, matrix, tree, out):
    """Compute the velocities of the coordinates eliminated in body i, whose twist is (ω, v), into `out`."""
    if has_shared_coordinates(i, tree):
        mimics = tree.mimics
        for k in range(mimics.action.shape[1] - 1, -1, -1):
            if mimics.action[i, k] == ELIMINATED:
                out[mimics.v_index[i, k]] = _velocity(i, k, omega, v, _passed(matrix, tree), mimics, out)
