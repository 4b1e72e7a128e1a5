"""The workspace of a step under contacts, for one robot at a time, and the batch's contacts from step to step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.collision import near_points, surfaces
from engine.kernels.collision.ground import DetectedContacts, contacts
from engine.kernels.collision.near_points import Near
from engine.kernels.collision.shape_contacts import PairsWorkspace, pairs_workspace
from engine.kernels.collision.surfaces import Kind, Surface
from engine.kernels.collision.touching_pairs import touching_pairs
from engine.kernels.contact import mimics
from engine.kernels.contact.body_pairs import ALL_PAIRS, body_pairs
from engine.kernels.contact.problem import ImpulseWorkspace, impulse_workspace
from engine.kernels.world import Bodies, bodies
from engine.model import WORLD, Model
from engine.scene import Contacts, Pairs, Plane, Points, Scene, points
from engine.scene.contact_tolerances import MAX_CONTACTS
from engine.scene.pairs import NO_PAIRS
from engine.scene.shapes import shapes

PLACE, NORMAL, GAP, IMPULSE, SLIP, WRENCH, SEEN = 0, 3, 6, 7, 10, 11, 17
"""Columns of `ContactState.seen`, and their number: place, normal, gap and impulse in the world, sliding speed, and the
impulse as a wrench on the body, in its frame."""
OTHER, SEEN_OF_PAIRS = SEEN, SEEN + 6
"""The column of the wrench on the other body, in scenes with pairs, and the number of columns there."""
RESIDUAL, CONTACT_COUNT, WORST_RESIDUAL = range(3)
"""Columns of `ContactState.summary`."""
NEWTON_COUNT, INTERIOR_COUNT = range(2)
"""Entries of `ContactWorkspace.step_counts`."""


class ContactWorkspace(NamedTuple):
    """What robots of a model can touch, and the workspace of a contact step, for one robot at a time."""

    points: Points
    surface: Surface
    near: Near
    contacts: DetectedContacts
    bodies: Bodies
    tree_q: NDArray[np.floating]  # (1, tree_nq): the tree's coordinates
    tree_v: NDArray[np.floating]  # (1, tree_nv): its velocities
    column: NDArray[np.floating]  # (nv,): a work array
    free: NDArray[np.floating]  # (nv,): v_f, then v⁺
    shift: NDArray[np.floating]  # (nv,): the displacement that corrects overlaps
    before: NDArray[np.floating]  # (C,): normal velocities before the step
    step_counts: NDArray[np.int64]  # (2,): counts of Newton steps and interior-point steps
    pairs: PairsWorkspace | tuple[()]  # empty without pairs of shapes
    solver: ImpulseWorkspace
    topology: NDArray[np.int64]  # (n, 4), which counts velocities without mimicking joints


class ContactState(NamedTuple):
    """Contact of a batch of robots: the workspace, and the contacts of the last step.

    `which` and `key` identify a contact in the next step.
    """

    contact: ContactWorkspace
    joint_memory: NDArray[np.floating]  # (batch, nv): the joints' impulses
    summary: NDArray[np.floating]  # (batch, 3): the residual, the number of contacts, the largest residual of a call
    which: NDArray[np.int64]  # (batch, C): the contacts' shapes, or their pairs, counted after the shapes
    key: NDArray[np.int64]  # (batch, C): the shapes' points, or the pairs' features
    seen: NDArray[np.floating]  # (batch, C, SEEN), with pairs (…, SEEN_OF_PAIRS): what is reported, by those columns


def contact_workspace(model: Model, scene: Scene, most_pairs: int = ALL_PAIRS) -> ContactWorkspace:
    """Return the workspace for robots of a model.

    Raises ValueError where both possible contacts and the pairs of bodies that may touch are too many.

    At most `most_pairs` pairs of bodies touch at a time, or `ALL_PAIRS` of robots with more than
    `MAX_CONTACTS` contacts.
    """
    shape_points, (pairs, solids) = points(model, scene), touching_pairs(model, scene)
    C, nv, touching = shape_points.capacity + pairs.capacity, model.nv, len(_pairs_of_bodies(pairs))
    if C > MAX_CONTACTS and touching > ALL_PAIRS:
        raise ValueError(
            f"{model.name} may have {C} contacts at a time, {pairs.capacity} of them in {len(pairs.one)} pairs of "
            f"shapes, and at most {MAX_CONTACTS} are solved together, or {ALL_PAIRS} pairs of bodies; give fewer "
            "shapes, or disable pairs by an SRDF"
        )
    column, free, shift = np.zeros((3, nv))
    max_pairs = min(touching, most_pairs if C <= MAX_CONTACTS else ALL_PAIRS)
    pairs_of_bodies = body_pairs(len(model.parent), nv, max_pairs) if pairs.capacity else ()
    return ContactWorkspace(
        points=shape_points, surface=surfaces.surface(scene.ground or Plane()),
        near=near_points.workspace(shape_points), contacts=contacts(C), bodies=bodies(len(model.parent)),
        tree_q=np.zeros((1, model.tree_nq)),
        tree_v=np.zeros((1, model.tree_nv)), column=column, free=free, shift=shift, before=np.zeros(C),
        step_counts=np.zeros(2, np.int64),
        pairs=pairs_workspace(pairs, solids) if pairs.capacity else (), topology=mimics.topology(model),
        solver=impulse_workspace(model.parent, nv, C, mimics.mimics(model), pairs_of_bodies),
    )  # fmt: skip


def _pairs_of_bodies(pairs: Pairs) -> NDArray[np.int64]:
    """(P, 2): the pairs of moving bodies with shapes that may touch."""
    bodies = np.stack([pairs.body[pairs.one], pairs.body[pairs.other]], 1)
    distinct: NDArray[np.int64] = np.unique(bodies[bodies[:, 1] != WORLD], axis=0)
    return distinct


def of_robots(contact_state: ContactState, block: slice) -> ContactState:
    """The part of `ContactState` that belongs to a block of robots."""
    return ContactState(contact_state.contact, *(left[block] for left in of_steps(contact_state)))


def contact_state(contact: ContactWorkspace, nv: int, batch: int) -> ContactState:
    """Return the `ContactState` of a batch without contacts."""
    C, seen = len(contact.contacts.gap), SEEN_OF_PAIRS if contact.pairs else SEEN
    which, key = (np.zeros((batch, C), np.int64) for _ in range(2))
    return ContactState(contact, np.zeros((batch, nv)), np.zeros((batch, 3)), which, key, np.zeros((batch, C, seen)))


def of_steps(contact_state: ContactState) -> tuple[NDArray[Any], ...]:
    """The arrays that steps keep or report: all but the workspace."""
    return contact_state[1:]


def partners(contact: ContactWorkspace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By the numbers in `ContactState.which`: the link of a contact and what it touches, as in `Contacts.other`."""
    links, pairs = contact.points.link, contact.pairs
    others = np.full(len(links), -1)
    if pairs:
        links = np.concatenate([links, pairs.link[pairs.one]])
        others = np.concatenate([others, pairs.link[pairs.other]])
    return (links, others) if len(links) else (np.zeros(1, np.int64), np.full(1, -1))  # nothing can touch


