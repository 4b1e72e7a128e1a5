"""Robots of one batch that differ in masses, gravity, damping, friction, effort limits and gains."""

import numpy as np
import pytest

import engine

ROBOTS = ("arm7", "scara", "quadruped")


def load(name, pytestconfig):
    return engine.load(pytestconfig.rootpath / "robots" / f"{name}.urdf")


def varied(model, batch, rng):
    """Parameters in which no two robots agree."""
    parameters = engine.Parameters(model, batch)
    scale = rng.uniform(0.5, 2, (batch, len(model.parent)))
    parameters.mass *= scale
    parameters.first_moment *= scale[..., None]
    parameters.inertia *= scale[..., None, None]
    parameters.gravity[:] = rng.uniform(-10, 10, (batch, 3))
    parameters.damping += rng.uniform(0, 0.5, parameters.damping.shape)
    parameters.friction *= rng.uniform(0, 2, parameters.friction.shape)
    parameters.effort_limit *= rng.uniform(0.01, 0.1, parameters.effort_limit.shape)
    return parameters


def test_new_parameters_equal_the_models_and_are_independent(pytestconfig):
    model = load("arm7", pytestconfig)
    parameters = engine.Parameters(model, 3)
    for name in ("mass", "first_moment", "inertia", "gravity", "damping", "friction", "effort_limit"):
        values = getattr(parameters, name)
        assert values.shape == (3, *np.shape(getattr(model, name)))
        for robot in range(3):
            np.testing.assert_array_equal(values[robot], getattr(model, name))
    parameters.mass[1] = 7.0
    assert np.all(model.mass != 7.0)
    assert np.all(parameters.mass[0] == model.mass)


def test_a_copy_has_arrays_of_its_own(pytestconfig, rng):
    parameters = varied(load("arm7", pytestconfig), 2, rng)
    copy = parameters.copy()
    for name in ("mass", "first_moment", "inertia", "gravity", "damping", "friction", "effort_limit"):
        before = np.array(getattr(parameters, name))
        np.testing.assert_array_equal(getattr(copy, name), before)
        getattr(copy, name)[:] = 7.0
        np.testing.assert_array_equal(getattr(parameters, name), before)


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("mass", (1, 2), -1.0, r"parameters\.mass\[1, 2\] is -1\.0; it cannot be negative"),
        ("mass", (0, 0), np.nan, r"parameters\.mass\[0, 0\] is nan; every number must be finite"),
        ("gravity", (1, 1), np.inf, r"parameters\.gravity\[1, 1\] is inf; every number must be finite"),
        ("damping", (1, 0), -0.1, r"parameters\.damping\[1, 0\] is -0\.1; it cannot be negative"),
        ("effort_limit", (0, 3), -2.0, r"parameters\.effort_limit\[0, 3\] is -2\.0; it cannot be negative"),
        ("inertia", (1, 4, 0, 1), 9.0, r"parameters\.inertia\[1, 4\] is not symmetric"),
        ("inertia", (1, 4, 2, 2), -9.0, r"parameters\.inertia\[1, 4\] is not positive semidefinite"),
    ],
)
def test_an_impossible_parameter_is_refused(name, place, value, words, pytestconfig):
    model = load("arm7", pytestconfig)
    parameters = engine.Parameters(model, 2)
    getattr(parameters, name)[place] = value
    with pytest.raises(ValueError, match=words):
        engine.Simulation(model, 2, parameters=parameters)


def test_parameters_of_other_robots_are_refused(pytestconfig):
    model, other = load("arm7", pytestconfig), load("scara", pytestconfig)
    with pytest.raises(ValueError, match=r"parameters are of 2 robots 'scara'; expected 2 of this very model, 'arm7'"):
        engine.Simulation(model, 2, parameters=engine.Parameters(other, 2))
    with pytest.raises(ValueError, match=r"parameters are of 3 robots .* expected 2"):
        engine.Simulation(model, 2, parameters=engine.Parameters(model, 3))
    wrong = engine.Parameters(model, 2)
    wrong.mass = wrong.mass[:, 1:]
    with pytest.raises(ValueError, match=r"parameters\.mass has shape \(2, 6\); expected \(2, 7\)"):
        engine.Simulation(model, 2, parameters=wrong)


