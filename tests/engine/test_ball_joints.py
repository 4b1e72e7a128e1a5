"""Ball joints on the CPU: the same numbers as Pinocchio's, axes locked one by one, and motion over time."""

import numpy as np
import pytest

import engine
from engine.bench.peers.pinocchio import pinocchio_aba
from engine.cpu.accelerations import Accelerations, CoordinateForces, Dynamics, accelerations, prepare
from engine.cpu.rigid_body import jsiia
from engine.cpu.rigid_body.workspace import EIGHT, ONE, workspace
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


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_quaternions_stay_unit(integrator):
    model = MODELS["balls alone"]
    simulation = engine.Simulation(model, integrator=integrator, v=np.full(model.nv, 0.5))
    simulation.step(500)
    lengths = np.linalg.norm(simulation.q[0].reshape(-1, 4), axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=0, atol=1e-14)


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


def test_a_quaternion_that_is_no_rotation_is_refused():
    with pytest.raises(ValueError, match="the quaternion of joint 'joint1' in q is zero"):
        engine.mass_matrix(MODELS["one ball"], np.zeros(4))


def test_a_suggested_step_lasts(rng):
    model = MODELS["tree"]
    dt, integrator, _ = engine.suggested_step(model)
    simulation = engine.Simulation(model, dt=dt, integrator=integrator, q=model.random(rng))
    simulation.step(round(2 / dt))


def test_a_share_of_ball_joints_changes_nothing_else():
    one, other = engine.tree(30, prismatic=0.3), engine.tree(30, prismatic=0.3, spherical=0.2)
    balls = other.kind == SPHERICAL
    assert 0 < balls.sum() < 15
    np.testing.assert_array_equal(one.kind[~balls], other.kind[~balls])
    for part in ("parent", "home_rotation", "home_position", "first_moment", "inertia"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
