"""ABIA: forward dynamics by articulated-body inertias, sequentially over the links (Featherstone 1983).

Seen through its joint, the chain from link i to the tip acts as one body, Fᵢ = Iᵢ V̇ᵢ + pᵢ, with articulated inertia I
and bias p. The joint yields only along S, where its force is τ; the parent link therefore feels less of that inertia.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.algorithms.chain import Chain
from engine.algorithms.inverse import velocities
from engine.blocks.arrays import dot, mv, outer, symmetrised, t
from engine.blocks.scan import loop
from engine.blocks.stages import stage
from engine.lie import Array


class ArticulatedJoint(NamedTuple):
    """A joint and its articulated body: axis S, U = I S, D = SᵀU and u = τ − Sᵀp; (…, 6), (…, 6), (…), (…)."""

    S: Array
    U: Array
    D: Array
    u: Array


def forward_dynamics(chain: Chain, q: Array, v: Array, tau: Array) -> Array:
    """Return q̈ (batch, n) from q, v and tau (batch, n), by three passes over the links."""
    chain.check(q, v, tau)
    X = chain.X(q)
    _, c, b = velocities(chain, X, v, sweep=loop)
    I, p = chain.J[-1], b[:, -1]
    joints = [joint(chain.S[-1], I, p, tau[:, -1])]
    stage("articulated inertia", range(chain.n - 1, chain.n), np.broadcast_to(I, (*p.shape, 6)), p)
    for i in reversed(range(chain.n - 1)):
        I, p = to_parent(joints[-1], X[:, i + 1], I, p, c[:, i + 1])
        I, p = chain.J[i] + I, b[:, i] + p
        joints.append(joint(chain.S[i], I, p, tau[:, i]))
        stage("articulated inertia", range(i, i + 1), I, p)
    a, qdd = chain.a0, []
    for i, here in enumerate(reversed(joints)):
        acceleration, a = moved(here, mv(X[:, i], a) + c[:, i])
        qdd.append(acceleration)
        stage("acceleration", range(i, i + 1), a)
    return np.stack(qdd, -1)


def joint(S: Array, I: Array, p: Array, tau: Array) -> ArticulatedJoint:
    """Return the joint of a link whose subchain has the articulated inertia I and bias p."""
    U = mv(I, S)
    return ArticulatedJoint(S, U, dot(S, U), tau - dot(S, p))


def to_parent(joint: ArticulatedJoint, X: Array, I: Array, p: Array, c: Array) -> tuple[Array, Array]:
    """Return the inertia and the bias that the parent link feels through the joint, in the parent's frame."""
    _, U, D, u = joint
    # I' = Xᵀ (I − U Uᵀ/D) X
    Ia = I - outer(U, U / D[..., None])
    # p' = Xᵀ (p + (I − U Uᵀ/D) c + U u/D)
    pa = p + mv(Ia, c) + U * (u / D)[..., None]
    return symmetrised(t(X) @ Ia @ X), mv(t(X), pa)


def moved(joint: ArticulatedJoint, a: Array) -> tuple[Array, Array]:
    """Return q̈ and the link's acceleration; a = X a_before + c is the acceleration with the joint locked."""
    S, U, D, u = joint
    # q̈ = (u − Uᵀ a)/D,  a + S q̈
    qdd = (u - dot(U, a)) / D
    return qdd, a + S * qdd[..., None]


def motion(joint: ArticulatedJoint, X: Array, c: Array) -> tuple[Array, Array]:
    """Return `moved` as an affine map of the parent's acceleration, a = A a_before + β: (…, 6, 6) and (…, 6)."""
    S, U, D, u = joint
    # A = (1 − S Uᵀ/D) X,  β = (1 − S Uᵀ/D) c + S u/D
    return X - outer(S, mv(t(X), U) / D[..., None]), c + S * ((u - dot(U, c)) / D)[..., None]
