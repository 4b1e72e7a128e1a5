"""Contacts between the points of a robot and the ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import compiled_apart, inline
from engine.compile.operations import parallel_range
from engine.kernels.collision.contact_reduction import best_near_point, swap_near_points
from engine.kernels.collision.frames import tangents
from engine.kernels.collision.near_points import motion_of, near_points, near_shapes, of_thread, tilt_angle
from engine.kernels.spatial import load3, load9, store3, store9
from engine.scene.contact_tolerances import TILT_RATE
from engine.scene.points import KEPT, WALKED


class DetectedContacts(NamedTuple):
    """The contacts of a robot, the leading ones in use.

    `point` (C,) of `scene.Points` touches, on `shape` (C,), at `position` (C, 3) in the world. `frame` (C, 9) has the
    rows n, t₁, t₂, n towards the robot; `gap` (C,) m, negative where they overlap.
    """

    point: NDArray[np.int64]
    shape: NDArray[np.int64]
    position: NDArray[np.floating]
    frame: NDArray[np.floating]
    gap: NDArray[np.floating]


def contacts(capacity: int) -> DetectedContacts:
    """Return the arrays for C contacts."""
    n = max(capacity, 1)
    whole = np.zeros(n, np.int64), np.zeros(n, np.int64)
    return DetectedContacts(*whole, np.zeros((n, 3)), np.zeros((n, 9)), np.zeros(n))


@inline
def put(out, slot, k, s, x, n, gap):
    """Store a contact in a slot."""
    t1, t2 = tangents(n)
    out.point[slot], out.shape[slot], out.gap[slot] = k, s, gap
    store3(out.position[slot], x)
    store3(out.frame[slot], n)
    store3(out.frame[slot], t1, 3)
    store3(out.frame[slot], t2, 6)


@inline
def _contacts_of(index, points, bodies, surface, dt, near, out):
    """Put the contacts of one near shape from its slot of `out` on; return their number."""
    s, slot = near.shapes[index], near.slots[index]
    near_count, count = near_points(s, points, motion_of(s, points, bodies), dt, surface, near), 0
    corners = points.first[s + 1] - points.first[s]
    while count < min(near_count, KEPT):
        tilt = TILT_RATE * dt + tilt_angle(s, points, near.gap[0] - near.next_gap[0]) if corners >= WALKED else 0.0
        k = count if corners <= KEPT else best_near_point(count, near_count, near, tilt)
        if k < 0:
            break
        if k != count:
            swap_near_points(k, count, near)
        x, n = load3(near.position[count]), load3(near.normal[count])
        put(out, slot + count, near.point[count], s, x, n, near.gap[count])
        count += 1
    return count


@inline
def _move(i, to, out):
    """Move a contact to another slot."""
    out.point[to], out.shape[to], out.gap[to] = out.point[i], out.shape[i], out.gap[i]
    store3(out.position[to], load3(out.position[i]))
    store9(out.frame[to], load9(out.frame[i]))


@inline
def _compact(shapes, near, out):
    """Move the contacts to the leading slots."""
    to = 0
    for index in range(shapes):
        slot = near.slots[index]
        for k in range(near.contact_count[index]):
            if slot + k > to:
                _move(slot + k, to, out)
            to += 1


@compiled_apart
def ground_contacts(points, bodies, surface, dt, near, out):
    """Find the contacts with a surface, see `surfaces`, into `out`; return their number.

    Of a shape with more than four near points four are kept: the deepest, the farthest from it, and the two that then
    widen the area most; of a hull with many corners only corners onto which it may tilt within the step. A resting sole
    with many corners has more than four near points; with four chosen by distance alone it would rock forever.
    """
    shapes, total = near_shapes(points, bodies, surface, dt, near), 0
    for index in parallel_range(shapes):
        near.contact_count[index] = _contacts_of(index, points, bodies, surface, dt, of_thread(near), out)
    for index in range(shapes):
        total += near.contact_count[index]
    for _ in parallel_range(1):  # one thread: a second one would read slots that the first has already overwritten
        _compact(shapes, near, out)
    return total
