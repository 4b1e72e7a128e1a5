"""Equations of a step, of docs/step.md and docs/contact.md, on small robots that the program and its text step."""

from dataclasses import replace

import equations
import numpy as np
from behaviour import at, body, loaded, text_of
from equations import same
from numpy.linalg import inv, norm, solve

import engine
from engine import lie
from engine.algorithms import contact_law, step
from engine.algorithms.contact_law import ConstraintRows
from engine.algorithms.motion import equations_of_motion, motion, point_jacobian
from engine.scene import Scene

CONTACT, STEP = "docs/contact.md", "docs/step.md"
law = equations.of
RANDOM = np.random.default_rng(12)
ARM = text_of().replace(
    "</robot>",
    """<link name="arm"><inertial><origin xyz="0.1 0.05 0"/><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute">
<parent link="body"/><child link="arm"/><origin xyz="0 0 0.1"/><axis xyz="0 1 0"/><dynamics damping="0.7"/>
<limit lower="-3" upper="3" effort="100" velocity="50"/></joint></robot>""",
)


def stepped(integrator: str, q: np.ndarray, v: np.ndarray, scene: Scene | None = None, **given: float) -> tuple:
    """Return the box with an arm: its model, the program's simulation after a step, and the reference's result."""
    model = loaded(ARM, floating=True)
    kp, kd = np.zeros(7), np.zeros(7)
    kp[6], kd[6] = given.get("kp", 0.0), given.get("kd", 0.0)
    simulation = engine.Simulation(model, dt=1e-3, integrator=integrator, q=q, v=v, kp=kp, kd=kd, scene=scene)
    simulation.target[0, 6] = given.get("target", 0.0)
    simulation.tau[0, 6] = given.get("tau", 0.0)
    simulation.step()
    acting = step.Inputs(simulation.tau[0].copy(), simulation.target[0].copy())
    return model, simulation, step.step(model, q, v, acting, step.StepSetup(1e-3, integrator, kp, kd, True, scene))


@law(CONTACT, r"v_f = v + h M^{-1} (\tau - \tau_\mathrm{bias}) \tag{C5}")
def free_velocity() -> None:
    model = engine.chain(4, seed=2)
    clear = {name: np.zeros(4) for name in ("friction", "damping")}
    model = replace(model, **clear)
    q, v, tau = (RANDOM.normal(size=4) * 0.3 for _ in range(3))
    simulation = engine.Simulation(model, dt=1e-3, q=q, v=v, limits=False)
    simulation.tau[:] = tau
    simulation.step()
    same(simulation.v[0], v + 1e-3 * solve(engine.mass_matrix(model, q), tau - engine.bias(model, q, v)))


@law(CONTACT, r"u = G \lambda + b \qquad G = J M^{-1} J^T \qquad b = J v_f + c \tag{C6}", r"c_n = \phi / h")
@law(STEP, r"\tau + k_p (q^\ast - q) - k_d v", r"q + h v", r"h (k_d + h k_p)",
     r"u = G \lambda + b", r"G = J \tilde M^{-1} J^T", r"b = J v_f + c", r"s = \mu \lVert u_t \rVert n",
     r"v^+ = v_f + \tilde M^{-1} J^T \lambda", r"\tilde M = M + h (d + k_d + h k_p)",
     r"q^+ = q + h (v + h \dot v)", r"M \dot v + \tau_\mathrm{bias} = \tau")  # fmt: skip
