"""The law of docs/contact.md and its solver: on a random problem with three contacts, of which one is open, one sticks
and one slips, and three joints, of which one slides, one is at a bound and one sticks."""

from types import SimpleNamespace

import equations
import numpy as np
from behaviour import reduced_restitution
from equations import same
from numpy.linalg import inv, norm, solve

from engine.algorithms import contact_law, step
from engine.algorithms.contact_law import ConstraintRows
from engine.kernels.contact import body_pairs, cone_algebra, newton_matrix
from engine.kernels.contact.problem import impulse_workspace as room

PAGE = "docs/contact.md"
law = equations.of
NV = 15
n3 = np.array([1.0, 0.0, 0.0])


def _given() -> SimpleNamespace:
    """A problem of three contacts and three joints with its impulses by the text; friction's f, lo and hi of joints."""
    random = np.random.default_rng(11)
    root = random.normal(size=(NV, NV))
    M, J, mu = root @ root.T + NV * np.eye(NV), random.normal(size=(12, NV)), np.array([0.5, 0.8, 0.3])
    free, c = random.normal(size=NV), np.zeros(12)
    wanted = np.array([1.5, 0.4, 0.2, -1.0, 0.02, 0.01, -1.0, 2.0, -1.5, 0.9, -1.2, 0.05])  # of J v_f
    free += np.linalg.pinv(J) @ (wanted - J @ free)
    c[0], c[3] = 0.3, 0.2
    joints = np.array([[0.1, -np.inf, np.inf], [0.2, -0.4, 2.0], [5.0, -1.0, 1.0]])
    G, rows = J @ solve(M, J.T), ConstraintRows(J, J @ free + c, mu, joints)
    impulse = contact_law.solve(rows, G)
    assert contact_law.residual(rows, G, impulse) < 1e-11
    return SimpleNamespace(M=M, J=J, mu=mu, free=free, c=c, G=G, b=rows.b, joints=joints, impulse=impulse, rows=rows,
                           u=G @ impulse + rows.b, random=random)  # fmt: skip


R = _given()
L3, U3 = R.impulse[:9].reshape(3, 3), R.u[:9].reshape(3, 3)
OPEN, STICKS, SLIPS = range(3)


@law(PAGE, r"0 \le u_n \perp \lambda_n \ge 0 \tag{C1}", r"\lVert \lambda_t \rVert \le \mu \lambda_n")
def signorini() -> None:
    assert U3[OPEN, 0] > 0.1 and abs(L3[OPEN, 0]) < 1e-9  # noqa: PT018
    assert norm(U3[STICKS]) < 1e-9 < norm(L3[STICKS, 1:]) < R.mu[STICKS] * L3[STICKS, 0]
    assert norm(U3[SLIPS, 1:]) > 0.1 and abs(U3[SLIPS, 0]) < 1e-9  # noqa: PT018
    same(norm(L3[SLIPS, 1:]), R.mu[SLIPS] * L3[SLIPS, 0])
    assert U3[SLIPS, 1:] @ L3[SLIPS, 1:] < -0.99 * norm(U3[SLIPS, 1:]) * norm(L3[SLIPS, 1:])


@law(
    PAGE,
    r"K^\ast \ni u + \mu \lVert u_t \rVert n \perp \lambda \in K \qquad "
    r"K = \lbrace \lambda : \lVert \lambda_t \rVert \le \mu \lambda_n \rbrace \tag{C2}",
    r"u_n = \mu \lVert u_t \rVert",
)
def de_saxce() -> None:
    for u, impulse, mu in zip(U3, L3, R.mu, strict=True):
        w = u + mu * norm(u[1:]) * n3
        assert norm(impulse[1:]) <= mu * impulse[0] + 1e-9
        assert mu * norm(w[1:]) <= w[0] + 1e-9  # the dual cone
        same(w @ impulse, 0.0)
    # without the slip's share the solution lifts what slips
    k, mu = slice(6, 9), R.mu[SLIPS]
    G, b, x = R.G[k, k], (R.u - R.G[:, 6:9] @ R.impulse[6:9])[k], np.zeros(3)
    for _ in range(3000):
        x = contact_law.project(x - (G @ x + b) / np.trace(G), mu)
    u = G @ x + b
    assert norm(u[1:]) > 0.1
    same(u[0], mu * norm(u[1:]), atol=1e-6)


