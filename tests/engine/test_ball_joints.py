"""Ball joints on the CPU: the same numbers as Pinocchio's, axes locked one by one, and motion over time."""

import dataclasses

import numpy as np
import pytest

import engine
from engine.bench.peers.pinocchio import pinocchio_aba
from engine.cpu.accelerations import Accelerations, CoordinateForces, Dynamics, accelerations, prepare
from engine.cpu.rigid_body import jsiia
from engine.cpu.rigid_body.workspace import EIGHT, ONE, workspace
from engine.holding import inertia_and_load, mobility
from engine.model import SPHERICAL
from engine.model.layout import pack, pack_coupling
from engine.selection import capabilities

MODELS = {
    "one ball": engine.chain(1, spherical=1.0),
    "chain": engine.chain(8, seed=1, spherical=0.6),
    "tree": engine.tree(9, seed=2, spherical=0.5, prismatic=0.2),
    "floating tree": engine.tree(15, seed=3, spherical=0.3, prismatic=0.2, floating=True),
    "balls alone": engine.tree(12, seed=4, spherical=1.0, branching=0.6),
}
each_model = pytest.mark.parametrize("name", MODELS)
each_integrator = pytest.mark.parametrize("integrator", engine.INTEGRATORS)


def state(model, rng, batch=None):
    shape = (model.nv,) if batch is None else (batch, model.nv)
    return model.random(rng, batch), rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)


def test_the_models_have_what_is_tested():
    assert all(np.any(model.kind == SPHERICAL) for model in MODELS.values())
    assert MODELS["balls alone"].nq == 48
    assert MODELS["balls alone"].nv == 36
    names = MODELS["one ball"].coordinate_names
    assert names == ("joint1.wx", "joint1.wy", "joint1.wz")
    np.testing.assert_array_equal(MODELS["one ball"].neutral(), [0, 0, 0, 1])


@each_model
def test_all_agrees_with_pinocchio(name, rng):
    pin, model = pytest.importorskip("pinocchio"), MODELS[name]
    peer = pinocchio_aba(model)
    data, order = peer.model.createData(), peer.order
    for _ in range(5):
        q, v, tau = state(model, rng)
        exact = np.empty(model.nv)
        exact[order] = peer.aba(q, v[order], tau[order])
        for algorithm in ("abia", "jsiia"):
            answer = engine.forward_dynamics(model, q, v, tau, algorithm, "cpu")
            np.testing.assert_allclose(answer, exact, rtol=0, atol=1e-9 * np.abs(exact).max(), err_msg=algorithm)
        exact[order] = pin.rnea(peer.model, data, q, v[order], tau[order])
        np.testing.assert_allclose(engine.inverse_dynamics(model, q, v, tau), exact, rtol=0, atol=1e-9)
        exact[order] = pin.nonLinearEffects(peer.model, data, q, v[order])
        np.testing.assert_allclose(engine.bias(model, q, v), exact, rtol=0, atol=1e-9)
        upper = np.triu(pin.crba(peer.model, data, q))
        M = engine.mass_matrix(model, q)[np.ix_(order, order)]
        np.testing.assert_allclose(M, upper + np.triu(upper, 1).T, rtol=0, atol=1e-9)
        pin.forwardKinematics(peer.model, data, q, v[order])
        frames = np.array([frame.homogeneous for frame in data.oMi])
        np.testing.assert_allclose(engine.link_poses(model, q), frames, rtol=0, atol=1e-12)
        energies = engine.energy(model, q, v)
        kinetic = pin.computeKineticEnergy(peer.model, data)
        np.testing.assert_allclose(
            energies, (kinetic, pin.computePotentialEnergy(peer.model, data, q)), rtol=0, atol=1e-9
        )
        force = pin.computeCentroidalMomentum(peer.model, data).linear
        np.testing.assert_allclose(engine.momentum(model, q, v)[3:], force, rtol=0, atol=1e-9)


@pytest.mark.sample(6)
@pytest.mark.usefixtures("each_form")
@each_model
@pytest.mark.parametrize("algorithm", ["abia", "jsiia"])
@pytest.mark.parametrize("batch", [None, 2, 37, 500])
def test_inverse_of_forward_is_identity_wherever_a_robot_stands(name, algorithm, batch, rng):
    model = MODELS[name]
    q, v, tau = state(model, rng, batch)
    fd = engine.ForwardDynamics(model, batch or 1, algorithm, "cpu")
    a = fd(q, v, tau)
    np.testing.assert_allclose(engine.inverse_dynamics(model, q, v, a), tau, rtol=0, atol=1e-10)
    if batch is not None:
        np.testing.assert_allclose(fd(q[-1], v[-1], tau[-1]), a[-1], rtol=1e-10, atol=1e-10)


