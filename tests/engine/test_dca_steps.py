"""Chains and trees stepped on the CPU by DCA-ABA: the motion of ABIA, for any inputs, reproducibly."""

import dataclasses
import gc
import threading

import long_chains
import numpy as np
import pytest
from long_chains import plain
from stepped_robots import own_numbers

import engine
from engine.cpu.trees import dca, plan
from engine.model import FREE
from engine.step_settings import INTEGRATORS
from tests.shaped_trees import shaped

SLOW = pytest.mark.slow


@pytest.fixture
def always(monkeypatch):
    """Robots of any size are stepped by DCA-ABA, on as many threads as may take part."""
    monkeypatch.setattr(plan, "COSTS", plan.Costs(aba=1e9, port=0, node=0, chunk=0, block=0, handover=0))
    dca.pays.cache_clear()
    yield
    dca.pays.cache_clear()


ROBOTS = {
    "chains": tuple(lambda rng, n=n: plain(n, rng) for n in (1, 7, 8, 9, 65, 200, 600)),
    "trees": (
        lambda _: engine.tree(150, seed=2, branching=0.2, prismatic=0.2),
        lambda _: engine.tree(90, seed=3, branching=0.3, spherical=0.3, floating=True),
        lambda _: engine.tree(120, seed=4, branching=0, floating=True),
        lambda _: engine.chain(60, seed=5, spherical=0.6),
        lambda _: shaped("comb", 100, prismatic=0.2),
        lambda _: shaped("star", 70, spherical=0.3),
        lambda _: engine.tree(5, seed=6, branching=0.6, spherical=0.4),
    ),
}
CHAIN_AND_TREE = [lambda rng: plain(300, rng), lambda _: engine.tree(300, branching=0.1, spherical=0.1)]
each_kind = pytest.mark.parametrize("make", CHAIN_AND_TREE, ids=("chain", "tree"))


def free(model):
    """(nv,): whether a velocity is a free joint's."""
    return np.isin(np.arange(model.nv), [j + k for j in model.v_start[model.kind == FREE] for k in range(6)])


def constrained(model, rng):
    """The model with damping, friction and limits that act on some joints at any time."""
    if np.all(np.diff(model.parent) == 1) and model.nv == model.nq == len(model.parent):  # a chain
        return long_chains.held_back(model, rng)
    one, loose = np.ones(model.nv), free(model)
    scalar = (model.q_of_v >= 0) & ~loose
    return dataclasses.replace(
        model, friction=np.where(loose, 0, 0.3 * rng.random(model.nv)), damping=np.where(loose, 0, 0.01 * one),
        lower=np.where(scalar, -0.2, -np.inf), upper=np.where(scalar, 0.2, np.inf),
        velocity_limit=np.where(loose, np.inf, 2.0), effort_limit=np.where(loose, np.inf, 30.0),
    )  # fmt: skip


def states(model, rng, batch=1):
    """Near the neutral one."""
    _, v = long_chains.states(model, batch, rng)
    q = np.tile(model.neutral(), (batch, 1))
    q[:, model.q_of_v[model.q_of_v >= 0]] = rng.uniform(-0.2, 0.2, (batch, int((model.q_of_v >= 0).sum())))
    return q, v


def pair(model, rng, batch=1, threads=2, wrench=False, **settings):
    """Return the robots by DCA-ABA and by ABIA, under equal forces."""
    q, v = states(model, rng, batch)
    settings = {"dt": 1e-4, "q": q, "v": v, "device": "cpu", **settings}
    theirs = engine.Simulation(model, batch, algorithm="abia", **settings)
    ours = engine.Simulation(model, batch, algorithm="dca", threads=threads, **settings)
    tau, target = rng.uniform(-1, 1, (batch, model.nv)), rng.uniform(-0.2, 0.2, (batch, model.nv))
    w = rng.uniform(-3, 3, (batch, len(model.link_names), 6))
    for simulation in (ours, theirs):
        simulation.tau[:], simulation.target[:] = tau, target
        if wrench:
            simulation.wrench[:] = w
    return ours, theirs


def assert_alike(ours, theirs, tolerance=1e-9):
    for mine, other in ((ours.q, theirs.q), (ours.v, theirs.v)):
        np.testing.assert_allclose(mine, other, rtol=0, atol=tolerance * (1 + np.abs(other).max()))


ACTING = {
    "plain": (lambda model, _: model, {"limits": False}),
    "gains": (lambda model, _: model, {"kp": 2.0, "kd": 0.1}),
    "friction and limits": (constrained, {}),
    "wrench": (constrained, {"kp": 2.0, "kd": 0.1, "wrench": True}),
}


def gains(model, settings):
    """Return settings with gains for the joints that accept them: none for free joints, no position gain for balls."""
    kp = {"kp": np.where(model.q_of_v >= 0, settings.get("kp", 0.0), 0.0)}
    return {**settings, **kp, "kd": np.where(free(model), 0.0, settings.get("kd", 0.0))}