@law(PAGE, r"u = \mathrm{clamp}(\mathrm{soft}(u - g \lambda, g f), lo, hi) \tag{C3}", r"g = G_{jj}",
     r"lo \le 0 \le hi", r"\lambda = -f \mathrm{sign}(u)", r"\lvert u - \mathrm{clamp}(\ldots) \rvert")  # fmt: skip
def joints() -> None:
    slides, bounded, sticks = range(9, 12)
    for j, (f, low, high) in zip((slides, bounded, sticks), R.joints, strict=True):
        g = R.G[j, j]
        y = R.u[j] - g * R.impulse[j]
        same(R.u[j], np.clip(np.sign(y) * max(abs(y) - g * f, 0), low, high))
        assert low <= 0 <= high
    off = R.impulse + 0.1
    y, (f, low, high) = (R.u + R.G @ (off - R.impulse) - np.diag(R.G) * off)[slides], R.joints[0]
    clamped = np.clip(np.sign(y) * max(abs(y) - R.G[slides, slides] * f, 0), low, high)
    u = (R.G @ off + R.b)[slides]
    same(contact_law.distances(R.rows, R.G, off)[3], abs(u - clamped))
    same(R.impulse[slides], -R.joints[0, 0] * np.sign(R.u[slides]))
    same(R.u[bounded], -0.4), same(R.u[sticks], 0.0)


@law(
    PAGE,
    r"\Delta T = \tfrac{1}{2} \lambda^T (u - c + J v_f) \tag{C4}",
    r"\Delta T \le 0",
    r"1 - 1.25 \Delta T / \Delta T_r",
    r"\Delta T_r = \tfrac{1}{2} \sum -\lambda_n c_n",
    r"v^+ = v_f + M^{-1} J^T \lambda",
)
def work() -> None:
    after = R.free + solve(R.M, R.J.T @ R.impulse)
    same(0.5 * after @ R.M @ after - 0.5 * R.free @ R.M @ R.free, 0.5 * R.impulse @ (R.u - R.c + R.J @ R.free))
    same(R.u, R.J @ after + R.c)
    problem = step.ContactProblem(R.M, R.free, [], R.rows, np.arange(3), np.arange(3), R.c, R.c)
    same(step.energy_gain(problem, R.impulse), R.impulse @ (R.u - R.c + R.J @ R.free))
    shut = R.rows._replace(b=R.J @ R.free)  # no restitution, and no gap
    impulse = contact_law.solve(shut, R.G)
    assert impulse @ (R.G @ impulse + 2 * shut.b) < 0
    impulses, u, approach = np.array([[3.0, 1.0, -2.0], [4.0, 0.0, 1.0]]), np.zeros((2, 3)), np.array([-0.8, -0.95])
    c, free = -np.ones(2), np.zeros((2, 3))
    free[:, 0] = approach + c
    work, by_rebounds = 0.5 * np.sum(impulses[:, 0] * (-c + approach)), 0.5 * np.sum(-impulses[:, 0] * c)
    same(reduced_restitution(impulses, u, free, c), 1 - 1.25 * work / by_rebounds)


