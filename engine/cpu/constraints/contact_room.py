"""What robots can touch, and what a step under contacts works in, for one robot at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu.chains import jsiia
from engine.cpu.chains.jsiia import Dense
from engine.cpu.collision import surfaces
from engine.cpu.collision.ground import Bodies, Contacts, contacts
from engine.cpu.collision.surfaces import Kind, Surface
from engine.cpu.constraints.contact_law import System
from engine.cpu.constraints.contact_rounds import Room, room
from engine.cpu.rigid_body import ltdl
from engine.model import Model
from engine.model.layout import pack_coupling
from engine.scene import Points, Scene, points

PLACE, NORMAL, GAP, IMPULSE, SLIP, WRENCH, SEEN = 0, 3, 6, 7, 10, 11, 17
"""Where the numbers of a contact stand in a row of `Touch.seen`, and how many they are."""


class Ground(NamedTuple):
    """What robots of a model can touch, and what a contact step works in, for one robot at a time.

    `rows` (N, nv) are J, `half` (nv, N) (J L⁻¹)ᵀ, `free` (nv,) the velocity, `shift` (nv,) a displacement.
    `work` (3,) counts sweeps, Newton steps and interior-point steps.
    """

    points: Points
    surface: Surface
    above: NDArray[np.int64]
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


class Touch(NamedTuple):
    """Contact of a batch of robots: what they work in, and their impulses of the step before, in the world.

    `memory` (batch, P, 3) by point, `joint_memory` (batch, nv). Of the last step `told` (batch, 3) holds the residual,
    the number of contacts and the greatest residual since `Stepper.advance` began, `which` (batch, C) their shapes,
    `seen` (batch, C, SEEN) place, normal, gap, impulse,
    speed along the surface, and the impulse as a wrench on the body, in its frame.
    """

    ground: Ground
    memory: NDArray[np.floating]
    joint_memory: NDArray[np.floating]
    told: NDArray[np.floating]
    which: NDArray[np.int64]
    seen: NDArray[np.floating]


def ground(model: Model, scene: Scene) -> Ground:
    """What robots of a model work in, in a scene that has a ground."""
    assert scene.ground is not None
    found = points(model, scene)
    C, nv, n, coupling = found.capacity, model.nv, len(model.parent), pack_coupling(model)
    N, P = 3 * C + nv, max(C, 1)
    system = System(np.zeros((N, N)), np.zeros(N), np.zeros(P), np.zeros((max(nv + C, 1), 3)))
    overlap = System(np.zeros((P, P)), np.zeros(P), np.zeros(1), np.tile([0.0, 0.0, np.inf], (P, 1)))
    return Ground(
        found, surfaces.surface(scene.ground, len(found.radius)), ltdl.velocities_above(model), contacts(C),
        Bodies(np.zeros((n, 9)), np.zeros((n, 3))), jsiia.dense(model), coupling.v_index, coupling.v_factor,
        np.zeros((N, nv)), np.zeros((nv, N)), np.zeros(nv), np.zeros(nv), np.zeros(nv), np.zeros(N),
        np.zeros(nv, np.int64), np.zeros(N), np.zeros(N), system, overlap, room(N), np.zeros(3, np.int64),
    )  # fmt: skip


def of_robots(touch: Touch, block: slice) -> Touch:
    """Those of a block of robots."""
    return Touch(
        touch.ground, touch.memory[block], touch.joint_memory[block], touch.told[block], touch.which[block],
        touch.seen[block],
    )  # fmt: skip


def touch(model: Model, scene: Scene, batch: int) -> Touch:
    """Contact of a batch that touches nothing yet."""
    room = ground(model, scene)
    memory = np.zeros((batch, max(len(room.points.radius), 1), 3))
    C = len(room.contacts.gap)
    told = np.zeros((batch, 3)), np.zeros((batch, C), np.int64), np.zeros((batch, C, SEEN))
    return Touch(room, memory, np.zeros((batch, model.nv)), *told)


def example(kind: Kind) -> Touch:
    """What kernels are compiled for on a kind of ground: arrays of the types and axes of those in `touch`."""
    real, whole = np.zeros(1), np.zeros(1, np.int64)
    matrix, cube = real[None], real[None, None]
    system = System(matrix, real, real, matrix)
    return Touch(
        Ground(
            Points(whole, whole, whole, matrix, real, matrix, real, real, real), surfaces.example(kind), whole,
            contacts(1), Bodies(matrix, matrix), Dense(matrix, matrix, cube, matrix, matrix), whole, real, matrix,
            matrix, real, real, real, real, whole, real, real, system, system, room(1), whole,
        ),
        cube, matrix, matrix, whole[None], cube,
    )  # fmt: skip
