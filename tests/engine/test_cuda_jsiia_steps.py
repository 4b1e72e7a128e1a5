"""Steps by JSIIA on the GPU, a thread a robot: the CPU's motion, with all that acts on joints, of any robot."""

from functools import partial

import numpy as np
import pytest
from cuda_steps import assert_steps_alike
from mimics import mimics
from stepped_robots import own_numbers
from test_cuda_balls import beside, constrained

import engine

pytestmark = pytest.mark.gpu

MODELS = {
    "tree": engine.tree(12, seed=2, prismatic=0.3),
    "balls": engine.tree(14, seed=7, prismatic=0.2, floating=True, spherical=0.4),
    "floating": engine.tree(9, seed=3, floating=True),
    "long": engine.tree(70, seed=6),
    **{name: engine.load(engine.ROBOTS / f"{name}.urdf") for name in ("humanoid", "quadruped", "scara")},
}
FOLLOWING = ("mimics1", "mimics2", "mimics3")


@pytest.fixture
def robots(tmp_path):
    follow = {f"mimics{seed}": mimics(tmp_path, seed, floating=seed % 2 == 0) for seed in (1, 2, 3)}
    return MODELS | follow


pair = partial(beside, algorithm="jsiia")


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("acted_on", [False, True])
@pytest.mark.parametrize("name", [*MODELS, *FOLLOWING])
def test_they_move_as_on_the_cpu(name, acted_on, integrator, robots, rng):
    model = constrained(robots[name], rng) if acted_on else robots[name]
    gains = {"kp": 2.0, "kd": 0.1} if acted_on else {}
    found = pair(model, 5, rng, integrator=integrator, dt=1e-3 if model.nv < 60 else 1e-4, **gains)
    assert_steps_alike(*found, 20, 1e-9)


@pytest.mark.parametrize("name", ["humanoid", "mimics2"])
def test_single_precision_moves_nearly_so(name, robots, rng):
    assert_steps_alike(*pair(constrained(robots[name], rng), 64, rng, "float32"), 10, 2e-3)


def test_wrenches_and_parameters_act_as_on_the_cpu(robots, rng):
    model, batch = robots["mimics2"], 9
    parameters = own_numbers(model, batch, rng, friction=False)
    host, gpu = pair(model, batch, rng, parameters=parameters, pushed=1.0)
    assert_steps_alike(host, gpu, 20, 1e-10)
    for there, here in zip(gpu.energy(), host.energy(), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)


def test_aba_s_motion_is_the_same(robots, rng):
    """Rounds of the constraints included, in which whole limbs are held."""
    model = constrained(robots["humanoid"], rng)
    q, v = model.random(rng, 200), rng.uniform(-0.4, 0.4, (200, model.nv))
    v[:, rng.random(model.nv) < 0.5] = 0
    runs = []
    for algorithm in ("abia", "jsiia"):
        simulation = engine.Simulation(model, 200, q=q, v=v, algorithm=algorithm, device="cuda")
        simulation.step(50)
        runs.append(simulation.q.get())
    np.testing.assert_allclose(runs[1], runs[0], rtol=0, atol=1e-8)


def test_bits_depend_on_no_neighbour(robots, rng):
    model = constrained(robots["mimics2"], rng)
    q, v = model.random(rng, 130), rng.uniform(-0.4, 0.4, (130, model.nv))
    runs = [
        engine.Simulation(model, 130, q=q[order], v=v[order], algorithm="jsiia", device="cuda")
        for order in (slice(None), slice(None, None, -1))
    ]
    runs[0].step(40)
    for n in (1, 39):
        runs[1].step(n)
    np.testing.assert_array_equal(runs[0].q.get(), runs[1].q.get()[::-1])


def test_robots_with_mimic_joints_are_given_to_it_and_phases_are_timed(robots, rng):
    simulation = engine.Simulation(constrained(robots["mimics1"], rng), 4, device="cuda")
    assert simulation.algorithm == "jsiia"
    simulation.step(3)
    assert all(seconds > 0 for seconds in simulation.phases.values())
    with pytest.raises(ValueError, match="use jsiia"):
        engine.Simulation(robots["mimics1"], 4, algorithm="abia", device="cuda")


@pytest.mark.parametrize("algorithm", ["abia", "jsiia"])
def test_a_robot_in_which_nothing_moves_stays(algorithm, tmp_path):
    path = tmp_path / "still.urdf"
    path.write_text('<robot name="still"><link name="base"/></robot>')
    simulation = engine.Simulation(engine.load(path), 3, algorithm=algorithm, device="cuda")
    simulation.wrench[:] = 1
    simulation.step(10)
    simulation.check()
    assert simulation.time == pytest.approx(0.01)
    assert simulation.q.shape == (3, 0)
    assert np.all(np.asarray(simulation.energy()) == 0)