@law(
    PAGE,
    r"W = J L^{-1} \qquad G = W D^{-1} W^T \tag{G1}",
    r"M = L^T D L",
    r"M^{-1} J^T \lambda = L^{-1} D^{-1} W^T \lambda",
    r"u = W D^{-1} W^T \lambda + b",
    r"(D + W^T \Omega W) dy = W^T s \tag{G2}",
    r"(1 + Z^T \Omega Z) dy = Z^T s \tag{G3}",
    r"Z = J L^{-1} D^{-1/2}",
    r"H = W D^{-1/2}",
    r"d\lambda = s - \Omega du",
    r"du = W dy",
)
def factored() -> None:
    root = np.linalg.cholesky(R.M[::-1, ::-1])[::-1, ::-1].T  # M = rootᵀ root, from the last row
    D, L = np.diag(np.diag(root) ** 2), root / np.diag(root)[:, None]
    same(R.M, L.T @ D @ L), same(L, np.tril(L)), same(np.diag(L), np.ones(NV))
    W = R.J @ inv(L)
    same(R.G, W @ inv(D) @ W.T)
    same(solve(R.M, R.J.T @ R.impulse), inv(L) @ inv(D) @ W.T @ R.impulse)
    same(R.u, W @ inv(D) @ W.T @ R.impulse + R.b)
    Omega, s = R.random.normal(size=(12, 12)) + 12 * np.eye(12), R.random.normal(size=12)
    Z = R.J @ inv(L) @ np.diag(np.diag(D) ** -0.5)
    same(R.G, Z @ Z.T), same(Z, W @ np.diag(np.diag(D) ** -0.5))
    for rows, dy in ((W, solve(D + W.T @ Omega @ W, W.T @ s)), (Z, solve(np.eye(NV) + Z.T @ Omega @ Z, Z.T @ s))):
        du = rows @ dy
        same(R.G @ (s - Omega @ du), du)


@law(
    PAGE,
    r"(S + \eta) \lambda_t = -c \qquad S = G_{tt} - G_{tn} G_{nn}^{-1} G_{nt} \tag{G4}",
    r"u_t = -\eta \lambda_t",
    r"u_t = S \lambda_t + c",
    r"\mu \lambda_n = \lVert \lambda_t \rVert",
)
def one_contact() -> None:
    """With all other contacts fixed, u = D λ + w; with u_n = 0 eliminated u_t = S λ_t + c."""
    for i in (STICKS, SLIPS):
        k = slice(3 * i, 3 * i + 3)
        D, impulse, u = R.G[k, k], R.impulse[k], R.u[k]
        w = u - D @ impulse
        S = D[1:, 1:] - np.outer(D[1:, 0], D[0, 1:]) / D[0, 0]
        c = w[1:] - D[1:, 0] / D[0, 0] * w[0]
        eta = -(u[1:] @ impulse[1:]) / (impulse[1:] @ impulse[1:])
        same(u[1:], S @ impulse[1:] + c)
        same(u[1:], -eta * impulse[1:]), same((S + eta * np.eye(2)) @ impulse[1:], -c)
        assert (eta > 1e-3) == (i == SLIPS)


@law(
    PAGE,
    r"\Delta\lambda = -\lambda \qquad r G_i \Delta\lambda = -r u \qquad \Delta\lambda_t - \mu t \Delta z_n - \mu "
    r"\frac{z_n}{\lVert z_t \rVert} (1 - t t^T) \Delta z_t = \mu z_n t - \lambda_t \tag{S1}",
    r"z = \lambda - r u",
    r"t = z_t / \lVert z_t \rVert",
)
def newton() -> None:
    """Near the solution, a step squares the error; joints are unchanged."""
    held, errors = R.b[:9] + R.G[:9, 9:] @ R.impulse[9:], []
    G, impulse = R.G[:9, :9], R.impulse[:9] + 1e-3 * R.random.normal(size=9)
    for _ in range(3):
        u = G @ impulse + held
        A, right = np.zeros((9, 9)), np.zeros(9)
        for i, mu in enumerate(R.mu):
            k, n, t2 = slice(3 * i, 3 * i + 3), 3 * i, slice(3 * i + 1, 3 * i + 3)
            r = 3 / np.trace(G[k, k])
            if i == OPEN:
                A[k, k], right[k] = np.eye(3), -impulse[k]
                continue
            A[k], right[k] = r * G[k], -r * u[k]
            if i == SLIPS:
                z, dz = impulse[k] - r * u[k], np.eye(9)[k] - r * G[k]
                t = z[1:] / norm(z[1:])
                share = mu * z[0] / norm(z[1:]) * (np.eye(2) - np.outer(t, t))
                A[t2] = np.eye(9)[t2] - mu * np.outer(t, dz[0]) - share @ dz[1:]
                right[t2] = mu * z[0] * t - impulse[t2]
                A[n], right[n] = r * G[n], -r * u[n]
        impulse = impulse + solve(A, right)
        errors.append(norm(impulse - R.impulse[:9]))
    assert errors[0] < 1e-4 and errors[1] < 1e-8 and errors[2] < 1e-10  # noqa: PT018


