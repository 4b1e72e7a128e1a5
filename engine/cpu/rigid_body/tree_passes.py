"""Tree passes shared by several algorithms, for a block of L robots. [Y] is Yang, Wu, Pan 2016."""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.operations import is_single
from engine.cpu.rigid_body import workspace as slot
from engine.kernels.bodies import NQ, NV
from engine.kernels.quaternions import rotation_from_quaternion
from engine.kernels.robot import KIND, PARENT, Q_START, V_START
from engine.kernels.sines import MAX_ANGLE, sincos, sine_and_cosine
from engine.kernels.spatial import (
    add,
    columns,
    cross,
    full,
    load3,
    load6,
    load9,
    matmul,
    momentum,
    mul,
    mul_t,
    rotated_about_z,
    scale,
    store3,
    store6,
    store9,
    transform_motion,
)
from engine.model import FREE, PRISMATIC, REVOLUTE, SPHERICAL, layout


@inline
def as_batch(q, v, tau, out):
    """The vectors of one robot as matrices with one row."""
    return np.expand_dims(q, 0), np.expand_dims(v, 0), np.expand_dims(tau, 0), np.expand_dims(out, 0)


@kernel
def shapes_fit(topology, q, v, tau, out):
    """Whether q is (batch, tree_nq) and the others (batch, tree_nv), batch at least 1."""
    n, batch = topology.shape[0], q.shape[0]
    nq, nv = 0, 0
    if n > 0:
        kind = topology[n - 1, KIND]
        nq, nv = topology[n - 1, Q_START] + NQ[kind], topology[n - 1, V_START] + NV[kind]
    return (
        q.shape[1] == nq
        and v.shape == (batch, nv)
        and tau.shape == (batch, nv)
        and out.shape == (batch, nv)
        and batch > 0
    )


@kernel
def scatter_q(q, start, topology, constants, w, lanes):
    """Distribute rows start… of q (batch, tree_nq) to the bodies; a free or ball joint gets its whole pose.

    Past the end of the batch the last robot is repeated, so that every block is full.
    """
    L, last = len(lanes), q.shape[0] - 1
    for i in range(topology.shape[0]):
        row, j, kind = w[i], topology[i, Q_START], topology[i, KIND]
        if kind != FREE and kind != SPHERICAL:
            for k in range(L):
                row[slot.Q * L + k] = q[min(start + k, last), j]
            continue
        R0, p0 = load9(constants[i], layout.HOME_ROTATION), load3(constants[i], layout.HOME_POSITION)
        if kind == SPHERICAL:
            for k in range(L):
                x = q[min(start + k, last)]
                R = rotation_from_quaternion(x[j], x[j + 1], x[j + 2], x[j + 3])
                store9(row, matmul(R0, R), slot.R * L + k, L)
                store3(row, p0, slot.P * L + k, L)
            continue
        for k in range(L):
            x = q[min(start + k, last)]
            store9(row, matmul(R0, rotation_from_quaternion(x[j + 3], x[j + 4], x[j + 5], x[j + 6])), slot.R * L + k, L)
            store3(row, add(p0, mul(R0, (x[j], x[j + 1], x[j + 2]))), slot.P * L + k, L)


@kernel
def scatter_v(v, start, topology, w, lanes, place):
    """Distribute rows start… of v (batch, tree_nv) to the bodies; `place` is the column by kind of joint, as
    `slot.OF_TAU`."""
    L, last = len(lanes), v.shape[0] - 1
    for i in range(topology.shape[0]):
        row, first, kind = w[i], topology[i, V_START], topology[i, KIND]
        width, begin = NV[kind], place[kind]
        for j in range(width):
            for k in range(L):
                row[(begin + j) * L + k] = v[min(start + k, last), first + j]