def test_implicit_gains_are_those_at_the_end_of_the_step_and_stable_where_explicit_ones_are_not():
    model, dt, kp, kd = engine.chain(1, seed=2).with_gravity((0, 0, 0)), 1e-2, 3e4, 50.0
    m = engine.mass_matrix(model, [0.0])[0, 0]
    implicit = engine.Simulation(model, dt=dt, integrator="implicit", q=[0.1], v=[2.0], kp=kp, kd=kd)
    implicit.target[:] = 0.3
    implicit.step()
    # v⁺ = v + dt/m (kp (target − q − dt v⁺) − kd v⁺), solved for v⁺
    after = (m * 2.0 + dt * kp * (0.3 - 0.1)) / (m + dt * kd + dt * dt * kp)
    assert implicit.v[0, 0] == pytest.approx(after, rel=1e-12)
    implicit.step(500)
    assert implicit.q[0, 0] == pytest.approx(0.3, abs=1e-9)
    with pytest.raises(engine.Diverged, match='"implicit", which is stable for any joint damping and gains'):
        engine.Simulation(model, dt=dt, q=[0.1], kp=kp, kd=kd, v=[2.0]).step(500)


def test_a_divergence_is_told_with_the_damping_of_its_robot():
    model = engine.chain(1, seed=2).with_gravity((0, 0, 0))
    own = engine.Parameters(model, 2)
    own.damping[1] = 1e6
    simulation = engine.Simulation(model, 2, dt=1e-2, v=[2.0], parameters=own, on_divergence="freeze")
    simulation.v[0] = np.inf
    simulation.step(500)
    assert '"implicit"' not in simulation.divergence(0)
    assert '"implicit"' in simulation.divergence(1)


def test_one_number_is_the_gain_of_every_joint_but_the_free_ones(pytestconfig):
    model = load("quadruped", pytestconfig)
    joints = np.where(model.q_of_v < 0, 0.0, 7.0)
    one, each = (engine.Simulation(model, 2, kp=gain, kd=gain) for gain in (7.0, joints))
    for simulation in (one, each):
        simulation.target[:, model.q_of_v >= 0] += 0.1
        simulation.step(5)
    np.testing.assert_array_equal(one.q, each.q)
    assert np.any(one.v[:, 6:] != 0)


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ({"kp": [1.0]}, r"kp has shape \(1,\); expected \(18,\) or \(batch, 18\)"),
        ({"kd": np.full(18, 1.0)}, r"kd is not 0 for .*wx; a free joint takes no gains"),
        ({"kp": [0.0] * 17 + [-1.0]}, r"kp\[0, 17\] is -1\.0; a gain cannot be negative"),
        ({"kp": -1.0}, r"kp\[0, 6\] is -1\.0; a gain cannot be negative"),
        ({"kp": np.zeros((3, 18))}, r"kp has 3 rows; expected one or 2, the batch"),
        ({"kp": [np.nan] * 18}, r"kp\[0, 0\] is nan|kp\[0\] is nan"),
    ],
)
def test_gains_that_cannot_be_are_refused(gains, words, pytestconfig):
    with pytest.raises(ValueError, match=words):
        engine.Simulation(load("quadruped", pytestconfig), 2, **gains)


def test_what_a_stepper_would_misread_is_refused():
    simulation = engine.Simulation(engine.chain(3), 2)
    q, v = np.empty((2, 5, 3)), np.empty((2, 5, 3))
    simulation.advance(4, np.zeros((1, 4, 3)), record=(q, v))
    for controls in (np.zeros((2, 3, 3)), np.zeros((2, 4, 3), "float32"), np.zeros((4, 2, 3)).swapaxes(0, 1)):
        with pytest.raises(ValueError, match=r"controls is .*; expected a contiguous float64 array \(1, 4, 3\) or"):
            simulation.advance(4, controls)
    with pytest.raises(ValueError, match=r"record\[1\] is a ndarray of shape \(2, 4, 3\) and type float64"):
        simulation.advance(4, record=(q, v[:, :4].copy()))
    with pytest.raises(ValueError, match="every is 0"):
        simulation.advance(4, every=0)
    assert simulation.steps == 4
