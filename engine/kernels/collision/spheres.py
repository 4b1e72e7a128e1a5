"""Contacts of spheres and capsules with each other, in closed form.

A sphere is a point with a radius, a capsule a segment with one. A segment is given by its midpoint c and half of it, u:
the points c + s u with −1 ≤ s ≤ 1. Places are relative to the second shape's origin o.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.collision.frames import tangents
from engine.kernels.collision.pair_workspace import put_between
from engine.kernels.spatial import add, cross, dot, scale, sub

_ZERO = 1e-12  # relative to the summands: below it a difference has no direction
_PARALLEL = 1e-2  # the squared sine of the angle below which capsules touch along a line
_NEARER = 1e-10  # relative to the distance: by how much another contact must be nearer
_SAME = 1e-5  # relative to a capsule's length: the distance of coinciding ends
CLOSEST = 0
"""The feature of the contact at the closest points, whatever parts of the shapes they are on."""


@inline
def unit_or(x, other, size):
    """The direction and length of x, computed from summands of this size; `other` where x is zero."""
    length = np.sqrt(dot(x, x))
    return (scale(1.0 / length, x) if length > _ZERO * size else other), length


@inline
def clamped(x, bound):
    """x clamped to ±bound."""
    return max(-bound, min(bound, x))


@inline
def on_segment(x, c, u):
    """The parameter s of a segment's point nearest to x."""
    d = dot(u, u)
    return clamped(dot(u, sub(x, c)) / d, 1.0) if d > 0.0 else 0.0


@inline
def sphere_sphere(d, o, radius_a, radius_b, reach, contacts):
    """Find the contact of a sphere with its centre at o + d and one at o."""
    n, length = unit_or(d, (0.0, 0.0, 1.0), 0.0)
    gap = length - radius_a - radius_b
    if gap > reach:
        return 0
    put_between(contacts, 0, add(o, d), n, gap, radius_a, CLOSEST)
    return 1


@inline
def sphere_capsule(d, u, o, radius_a, radius_b, reach, contacts):
    """Find the contact of a sphere at o + d and a capsule about o."""
    separation = sub(d, scale(on_segment(d, (0.0, 0.0, 0.0), u), u))
    n, length = unit_or(separation, tangents_of(u), np.sqrt(dot(d, d)) + np.sqrt(dot(u, u)))
    gap = length - radius_a - radius_b
    if gap > reach:
        return 0
    put_between(contacts, 0, add(o, d), n, gap, radius_a, CLOSEST)
    return 1


@inline
def tangents_of(u):
    """A unit vector perpendicular to u, along z where u is zero."""
    length = np.sqrt(dot(u, u))
    return tangents(scale(1.0 / length, u))[0] if length > 0.0 else (0.0, 0.0, 1.0)


@inline
def _closer(s, t, distance, s_new, t_new, d, u, w):
    """The closer of two pairs (s, t) of points on segments d + s u and t w, and its squared distance."""
    x = add(d, sub(scale(s_new, u), scale(t_new, w)))
    new = dot(x, x)
    better = new < distance
    return (s_new if better else s), (t_new if better else t), (new if better else distance)


@inline
def closest_of_segments(d, u, w):
    """The closest points s and t of segments d + s u and t w: interior, or at one of the four ends."""
    o = (0.0, 0.0, 0.0)
    s, t = -1.0, on_segment(sub(d, u), o, w)
    x = sub(sub(d, u), scale(t, w))
    distance = dot(x, x)
    s, t, distance = _closer(s, t, distance, 1.0, on_segment(add(d, u), o, w), d, u, w)
    s, t, distance = _closer(s, t, distance, on_segment(scale(-1.0, w), d, u), -1.0, d, u, w)
    s, t, distance = _closer(s, t, distance, on_segment(w, d, u), 1.0, d, u, w)
    across = cross(u, w)
    area = dot(across, across)
    if area > _ZERO * _ZERO * dot(u, u) * dot(w, w):
        s_in, t_in = dot(cross(w, d), across) / area, dot(cross(u, d), across) / area
        if abs(s_in) <= 1.0 and abs(t_in) <= 1.0:
            s, t, distance = s_in, t_in, -1.0
    return s, t, distance < 0.0