@kernel
def scatter_additions(added_inertia, held, target_acceleration, topology, w, lanes):
    """Distribute ABIA's additions for simulation, (L, tree_nv) each, to the bodies; free joints have none."""
    L = len(lanes)
    for i in range(topology.shape[0]):
        row, first, kind = w[i], topology[i, V_START], topology[i, KIND]
        if kind != FREE:
            width, of_added, of_held = NV[kind], slot.OF_ADDED_INERTIA[kind], slot.OF_HELD[kind]
            of_target = slot.OF_TARGET_ACCELERATION[kind]
            for j in range(width):
                for k in range(L):
                    row[(of_added + j) * L + k] = added_inertia[k, first + j]
                    row[(of_held + j) * L + k] = held[k, first + j]
                    row[(of_target + j) * L + k] = target_acceleration[k, first + j]


@kernel
def gather_v(v, start, topology, w, lanes, place):
    """The inverse of `scatter_v`; returns whether every number is finite."""
    L, finite = len(lanes), True
    for i in range(topology.shape[0]):
        row, first, kind = w[i], topology[i, V_START], topology[i, KIND]
        width, begin = NV[kind], place[kind]
        for j in range(width):
            for k in range(min(L, v.shape[0] - start)):
                x = row[(begin + j) * L + k]
                v[start + k, first + j] = x
                finite &= np.isfinite(x)
    return finite


@inline
def _revolute(row, constants, i, L):
    largest = 0.0
    for k in range(L):
        largest = max(largest, abs(row[slot.Q * L + k]))
    c = constants[i]
    R = load9(c, layout.HOME_ROTATION)
    for k in range(L):
        s, o = sine_and_cosine(row[slot.Q * L + k]) if is_single(row[slot.Q * L + k]) else sincos(row[slot.Q * L + k])
        store9(row, rotated_about_z(R, s, o), slot.R * L + k, L)
    if not largest <= MAX_ANGLE:
        for k in range(L):  # a large angle must not affect the other robots of the block
            if not abs(row[slot.Q * L + k]) <= MAX_ANGLE:
                s, o = sine_and_cosine(row[slot.Q * L + k])
                store9(row, rotated_about_z(R, s, o), slot.R * L + k, L)
    p = load3(c, layout.HOME_POSITION)
    for k in range(L):
        store3(row, p, slot.P * L + k, L)


@inline
def _prismatic(row, constants, i, L):
    c = constants[i]
    R0, p0 = load9(c, layout.HOME_ROTATION), load3(c, layout.HOME_POSITION)
    _, _, axis = columns(R0)
    for k in range(L):
        store9(row, R0, slot.R * L + k, L)
        store3(row, add(p0, scale(row[slot.Q * L + k], axis)), slot.P * L + k, L)


@kernel
def poses(topology, constants, w, lanes):
    """Compute T_i of every body from its coordinate."""
    for i in range(topology.shape[0]):
        if topology[i, KIND] == REVOLUTE:
            _revolute(w[i], constants, i, len(lanes))
        elif topology[i, KIND] == PRISMATIC:
            _prismatic(w[i], constants, i, len(lanes))


@inline
def _from_parent(row, above, place, L):
    """The motion at `place` of the parent's row, in the body's frame, into the body's."""
    for k in range(L):
        R, p = load9(row, slot.R * L + k, L), load3(row, slot.P * L + k, L)
        o, v = load3(above, place * L + k, L), load3(above, (place + 3) * L + k, L)
        o, v = transform_motion(R, p, o, v)
        store3(row, o, place * L + k, L)
        store3(row, v, (place + 3) * L + k, L)


