"""The mass matrix by composite bodies (CRBA; Featherstone 2008, table 6.2), any tree, O(n d)."""

from __future__ import annotations

from engine.compile import compiled_apart, inline, kernel
from engine.cpu.rigid_body import tree_passes
from engine.cpu.rigid_body import workspace as slot
from engine.cpu.runtime.arrays import fill
from engine.kernels.bodies import AXIS, NV
from engine.kernels.robot import KIND, PARENT, V_START
from engine.kernels.spatial import inertia_to_parent, load3, load6, load9, store6, store9, transform_force


@inline
def _column(row, k, L, kind, j):
    """Compute column j of a composite inertia times S, a wrench on the body, into its A."""
    A, B, C = load6(row, slot.I * L + k, L), load9(row, slot.I_B * L + k, L), load6(row, slot.I_C * L + k, L)
    columns = (
        (A[0], A[1], A[2], B[0], B[1], B[2]),
        (A[1], A[3], A[4], B[3], B[4], B[5]),
        (A[2], A[4], A[5], B[6], B[7], B[8]),
        (B[0], B[3], B[6], C[0], C[1], C[2]),
        (B[1], B[4], B[7], C[1], C[3], C[4]),
        (B[2], B[5], B[8], C[2], C[4], C[5]),
    )
    store6(row, columns[AXIS[kind] + j], slot.ACC * L + k, L)


@inline
def _row_into(M, k, topology, wrench, j, column):
    """Compute S_jᵀ F of body j into M[·, column] and its mirror."""
    start, kind = topology[j, V_START], topology[j, KIND]
    for r in range(NV[kind]):
        value = wrench[AXIS[kind] + r]
        M[k, start + r, column] = value
        M[k, column, start + r] = value


@compiled_apart
def composite_bodies(M, topology, constants, w, lanes):
    """Compute the mass matrix of the tree into M (L, tree_nv, tree_nv)."""
    L = len(lanes)
    for k in range(L):
        fill(M[k], 0.0)
    tree_passes.rigid_inertias(topology, constants, w, lanes)
    for i in range(topology.shape[0] - 1, -1, -1):
        row, parent, kind, start = w[i], topology[i, PARENT], topology[i, KIND], topology[i, V_START]
        for column in range(NV[kind]):
            for k in range(L):
                _column(row, k, L, kind, column)
                F, j = load6(row, slot.ACC * L + k, L), i
                while True:
                    _row_into(M, k, topology, F, j, start + column)
                    above = topology[j, PARENT]
                    if above < 0:
                        break
                    R, p = load9(w[j], slot.R * L + k, L), load3(w[j], slot.P * L + k, L)
                    n, f = transform_force(R, p, (F[0], F[1], F[2]), (F[3], F[4], F[5]))
                    F, j = (n[0], n[1], n[2], f[0], f[1], f[2]), above
        if parent >= 0:
            for k in range(L):
                A, B, C = (
                    load6(row, slot.I * L + k, L),
                    load9(row, slot.I_B * L + k, L),
                    load6(row, slot.I_C * L + k, L),
                )
                R, p = load9(row, slot.R * L + k, L), load3(row, slot.P * L + k, L)
                A, B, C = inertia_to_parent(R, p, A, B, C)
                store6(row, A, slot.I * L + k, L)
                store9(row, B, slot.I_B * L + k, L)
                store6(row, C, slot.I_C * L + k, L)
            below = w[parent]
            for k in range(21 * L):
                below[slot.I * L + k] += row[slot.I * L + k]


@kernel
def mass_matrix(q, out, topology, constants, w, lanes):
    """Compute M (batch, tree_nv, tree_nv) from q (batch, tree_nq). L = 1."""
    for b in range(q.shape[0]):
        tree_passes.scatter_q(q, b, topology, constants, w, lanes)
        tree_passes.poses(topology, constants, w, lanes)
        composite_bodies(out[b : b + 1], topology, constants, w, lanes)
