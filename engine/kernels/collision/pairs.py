"""Contacts of two convex shapes.

A pair is ordered by kind, then by number: its contacts have the same bits in either order, but for the sign of normals.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.collision.convex import signed_distance
from engine.kernels.collision.gjk import BEYOND
from engine.kernels.collision.manifold import manifold
from engine.kernels.collision.pair_workspace import put
from engine.kernels.collision.separating_axis import separating_axis
from engine.kernels.collision.sphere_solids import sphere_box, sphere_cylinder
from engine.kernels.collision.spheres import CLOSEST, capsule_capsule, sphere_capsule, sphere_sphere
from engine.kernels.collision.support import core_radius
from engine.kernels.spatial import add, dot, load3, load9, mul, scale, store3, sub
from engine.scene.shapes import BOX, CAPSULE, CYLINDER, SPHERE


@inline
def distance_bound(a, b, shapes, rotation, position):
    """A lower bound of the distance between two shapes, m: that between their bounding balls."""
    p = add(load3(position[a]), mul(load9(rotation[a]), load3(shapes.bound[a])))
    q = add(load3(position[b]), mul(load9(rotation[b]), load3(shapes.bound[b])))
    d = sub(p, q)
    return np.sqrt(dot(d, d)) - shapes.bound[a, 3] - shapes.bound[b, 3]


@inline
def _half_axis(k, shapes, rotation):
    """Half of a capsule's axis, in the world."""
    h = 0.5 * shapes.size[k, 1]
    return h * rotation[k, 2], h * rotation[k, 5], h * rotation[k, 8]


@inline
def _sphere(a, b, shapes, rotation, d, o, reach, contacts):
    """Find the contact of a sphere with any shape."""
    radius, other, kind = shapes.size[a, 0], shapes.size[b, 0], shapes.kind[b]
    if kind == SPHERE:
        return sphere_sphere(d, o, radius, other, reach, contacts)
    if kind == CAPSULE:
        return sphere_capsule(d, _half_axis(b, shapes, rotation), o, radius, other, reach, contacts)
    if kind == BOX:
        return sphere_box(d, load3(shapes.size[b]), load9(rotation[b]), o, radius, reach, contacts)
    if kind == CYLINDER:
        return sphere_cylinder(d, other, shapes.size[b, 1], load9(rotation[b]), o, radius, reach, contacts)
    if signed_distance(a, b, shapes, rotation, d, reach, contacts.workspace) == BEYOND:
        return 0
    axis = contacts.workspace.axis
    put(contacts, 0, add(o, load3(axis, 4)), load3(axis), axis[3], CLOSEST)
    return 1


@inline
def _ordered(a, b, shapes, rotation, position, reach, contacts):
    """Find the contacts of an ordered pair."""
    o = load3(position[b])
    d = sub(load3(position[a]), o)
    if shapes.kind[a] == SPHERE:
        return _sphere(a, b, shapes, rotation, d, o, reach, contacts)
    if shapes.kind[b] == CAPSULE:
        u, w = _half_axis(a, shapes, rotation), _half_axis(b, shapes, rotation)
        return capsule_capsule(d, u, w, o, shapes.size[a, 0], shapes.size[b, 0], reach, contacts)
    axis = contacts.workspace.axis
    if shapes.kind[b] == BOX:
        separating_axis(a, b, shapes, rotation, d, contacts.workspace)
        axis[3] -= core_radius(a, shapes)
        if axis[3] > reach:
            return 0
        n, gap = load3(axis), axis[3]
        count = manifold(a, b, shapes, rotation, d, o, n, gap, (0.0, 0.0, 0.0), False, reach, contacts)
        if count >= 0:
            return count
    if signed_distance(a, b, shapes, rotation, d, reach, contacts.workspace) == BEYOND:
        return 0
    n, middle, gap = load3(axis), load3(axis, 4), axis[3]
    return manifold(a, b, shapes, rotation, d, o, n, gap, middle, True, reach, contacts)


@kernel
def pair_contacts(a, b, shapes, rotation, position, reach, contacts):
    """Find up to four contacts between shapes a and b within `reach` (m), into `contacts`; return their number.

    `rotation` (S, 9) and `position` (S, 3) are the shapes' frames in the world.
    """
    if not distance_bound(a, b, shapes, rotation, position) <= reach:  # also for a pose that is not finite
        return 0
    swapped = shapes.kind[a] > shapes.kind[b] or (shapes.kind[a] == shapes.kind[b] and a > b)
    first, second = (b if swapped else a), (a if swapped else b)
    if swapped:
        for k in range(6):
            contacts.workspace.approach[k] = -contacts.workspace.approach[k]
    count = _ordered(first, second, shapes, rotation, position, reach, contacts)
    if swapped:
        for k in range(count):
            store3(contacts.normal[k], scale(-1.0, load3(contacts.normal[k])))
    return count
