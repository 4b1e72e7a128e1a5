"""JSIIA: forward dynamics by the joint-space inertia matrix ([Y] (6), (7)), any tree, O(n³).

M by composite bodies (Featherstone 2008, table 6.2), bias by inverse dynamics, Cholesky. It is exact for models with
mimic joints: with ``q = C y + q₀`` it solves ``CᵀMC ÿ = Cᵀ(τ − bias)``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import Function, kernel, specialise
from engine.cpu.rigid_body import crba, tree_passes
from engine.cpu.rigid_body import workspace as slot
from engine.cpu.rigid_body.cholesky import cholesky, substitute
from engine.cpu.rigid_body.rnea import forces
from engine.cpu.rigid_body.wrenches import take_from_bias
from engine.cpu.runtime.arrays import fill
from engine.cpu.runtime.cores import check_threads
from engine.kernels.coordinates import expand
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.model import Model
from engine.model.layout import pack, pack_coupling


class Dense(NamedTuple):
    """The workspace of JSIIA: the tree's coordinates (1, tree_nq) and velocities, and matrices."""

    tree_q: NDArray[np.floating]
    tree_v: NDArray[np.floating]
    M_tree: NDArray[np.floating]
    M: NDArray[np.floating]
    factor: NDArray[np.floating]


class ForwardWorkspace(NamedTuple):
    """What forward dynamics works in: nv zeros, for no held joints and no added inertia, and the reactions (nv,)."""

    dense: Dense
    nothing: NDArray[np.floating]
    reaction: NDArray[np.floating]
    nq: int


def dense(model: Model, dtype: str = "float64") -> Dense:
    """Return the workspace of JSIIA for a model."""
    n, m = model.tree_nv, model.nv
    shapes = ((1, model.tree_nq), (1, n), (1, n, n), (m, m), (m, m))
    return Dense(*(np.zeros(shape, dtype) for shape in shapes))


@kernel
def reduce_matrix(M, index, factor, out):
    """CᵀMC, (n, n) -> (m, m); C is given by each tree coordinate's index and factor."""
    fill(out, 0.0)
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            out[index[i], index[j]] += factor[i] * factor[j] * M[i, j]


@kernel
def bias(out, topology, constants, w, lanes, gravity, wrenches):
    """Compute the tree's bias force into `out` (1, tree_nv) at the poses and velocities in w, L = 1.

    Wrenches on the bodies, (n, 6) or an empty tuple, are subtracted.
    """
    tree_passes.bias_forces(topology, constants, w, lanes)
    if len(wrenches) > 0:
        take_from_bias(wrenches, w, lanes)
    forces(topology, constants, w, lanes, gravity, False)
    tree_passes.gather_v(out, 0, topology, w, lanes, slot.OF_TAU)


@kernel
def held_system(tau, added_inertia, held, target_acceleration, qdd, reaction, coupling, dense):
    """Set up the system for `cholesky` and `solve` from the tree's matrix and its bias, in `dense.tree_v`.

    ``added_inertia`` is added to the diagonal of M; where `held` is not 0 the acceleration is
    `target_acceleration`, and `dense.factor`
    gets the identity's row and column. `qdd` (nv,) becomes the right-hand side, `reaction` bias − τ.
    """
    n, index, factor = qdd.size, coupling.v_index, coupling.v_factor
    M, L, bias_force = dense.M, dense.factor, dense.tree_v[0]
    reduce_matrix(dense.M_tree[0], index, factor, M)
    for i in range(n):
        M[i, i] += added_inertia[i]
        reaction[i] = -tau[i]
    for i in range(index.size):
        reaction[index[i]] += factor[i] * bias_force[i]
    for i in range(n):
        qdd[i] = target_acceleration[i] if held[i] != 0.0 else -reaction[i]
        for j in range(n):
            both = held[i] == 0.0 and held[j] == 0.0
            L[i, j] = M[i, j] if both else (1.0 if i == j else 0.0)
            if held[j] != 0.0 and held[i] == 0.0:
                qdd[i] -= M[i, j] * target_acceleration[j]


@kernel
def solve(L, M, qdd, reaction):
    """Compute q̈ (nv,) and the reactions of held joints from the factor L."""
    n = qdd.size
    substitute(L, qdd)
    for i in range(n):
        for j in range(n):
            reaction[i] += M[i, j] * qdd[j]


@kernel
def forward(coupling, topology, constants, w, lanes, work, q, v, tau, out):
    """Compute q̈ into `out` (batch, nv) from q (batch, nq), v and τ (batch, nv); return a `status`. L = 1."""
    dense, nothing, reaction, nq = work
    batch, n, finite = q.shape[0], reaction.size, True
    if not (v.shape == (batch, n) and tau.shape == (batch, n) and out.shape == (batch, n) and q.shape[1] == nq):
        return WRONG_SHAPE
    full_q, full_v = dense.tree_q, dense.tree_v
    for b in range(q.shape[0]):
        expand(q[b], coupling.q_index, coupling.q_factor, coupling.q_offset, full_q[0])
        expand(v[b], coupling.v_index, coupling.v_factor, coupling.v_offset, full_v[0])
        tree_passes.scatter_q(full_q, 0, topology, constants, w, lanes)
        tree_passes.scatter_v(full_v, 0, topology, w, lanes, slot.OF_QD)
        tree_passes.poses(topology, constants, w, lanes)
        tree_passes.velocities(topology, w, lanes)
        bias(full_v, topology, constants, w, lanes, constants[topology.shape[0]], ())
        crba.composite_bodies(dense.M_tree, topology, constants, w, lanes)
        held_system(tau[b], nothing, nothing, nothing, out[b], reaction, coupling, dense)
        cholesky(dense.factor)
        solve(dense.factor, dense.M, out[b], reaction)
        for j in range(n):
            finite &= np.isfinite(out[b, j])
    return FITS if finite else NOT_FINITE


@kernel
def forward_one(coupling, topology, constants, w, work, q, v, tau, out):
    """`forward` of one robot, with vectors as its state."""
    one_q, one_v, one_tau, one = tree_passes.as_batch(q, v, tau, out)
    return forward(coupling, topology, constants, w, slot.ONE, work, one_q, one_v, one_tau, one)


class Jsiia:
    """Forward dynamics by JSIIA, see `cpu.dynamics.Kernels`, on the caller's thread for any `threads`."""

    def __init__(self, model: Model, dtype: str, threads: int | None):
        check_threads(threads)
        self._dtype = np.dtype(dtype)
        self._model = (
            pack_coupling(model, dtype),
            *pack(model, dtype),
            slot.workspace(len(model.parent), slot.ONE, dtype),
        )
        nothing, reaction = (np.zeros(model.nv, dtype) for _ in range(2))
        self._room = ForwardWorkspace(dense(model, dtype), nothing, reaction, model.nq)

    @cached_property
    def one(self) -> Callable[..., Any]:
        """Takes vectors, q (nq,) and the others (nv,)."""
        return self._specialised(forward_one, 1, *self._model, self._room)

    @cached_property
    def many(self) -> Callable[..., Any]:
        """Takes matrices, q (batch, nq) and the others (batch, nv)."""
        return self._specialised(forward, 2, *self._model, slot.ONE, self._room)

    def _specialised(self, function: Function, axes: int, *fixed: Any) -> Callable[..., Any]:
        example = (np.zeros((1,) * axes, self._dtype),) * 4
        return partial(specialise(function, *fixed, *example), *fixed)