@pytest.mark.sample(16)
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.usefixtures("always")
def test_it_moves_as_by_abia(kind, acting, integrator, rng):
    change, settings = ACTING[acting]
    for make in ROBOTS[kind]:
        model = change(make(rng), rng)
        dt = 1e-3 if kind == "chains" and model.nv <= 60 else 1e-4
        for threads in (1, 2):
            ours, theirs = pair(model, rng, 1, threads, dt=dt, integrator=integrator, **gains(model, settings))
            ours.step(12)
            theirs.step(12)
            assert ours._stepper._algorithm == "dca"
            assert not np.array_equal(ours.v, theirs.v) or model.nv < 20
            assert_alike(ours, theirs)


def test_small_robots_are_stepped_by_the_aba_itself(rng):
    for model in (plain(1, rng), plain(30, rng), engine.load("robots/arm7.urdf", floating=True)):
        assert not dca.pays(model)
        ours, theirs = pair(model, rng, batch=9)
        ours.step(20)
        theirs.step(20)
        np.testing.assert_array_equal(ours.q, theirs.q)
        assert ours.algorithm == "dca"


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.usefixtures("always")
def test_every_run_gives_the_same_bits(tree, integrator, threads, rng):
    model = constrained(engine.tree(150, branching=0.1, spherical=0.1) if tree else plain(150, rng), rng)
    q, v = states(model, rng)
    kp = np.where(model.q_of_v >= 0, 1.0, 0.0)

    def end():
        simulation = engine.Simulation(
            model, integrator=integrator, algorithm="dca", device="cpu", q=q, v=v, dt=1e-4, kp=kp, threads=threads
        )
        for steps in (1, 3, 16):  # however a run is cut up
            simulation.step(steps)
        return np.concatenate([simulation.q[0], simulation.v[0]])

    first = end()
    for _ in range(5):
        np.testing.assert_array_equal(end(), first)


@pytest.mark.parametrize("tree", [False, True])
def test_a_batch_moves_like_its_robots_alone(tree, rng):
    model, batch = constrained(shaped("legs", 200, spherical=0.1) if tree else plain(100, rng), rng), 3
    q, v = states(model, rng, batch)
    together = engine.Simulation(model, batch, algorithm="dca", device="cpu", q=q, v=v, dt=1e-4)
    together.step(20)
    for k in range(batch):
        alone = engine.Simulation(model, algorithm="dca", device="cpu", q=q[k], v=v[k], dt=1e-4)
        alone.step(20)
        np.testing.assert_array_equal(alone.q[0], together.q[k])
        np.testing.assert_array_equal(alone.v[0], together.v[k])


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.usefixtures("always")
def test_every_robot_may_have_its_own_numbers(tree, rng):
    model = engine.tree(90, branching=0.2, spherical=0.2, floating=True) if tree else plain(90, rng)
    model, batch = constrained(model, rng), 4
    parameters = own_numbers(model, batch, rng)
    stiff = {
        "kp": np.where(model.q_of_v >= 0, 2.0, 0.0) * np.ones((batch, 1)),
        "kd": np.where(free(model), 0.0, rng.random((batch, model.nv))),
    }
    for settings in ({"parameters": parameters}, stiff, {"parameters": parameters, "integrator": "rk4", **stiff}):
        ours, theirs = pair(model, rng, batch, **settings)
        for _ in range(2):
            ours.step(8)
            theirs.step(8)
        assert_alike(ours, theirs)


def test_controls_are_followed_and_states_recorded(rng):
    model = constrained(plain(70, rng), rng)
    q, v = states(model, rng, 2)
    controls = rng.uniform(-1, 1, (2, 30, 70))
    kept = []
    for algorithm in ("abia", "dca"):
        simulation = engine.Simulation(model, 2, q=q, v=v, algorithm=algorithm, device="cpu")
        record = [simulation.empty(2, 11, 70) for _ in range(2)]
        simulation.advance(30, controls, 3, tuple(record))
        np.testing.assert_array_equal(record[0][:, -1], simulation.q)
        kept.append(record)
    for mine, theirs in zip(kept[1], kept[0], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))
    trajectories = [
        engine.rollout(model, q[0], v[0], controls[0], dt=1e-3, algorithm=name, device="cpu")
        for name in ("abia", "dca")
    ]
    np.testing.assert_allclose(trajectories[1].q, trajectories[0].q, rtol=0, atol=1e-9)


@each_kind
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("always")
def test_a_divergence_is_told_and_the_simulation_goes_on(threads, make, rng):
    model = make(rng)
    simulation = engine.Simulation(model, algorithm="dca", device="cpu", dt=0.05, threads=threads)
    simulation.tau[:] = 1e9
    with pytest.raises(engine.Diverged, match=r"diverged at .* s, first in"):
        simulation.step(1000)
    assert 0 < simulation.steps < 1000
    simulation.reset()
    simulation.tau[:] = 0
    simulation.step(1)
    fresh = engine.Simulation(model, algorithm="dca", device="cpu", dt=0.05, threads=threads)
    fresh.step(1)
    np.testing.assert_array_equal(fresh.v, simulation.v)


