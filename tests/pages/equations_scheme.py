"""The equations of docs/scheme.md, on a chain of six links, revolute and prismatic, of which numbers are random."""

from types import SimpleNamespace

import equations
import numpy as np
from behaviour import loaded
from equations import beside, same
from numpy.linalg import inv, norm, solve
from scipy.linalg import block_diag

import engine
from engine import lie
from engine.algorithms import abia, abia_hybrid, cfa, dca, jsiia
from engine.algorithms.chain import Chain
from engine.algorithms.motion import motion
from engine.blocks import bidiagonal, tridiagonal

PAGE = "docs/scheme.md"
N = 6
MIMIC = '<mimic joint="one" multiplier="-2" offset="0.3"/>'
LINK = """<link name="{}"><inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/><origin xyz="0 0 0.3"/>
<axis xyz="0 1 0.5"/>{}</joint>"""
TWO = "".join((
    '<robot name="two"><link name="base"/>', LINK.format("a"), LINK.format("b"),
    JOINT.format("one", "base", "a", ""), JOINT.format("two", "a", "b", MIMIC), "</robot>",
))  # fmt: skip


def _given() -> SimpleNamespace:
    """Return a chain in a state, and the program's results: M, τ_bias, q̈, V and V̇."""
    random, model = np.random.default_rng(5), engine.chain(N, seed=3, prismatic=0.4)
    chain = Chain.of(model)
    q, v, tau = model.random(random), random.normal(size=N), random.normal(size=N) * 3
    at, M, bias = motion(model, q, v), engine.mass_matrix(model, q), engine.bias(model, q, v)
    a = engine.forward_dynamics(model, q, v, tau)
    pose = np.tile(np.eye(4), (N, 1, 1))
    pose[:, :3, :3], pose[:, :3, 3] = at.R, at.p
    own = np.linalg.inv(lie.Ad(at.R, at.p))
    V = (own @ at.V[..., None])[..., 0]
    A = (own @ (at.J @ a + at.drift - np.concatenate([np.zeros(3), model.gravity]))[..., None])[..., 0]
    return SimpleNamespace(
        model=model, chain=chain, q=q, v=v, tau=tau, a=a, M=M, delta=tau - bias, bias=bias, V=V, A=A, pose=pose,
        X=chain.X(q[None])[0], S=chain.S, W=chain.W, J=chain.J, a0=chain.a0, random=random,
    )  # fmt: skip


R = _given()
I = np.eye(6 * N)
GAMMA, S, W, J = beside(R.X), block_diag(*R.S[..., None]), block_diag(*R.W), block_diag(*R.J)
AD_V = block_diag(*lie.ad(R.V))
FIRST = np.concatenate([R.X[0] @ R.a0, np.zeros(6 * N - 6)])  # the base's acceleration, in the first row of (2)
F = solve((I - GAMMA).T, J @ R.A.ravel() - AD_V.T @ J @ R.V.ravel())
c = (AD_V @ S @ R.v).reshape(N, 6)
law = equations.of


def articulated() -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, float, float]]]:
    """Ĵ and p of all links by (10) to (13), and U, D and u of all joints."""
    Jhat, p = R.J.copy(), (-AD_V.T @ J @ R.V.ravel()).reshape(N, 6)
    joints = []
    for i in reversed(range(N)):
        S, X, tau = R.S[i], R.X[i], R.tau[i]
        U = Jhat[i] @ S
        D = S.T @ U
        u = tau - S.T @ p[i]
        joints.append((U, D, u))
        if i:
            Jhat[i - 1] += X.T @ (Jhat[i] - np.outer(U, U) / D) @ X
            p[i - 1] += X.T @ (p[i] + (Jhat[i] - np.outer(U, U) / D) @ c[i] + U / D * u)
    return Jhat, p, joints[::-1]


JHAT, P, JOINTS = articulated()
U, D, u = (np.array(part) for part in zip(*JOINTS, strict=True))


