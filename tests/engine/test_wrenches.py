"""Wrenches from outside: against Pinocchio, as generalized forces, in steps, and their work against the energy."""

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
