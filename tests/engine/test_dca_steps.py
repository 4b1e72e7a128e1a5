"""Long chains stepped on the CPU by DCA-ABA: the motion of ABIA, whatever acts on the joints, the same in every run."""

import dataclasses
import gc
import threading

import numpy as np
import pytest
from long_chains import constrained, plain, states

import engine
from engine.cpu.trees import dca, plan
from engine.step_settings import INTEGRATORS


@pytest.fixture
def any_length(monkeypatch):
    """Chains of every length take DCA-ABA, on as many threads as there are."""
    monkeypatch.setattr(plan, "COSTS", plan.Costs(aba=1e9, port=0, node=0, chunk=0, block=0, handover=0))
    dca.pays.cache_clear()
    yield
    dca.pays.cache_clear()


def pair(model, rng, batch=1, threads=2, wrench=False, **settings):
    """The same chains by ABIA and by DCA-ABA, under the same forces."""
    q, v = states(model, batch, rng)
    settings = {"dt": 1e-3 if model.nv <= 60 else 1e-4, "q": q, "v": v, "device": "cpu", **settings}
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
    "plain": (plain, {"limits": False}),
    "gains": (plain, {"kp": 2.0, "kd": 0.1}),
    "friction and limits": (constrained, {}),
    "wrench": (constrained, {"kp": 2.0, "kd": 0.1, "wrench": True}),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.usefixtures("any_length")
def test_it_moves_as_by_abia(acting, integrator, rng):
    make, settings = ACTING[acting]
    for n in (1, 7, 8, 9, 65, 200, 600):
        model = make(n, rng)
        for threads in (1, 2):
            ours, theirs = pair(model, rng, threads=threads, integrator=integrator, **settings)
            ours.step(12)
            theirs.step(12)
            assert not np.array_equal(theirs.q[0], theirs.v[0] * 0)
            assert_alike(ours, theirs)


def test_short_chains_are_stepped_by_the_aba_itself(rng):
    for n in (1, 30):
        assert not dca.pays(plain(n, rng))
        ours, theirs = pair(plain(n, rng), rng, batch=9)
        ours.step(20)
        theirs.step(20)
        np.testing.assert_array_equal(ours.q, theirs.q)
    assert ours.algorithm == "dca"


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.usefixtures("any_length")
def test_every_run_gives_the_same_bits(integrator, threads, rng):
    model = constrained(150, rng)
    q, v = states(model, 1, rng)

    def end():
        simulation = engine.Simulation(
            model, integrator=integrator, algorithm="dca", device="cpu", q=q, v=v, dt=1e-4, kp=1.0, threads=threads
        )
        for steps in (1, 3, 16):  # however a run is cut up
            simulation.step(steps)
        return np.concatenate([simulation.q, simulation.v])

    first = end()
    for _ in range(5):
        np.testing.assert_array_equal(end(), first)


def test_a_batch_moves_like_its_robots_alone(rng):
    model, batch = constrained(100, rng), 3
    q, v = states(model, batch, rng)
    together = engine.Simulation(model, batch, algorithm="dca", device="cpu", q=q, v=v, dt=1e-4)
    together.step(20)
    for k in range(batch):
        alone = engine.Simulation(model, algorithm="dca", device="cpu", q=q[k], v=v[k], dt=1e-4)
        alone.step(20)
        np.testing.assert_array_equal(alone.q[0], together.q[k])
        np.testing.assert_array_equal(alone.v[0], together.v[k])


def test_every_robot_may_have_its_own_numbers(rng):
    model, batch = constrained(90, rng), 4
    parameters = engine.Parameters(model, batch)
    scale = rng.uniform(0.5, 2, (batch, 1))
    parameters.mass *= scale
    parameters.first_moment *= scale[..., None]
    parameters.inertia *= scale[..., None, None]
    parameters.gravity[:] = rng.uniform(-10, 10, (batch, 3))
    parameters.friction *= rng.uniform(0, 2, parameters.friction.shape)
    gains = {"kp": np.full((batch, 90), 2.0), "kd": rng.random((batch, 90))}
    for settings in ({"parameters": parameters}, gains, {"parameters": parameters, "integrator": "rk4", **gains}):
        ours, theirs = pair(model, rng, batch, **settings)
        for _ in range(2):
            ours.step(8)
            theirs.step(8)
        assert_alike(ours, theirs)


