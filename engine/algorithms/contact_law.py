"""Reference solver of contact, joint friction and joint limits, for all rows of a step at once; dense and slow.

With impulses λ the rows move with u = G λ + b, G = J M⁻¹ Jᵀ (docs/contact.md, (C6)). There are three kinds of rows:

- a *contact* has three, (n, t₁, t₂), and obeys Signorini's and Coulomb's laws with maximum dissipation,
  K* ∋ u + μ |u_t| n ⟂ λ ∈ K = {|λ_t| ≤ μ λ_n}                                                          (C2)
- a *joint* has one and obeys u = clamp(soft(u − g λ, g f), lo, hi), g = G_jj, f its friction's impulse      (C3)
- a contact *without friction* is a joint's row with f = 0, lo = 0, hi = ∞

With the slip term s = μ |u_t| n held fixed the problem is convex; ADMM solves it from any start, but slowly, and s is
then updated (Acary, Cadoux, Lemaréchal and Malick 2011). Newton's method on λ = P(λ − r (u + s)) (Alart and Curnier
1991) then gives the last digits. Of several impulses with the same motion `least_norm` finds those of least norm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.lie import Array

ADMM_PENALTIES = (0.1, 1.0, 10.0)  # penalties of ADMM, tried in turn: each converges slowly on other problems
ROUNDS, ADMM_ITERATIONS = 15, 200  # updates of s, and ADMM iterations for each
NEWTON_STEPS = 12
VELOCITY_FLOOR = 1e-9  # m/s or rad/s, a number of the kernels too: residuals are relative to at least it


class ConstraintRows(NamedTuple):
    """The rows of a step: 3 for each contact with friction, then one for each joint and each frictionless contact.

    J (N, nv), b (N,), mu (contacts,), and `joints` (rows, 3) with f, lo and hi of each.
    """

    J: Array
    b: Array
    mu: Array
    joints: Array


def project(z: Array, mu: float) -> Array:
    """P_K(z): the point of the cone K closest to z (3,)."""
    t = float(np.hypot(z[1], z[2]))
    if t <= mu * z[0]:
        return z
    n = (z[0] + mu * t) / (1 + mu**2)
    return n * np.array([1.0, mu * z[1] / t, mu * z[2] / t]) if n > 0 else np.zeros(3)


def joint_velocity(y: float, friction: float, low: float, high: float) -> float:
    """Return clamp(soft(y, friction), low, high)."""
    return float(np.clip(np.sign(y) * max(abs(y) - friction, 0.0), low, high))


def distances(rows: ConstraintRows, G: Array, impulses: Array) -> Array:
    """(contacts + joints,): the residual of each, m/s: (C8), and |u − clamp(…)| for a joint."""
    u, count = G @ impulses + rows.b, len(rows.mu)
    residuals = []
    for i, mu in enumerate(rows.mu):
        k = slice(3 * i, 3 * i + 3)
        r = 3 / np.trace(G[k, k])
        slip = np.array([mu * np.hypot(*u[k][1:]), 0.0, 0.0])
        residuals.append(np.linalg.norm(impulses[k] - project(impulses[k] - r * (u[k] + slip), mu)) / r)
    for j, (friction, low, high) in enumerate(rows.joints, 3 * count):
        y = float(u[j] - G[j, j] * impulses[j])
        residuals.append(abs(u[j] - joint_velocity(y, float(G[j, j] * friction), low, high)))
    return np.array(residuals)


def residual(rows: ConstraintRows, G: Array, impulses: Array) -> float:
    """Return the largest of `distances` over the largest |b|, at least `VELOCITY_FLOOR`; zero where the law holds."""
    size = float(np.max(np.abs(rows.b), initial=VELOCITY_FLOOR))
    return float(np.max(distances(rows, G, impulses), initial=0.0)) / size


def solve(rows: ConstraintRows, G: Array, tolerance: float = 1e-12) -> Array:
    """Return impulses (N,) with a residual below the tolerance, or the best iterate."""
    best = _newton(rows, G, np.zeros(len(rows.b)), tolerance)
    best_residual = residual(rows, G, best)
    for penalty in ADMM_PENALTIES:
        x: Array = np.zeros(len(rows.b))
        dual: Array = x
        slip: Array = x
        for _ in range(ROUNDS):
            if best_residual <= tolerance:
                return _newton(rows, G, best, 0.0)  # to full precision
            x, dual = _alternate(rows, G, slip, x, dual, penalty)
            slip = _slip(rows, G, x)
            candidate = _newton(rows, G, x / _scale(rows, G), tolerance)
            if (candidate_residual := residual(rows, G, candidate)) < best_residual:
                best, best_residual = candidate, candidate_residual
    return best


def _slip(rows: ConstraintRows, G: Array, x: Array) -> Array:
    """Return s = μ |u_t| n of scaled impulses, in the scale of velocities."""
    g, s = _scale(rows, G), np.zeros(len(x))
    u = (G @ (x / g) + rows.b) / g
    end = 3 * len(rows.mu)
    s[:end:3] = rows.mu * np.hypot(u[1:end:3], u[2:end:3])
    return s


def _alternate(rows: ConstraintRows, G: Array, s: Array, x: Array, dual: Array, penalty: float) -> tuple[Array, Array]:
    """Iterate over-relaxed ADMM between ½ xᵀ A x + (b + s)ᵀ x and the constraints on x, scaled."""
    g, count = _scale(rows, G), len(rows.mu)
    A, b, joints = G / np.outer(g, g), rows.b / g + s, rows.joints * np.stack([g, 1 / g, 1 / g], 1)[3 * count :]
    inverse = np.linalg.inv(A + penalty * np.eye(len(A)))
    for _ in range(ADMM_ITERATIONS):
        minimiser = inverse @ (penalty * (x - dual) - b)
        relaxed = 1.6 * minimiser - 0.6 * x
        x = _allowed(relaxed + dual, rows.mu, joints, penalty)
        dual = dual + relaxed - x
    return x, dual


def _allowed(z: Array, mu: Array, joints: Array, penalty: float) -> Array:
    """Project each contact's impulse onto its cone, and apply each joint's proximal map of friction and limits to z."""
    end = 3 * len(mu)
    n: Array = z[:end:3]
    t: Array = np.hypot(z[1:end:3], z[2:end:3])
    outside, projected_n = t > mu * n, np.maximum(n + mu * t, 0.0) / (1.0 + mu * mu)
    ratio = np.where(outside, mu * projected_n / np.where(t > 0, t, 1.0), 1.0)
    cones = np.stack([np.where(outside, projected_n, n), ratio * z[1:end:3], ratio * z[2:end:3]], 1)
    friction, low, high = joints.T
    y = -penalty * z[end:]
    after = np.clip(np.sign(y) * np.maximum(np.abs(y) - penalty * friction, 0.0), low, high)
    return np.concatenate([cones.reshape(-1), z[end:] + after / penalty])


def _newton(rows: ConstraintRows, G: Array, impulses: Array, tolerance: float) -> Array:
    """Take damped Newton (Levenberg-Marquardt) steps on λ − P(λ − r (u + s)) = 0 while they make progress."""
    damping = 1e-3
    F, slope = _equation(rows, G, impulses)
    for _ in range(NEWTON_STEPS):
        if residual(rows, G, impulses) <= tolerance:
            break
        size = float(np.linalg.norm(F))
        while damping < 1e6:
            square = slope.T @ slope
            normal = square + max(damping * min(1.0, size) ** 2, 1e-15 * np.trace(square)) * np.eye(len(F))
            step = np.linalg.solve(normal, -slope.T @ F)
            F_new, slope_new = _equation(rows, G, impulses + step / _scale(rows, G))
            if np.linalg.norm(F_new) < size:
                break
            damping = max(10 * damping, 1e-8)
        else:
            break
        impulses, F, slope, damping = impulses + step / _scale(rows, G), F_new, slope_new, damping / 10
    return impulses


def _scale(rows: ConstraintRows, G: Array) -> Array:
    """Return the √ of each row's mean mobility, which makes impulses of light and heavy bodies comparable."""
    mobility = np.diag(G).copy()
    contacts = 3 * len(rows.mu)
    mobility[:contacts] = np.repeat(mobility[:contacts].reshape(-1, 3).mean(1), 3)
    return np.sqrt(mobility)