@law(PAGE, r"(I - \Gamma) V = S \dot q \tag{1}", r"V_i = X_i V_{i-1} + S_i \dot q_i", r"\mathrm{Ad}(T_i^{-1})")
def velocities() -> None:
    same(R.V.ravel(), solve(I - GAMMA, S @ R.v))
    for i in range(1, N):
        same(R.V[i], R.X[i] @ R.V[i - 1] + R.S[i] * R.v[i])
        pose = inv(R.pose[i - 1]) @ R.pose[i]
        same(R.X[i], lie.Ad(inv(pose)[:3, :3], inv(pose)[:3, 3]))


@law(PAGE, r"(I - \Gamma) \dot V = S \ddot q + \mathrm{ad}_V S \dot q \tag{2}", r"\dot V_0 = -g")
def accelerations() -> None:
    same((I - GAMMA) @ R.A.ravel() - FIRST, S @ R.a + AD_V @ S @ R.v)
    same(R.a0, [0, 0, 0, *-R.model.gravity])


@law(PAGE, r"(I - \Gamma)^T F = J \dot V - \mathrm{ad}_V^T J V \tag{3}", r"\tau = S^T F \tag{4}")
def forces() -> None:
    same(R.tau, S.T @ F, engine.inverse_dynamics(R.model, R.q, R.v, R.a))


@law(
    PAGE,
    r"M \ddot q = \tau_\delta \qquad M = S^T (I - \Gamma)^{-T} J (I - \Gamma)^{-1} S \tag{5}",
    r"\tau_\delta = \tau - \tau_\mathrm{bias}",
)
def mass_matrix() -> None:
    same(R.M, S.T @ inv(I - GAMMA).T @ J @ inv(I - GAMMA) @ S)
    same(R.M @ R.a, R.tau - R.bias)


@law(
    PAGE,
    r"(A_2, b_2) \circ (A_1, b_1) = (A_2 A_1, A_2 b_1 + b_2) \tag{6}",
    r"(I - \Gamma) x = b",
    r"x_i = A_i x_{i-1} + b_i",
)
def scanned() -> None:
    (A1, A2), (b1, b2), x = R.X[1:3], R.random.normal(size=(2, 6)), R.random.normal(size=6)
    same(A2 @ (A1 @ x + b1) + b2, (A2 @ A1) @ x + (A2 @ b1 + b2))
    joined = bidiagonal.join((A1, b1[:, None]), (A2, b2[:, None]))
    same(joined[0], A2 @ A1), same(joined[1][:, 0], A2 @ b1 + b2)
    b = R.random.normal(size=(N, 6))
    x = bidiagonal.solve(R.X[None], b[None])[0]
    same((I - GAMMA) @ x.ravel(), b.ravel())
    same(x[3], R.X[3] @ x[2] + b[3])


@law(
    PAGE,
    r"U_{i-1}^T x_{i-1} + D_i x_i + U_i x_{i+1} = R_i \tag{7}",
    r"E_i = U_i D_{i+s}^{-1} \qquad K_i = U_{i-s}^T D_{i-s}^{-1} \tag{8}",
    r"D_i \leftarrow D_i - E_i U_i^T - K_i U_{i-s} \qquad U_i \leftarrow -E_i U_{i+s} \qquad "
    r"R_i \leftarrow R_i - E_i R_{i+s} - K_i R_{i-s} \tag{9}",
    r"s = 2^{j-1}",
    r"A x = R",
)
def odd_even() -> None:
    n = 7
    U = dict(enumerate(R.random.normal(size=(n - 1, 3, 3))))
    D = dict(enumerate(20 * np.eye(3) + x @ x.T for x in R.random.normal(size=(n, 3, 3))))
    right = dict(enumerate(R.random.normal(size=(n, 3))))
    x = tridiagonal.solve(*(np.stack([*part.values()])[None] for part in (D, U, right)))[0]
    for i in range(n):
        before, after = U[i - 1].T @ x[i - 1] if i else 0, U[i] @ x[i + 1] if i < n - 1 else 0
        same(right[i], before + D[i] @ x[i] + after)
    steps = tridiagonal.eliminate(*(np.stack([*part.values()])[None] for part in (D, U))).steps
    for j, (E_told, K_told) in enumerate(steps, 1):
        s = 2 ** (j - 1)
        E = {i: U[i] @ inv(D[i + s]) for i in U}
        K = {i: U[i - s].T @ inv(D[i - s]) for i in range(s, n)}
        same(E_told[0], np.stack([*E.values()])), same(K_told[0], np.stack([*K.values()]))
        D, right, U = (
            {i: D[i] - (E[i] @ U[i].T if i in E else 0) - (K[i] @ U[i - s] if i in K else 0) for i in D},
            {i: right[i] - (E[i] @ right[i + s] if i in E else 0) - (K[i] @ right[i - s] if i in K else 0) for i in D},
            {i: -E[i] @ U[i + s] for i in U if i + s in U},
        )
    assert not U
    same(x, np.stack([solve(D[i], right[i]) for i in range(n)]))


