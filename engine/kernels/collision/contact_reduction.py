"""Reduction of contacts: of many places where a shape touches, four that span most of their area are kept."""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.kernels.collision.pair_workspace import put
from engine.kernels.spatial import add, cross, dot, load3, mul_t, store3, sub
from engine.scene.points import KEPT

_ALIKE = 1e-6
"""The relative difference below which points add as much: rounding, which differs by device."""


@inline
def _area_along(a, b, c, n):
    """Twice the signed area of a triangle, projected along n."""
    return dot(n, cross(sub(b, a), sub(c, a)))


@inline
def _outside(a, b, x, n, lean):
    """The distance of x to the right of the line from a to b, projected along n; without `lean`, times the line's
    length."""
    side = sub(b, a)
    return -_area_along(a, b, x, n) / np.sqrt(dot(side, side)) if lean > 0.0 else -_area_along(a, b, x, n)


@inline
def _turn(kept, a, b, c, n):
    """The sense in which three points lie about n, ±1, with which areas outside their triangle are positive."""
    return -1.0 if kept == 3 and _area_along(a, b, c, n) < 0.0 else 1.0


@inline
def _worth(kept, x, a, b, c, n, turn, lean):
    """What x adds to those kept, the first one, two or three of a, b and c: distance, then area, see `_outside`."""
    if kept == 1:
        d = sub(x, a)
        return np.sqrt(dot(d, d)) if lean > 0.0 else dot(d, d)
    beside = _outside(a, b, x, n, lean)
    if kept == 2:
        return abs(beside)
    return max(turn * beside, max(turn * _outside(b, c, x, n, lean), turn * _outside(c, a, x, n, lean)))


@inline
def _is_better(worth, k, best_worth, best, near):
    """Whether near point k adds more than the best so far, or as much, to rounding, and precedes it."""
    rounding = _ALIKE * abs(best_worth)
    return worth > best_worth + rounding or (worth >= best_worth - rounding and near.point[k] < near.point[best])


@inline
def swap_near_points(one, other, near):
    """Swap two near points."""
    point, gap, ahead = near.point[one], near.gap[one], near.ahead[one]
    x, n = load3(near.at[one]), load3(near.normal[one])
    near.point[one], near.gap[one], near.ahead[one] = near.point[other], near.gap[other], near.ahead[other]
    store3(near.at[one], load3(near.at[other]))
    store3(near.normal[one], load3(near.normal[other]))
    near.point[other], near.gap[other], near.ahead[other] = point, gap, ahead
    store3(near.at[other], x)
    store3(near.normal[other], n)


@inline
def best_near_point(kept, near_count, near, lean):
    """The near point that adds most to the first `kept`, the first of equals, or −1: by depth, distance, then area.

    The distance of a hull's corner that may tilt within the step is reduced by what brings it down by that angle. The
    ground stops the deepest point, so its own descent does not count.
    """
    best, best_worth, highest, stops = kept, -1e30 if kept == 0 else 0.0, near.gap[0], near.gap[0] - near.ahead[0]
    n, a = load3(near.normal[0]), load3(near.at[0])
    over, b, c = (1.0 / lean if lean > 0.0 else 0.0), load3(near.at[1]), load3(near.at[2])
    turn = _turn(kept, a, b, c, n)
    for k in range(kept, near_count):
        off = over * max(min(near.ahead[k] + stops, near.gap[k]) - highest, 0.0)
        worth = -near.gap[k] if kept == 0 else _worth(kept, load3(near.at[k]), a, b, c, n, turn, lean) - off
        if _is_better(worth, k, best_worth, best, near):
            best, best_worth = k, worth
    return best if best_worth > (-1e30 if kept == 0 else 0.0) else -1


@inline
def _place(work, k):
    """The place of offer k in the face."""
    return work.offer[k, 0], work.offer[k, 1], 0.0


@inline
def deepest_offer(work, offers, margin):
    """The first of the deepest offers."""
    best = 0
    for k in range(1, offers):
        if work.offer[k, 3] < work.offer[best, 3] - margin:
            best = k
    return best


@inline
def _next(work, offers, i0, i1, i2, kept):
    """The first of the offers that add most, or −1 where none adds anything."""
    best, best_worth, n = -1, 0.0, (0.0, 0.0, 1.0)
    a, b, c = _place(work, i0), _place(work, max(i1, 0)), _place(work, max(i2, 0))
    turn = _turn(kept, a, b, c, n)
    for k in range(offers):
        if k != i0 and k != i1 and k != i2:
            worth = _worth(kept, _place(work, k), a, b, c, n, turn, 0.0)
            if worth > best_worth:
                best, best_worth = k, worth * (1.0 + _ALIKE)
    return best


@inline
def _take(contacts, slot, k, frame, o):
    """Store an offer as a contact."""
    x = add(o, mul_t(frame, load3(contacts.work.offer[k])))
    put(contacts, slot, x, (frame[6], frame[7], frame[8]), contacts.work.offer[k, 3], contacts.work.offer_of[k])


@inline
def reduced(contacts, offers, margin, frame, o):
    """Choose offers: the deepest, the farthest from it, and those that widen their area most."""
    if offers <= KEPT:
        for k in range(offers):
            _take(contacts, k, k, frame, o)
        return offers
    i0, i1, i2, kept = deepest_offer(contacts.work, offers, margin), -1, -1, 1
    _take(contacts, 0, i0, frame, o)
    while kept < KEPT:
        k = _next(contacts.work, offers, i0, i1, i2, kept)
        if k < 0:
            break
        _take(contacts, kept, k, frame, o)
        i2 = k if kept == 2 else i2
        i1 = k if kept == 1 else i1
        kept += 1
    return kept
