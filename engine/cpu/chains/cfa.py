"""CFA: forward dynamics by the constraint forces in the joints, for serial chains on a fixed base, O(n), refined.

The algorithm of `engine.algorithms.cfa` ([Y] section III; Fijany, Sharf, D'Eleuterio 1995), plus inertias E on the
diagonal of the mass matrix and held joints with prescribed accelerations. It starts at the prescribed accelerations
and zeros; the constraint system turns the residual torques of the other joints into a correction, repeatedly, until
inverse dynamics leaves almost none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.algorithms.cfa import TOLERANCE
from engine.compile import Function, inline, kernel, specialise
from engine.cpu.chains import constraint_system
from engine.cpu.rigid_body import jsiia, tree_passes
from engine.cpu.rigid_body import workspace as slot
from engine.cpu.runtime.arrays import copy_row
from engine.cpu.runtime.cores import check_threads
from engine.kernels.robot import KIND
from engine.kernels.spatial import add, full, load3, load6, load9, momentum, store3, transform_force, transform_motion
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.model import REVOLUTE, Model, layout
from engine.model.layout import pack

REFINEMENTS = 32
BIAS, TAU_DELTA, MISSING, TRIAL, LEFT, VECTORS = range(6)  # rows of `CfaWorkspace.vectors`


class CfaWorkspace(NamedTuple):
    """The workspace of CFA.

    ``blocks`` are the `constraint_system`'s; ``corrections`` (REFINEMENTS + 1, 2, n) accelerations d and their torques
    w = (M + E) d, with orthonormal w; ``vectors`` (VECTORS, n). ``tolerance`` ends the refinement.
    """

    blocks: NDArray[np.floating]
    corrections: NDArray[np.floating]
    vectors: NDArray[np.floating]
    tolerance: float


def workspace(model: Model, dtype: str = "float64") -> CfaWorkspace:
    """Return the workspace of CFA for a model."""
    n = len(model.parent)
    blocks, vectors = np.zeros((n, constraint_system.WIDTH), dtype), np.zeros((VECTORS, n), dtype)
    return CfaWorkspace(blocks, np.zeros((REFINEMENTS + 1, 2, n), dtype), vectors, TOLERANCE[dtype])


@kernel
def inertia_times(x, added_inertia, out, topology, constants, w):
    """Compute (M + E) x into `out`, all (n,), by inverse dynamics at rest without gravity, at the poses in w."""
    n = topology.shape[0]
    for i in range(n):
        row, c = w[i], constants[i]
        o, v = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if i > 0:
            R, p = load9(row, slot.R), load3(row, slot.P)
            o, v = transform_motion(R, p, load3(w[i - 1], slot.ACC), load3(w[i - 1], slot.ACC + 3))
        store3(row, o, slot.ACC)
        store3(row, v, slot.ACC + 3)
        row[slot.ACC + (2 if topology[i, KIND] == REVOLUTE else 5)] += x[i]
        inertia = full(load6(c, layout.INERTIA))
        o, v = load3(row, slot.ACC), load3(row, slot.ACC + 3)
        moment, force = momentum(c[layout.MASS], load3(c, layout.FIRST_MOMENT), inertia, o, v)
        store3(row, moment, slot.BIAS)
        store3(row, force, slot.BIAS + 3)
    for i in range(n - 1, -1, -1):
        row = w[i]
        out[i] = row[slot.BIAS + (2 if topology[i, KIND] == REVOLUTE else 5)] + added_inertia[i] * x[i]
        if i > 0:
            below, R, p = w[i - 1], load9(row, slot.R), load3(row, slot.P)
            moment, force = transform_force(R, p, load3(row, slot.BIAS), load3(row, slot.BIAS + 3))
            store3(below, add(load3(below, slot.BIAS), moment), slot.BIAS)
            store3(below, add(load3(below, slot.BIAS + 3), force), slot.BIAS + 3)


@kernel
def _norm(x, held):
    """‖x‖ over the joints that are not held, without overflow."""
    largest, total = 0.0, 0.0
    for j in range(x.size):
        if held[j] == 0.0:
            largest = max(largest, abs(x[j]))
    if largest == 0.0:
        largest = 1.0  # `max` would lose a NaN
    for j in range(x.size):
        if held[j] == 0.0:
            unit = x[j] / largest
            total += unit * unit
    return largest * np.sqrt(total)


@inline
def _dot(x, y):
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@inline
def _add_times(x, factor, out):
    """out += factor · x."""
    for j in range(x.size):
        out[j] += factor * x[j]


@kernel
def _take_on(corrections, count, held):
    """Orthogonalise correction number `count` against those before, and normalise its torques."""
    d, w = corrections[count, 0], corrections[count, 1]
    for j in range(w.size):
        if held[j] != 0.0:
            w[j] = 0.0
    for k in range(count):
        share = -_dot(corrections[k, 1], w)
        _add_times(corrections[k, 0], share, d)
        _add_times(corrections[k, 1], share, w)
    size = _norm(w, held)
    for j in range(w.size):
        d[j] /= size
        w[j] /= size


@kernel
def _refine(added_inertia, held, qdd, work, topology, constants, w):
    """Refine q̈ (n,), prescribed or 0 at first, until the residual of TAU_DELTA, in MISSING, is small.

    Each step takes the constraint system's correction for the residual, and the combination of all corrections with the
    least residual: the generalized conjugate residual method, see `engine.algorithms.cfa.refined`.
    """
    blocks, corrections, vectors, tolerance = work
    tau_delta, missing, trial, left = vectors[TAU_DELTA], vectors[MISSING], vectors[TRIAL], vectors[LEFT]
    size, residual = _norm(missing, held), 1.0
    if size == 0.0:
        return
    for step in range(REFINEMENTS + 1):
        d, torques = corrections[step, 0], corrections[step, 1]
        constraint_system.solve(blocks, topology, w, held, missing, d)
        inertia_times(d, added_inertia, torques, topology, constants, w)
        copy_row(qdd, trial)
        if step == 0:
            _add_times(d, 1.0, trial)
            copy_row(missing, left)
            _add_times(torques, -1.0, left)
        else:
            _take_on(corrections, step, held)
            for k in range(step + 1):
                _add_times(corrections[k, 0], _dot(corrections[k, 1], missing), trial)
            inertia_times(trial, added_inertia, left, topology, constants, w)
            for j in range(left.size):
                left[j] = tau_delta[j] - left[j]
        now = _norm(left, held) / size
        if step > 0 and not now < residual:
            return
        copy_row(trial, qdd)
        copy_row(left, missing)
        residual = now
        if not now > tolerance:
            return
        if step == 0:
            _take_on(corrections, step, held)


@kernel
def kinematics(q, v, topology, constants, w):
    """Compute poses and velocities of the robot at q and v (1, n)."""
    tree_passes.scatter_q(q, 0, topology, constants, w, slot.ONE)
    tree_passes.scatter_v(v, 0, topology, w, slot.ONE, slot.OF_QD)
    tree_passes.poses(topology, constants, w, slot.ONE)
    tree_passes.velocities(topology, w, slot.ONE)


@kernel
def eliminate(tau, added_inertia, held, target_acceleration, qdd, work, topology, constants, w):
    """Eliminate the constraint system; its right-hand side and q̈ (n,) are then as `refine` takes them.

    ``added_inertia`` is E's diagonal; where `held` is not 0 the acceleration is `target_acceleration`.
    """
    vectors, prescribed = work.vectors, False
    tau_delta, missing = vectors[TAU_DELTA], vectors[MISSING]
    for j in range(qdd.size):
        tau_delta[j] = tau[j] - vectors[BIAS, j]
        missing[j] = tau_delta[j]
        qdd[j] = target_acceleration[j] if held[j] != 0.0 else 0.0
        prescribed |= qdd[j] != 0.0
    if prescribed:
        inertia_times(qdd, added_inertia, vectors[LEFT], topology, constants, w)
        _add_times(vectors[LEFT], -1.0, missing)
    constraint_system.eliminate(work.blocks, added_inertia, held)


@kernel
def refine(added_inertia, held, qdd, reaction, work, topology, constants, w):
    """Compute q̈ (n,) and the reactions of held joints."""
    _refine(added_inertia, held, qdd, work, topology, constants, w)
    for j in range(qdd.size):
        reaction[j] = -work.vectors[MISSING, j]


@kernel
def forward(topology, constants, w, work, nothing, reaction, q, v, tau, out):
    """Compute q̈ into `out` (batch, n) from q, v and τ (batch, n); return a `status`.

    `nothing` are n zeros, and `reaction` is a work array (n,).
    """
    if not tree_passes.shapes_fit(topology, q, v, tau, out):
        return WRONG_SHAPE
    finite = True
    for b in range(q.shape[0]):
        kinematics(q[b : b + 1], v[b : b + 1], topology, constants, w)
        jsiia.bias(work.vectors[BIAS : BIAS + 1], topology, constants, w, slot.ONE, constants[topology.shape[0]], ())
        constraint_system.assemble(work.blocks, topology, constants, w)
        eliminate(tau[b], nothing, nothing, nothing, out[b], work, topology, constants, w)
        refine(nothing, nothing, out[b], reaction, work, topology, constants, w)
        for j in range(out.shape[1]):
            finite &= np.isfinite(out[b, j])
    return FITS if finite else NOT_FINITE


@kernel
def forward_one(topology, constants, w, work, nothing, reaction, q, v, tau, out):
    """`forward` of one robot, with vectors as its state."""
    one_q, one_v, one_tau, one = tree_passes.as_batch(q, v, tau, out)
    return forward(topology, constants, w, work, nothing, reaction, one_q, one_v, one_tau, one)


class Cfa:
    """Forward dynamics by CFA, see `cpu.dynamics.Kernels`, on the caller's thread for any `threads`."""

    def __init__(self, model: Model, dtype: str, threads: int | None):
        check_threads(threads)
        n, self._dtype = len(model.parent), np.dtype(dtype)
        self._fixed = (
            *pack(model, dtype), slot.workspace(n, slot.ONE, dtype), workspace(model, dtype), np.zeros(n, dtype),
            np.zeros(n, dtype),
        )  # fmt: skip

    @cached_property
    def one(self) -> Callable[..., Any]:
        """Takes vectors, (n,) each."""
        return self._specialised(forward_one, 1)

    @cached_property
    def many(self) -> Callable[..., Any]:
        """Takes matrices, (batch, n) each."""
        return self._specialised(forward, 2)

    def _specialised(self, function: Function, axes: int) -> Callable[..., Any]:
        example = (np.zeros((1,) * axes, self._dtype),) * 4
        return partial(specialise(function, *self._fixed, *example), *self._fixed)
