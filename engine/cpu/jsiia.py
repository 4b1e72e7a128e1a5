"""JSIIA: forward dynamics by the joint-space inertia matrix ([Y] (6), (7)), any tree, O(n³).

M by composite bodies (Featherstone 2008, table 6.2), bias by inverse dynamics, Cholesky. It serves models
with mimic joints exactly: with ``q = G y + g₀`` the same lines solve ``GᵀMG ÿ = Gᵀ(τ − bias)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu import layout as at
from engine.cpu import tree
from engine.cpu.inverse import forces
from engine.cpu.native import inline, kernel
from engine.cpu.spatial import force_to_parent, inertia_to_parent, load3, load6, load9, store6, store9
from engine.model import FREE, REVOLUTE, Model


class Dense(NamedTuple):
    """What JSIIA works in: the tree's coordinates (1, tree_nq) and velocities, and matrices."""

    tree_q: NDArray[np.floating]
    tree_v: NDArray[np.floating]
    M_tree: NDArray[np.floating]
    M: NDArray[np.floating]
    factor: NDArray[np.floating]


def dense(model: Model, dtype: str = "float64") -> Dense:
    """What JSIIA works in, for a model."""
    n, m = model.tree_nv, model.nv
    shapes = ((1, model.tree_nq), (1, n), (1, n, n), (m, m), (m, m))
    return Dense(*(np.zeros(shape, dtype) for shape in shapes))


@inline
def fill(x, value):
    """Every number of a matrix to `value`."""
    for k in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[k, j] = value


@inline
def _column(row, k, L, kind, j):
    """Column j of a composite inertia times S, as a wrench on the body, into its A."""
    A, B, C = load6(row, at.I * L + k, L), load9(row, (at.I + 6) * L + k, L), load6(row, (at.I + 15) * L + k, L)
    index = j if kind == FREE else (2 if kind == REVOLUTE else 5)
    columns = (
        (A[0], A[1], A[2], B[0], B[1], B[2]),
        (A[1], A[3], A[4], B[3], B[4], B[5]),
        (A[2], A[4], A[5], B[6], B[7], B[8]),
        (B[0], B[3], B[6], C[0], C[1], C[2]),
        (B[1], B[4], B[7], C[1], C[3], C[4]),
        (B[2], B[5], B[8], C[2], C[4], C[5]),
    )
    store6(row, at.A * L + k, L, columns[index])


@inline
def _row_into(M, k, topology, wrench, j, column):
    """S_jᵀ F for body j into M[·, column] and its mirror."""
    start, kind = topology[j, 3], topology[j, 1]
    if kind == FREE:
        for r in range(6):
            M[k, start + r, column] = wrench[r]
            M[k, column, start + r] = wrench[r]
    else:
        value = wrench[2] if kind == REVOLUTE else wrench[5]
        M[k, start, column] = value
        M[k, column, start] = value


@kernel
def composite_bodies(M, topology, constants, w, lanes):
    """The mass matrix of the tree into M (L, tree_nv, tree_nv)."""
    L = len(lanes)
    for k in range(L):
        fill(M[k], 0.0)
    tree.rigid_inertias(topology, constants, w, lanes)
    for i in range(topology.shape[0] - 1, -1, -1):
        row, parent, kind, start = w[i], topology[i, 0], topology[i, 1], topology[i, 3]
        for column in range(6 if kind == FREE else 1):
            for k in range(L):
                _column(row, k, L, kind, column)
                F, j = load6(row, at.A * L + k, L), i
                while True:
                    _row_into(M, k, topology, F, j, start + column)
                    above = topology[j, 0]
                    if above < 0:
                        break
                    R, p = load9(w[j], at.R * L + k, L), load3(w[j], at.P * L + k, L)
                    n, f = force_to_parent(R, p, (F[0], F[1], F[2]), (F[3], F[4], F[5]))
                    F, j = (n[0], n[1], n[2], f[0], f[1], f[2]), above
        if parent >= 0:
            for k in range(L):
                A, B, C = (
                    load6(row, at.I * L + k, L),
                    load9(row, (at.I + 6) * L + k, L),
                    load6(row, (at.I + 15) * L + k, L),
                )
                R, p = load9(row, at.R * L + k, L), load3(row, at.P * L + k, L)
                A, B, C = inertia_to_parent(R, p, A, B, C)
                store6(row, at.I * L + k, L, A)
                store9(row, (at.I + 6) * L + k, L, B)
                store6(row, (at.I + 15) * L + k, L, C)
            below = w[parent]
            for k in range(21 * L):
                below[at.I * L + k] += row[at.I * L + k]


