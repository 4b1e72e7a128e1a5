"""The algebra of the second-order cone x₀ ≥ |x₁,₂| (Alizadeh and Goldfarb 2003), and the friction cone's projection."""

from __future__ import annotations

import numpy as np

from engine.compile import inline

INFINITE = 1e30
"""An unbounded step length."""


@inline
def jordan(x, y):
    """The Jordan product x ∘ y."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2], x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2]


@inline
def divided(y, z):
    """Solve y ∘ x = z for x, with y inside the cone."""
    t = np.sqrt(y[1] * y[1] + y[2] * y[2])
    x0 = (y[0] * z[0] - y[1] * z[1] - y[2] * z[2]) / ((y[0] - t) * (y[0] + t))
    return x0, (z[1] - x0 * y[1]) / y[0], (z[2] - x0 * y[2]) / y[0]


@inline
def central_pair(z, nu):
    """x and y inside the cone with x − y = z and x ∘ y = ν e; as ν goes to 0, the projections of z and −z on it."""
    t = np.sqrt(z[1] * z[1] + z[2] * z[2])
    a, b = np.sqrt((z[0] + t) * (z[0] + t) + 4.0 * nu), np.sqrt((z[0] - t) * (z[0] - t) + 4.0 * nu)
    c, s = (z[1] / t, z[2] / t) if t > 0.0 else (1.0, 0.0)
    mean, half = 0.25 * (a + b), 0.25 * (a - b)
    along, against = half + 0.5 * t, half - 0.5 * t
    return (mean + 0.5 * z[0], c * along, s * along), (mean - 0.5 * z[0], c * against, s * against)


@inline
def to_boundary(x, d):
    """The largest a with x + a d in the cone x₀ ≥ |x₁,₂|."""
    a, b = d[0] * d[0] - d[1] * d[1] - d[2] * d[2], x[0] * d[0] - x[1] * d[1] - x[2] * d[2]
    c = max(x[0] * x[0] - x[1] * x[1] - x[2] * x[2], 0.0)
    best, discriminant = INFINITE, b * b - a * c
    if discriminant >= 0.0:
        root = np.sqrt(discriminant)
        s = -(b + (root if b >= 0.0 else -root))  # both roots without cancellation
        if a != 0.0 and s / a > 0.0:
            best = s / a
        if s != 0.0 and c / s > 0.0:
            best = min(best, c / s)
    return min(best, -x[0] / d[0]) if d[0] < 0.0 else best


@inline
def project_on_cone(z, mu):
    """Project z = (n, t₁, t₂) on the cone |z_t| ≤ μ z_n."""
    t = np.sqrt(z[1] * z[1] + z[2] * z[2])
    inside, outside = t <= mu * z[0], z[0] + mu * t <= 0.0
    n = (z[0] + mu * t) / (1.0 + mu * mu)
    ratio = mu * n / t if t > 0.0 else 0.0
    on = (n, ratio * z[1], ratio * z[2])
    return (0.0, 0.0, 0.0) if outside else (z if inside else on)
