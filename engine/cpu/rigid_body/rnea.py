"""Inverse dynamics (recursive Newton-Euler, [Y] (2a)–(2d)), link poses and energy, any tree, O(n)."""

from __future__ import annotations

import numpy as np

from engine.compile import kernel
from engine.cpu.rigid_body import tree_passes
from engine.cpu.rigid_body import workspace as slot
from engine.kernels.bodies import AXIS, NV
from engine.kernels.robot import KIND, PARENT
from engine.kernels.spatial import (
    add,
    dot,
    full,
    load3,
    load6,
    load9,
    matmul,
    momentum,
    mul,
    store3,
    store9,
    transform_force,
)
from engine.model import layout


@kernel
def forces(topology, constants, w, lanes, gravity, accelerated):
    """[Y] (2b)–(2d): compute τ = SᵀF of every body, at OF_TAU; q̈ is 0 unless `accelerated`."""
    L = len(lanes)
    for i in range(topology.shape[0]):
        row, c, kind = w[i], constants[i], topology[i, KIND]
        m, h = c[layout.MASS], load3(c, layout.FIRST_MOMENT)
        inertia = full(load6(c, layout.INERTIA))
        tree_passes.base_accelerations(topology, w, lanes, gravity, i)
        for k in range(6 * L):
            row[slot.ACC * L + k] += row[slot.VXS * L + k]
        if accelerated:
            axis, source = slot.ACC + AXIS[kind], slot.OF_QDD[kind]
            for k in range(NV[kind] * L):
                row[axis * L + k] += row[source * L + k]
        for k in range(L):
            n, f = momentum(m, h, inertia, load3(row, slot.ACC * L + k, L), load3(row, (slot.ACC + 3) * L + k, L))
            store3(row, add(n, load3(row, slot.BIAS * L + k, L)), slot.BIAS * L + k, L)
            store3(row, add(f, load3(row, (slot.BIAS + 3) * L + k, L)), (slot.BIAS + 3) * L + k, L)
    joint_forces(topology, w, lanes)


@kernel
def joint_forces(topology, w, lanes):
    """[Y] (2c), (2d): compute τ = SᵀF of every body into TAU, a free joint's into U, from the bodies' own parts of F in
    BIAS."""
    L = len(lanes)
    for i in range(topology.shape[0] - 1, -1, -1):
        row, kind, parent = w[i], topology[i, KIND], topology[i, PARENT]
        axis, place = slot.BIAS + AXIS[kind], slot.OF_TAU[kind]
        for k in range(NV[kind] * L):
            row[place * L + k] = row[axis * L + k]
        if parent >= 0:
            below = w[parent]
            for k in range(L):
                R, p = load9(row, slot.R * L + k, L), load3(row, slot.P * L + k, L)
                n, f = transform_force(R, p, load3(row, slot.BIAS * L + k, L), load3(row, (slot.BIAS + 3) * L + k, L))
                store3(below, add(load3(below, slot.BIAS * L + k, L), n), slot.BIAS * L + k, L)
                store3(below, add(load3(below, (slot.BIAS + 3) * L + k, L), f), (slot.BIAS + 3) * L + k, L)


@kernel
def inverse(q, v, a, out, topology, constants, w, lanes):
    """Compute τ into `out` (batch, nv) from q (batch, nq), v and q̈ (batch, nv)."""
    n = topology.shape[0]
    for start in range(0, q.shape[0], len(lanes)):
        tree_passes.scatter_q(q, start, topology, constants, w, lanes)
        tree_passes.scatter_v(v, start, topology, w, lanes, slot.OF_QD)
        tree_passes.scatter_v(a, start, topology, w, lanes, slot.OF_QDD)
        tree_passes.poses(topology, constants, w, lanes)
        tree_passes.velocities(topology, w, lanes)
        tree_passes.bias_forces(topology, constants, w, lanes)
        forces(topology, constants, w, lanes, constants[n], True)
        tree_passes.gather_v(out, start, topology, w, lanes, slot.OF_TAU)


@kernel
def world_poses(q, rotations, positions, topology, constants, w, lanes):
    """Compute each body's frame in the world: rotations (batch, n, 9), by rows, and positions (batch, n, 3). L = 1."""
    for b in range(q.shape[0]):
        tree_passes.scatter_q(q, b, topology, constants, w, lanes)
        tree_passes.poses(topology, constants, w, lanes)
        for i in range(topology.shape[0]):
            parent, R, p = topology[i, PARENT], load9(w[i], slot.R), load3(w[i], slot.P)
            if parent >= 0:
                Rp = load9(rotations[b, parent])
                R, p = matmul(Rp, R), add(load3(positions[b, parent]), mul(Rp, p))
            store9(rotations[b, i], R)
            store3(positions[b, i], p)


@kernel
def energies(q, v, kinetic, positions, rotations, potential, topology, each, w, lanes):
    """Compute ½ Σ VᵀJV and −Σ m gᵀx into `kinetic` and `potential` (batch,), x the centres of mass. L = 1.

    `each` (1 or batch, n + 1, CONSTANTS) are the constants of all robots, or of each.
    """
    n = topology.shape[0]
    world_poses(q, rotations, positions, topology, each[0], w, lanes)
    for b in range(q.shape[0]):
        constants = each[min(b, each.shape[0] - 1)]
        gravity = load3(constants[n])
        tree_passes.scatter_q(q, b, topology, constants, w, lanes)
        tree_passes.scatter_v(v, b, topology, w, lanes, slot.OF_QD)
        tree_passes.poses(topology, constants, w, lanes)
        tree_passes.velocities(topology, w, lanes)
        kinetic[b], potential[b] = 0.0, 0.0
        for i in range(n):
            c = constants[i]
            inertia = full(load6(c, layout.INERTIA))
            o, u = load3(w[i], slot.V), load3(w[i], slot.V + 3)
            h = load3(c, layout.FIRST_MOMENT)
            angular, linear = momentum(c[layout.MASS], h, inertia, o, u)
            kinetic[b] += 0.5 * (dot(o, angular) + dot(u, linear))
            moment = mul(load9(rotations[b, i]), h)
            x = load3(positions[b, i])
            potential[b] -= c[layout.MASS] * dot(gravity, x) + dot(gravity, moment)


@kernel
def all_finite(x):
    """Whether every number of a matrix is finite."""
    finite = True
    for k in range(x.shape[0]):
        for j in range(x.shape[1]):
            finite &= np.isfinite(x[k, j])
    return finite
