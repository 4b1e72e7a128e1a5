"""Rounds of the contact solver: exact Gauss–Seidel sweeps, then steps of a semismooth Newton method.

A sweep solves each contact and each joint row alone, exactly, and so brings the iterate back into the cones; a Newton
step on Alart and Curnier's map (1991) is exact near the solution. Impulses of redundant contacts are not unique: as in
Levenberg and Marquardt's method, a multiple of the residual on G's diagonal keeps the next ones near the last, and the
convergence quadratic (Yamashita and Fukushima 2001). There is no merit function: the best iterate is kept (Acary,
Brémond and Huber 2018 compare such methods).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel, rare
from engine.cpu.constraints.contact_law import one_contact, residual, size_of
from engine.cpu.constraints.linear_systems import factorise, substitute
from engine.kernels.contact.workspace import NEWTON_COUNT, SWEEP_COUNT
from engine.kernels.joint_constraints import joint_law

_REGULAR = 4.2e-10
"""ε^0.6: the least multiple of 1/r on G's diagonal in Newton's matrix, regular then for redundant contacts. The
right-hand side is exact, so that it costs no accuracy."""
_SWEEPS = 3  # of a round; the first round has one, enough near the solution
_NEWTON_STEPS = 3  # of a round, at most, while each reduces the residual


class RoundsWorkspace(NamedTuple):
    """The solver's workspace for N rows: iterates (N,), matrices (N, N), and the interior point's own.

    `impulses` and `u` are the present iterate, `best` the impulses with the least residual so far.
    """

    impulses: NDArray[np.floating]
    u: NDArray[np.floating]
    best: NDArray[np.floating]
    step: NDArray[np.floating]
    A: NDArray[np.floating]
    pivots: NDArray[np.int64]
    scaled: NDArray[np.floating]
    vectors: NDArray[np.floating]
    pairs: NDArray[np.floating]


def rounds_workspace(rows: int) -> RoundsWorkspace:
    """Return the workspace for a system of N rows."""
    n = max(rows, 1)
    one, two = (np.zeros(n) for _ in range(4)), (np.zeros((n, n)) for _ in range(2))
    impulses, u, best, step = one
    A, scaled = two
    vectors, pairs = np.zeros((14, n)), np.zeros((22, n))
    return RoundsWorkspace(impulses, u, best, step, A, np.zeros(n, np.int64), scaled, vectors, pairs)


@inline
def _move(G, n, k, d, u):
    """Update u for a change d of impulse k; G is symmetric."""
    for j in range(n):
        u[j] += G[k, j] * d


@inline
def velocities(system, n, impulses, u):
    """u = G λ + b."""
    G, b = system.G, system.b
    for k in range(n):
        u[k] = b[k]
    for k in range(n):
        if impulses[k] != 0.0:
            _move(G, n, k, impulses[k], u)


@kernel
def sweep(system, contacts, joints, impulses, u):
    """Make one Gauss–Seidel sweep, which keeps u = G λ + b."""
    G, mu, rows = system.G, system.mu, system.joints
    n = 3 * contacts + joints
    for i in range(contacts):
        k = 3 * i
        D = (G[k, k], G[k, k + 1], G[k, k + 2], G[k + 1, k + 1], G[k + 1, k + 2], G[k + 2, k + 2])
        x, y, z = impulses[k], impulses[k + 1], impulses[k + 2]
        w = (
            u[k] - (D[0] * x + D[1] * y + D[2] * z),
            u[k + 1] - (D[1] * x + D[3] * y + D[4] * z),
            u[k + 2] - (D[2] * x + D[4] * y + D[5] * z),
        )
        new = one_contact(D, w, mu[i])
        for r in range(n):
            u[r] += G[k, r] * (new[0] - x) + G[k + 1, r] * (new[1] - y) + G[k + 2, r] * (new[2] - z)
        impulses[k], impulses[k + 1], impulses[k + 2] = new
    for j in range(joints):
        k = 3 * contacts + j
        g = G[k, k]
        d = (joint_law(u[k] - g * impulses[k], g * rows[j, 0], rows[j, 1], rows[j, 2]) - u[k]) / g
        impulses[k] += d
        _move(G, n, k, d, u)


@inline
def _combine(out, place, n, G, k, weights):
    """Store a weighted sum of the rows of G from k on in row `place` of `out`."""
    a, b, c = weights
    for j in range(n):
        out[place, j] = a * G[k, j] + b * G[k + 1, j] + c * G[k + 2, j]


@inline
def _contact_rows(A, right, n, G, mu, k, impulses, u, regular):
    """Newton's equations of the contact at rows k…: open, stuck or sliding by z = λ − r u."""
    r = 1.0 / size_of(G, k)
    z = (impulses[k] - r * u[k], impulses[k + 1] - r * u[k + 1], impulses[k + 2] - r * u[k + 2])
    t = np.sqrt(z[1] * z[1] + z[2] * z[2])
    if z[0] <= 0.0:
        for c in range(3):
            for j in range(n):
                A[k + c, j] = 0.0
            A[k + c, k + c] = 1.0
            right[k + c] = -impulses[k + c]
    elif t <= mu * z[0]:
        for c in range(3):
            for j in range(n):
                A[k + c, j] = G[k + c, j]
            A[k + c, k + c] += regular / r
            right[k + c] = -u[k + c]
    else:
        x, y, disk = z[1] / t, z[2] / t, mu * z[0]
        curve = disk / t
        d11, d12, d22 = 1.0 - curve * y * y, curve * x * y, 1.0 - curve * x * x
        _combine(A, k, n, G, k, (r, 0.0, 0.0))
        _combine(A, k + 1, n, G, k, (r * mu * x, r * (1.0 - d11), -r * d12))
        _combine(A, k + 2, n, G, k, (r * mu * y, -r * d12, r * (1.0 - d22)))
        A[k, k] += regular
        A[k + 1, k] += -mu * x + regular * mu * x
        A[k + 1, k + 1] += d11 + regular * (1.0 - d11)
        A[k + 1, k + 2] += d12 - regular * d12
        A[k + 2, k] += -mu * y + regular * mu * y
        A[k + 2, k + 1] += d12 - regular * d12
        A[k + 2, k + 2] += d22 + regular * (1.0 - d22)
        right[k], right[k + 1], right[k + 2] = -r * u[k], disk * x - impulses[k + 1], disk * y - impulses[k + 2]