@law(
    PAGE,
    r"F_i = \hat J_i \dot V_i + p_i \tag{10}",
    r"U = \hat J S \qquad D = S^T U \qquad u = \tau - S^T p \tag{11}",
    r"\hat J' = X^T (\hat J - U D^{-1} U^T) X \tag{12}",
    r"p' = X^T ( p + (\hat J - U D^{-1} U^T) c + U D^{-1} u ) \tag{13}",
    r"\ddot q = D^{-1} (u - U^T a') \qquad \dot V = a' + S \ddot q \tag{14}",
    r"c = \mathrm{ad}_V S \dot q",
    r"a' = X a + c",
    r"-\mathrm{ad}_V^T J V",
    r"\hat J' = \hat J - U D^{-1} U^T + J",
    r"w = U^T S'",
    r"(\hat J + J) S' - D^{-1} w U",
    r"S'^T (\hat J + J) S' - D^{-1} w^2",
)
def articulated_bodies() -> None:
    for i in range(N):
        same(F[6 * i : 6 * i + 6], JHAT[i] @ R.A[i] + P[i])
        reported = abia.joint(R.S[i], JHAT[i], P[i], R.tau[i])
        same(reported.U, U[i]), same(reported.D, D[i]), same(reported.u, u[i])
        before = R.X[i] @ (R.A[i - 1] if i else R.a0) + c[i]
        same(R.a[i], (u[i] - U[i].T @ before) / D[i])
        same(R.A[i], before + R.S[i] * R.a[i])
    same(JHAT, abia_hybrid.articulated_inertias(R.chain, R.X[None])[0])
    # seen from link 3's frame, in which link 4 is prepared while its own chain is done; S' is link 3's axis
    X, J_next, S_next = R.X[4], R.J[3], R.S[3]
    own, U4 = X.T @ JHAT[4] @ X, X.T @ U[4]
    joined, w = own - np.outer(U4, U4) / D[4] + J_next, U4 @ S_next
    same(JHAT[3], joined), same(U[3], (own + J_next) @ S_next - w * U4 / D[4])
    same(D[3], S_next.T @ (own + J_next) @ S_next - w**2 / D[4])


@law(
    PAGE,
    r"\Psi_i = (1 - S_i D_i^{-1} U_i^T) X_i \tag{15}",
    r"X_i^T U_i D_i^{-1}",
    r"M^{-1} = (1 - S^T Z \Pi)^T D^{-1} (1 - S^T Z \Pi) \qquad Z = (1 - \Psi^T)^{-1} \tag{16}",
)
def factors_of_the_inverse() -> None:
    Psi = np.stack([(np.eye(6) - np.outer(R.S[i], U[i]) / D[i]) @ R.X[i] for i in range(N)])
    Pi = np.stack([R.X[i].T @ U[i] / D[i] for i in range(N)])[..., None]
    Z = inv(I - beside(Psi).T)
    outer = np.eye(N) - S.T @ Z @ beside(Pi, above=True)
    same(inv(R.M), outer.T @ np.diag(1 / D) @ outer)
    same(abia_hybrid.solve(R.chain, R.X[None], JHAT[None], R.delta[None])[0], inv(R.M) @ R.delta)