def test_a_wrench_asked_for_between_steps_acts_from_then_on(rng):
    ours, theirs = pair(plain(80, rng), rng)
    w = rng.uniform(-3, 3, (1, len(ours.model.link_names), 6))
    for simulation in (ours, theirs):
        simulation.step(5)
        simulation.wrench[:] = w
        simulation.step(5)
    assert_alike(ours, theirs)


@each_kind
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("always")
def test_phases_are_timed_and_add_up(threads, make, rng):
    ours, _ = pair(constrained(make(rng), rng), rng, threads=threads)
    ours.step(3)
    assert tuple(ours.phases) == engine.PHASES["cpu"]["dca"]
    assert all(0 < seconds < 1 for seconds in ours.phases.values())
    silent, _ = pair(make(rng), rng, threads=threads, timed=False)
    silent.step(3)
    assert not any(silent.phases.values())


@each_kind
@pytest.mark.usefixtures("always")
def test_the_threads_end_with_the_simulation(make, rng):
    def helpers():
        return [thread for thread in threading.enumerate() if thread.name.startswith("dca-step")]

    gc.collect()
    before = len(helpers())
    simulation = engine.Simulation(make(rng), algorithm="dca", device="cpu", threads=2)
    assert len(helpers()) == before  # before the first step nothing is made
    simulation.step(2)
    assert len(helpers()) == before + 1
    del simulation
    gc.collect()
    assert len(helpers()) == before


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.usefixtures("always")
def test_locks_and_inertias_weigh_in_as_in_the_equations(tree, rng):
    """Friction that holds every joint but one: that joint alone moves, with the inertia of all beyond it."""
    model = engine.tree(100, branching=0.2, spherical=0.2) if tree else plain(100, rng)
    n, moved, q, zero = model.nv, 40, model.neutral(), np.zeros(model.nv)
    model = dataclasses.replace(model, friction=np.where(np.arange(n) == moved, 0, 1e9))
    simulation = engine.Simulation(model, algorithm="dca", device="cpu", q=q, limits=False, dt=1e-3, threads=2)
    simulation.tau[0, moved] = 5.0
    expected = (5.0 - engine.bias(model, q, zero)[moved]) / engine.mass_matrix(model, q)[moved, moved]
    simulation.step(1)
    v = simulation.v[0]
    assert v[moved] == pytest.approx(1e-3 * expected, rel=1e-9)
    assert np.array_equal(np.delete(v, moved), np.zeros(n - 1))


@each_kind
def test_its_code_is_part_of_what_the_first_step_needs(make, rng, monkeypatch):
    simulation, other = pair(make(rng), rng)
    simulation.step(1)
    compilation = engine.Compilation(simulation)
    assert compilation.name == "semi-implicit steps by dca"
    assert not compilation.needed
    monkeypatch.setattr(dca, "is_compiled", lambda: False)
    assert compilation.needed
    assert engine.Compilation(other).name == "semi-implicit steps by abia"
    assert not engine.Compilation(other).makes_the_same_as(compilation)
    if make is CHAIN_AND_TREE[0]:
        short = engine.Simulation(plain(30, rng), algorithm="dca", device="cpu")
        assert engine.Compilation(short).makes_the_same_as(engine.Compilation(other))


@pytest.mark.usefixtures("always")
def test_a_frozen_robot_leaves_nothing_behind_for_the_others(rng):
    model, batch = engine.tree(120, branching=0.2, spherical=0.2), 3
    _, v = states(model, rng, batch)
    settings = {"algorithm": "dca", "device": "cpu", "dt": 1e-3, "on_divergence": "freeze", "threads": 2}
    together = engine.Simulation(model, batch, v=v, **settings)
    together.tau[1] = 1e12
    together.step(60)
    np.testing.assert_array_equal(together.diverged, [False, True, False])
    for k in (0, 2):
        alone = engine.Simulation(model, v=v[k], **settings)
        alone.step(60)
        np.testing.assert_array_equal(alone.v[0], together.v[k])


@pytest.mark.parametrize(
    "integrator", [pytest.param("semi-implicit", marks=SLOW), pytest.param("rk4", marks=SLOW), "implicit"]
)
@pytest.mark.usefixtures("always")
def test_a_robot_stands_on_the_ground_as_by_abia(integrator):
    ends = []
    for algorithm in ("abia", "dca"):
        simulation = engine.Simulation(
            engine.load("robots/quadruped.urdf"), integrator=integrator, algorithm=algorithm, device="cpu",
            scene=engine.Scene(ground=engine.Plane(), friction=0.8),
        )  # fmt: skip
        simulation.step(200)
        ends.append(np.concatenate([simulation.q[0], simulation.v[0]]))
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-9)