def rows() -> None:
    """The box slides, on a plane to which it is 0.1 mm; its arm has gains and damping, and a torque."""
    h, kp, kd, d, tau, target = 1e-3, 300.0, 4.0, 0.7, 1.5, 0.4
    q, v = np.append(at(body(), 0, 0, 0.1001)[0], 0.2), np.array([0, 0, 0, 1.0, 0.5, -0.3, 2.0])
    given = {"kp": kp, "kd": kd, "tau": tau, "target": target}
    model, simulation, after = stepped("implicit", q, v, Scene(friction=0.4), **given)
    M, bias, shift = engine.mass_matrix(model, q), engine.bias(model, q, v), np.zeros(7)
    shift[6] = d + kd + h * kp
    same(after.problem.M, M + h * np.diag(shift))
    effort = np.zeros(7)
    effort[6] = tau + kp * (target - (q[7] + h * v[6])) - kd * v[6] - d * v[6]  # the effort at q + h v
    v_f = v + h * solve(after.problem.M, effort - bias)  # nothing turns here: ω = 0
    same(after.problem.free, v_f)
    problem, impulse = after.problem, after.impulses
    J, G = problem.rows.J, problem.rows.J @ inv(problem.M) @ problem.rows.J.T
    same(problem.G, G), same(problem.rows.b, J @ v_f + problem.c)
    same(problem.c[problem.normal], [x.gap / h for x in problem.contacts])
    same(problem.c[problem.normal], np.full(4, 1e-4 / h), atol=1e-6)
    v_next = v_f + solve(problem.M, J.T @ impulse)
    same(G @ impulse + problem.rows.b, J @ v_next + problem.c)
    assert norm(impulse) > 1e-3
    turned = v_next.copy()
    turned[3:6] = lie.exp(np.array([*(-h * v_next[:3]), 0, 0, 0]))[0] @ v_next[3:6]
    same(simulation.v[0], turned, atol=1e-7)
    same(simulation.q[0, 7], q[7] + h * v_next[6], atol=1e-7)
    # without contact: M v̇ + h = τ with the drive's effort at the end of the step, q⁺ = q + h (v + h v̇)
    _, alone, _ = stepped("implicit", q, np.array([0, 0, 0, 0, 0, 0, 2.0]), None, **given)
    rest = np.array([0, 0, 0, 0, 0, 0, 2.0])
    dv = (alone.v[0] - rest) / h
    ahead = q[7] + h * (rest[6] + h * dv[6])
    effort[6] = tau + kp * (target - ahead) - (kd + d) * (rest[6] + h * dv[6])
    turning = alone.v[0].copy()
    turning[3:6] = lie.exp(np.array([*(h * alone.v[0, :3]), 0, 0, 0]))[0] @ alone.v[0, 3:6]
    same(M @ ((turning - rest) / h) + engine.bias(model, q, rest), effort, atol=1e-7)
    same(alone.q[0, 7], ahead)


@law(
    CONTACT,
    r"0 \le \pi \perp G_{nn} \pi + \beta \phi \ge 0 \qquad q \leftarrow q \oplus M^{-1} J_n^T \pi \tag{C7}",
    r"\beta = 0.5",
)
def taken_back() -> None:
    """A tilted box that is 2 mm deep is raised by half of it, without a change of velocity."""
    q = at(body(), 0, 0, 0.098)
    q[0, 3:] = [np.sin(0.002), 0, 0, np.cos(0.002)]
    zero = np.zeros(6)
    settings = step.StepSetup(1e-3, "semi-implicit", zero, zero, True, Scene())
    problem = step.step(body(), q[0], zero, step.Inputs(zero, zero), settings).problem
    Jn, phi = problem.rows.J[problem.normal], np.array([x.gap for x in problem.contacts])
    G, share = Jn @ solve(problem.M, Jn.T), np.where(phi < 0, 0.5, 1.0) * phi
    assert phi.min() < -1e-3
    push = contact_law.solve(ConstraintRows(Jn, share, np.zeros(0), np.tile([0, 0, np.inf], (len(phi), 1))), G)
    left = G @ push + share
    assert push.min() >= -1e-12 and left.min() >= -1e-12 and abs(push @ left) < 1e-12  # noqa: PT018
    way = solve(problem.M, Jn.T @ push)
    same(step.overlap_correction(problem), way)
    simulation = engine.Simulation(body(), scene=Scene(), q=q, device="cpu")
    simulation.step()
    R0 = lie.rotation_from_quaternion(q[0, 3:])
    same(simulation.q[0, :3], q[0, :3] + R0 @ (way[3:] + 1e-3 * simulation.v[0, 3:]), atol=1e-7)


@law(CONTACT, r"u_n = -e u_n^-", r"c_n = \min(c_n, e u_n^-)")
def restitution() -> None:
    """A ball that arrives at 2 m/s leaves with half of it, minus gravity's effect in a step."""
    ball = body("sphere")
    simulation = engine.Simulation(ball, scene=Scene(restitution=0.5), q=at(ball, 0, 0, 0.1), v=[[0, 0, 0, 0, 0, -2.0]],
                                   dt=1e-3, device="cpu")  # fmt: skip
    simulation.step()
    same(simulation.v[0, 5], 0.5 * 2.0)


@law(CONTACT, r"c_n = \min(c_n, -s - \sqrt{(e u_n^-)^2 + s^2})", r"s = \min(u_{f,n} - u_n^-, 0)")
def restitution_of_stages() -> None:
    """With `rk4` a fully rebounding ball, after a further step upwards, has its initial energy."""
    ball = body("sphere")
    simulation = engine.Simulation(ball, scene=Scene(restitution=1.0), q=at(ball, 0, 0, 0.1), v=[[0, 0, 0, 0, 0, -2.0]],
                                   dt=1e-3, integrator="rk4", device="cpu")  # fmt: skip
    before = simulation.energy()[0] + simulation.energy()[1]
    simulation.step()
    same(simulation.v[0, 5], np.sqrt(2.0**2 + (9.81e-3) ** 2) - 9.81e-3)
    same(simulation.energy()[0] + simulation.energy()[1], before)