@inline
def _joint_row(A, right, n, G, k, law, impulses, u, regular):
    """Newton's equation of a joint row: it slides, or its velocity is prescribed."""
    g, f = G[k, k], law[0]
    y = u[k] - g * impulses[k]
    p = joint_law(y, g * f, law[1], law[2])
    if abs(y) > g * f and law[1] < p and p < law[2]:
        for j in range(n):
            A[k, j] = 0.0
        A[k, k] = 1.0
        right[k] = (-f if y > 0.0 else f) - impulses[k]
    else:
        for j in range(n):
            A[k, j] = G[k, j]
        A[k, k] += regular * g
        right[k] = p - u[k]


@kernel
def newton_step(system, contacts, joints, room, regular):
    """Take a semismooth Newton step from `room.impulses`, in place, with u = G λ + b; return whether it was possible.

    `regular` times 1/r is added to G's diagonal in the matrix alone.
    """
    G, mu, rows, n = system.G, system.mu, system.joints, 3 * contacts + joints
    impulses, u, A, step = room.impulses, room.u, room.A, room.step
    for i in range(contacts):
        _contact_rows(A, step, n, G, mu[i], 3 * i, impulses, u, regular)
    for j in range(joints):
        law = (rows[j, 0], rows[j, 1], rows[j, 2])
        _joint_row(A, step, n, G, 3 * contacts + j, law, impulses, u, regular)
    if not factorise(A, room.pivots, n):
        return False
    substitute(A, room.pivots, n, step)
    for k in range(n):
        impulses[k] += step[k]
    velocities(system, n, impulses, u)
    return True


@inline
def _better(system, contacts, joints, room, least):
    """The residual of the present iterate and the least so far; an iterate with the least is stored in `room.best`."""
    left = residual(system, contacts, joints, room.impulses, room.u)
    if left < least:
        least = left
        for k in range(3 * contacts + joints):
            room.best[k] = room.impulses[k]
    return left, least


@rare
def rounds(system, contacts, joints, room, tolerance, many, damping, count):
    """Make at most `many` rounds from `room.impulses`; return the residual of `room.best`.

    `damping` times the residual, times 1/r, is added to G's diagonal in Newton's matrix. `count` (3,) grows by the
    sweeps and Newton steps taken.
    """
    impulses, u = room.impulses, room.u
    velocities(system, 3 * contacts + joints, impulses, u)
    left, least = _better(system, contacts, joints, room, np.inf)
    for turn in range(many):
        if least <= tolerance:
            break
        for _ in range(1 if turn == 0 else _SWEEPS):
            count[SWEEP_COUNT] += 1
            sweep(system, contacts, joints, impulses, u)
        left, least = _better(system, contacts, joints, room, least)
        before = np.inf
        for _ in range(_NEWTON_STEPS):
            if least <= tolerance or not left < before:
                break
            before = left
            count[NEWTON_COUNT] += 1
            if not newton_step(system, contacts, joints, room, max(_REGULAR, damping * left)):
                return least
            left, least = _better(system, contacts, joints, room, least)
        if not left < np.inf:
            return least
    return least