@each_model
@pytest.mark.parametrize("algorithm", ["abia", "jsiia"])
def test_wrenches_on_links_do_the_work_that_they_should(name, algorithm, rng):
    model = MODELS[name]
    q, v, tau = state(model, rng, 10)
    external = rng.uniform(-1, 1, (10, len(model.link_names), 6))
    a = engine.forward_dynamics(model, q, v, tau, algorithm, "cpu", external=external)
    np.testing.assert_allclose(engine.inverse_dynamics(model, q, v, a, external=external), tau, rtol=0, atol=1e-10)
    # On a link whose frame is that of a ball joint's body, a torque does what the joint's own would.
    body = int(np.flatnonzero(model.kind == SPHERICAL)[-1])
    external[:] = 0
    external[:, body + 1, :3] = tau[:, model.v_start[body] : model.v_start[body] + 3]
    chain = engine.inverse_dynamics(model, q, v, np.zeros_like(v), external=external)
    own = (engine.bias(model, q, v) - chain)[:, model.v_start[body] : model.v_start[body] + 3]
    np.testing.assert_allclose(own, external[:, body + 1, :3], rtol=0, atol=1e-10)


def test_single_precision_is_served(rng):
    model = MODELS["tree"]
    q, v, tau = state(model, rng, 20)
    exact = engine.forward_dynamics(model, q, v, tau, device="cpu")
    rough = engine.forward_dynamics(model, q, v, tau, device="cpu", dtype="float32")
    assert np.abs(rough - exact).max() < 1e-3 * np.abs(exact).max()


def test_algorithms_on_serial_chains_refuse_them_by_name():
    model = MODELS["chain"]
    assert engine.algorithms(model, "cpu") == ("abia", "dca", "jsiia")
    assert engine.algorithms(model, "cuda") == ("abia", "dca", "jsiia")
    for algorithm in ("cfa", "abia-hybrid"):
        with pytest.raises(ValueError, match="is a ball joint; use abia"):
            engine.ForwardDynamics(model, algorithm=algorithm, device="cpu")
    for algorithm in ("cfa", "abia-hybrid"):
        assert "is a ball joint; use abia" in capabilities.refusal(algorithm, model, "cuda")


def dynamics(model, algorithm, lanes):
    dense = jsiia.dense(model) if algorithm == "jsiia" else ()
    room = workspace(len(model.parent), lanes)
    return Dynamics(algorithm, pack_coupling(model), *pack(model), room, lanes, dense)


