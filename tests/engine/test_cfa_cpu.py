"""CFA compiled for the CPU: compared with inverse dynamics, its reference and the ABA, in calls and in steps."""

import dataclasses

import numpy as np
import pytest
from chain_cases import SHAPES, case

import engine
from engine.algorithms import cfa as text
from engine.algorithms.chain import Chain
from engine.bench.states import State, residual
from engine.cpu import dynamics
from engine.cpu.chains import cfa, constraint_system
from engine.cpu.rigid_body import aba, jsiia, tree_passes
from engine.cpu.rigid_body import workspace as slot
from engine.kernels.status import FITS
from engine.model.layout import pack


def answered(model, given, dtype="float64"):
    given = [np.ascontiguousarray(x, dtype) for x in given]
    out = np.full_like(given[2], 7)
    assert dynamics.kernels(model, "cfa", dtype, None).many(*given, out) == FITS
    return out


@pytest.mark.sample(8)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 33, 64, 128, 300])
def test_it_inverts_inverse_dynamics_as_its_text_and_the_aba_do(n, shape):
    model, given = case(n, shape)
    qdd = answered(model, given)
    assert residual(model, given, qdd).max() <= 1e-12
    by_text = text.forward_dynamics(Chain.of(model), *given)
    by_aba = engine.forward_dynamics(model, *given, algorithm="abia", device="cpu")
    for other in (by_text, by_aba):
        assert np.linalg.norm(qdd - other) <= 1e-9 * np.linalg.norm(other)


@pytest.mark.parametrize("shape", SHAPES)
def test_long_chains_keep_the_residual(shape):
    model, given = case(2048, shape, 1)
    assert residual(model, given, answered(model, given)).max() <= 1e-11


@pytest.mark.parametrize("shape", SHAPES)
def test_single_precision_keeps_what_it_has(shape):
    for n in (1, 5, 40, 200):
        model, given = case(n, shape)
        assert residual(model, given, answered(model, given, "float32")).max() <= 1e-3


def test_a_robot_gets_the_same_bits_again_and_anywhere_in_a_batch():
    model, given = case(23, "mixed", 9)
    expected = answered(model, given)
    np.testing.assert_array_equal(answered(model, [np.roll(x, 4, 0) for x in given]), np.roll(expected, 4, 0))
    one = engine.ForwardDynamics(model, 1, "cfa", "cpu")
    for k in (5, 2, 5):
        np.testing.assert_array_equal(one(*(x[k] for x in given)), expected[k])


def test_what_it_does_not_serve_is_refused_in_a_sentence():
    refused = {
        engine.tree(12): r"^cfa does not support tree12: link .* carries several branches; use abia$",
        engine.tree(4, branching=0, floating=True): r"^cfa does not support tree4: joint 'joint1' is free; use abia$",
    }
    for model, sentence in refused.items():
        for make in (engine.ForwardDynamics, engine.Simulation):
            with pytest.raises(ValueError, match=sentence):
                make(model, algorithm="cfa", device="cpu")


def test_a_robot_without_mass_among_the_parameters_is_refused():
    parameters = engine.Parameters(engine.chain(4), 3)
    parameters.inertia[2, 1] = 0
    parameters.first_moment[2, 1] = 0
    with pytest.raises(ValueError, match=r"^robot 2 of the parameters: cfa does not support chain4: link .* use abia$"):
        engine.Simulation(parameters.model, 3, algorithm="cfa", parameters=parameters)
    engine.Simulation(parameters.model, 3, algorithm="abia", parameters=parameters)


class Prepared:
    """A chain at a state, as a step of either algorithm finds it."""

    def __init__(self, model, q, v):
        self.n, (self.topology, self.constants), self.work = model.nv, pack(model), cfa.workspace(model)
        self.w = slot.workspace(self.n, slot.ONE)
        cfa.kinematics(q[None], v[None], self.topology, self.constants, self.w)

    def by_cfa(self, tau, added_inertia, held, target):
        qdd, reaction, fixed = np.zeros(self.n), np.zeros(self.n), (self.topology, self.constants, self.w)
        gravity = self.constants[self.n]
        jsiia.bias(self.work.vectors[cfa.BIAS : cfa.BIAS + 1], *fixed, slot.ONE, gravity, ())
        constraint_system.assemble(self.work.blocks, *fixed)
        cfa.eliminate(tau, added_inertia, held, target, qdd, self.work, *fixed)
        cfa.refine(added_inertia, held, qdd, reaction, self.work, *fixed)
        return qdd, reaction

    def by_aba(self, tau, added_inertia, held, target):
        qdd, reaction, one = np.zeros((1, self.n)), np.zeros((1, self.n)), slot.ONE
        tree_passes.scatter_v(tau[None], 0, self.topology, self.w, one, slot.OF_TAU)
        tree_passes.scatter_additions(added_inertia[None], held[None], target[None], self.topology, self.w, one)
        tree_passes.bias_forces(self.topology, self.constants, self.w, one)
        tree_passes.rigid_inertias(self.topology, self.constants, self.w, one)
        aba.inertia_recursion(self.topology, self.w, one)
        aba.accelerations(self.topology, self.w, one, self.constants[self.n])
        tree_passes.gather_v(qdd, 0, self.topology, self.w, one, slot.OF_QDD)
        tree_passes.gather_v(reaction, 0, self.topology, self.w, one, slot.OF_REACTION)
        return qdd[0], reaction[0]


