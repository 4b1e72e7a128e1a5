"""Reduction of contacts: of the many points where a shape touches, four that span most of their area are kept."""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.kernels.collision.pair_workspace import put
from engine.kernels.spatial import add, cross, dot, load3, mul_t, store3, sub
from engine.scene.points import KEPT

_ALIKE = 1e-6
"""The relative difference within which two points gain the same: rounding, which differs by device."""


@inline
def _projected_area(a, b, c, n):
    """Twice the signed area of a triangle, projected along n."""
    return dot(n, cross(sub(b, a), sub(c, a)))


@inline
def _distance_outside(a, b, x, n, tilt):
    """The distance of x from the line from a to b, positive to its right, projected along n.

    With a `tilt` of 0 it is multiplied by the length from a to b.
    """
    side = sub(b, a)
    return -_projected_area(a, b, x, n) / np.sqrt(dot(side, side)) if tilt > 0.0 else -_projected_area(a, b, x, n)


@inline
def _orientation(chosen, a, b, c, n):
    """The orientation of a triangle about n, ±1: times it, distances outside the triangle are positive."""
    return -1.0 if chosen == 3 and _projected_area(a, b, c, n) < 0.0 else 1.0


@inline
def _gain(chosen, x, a, b, c, n, orientation, tilt):
    """What x adds to one chosen point a, two points a and b, or three: its distance from the point, line or triangle.

    With a `tilt` of 0, the distance from a is squared; for the others see `_distance_outside`.
    """
    if chosen == 1:
        d = sub(x, a)
        return np.sqrt(dot(d, d)) if tilt > 0.0 else dot(d, d)
    beside = _distance_outside(a, b, x, n, tilt)
    if chosen == 2:
        return abs(beside)
    return max(
        orientation * beside,
        max(orientation * _distance_outside(b, c, x, n, tilt), orientation * _distance_outside(c, a, x, n, tilt)),
    )


@inline
def _is_better(gain, k, best_gain, best, near):
    """Whether near point k adds more than the best so far, or as much within rounding and has a smaller number."""
    rounding = _ALIKE * abs(best_gain)
    return gain > best_gain + rounding or (gain >= best_gain - rounding and near.point[k] < near.point[best])


@inline
def swap_near_points(one, other, near):
    """Swap two near points."""
    point, gap, next_gap = near.point[one], near.gap[one], near.next_gap[one]
    x, n = load3(near.position[one]), load3(near.normal[one])
    near.point[one], near.gap[one], near.next_gap[one] = near.point[other], near.gap[other], near.next_gap[other]
    store3(near.position[one], load3(near.position[other]))
    store3(near.normal[one], load3(near.normal[other]))
    near.point[other], near.gap[other], near.next_gap[other] = point, gap, next_gap
    store3(near.position[other], x)
    store3(near.normal[other], n)


@inline
def best_near_point(chosen, count, near, tilt):
    """The near point that adds most to the first `chosen`, the first of equals, or −1: by depth, distance, then area.

    `tilt` is the angle by which a hull with many corners may tilt within the step, else 0. A corner's distance is
    reduced by its height above the deepest point over this angle. The ground stops the deepest point, so that its
    descent does not count.
    """
    best, best_gain = chosen, (-1e30 if chosen == 0 else 0.0)
    deepest_gap, descent = near.gap[0], near.gap[0] - near.next_gap[0]
    n, a = load3(near.normal[0]), load3(near.position[0])
    per_tilt, b, c = (1.0 / tilt if tilt > 0.0 else 0.0), load3(near.position[1]), load3(near.position[2])
    orientation = _orientation(chosen, a, b, c, n)
    for k in range(chosen, count):
        penalty = per_tilt * max(min(near.next_gap[k] + descent, near.gap[k]) - deepest_gap, 0.0)
        gain = -near.gap[k]
        if chosen > 0:
            gain = _gain(chosen, load3(near.position[k]), a, b, c, n, orientation, tilt) - penalty
        if _is_better(gain, k, best_gain, best, near):
            best, best_gain = k, gain
    return best if best_gain > (-1e30 if chosen == 0 else 0.0) else -1


@inline
def _position(ws, k):
    """The position of candidate k in the plane of the contact."""
    return ws.candidate[k, 0], ws.candidate[k, 1], 0.0


@inline
def deepest_candidate(ws, candidates, margin):
    """The first of the deepest candidates."""
    best = 0
    for k in range(1, candidates):
        if ws.candidate[k, 3] < ws.candidate[best, 3] - margin:
            best = k
    return best


@inline
def _best_candidate(ws, candidates, i0, i1, i2, chosen):
    """The first of the candidates that add most, or −1 where none adds anything."""
    best, best_gain, n = -1, 0.0, (0.0, 0.0, 1.0)
    a, b, c = _position(ws, i0), _position(ws, max(i1, 0)), _position(ws, max(i2, 0))
    orientation = _orientation(chosen, a, b, c, n)
    for k in range(candidates):
        if k != i0 and k != i1 and k != i2:
            gain = _gain(chosen, _position(ws, k), a, b, c, n, orientation, 0.0)
            if gain > best_gain:
                best, best_gain = k, gain * (1.0 + _ALIKE)
    return best


@inline
def _store_contact(contacts, slot, k, frame, o):
    """Store a candidate as a contact."""
    ws, n = contacts.workspace, (frame[6], frame[7], frame[8])
    x = add(o, mul_t(frame, load3(ws.candidate[k])))
    put(contacts, slot, x, n, ws.candidate[k, 3], ws.candidate_feature[k])


@inline
def reduce_candidates(contacts, candidates, margin, frame, o):
    """Store up to four candidates as contacts; return their number.

    Of more than four: the deepest, the farthest from it, and the two that then widen the area most.
    """
    if candidates <= KEPT:
        for k in range(candidates):
            _store_contact(contacts, k, k, frame, o)
        return candidates
    i0, i1, i2, count = deepest_candidate(contacts.workspace, candidates, margin), -1, -1, 1
    _store_contact(contacts, 0, i0, frame, o)
    while count < KEPT:
        k = _best_candidate(contacts.workspace, candidates, i0, i1, i2, count)
        if k < 0:
            break
        _store_contact(contacts, count, k, frame, o)
        i2 = k if count == 2 else i2
        i1 = k if count == 1 else i1
        count += 1
    return count
