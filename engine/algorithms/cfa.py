"""CFA: the constraint force algorithm ([Y] section III; Fijany, Sharf, D'Eleuterio 1995), with iterative refinement.

The joint forces are computed first, and from them the accelerations. In [Y] (2a)–(2d) without the bias, which is
[Y] (9), Wᵀ eliminates the accelerations, since a joint moves along S only and WᵀS = 0:

    Wᵀ (I − Γ) J⁻¹ (I − Γ)ᵀ F = Wᵀ S q̈ = 0        F = S τ_δ + W F_c        [Y] (11), (14)

This is a block tri-diagonal system for the constraint forces F_c, without a recursion. Its condition number, however,
grows with the fourth power of the length if the chain resists bending (parallel axes), like a beam's: of sixteen digits
five are left at 1000 such links, and none at 4096. Refinement against inverse dynamics, which is well conditioned,
recovers the digits.
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
"""The residual ‖ID(q̈) − τ‖ / ‖τ_δ‖ at which refinement ends, by number type: that of the other algorithms."""


class Refined(NamedTuple):
    """Accelerations (batch, n), their number of refinement steps, and the remaining residuals (batch,)."""

    qdd: Array
    steps: int
    residual: Array


def forward_dynamics(chain: Chain, q: Array, v: Array, tau: Array, refinements: int = 32) -> Array:
    """Return q̈ (batch, n) from q, v and tau (batch, n); see `refined`, which also returns the number of steps."""
    return refined(chain, q, v, tau, refinements).qdd


def refined(chain: Chain, q: Array, v: Array, tau: Array, refinements: int = 32) -> Refined:
    """Return q̈ after at most `refinements` steps; with none this is the algorithm of [Y].

    Every step solves for the missing torques with the same solver, and uses the combination of all corrections that
    minimises the residual: the generalized conjugate residual method (S. Eisenstat, H. Elman, M. Schultz 1983). Merely
    adding corrections diverges on chains that resist bending. The few directions in which the solver is wrong are found
    one by one.

    A robot is refined until its residual is below `TOLERANCE` or no longer decreases, independently of the batch. One
    number per step is read from the device: whether any robot continues. Raises ValueError for a link with singular
    inertia.
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
    """Accelerations d and their torques w = M d, with the w of each robot orthonormal."""

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
        """Return the accelerations Σ αₖ dₖ that minimise the missing torques."""
        result = np.zeros_like(missing)
        for d, w in zip(self.d, self.w, strict=True):
            result = result + dot(w, missing)[:, None] * d
        return result


def _norm(x: Array) -> Array:
    """‖x‖ (batch,), at least the smallest positive number, since it is a divisor; computed without overflow."""
    least = np.finfo(str(x.dtype)).tiny
    largest = np.maximum(np.max(np.abs(x), -1), least)
    unit = x / largest[:, None]
    size: Array = np.maximum(largest * np.sqrt(dot(unit, unit)), least)
    return size


class System(NamedTuple):
    """The chain's constraint system at one configuration, eliminated once for many right-hand sides.

    `diagonal` and `upper` are the blocks of H = (I − Γ) J⁻¹ (I − Γ)ᵀ, which maps joint forces to S q̈ ([Y] (10)).
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
        # A = Wᵀ H W, [Y] (15)
        D, U = Wt @ diagonal @ W, Wt[:-1] @ upper @ W[1:]
        stage("blocks", range(chain.n), D, U)
        return cls(chain, diagonal, upper, tridiagonal.eliminate(D, U))

    def H(self, F: Array) -> Array:
        """Return (I − Γ) J⁻¹ (I − Γ)ᵀ F: (batch, n, 6) -> (batch, n, 6)."""
        result = mv(self.diagonal, F)
        result[:, :-1] += mv(self.upper, F[:, 1:])
        result[:, 1:] += mv(t(self.upper), F[:, :-1])
        return result

    def solve(self, tau_delta: Array) -> Array:
        """Return q̈ = M⁻¹ τ_δ, (batch, n) -> (batch, n)."""
        active = self.chain.along(tau_delta)
        # A F_c = −B τ_δ with B = Wᵀ H S, [Y] (15)
        R = -mv(t(self.chain.W), self.H(active))
        stage("right-hand side", range(self.chain.n), R)
        F_c = tridiagonal.substitute(self.elimination, R)
        # q̈ = Sᵀ H (S τ_δ + W F_c), [Y] (13), (14)
        qdd = self.chain.onto(self.H(active + mv(self.chain.W, F_c)))
        stage("accelerate", range(self.chain.n), qdd)
        return qdd
