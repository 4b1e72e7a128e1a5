"""Motion over time: convergence, and the effect of limits, damping and friction."""

import dataclasses

import numpy as np
import pytest

import engine


def total_energy(simulation):
    return sum(part[0] for part in simulation.energy())


@pytest.fixture(scope="module")
def double_pendulum(request):
    return engine.load(request.config.rootpath / "robots" / "double_pendulum.urdf")


@pytest.mark.parametrize(("integrator", "order"), [("semi-implicit", 1), ("implicit", 1), ("rk4", 4)])
def test_each_integrator_has_its_order(integrator, order):
    model = dataclasses.replace(engine.tree(4, seed=3, floating=True, prismatic=0.3), damping=np.full(9, 0.02))
    rng = np.random.default_rng(1)
    q, v = model.random(rng), rng.uniform(-1, 1, model.nv)

    def end(dt, name):
        simulation = engine.Simulation(model, dt=dt, integrator=name, q=q, v=v)
        simulation.step(round(0.48 / dt))
        return np.concatenate([simulation.q[0], simulation.v[0]])

    exact = end(2.5e-4, "rk4")
    steps = np.array([8e-3, 4e-3, 2e-3])
    errors = [np.linalg.norm(end(dt, integrator) - exact) for dt in steps]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_quaternions_stay_unit(integrator):
    model = engine.tree(3, floating=True)
    simulation = engine.Simulation(model, integrator=integrator, v=np.full(model.nv, 2.0))
    simulation.step(2000)
    assert np.linalg.norm(simulation.q[0, 3:7]) == pytest.approx(1, abs=1e-14)


def thrown(robot, integrator, pytestconfig):
    """Simulations of a robot that starts somewhere inside its limits, fast."""
    model = engine.load(pytestconfig.rootpath / "robots" / f"{robot}.urdf")
    rng, scalar = np.random.default_rng(4), model.q_of_v >= 0
    for _ in range(3):
        v = rng.uniform(-3, 3, model.nv) * np.where(scalar, np.minimum(model.velocity_limit, 3) / 3, 0.3)
        yield engine.Simulation(model, integrator=integrator, q=model.random(rng), v=v)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("robot", ["arm6", "arm7", "scara", "humanoid", "snake50"])
def test_position_limits_hold(robot, integrator, pytestconfig):
    touched = 0
    for simulation in thrown(robot, integrator, pytestconfig):
        model, start, kinetic = simulation.model, total_energy(simulation), simulation.energy()[0][0]
        scalar = model.q_of_v >= 0
        for _ in range(1000):
            simulation.step(1)
            q = simulation.q[0, model.q_of_v[scalar]]
            inside = np.minimum(q - model.lower[scalar], model.upper[scalar] - q)
            touched += np.any(inside < 1e-9)
            assert np.all(inside > -1e-9)
            # What RK4 leaves: held joints move by dt v⁺ instead of its own, an error of first order in the position.
            assert integrator != "rk4" or total_energy(simulation) < start + 1e-3 * kinetic
    assert touched > 10, "no limit was reached: the test shows nothing"


@pytest.mark.parametrize("robot", ["arm6", "arm7", "scara", "humanoid", "snake50"])
def test_limits_and_friction_never_add_energy(robot, pytestconfig):
    """In every step the kinetic energy is at most that of the velocity they were applied to."""
    acted = 0
    for simulation in thrown(robot, "semi-implicit", pytestconfig):
        model = simulation.model
        for _ in range(400):
            q, v = simulation.q[0].copy(), simulation.v[0].copy()
            free = v + simulation.dt * engine.forward_dynamics(model, q, v, -model.damping * v)
            simulation.step(1)
            before, after = (engine.energy(model, q, x)[0] for x in (free, simulation.v[0]))
            acted += after < before * (1 - 1e-9)
            assert after <= before + 1e-12 * (1 + before)
    assert acted > 100


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_many_limits_at_once_are_solved_too(integrator, pytestconfig):
    """Starts from which block pivoting goes round in circles: 50 joints, half of them thrown against their limits."""
    model = engine.load(pytestconfig.rootpath / "robots" / "snake50.urdf")
    for seed, speed in ((5, 0.0), (2, 3.0), (1, 3.0)):
        rng = np.random.default_rng(seed)
        q = model.random(rng, 16)
        v = np.clip(speed * rng.standard_normal((16, model.nv)), -model.velocity_limit, model.velocity_limit)
        simulation = engine.Simulation(model, batch=16, integrator=integrator, q=q, v=v)
        for _ in range(500):
            before_q, before_v = simulation.q.copy(), simulation.v.copy()
            simulation.step(1)
            outside = np.maximum(simulation.q - model.upper, model.lower - simulation.q)
            assert outside.max() <= 1e-9
            if integrator == "semi-implicit":
                pull = engine.forward_dynamics(model, before_q, before_v, -model.damping * before_v)
                free = engine.energy(model, before_q, before_v + simulation.dt * pull)[0]
                assert np.all(engine.energy(model, before_q, simulation.v)[0] <= free * (1 + 1e-12))