@kernel
def mass_matrix(q, out, topology, constants, w, lanes):
    """M (batch, tree_nv, tree_nv) from q (batch, tree_nq). One lane."""
    for b in range(q.shape[0]):
        tree.scatter_q(q, b, topology, constants, w, lanes)
        tree.poses(topology, constants, w, lanes)
        composite_bodies(out[b : b + 1], topology, constants, w, lanes)


@kernel
def reduce_matrix(M, index, factor, out):
    """GᵀMG, G given by the coordinate that each of the tree's reads and the factor: (n, n) -> (m, m)."""
    fill(out, 0.0)
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            out[index[i], index[j]] += factor[i] * factor[j] * M[i, j]


@kernel
def cholesky_solve(M, b):
    """b ← M⁻¹ b and M ← its Cholesky factor, M symmetric positive definite (n, n)."""
    n = M.shape[0]
    for j in range(n):
        for k in range(j):
            M[j, j] -= M[j, k] * M[j, k]
        M[j, j] = np.sqrt(M[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                M[i, j] -= M[i, k] * M[j, k]
            M[i, j] /= M[j, j]
    for i in range(n):
        for k in range(i):
            b[i] -= M[i, k] * b[k]
        b[i] /= M[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= M[k, i] * b[k]
        b[i] /= M[i, i]


@kernel
def bias(out, topology, constants, w, lanes, gravity):
    """The tree's bias force into `out` (1, tree_nv), for the poses and velocities that stand in w. One lane."""
    tree.bias_forces(topology, constants, w, lanes)
    forces(topology, constants, w, lanes, gravity, False)
    tree.gather_v(out, 0, topology, w, lanes, at.TAU, at.U)


@kernel
def accelerations(tau, extra, locked, target, qdd, reaction, index, factor, bias_force, M_tree, M, L):
    """q̈ (nv,), and what locking took, from the tree's matrix and bias; `index` and `factor` are G's.

    ``extra`` is added to the diagonal; where `locked` is not 0 the acceleration is `target`. M and L,
    (nv, nv), are written over.
    """
    n = qdd.size
    reduce_matrix(M_tree, index, factor, M)
    for i in range(n):
        M[i, i] += extra[i]
        reaction[i] = -tau[i]
    for i in range(index.size):
        reaction[index[i]] += factor[i] * bias_force[i]
    for i in range(n):
        qdd[i] = target[i] if locked[i] != 0.0 else -reaction[i]
        for j in range(n):
            both = locked[i] == 0.0 and locked[j] == 0.0
            L[i, j] = M[i, j] if both else (1.0 if i == j else 0.0)
            if locked[j] != 0.0 and locked[i] == 0.0:
                qdd[i] -= M[i, j] * target[j]
    cholesky_solve(L, qdd)
    for i in range(n):
        for j in range(n):
            reaction[i] += M[i, j] * qdd[j]


@kernel
def expand(q, q_index, q_factor, q_offset, out):
    """G q + g₀, one robot: (nq,) -> (tree_nq,)."""
    for i in range(out.size):
        out[i] = q_factor[i] * q[q_index[i]] + q_offset[i]


@kernel
def forward(q, v, tau, out, coupling, topology, constants, w, lanes, dense, nothing, reaction):
    """q̈ into `out` (batch, nv), from q (batch, nq), v and τ (batch, nv); answers whether all is finite. One lane.

    `nothing` are nv zeros, and `reaction` has room for as many numbers.
    """
    n, finite = out.shape[1], True
    full_q, full_v, M_tree, M, L = dense
    for b in range(q.shape[0]):
        expand(q[b], coupling.q_index, coupling.q_factor, coupling.q_offset, full_q[0])
        expand(v[b], coupling.v_index, coupling.v_factor, coupling.v_offset, full_v[0])
        tree.scatter_q(full_q, 0, topology, constants, w, lanes)
        tree.scatter_v(full_v, 0, topology, w, lanes, at.QD, at.C)
        tree.poses(topology, constants, w, lanes)
        tree.velocities(topology, w, lanes)
        bias(full_v, topology, constants, w, lanes, constants[topology.shape[0]])
        composite_bodies(M_tree, topology, constants, w, lanes)
        accelerations(
            tau[b],
            nothing,
            nothing,
            nothing,
            out[b],
            reaction,
            coupling.v_index,
            coupling.v_factor,
            full_v[0],
            M_tree[0],
            M,
            L,
        )
        for j in range(n):
            finite &= np.isfinite(out[b, j])
    return finite
