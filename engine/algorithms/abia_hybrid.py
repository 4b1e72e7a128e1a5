"""Hybrid ABIA of [Y]: articulated inertias recursively on the CPU, everything else by scans on the device.

[Y] (8) factors the inverse of the mass matrix by the articulated inertias Ĵ of `abia`:

    M⁻¹ = [1 − Sᵀ𝒴Π]ᵀ (SᵀĴS)⁻¹ [1 − Sᵀ𝒴Π]        𝒴 = (1 − Ψᵀ)⁻¹

where Ψ has Ψᵢ = (1 − Sᵢ Uᵢᵀ/Dᵢ) Xᵢ below its diagonal and Π has Xᵢᵀ Uᵢ/Dᵢ above, with U = Ĵ S and D = SᵀU. M⁻¹ τ_δ
takes a bi-diagonal system from the tip, a division, and one from the base.
"""

from __future__ import annotations

import numpy as np

from engine.algorithms.abia import joint, motion, to_parent
from engine.algorithms.chain import Chain
from engine.algorithms.inverse import forces, velocities
from engine.blocks import bidiagonal
from engine.blocks.arrays import dot, mv, t
from engine.device_arrays import to_host
from engine.lie import Array


def forward_dynamics(chain: Chain, q: Array, v: Array, tau: Array) -> Array:
    """Return q̈ (batch, n) from q, v and tau (batch, n). X is copied to the CPU, and Ĵ copied back."""
    chain.check(q, v, tau)
    X = chain.X(q)
    Jhat = np.asarray(articulated_inertias(chain.on_host, to_host(X)), like=X)
    # τ_δ = τ − τ_bias, by inverse dynamics with q̈ = 0
    _, c, b = velocities(chain, X, v)
    tau_delta = tau - forces(chain, X, c, b, np.zeros_like(c))
    return solve(chain, X, Jhat, tau_delta)


def articulated_inertias(chain: Chain, X: Array) -> Array:
    """Return Ĵ (batch, n, 6, 6): the only recursion that is not a bi-diagonal system, since it divides by D."""
    nothing = np.zeros_like(X[:, 0, 0])
    Jhat = [np.broadcast_to(chain.J[-1], X[:, 0].shape)]
    for i in reversed(range(chain.n - 1)):
        through = joint(chain.S[i + 1], Jhat[-1], nothing, nothing[:, 0])
        I, _ = to_parent(through, X[:, i + 1], Jhat[-1], nothing, nothing)
        Jhat.append(chain.J[i] + I)
    return np.stack(Jhat[::-1], 1)


def solve(chain: Chain, X: Array, Jhat: Array, tau_delta: Array) -> Array:
    """Return M⁻¹ τ_δ by [Y] (8)."""
    resting = joint(chain.S, Jhat, np.zeros_like(X[..., 0]), tau_delta)
    Psi, _ = motion(resting, X, np.zeros_like(X[..., 0]))
    gain = resting.U / resting.D[..., None]
    # z = 𝒴 Π τ_δ: each link's bias from the torques of the links beyond
    push = mv(t(X), gain * tau_delta[..., None])
    z = bidiagonal.solve_transposed(Psi, np.concatenate([push[:, 1:], np.zeros_like(push[:, :1])], 1))
    # ν = [1 − Sᵀ𝒴Π] τ_δ,  then division by SᵀĴS
    nu = (tau_delta - chain.onto(z)) / resting.D
    # [1 − Sᵀ𝒴Π]ᵀ: the accelerations a = Ψ a_before + S ν, and q̈ = ν − (U/D)ᵀ X a_before
    a = bidiagonal.solve(Psi, chain.along(nu))
    before = np.concatenate([np.zeros_like(a[:, :1]), a[:, :-1]], 1)
    return nu - dot(gain, mv(X, before))
