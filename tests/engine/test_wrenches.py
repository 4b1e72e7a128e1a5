"""Wrenches from outside: against Pinocchio, as generalized forces, in steps, and their work against the energy."""

import dataclasses

import numpy as np
import pytest
from conftest import EXAMPLE_ROBOTS
from pinocchio_oracle import Oracle

import engine
from engine.cpu.rigid_body import aba, tree_passes, workspace
from engine.cpu.rigid_body import wrenches as external
from engine.model.layout import pack

NAMES = ("panda", "anymal", "talos_reduced", "ur5_robot", "double_pendulum")
TREES = {path.stem: path for path in EXAMPLE_ROBOTS if path.stem in NAMES}


def state(model, rng, batch=None):
    shape = (model.nv,) if batch is None else (batch, model.nv)
    q = model.random(rng, batch)
    return q, rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)


def wrenches(model, rng, *batch):
    return rng.uniform(-3, 3, (*batch, len(model.link_names), 6))


def unlimited(model):
    """Return the robot without friction, damping and limits."""
    none, infinite = np.zeros(model.nv), np.full(model.nv, np.inf)
    return dataclasses.replace(
        model, friction=none, damping=none, lower=-infinite, upper=infinite,
        velocity_limit=infinite, effort_limit=infinite,
    )  # fmt: skip


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", TREES.values(), ids=list(TREES))
def test_wrenches_on_links_move_a_robot_as_in_pinocchio(path, floating, rng):
    model = engine.load(path, floating=floating, mimic=False)
    oracle = Oracle(path, model, floating)
    for _ in range(3):
        q, v, tau = state(model, rng)
        w = wrenches(model, rng)
        expected = oracle.forward_dynamics(q, v, tau, w)
        assert np.linalg.norm(expected - oracle.forward_dynamics(q, v, tau)) > 1e-3 * np.linalg.norm(expected)
        for algorithm in engine.algorithms(model, "cpu"):
            answer = engine.forward_dynamics(model, q, v, tau, algorithm, "cpu", external=w)
            assert np.linalg.norm(answer - expected) <= 1e-9 * np.linalg.norm(expected), algorithm
        back = engine.inverse_dynamics(model, q, v, expected, external=w)
        assert np.linalg.norm(back - tau) <= 1e-9 * np.linalg.norm(engine.bias(model, q, v))


def test_there_are_five_trees_for_pinocchio(example_robots):
    assert set(TREES) == set(NAMES), [path.stem for path in example_robots]