def _equation(rows: ConstraintRows, G: Array, impulses: Array) -> tuple[Array, Array]:
    """Return F(x) = x − P(x − (u + s)) and its Jacobian, for scaled impulses x = √g λ and velocities u / √g."""
    g, count = _scale(rows, G), len(rows.mu)
    A, x, u = G / np.outer(g, g), g * impulses, (G @ impulses + rows.b) / g
    F, slope = np.zeros(len(x)), np.eye(len(x))
    for i, mu in enumerate(rows.mu):
        k = slice(3 * i, 3 * i + 3)
        speed, dS = float(np.hypot(*u[k][1:])), A[k].copy()
        if speed > 0:
            dS[0] += mu * (u[k][1:] / speed) @ A[k][1:]
        z = x[k] - u[k] - [mu * speed, 0.0, 0.0]
        dz = -dS
        dz[:, k] += np.eye(3)
        F[k] = x[k] - project(z, mu)
        slope[k] -= _projection_slope(z, mu) @ dz
    for j, (friction, low, high) in enumerate(rows.joints, 3 * count):
        y = float(u[j] - x[j])
        F[j] = u[j] - joint_velocity(y, g[j] * friction, low / g[j], high / g[j])
        slips = abs(y) > g[j] * friction and low / g[j] < u[j] - F[j] < high / g[j]
        slope[j] = slope[j] if slips else A[j]
    return F, slope