@kernel
def velocities(topology, w, lanes):
    """[Y] (2a): compute V = X V_parent + S q̇, and c = ad_V S q̇."""
    L = len(lanes)
    for i in range(topology.shape[0]):
        row, parent = w[i], topology[i, PARENT]
        if parent >= 0:
            _from_parent(row, w[parent], slot.V, L)
        else:
            for k in range(6 * L):
                row[slot.V * L + k] = 0.0
        if topology[i, KIND] == REVOLUTE:
            for k in range(L):
                rate, x, y = row[slot.QD * L + k], load3(row, slot.V * L + k, L), load3(row, (slot.V + 3) * L + k, L)
                row[(slot.V + 2) * L + k] = x[2] + rate
                store3(row, (x[1] * rate, -x[0] * rate, 0.0), slot.VXS * L + k, L)
                store3(row, (y[1] * rate, -y[0] * rate, 0.0), (slot.VXS + 3) * L + k, L)
        elif topology[i, KIND] == FREE:
            for k in range(L):
                o, v = load3(row, slot.V * L + k, L), load3(row, (slot.V + 3) * L + k, L)
                do, dv = load3(row, slot.VXS * L + k, L), load3(row, (slot.VXS + 3) * L + k, L)
                store3(row, add(o, do), slot.V * L + k, L)
                store3(row, add(v, dv), (slot.V + 3) * L + k, L)
                store3(row, cross(o, do), slot.VXS * L + k, L)
                store3(row, add(cross(v, do), cross(o, dv)), (slot.VXS + 3) * L + k, L)
        elif topology[i, KIND] == SPHERICAL:
            for k in range(L):
                o, v = load3(row, slot.V * L + k, L), load3(row, (slot.V + 3) * L + k, L)
                do = load3(row, slot.VXS * L + k, L)
                store3(row, add(o, do), slot.V * L + k, L)
                store3(row, cross(o, do), slot.VXS * L + k, L)
                store3(row, cross(v, do), (slot.VXS + 3) * L + k, L)
        else:
            for k in range(L):
                rate, x = row[slot.QD * L + k], load3(row, slot.V * L + k, L)
                row[(slot.V + 5) * L + k] += rate
                store3(row, (0.0, 0.0, 0.0), slot.VXS * L + k, L)
                store3(row, (x[1] * rate, -x[0] * rate, 0.0), (slot.VXS + 3) * L + k, L)


@kernel
def bias_forces(topology, constants, w, lanes):
    """Compute p = −ad_Vᵀ J V of every body, the velocity's part of [Y] (2c)."""
    L = len(lanes)
    for i in range(topology.shape[0]):
        row, c = w[i], constants[i]
        m, h = c[layout.MASS], load3(c, layout.FIRST_MOMENT)
        inertia = full(load6(c, layout.INERTIA))
        for k in range(L):
            o, v = load3(row, slot.V * L + k, L), load3(row, (slot.V + 3) * L + k, L)
            n, f = momentum(m, h, inertia, o, v)
            n, f = add(cross(o, n), cross(v, f)), cross(o, f)
            store6(row, (n[0], n[1], n[2], f[0], f[1], f[2]), slot.BIAS * L + k, L)


@kernel
def rigid_inertias(topology, constants, w, lanes):
    """Set I = J of every body, the initial value of articulated and composite inertias."""
    L = len(lanes)
    for i in range(topology.shape[0]):
        row, c = w[i], constants[i]
        m, (x, y, z) = c[layout.MASS], load3(c, layout.FIRST_MOMENT)
        block = load6(c, layout.INERTIA)
        for k in range(L):
            store6(row, block, slot.I * L + k, L)
            store9(row, (0.0, -z, y, z, 0.0, -x, -y, x, 0.0), slot.I_B * L + k, L)
            store6(row, (m, 0.0, 0.0, m, 0.0, m), slot.I_C * L + k, L)


@inline
def base_accelerations(topology, w, lanes, gravity, i):
    """Compute X_i a_parent into A, where the base's acceleration is −g."""
    L = len(lanes)
    row, parent = w[i], topology[i, PARENT]
    if parent >= 0:
        _from_parent(row, w[parent], slot.ACC, L)
    else:
        up = (-gravity[0], -gravity[1], -gravity[2])
        for k in range(L):
            store3(row, (0.0, 0.0, 0.0), slot.ACC * L + k, L)
            store3(row, mul_t(load9(row, slot.R * L + k, L), up), (slot.ACC + 3) * L + k, L)