@law(
    PAGE,
    r"J^c_i = J_i + X_{i+1}^T J^c_{i+1} X_{i+1} \qquad M_{ij} = S_i^T J^c_i X_i \cdots X_{j+1} S_j \quad (j \le i) "
    r"\tag{17}",
    r"M = L L^T",
    r"q = C y + q_0",
    r"\ddot q = e_j",
)
def composite_bodies() -> None:
    Jc = R.J.copy()
    for i in reversed(range(N - 1)):
        Jc[i] = R.J[i] + R.X[i + 1].T @ Jc[i + 1] @ R.X[i + 1]
    for i in range(N):
        for j in range(i + 1):
            way = np.eye(6)
            for k in range(j + 1, i + 1):
                way = R.X[k] @ way
            same(R.M[i, j], R.S[i].T @ Jc[i] @ way @ R.S[j])
    still = R.model.with_gravity((0, 0, 0))
    columns = [engine.inverse_dynamics(still, R.q, 0 * R.v, e) for e in np.eye(N)]
    same(R.M, np.stack(columns, 1), jsiia.mass_matrix(R.chain, R.X[None])[0])
    own, loose = loaded(TWO), loaded(TWO.replace(MIMIC, ""))
    C, y = own.coupling.C, own.random(R.random)
    assert own.nv < loose.nv
    same(loose_q := own.coupling.expand_q(y), C @ y + own.coupling.expand_q(0 * y))
    same(engine.mass_matrix(own, y), C.T @ engine.mass_matrix(loose, loose_q) @ C)


@law(
    PAGE,
    r"S \ddot q = H F \qquad H = (I - \Gamma) J^{-1} (I - \Gamma)^T \tag{18}",
    r"A F_c = -B \tau_\delta \qquad A = W^T H W \qquad B = W^T H S \tag{19}",
    r"\ddot q = S^T H (S \tau_\delta + W F_c) \tag{20}",
    r"A_{ii} = W_i^T (J_i^{-1} + X_i J_{i-1}^{-1} X_i^T) W_i \qquad A_{i,i+1} = -W_i^T J_i^{-1} X_{i+1}^T W_{i+1} "
    r"\tag{21}",
    r"A F_c = -B \tau_\delta",
    r"F = S \tau_\delta + W F_c",
    r"W_i^T S_i = 0",
    r"W^T S = 0",
    r"s S^T H F + k z = 0 \tag{22}",
    r"s^2 = E",
    r"E \ddot q = -s z",
)
def constraint_forces() -> None:
    same(W.T @ S, np.zeros((5 * N, N)))
    H = (I - GAMMA) @ inv(J) @ (I - GAMMA).T
    A, B = W.T @ H @ W, W.T @ H @ S
    Fc = solve(A, -B @ R.delta)
    same(S @ R.a, H @ (S @ R.delta + W @ Fc), atol=1e-7)
    same(R.a, S.T @ H @ (S @ R.delta + W @ Fc), atol=1e-7)
    reported = cfa.System.of(R.chain, R.X[None])
    same(reported.H(R.chain.along(R.delta[None]))[0].ravel(), H @ S @ R.delta)
    own, J_inv = A.reshape(N, 5, N, 5), inv(R.J)
    for i in range(N):
        second = R.X[i] @ J_inv[i - 1] @ R.X[i].T if i else 0
        same(own[i, :, i], R.W[i].T @ (J_inv[i] + second) @ R.W[i])
        if i < N - 1:
            same(own[i, :, i + 1], -R.W[i].T @ J_inv[i] @ R.X[i + 1].T @ R.W[i + 1])
    E, locked = np.array([0.5, 0.0, 2.0, 0.0, 0.1, 0.0]), np.arange(N) == 3
    s, k = np.where(locked, 1.0, np.sqrt(E)), np.where(locked, 0.0, 1.0)
    # the unknown forces are W F_c and, along the axes, s z:  [Wᵀ; s Sᵀ] H (S τ + W F_c + S s z) + [0; k z] = 0
    both = np.concatenate([W, S * s], 1)
    system = both.T @ H @ both + np.diag(np.concatenate([np.zeros(5 * N), k]))
    assert np.linalg.eigvalsh(system).min() > 0
    unknown = solve(system, -both.T @ H @ S @ R.delta)
    whole, z = S @ R.delta + both @ unknown, unknown[5 * N :]
    same(s * (S.T @ H @ whole) + k * z, np.zeros(N), atol=1e-7)
    qdd, free = S.T @ H @ whole, np.flatnonzero(~locked)
    same(qdd[free], solve((R.M + np.diag(E))[np.ix_(free, free)], R.delta[free]), atol=1e-7)
    same(qdd[3], 0.0, atol=1e-7), same((E * qdd)[free], -(s * z)[free], atol=1e-7)


