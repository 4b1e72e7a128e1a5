"""Motion over time: convergence, and the effect of limits, damping and friction."""

import dataclasses

import numpy as np
import pytest

import engine


def total_energy(simulation):
    return sum(part[0] for part in simulation.energy())


@pytest.fixture(scope="module")
def double_pendulum(request):
    return engine.load(request.config.rootpath / "robots" / "double_pendulum.urdf")


@pytest.mark.parametrize(("integrator", "order"), [("semi-implicit", 1), ("implicit", 1), ("rk4", 4)])
def test_each_integrator_has_its_order(integrator, order):
    model = dataclasses.replace(engine.tree(4, seed=3, floating=True, prismatic=0.3), damping=np.full(9, 0.02))
    rng = np.random.default_rng(1)
    q, v = model.random(rng), rng.uniform(-1, 1, model.nv)

    def end(dt, name):
        simulation = engine.Simulation(model, dt=dt, integrator=name, q=q, v=v)
        simulation.step(round(0.48 / dt))
        return np.concatenate([simulation.q[0], simulation.v[0]])

    exact = end(2.5e-4, "rk4")
    steps = np.array([8e-3, 4e-3, 2e-3])
    errors = [np.linalg.norm(end(dt, integrator) - exact) for dt in steps]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_quaternions_stay_unit(integrator):
    model = engine.tree(3, floating=True)
    simulation = engine.Simulation(model, integrator=integrator, v=np.full(model.nv, 2.0))
    simulation.step(2000)
    assert np.linalg.norm(simulation.q[0, 3:7]) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_many_limits_at_once_are_solved_too(integrator, pytestconfig):
    """Starts from which block pivoting goes round in circles: 50 joints, half of them thrown against their limits."""
    model = engine.load(pytestconfig.rootpath / "robots" / "snake50.urdf")
    for seed, speed in ((5, 0.0), (2, 3.0), (1, 3.0)):
        rng = np.random.default_rng(seed)
        q = model.random(rng, 16)
        v = np.clip(speed * rng.standard_normal((16, model.nv)), -model.velocity_limit, model.velocity_limit)
        simulation = engine.Simulation(model, batch=16, integrator=integrator, q=q, v=v)
        for _ in range(500):
            before_q, before_v = simulation.q.copy(), simulation.v.copy()
            simulation.step(1)
            outside = np.maximum(simulation.q - model.upper, model.lower - simulation.q)
            assert outside.max() <= 1e-9
            if integrator == "semi-implicit":
                pull = engine.forward_dynamics(model, before_q, before_v, -model.damping * before_v)
                free = engine.energy(model, before_q, before_v + simulation.dt * pull)[0]
                assert np.all(engine.energy(model, before_q, simulation.v)[0] <= free * (1 + 1e-12))


def test_forces_that_are_not_finite_are_refused(double_pendulum):
    simulation = engine.Simulation(double_pendulum)
    simulation.tau[0, 1] = np.nan
    with pytest.raises(ValueError, match=r"sim\.tau\[0, 1\] is not finite"):
        simulation.step(1)


@pytest.mark.parametrize("n", [-1, 1.5, "a"])
def test_a_number_of_steps_is_a_whole_number(double_pendulum, n):
    with pytest.raises(ValueError, match=r"n is .*; expected a whole number of 0 or more"):
        engine.Simulation(double_pendulum).step(n)


def test_limits_can_be_ignored(double_pendulum):
    model = dataclasses.replace(double_pendulum, lower=np.full(2, -0.1), upper=np.full(2, 0.1))
    simulation = engine.Simulation(model, limits=False)
    simulation.step(500)
    assert np.abs(simulation.q).max() > 0.2


def test_implicit_damping_is_stable_where_explicit_damping_is_not():
    model = dataclasses.replace(engine.chain(3), damping=np.full(3, 50.0))
    stable = engine.Simulation(model, integrator="implicit", v=[5, -5, 5])
    stable.step(2000)
    assert np.abs(stable.v).max() < 1
    with pytest.raises(engine.Diverged, match=r'diverged at .* joint\d; halve dt .* or take integrator="implicit"'):
        engine.Simulation(model, integrator="semi-implicit", v=[5, -5, 5]).step(2000)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dt": 0}, "dt is 0; expected a positive"),
        ({"dt": float("nan")}, "dt is nan"),
        ({"batch": 0}, "batch is 0"),
        ({"integrator": "euler"}, "integrator is 'euler'; expected one of 'semi-implicit', 'rk4', 'implicit'"),
        ({"q": [1, 2]}, "q has shape"),
        ({"algorithm": "abia-hybrid"}, "abia-hybrid does not step chain3 on cpu, .*; use abia"),
    ],
)
def test_wrong_settings_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        engine.Simulation(engine.chain(3), **arguments)


def test_phases_are_timed_and_add_up():
    import time

    simulation = engine.Simulation(engine.chain(300), dt=1e-4, algorithm="abia")
    simulation.step(1)
    start = time.perf_counter()
    simulation.step(1)
    wall = time.perf_counter() - start
    assert set(simulation.phases) == set(engine.PHASES["cpu"]["abia"])
    assert {name for name, seconds in simulation.phases.items() if seconds == 0} == {"constraints"}
    assert sum(simulation.phases.values()) <= wall


def test_the_effort_of_what_has_no_drive_is_what_was_set():
    model = engine.tree(5, seed=1, floating=True, spherical=0.5)
    simulation = engine.Simulation(model, 2)
    simulation.tau[:] = np.arange(2 * model.nv).reshape(2, -1)
    np.testing.assert_array_equal(simulation.effort, simulation.tau)
