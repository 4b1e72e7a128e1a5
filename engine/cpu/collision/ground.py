"""Contacts between the points of a robot and the ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import apart, inline
from engine.cpu.collision import height_field
from engine.cpu.collision.frames import tangents
from engine.cpu.collision.height_field import near_sphere, under
from engine.cpu.collision.surfaces import GAP, NORMAL, PLACE
from engine.cpu.rigid_body import workspace as at
from engine.kernels.spatial import add, cross, dot, load3, load9, mul, mul_t, scale, store3, sub
from engine.scene.points import KEPT
from engine.scene.thresholds import NEAR

_FLAT = 1e-3  # the sine of a rim's tilt, below which its points keep their places


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


class Bodies(NamedTuple):
    """The bodies of a robot in the world: rotation (n, 9) and position (n, 3)."""

    rotation: NDArray[np.floating]
    position: NDArray[np.floating]


@inline
def _rim_direction(axis, n, number):
    """Where on a rim about `axis` its point `number` of three lies: the lowest, and a third of the way to each side.

    A rim that lies flat keeps its points, so that they do not turn with every rounding.
    """
    across = sub(scale(dot(axis, n), axis), n)
    length = np.sqrt(dot(across, across))
    if length < _FLAT:
        across = tangents(axis)[0]
        length = 1.0
    e = scale(1.0 / length, across)
    if number == 0:
        return e
    side = cross(axis, e)
    turn = 0.8660254037844386 if number == 1 else -0.8660254037844386
    return add(scale(-0.5, e), scale(turn, side))


@inline
def _surface_point(k, points, number, R, p, n):
    """The place of point k in the world, its sphere's lowest one."""
    x = add(p, mul(R, load3(points.position[k], 0, 1)))
    if points.rim[k] > 0.0:
        # The axis and the direction in the body, where a flat rim's points keep their places.
        inside = _rim_direction(load3(points.axis[k], 0, 1), mul_t(R, n), number % 3)
        x = add(x, scale(points.rim[k], mul(R, inside)))
    return sub(x, scale(points.radius[k], n))


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
def _worth(out, first, count, x, n):
    """How much a further point adds to the `count` contacts from `first` on: distance, then area."""
    a = load3(out.at[first], 0, 1)
    d = sub(x, a)
    if count == 1:
        return dot(d, d)
    b = load3(out.at[first + 1], 0, 1)
    here = _area(a, b, x, n)
    if count == 2:
        return abs(here)
    c = load3(out.at[first + 2], 0, 1)
    turn = 1.0 if _area(a, b, c, n) >= 0.0 else -1.0  # what lies outside the triangle, by the widest side's area
    return max(max(-turn * here, -turn * _area(b, c, x, n)), -turn * _area(c, a, x, n))


@inline
def _search(first, many, points, R, p, omega, velocity, dt, surface):
    """Where the points of a shape are nearest to a height field; of a plane there is nothing to search."""
    if len(surface) > 1:
        for k in range(first, first + many):
            if points.radius[k] > 0.0:
                if (k - first) % KEPT == 0:
                    arm = mul(R, load3(points.position[k], 0, 1))
                    own = add(velocity, cross(omega, arm))
                    turning = points.radius[k] * np.sqrt(dot(omega, omega))
                    ahead = NEAR + 2.0 * dt * (np.sqrt(dot(own, own)) + turning)
                    near_sphere(surface, k, add(p, arm), points.radius[k], ahead)
            else:
                below = under(surface, add(p, mul(R, load3(points.position[k], 0, 1))))[0]
                x = _surface_point(k, points, k - first, R, p, below)
                n, gap = under(surface, x)
                height_field.put(surface, k, n, x, gap)


@inline
def _nearest(k, points, number, R, p, surface):
    """Where point k touches, the normal of the ground there, and the gap."""
    if len(surface) > 1:
        row = surface.nearest[k]
        x, n, gap = load3(row, PLACE, 1), load3(row, NORMAL, 1), row[GAP]
    else:
        n = load3(surface.plane, 0, 1)
        x = _surface_point(k, points, number, R, p, n)
        gap = dot(n, x) - surface.plane[3]
    return x, n, gap


@apart
def ground_contacts(points, bodies, w, surface, dt, out):
    """The contacts with a surface, see `surfaces`, into `out`; answers how many there are. One lane.

    Of a shape with more than four the deepest is kept, then what is farthest from it, and what widens their area most.
    """
    total = 0
    for s in range(points.body.size):
        body = points.body[s]
        R, p = load9(bodies.rotation[body], 0, 1), load3(bodies.position[body], 0, 1)
        omega, velocity = mul(R, load3(w[body], at.V, 1)), mul(R, load3(w[body], at.V + 3, 1))
        first, many = points.first[s], points.first[s + 1] - points.first[s]
        _search(first, many, points, R, p, omega, velocity, dt, surface)
        kept, across = 0, (0.0, 0.0, 1.0)
        while kept < KEPT:
            best, slot, best_gap = -1e30 if kept == 0 else 0.0, -1, 0.0
            for k in range(first, first + many):
                x, n, gap = _nearest(k, points, k - first, R, p, surface)
                closing = -dot(n, add(velocity, cross(omega, sub(x, p))))
                if gap > NEAR + 2.0 * dt * max(closing, 0.0):
                    continue
                taken = False
                for c in range(kept):
                    taken |= out.point[total + c] == k
                if taken:
                    continue
                if many <= KEPT:
                    slot = k
                    best_gap = gap
                    break
                worth = -gap if kept == 0 else _worth(out, total, kept, x, across)
                if worth > best:
                    best, slot, best_gap = worth, k, gap
            if slot < 0:
                break
            x, n, _ = _nearest(slot, points, slot - first, R, p, surface)
            put(out, total + kept, slot, s, x, n, best_gap)
            across = n if kept == 0 else across
            kept += 1
        total += kept
    return total