def test_forces_that_are_not_finite_are_refused(double_pendulum):
    simulation = engine.Simulation(double_pendulum)
    simulation.tau[0, 1] = np.nan
    with pytest.raises(ValueError, match=r"sim\.tau\[0, 1\] is not finite"):
        simulation.step(1)


@pytest.mark.parametrize("n", [-1, 1.5, "a"])
def test_a_number_of_steps_is_a_whole_number(double_pendulum, n):
    with pytest.raises(ValueError, match=r"n is .*; expected a whole number of 0 or more"):
        engine.Simulation(double_pendulum).step(n)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_a_hard_stop_takes_the_energy_of_what_hits_it(integrator):
    """A frictionless pendulum falls onto its limit and stays there: no bounce, no creep, no gain."""
    model = engine.chain(1, straight=True)
    horizontal = dataclasses.replace(
        model,
        gravity=np.array([0.0, -9.81, 0.0]),
        first_moment=np.array([[0.5, 0.0, 0.0]]),
        lower=np.array([-1.0]),
        upper=np.array([1.0]),
    )
    simulation = engine.Simulation(horizontal, integrator=integrator, q=[0.0])
    energy = total_energy(simulation)
    for _ in range(3000):
        simulation.step(1)
        assert total_energy(simulation) <= energy + 1e-2
        assert simulation.q[0, 0] >= -1.0 - 1e-12
    assert simulation.q[0, 0] == pytest.approx(-1.0, abs=1e-9)
    assert simulation.v[0, 0] == pytest.approx(0.0, abs=1e-9)


def test_limits_are_the_projection_in_the_metric_of_the_mass_matrix(rng):
    """The bounded velocity is that of least kinetic distance from the free one: checked against a brute search."""
    import itertools

    model = engine.chain(4, seed=5).with_gravity((0, 0, 0))
    bounded = dataclasses.replace(model, lower=np.full(4, -1.0), upper=np.full(4, 1.0))
    dt = 1e-3
    for _ in range(20):
        q = rng.choice([-1.0, 1.0, 0.0], 4)
        v, tau = rng.uniform(-3, 3, 4), rng.uniform(-5, 5, 4)
        simulation = engine.Simulation(bounded, dt=dt, q=q, v=v)
        simulation.tau[0] = tau
        simulation.step(1)
        M = engine.mass_matrix(model, q)
        free = v + dt * engine.forward_dynamics(model, q, v, tau)
        low, high = (-1.0 - q) / dt, (1.0 - q) / dt
        best, best_cost = None, np.inf
        for choice in itertools.product((None, "low", "high"), repeat=4):
            fixed = [i for i in range(4) if choice[i]]
            loose = [i for i in range(4) if not choice[i]]
            x = free.copy()
            x[fixed] = [low[i] if choice[i] == "low" else high[i] for i in fixed]
            if loose:
                coupling = M[np.ix_(loose, fixed)] @ (x - free)[fixed]
                x[loose] = free[loose] - np.linalg.solve(M[np.ix_(loose, loose)], coupling)
            cost = (x - free) @ M @ (x - free)
            if np.all(x >= low - 1e-9) and np.all(x <= high + 1e-9) and cost < best_cost:
                best, best_cost = x, cost
        np.testing.assert_allclose(simulation.v[0], best, atol=1e-8)


def test_limits_can_be_ignored(double_pendulum):
    model = dataclasses.replace(double_pendulum, lower=np.full(2, -0.1), upper=np.full(2, 0.1))
    simulation = engine.Simulation(model, limits=False)
    simulation.step(500)
    assert np.abs(simulation.q).max() > 0.2