@law(
    PAGE,
    r"x \circ y = \sigma \nu e \qquad w = G \lambda + b + \mu \lVert w_t \rVert n \tag{S2}",
    r"x = (\mu \lambda_n, \lambda_t)",
    r"w = u + \mu \lVert u_t \rVert n",
    r"y = (w_n / \mu, w_t)",
    r"\sqrt{\lVert w_t \rVert^2 + \delta^2} - \delta",
)
def complementary() -> None:
    """With ν = 0 both are the law; e is the product's unit."""
    for u, impulse, mu in zip(U3, L3, R.mu, strict=True):
        w = u + mu * norm(u[1:]) * n3
        x, y = np.array([mu * impulse[0], *impulse[1:]]), np.array([w[0] / mu, *w[1:]])
        same(np.zeros(3), cone_algebra.jordan(x, y), [x @ y, *(x[0] * y[1:] + y[0] * x[1:])])
        same(x, cone_algebra.jordan(x, n3))
    t, delta = 0.3, 0.1  # as `interior_point` has it: t² over √(t² + δ²) + δ
    same(np.sqrt(t**2 + delta**2) - delta, t**2 / (np.sqrt(t**2 + delta**2) + delta))


@law(
    PAGE,
    r"(1 + H^T \Omega H) dz = H^T (\lambda + s - \Omega r) - z \qquad d\lambda = s - \Omega (H dz + r) \tag{G5}",
    r"d\lambda = s - \Omega (du + r)",
    r"z = H^T \lambda",
    r"G = H H^T",
)
def interior() -> None:
    """The steps of both keep z = Hᵀ λ, for any previous z."""
    H, random = np.linalg.cholesky(R.G), R.random
    Omega = random.normal(size=(12, 12)) + 12 * np.eye(12)
    s, r, z, impulse = random.normal(size=(4, 12))
    dz = solve(np.eye(12) + H.T @ Omega @ H, H.T @ (impulse + s - Omega @ r) - z)
    d_impulse = s - Omega @ (H @ dz + r)
    same(z + dz, H.T @ (impulse + d_impulse)), same(R.G, H @ H.T)


@law(
    PAGE,
    r"\frac{1}{r} \lVert \lambda - P_K(\lambda - r (u + \mu \lVert u_t \rVert n)) \rVert \tag{C8}",
    r"r = 3 / \mathrm{tr} G_{ii}",
)
def residual() -> None:
    off = R.impulse + 0.1 * R.random.normal(size=12)
    u, reported = R.G @ off + R.b, contact_law.distances(R.rows, R.G, off)
    for i, mu in enumerate(R.mu):
        k = slice(3 * i, 3 * i + 3)
        r = 3 / np.trace(R.G[k, k])
        z = off[k] - r * (u[k] + mu * norm(u[k][1:]) * n3)
        p = contact_law.project(z, mu)
        assert norm(p[1:]) <= mu * p[0] + 1e-12 and mu * norm((p - z)[1:]) <= (p - z)[0] + 1e-12  # noqa: PT018
        same((p - z) @ p, 0.0)  # so p is the nearest
        same(reported[i], norm(off[k] - p) / r)


def _onto_the_disk(z: np.ndarray, mu: float) -> np.ndarray:
    """The point of [0, ∞) and of the disk of radius μ z_n that is next to z."""
    disk, t = mu * max(z[0], 0.0), norm(z[1:])
    return np.concatenate([[max(z[0], 0.0)], z[1:] if t <= disk else disk * z[1:] / t])


