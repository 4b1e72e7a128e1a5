"""Contacts between the points of a robot and the ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import apart, inline
from engine.kernels.collision.frames import tangents
from engine.kernels.collision.near_points import Motion, near_points
from engine.kernels.spatial import cross, dot, load3, load9, store3, sub
from engine.scene.points import KEPT, WALKED
from engine.scene.thresholds import LEAN


class Contacts(NamedTuple):
    """Contacts of a robot, of which the leading ones count.

    `point` (C,) of `scene.Points` touches, `shape` (C,) has it. `at` (C, 3) is the place in the world, `frame` (C, 9)
    the rows n, t₁, t₂ there, n towards the robot; `gap` (C,) m, negative where they overlap.
    """

    point: NDArray[np.int64]
    shape: NDArray[np.int64]
    at: NDArray[np.floating]
    frame: NDArray[np.floating]
    gap: NDArray[np.floating]


def contacts(capacity: int) -> Contacts:
    """Room for so many contacts."""
    n = max(capacity, 1)
    whole = np.zeros(n, np.int64), np.zeros(n, np.int64)
    return Contacts(*whole, np.zeros((n, 3)), np.zeros((n, 9)), np.zeros(n))


@inline
def put(out, slot, k, s, x, n, gap):
    """A contact into its slot."""
    t1, t2 = tangents(n)
    out.point[slot], out.shape[slot], out.gap[slot] = k, s, gap
    store3(out.at[slot], 0, 1, x)
    store3(out.frame[slot], 0, 1, n)
    store3(out.frame[slot], 3, 1, t1)
    store3(out.frame[slot], 6, 1, t2)


@inline
def _area(a, b, c, n):
    """Twice the signed area of a triangle, seen along n."""
    return dot(n, cross(sub(b, a), sub(c, a)))


@inline
def _outside(a, b, x, n, lean):
    """How far x lies to the right of the line from a to b, seen along n; without a lean, times the line's length."""
    side = sub(b, a)
    return -_area(a, b, x, n) / np.sqrt(dot(side, side)) if lean > 0.0 else -_area(a, b, x, n)


@inline
def _worth(k, out, first, count, near, across, lean):
    """How much near point k adds to the `count` contacts from `first` on: depth, then distance, then area.

    Of a hull that may lean over by an angle in a step, distances, less what it takes to bring the point down so.
    """
    if count == 0:
        return -near.gap[k]
    x, a = load3(near.at[k], 0, 1), load3(out.at[first], 0, 1)
    d, off = sub(x, a), max(near.ahead[k] - out.gap[first], 0.0) / lean if lean > 0.0 else 0.0
    if count == 1:
        return np.sqrt(dot(d, d)) - off if lean > 0.0 else dot(d, d)
    b = load3(out.at[first + 1], 0, 1)
    here = _outside(a, b, x, across, lean)
    if count == 2:
        return abs(here) - off
    c = load3(out.at[first + 2], 0, 1)
    turn = 1.0 if _area(a, b, c, across) >= 0.0 else -1.0  # what lies outside the triangle, by the widest side's area
    others = max(turn * _outside(b, c, x, across, lean), turn * _outside(c, a, x, across, lean))
    return max(turn * here, others) - off


@inline
def _best(out, first, count, found, near, lean):
    """Of the near points that are no contact yet the one that adds most to these, the first of equals; −1: none."""
    across, best, most = load3(out.frame[first], 0, 1), -1, -1e30 if count == 0 else 0.0
    for k in range(found):
        point, taken = near.point[k], False
        for c in range(count):
            taken |= out.point[first + c] == point
        worth = _worth(k, out, first, count, near, across, lean)
        if not taken and (worth > most or (worth == most and best >= 0 and point < near.point[best])):
            best, most = k, worth
    return best


@apart
def ground_contacts(points, bodies, surface, dt, near, out):
    """The contacts with a surface, see `surfaces`, into `out`; answers how many there are. One lane.

    Of a shape with more than four the deepest is kept, then what is farthest from it, and what widens their area most;
    of a hull with many corners only what it may lean over to within the step. A sole of many corners that rests has
    more than four points near the ground: with those that are merely far apart it would rock for ever.
    """
    total = 0
    for s in range(points.body.size):
        body = points.body[s]
        R, p = load9(bodies.rotation[body], 0, 1), load3(bodies.position[body], 0, 1)
        motion = Motion(R, p, load3(bodies.twist[body], 0, 1), load3(bodies.twist[body], 3, 1))
        found, kept = near_points(s, points, motion, dt, surface, near), 0
        many = points.first[s + 1] - points.first[s]
        lean = LEAN * dt if many >= WALKED else 0.0
        while kept < min(found, KEPT):
            k = kept if many <= KEPT else _best(out, total, kept, found, near, lean)
            if k < 0:
                break
            x, n = load3(near.at[k], 0, 1), load3(near.normal[k], 0, 1)
            put(out, total + kept, near.point[k], s, x, n, near.gap[k])
            kept += 1
        total += kept
    return total
