"""CFA: the constraint force algorithm ([Y] section III; Fijany, Sharf, D'Eleuterio 1995), refined until it is accurate.

The forces in the joints come first, the accelerations from them. In (2a)–(2d) without the bias, which is [Y] (9),
Wᵀ takes the accelerations away, since a joint moves along S alone and WᵀS = 0:

    Wᵀ (I − Γ) J⁻¹ (I − Γ)ᵀ F = Wᵀ S q̈ = 0        F = S τ_δ + W F_c        (11), (14)

which is a block tri-diagonal system for the constraint forces F_c: no recursion is left. The price is its condition,
which grows with the fourth power of the length where the chain resists bending (parallel axes), as a beam's does: of
sixteen digits five are left at 1000 such links, and none at 4096. The digits come back by refinement against inverse
dynamics, which knows no such condition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.algorithms.chain import Chain
from engine.algorithms.inverse import forces, mass_times, velocities
from engine.blocks import tridiagonal
from engine.blocks.arrays import dot, mv, t
from engine.blocks.stages import stage
from engine.lie import Array

TOLERANCE = {"float64": 1e-13, "float32": 1e-6}
"""The residual ‖ID(q̈) − τ‖ / ‖τ_δ‖ that ends the refinement, by number type: what the other algorithms leave."""


class Refined(NamedTuple):
    """Accelerations (batch, n), how many steps of refinement they took, and the residuals that are left (batch,)."""

    qdd: Array
    steps: int
    residual: Array


def forward_dynamics(chain: Chain, q: Array, v: Array, tau: Array, refinements: int = 32) -> Array:
    """q̈ (batch, n) from q, v and tau (batch, n). See `refined`, which also tells the steps that it took."""
    return refined(chain, q, v, tau, refinements).qdd


def refined(chain: Chain, q: Array, v: Array, tau: Array, refinements: int = 32) -> Refined:
    """q̈ after at most so many `refinements`; with none it is the algorithm as [Y] has it.

    Every step hands the torques that are missing to the same solver and takes, of all the corrections it has made so
    far, the combination that leaves the least: the generalized conjugate residual method (S. Eisenstat, H. Elman,
    M. Schultz 1983), where adding the corrections alone diverges on chains that resist bending. The few directions in
    which the solver is wrong are then found one by one.

    A robot is refined until its residual is below `TOLERANCE` or falls no more, whatever the others in the batch need.
    One number a step is read from the device: whether any robot goes on. ValueError for a link whose inertia has no
    inverse.
    """
    chain.check(q, v, tau)
    X = chain.X(q)
    _, c, b = velocities(chain, X, v)
    # τ_δ = τ − τ_bias
    tau_delta = tau - forces(chain, X, c, b, np.zeros_like(c))
    system = System.of(chain, X)
    qdd = system.solve(tau_delta)
    missing = tau - forces(chain, X, c, b, chain.along(qdd))
    corrections = Corrections([], [])
    corrections.add(qdd, tau_delta - missing)
    residual, tolerance = _norm(missing) / _norm(tau_delta), TOLERANCE[str(q.dtype)]
    unfinished, steps = residual > tolerance, 0
    while steps < refinements and bool(np.any(unfinished)):
        correction = system.solve(missing)
        corrections.add(correction, mass_times(chain, X, correction))
        trial = qdd + corrections.best(missing)
        left = tau - forces(chain, X, c, b, chain.along(trial))
        now = _norm(left) / _norm(tau_delta)
        better = unfinished & (now < residual)
        qdd, missing = np.where(better[:, None], trial, qdd), np.where(better[:, None], left, missing)
        residual = np.where(better, now, residual)
        unfinished = better & (now > tolerance)
        steps += 1
    return Refined(qdd, steps, residual)


class Corrections(NamedTuple):
    """Accelerations d and the torques w = M d that they take, the w orthonormal for each robot."""

    d: list[Array]
    w: list[Array]

    def add(self, d: Array, w: Array) -> None:
        for d_before, w_before in zip(self.d, self.w, strict=True):
            share = dot(w_before, w)[:, None]
            d, w = d - share * d_before, w - share * w_before
        size = _norm(w)[:, None]
        self.d.append(d / size)
        self.w.append(w / size)

    def best(self, missing: Array) -> Array:
        """The accelerations Σ αₖ dₖ that leave least of the missing torques."""
        answer = np.zeros_like(missing)
        for d, w in zip(self.d, self.w, strict=True):
            answer = answer + dot(w, missing)[:, None] * d
        return answer


def _norm(x: Array) -> Array:
    """‖x‖ (batch,), or the least number there is, so that it can divide; no square overflows on the way."""
    least = np.finfo(str(x.dtype)).tiny
    largest = np.maximum(np.max(np.abs(x), -1), least)
    unit = x / largest[:, None]
    size: Array = np.maximum(largest * np.sqrt(dot(unit, unit)), least)
    return size


class System(NamedTuple):
    """The chain's constraint system at one configuration, eliminated once for any number of right-hand sides.

    `diagonal` and `upper` are the blocks of H = (I − Γ) J⁻¹ (I − Γ)ᵀ, which takes joint forces to S q̈ ([Y] (10)).
    """

    chain: Chain
    diagonal: Array
    upper: Array
    elimination: tridiagonal.Elimination

    @classmethod
    def of(cls, chain: Chain, X: Array) -> System:
        J_inv, W, Wt = chain.J_inv, chain.W, t(chain.W)
        # H_ii = Jᵢ⁻¹ + Xᵢ Jᵢ₋₁⁻¹ Xᵢᵀ, without the second term at the base;  H_{i,i+1} = −Jᵢ⁻¹ Xᵢ₊₁ᵀ
        upper = -(J_inv[:-1] @ t(X[:, 1:]))
        diagonal = np.broadcast_to(J_inv, X.shape).copy()
        diagonal[:, 1:] -= X[:, 1:] @ upper
        # A = Wᵀ H W, (15)
        D, U = Wt @ diagonal @ W, Wt[:-1] @ upper @ W[1:]
        stage("blocks", range(chain.n), D, U)
        return cls(chain, diagonal, upper, tridiagonal.eliminate(D, U))

    def H(self, F: Array) -> Array:
        """(I − Γ) J⁻¹ (I − Γ)ᵀ F: (batch, n, 6) -> (batch, n, 6)."""
        answer = mv(self.diagonal, F)
        answer[:, :-1] += mv(self.upper, F[:, 1:])
        answer[:, 1:] += mv(t(self.upper), F[:, :-1])
        return answer

    def solve(self, tau_delta: Array) -> Array:
        """q̈ = M⁻¹ τ_δ, (batch, n) -> (batch, n)."""
        active = self.chain.along(tau_delta)
        # A F_c = −B τ_δ with B = Wᵀ H S, (15)
        R = -mv(t(self.chain.W), self.H(active))
        stage("right-hand side", range(self.chain.n), R)
        F_c = tridiagonal.substitute(self.elimination, R)
        # q̈ = Sᵀ H (S τ_δ + W F_c), (13), (14)
        qdd = self.chain.onto(self.H(active + mv(self.chain.W, F_c)))
        stage("accelerate", range(self.chain.n), qdd)
        return qdd
