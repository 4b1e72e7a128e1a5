"""Long chains stepped on the GPU by DCA-ABA: the motion of ABIA on the CPU, for any inputs."""

import numpy as np
import pytest
from long_chains import constrained, plain, states

import engine
from engine.cuda.chains import dca
from engine.cuda.runtime import device

pytestmark = pytest.mark.gpu


def pair(model, batch, rng, dtype="float64", **settings):
    """Return the chains on the CPU by ABIA and on the GPU by DCA-ABA, under equal forces."""
    q, v = states(model, batch, rng)
    settings = {"dt": 1e-3 if model.nv <= 60 else 1e-4, **settings}
    host = engine.Simulation(model, batch, algorithm="abia", q=q, v=v, device="cpu", **settings)
    gpu = engine.Simulation(model, batch, algorithm="dca", q=q, v=v, device="cuda", dtype=dtype, **settings)
    tau, target = rng.uniform(-1, 1, (batch, model.nv)), rng.uniform(-0.2, 0.2, (batch, model.nv))
    for simulation in (host, gpu):
        simulation.tau[:], simulation.target[:] = simulation.array(tau), simulation.array(target)
    return host, gpu


def assert_alike(gpu, host, tolerance):
    for mine, theirs in ((gpu.q.get(), host.q), (gpu.v.get(), host.v)):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * (1 + np.abs(theirs).max()))


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("make", [plain, constrained])
@pytest.mark.parametrize("n", [1, 2, 7, 31, 50, 129, 200, 513, 1000])
def test_it_moves_as_on_the_cpu(n, make, integrator, chance):
    for gains in ({}, {"kp": 2.0, "kd": 0.1}):
        host, gpu = pair(make(n, chance), 3, chance, integrator=integrator, **gains)
        host.step(30)
        gpu.step(30)
        gpu.check()
        assert_alike(gpu, host, 1e-9)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_single_precision_moves_nearly_so(integrator, chance):
    host, gpu = pair(constrained(50, chance), 3, chance, "float32", integrator=integrator, kp=2.0, kd=0.1)
    host.step(10)
    gpu.step(10)
    gpu.check()
    assert_alike(gpu, host, 1e-3)


def test_limits_hold_where_block_pivoting_goes_round_in_circles(pytestconfig):
    model = engine.load(pytestconfig.rootpath / "robots" / "snake50.urdf")
    for seed, speed in ((5, 0.0), (2, 3.0), (1, 3.0)):
        rng = np.random.default_rng(seed)
        q = model.random(rng, 16)
        v = np.clip(speed * rng.standard_normal((16, model.nv)), -model.velocity_limit, model.velocity_limit)
        host = engine.Simulation(model, 16, q=q, v=v)
        gpu = engine.Simulation(model, 16, algorithm="dca", q=q, v=v, device="cuda")
        host.step(20)
        gpu.step(20)
        assert_alike(gpu, host, 1e-6)
        for _ in range(20):
            gpu.step(25)
            here = gpu.q.get()
            assert np.all((here >= model.lower - 1e-9) & (here <= model.upper + 1e-9))
            assert np.all(np.abs(gpu.v.get()) <= model.velocity_limit + 1e-9)


def test_every_robot_may_have_its_own_numbers(chance):
    model, batch = constrained(40, chance), 5
    parameters = engine.Parameters(model, batch)
    scale = chance.uniform(0.5, 2, (batch, 1))
    parameters.mass *= scale
    parameters.first_moment *= scale[..., None]
    parameters.inertia *= scale[..., None, None]
    parameters.gravity[:] = chance.uniform(-10, 10, (batch, 3))
    parameters.friction *= chance.uniform(0, 2, parameters.friction.shape)
    gains = {"kp": np.full((batch, 40), 2.0), "kd": chance.random((batch, 40))}
    for settings in ({"parameters": parameters}, gains, {"parameters": parameters, **gains}):
        host, gpu = pair(model, batch, chance, **settings)
        host.step(20)
        gpu.step(20)
        gpu.check()
        assert_alike(gpu, host, 1e-9)


def test_controls_are_followed_and_states_recorded(chance):
    model = constrained(60, chance)
    q, v = states(model, 4, chance)
    controls = chance.uniform(-1, 1, (4, 30, 60))
    host, gpu = (
        engine.Simulation(model, 4, q=q, v=v, algorithm=algorithm, device=where)
        for algorithm, where in (("abia", "cpu"), ("dca", "cuda"))
    )
    kept = [[simulation.empty(4, 11, 60) for _ in range(2)] for simulation in (host, gpu)]
    for simulation, record in zip((host, gpu), kept, strict=True):
        simulation.advance(30, simulation.array(controls), 3, tuple(record))
    for mine, theirs in zip(kept[1], kept[0], strict=True):
        np.testing.assert_allclose(mine.get(), theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_groups_that_meet_in_global_memory_move_alike(blocks, chance, monkeypatch):
    """Chips without clusters, and chains larger than one, need this."""
    monkeypatch.setattr(dca, "cut_here", lambda *_, **__: dca.Cut(blocks, False, 8, True))
    host, gpu = pair(constrained(90, chance), 3, chance)
    host.step(20)
    gpu.step(20)
    gpu.check()
    assert_alike(gpu, host, 1e-9)


def test_no_bit_depends_on_the_run_the_neighbours_or_the_watchdog(chance, monkeypatch):
    model = constrained(200, chance)
    q, v = states(model, 6, chance)

    def run(q, v):
        simulation = engine.Simulation(model, len(q), 1e-4, algorithm="dca", q=q, v=v, device="cuda")
        simulation.step(40)
        return np.concatenate([simulation.q.get(), simulation.v.get()], 1)

    whole = run(q, v)
    np.testing.assert_array_equal(run(q, v), whole)
    np.testing.assert_array_equal(run(q[4:5], v[4:5]), whole[4:5])
    monkeypatch.setattr(device, "watched", lambda: True)
    for steps in (1, 7, 39):
        monkeypatch.setattr("engine.cuda.stepping.stepper.launch_steps", lambda *_, steps=steps: steps)
        np.testing.assert_array_equal(run(q, v), whole)


def run_to_the_end(simulation, steps):
    simulation.step(steps)
    simulation.check()


def test_a_chain_that_diverges_stops_and_the_others_go_on(chance):
    model = plain(200, chance)
    q, v = states(model, 3, chance)
    v[1, 150] = 1e11
    simulation = engine.Simulation(model, 3, 1e-3, algorithm="dca", q=q, v=v, device="cuda")
    with pytest.raises(engine.Diverged, match="of robot 1"):
        run_to_the_end(simulation, 50)
    alone = engine.Simulation(model, 2, 1e-3, algorithm="dca", q=q[[0, 2]], v=v[[0, 2]], device="cuda")
    alone.step(50)
    np.testing.assert_array_equal(simulation.q.get()[[0, 2]], alone.q.get())


def test_phases_are_timed(chance):
    simulation = engine.Simulation(plain(500, chance), algorithm="dca", device="cuda", dt=1e-4)
    simulation.step(20)
    phases = simulation.phases
    assert tuple(phases) == engine.PHASES["cuda"]["dca"]
    assert phases["kinematics"] > 0
    assert phases["acceleration"] > 0
    assert 1e-6 < sum(phases.values()) < 1e-3