def test_velocity_and_effort_limits_are_used():
    model = dataclasses.replace(engine.chain(1).with_gravity((0, 0, 0)), velocity_limit=np.array([2.0]))
    simulation = engine.Simulation(model)
    simulation.tau[:] = 5
    simulation.step(2000)
    assert simulation.v[0, 0] == pytest.approx(2.0, abs=1e-9)
    weak = dataclasses.replace(engine.chain(1).with_gravity((0, 0, 0)), effort_limit=np.array([0.5]))
    pushed, pulled = (
        engine.Simulation(weak),
        engine.Simulation(dataclasses.replace(weak, effort_limit=np.array([np.inf]))),
    )
    pushed.tau[:], pulled.tau[:] = 100.0, 0.5
    pushed.step(10)
    pulled.step(10)
    np.testing.assert_array_equal(pushed.v, pulled.v)


def test_implicit_damping_is_stable_where_explicit_damping_is_not():
    model = dataclasses.replace(engine.chain(3), damping=np.full(3, 50.0))
    stable = engine.Simulation(model, integrator="implicit", v=[5, -5, 5])
    stable.step(2000)
    assert np.abs(stable.v).max() < 1
    with pytest.raises(engine.Diverged, match=r'diverged at .* joint\d; halve dt .* or take integrator="implicit"'):
        engine.Simulation(model, integrator="semi-implicit", v=[5, -5, 5]).step(2000)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_friction_brings_to_rest_and_holds(integrator):
    model = dataclasses.replace(engine.chain(1).with_gravity((0, 0, 0)), friction=np.array([0.2]))
    inertia = engine.mass_matrix(model, [0.0])[0, 0]
    simulation = engine.Simulation(model, integrator=integrator, v=[3.0])
    stop = 3.0 * inertia / 0.2
    simulation.step(int(stop / 2 / 1e-3))
    assert simulation.v[0, 0] == pytest.approx(3.0 - 0.2 / inertia * simulation.time, rel=1e-9)
    simulation.step(int(stop / 1e-3))
    q = simulation.q[0, 0]
    simulation.tau[:] = 0.199
    simulation.step(1000)
    assert simulation.q[0, 0] == pytest.approx(q, abs=1e-12)
    simulation.tau[:] = -0.3
    simulation.step(100)
    assert simulation.v[0, 0] == pytest.approx(-0.1 / inertia * 0.1, rel=1e-9)


def test_a_batch_moves_like_its_robots_alone(pytestconfig, rng):
    model = engine.load(pytestconfig.rootpath / "robots" / "arm7.urdf")
    q, v = model.random(rng, 11), rng.uniform(-1, 1, (11, model.nv))
    together = engine.Simulation(model, batch=11, q=q, v=v)
    together.step(300)
    for robot in range(11):
        alone = engine.Simulation(model, q=q[robot], v=v[robot])
        alone.step(300)
        np.testing.assert_allclose(together.q[robot], alone.q[0], atol=1e-9)
    again = engine.Simulation(model, batch=11, q=q, v=v)
    again.step(300)
    np.testing.assert_array_equal(together.q, again.q)