def test_controls_are_followed_and_states_recorded(rng):
    model = constrained(70, rng)
    q, v = states(model, 2, rng)
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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("any_length")
def test_a_divergence_is_told_and_the_simulation_goes_on(threads, rng):
    model = plain(400, rng)
    simulation = engine.Simulation(model, algorithm="dca", device="cpu", dt=0.05, threads=threads)
    simulation.tau[:] = 1e9
    with pytest.raises(engine.Diverged, match=r"diverged at .* s, first in"):
        simulation.step(1000)
    assert 0 < simulation.steps < 1000
    simulation.reset()
    simulation.tau[:] = 0
    simulation.step(1)
    assert np.all(np.isfinite(simulation.v))


def test_a_wrench_asked_for_between_steps_acts_from_then_on(rng):
    ours, theirs = pair(plain(80, rng), rng)
    w = rng.uniform(-3, 3, (1, len(ours.model.link_names), 6))
    for simulation in (ours, theirs):
        simulation.step(5)
        simulation.wrench[:] = w
        simulation.step(5)
    assert_alike(ours, theirs)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("any_length")
def test_phases_are_timed_and_add_up(threads, rng):
    ours, _ = pair(constrained(300, rng), rng, threads=threads)
    ours.step(3)
    assert tuple(ours.phases) == engine.PHASES["cpu"]["dca"]
    assert all(0 < seconds < 1 for seconds in ours.phases.values())
    silent, _ = pair(plain(300, rng), rng, threads=threads, timed=False)
    silent.step(3)
    assert not any(silent.phases.values())


@pytest.mark.usefixtures("any_length")
def test_the_threads_end_with_the_simulation(rng):
    def helpers():
        return [thread for thread in threading.enumerate() if thread.name.startswith("dca-step")]

    before = len(helpers())
    simulation = engine.Simulation(plain(300, rng), algorithm="dca", device="cpu", threads=2)
    assert len(helpers()) == before  # before the first step nothing is made
    simulation.step(2)
    assert len(helpers()) == before + 1
    del simulation
    gc.collect()
    assert len(helpers()) == before


def test_locks_and_inertias_weigh_in_as_in_the_equations(rng):
    """Friction that holds every joint but one: that joint alone moves, with the inertia of all beyond it."""
    n, free = 100, 40
    model = plain(n, rng)
    friction = np.full(n, 1e9)
    friction[free] = 0.0
    model = dataclasses.replace(model, friction=friction)
    simulation = engine.Simulation(model, algorithm="dca", device="cpu", q=np.zeros(n), limits=False, dt=1e-3)
    simulation.tau[0, free] = 5.0
    zero = np.zeros(n)
    expected = (5.0 - engine.bias(model, zero, zero)[free]) / engine.mass_matrix(model, zero)[free, free]
    simulation.step(1)
    v = simulation.v[0]
    assert v[free] == pytest.approx(1e-3 * expected, rel=1e-9)
    assert np.array_equal(np.delete(v, free), np.zeros(n - 1))


def test_the_threads_code_is_part_of_what_the_first_step_needs(rng, monkeypatch):
    simulation, other = pair(plain(100, rng), rng)
    simulation.step(1)
    compilation = engine.Compilation(simulation)
    assert compilation.name == "semi-implicit steps by dca"
    assert not compilation.needed
    monkeypatch.setattr(dca, "at_hand", lambda: False)
    assert compilation.needed
    assert engine.Compilation(other).name == "semi-implicit steps by abia"
    short = engine.Simulation(plain(30, rng), algorithm="dca", device="cpu")
    assert engine.Compilation(short).makes_the_same_as(engine.Compilation(other))
