"""What robots can touch, and what a step under contacts works in, for one robot at a time."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.collision import near_points, surfaces
from engine.kernels.collision.ground import Contacts, contacts
from engine.kernels.collision.near_points import Near
from engine.kernels.collision.shape_contacts import PairRoom, pair_room, touching_pairs
from engine.kernels.collision.surfaces import Kind, Surface
from engine.kernels.contact import mimics
from engine.kernels.contact.body_pairs import MOST_PAIRS, BodyPairs, body_pairs
from engine.kernels.contact.problem import Work, work
from engine.kernels.world import Bodies, bodies
from engine.model import WORLD, Model
from engine.scene import Plane, Points, Scene, points
from engine.scene.pairs import NO_PAIRS, Pairs
from engine.scene.shapes import shapes
from engine.scene.thresholds import MOST

PLACE, NORMAL, GAP, IMPULSE, SLIP, WRENCH, SEEN = 0, 3, 6, 7, 10, 11, 17
"""Where the numbers of a contact stand in a row of `Touch.seen`, and how many they are."""
OTHER, SEEN_OF_PAIRS = SEEN, SEEN + 6
"""Where the wrench on the other body stands, in scenes with pairs, and how many numbers there are then."""

MOST_DENSE = 2000
"""Rows that there may be of whose matrix there is one."""

By = Literal["bodies", "rows", "bodies, then rows"]
"""What finds the impulses: Newton's steps by the inertias of bodies, or the rows' matrix, or it where those do not."""


class Ground(NamedTuple):
    """What robots of a model can touch, and what a contact step works in, for one robot at a time.

    `tree_q` (1, tree_nq) and `tree_v` are the tree's coordinates and velocities; `free` (nv,) the velocity, `shift`
    (nv,) a displacement, `column` (nv,) any such vector. `impulses` and `u` (N,) are those of the rows: three of each
    contact with friction, one of each other, and then those of the joints `joint_of`; `before` (N,) velocities before
    the step. `work` (3,) counts sweeps, Newton steps and interior-point steps. `pairs` is empty where there are none,
    and so is `rows`, what the rows' matrix is solved in, where it is not needed. `topology` (n, 4) counts velocities
    without joints that mimic.
    """

    points: Points
    surface: Surface
    near: Near
    contacts: Contacts
    bodies: Bodies
    tree_q: NDArray[np.floating]
    tree_v: NDArray[np.floating]
    column: NDArray[np.floating]
    free: NDArray[np.floating]
    shift: NDArray[np.floating]
    impulses: NDArray[np.floating]
    u: NDArray[np.floating]
    joint_of: NDArray[np.int64]
    before: NDArray[np.floating]
    work: NDArray[np.int64]
    pairs: PairRoom | tuple[()]
    tree: Work
    topology: NDArray[np.int64]
    by: By
    rows: Any


class Touch(NamedTuple):
    """Contact of a batch of robots: what they work in, and the contacts of the step before.

    `joint_memory` (batch, nv) are the joints' impulses. `told` (batch, 3) holds the residual, the number of contacts
    and the greatest residual since `Stepper.advance` began; `which` (batch, C) the contacts' shapes, or their pairs,
    counted after the shapes; `key` (batch, C) the points of the shapes, or the pairs' features, by which a contact is
    known in the next step; `seen` (batch, C, SEEN) place, normal, gap, impulse in the world, speed along the surface,
    and the impulse as a wrench on the body, in its frame; with pairs (…, SEEN_OF_PAIRS) that on the other body as well.
    """

    ground: Ground
    joint_memory: NDArray[np.floating]
    told: NDArray[np.floating]
    which: NDArray[np.int64]
    key: NDArray[np.int64]
    seen: NDArray[np.floating]


def ground(model: Model, scene: Scene, by: By) -> Ground:
    """What robots of a model work in. Raises ValueError where there may be too many contacts at a time."""
    found, (pairs, solids) = points(model, scene), touching_pairs(model, scene)
    C, nv = found.capacity + pairs.capacity, model.nv
    if C > MOST:
        raise ValueError(
            f"{model.name} may have {C} contacts at a time, {pairs.capacity} of them in {len(pairs.one)} pairs of "
            f"shapes, and at most {MOST} are solved together; give fewer shapes, or disable pairs by an SRDF"
        )
    N, (column, free, shift) = 3 * C + nv, np.zeros((3, nv))
    return Ground(
        found, surfaces.surface(scene.ground or Plane(), len(found.radius)), near_points.room(found), contacts(C),
        bodies(len(model.parent)), np.zeros((1, model.tree_nq)), np.zeros((1, model.tree_nv)),
        column, free, shift, np.zeros(N), np.zeros(N), np.zeros(nv, np.int64), np.zeros(N),
        np.zeros(3, np.int64), pair_room(pairs, solids) if pairs.capacity else (),
        work(model.parent, nv, C, mimics.mimics(model), _body_pairs(model, pairs)), mimics.topology(model), by, (),
    )  # fmt: skip


def _body_pairs(model: Model, pairs: Pairs) -> BodyPairs | tuple[()]:
    """Room for the pairs of moving bodies that may touch."""
    return body_pairs(len(model.parent), model.nv, len(_pairs_of_bodies(pairs))) if pairs.capacity else ()


def _pairs_of_bodies(pairs: Pairs) -> NDArray[np.int64]:
    """(P, 2): the pairs of moving bodies of which any shapes may touch."""
    bodies = np.stack([pairs.body[pairs.one], pairs.body[pairs.other]], 1)
    found: NDArray[np.int64] = np.unique(bodies[bodies[:, 1] != WORLD], axis=0)
    return found


def by(model: Model, scene: Scene) -> By:
    """What the impulses of robots in a scene are found by.

    Mimic joints that `mimics` does not fit want rows, and more pairs of bodies than there is room for have nothing
    else. Where these would take gigabytes there are none.
    """
    if not mimics.fit(model):
        return "rows"
    pairs = touching_pairs(model, scene)[0]
    has_room = not pairs.capacity or len(_pairs_of_bodies(pairs)) <= MOST_PAIRS
    rows = 3 * (points(model, scene).capacity + pairs.capacity) + model.nv
    return "bodies" if rows > MOST_DENSE and has_room else "bodies, then rows"


def of_robots(touch: Touch, block: slice) -> Touch:
    """Those of a block of robots."""
    return Touch(touch.ground, *(left[block] for left in of_steps(touch)))


def touch(ground: Ground, nv: int, batch: int) -> Touch:
    """Contact of a batch that touches nothing yet."""
    C, seen = len(ground.contacts.gap), SEEN_OF_PAIRS if ground.pairs else SEEN
    which, key = (np.zeros((batch, C), np.int64) for _ in range(2))
    return Touch(ground, np.zeros((batch, nv)), np.zeros((batch, 3)), which, key, np.zeros((batch, C, seen)))


def of_steps(touch: Touch) -> tuple[NDArray[Any], ...]:
    """What steps leave to the next one, and told of the last: all but what they work in."""
    return touch[1:]


def partners(touch: Touch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each contact that was told, (batch, C) each, the link, and what it touches as `Touches.other` has it."""
    links, pairs = touch.ground.points.link, touch.ground.pairs
    others = np.full(len(links), -1)
    if pairs:
        links = np.concatenate([links, pairs.link[pairs.one]])
        others = np.concatenate([others, pairs.link[pairs.other]])
    return (links[touch.which], others[touch.which]) if len(links) else (touch.which, np.full_like(touch.which, -1))


def example(kind: Kind, pairs: bool, mimic: bool, by: By, rows: Any) -> Touch:
    """What kernels are compiled for on a kind of ground, with pairs of shapes or without, and with mimic joints or
    without: arrays of the types and axes of those in `touch`."""
    real, whole = np.zeros(1), np.zeros(1, np.int64)
    matrix, cube, table = real[None], real[None, None], whole[None]
    found = Points(whole, whole, whole, matrix, real, matrix, real, real, real, matrix, whole, whole)
    near = Near(table, cube, cube, matrix, matrix, whole, table, whole, whole, whole)
    ground = Ground(
        found, surfaces.example(kind), near, contacts(1), bodies(1), matrix, matrix, real, real, real, real, real,
        whole, real, whole, pair_room(NO_PAIRS, shapes(())) if pairs else (),
        work(np.array([-1]), 1, 1, mimics.example() if mimic else (), body_pairs(1, 1, 1) if pairs else ()), table, by,
        rows,
    )  # fmt: skip
    return Touch(ground, matrix, matrix, whole[None], whole[None], cube)
