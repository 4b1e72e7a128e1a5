"""The points of a shape near the ground: all points of a small shape, by a walk on the corners of a hull.

A corner's gap to a plane, now and after the step, is linear in its place. On a convex hull a walk along edges to lower
corners ends at the lowest, and the corners below any height are connected by edges: the near ones are found from the
lowest on, at a cost independent of the number of corners.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.compile.operations import parallel_range, thread_index
from engine.kernels.collision.frames import tangents
from engine.kernels.collision.height_field import GAP, NEAREST, NORMAL, PLACE, highest_around, near_sphere, under
from engine.kernels.collision.surfaces import UPWARDS
from engine.kernels.spatial import add, cross, dot, load3, load9, mul, mul_t, scale, store3, sub
from engine.scene.contact_tolerances import CONTACT_MARGIN, TILT_RATE
from engine.scene.points import KEPT, Points

_FLAT = 1e-3  # the sine of a rim's tilt below which its points are fixed in the body


class Near(NamedTuple):
    """The near points of one shape, the leading ones in use, and the workspace of the search.

    Each of a robot's T threads searches a shape of its own. `point` (T, Q) are numbers, `position` (T, Q, 3) is in the
    world, `normal` (T, Q, 3) the ground's there, `gap` (T, Q), m, is that now, and `next_gap` (T, Q) that after a step
    at the present velocity; `nearest` (T, KEPT, NEAREST) are points of a height field near a sphere; `visited` (T,
    ⌈Q/32⌉) has a bit for each point that a walk visited. `lowest` (m,) is the corner of each shape where the last walk
    ended and the next begins. `shapes` (m,) are the shapes that may have near points, the leading ones in use; `slots`
    (m,) is where their contacts begin, and `contact_count` (m,) their number.
    """

    point: NDArray[np.int64]
    position: NDArray[np.floating]
    normal: NDArray[np.floating]
    gap: NDArray[np.floating]
    next_gap: NDArray[np.floating]
    nearest: NDArray[np.floating]
    lowest: NDArray[np.int64]
    visited: NDArray[np.int64]
    shapes: NDArray[np.int64]
    slots: NDArray[np.int64]
    contact_count: NDArray[np.int64]


def workspace(points: Points, threads: int = 1) -> Near:
    """Return the workspace for any one of these shapes, for each of a robot's `threads`."""
    n, m = max(1, int(np.max(np.diff(points.first), initial=1))), max(1, len(points.body))
    lowest, visited = np.zeros(m, np.int64), np.zeros((threads, -(-n // 32)), np.int64)
    lowest[: len(points.body)] = points.first[:-1]
    point, (shapes, slots, contact_count) = np.zeros((threads, n), np.int64), np.zeros((3, m), np.int64)
    (position, normal), (gap, next_gap) = np.zeros((2, threads, n, 3)), np.zeros((2, threads, n))
    nearest = np.zeros((threads, KEPT, NEAREST))
    return Near(point, position, normal, gap, next_gap, nearest, lowest, visited, shapes, slots, contact_count)


class Motion(NamedTuple):
    """The motion of a shape's body: rotation (9), position (3), angular and linear velocity (3), in the world."""

    R: tuple[float, ...]
    p: tuple[float, ...]
    omega: tuple[float, ...]
    velocity: tuple[float, ...]


@inline
def _rim_direction(axis, n, number):
    """The direction of point `number` of three on a rim about `axis`: the lowest, and ones at 120° to each side.

    The points of a flat rim are fixed in the body, so that rounding does not rotate them.
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
    sine = 0.8660254037844386 if number == 1 else -0.8660254037844386
    return add(scale(-0.5, e), scale(sine, side))


@inline
def _surface_point(k, points, number, motion, n):
    """The place of point k in the world, the lowest one of its sphere."""
    x = add(motion.p, mul(motion.R, load3(points.position[k])))
    if points.rim[k] > 0.0:
        # The axis and the direction in the body, where a flat rim's points are fixed.
        local = _rim_direction(load3(points.axis[k]), mul_t(motion.R, n), number % 3)
        x = add(x, scale(points.rim[k], mul(motion.R, local)))
    return sub(x, scale(points.radius[k], n))


@inline
def _on_surface(x, n, gap):
    """The place on the ground of a point x that is `gap` above it."""
    return sub(x, scale(gap, n))


@inline
def _add_if_near(count, k, x, n, gap, motion, dt, near):
    """Store point k, at x, after `count` others if it is near now or within two steps; return the number stored."""
    descent = dt * max(-dot(n, add(motion.velocity, cross(motion.omega, sub(x, motion.p)))), 0.0)
    if gap <= CONTACT_MARGIN + 2.0 * descent:
        near.point[count], near.gap[count], near.next_gap[count] = k, gap, gap - descent
        store3(near.position[count], _on_surface(x, n, gap))
        store3(near.normal[count], n)
        return count + 1
    return count


@inline
def motion_of(s, points, bodies):
    """The motion of the body of shape s."""
    body = points.body[s]
    R, p = load9(bodies.rotation[body]), load3(bodies.position[body])
    return Motion(R, p, load3(bodies.twist[body]), load3(bodies.twist[body], 3))


@inline
def _is_far(s, points, motion, dt, n, offset):
    """Whether a shape's bounding ball stays away from a plane."""
    arm, radius = mul(motion.R, load3(points.bound[s])), points.bound[s, 3]
    towards = -dot(n, add(motion.velocity, cross(motion.omega, arm)))
    closing = max(0.0, towards + radius * np.sqrt(dot(motion.omega, motion.omega)))
    return dot(n, add(motion.p, arm)) - offset - radius > CONTACT_MARGIN + 2.0 * dt * closing


@inline
def _lowest(k, e, points):
    """The lowest corner of a hull along e, in its body's frame, by a walk from corner k to lower neighbours."""
    least, corner = dot(load3(points.position[k]), e), -1
    while corner != k:
        corner = k
        for index in range(points.first_neighbour[corner], points.first_neighbour[corner + 1]):
            other = points.neighbour[index]
            height = dot(load3(points.position[other]), e)
            if height < least:
                k, least = other, height
    return k


@inline
def _is_new(k, first, near):
    """Mark point k of a shape as visited; return whether it was not."""
    word, bit = (k - first) >> 5, 1 << ((k - first) & 31)
    new = near.visited[word] & bit == 0
    near.visited[word] = near.visited[word] | bit
    return new


@inline
def _rate(motion, n):
    """(g, h): the velocity along n of a point x of a body, in its frame, is g · x + h."""
    return mul_t(motion.R, cross(n, motion.omega)), dot(n, motion.velocity)


class _Lowest(NamedTuple):
    """The lowest corner of a hull, which the ground stops within the step; the hull then tilts about it.

    A corner at a distance a from it may come down by the excess of its own descent over `descent`, and by `tilt` · a.
    It is near if it then is below `height`.
    """

    corner: tuple[float, ...]  # its place in the body, m
    descent: float  # its descent in a step, m
    tilt: float  # its tilt in a step, rad
    height: float  # its height, with what `TILT_RATE` adds over the size of the hull, m


@inline
def tilt_angle(s, points, descent):
    """The tilt, rad, of hull s in a step in which the ground stops the `descent` of its lowest corner, m.

    A free body that is stopped at a corner rotates about it by about `descent` over its radius at most.
    """
    return descent / points.bound[s, 3]


@inline
def _descent(corner, rate, dt):
    """The descent of a corner in a step at the present velocity."""
    return dt * max(-(rate[1] + dot(rate[0], corner)), 0.0)


@inline
def _add_corner_if_near(count, k, corner, plane, rate, motion, dt, surface, lowest, near):
    """Add a corner like `_add_if_near`, if it is near by its own gap and by `lowest`; return the new count.

    `plane` and `rate` give its gap now and its rate of descent.
    """
    gap, descent, arm = plane[1] + dot(plane[0], corner), _descent(corner, rate, dt), sub(corner, lowest.corner)
    higher = max(gap - max(descent - lowest.descent, 0.0) - lowest.height, 0.0)
    if gap <= CONTACT_MARGIN + 2.0 * descent and higher * higher <= lowest.tilt * lowest.tilt * dot(arm, arm):
        n, x = load3(surface.plane), add(motion.p, mul(motion.R, corner))
        above = dot(n, x) - surface.plane[3]
        near.point[count], near.gap[count], near.next_gap[count] = k, above, gap - descent
        store3(near.position[count], _on_surface(x, n, above))
        store3(near.normal[count], n)
        return count + 1
    return count


@inline
def _near_corners(s, points, motion, dt, surface, near):
    """Find the near corners of a hull along edges, from the lowest one now and from the lowest one after the step."""
    first, n = points.first[s], load3(surface.plane)
    for word in range((points.first[s + 1] - first + 31) >> 5):
        near.visited[word] = 0
    plane, rate = (mul_t(motion.R, n), dot(n, motion.p) - surface.plane[3]), _rate(motion, n)
    k = _lowest(near.lowest[s], plane[0], points)
    near.lowest[s] = k
    _is_new(k, first, near)
    corner = load3(points.position[k])
    descent = _descent(corner, rate, dt)
    height = plane[1] + dot(plane[0], corner) + TILT_RATE * dt * 2.0 * points.bound[s, 3]
    lowest = _Lowest(corner, descent, tilt_angle(s, points, descent), height)
    count = _add_corner_if_near(0, k, corner, plane, rate, motion, dt, surface, lowest, near)
    k = _lowest(k, add(plane[0], scale(dt, rate[0])), points)
    if _is_new(k, first, near):
        corner = load3(points.position[k])
        count = _add_corner_if_near(count, k, corner, plane, rate, motion, dt, surface, lowest, near)
    done, index, end = 0, 0, 0
    while index < end or done < count:
        if index == end:
            last = near.point[done]
            done, index, end = done + 1, points.first_neighbour[last], points.first_neighbour[last + 1]
        k = points.neighbour[index]
        index += 1
        if _is_new(k, first, near):
            corner = load3(points.position[k])
            count = _add_corner_if_near(count, k, corner, plane, rate, motion, dt, surface, lowest, near)
    return count


@inline
def _clear_height(s, points, motion, dt, field):
    """The height above which no point of a shape is near a height field now or within two steps.

    A gap is at least the height above all of the ground below the bounding ball, times the least z of a normal: the
    ground beside it rises no faster than its steepest triangle.
    """
    arm, radius = mul(motion.R, load3(points.bound[s])), points.bound[s, 3]
    velocity, omega = add(motion.velocity, cross(motion.omega, arm)), motion.omega
    max_speed = np.sqrt(dot(velocity, velocity)) + radius * np.sqrt(dot(omega, omega))
    top = highest_around(field, add(motion.p, arm), radius)
    return top + (2.0 * CONTACT_MARGIN + 2.0 * dt * max_speed) / field.grid[UPWARDS]


@inline
def _is_above(s, points, motion, height):
    """Whether a shape's bounding ball is above a height."""
    return motion.p[2] + mul(motion.R, load3(points.bound[s]))[2] - points.bound[s, 3] > height


@inline
def _over_field(s, points, motion, dt, field, near):
    """Find the near points of a shape over a height field."""
    first, height, count = points.first[s], _clear_height(s, points, motion, dt, field), 0
    for k in range(first, points.first[s + 1]):
        number = k - first
        arm = mul(motion.R, load3(points.position[k]))
        x = add(motion.p, arm)
        if points.radius[k] > 0.0:  # a sphere has several points
            row = near.nearest[number % KEPT]
            if number % KEPT == 0:
                velocity = add(motion.velocity, cross(motion.omega, arm))
                spin_speed = points.radius[k] * np.sqrt(dot(motion.omega, motion.omega))
                margin = CONTACT_MARGIN + 2.0 * dt * (np.sqrt(dot(velocity, velocity)) + spin_speed)
                near_sphere(field, x, points.radius[k], margin, near.nearest)
            count = _add_if_near(count, k, load3(row, PLACE), load3(row, NORMAL), row[GAP], motion, dt, near)
        elif points.rim[k] > 0.0 or not x[2] > height:
            x = _surface_point(k, points, number, motion, under(field, x)[0])
            n, gap = under(field, x)
            count = _add_if_near(count, k, x, n, gap, motion, dt, near)
    return count


@inline
def near_shapes(points, bodies, surface, dt, near):
    """Find the shapes that may have near points, and where their contacts begin, into `near`; return their number."""
    count, slot = 0, 0
    for s in parallel_range(points.body.size):
        motion = motion_of(s, points, bodies)
        if len(surface) == 1:
            far = _is_far(s, points, motion, dt, load3(surface.plane), surface.plane[3])
        else:
            far = _is_above(s, points, motion, _clear_height(s, points, motion, dt, surface))
        near.contact_count[s] = 0 if far else 1
    for s in range(points.body.size):
        if near.contact_count[s] == 1:
            near.shapes[count], near.slots[count] = s, slot
            count, slot = count + 1, slot + min(points.first[s + 1] - points.first[s], KEPT)
    return count


@inline
def of_thread(near):
    """The workspace of a thread."""
    t = thread_index()
    return Near(
        near.point[t], near.position[t], near.normal[t], near.gap[t], near.next_gap[t], near.nearest[t], near.lowest,
        near.visited[t], near.shapes, near.slots, near.contact_count,
    )  # fmt: skip


@kernel
def near_points(s, points, motion, dt, surface, near):
    """Find the points of shape s that are, or within two steps will be, near a surface, into `near`; return their
    number."""
    if len(surface) > 1:
        return _over_field(s, points, motion, dt, surface, near)
    first, n, count = points.first[s], load3(surface.plane), 0
    if points.first_neighbour[first + 1] > points.first_neighbour[first]:
        return _near_corners(s, points, motion, dt, surface, near)
    for k in range(first, points.first[s + 1]):
        x = _surface_point(k, points, k - first, motion, n)
        count = _add_if_near(count, k, x, n, dot(n, x) - surface.plane[3], motion, dt, near)
    return count