@pytest.mark.sample(8)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sizes", [(0, 0), (-12, -12), (-3, 0), (6, 6), (12, 12), (-12, 12)], ids=str)
def test_added_inertias_and_locks_are_those_of_the_aba(sizes, shape, rng):
    """Inertias from 10^a to 10^b on half of the joints, however small or large; accelerations and reactions."""
    for n in (1, 2, 6, 40, 150):
        model, (q, v, tau) = case(n, shape)
        prepared = Prepared(model, q[0], v[0])
        M, bias = engine.mass_matrix(model, q[0]), engine.bias(model, q[0], v[0])
        for share in (0, 0.3, 1):
            added_inertia = 10.0 ** rng.uniform(*sizes, n) * (rng.random(n) < 0.5)
            held, target = (rng.random(n) < share).astype(float), rng.uniform(-9, 9, n)
            free = held == 0
            qdd, reaction = prepared.by_cfa(tau[0], added_inertia, held, target)
            expected, of_aba = prepared.by_aba(tau[0], added_inertia, held, target)
            prescribed = np.where(free, 0, target)
            missing, left = (tau[0] - bias - (M @ x + added_inertia * x) for x in (prescribed, qdd))
            np.testing.assert_array_equal(qdd[~free], target[~free])
            assert np.linalg.norm(left[free]) <= 1e-11 * np.linalg.norm(missing[free])
            assert np.linalg.norm(qdd - expected) <= 1e-8 * np.linalg.norm(expected)
            assert np.linalg.norm((reaction - of_aba)[~free]) <= 1e-10 * np.linalg.norm(of_aba[~free])
            assert np.linalg.norm(reaction[free]) <= 1e-11 * np.linalg.norm(missing[free])


def test_refinement_finds_the_digits_that_elimination_has_lost():
    model, (q, v, tau) = case(1000, "straight")
    prepared, zero = Prepared(model, q[0], v[0]), np.zeros(1000)
    qdd, _ = prepared.by_cfa(tau[0], zero, zero, zero)
    plain, tau_delta = np.zeros(1000), tau[0] - prepared.work.vectors[cfa.BIAS]
    constraint_system.solve(prepared.work.blocks, prepared.topology, prepared.w, zero, tau_delta, plain)
    at_all = State(q[:1], v[:1], tau[:1])
    assert residual(model, at_all, plain[None])[0] > 1e-10
    assert residual(model, at_all, qdd[None])[0] < 1e-12


def bounded(model, rng):
    """Return the robot with friction, damping, and limits that are soon reached."""
    some = rng.random((3, model.nv)) < 0.6
    return dataclasses.replace(
        model, friction=0.2 * some[0], damping=rng.uniform(0, 0.3, model.nv), lower=np.where(some[1], -0.3, -np.inf),
        upper=np.where(some[2], 0.4, np.inf), velocity_limit=np.full(model.nv, 1.5),
    )  # fmt: skip


def stepped(model, algorithm, integrator="semi-implicit", batch=3, steps=200, **options):
    rng = np.random.default_rng(5)
    low, high = np.maximum(model.lower, -0.3), np.minimum(model.upper, 0.3)
    q, v = rng.uniform(low, high, (batch, model.nv)), rng.uniform(-1, 1, (batch, model.nv))
    sim = engine.Simulation(model, batch, 1e-3, integrator, algorithm, q=q, v=v, kp=2.0, kd=0.1, **options)
    sim.tau[:] = rng.uniform(-1, 1, sim.tau.shape)
    sim.wrench[:] = rng.uniform(-0.3, 0.3, sim.wrench.shape)
    record = sim.empty(batch, 1 + steps // 50, model.nq), sim.empty(batch, 1 + steps // 50, model.nv)
    sim.advance(steps, every=50, record=record)
    np.testing.assert_array_equal(record[1][:, -1], sim.v)
    return record


def test_robots_that_differ_step_as_they_do_alone_on_any_number_of_threads(rng):
    model = bounded(engine.chain(40, seed=4), rng)
    parameters = engine.Parameters(model, 6)
    parameters.mass *= rng.uniform(0.7, 1.5, parameters.mass.shape)
    parameters.gravity[:] = rng.uniform(-9, 9, parameters.gravity.shape)
    alone = stepped(model, "cfa", batch=6, parameters=parameters, threads=1)
    for x, y in zip(alone, stepped(model, "cfa", batch=6, parameters=parameters, threads=3), strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(alone, stepped(model, "abia", batch=6, parameters=parameters), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)
    assert np.abs(alone[1] - stepped(model, "cfa", batch=6)[1]).max() > 1e-3


def test_a_state_that_is_lost_is_told():
    model = engine.chain(5)
    sim = engine.Simulation(model, 1, 1.0, algorithm="cfa", v=np.full(5, 50.0))
    with pytest.raises(engine.Diverged, match="the simulation diverged at"):
        sim.step(1000)
    sim = engine.Simulation(model, 1, algorithm="cfa", v=np.full(5, 1e200))
    with pytest.raises(engine.Diverged):
        sim.step(1)
