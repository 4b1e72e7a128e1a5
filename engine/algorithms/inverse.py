"""Inverse dynamics by three bi-diagonal systems, [Y] (2a)–(2d): 6⌈log₂ n⌉ parallel steps.

(I − Γ) V = S q̇        (I − Γ) V̇ = S q̈ + c        (I − Γ)ᵀ F = J V̇ − ad_Vᵀ J V        τ = SᵀF
"""

from __future__ import annotations

from collections.abc import Callable

from engine import lie
from engine.algorithms.chain import Chain
from engine.blocks import bidiagonal
from engine.blocks.arrays import mv, t
from engine.blocks.scan import Arrays, scan
from engine.blocks.stages import stage
from engine.lie import Array


def inverse_dynamics(chain: Chain, q: Array, v: Array, a: Array) -> Array:
    """Return the generalized forces τ for the accelerations q̈ = a, all (batch, n); N m or N."""
    chain.check(q, v, a)
    X = chain.X(q)
    _, c, b = velocities(chain, X, v)
    return forces(chain, X, c, b, chain.along(a))


def velocities(chain: Chain, X: Array, v: Array, sweep: Callable[..., Arrays] = scan) -> tuple[Array, Array, Array]:
    """Return the links' twists V and the velocity-dependent accelerations c and forces b; (batch, n, 6) each."""
    Sv = chain.along(v)
    # [Y] (2a)  (I − Γ) V = S q̇
    V = bidiagonal.solve(X, Sv, sweep)
    stage("velocities", range(chain.n), V)
    # [Y] (2b)'s last term, Coriolis and centrifugal
    c = mv(lie.ad(V), Sv)
    # [Y] (2c)'s last term, gyroscopic
    b = -mv(t(lie.ad(V)), mv(chain.J, V))
    stage("bias", range(chain.n), c, b)
    return V, c, b


def forces(chain: Chain, X: Array, c: Array, b: Array, Sa: Array) -> Array:
    """Return τ (batch, n) for the accelerations S q̈, given the velocity-dependent terms."""
    # [Y] (2b)  (I − Γ) V̇ = S q̈ + c, with the base's acceleration in the first row
    drive = Sa + c
    drive[:, 0] += mv(X[:, 0], chain.a0)
    A = bidiagonal.solve(X, drive)
    stage("accelerations", range(chain.n), A)
    # [Y] (2c)  (I − Γ)ᵀ F = J V̇ + b
    F = bidiagonal.solve_transposed(X, mv(chain.J, A) + b)
    stage("forces", range(chain.n), F)
    # [Y] (2d)  τ = SᵀF
    tau = chain.onto(F)
    stage("torques", range(chain.n), tau)
    return tau


def mass_times(chain: Chain, X: Array, a: Array) -> Array:
    """Return M q̈ (batch, n) for q̈ = a: inverse dynamics at rest without gravity, M = Sᵀ (I − Γ)⁻ᵀ J (I − Γ)⁻¹ S."""
    A = bidiagonal.solve(X, chain.along(a))
    return chain.onto(bidiagonal.solve_transposed(X, mv(chain.J, A)))