@law(
    PAGE,
    r"F_\mathrm{first} = \hat I a + \Phi^T F' + p \tag{23}",
    r"a_\mathrm{last} = \Phi a - Y F' + b \tag{24}",
    r"\Phi = \Psi \qquad Y = S D^{-1} S^T \qquad b = (1 - S D^{-1} U^T) c + S D^{-1} u",
    r"a_m = N (\Phi_1 a - Y_1 (\Phi_2^T F' + p_2) + b_1)",
    r"\hat I = \hat I_1 + \Phi_1^T \hat I_2 N \Phi_1 \qquad \Phi = \Phi_2 N \Phi_1 \qquad "
    r"Y = Y_2 + \Phi_2 N Y_1 \Phi_2^T \tag{25}",
    r"b = \Phi_2 N (b_1 - Y_1 p_2) + b_2 \qquad p = p_1 + \Phi_1^T ( \hat I_2 N (b_1 - Y_1 p_2) + p_2 )",
    r"N = (1 + Y_1 \hat I_2)^{-1}",
    r"\det M \ge 1",
)
def runs() -> None:
    """Links 2 and 3 of the chain are a run; a is link 1's acceleration, and F' the force in joint 4.

    F_first and F' are (3)'s forces as the link before the joint feels them, in that link's frame.
    """
    b = (-AD_V.T @ J @ R.V.ravel()).reshape(1, N, 6)
    links = dca.Links(R.S[None], R.J[None], R.X[None], c[None], b, R.tau[None])
    one = [tuple(part[0, i] for part in dca.reduce(links, 1)) for i in range(N)]
    for i, (I_hat, Phi, Y, own, p) in enumerate(one):
        Jo, po = R.J[i], b[0, i]
        S, X = R.S[i], R.X[i]
        U, tau = Jo @ S, R.tau[i]
        D, u = S @ U, tau - S @ po
        same(I_hat, X.T @ (Jo - np.outer(U, U) / D) @ X)
        same(p, X.T @ (po + (Jo - np.outer(U, U) / D) @ c[i] + U / D * u))
        same(Phi, (np.eye(6) - np.outer(S, U) / D) @ X)
        same(Y, np.outer(S, S) / D)
        same(own, (np.eye(6) - np.outer(S, U) / D) @ c[i] + S / D * u)
    (I1, Phi1, Y1, b1, p1), (I2, Phi2, Y2, b2, p2) = one[2], one[3]
    Nm = inv(np.eye(6) + Y1 @ I2)
    joined = (
        I1 + Phi1.T @ I2 @ Nm @ Phi1,
        Phi2 @ Nm @ Phi1,
        Y2 + Phi2 @ Nm @ Y1 @ Phi2.T,
        Phi2 @ Nm @ (b1 - Y1 @ p2) + b2,
        p1 + Phi1.T @ (I2 @ Nm @ (b1 - Y1 @ p2) + p2),
    )
    for own, reported in zip(joined, dca.join(one[2], one[3]), strict=True):
        same(own, reported)
    assert np.linalg.det(np.eye(6) + Y1 @ I2) >= 1
    I_hat, Phi, Y, b, p = joined
    force = F.reshape(N, 6)
    first, after, a = R.X[2].T @ force[2], R.X[4].T @ force[4], R.A[1]
    same(first, I_hat @ a + Phi.T @ after + p)
    same(R.A[3], Phi @ a - Y @ after + b)
    same(R.A[2], Nm @ (Phi1 @ a - Y1 @ (Phi2.T @ after + p2) + b1))
    assert norm(after) > 0.1
