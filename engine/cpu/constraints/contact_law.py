"""The laws of contact, joint friction and joint limits at velocity level, and the residual of impulses.

Impulses λ and velocities u = G λ + b of n rows, where G = J M⁻¹ Jᵀ is the Delassus matrix: three rows (n, t₁, t₂) for
each of `contacts` points, then one for each of `joints` rows. A contact with friction coefficient μ obeys the laws of
Signorini and Coulomb with maximum dissipation; with De Saxcé and Feng's correction (1998) they are one condition:

    K* ∋ u + μ|u_t| n ⟂ λ ∈ K = {|λ_t| ≤ μ λ_n}

A joint row with friction impulse f and bounds lo ≤ u ≤ hi obeys u = clamp(soft(u − g λ, g f), lo, hi), g = G_jj; so
does a frictionless contact, as a row with f = 0, lo = 0, hi = ∞.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.kernels.joint_constraints import joint_law
from engine.scene.touches import VELOCITY_FLOOR

TINY = 1e-300
EPS = 2.220446049250313e-16
_SEARCH = 40  # the maximum number of steps for a sliding contact's η; Newton's method takes some four


class System(NamedTuple):
    """The system to solve, in arrays that may be larger: the leading rows are in use.

    `G` (N, N) and `b` (N,); `mu` (contacts,) and `joints` (rows, 3): f, lo, hi of each joint row.
    """

    G: NDArray[np.floating]
    b: NDArray[np.floating]
    mu: NDArray[np.floating]
    joints: NDArray[np.floating]


@inline
def size_of(G, k):
    """The mean of G's diagonal over a contact's three rows from k on."""
    return (G[k, k] + G[k + 1, k + 1] + G[k + 2, k + 2]) / 3.0


@inline
def project(z, mu):
    """The projection of z = (n, t₁, t₂) on K."""
    t = np.sqrt(z[1] * z[1] + z[2] * z[2])
    if t <= mu * z[0]:
        return z
    if z[0] + mu * t <= 0.0:
        return 0.0, 0.0, 0.0
    n = (z[0] + mu * t) / (1.0 + mu * mu)
    return n, mu * n / t * z[1], mu * n / t * z[2]


@inline
def residual(system, contacts, joints, impulses, u):
    """The residual of λ and u relative to the largest |b|; zero only where they obey the law.

    The distance of λ from P_K(λ − r (u + μ|u_t| n)) over r = 1/`size_of`, and of u from its clamp.
    """
    G, b, mu, rows = system
    worst, most = 0.0, VELOCITY_FLOOR
    for k in range(3 * contacts + joints):
        most = max(most, abs(b[k]))
    for i in range(contacts):
        k = 3 * i
        r, m = 1.0 / size_of(G, k), mu[i]
        s = m * np.sqrt(u[k + 1] * u[k + 1] + u[k + 2] * u[k + 2])
        x, y, z = impulses[k], impulses[k + 1], impulses[k + 2]
        p = project((x - r * (u[k] + s), y - r * u[k + 1], z - r * u[k + 2]), m)
        d = (x - p[0]) * (x - p[0]) + (y - p[1]) * (y - p[1]) + (z - p[2]) * (z - p[2])
        off = np.sqrt(d) / r
        worst = off if not off <= worst else worst  # not `max`, which passes over what is no number
    for j in range(joints):
        k = 3 * contacts + j
        g = G[k, k]
        off = abs(u[k] - joint_law(u[k] - g * impulses[k], g * rows[j, 0], rows[j, 1], rows[j, 2]))
        worst = off if not off <= worst else worst
    return worst / most


@inline
def one_contact(D, w, mu):
    """Solve for λ of one contact with u = D λ + w exactly; D is the upper triangle (nn, n1, n2, 11, 12, 22).

    With u_n = 0, u_t = S λ_t + c, S = D_tt − D_tn D_nt/D_nn. It sticks where −S⁻¹c lies in the cone; else it slides,
    u_t = −η λ_t, so (S + η) λ_t = −c and μ λ_n = |λ_t|: one equation in η, by Newton's method safeguarded by bisection
    (Hwangbo, Lee and Hutter 2018; Moré and Sorensen 1983).
    """
    if w[0] >= 0.0:
        return 0.0, 0.0, 0.0
    n, p, q = D[0], D[1], D[2]
    s11, s12, s22 = D[3] - p * p / n, D[4] - p * q / n, D[5] - q * q / n
    c1, c2 = w[1] - p * w[0] / n, w[2] - q * w[0] / n
    size, floor = (
        np.sqrt(c1 * c1 + c2 * c2),
        8.0 * EPS * (D[3] + D[5]),
    )  # where it cannot move along
    low, high, eta = 0.0, size * (n + mu * np.sqrt(p * p + q * q)) / (-mu * w[0]), 0.0
    x, y, impulse, t = 0.0, 0.0, 0.0, 0.0
    for k in range(_SEARCH):
        a11, a22 = s11 + floor + eta, s22 + floor + eta
        det = a11 * a22 - s12 * s12
        x, y = (s12 * c2 - a22 * c1) / det, (s12 * c1 - a11 * c2) / det
        impulse, t = -(w[0] + p * x + q * y) / n, np.sqrt(x * x + y * y)
        h = mu * impulse - t
        if (k == 0 and h >= 0.0) or abs(h) <= 4.0 * EPS * t:
            break
        if h > 0.0:
            high = eta
        else:
            low = eta
        dx, dy = (s12 * y - a22 * x) / det, (s12 * x - a11 * y) / det  # dλ_t/dη = −(S + η)⁻¹ λ_t
        rate, turn = -(p * dx + q * dy) / n, (x * dx + y * dy) / t
        slope = mu * (rate * t - impulse * turn) / (t * t)
        step = eta - (mu * impulse / t - 1.0) / slope if slope > 0.0 else low - 1.0
        if not (low < step < high):
            step = 0.5 * (low + high)
        if abs(step - eta) <= 2.0 * EPS * step:
            break
        eta = step
    impulse = max(impulse, 0.0)
    if t > mu * impulse:
        x, y = x * mu * impulse / t, y * mu * impulse / t
    return impulse, x, y