def reported(
    number: Any, link: Any, seen: Any, wrench: Any, residual: Any, worst: Any, other: Any, other_wrench: Any
) -> Contacts:
    """Return contacts, most of them columns of `seen` (batch, C, …), in arrays on the host or on a GPU."""
    place, normal, impulse = (seen[..., column : column + 3] for column in (PLACE, NORMAL, IMPULSE))
    return Contacts(
        number, link, place, normal, seen[..., GAP], impulse, seen[..., SLIP], wrench, residual, worst, other,
        other_wrench,
    )  # fmt: skip


def example(kind: Kind, pairs: bool, mimic: bool) -> ContactState:
    """Return arrays of the types and dimensions of those in a `ContactState`, for compiling kernels."""
    real, whole = np.zeros(1), np.zeros(1, np.int64)
    matrix, cube, table = real[None], real[None, None], whole[None]
    shape_points = Points(whole, whole, whole, matrix, real, matrix, real, real, real, matrix, whole, whole)
    near = Near(table, cube, cube, matrix, matrix, cube, whole, table, whole, whole, whole)
    mimicking, touching = mimics.example() if mimic else (), body_pairs(1, 1, 1) if pairs else ()
    contact = ContactWorkspace(
        points=shape_points, surface=surfaces.example(kind), near=near, contacts=contacts(1), bodies=bodies(1),
        tree_q=matrix, tree_v=matrix, column=real, free=real, shift=real, before=real,
        step_counts=whole, pairs=pairs_workspace(NO_PAIRS, shapes(())) if pairs else (), topology=table,
        solver=impulse_workspace(np.array([-1]), 1, 1, mimicking, touching),
    )  # fmt: skip
    return ContactState(contact, matrix, matrix, whole[None], whole[None], cube)