@pytest.mark.parametrize("algorithm", ["abia", "dca", "jsiia", "cfa", "abia-hybrid"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_algorithm_takes_them_alone_and_in_batches(algorithm, dtype, rng):
    model = engine.chain(8, prismatic=0.3)
    q, v, tau = state(model, rng, 20)
    w = wrenches(model, rng, 20)
    M, bias = engine.mass_matrix(model, q), engine.inverse_dynamics(model, q, v, np.zeros_like(v), external=w)
    expected = np.linalg.solve(M, (tau - bias)[..., None])[..., 0]
    fd = engine.ForwardDynamics(model, 20, algorithm, "cpu", dtype)
    tolerance = 1e-9 if dtype == "float64" else (1e-1 if algorithm == "cfa" else 1e-3)
    scale = np.abs(expected).max()
    assert np.abs(fd(q, v, tau, external=w) - expected).max() <= tolerance * scale
    out = np.empty(8, dtype)
    assert fd(q[3], v[3], tau[3], out, external=w[3]) is out
    assert np.abs(out - expected[3]).max() <= tolerance * scale
    for one, states in ((w[2], (q, v, tau)), (w, (q[2], v[2], tau[2]))):
        every = fd(*states, external=one)
        assert every.shape == (20, 8)
        assert np.abs(every[2] - expected[2]).max() <= tolerance * scale


def test_a_force_beside_the_axis_is_a_torque_and_a_wrench_on_the_world_nothing():
    model = engine.load("robots/pendulum.urdf")
    link = model.link_names.index(model.link_names[-1])
    q, zero = np.array([0.3]), np.zeros(1)
    w = np.zeros((len(model.link_names), 6))
    lever, size = model.link_position[link], np.array([0.7, -2.0, 1.1])
    w[link, 3:] = size
    force = model.link_rotation[link] @ size
    torque = -engine.inverse_dynamics(model, q, zero, zero, external=w) + engine.bias(model, q, zero)
    assert torque[0] == pytest.approx(np.cross(lever, force)[2], abs=1e-14)
    turned = np.zeros_like(w)
    turned[link, :3] = model.link_rotation[link].T @ np.cross(lever, force)
    same = -engine.inverse_dynamics(model, q, zero, zero, external=turned) + engine.bias(model, q, zero)
    assert same[0] == pytest.approx(torque[0], abs=1e-14)
    on_world = np.where((model.link_body == -1)[:, None], 5.0, np.zeros(6))
    assert np.any(on_world)
    assert engine.forward_dynamics(model, q, zero, zero, external=on_world) == engine.forward_dynamics(
        model, q, zero, zero
    )


def test_the_factored_aba_is_solved_with_for_forces_and_wrenches_alike(rng):
    model = engine.tree(9, seed=4, floating=True, prismatic=0.3, spherical=0.3)
    topology, constants = pack(model)
    room = workspace.workspace(len(model.parent), workspace.ONE)
    q, zero = model.random(rng), np.zeros(model.nv)
    tree_passes.scatter_q(q[None], 0, topology, constants, room, workspace.ONE)
    tree_passes.poses(topology, constants, room, workspace.ONE)
    aba.factor(topology, constants, room, workspace.ONE)
    inverse = engine.inverse_mass_matrix(model, q)
    for _ in range(3):
        tau, w = rng.uniform(-1, 1, model.nv), wrenches(model, rng)
        on_bodies, answer = np.empty((len(model.parent), 6)), np.empty((1, model.nv))
        external.on_bodies(w[None], 0, external.pack_links(model), on_bodies, workspace.ONE)
        room[:, workspace.BIAS : workspace.BIAS + 6] = -on_bodies
        tree_passes.scatter_v(tau[None], 0, topology, room, workspace.ONE, workspace.OF_TAU)
        aba.solve(topology, room, workspace.ONE, np.zeros(3))
        tree_passes.gather_v(answer, 0, topology, room, workspace.ONE, workspace.OF_QDD)
        forces = engine.bias(model, q, zero) - engine.inverse_dynamics(model, q, zero, zero, external=w)
        expected = inverse @ (tau + forces)
        assert np.abs(answer[0] - expected).max() <= 1e-11 * np.abs(expected).max()


def test_the_work_of_wrenches_is_the_change_of_energy(rng):
    model = unlimited(engine.tree(6, seed=3, floating=True, prismatic=0.3))
    q, v, _ = state(model, rng)
    simulation = engine.Simulation(model, 1, 1e-3, "rk4", "abia", q=q, v=v)
    w = wrenches(model, rng)

    def power():
        zero = np.zeros(model.nv)
        q, v = simulation.q[0], simulation.v[0]
        return v @ (engine.bias(model, q, v) - engine.inverse_dynamics(model, q, v, zero, external=w))

    start, samples = sum(part[0] for part in simulation.energy()), [power()]
    for _ in range(400):
        simulation.wrench[0] = w
        simulation.step()
        samples.append(power())
    simpson = np.array([1, *[4, 2] * 199, 4, 1]) / 3
    work, gain = simpson @ samples * 1e-3, sum(part[0] for part in simulation.energy()) - start
    assert abs(gain) > 1.0
    assert gain == pytest.approx(work, rel=1e-7)


def test_friction_holds_against_a_small_push_and_gives_way_to_a_great_one():
    model = engine.load("robots/pendulum.urdf").with_gravity((0, 0, 0))
    model = dataclasses.replace(model, friction=np.full(1, 0.5), damping=np.zeros(1))
    for integrator in engine.INTEGRATORS:
        simulation = engine.Simulation(model, integrator=integrator, q=[0.1])
        body = model.link_body == 0
        axis = np.where(body[:, None], model.link_rotation[:, 2], 0)  # the joint's axis in each link's frame
        first = int(np.argmax(body))
        simulation.wrench[0, first, :3] = 0.49 * axis[first]
        simulation.step(50)
        assert abs(simulation.v[0, 0]) < 1e-15
        simulation.wrench[0, first, :3] = 0.6 * axis[first]
        simulation.step(50)
        M = engine.mass_matrix(model, simulation.q)[0, 0, 0]
        assert simulation.v[0, 0] == pytest.approx(0.1 * 0.05 / M, rel=1e-9)


def test_who_asks_for_no_wrench_steps_as_before_and_zeros_change_nothing(rng):
    model = engine.load("robots/arm7.urdf")
    q, v, tau = state(model, rng, 9)
    without, idle = (engine.Simulation(model, 9, q=q, v=v) for _ in range(2))
    assert idle.wrench.shape == (9, len(model.link_names), 6)
    assert idle.wrench is idle.wrench
    assert not np.any(idle.wrench)
    for simulation in (without, idle):
        simulation.tau[:] = tau
        simulation.step(50)
    np.testing.assert_array_equal(without.v, idle.v)


def test_a_wrench_is_held_over_steps_resets_and_from_the_middle_of_a_run(rng):
    model = engine.chain(3)
    q = model.random(rng)
    simulation, again = engine.Simulation(model, q=q), engine.Simulation(model, q=q)
    simulation.step(10)
    again.step(10)
    simulation.wrench[0, -1, 3] = 2.0
    simulation.step(10)
    for _ in range(10):
        again.wrench[0, -1, 3] = 2.0
        again.step()
    np.testing.assert_array_equal(simulation.v, again.v)
    simulation.reset(q)
    assert simulation.wrench[0, -1, 3] == 2.0


def test_mimic_joints_feel_the_wrenches_on_all_they_move(example_robots, rng):
    path = next(path for path in example_robots if path.stem == "panda")
    model, loose = engine.load(path), engine.load(path, mimic=False)
    assert model.has_mimic
    G = model.coupling.G
    y, yd, tau = state(model, rng)
    q, v, w = model.coupling.expand_q(y), model.coupling.expand_v(yd), wrenches(model, rng)
    expected = G.T @ engine.inverse_dynamics(loose, q, v, np.zeros(loose.nv), external=w)
    np.testing.assert_allclose(
        engine.inverse_dynamics(model, y, yd, np.zeros(model.nv), external=w), expected, rtol=1e-12, atol=1e-12
    )
    simulation = engine.Simulation(unlimited(model), q=y, v=yd)
    simulation.tau[:], simulation.wrench[:] = tau, w
    simulation.step()
    after = yd + 1e-3 * engine.forward_dynamics(model, y, yd, tau, external=w)
    np.testing.assert_allclose(simulation.v[0], after, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("external", "words"),
    [
        (np.zeros((3, 6)), r"external has shape \(3, 6\); expected \(5, 6\) or \(batch, 5, 6\)"),
        (np.zeros(6), r"external has shape \(6,\); expected"),
        (np.full((5, 6), np.nan), r"external\[0, 0\] is nan; every number must be finite"),
        (np.stack([np.zeros((5, 6)), np.full((5, 6), np.inf)]), r"external\[1, 0, 0\] is inf; every number must be"),
        (np.zeros((0, 5, 6)), r"external has shape \(0, 5, 6\); expected \(5, 6\)"),
        ([[0.0] * 6] * 4 + [[0.0]], r"external is a wrench \(n, f\) .*: numbers of shape \(5, 6\) or \(batch, 5, 6\)"),
        (np.zeros((5, 6), complex), r"(?s)external is a wrench .* \(complex numbers\)"),
        (np.zeros((3, 5, 6)), r"the batch sizes differ \(q 2, external 3\)"),
    ],
)
def test_what_is_no_wrench_is_refused(external, words):
    model = engine.chain(4)
    assert len(model.link_names) == 5
    states = np.zeros((3, 2, 4))
    for function in (engine.forward_dynamics, engine.inverse_dynamics):
        with pytest.raises((ValueError, TypeError), match=words):
            function(model, *states, external=external)


def test_a_simulation_names_the_wrench_that_is_not_finite():
    simulation = engine.Simulation(engine.chain(4), 2)
    simulation.wrench[1, 2, 3] = np.inf
    with pytest.raises(ValueError, match=r"sim\.wrench\[1, 2, 3\] is not finite"):
        simulation.step()
