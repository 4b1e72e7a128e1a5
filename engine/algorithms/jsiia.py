"""JSIIA: the mass matrix and its Cholesky factor, [Y] (7): q̈ = M⁻¹ (τ − τ_bias).

M is computed from composite bodies, by scans; in [Y] by inverse dynamics of unit accelerations. The factorization takes
n³/3 operations, so this algorithm is for short chains.
"""

from __future__ import annotations

import numpy as np

from engine.algorithms.chain import Chain
from engine.algorithms.inverse import forces, velocities
from engine.blocks import symmetric
from engine.blocks.arrays import blockwise_t, mv, t
from engine.blocks.scan import Arrays, scan
from engine.lie import Array


def mass_matrix(chain: Chain, X: Array) -> Array:
    """M (batch, n, n): Mᵢⱼ = Sᵢᵀ Jᶜᵢ Xᵢ ⋯ Xⱼ₊₁ Sⱼ for j ≤ i, with Jᶜᵢ the composite inertia of the links from i on.

    Source: M. Walker, D. Orin (1982). The product of X between two links is P_i P_j⁻¹, with P from the world to a link.
    """
    # Jᶜᵢ = Jᵢ + Xᵢ₊₁ᵀ Jᶜᵢ₊₁ Xᵢ₊₁
    (felt,) = scan(_join, (X, t(X) @ chain.J @ X), _apply, _first, reverse=True)
    Jc = chain.J + np.concatenate([felt[:, 1:], np.zeros_like(felt[:, :1])], 1)
    # Pᵢ = Xᵢ ⋯ X₀
    (P,) = scan(lambda left, right: (right[0] @ left[0],), (X,))
    # Mᵢⱼ = (Pᵢᵀ Jᶜᵢ Sᵢ)ᵀ (Pⱼ⁻¹ Sⱼ): a wrench of i and a twist of j, both in the world's frame
    wrench = mv(t(P), mv(Jc, chain.S))
    twist = mv(blockwise_t(P), chain.S)
    M = np.tril(wrench @ t(twist))
    return M + t(np.tril(M, -1))


def forward_dynamics(chain: Chain, q: Array, v: Array, tau: Array) -> Array:
    """Return q̈ (batch, n) from q, v and tau (batch, n).

    Raises ArithmeticError if rounding makes M indefinite; on a GPU, which is not waited for, q̈ is NaN instead.
    """
    chain.check(q, v, tau)
    X = chain.X(q)
    # τ_δ = τ − τ_bias, by inverse dynamics with q̈ = 0
    _, c, b = velocities(chain, X, v)
    tau_delta = tau - forces(chain, X, c, b, np.zeros_like(c))
    # M q̈ = τ_δ
    try:
        return symmetric.solve_large(mass_matrix(chain, X), tau_delta[..., None])[..., 0]
    except np.linalg.LinAlgError:
        raise ArithmeticError(
            f"{chain.model.name}: in {X.dtype} the mass matrix of {chain.n} links is not positive definite; use abia"
        ) from None


def _join(left: Arrays, right: Arrays) -> Arrays:
    """Join two rigid runs of links, (X, I): their transform, and the inertia about the link before."""
    (X1, I1), (X2, I2) = left, right
    return X2 @ X1, I1 + t(X1) @ I2 @ X1


def _apply(maps: Arrays, beyond: Arrays) -> Arrays:
    (X, I), (I_beyond,) = maps, beyond
    return (I + t(X) @ I_beyond @ X,)


def _first(maps: Arrays) -> Arrays:
    return (maps[1],)
