"""Contacts of a robot's shapes with obstacles and with each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import compiled_apart, inline
from engine.kernels.collision import pair_workspace
from engine.kernels.collision.ground import put
from engine.kernels.collision.pair_workspace import PairContacts
from engine.kernels.collision.pairs import pair_contacts
from engine.kernels.spatial import add, cross, dot, load3, load9, matmul, mul, scale, store3, store9, sub
from engine.model import WORLD
from engine.scene import Pairs
from engine.scene.contact_tolerances import CONTACT_MARGIN
from engine.scene.shapes import Shapes


class PairsWorkspace(NamedTuple):
    """N pairs of S shapes that may touch, and the workspace for their contacts, for one robot at a time.

    `one`, `other`, `friction`, `restitution` (N,), `first` (N + 1,), `body`, `link` (S,) are those of `scene.Pairs`;
    `inner` (S, 12) is each shape's frame in its body's, rotation and position. In the world, `rotation` (S, 9) and
    `position` (S, 3) are the shapes' frames, `middle` (S, 3) the centres of their bounding balls, `velocity` (S, 3) of
    these, and `omega` (S, 3) of the bodies. `feature` (C,) identifies each contact's features on the two shapes.
    """

    shapes: Shapes
    one: NDArray[np.int64]
    other: NDArray[np.int64]
    friction: NDArray[np.floating]
    restitution: NDArray[np.floating]
    first: NDArray[np.int64]
    body: NDArray[np.int64]
    link: NDArray[np.int64]
    inner: NDArray[np.floating]
    rotation: NDArray[np.floating]
    position: NDArray[np.floating]
    middle: NDArray[np.floating]
    velocity: NDArray[np.floating]
    omega: NDArray[np.floating]
    contacts: PairContacts
    feature: NDArray[np.int64]


OF_ALL_ROBOTS = ("shapes", "one", "other", "friction", "restitution", "first", "body", "link", "inner")
"""The fields of `PairsWorkspace` that no step changes."""


def pairs_workspace(chosen: Pairs, solids: Shapes) -> PairsWorkspace:
    """Return the workspace for these pairs of shapes, with fixed ones in place."""
    S = len(chosen.body)
    inner = np.concatenate([chosen.rotation.reshape(S, 9), chosen.position], 1)
    rotation, position = inner[:, :9].copy(), inner[:, 9:].copy()
    middle = np.einsum("sij,sj->si", chosen.rotation, solids.bound[:, :3]) + position
    return PairsWorkspace(
        solids, chosen.one, chosen.other, chosen.friction, chosen.restitution, chosen.first, chosen.body, chosen.link,
        inner, rotation, position, middle, np.zeros((S, 3)), np.zeros((S, 3)), pair_workspace.workspace(solids),
        np.zeros(max(chosen.capacity, 1), np.int64),
    )  # fmt: skip


@inline
def _update_shapes(pairs, bodies):
    """Update the frames and velocities of the shapes of moving bodies."""
    for s in range(pairs.body.size):
        body = pairs.body[s]
        if body != WORLD:
            R, p = load9(bodies.rotation[body]), load3(bodies.position[body])
            rotation = matmul(R, load9(pairs.inner[s]))
            offset = mul(R, load3(pairs.inner[s], 9))
            arm = add(offset, mul(rotation, load3(pairs.shapes.bound[s])))
            omega = load3(bodies.twist[body])
            store9(pairs.rotation[s], rotation)
            store3(pairs.position[s], add(p, offset))
            store3(pairs.middle[s], add(p, arm))
            store3(pairs.omega[s], omega)
            store3(pairs.velocity[s], add(load3(bodies.twist[body], 3), cross(omega, arm)))


@inline
def _max_point_speed(s, pairs):
    """The maximum speed of a shape's points relative to its centre."""
    omega = load3(pairs.omega[s])
    return np.sqrt(dot(omega, omega)) * pairs.shapes.bound[s, 3]


@inline
def _velocity(s, x, pairs):
    """The velocity of a shape's body at a place in the world."""
    return add(load3(pairs.velocity[s]), cross(load3(pairs.omega[s]), sub(x, load3(pairs.middle[s]))))


@inline
def _set_approach(a, b, dt, pairs):
    """Set `approach` of the workspace for two shapes, see `pair_workspace`."""
    nearing, origin = pairs.contacts.workspace.approach, (0.0, 0.0, 0.0)
    omega = sub(load3(pairs.omega[a]), load3(pairs.omega[b]))
    store3(nearing, scale(2.0 * dt, omega))
    store3(nearing, scale(2.0 * dt, sub(_velocity(a, origin, pairs), _velocity(b, origin, pairs))), 3)
    nearing[6] = CONTACT_MARGIN


@compiled_apart
def shape_contacts(total, points, shapes, pairs, bodies, dt, out):
    """Put the contacts of near pairs after `total` others into `out`; return the total number. Runs on one thread.

    They are numbered after `points` points and `shapes` shapes, by their pair and their index among its contacts.
    """
    _update_shapes(pairs, bodies)
    for k in range(pairs.one.size):
        a, b = pairs.one[k], pairs.other[k]
        separation = sub(load3(pairs.middle[a]), load3(pairs.middle[b]))
        relative_velocity = sub(load3(pairs.velocity[a]), load3(pairs.velocity[b]))
        max_speed = (
            np.sqrt(dot(relative_velocity, relative_velocity)) + _max_point_speed(a, pairs) + _max_point_speed(b, pairs)
        )
        reach = CONTACT_MARGIN + 2.0 * dt * max_speed
        limit = pairs.shapes.bound[a, 3] + pairs.shapes.bound[b, 3] + reach
        if not dot(separation, separation) <= limit * limit:
            continue
        _set_approach(a, b, dt, pairs)
        count = pair_contacts(a, b, pairs.shapes, pairs.rotation, pairs.position, reach, pairs.contacts)
        for c in range(min(count, pairs.first[k + 1] - pairs.first[k])):
            x, n = load3(pairs.contacts.position[c]), load3(pairs.contacts.normal[c])
            gap = pairs.contacts.gap[c]
            closing = -dot(n, sub(_velocity(a, x, pairs), _velocity(b, x, pairs)))
            if gap <= CONTACT_MARGIN + 2.0 * dt * max(closing, 0.0):
                slot = pairs.first[k] + c
                pairs.feature[slot] = pairs.contacts.feature[c]
                put(out, total, points + slot, shapes + k, x, n, gap)
                total += 1
    return total