def _projection_slope(z: Array, mu: float) -> Array:
    """The Jacobian dP_K/dz, (3, 3)."""
    t = float(np.hypot(z[1], z[2]))
    if t <= mu * z[0]:
        return np.eye(3)
    if z[0] + mu * t <= 0:
        return np.zeros((3, 3))
    e = np.array([1.0, mu * z[1] / t, mu * z[2] / t])
    across = np.array([0.0, -z[2] / t, z[1] / t])
    n = float(z[0] + mu * t) / (1 + mu**2)
    return np.asarray(np.outer(e, e) / (1 + mu**2) + n * mu / t * np.outer(across, across))


def least_norm(rows: ConstraintRows, G: Array, impulses: Array, rounds: int = 3000) -> Array:
    """Return the impulses of least norm among those with the same Jᵀ λ that obey the law with the same u.

    The feasible impulses satisfy Jᵀ λ = const, lie in each cone, and on its ray if the contact slips: convex sets, on
    which Dykstra's alternating projections from 0 converge (Boyle and Dykstra 1986).
    """
    u, count = G @ impulses + rows.b, len(rows.mu)
    if np.linalg.matrix_rank(rows.J) == len(rows.J):
        return impulses
    momentum, inverse = rows.J.T @ impulses, np.linalg.pinv(rows.J.T)
    fixed = _fixed(rows, impulses, u)

    def obeying(x: Array) -> Array:
        x = np.where(fixed, impulses, x)
        for i, mu in enumerate(rows.mu):
            k = slice(3 * i, 3 * i + 3)
            slip = float(np.hypot(*u[k][1:]))
            if slip > 1e-9 * np.max(np.abs(rows.b)):
                ray = np.array([1.0, *(-mu * u[k][1:] / slip)])
                x[k] = ray * max(ray @ x[k], 0.0) / (ray @ ray)
            else:
                x[k] = project(x[k], mu)
        for j, (friction, _, _) in enumerate(rows.joints, 3 * count):
            if not fixed[j]:
                x[j] = min(max(x[j], -friction), friction) if friction > 0 else max(x[j], 0.0)
        return x

    x = increment = new = np.zeros(len(impulses), float)
    for _ in range(rounds):
        moved = x - inverse @ (rows.J.T @ x - momentum)
        new = obeying(moved + increment)
        increment = moved + increment - new
        if np.max(np.abs(new - x), initial=0.0) <= 1e-14 * np.max(np.abs(new), initial=1e-300):
            break
        x = new
    return new if residual(rows, G, new) <= max(residual(rows, G, impulses), 1e-11) else impulses


def _fixed(rows: ConstraintRows, impulses: Array, u: Array) -> np.ndarray:
    """(N,) bool: rows whose impulse follows from u: joints that slide or are at a limit, and separating contacts."""
    fixed, small, count = np.zeros(len(u), bool), 1e-9 * np.max(np.abs(rows.b), initial=1e-300), len(rows.mu)
    for i in range(count):
        fixed[3 * i : 3 * i + 3] = u[3 * i] > small
    for j, (friction, low, _) in enumerate(rows.joints, 3 * count):
        rests = abs(u[j]) <= small and (friction > 0 or low == 0)
        fixed[j] = not rests or abs(impulses[j]) > friction > 0
    return fixed