@inline
def _put_at(contacts, count, s, t, pair, feature):
    """Store the contact between point s of one capsule and point t of the other, if within reach."""
    d, u, w, o, across, radius_a, radius_b, reach = pair
    x = add(d, scale(s, u))
    separation = sub(x, scale(t, w))
    n, length = unit_or(separation, across, np.sqrt(dot(d, d)) + np.sqrt(dot(u, u)) + np.sqrt(dot(w, w)))
    gap = length - radius_a - radius_b
    if gap <= reach:
        put_between(contacts, count, add(o, x), n, gap, radius_a, feature)
    return count + 1 if gap <= reach else count


@inline
def _overlap_end(d, u, w, sign):
    """The end, towards sign · u, of the overlap of nearly parallel segments.

    Returns s, t, and whose end it is: 0 for the first segment, 1 for the second.
    """
    o = (0.0, 0.0, 0.0)
    end_sign = sign if dot(u, w) >= 0.0 else -sign
    s = dot(u, sub(scale(end_sign, w), d)) / dot(u, u)  # the second one's end, projected on the first
    second = sign * s < 1.0 - _SAME
    return (
        (clamped(s, 1.0) if second else sign),
        (end_sign if second else on_segment(add(d, scale(sign, u)), o, w)),
        (1 if second else 0),
    )


@kernel
def capsule_capsule(d, u, w, o, radius_a, radius_b, reach, contacts):
    """Find the contacts of a capsule about o + d along u and one about o along w.

    Parallel capsules touch at both ends of their common stretch. The closest points come first, unless an end is as
    close.
    """
    s, t, crossing = closest_of_segments(d, u, w)
    across = cross(u, w)
    uu, ww, area = dot(u, u), dot(w, w), dot(across, across)
    if area > _ZERO * uu * ww:
        across = scale((1.0 if dot(across, d) >= 0.0 else -1.0) / np.sqrt(area), across)
    else:
        across = tangents_of(u) if uu >= ww else tangents_of(w)
    x = add(d, sub(scale(s, u), scale(t, w)))
    length = np.sqrt(dot(x, x))
    if crossing and area > _PARALLEL * uu * ww:  # defined also where axes meet
        n, x = across, add(d, scale(s, u))
        gap = abs(dot(d, n)) - radius_a - radius_b
        if gap > reach:
            return 0
        put_between(contacts, 0, add(o, x), n, gap, radius_a, CLOSEST)
        return 1
    if length - radius_a - radius_b > reach:
        return 0
    pair = d, u, w, o, across, radius_a, radius_b, reach
    if area > _PARALLEL * uu * ww or uu == 0.0 or ww == 0.0:
        return _put_at(contacts, 0, s, t, pair, CLOSEST)
    s0, t0, second0 = _overlap_end(d, u, w, -1.0)
    s1, t1, second1 = _overlap_end(d, u, w, 1.0)
    if s1 - s0 <= _SAME:
        return _put_at(contacts, 0, s, t, pair, CLOSEST)
    count = _put_at(contacts, 0, s0, t0, pair, 1 + 2 * second0)
    count = _put_at(contacts, count, s1, t1, pair, 2 + 2 * second1)
    min_gap = contacts.gap[0] if count > 0 else reach
    min_gap = min(min_gap, contacts.gap[1]) if count > 1 else min_gap
    gap = length - radius_a - radius_b
    if count == 0 or gap < min_gap - _NEARER * (length + radius_a + radius_b):
        count = _put_at(contacts, count, s, t, pair, CLOSEST)
    return count
