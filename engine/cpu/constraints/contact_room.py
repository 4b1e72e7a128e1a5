"""What robots can touch, and what a step under contacts works in, for one robot at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu.chains import jsiia
from engine.cpu.chains.jsiia import Dense
from engine.cpu.collision import near_points, surfaces
from engine.cpu.collision.ground import Bodies, Contacts, contacts
from engine.cpu.collision.near_points import Near
from engine.cpu.collision.shape_contacts import PairRoom, pair_room, touching_pairs
from engine.cpu.collision.surfaces import Kind, Surface
from engine.cpu.constraints.contact_law import System
from engine.cpu.constraints.contact_rounds import Room, room
from engine.cpu.rigid_body import ltdl
from engine.kernels.contact.newton import Work, work
from engine.model import Model
from engine.model.layout import pack_coupling
from engine.scene import Plane, Points, Scene, points
from engine.scene.pairs import NO_PAIRS
from engine.scene.shapes import shapes
from engine.scene.thresholds import MOST

PLACE, NORMAL, GAP, IMPULSE, SLIP, WRENCH, SEEN = 0, 3, 6, 7, 10, 11, 17
"""Where the numbers of a contact stand in a row of `Touch.seen`, and how many they are."""
OTHER, SEEN_OF_PAIRS = SEEN, SEEN + 6
"""Where the wrench on the other body stands, in scenes with pairs, and how many numbers there are then."""


class Ground(NamedTuple):
    """What robots of a model can touch, and what a contact step works in, for one robot at a time.

    `rows` (N, nv) are J, `half` (nv, N) (J L⁻¹)ᵀ, `free` (nv,) the velocity, `shift` (nv,) a displacement.
    `work` (3,) counts sweeps, Newton steps and interior-point steps. `pairs` is empty where there are none.
    """

    points: Points
    surface: Surface
    above: NDArray[np.int64]
    near: Near
    contacts: Contacts
    bodies: Bodies
    dense: Dense
    coupling_index: NDArray[np.int64]
    coupling_factor: NDArray[np.floating]
    rows: NDArray[np.floating]
    half: NDArray[np.floating]
    column: NDArray[np.floating]
    free: NDArray[np.floating]
    shift: NDArray[np.floating]
    impulses: NDArray[np.floating]
    joint_of: NDArray[np.int64]
    offset: NDArray[np.floating]
    before: NDArray[np.floating]
    system: System
    overlap: System
    solver: Room
    work: NDArray[np.int64]
    pairs: PairRoom | tuple[()]
    tree: Work
    by_bodies: bool


class Touch(NamedTuple):
    """Contact of a batch of robots: what they work in, and their impulses of the step before, in the world.

    `memory` (batch, P, 3) by point, and after these by number of a pair's contact; `joint_memory` (batch, nv). Of the
    last step `told` (batch, 3) holds the residual, the number of contacts and the greatest residual since
    `Stepper.advance` began, `which` (batch, C) their shapes, or their pairs, counted after the shapes, `seen`
    (batch, C, SEEN) place, normal, gap, impulse, speed along the surface, and the impulse as a wrench on the body, in
    its frame; with pairs (…, SEEN_OF_PAIRS) the wrench on the other body as well. `features` (batch, contacts of pairs)
    are those that `memory` is of; it is empty where there are no pairs.
    """

    ground: Ground
    memory: NDArray[np.floating]
    joint_memory: NDArray[np.floating]
    told: NDArray[np.floating]
    which: NDArray[np.int64]
    seen: NDArray[np.floating]
    features: NDArray[np.int64] | tuple[()]


def has_pairs(model: Model, scene: Scene) -> bool:
    """Whether any shapes of a model may touch obstacles or each other."""
    return touching_pairs(model, scene)[0].capacity > 0


def ground(model: Model, scene: Scene) -> Ground:
    """What robots of a model work in. Raises ValueError where there may be too many contacts at a time."""
    found, (pairs, solids) = points(model, scene), touching_pairs(model, scene)
    C, nv, n, coupling = found.capacity + pairs.capacity, model.nv, len(model.parent), pack_coupling(model)
    if C > MOST:
        raise ValueError(
            f"{model.name} may have {C} contacts at a time, {pairs.capacity} of them in {len(pairs.one)} pairs of "
            f"shapes, and at most {MOST} are solved together; give fewer shapes, or disable pairs by an SRDF"
        )
    N, P = 3 * C + nv, max(C, 1)
    system = System(np.zeros((N, N)), np.zeros(N), np.zeros(P), np.zeros((max(nv + C, 1), 3)))
    overlap = System(np.zeros((P, P)), np.zeros(P), np.zeros(1), np.tile([0.0, 0.0, np.inf], (P, 1)))
    return Ground(
        found, surfaces.surface(scene.ground or Plane(), len(found.radius)), ltdl.velocities_above(model),
        near_points.room(found), contacts(C), Bodies(np.zeros((n, 9)), np.zeros((n, 3))), jsiia.dense(model),
        coupling.v_index, coupling.v_factor,
        np.zeros((N, nv)), np.zeros((nv, N)), np.zeros(nv), np.zeros(nv), np.zeros(nv), np.zeros(N),
        np.zeros(nv, np.int64), np.zeros(N), np.zeros(N), system, overlap, room(N), np.zeros(3, np.int64),
        pair_room(pairs, solids) if pairs.capacity else (), _tree(model, C),
        not model.has_mimic and pairs.capacity == 0,
    )  # fmt: skip


def _tree(model: Model, contacts: int) -> Work:
    """What the recursion over the bodies works in."""
    room = work(len(model.parent), model.nv, contacts)
    body = np.repeat(np.arange(len(model.parent)), np.diff(np.append(model.v_start, model.tree_nv)))
    room.problem.joint_body[: min(model.nv, len(body))] = body[: model.nv]
    return room


def of_robots(touch: Touch, block: slice) -> Touch:
    """Those of a block of robots."""
    return Touch(
        touch.ground, touch.memory[block], touch.joint_memory[block], touch.told[block], touch.which[block],
        touch.seen[block], touch.features[block] if len(touch.features) else (),
    )  # fmt: skip


def touch(model: Model, scene: Scene, batch: int) -> Touch:
    """Contact of a batch that touches nothing yet."""
    room, slots = ground(model, scene), touching_pairs(model, scene)[0].capacity
    memory = np.zeros((batch, max(len(room.points.radius) + slots, 1), 3))
    C = len(room.contacts.gap)
    told = np.zeros((batch, 3)), np.zeros((batch, C), np.int64), np.zeros((batch, C, SEEN_OF_PAIRS if slots else SEEN))
    return Touch(room, memory, np.zeros((batch, model.nv)), *told, np.zeros((batch, slots), np.int64) if slots else ())


def of_steps(touch: Touch) -> tuple[NDArray[Any], ...]:
    """What steps leave to the next one, and told of the last: all but what they work in."""
    left = touch.memory, touch.joint_memory, touch.told, touch.which, touch.seen
    return (*left, touch.features) if isinstance(touch.features, np.ndarray) else left


def partners(touch: Touch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each contact that was told, (batch, C) each, the link, and what it touches as `Touches.other` has it."""
    links, pairs = touch.ground.points.link, touch.ground.pairs
    others = np.full(len(links), -1)
    if pairs:
        links = np.concatenate([links, pairs.link[pairs.one]])
        others = np.concatenate([others, pairs.link[pairs.other]])
    return (links[touch.which], others[touch.which]) if len(links) else (touch.which, np.full_like(touch.which, -1))


def example(kind: Kind, pairs: bool) -> Touch:
    """What kernels are compiled for on a kind of ground, with pairs of shapes or without: arrays of the types and axes
    of those in `touch`."""
    real, whole = np.zeros(1), np.zeros(1, np.int64)
    matrix, cube = real[None], real[None, None]
    system, no_shapes = System(matrix, real, real, matrix), shapes(())
    return Touch(
        Ground(
            Points(whole, whole, whole, matrix, real, matrix, real, real, real, matrix, whole, whole),
            surfaces.example(kind), whole, Near(whole, matrix, matrix, real, whole, whole, whole),
            contacts(1), Bodies(matrix, matrix), Dense(matrix, matrix, cube, matrix, matrix), whole, real, matrix,
            matrix, real, real, real, real, whole, real, real, system, system, room(1), whole,
            pair_room(NO_PAIRS, no_shapes) if pairs else (), work(1, 1, 1), False,
        ),
        cube, matrix, matrix, whole[None], cube, whole[None] if pairs else (),
    )  # fmt: skip