MIMIC = """<robot name="gripper">
  <link name="base"/>
  {links}
  <joint name="lead" type="revolute"><parent link="base"/><child link="l0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="10"/></joint>
  <joint name="follow" type="revolute"><parent link="l0"/><child link="l1"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="100"/><mimic joint="lead" multiplier="-0.5" offset="0.1"/></joint>
  <joint name="slide" type="prismatic"><parent link="l0"/><child link="l2"/><origin xyz="0 0 0.3"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="100"/></joint>
</robot>"""
LINK = """<link name="l{}"><inertial><origin xyz="0.02 0 0.1"/><mass value="1.5"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


@pytest.fixture
def gripper(tmp_path):
    path = tmp_path / "gripper.urdf"
    path.write_text(MIMIC.format(links="".join(LINK.format(i) for i in range(3))))
    return path


def test_mimic_joints_are_honoured_exactly(gripper, rng):
    model, loose = engine.load(gripper), engine.load(gripper, mimic=False)
    assert (model.nq, loose.nq) == (2, 3)
    assert model.joint_names == ("lead", "slide")
    G = np.array([[1, 0], [-0.5, 0], [0, 1]])
    y, yd, tau = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)
    q, v = G @ y + [0, 0.1, 0], G @ yd
    M = G.T @ engine.mass_matrix(loose, q) @ G
    np.testing.assert_allclose(engine.mass_matrix(model, y), M, atol=1e-14)
    expected = np.linalg.solve(M, tau - G.T @ engine.bias(loose, q, v))
    np.testing.assert_allclose(engine.forward_dynamics(model, y, yd, tau), expected, rtol=1e-12)
    np.testing.assert_allclose(engine.link_poses(model, y), engine.link_poses(loose, q), atol=1e-14)
    with pytest.raises(ValueError, match="abia does not support gripper: joint 'follow' mimics 'lead'; use jsiia"):
        engine.forward_dynamics(model, y, yd, tau, algorithm="abia")
    with pytest.raises(KeyError, match="follows 'lead'"):
        model.q_slice("follow")


def test_a_robot_with_mimic_joints_keeps_energy_and_limits(gripper):
    model = engine.load(gripper)
    # The follower's range maps the leader's to what keeps both: (q + 0.1 … ) in −1 … 1.
    assert model.lower[0] == pytest.approx(-1.8)
    simulation = engine.Simulation(model, integrator="rk4", q=[0.2, 0.1], limits=False)
    start = total_energy(simulation)
    simulation.step(2000)
    assert total_energy(simulation) == pytest.approx(start, abs=1e-7)
    bounded = engine.Simulation(model, q=[0.2, 0.1])
    for _ in range(3000):
        bounded.step(1)
        assert np.all(bounded.q >= model.lower - 1e-12)
        assert np.all(bounded.q <= model.upper + 1e-12)


def test_rollout_is_the_simulation_step_by_step(rng):
    model = engine.chain(4)
    controls = rng.uniform(-1, 1, (3, 60, 4))
    q0 = model.random(rng, 3)
    trajectory = engine.rollout(model, q0, controls=controls, every=20)
    assert trajectory.q.shape == (3, 4, 4)
    simulation = engine.Simulation(model, batch=3, q=q0)
    for step in range(60):
        simulation.tau[:] = controls[:, step]
        simulation.step(1)
        if step % 20 == 19:
            np.testing.assert_array_equal(trajectory.q[:, step // 20 + 1], simulation.q)
            np.testing.assert_array_equal(trajectory.tau[:, step // 20 + 1], controls[:, step])
    np.testing.assert_allclose(trajectory.time, [0, 0.02, 0.04, 0.06])
    single = engine.rollout(model, q0[0], controls=controls[0], every=20)
    assert single.q.shape == (4, 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dt": 0}, "dt is 0; expected a positive"),
        ({"dt": float("nan")}, "dt is nan"),
        ({"batch": 0}, "batch is 0"),
        ({"integrator": "euler"}, "integrator is 'euler'; expected one of 'semi-implicit', 'rk4', 'implicit'"),
        ({"q": [1, 2]}, "q has shape"),
        ({"algorithm": "abia-hybrid"}, "abia-hybrid does not step chain3 on cpu, .*; use abia"),
    ],
)
def test_wrong_settings_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        engine.Simulation(engine.chain(3), **arguments)


def test_phases_are_timed_and_add_up():
    import time

    simulation = engine.Simulation(engine.chain(300), dt=1e-4, algorithm="abia")
    simulation.step(1)
    start = time.perf_counter()
    simulation.step(1)
    wall = time.perf_counter() - start
    assert set(simulation.phases) == set(engine.PHASES["cpu"]["abia"])
    assert {name for name, seconds in simulation.phases.items() if seconds == 0} == {"constraints"}
    assert sum(simulation.phases.values()) <= wall


def test_the_effort_is_what_moves_the_joints(rng):
    """Over a step of semi-implicit Euler, v⁺ = v + dt FD(q, v, effort), clipped at the limits, gains included."""
    model = engine.load(engine.find_robot("arm7"))
    model = dataclasses.replace(model, damping=np.zeros(7), friction=np.zeros(7))
    q, v = model.random(rng), rng.uniform(-1, 1, 7)
    simulation = engine.Simulation(model, q=q, v=v, kp=40.0, kd=2.0, limits=False)
    simulation.tau[:] = rng.uniform(-5, 5, 7)
    simulation.tau[0, 0] = 10 * model.effort_limit[0]
    simulation.target[:] = q + 0.1
    effort = simulation.effort
    assert effort[0, 0] == model.effort_limit[0]
    np.testing.assert_allclose(
        effort[0, 1:], np.clip(simulation.tau[0] + 4 - 2 * v, -model.effort_limit, model.effort_limit)[1:]
    )
    simulation.step(1)
    a = engine.forward_dynamics(model, q, v, effort[0])
    np.testing.assert_allclose(simulation.v[0], v + 1e-3 * a, rtol=1e-9, atol=1e-9)


def test_the_effort_of_what_has_no_drive_is_what_was_set():
    model = engine.tree(5, seed=1, floating=True, spherical=0.5)
    simulation = engine.Simulation(model, 2)
    simulation.tau[:] = np.arange(2 * model.nv).reshape(2, -1)
    np.testing.assert_array_equal(simulation.effort, simulation.tau)
