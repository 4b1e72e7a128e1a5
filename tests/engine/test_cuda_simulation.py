"""Simulation on the GPU: the CPU's motion, in one launch, without the host."""

import dataclasses

import numpy as np
import pytest
from stepped_robots import own_numbers

import engine
from engine.cuda.runtime import device

pytestmark = pytest.mark.gpu

ROBOTS = ("pendulum", "double_pendulum", "arm6", "arm7", "scara", "quadruped", "humanoid", "snake50")


@pytest.fixture
def load(pytestconfig):
    return lambda name: engine.load(pytestconfig.rootpath / "robots" / f"{name}.urdf")


def thrown(model, batch, rng):
    """States inside the limits, moving, some joints at rest."""
    v = rng.uniform(-1, 1, (batch, model.nv)) * np.minimum(model.velocity_limit, 2)
    v[rng.random(v.shape) < 0.2] = 0
    return model.random(rng, batch), v


def pair(model, batch, rng, dtype="float64", **settings):
    """Return the robots on the CPU and on the GPU, under equal forces."""
    q, v = thrown(model, batch, rng)
    settings = {"algorithm": "abia", **settings}
    host = engine.Simulation(model, batch, q=q, v=v, **settings)
    gpu = engine.Simulation(model, batch, q=q, v=v, device="cuda", dtype=dtype, **settings)
    tau, target = rng.uniform(-5, 5, (batch, model.nv)), rng.uniform(-1, 1, (batch, model.nv))
    for simulation in (host, gpu):
        simulation.tau[:], simulation.target[:] = simulation.array(tau), simulation.array(target)
    return host, gpu