@law(
    STEP,
    r"M = \sum J_i^T I_i J_i",
    r"\tau_\mathrm{bias} = \sum J_i^T \left( I_i (\dot J_i v - a_0) - \mathrm{ad}(V_i)^T I_i V_i \right)",
    r"\max_{\lVert n \rVert = 1} \left( \min_{x \in A} n \cdot x - \max_{y \in B} n \cdot y \right)",
)
def sums() -> None:
    model = engine.tree(5, seed=4)
    q, v = model.random(RANDOM), RANDOM.normal(size=model.nv)
    here, M, bias = motion(model, q, v), 0.0, 0.0
    a0 = np.concatenate([np.zeros(3), model.gravity])
    for i in range(len(model.parent)):
        X = inv(lie.Ad(here.R[i], here.p[i]))
        inertia, J, V = X.T @ model.J[i] @ X, here.J[i], here.J[i] @ v
        M = M + J.T @ inertia @ J
        bias = bias + J.T @ (inertia @ (here.drift[i] - a0) - lie.ad(V).T @ inertia @ V)
    same(M, engine.mass_matrix(model, q), equations_of_motion(model, here)[0])
    same(bias, engine.bias(model, q, v), equations_of_motion(model, here)[1])
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) / 2
    turns = np.linspace(0, 2 * np.pi, 4001)
    n = np.stack([np.cos(turns), np.sin(turns)])
    for far in (0.7, 3.0):  # two squares with edges of 1 m, overlapping and apart
        distance = np.max(np.min((corners + np.array([far, 0.1])) @ n, 0) - np.max(corners @ n, 0))
        same(distance, far - 1)


@law(CONTACT, r"-\omega \times v", r"\omega \times \omega = 0", r"J = J_a - J_b")
@law(STEP, r"-\omega \times v", r"h \omega", r"\mathrm{Ad}(T_i) S_i")
def turning_frames() -> None:
    """A body that flies free turns, and moves straight on; the text's v_f leaves the frame's rotation out."""
    free, q = body().with_gravity((0, 0, 0)), at(body(), 1, 2, 3)[0]
    v = np.array([0, 0, 3.0, 1.0, 0, 0.5])
    rate = engine.forward_dynamics(free, q, v, np.zeros(6))
    same(rate, [0, 0, 0, *-np.cross(v[:3], v[3:])])
    zero, h = np.zeros(6), 1e-2
    after = step.step(free, q, v, step.Inputs(zero, zero), step.StepSetup(h, "semi-implicit", zero, zero, True, None))
    same(after.problem.free, v), same(v + h * rate + [0, 0, 0, *(h * np.cross(v[:3], v[3:]))], v)
    simulation = engine.Simulation(free, dt=h, q=q, v=v, device="cpu")
    simulation.step()
    R = lie.exp(np.array([*(h * v[:3]), 0, 0, 0]))[0]
    same(lie.rotation_from_quaternion(simulation.q[0, 3:]), R)
    same(simulation.v[0], [*v[:3], *(R.T @ v[3:])]), same(simulation.q[0, :3], q[:3] + h * v[3:])
    model = engine.chain(2, seed=1)
    at0, x = motion(model, model.neutral(), np.zeros(2)), np.array([0.1, 0.2, 0.3])
    same(at0.J[1] - at0.J[0], np.outer(lie.Ad(at0.R[1], at0.p[1])[:, 2], [0, 1]))
    between = point_jacobian(model, at0, 1, x) - point_jacobian(model, at0, 0, x)
    same(between[:, 0], np.zeros(3)), same(between[:, 1], np.cross(at0.R[1][:, 2], x - at0.p[1]))


@law(CONTACT, r"g \sin\theta / (1 + I / m r^2)", r"\lvert b \rvert = g h", r"h (k_d + h k_p)")
def balls_and_boxes() -> None:
    """A ball of I = 0.01 kg m², m = 1 kg and r = 0.1 m rolls down; a box rests. The gains' share is in `rows`."""
    ball, theta = body("sphere"), 0.3
    plane = engine.slope(theta)
    q = at(ball, *(0.1 * np.array(plane.normal)))
    rolls = engine.Simulation(ball, scene=Scene(ground=plane, friction=1.0), q=q, device="cpu")
    rolls.step(50)
    speed = engine.momentum(ball, rolls.q[0], rolls.v[0])[3:] @ [np.cos(theta), 0, -np.sin(theta)]
    same(speed / rolls.time, 9.81 * np.sin(theta) / (1 + 0.01 / (1 * 0.1**2)), atol=1e-6)
    zero, q = np.zeros(6), at(body(), 0, 0, 0.1)[0]
    settings = step.StepSetup(1e-3, "semi-implicit", zero, zero, True, Scene())
    same(np.abs(step.step(body(), q, zero, step.Inputs(zero, zero), settings).problem.rows.b).max(), 9.81 * 1e-3)
