"""Where two convex shapes touch or nearly touch.

A pair is taken in one order, by kind and then by number: so its contacts are the same bits whichever comes first, but
for the sign of the normals.
"""

from __future__ import annotations

import numpy as np

from engine.cpu.collision.spheres import capsule_capsule, sphere_capsule, sphere_sphere
from engine.cpu.rigid_body.spatial import add, dot, load3, load9, mul, scale, store3, sub
from engine.cpu.runtime.native import inline, kernel
from engine.scene.shapes import CAPSULE, SPHERE


@inline
def distance_bound(a, b, shapes, rotation, position):
    """No more than the distance between two shapes, m: that between the balls around them."""
    p = add(load3(position[a], 0, 1), mul(load9(rotation[a], 0, 1), load3(shapes.bound[a], 0, 1)))
    q = add(load3(position[b], 0, 1), mul(load9(rotation[b], 0, 1), load3(shapes.bound[b], 0, 1)))
    d = sub(p, q)
    return np.sqrt(dot(d, d)) - shapes.bound[a, 3] - shapes.bound[b, 3]


@inline
def _half_axis(k, shapes, rotation):
    """Half of the axis of a capsule, in the world."""
    h = 0.5 * shapes.size[k, 1]
    return h * rotation[k, 2], h * rotation[k, 5], h * rotation[k, 8]


@inline
def _ordered(a, b, shapes, rotation, position, reach, found):
    """The contacts of a pair in order."""
    if shapes.kind[b] > CAPSULE:
        return 0
    o = load3(position[b], 0, 1)
    d = sub(load3(position[a], 0, 1), o)
    radius_a, radius_b = shapes.size[a, 0], shapes.size[b, 0]
    if shapes.kind[a] == SPHERE:
        if shapes.kind[b] == SPHERE:
            return sphere_sphere(d, o, radius_a, radius_b, reach, found)
        return sphere_capsule(d, _half_axis(b, shapes, rotation), o, radius_a, radius_b, reach, found)
    u, w = _half_axis(a, shapes, rotation), _half_axis(b, shapes, rotation)
    return capsule_capsule(d, u, w, o, radius_a, radius_b, reach, found)


@kernel
def pair_contacts(a, b, shapes, rotation, position, reach, found):
    """Up to four contacts between shapes a and b that are no farther apart than `reach` (m); answers how many.

    `rotation` (S, 9) and `position` (S, 3) are the shapes' own frames in the world, and the contacts come into `found`.
    """
    if distance_bound(a, b, shapes, rotation, position) > reach:
        return 0
    turned = shapes.kind[a] > shapes.kind[b] or (shapes.kind[a] == shapes.kind[b] and a > b)
    first, second = (b if turned else a), (a if turned else b)
    count = _ordered(first, second, shapes, rotation, position, reach, found)
    if turned:
        for k in range(count):
            store3(found.normal[k], 0, 1, scale(-1.0, load3(found.normal[k], 0, 1)))
    return count