@law(
    PAGE,
    r"\Delta\lambda = s - \Omega \Delta u \qquad \Omega = (1 + \epsilon - A)^{-1} A r \qquad "
    r"s = (1 + \epsilon - A)^{-1} (P(\lambda - r u) - \lambda)",
    r"(M + J^T \Omega J) \Delta v = J^T s",
)
def by_the_inertias_of_bodies() -> None:
    eps, J, impulse = 0.01, R.J[:9], R.impulse[:9] + 0.01
    u = J @ (R.free + solve(R.M, J.T @ impulse)) + R.c[:9]
    problem, Omega, s = room(np.array([-1]), NV, 3).problem, np.zeros((9, 9)), np.zeros(9)
    for i, mu in enumerate(R.mu):
        k = slice(3 * i, 3 * i + 3)
        problem.mu[i], problem.r[i] = mu, 3 / np.trace(R.G[k, k])
        problem.impulse[i], problem.u[i] = impulse[k], u[k]
        newton_matrix.linearise_contact(i, 1.0, eps, problem)
        z = impulse[k] - problem.r[i] * u[k]
        A = np.stack([(_onto_the_disk(z + d, mu) - _onto_the_disk(z - d, mu)) / 2e-6 for d in 1e-6 * np.eye(3)], 1)
        damped = inv((1 + eps) * np.eye(3) - A)
        same(problem.Omega[i].reshape(3, 3), damped @ A * problem.r[i], atol=1e-6)
        same(problem.s[i], damped @ (_onto_the_disk(z, mu) - impulse[k]), atol=1e-6)
        Omega[k, k], s[k] = problem.Omega[i].reshape(3, 3), problem.s[i]
    dv = solve(R.M + J.T @ Omega @ J, J.T @ s)
    same(R.M @ dv, J.T @ (s - Omega @ J @ dv))


@law(PAGE, r"f = I a + u \ddot y + p \qquad \tau = w^T a + d \ddot y + r", r"S^T I S + S^T u + w^T S")
def mimic_joints() -> None:
    """Two joints in a row that one coordinate moves, beside what their bodies' own forces are."""
    I, p, S = R.random.normal(size=(2, 6, 6)), R.random.normal(size=(2, 6)), R.random.normal(size=(2, 6))
    a, ydd = R.random.normal(size=6), 0.7
    near = a + S[0] * ydd
    outer = I[1] @ (near + S[1] * ydd) + p[1]
    inner = I[0] @ near + p[0] + outer
    u, w, d, r = I[1] @ S[1], I[1].T @ S[1], S[1] @ I[1] @ S[1], S[1] @ p[1]
    whole, push = I[0] + I[1], p[0] + p[1]
    d, r = d + S[0] @ whole @ S[0] + S[0] @ u + w @ S[0], r + S[0] @ push
    u, w = u + whole @ S[0], w + whole.T @ S[0]
    same(whole @ a + u * ydd + push, inner)
    same(w @ a + d * ydd + r, S[0] @ inner + S[1] @ outer)


@law(PAGE, r"(1 + K Z) F = s - K \rho_0 \qquad Z = J H^{-1} J^T \qquad \rho_0 = J H^{-1} r", r"F = s - K \rho")
def pairs_of_bodies() -> None:
    pairs, random = body_pairs.body_pairs(2, NV, 1), R.random
    H, r, (J, K, s) = R.M, R.free, (random.normal(size=size) for size in ((6, NV), (6, 6), 6))
    pairs.counts[:], pairs.body[0], pairs.first[0], pairs.begin[0] = (1, 6), (0, 1), 0, 0
    pairs.stiffness[0], pairs.s[0] = K.reshape(2, 3, 2, 3).swapaxes(1, 2).ravel(), s
    pairs.Z[:], pairs.rho[:] = J @ inv(H) @ J.T, J @ solve(H, r)
    body_pairs.solve(pairs)
    F, dv = pairs.wrench, solve(H + J.T @ K @ J, r + J.T @ s)
    same(H @ dv, r + J.T @ F)
    same(F, s - K @ J @ dv)
    same(pairs.body_wrench, [F, -F])