def assert_steps_alike(host, gpu, steps, tolerance):
    host.step(steps)
    gpu.step(steps)
    gpu.check()
    scale = 1 + np.abs(host.v).max()
    np.testing.assert_allclose(gpu.q.get(), host.q, rtol=0, atol=tolerance)
    np.testing.assert_allclose(gpu.v.get() / scale, host.v / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_it_moves_as_on_the_cpu(robot, integrator, load, chance):
    host, gpu = pair(load(robot), 67, chance, integrator=integrator)
    assert_steps_alike(host, gpu, 30, 1e-6 if robot == "snake50" else 1e-11)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("robot", ["arm7", "quadruped"])
def test_gains_and_parameters_are_the_cpu_s(robot, integrator, load, chance):
    model, batch = load(robot), 37
    parameters, scalar = own_numbers(model, batch, chance), model.q_of_v >= 0
    parameters.effort_limit *= 0.1
    gains = {"kp": 20.0 * scalar, "kd": chance.random((batch, model.nv)) * scalar}
    for settings in (gains, {"parameters": parameters}, {"parameters": parameters, **gains}):
        host, gpu = pair(model, batch, chance, integrator=integrator, **settings)
        assert_steps_alike(host, gpu, 20, 1e-11)


@pytest.mark.parametrize("robot", ["double_pendulum", "arm7", "humanoid"])
def test_single_precision_is_that_precise(robot, load, chance):
    host, gpu = pair(load(robot), 64, chance, "float32", limits=False)
    assert_steps_alike(host, gpu, 10, 1e-3)
    assert str(gpu.q.dtype) == "float32"


GENERATED = [
    engine.chain(1),
    engine.chain(17, seed=1),
    engine.chain(200, seed=4),
    engine.tree(40, seed=2, prismatic=0.4),
    engine.tree(9, seed=3, floating=True),
    dataclasses.replace(engine.chain(80, seed=5), friction=np.full(80, 0.05), velocity_limit=np.full(80, 1.5)),
]


@pytest.mark.parametrize("model", GENERATED, ids=repr)
def test_generated_robots_too(model, chance):
    host, gpu = pair(model, 5, chance)
    for simulation in (host, gpu):
        simulation.tau[:] = 0
    assert_steps_alike(host, gpu, 5, 1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_steps_may_be_cut_into_launches_and_robots_stand_anywhere(dtype, load, chance):
    """Bit for bit the same motion, whatever stands beside a robot and wherever the host looked up."""
    model = load("arm7")
    q, v = thrown(model, 130, chance)
    one = engine.Simulation(model, 130, q=q, v=v, device="cuda", dtype=dtype)
    one.step(60)
    cut = engine.Simulation(model, 130, q=q[::-1], v=v[::-1], device="cuda", dtype=dtype)
    for n in (1, 20, 39):
        cut.step(n)
    np.testing.assert_array_equal(one.q.get(), cut.q.get()[::-1])
    np.testing.assert_array_equal(one.v.get(), cut.v.get()[::-1])
    assert cut.time == pytest.approx(0.06)


def test_implicit_gains_act_where_nothing_else_does(load, chance):
    model = load("arm7")
    model = dataclasses.replace(model, damping=np.zeros(model.nv), friction=np.zeros(model.nv))
    host, gpu = pair(model, 33, chance, integrator="implicit", limits=False, kp=500.0, kd=50.0)
    assert_steps_alike(host, gpu, 30, 1e-10)


def test_a_watchdog_cuts_a_run_into_launches_and_changes_no_bit(load, chance, monkeypatch):
    model = load("arm7")
    q, v = thrown(model, 33, chance)
    controls = chance.uniform(-5, 5, (33, 60, 7))

    def runs():
        kept = engine.rollout(model, q, v, controls, every=4, device="cuda")
        simulation = engine.Simulation(model, 33, q=q, v=v, device="cuda")
        simulation.step(50)
        return [x.get() for x in (kept.q, kept.v, simulation.q, simulation.v)]

    whole = runs()
    monkeypatch.setattr(device, "has_watchdog", lambda: True)
    for steps in (1, 7, 8, 59, 60):
        monkeypatch.setattr("engine.cuda.stepping.stepper.launch_steps", lambda *_, steps=steps: steps)
        for one, cut in zip(whole, runs(), strict=True):
            np.testing.assert_array_equal(cut, one)


@pytest.mark.parametrize("robot", ["arm7", "snake50"])
def test_limits_hold(robot, load, chance):
    model = load(robot)
    q, v = thrown(model, 256, chance)
    for dtype, slack in (("float64", 1e-9), ("float32", 2e-5)):
        simulation = engine.Simulation(model, 256, q=q, v=v, device="cuda", dtype=dtype)
        for _ in range(20):
            simulation.step(25)
            here = simulation.q.get()
            assert np.all(here >= model.lower - slack)
            assert np.all(here <= model.upper + slack)
            assert np.all(np.abs(simulation.v.get()) <= model.velocity_limit + slack)


def test_energy_drifts_as_on_the_cpu(load):
    model = load("double_pendulum")
    for integrator in engine.INTEGRATORS:
        drifts = []
        for where in ("cpu", "cuda"):
            simulation = engine.Simulation(model, integrator=integrator, q=[0.4, 0.3], device=where)
            start = sum(part[0] for part in simulation.energy())
            simulation.step(5000)
            drifts.append(sum(part[0] for part in simulation.energy()) - start)
        assert drifts[1] == pytest.approx(drifts[0], rel=1e-3, abs=1e-9)


def test_arrays_stay_on_the_gpu_and_are_shared_without_copies(load):
    import cupy

    simulation = engine.Simulation(load("arm7"), 8, device="cuda")
    outside = cupy.from_dlpack(simulation.q)
    assert outside.data.ptr == simulation.q.data.ptr
    simulation.step(3)
    np.testing.assert_array_equal(outside.get(), simulation.q.get())
    simulation.reset(q=simulation.q.copy(), v=cupy.zeros(7))
    assert simulation.steps == 0
    np.testing.assert_array_equal(outside.get(), simulation.q.get())


def test_a_rollout_is_the_cpu_s_and_writes_what_is_asked_for(load, chance):
    import cupy

    model = load("arm7")
    q, v = thrown(model, 33, chance)
    controls = chance.uniform(-3, 3, (33, 40, 7))
    for given in (controls, controls[0], controls[0, 0]):
        settings = {"controls": given, "every": 10, "steps": 40}
        host = engine.rollout(model, q, v, **settings)
        gpu = engine.rollout(model, q, v, device="cuda", **settings)
        assert isinstance(gpu.q, cupy.ndarray)
        for name in ("q", "v", "tau"):
            np.testing.assert_allclose(getattr(gpu, name).get(), getattr(host, name), rtol=0, atol=1e-10)
    ends = engine.rollout(model, cupy.asarray(q), steps=40, every=40, device="cuda", keep=("v",))
    assert ends.q is None
    assert ends.v.shape == (33, 2, 7)


def run_to_the_end(simulation):
    simulation.step(2000)
    simulation.check()


def test_a_divergence_is_found_without_waiting_and_named():
    model = dataclasses.replace(engine.chain(3), damping=np.full(3, 50.0))
    start = np.zeros((300, 3))
    start[217] = 5, -5, 5
    alone = engine.Simulation(model, v=start[217])
    with pytest.raises(engine.Diverged):
        alone.step(2000)
    simulation = engine.Simulation(model.with_gravity((0, 0, 0)), 300, v=start, device="cuda")
    with pytest.raises(engine.Diverged, match=r'diverged at .* joint\d of robot 217; halve dt .*"implicit"'):
        run_to_the_end(simulation)
    simulation.reset()
    simulation.step(10)
    simulation.check()
    assert simulation.time == pytest.approx(0.01)


def test_phases_are_timed_unless_not_wanted(load):
    for timed in (True, False):
        simulation = engine.Simulation(load("humanoid"), 100, algorithm="abia", device="cuda", timed=timed)
        simulation.step(5)
        assert set(simulation.phases) == set(engine.PHASES["cuda"]["abia"])
        assert all((seconds > 0) == timed for seconds in simulation.phases.values())


def test_what_does_not_fit_is_refused_before_it_is_launched(load):
    with pytest.raises(MemoryError, match=r"a simulation of .* robots 'arm7' in float64 needs \d+ bytes .* are free"):
        engine.Simulation(load("arm7"), 10**10, device="cuda")