@pytest.mark.parametrize("name", ["one ball", "tree", "balls alone"])
@pytest.mark.parametrize(("algorithm", "lanes"), [("abia", ONE), ("abia", EIGHT), ("jsiia", ONE)])
def test_axes_locked_one_by_one_are_those_of_the_whole_system(name, algorithm, lanes, rng):
    """(M + E) q̈ + bias = τ + r, with q̈ given where r may act: solved as one dense system."""
    model, L = MODELS[name], len(lanes)
    q, v, tau = state(model, rng, L)
    inertia, target = rng.uniform(0, 0.1, v.shape), rng.uniform(-3, 3, v.shape)
    kernels, loads, phases = dynamics(model, algorithm, lanes), (model.gravity.copy(), ()), np.zeros(0, np.int64)
    locks = rng.random((8, *v.shape)) < 0.4
    locks[0] = True
    prepare(q, v, kernels, loads, phases)
    for locked in locks:
        forces = CoordinateForces(tau.copy(), inertia, locked.astype(float), target)
        answer = Accelerations(np.empty_like(v), np.empty_like(v))
        accelerations(forces, answer, kernels, loads, phases)
        for k in range(L):
            M, held = engine.mass_matrix(model, q[k]) + np.diag(inertia[k]), np.flatnonzero(locked[k])
            P = np.eye(model.nv)[held]
            system = np.block([[M, -P.T], [P, np.zeros((len(held),) * 2)]])
            right = np.concatenate([tau[k] - engine.bias(model, q[k], v[k]), target[k][held]])
            solved = np.linalg.solve(system, right)
            scale = max(1.0, np.abs(solved).max())
            np.testing.assert_allclose(answer.qdd[k], solved[: model.nv], rtol=0, atol=1e-10 * scale)
            np.testing.assert_allclose(answer.reaction[k], P.T @ solved[model.nv :], rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize(("integrator", "order"), [("semi-implicit", 1), ("implicit", 1), ("rk4", 4)])
def test_each_integrator_has_its_order(integrator, order, rng):
    model = MODELS["tree"]
    model = dataclasses.replace(model, damping=np.where(model.constrained, 0.02, 0))
    q, v, _ = state(model, rng)

    def end(dt, name):
        simulation = engine.Simulation(model, dt=dt, integrator=name, q=q, v=v)
        simulation.step(round(0.24 / dt))
        return np.concatenate([simulation.q[0], simulation.v[0]])

    exact, steps = end(2.5e-4, "rk4"), np.array([4e-3, 2e-3, 1e-3])
    errors = [np.linalg.norm(end(dt, integrator) - exact) for dt in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.25)


def test_energy_and_momentum_are_kept():
    rng, model = np.random.default_rng(5), MODELS["floating tree"].with_gravity((0, 0, 0))
    v = rng.uniform(-1, 1, model.nv)
    simulation = engine.Simulation(model, dt=5e-4, integrator="rk4", q=model.random(rng), v=v)
    energy, start = sum(simulation.energy())[0], engine.momentum(model, simulation.q, simulation.v)[0]
    simulation.step(6000)
    assert np.linalg.norm(start[:3]) > 0.1
    np.testing.assert_allclose(engine.momentum(model, simulation.q, simulation.v)[0], start, rtol=0, atol=1e-8)
    assert sum(simulation.energy())[0] == pytest.approx(energy, rel=1e-7)


def test_the_energy_error_falls_with_the_integrator_s_order():
    model, slopes = MODELS["one ball"], {}
    for integrator in engine.INTEGRATORS:
        errors, steps = [], np.array([4e-3, 2e-3, 1e-3])
        for dt in steps:
            simulation = engine.Simulation(model, dt=dt, integrator=integrator, v=[2.0, -1.0, 1.5])
            start, error = sum(simulation.energy())[0], 0.0
            for _ in range(40):
                simulation.step(round(0.032 / dt))
                error = max(error, abs(sum(simulation.energy())[0] - start))
            errors.append(error)
        slopes[integrator] = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slopes["semi-implicit"] == pytest.approx(1, abs=0.25)
    assert slopes["implicit"] == pytest.approx(1, abs=0.25)
    assert slopes["rk4"] > 3.7


@each_integrator
def test_quaternions_stay_unit(integrator):
    model = MODELS["balls alone"]
    simulation = engine.Simulation(model, integrator=integrator, v=np.full(model.nv, 0.5))
    simulation.step(500)
    lengths = np.linalg.norm(simulation.q[0].reshape(-1, 4), axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=0, atol=1e-14)


@pytest.mark.parametrize("algorithm", ["abia", "jsiia"])
def test_damping_and_velocity_gains_act_at_the_end_of_an_implicit_step(algorithm, rng):
    dt, model = 1e-2, MODELS["tree"]
    model = dataclasses.replace(model, damping=rng.uniform(0, 50, model.nv))
    kd = rng.uniform(0, 50, model.nv)
    q, v, tau = state(model, rng)
    simulation = engine.Simulation(model, dt=dt, integrator="implicit", q=q, v=v, kd=kd, algorithm=algorithm)
    simulation.tau[:] = tau
    simulation.step()
    resistance = model.damping + kd
    M = engine.mass_matrix(model, q) + dt * np.diag(resistance)
    after = v + dt * np.linalg.solve(M, tau - engine.bias(model, q, v) - resistance * v)
    np.testing.assert_allclose(simulation.v[0], after, rtol=0, atol=1e-10)


@each_integrator
@pytest.mark.parametrize("batch", [1, 9])
def test_a_velocity_limit_holds_for_each_axis(integrator, batch):
    model = MODELS["balls alone"]
    model = dataclasses.replace(model, velocity_limit=np.full(model.nv, 0.7), friction=np.full(model.nv, 0.01))
    simulation = engine.Simulation(model, batch, integrator=integrator)
    fastest = 0.0
    for _ in range(50):
        simulation.step(4)
        fastest = max(fastest, np.abs(simulation.v).max())
    assert fastest == pytest.approx(0.7, abs=1e-9)
    assert np.ptp(simulation.v, axis=0).max() == 0


@each_integrator
def test_friction_holds_a_ball_joint_for_good(integrator):
    model = MODELS["one ball"]
    q = np.array([0.3, -0.4, 0.5, np.sqrt(0.5)])
    pull = np.abs(engine.static_loads(model, q))
    stuck = dataclasses.replace(model, friction=1.01 * pull)
    simulation = engine.Simulation(stuck, integrator=integrator, q=q)
    simulation.step(200)
    np.testing.assert_allclose(simulation.q[0], q, rtol=0, atol=1e-14)
    slipping = dataclasses.replace(model, friction=pull * [0.5, 1.01, 1.01])
    simulation = engine.Simulation(slipping, integrator=integrator, q=q)
    simulation.step()
    assert abs(simulation.v[0, 0]) > 1e-6


@each_integrator
def test_friction_brings_to_rest(integrator):
    model = MODELS["one ball"].with_gravity((0, 0, 0))
    model = dataclasses.replace(model, friction=np.full(3, 0.02))
    simulation = engine.Simulation(model, integrator=integrator, v=[1.0, -2.0, 0.5])
    energies = []
    for _ in range(120):
        simulation.step(20)
        energies.append(sum(simulation.energy())[0])
    assert np.all(np.diff(energies) <= 1e-12)
    assert np.abs(simulation.v).max() == 0


def test_an_effort_limit_clips_each_axis():
    model = dataclasses.replace(MODELS["one ball"], effort_limit=np.full(3, 0.1))
    strong, weak = (engine.Simulation(robot, dt=1e-3) for robot in (MODELS["one ball"], model))
    strong.tau[:], weak.tau[:] = [0.1, 0, -0.1], [5, 0, -7]
    strong.step(3)
    weak.step(3)
    np.testing.assert_array_equal(strong.v, weak.v)


def test_gains_are_velocity_gains():
    model = MODELS["one ball"]
    with pytest.raises(ValueError, match=r"kp is not 0 for joint1\.wx; a ball joint takes kd alone"):
        engine.Simulation(model, kp=np.ones(3))
    free = engine.tree(2, floating=True, spherical=1.0)
    with pytest.raises(ValueError, match=r"kd is not 0 for joint1\.wx; a free joint takes no gains"):
        engine.Simulation(free, kd=np.ones(free.nv))
    simulation = engine.Simulation(model.with_gravity((0, 0, 0)), kp=2.0, kd=2.0, integrator="implicit", v=[1, 2, 3])
    assert not np.any(simulation.settings.kp)
    simulation.step(2000)
    assert np.abs(simulation.v).max() < 1e-6


def test_robots_of_a_batch_may_differ_in_their_friction():
    model = MODELS["one ball"].with_gravity((0, 0, 0))
    parameters = engine.Parameters(model, 2)
    parameters.friction[1] = 0.05
    simulation = engine.Simulation(model, 2, v=[1.0, 1.0, 1.0], parameters=parameters)
    simulation.step(100)
    kinetic = simulation.energy()[0]
    assert kinetic[1] < 0.9 * kinetic[0]


def test_a_quaternion_that_is_no_rotation_is_refused():
    with pytest.raises(ValueError, match="the quaternion of joint 'joint1' in q is zero"):
        engine.mass_matrix(MODELS["one ball"], np.zeros(4))


@each_model
def test_what_the_joints_carry_is_that_of_the_compiled_code(name, rng):
    model = MODELS[name]
    q, rest = model.random(rng), np.zeros(model.nv)
    efforts = np.where(model.constrained, engine.inverse_dynamics(model, q, rest, rest), 0)
    np.testing.assert_allclose(engine.static_loads(model, q), efforts, rtol=0, atol=1e-10)
    M = engine.mass_matrix(model, q)
    diagonal = np.where(model.constrained, np.diag(M), 0)
    np.testing.assert_allclose(inertia_and_load(model, q)[0], diagonal, rtol=0, atol=1e-10)
    bound = mobility(model)
    assert np.all((bound >= np.diag(np.linalg.inv(M)))[model.constrained])
    kp, kd = engine.holding_gains(model)
    assert not np.any(kp[model.q_of_v < 0])
    assert not np.any(kd[model.q_of_v < 0])


def test_a_suggested_step_lasts(rng):
    model = MODELS["tree"]
    dt, integrator, _ = engine.suggested_step(model)
    simulation = engine.Simulation(model, dt=dt, integrator=integrator, q=model.random(rng))
    simulation.step(round(2 / dt))


def test_generated_robots_are_written_and_read(tmp_path, rng):
    for model in MODELS.values():
        path = tmp_path / f"{model.name}.urdf"
        path.write_text(engine.to_urdf(model))
        again = engine.load(path)
        assert [joint.kind for joint in again.joints] == [joint.kind for joint in model.joints]
        q, v, _ = state(model, rng)
        M = engine.mass_matrix(model, q)
        np.testing.assert_allclose(engine.mass_matrix(again, q), M, rtol=0, atol=1e-9 * np.abs(M).max())
        np.testing.assert_allclose(engine.bias(again, q, v), engine.bias(model, q, v), rtol=0, atol=1e-9)


def test_a_share_of_ball_joints_changes_nothing_else():
    one, other = engine.tree(30, prismatic=0.3), engine.tree(30, prismatic=0.3, spherical=0.2)
    balls = other.kind == SPHERICAL
    assert 0 < balls.sum() < 15
    np.testing.assert_array_equal(one.kind[~balls], other.kind[~balls])
    for part in ("parent", "home_rotation", "home_position", "first_moment", "inertia"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
