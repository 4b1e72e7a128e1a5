"""Gains that hold a robot, and steps that do not diverge."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import holding, timestep

SECONDS = 5.0
SHIPPED = ("pendulum", "double_pendulum", "arm6", "arm7", "scara", "quadruped", "humanoid", "snake50")


@pytest.fixture
def load(pytestconfig):
    return lambda name: engine.load(pytestconfig.rootpath / "robots" / f"{name}.urdf")


def after_holding(model: engine.Model, integrator: str | None = None, seconds: float = SECONDS) -> np.ndarray:
    """Return the displacement of each non-free joint, rad or m, after holding; a floating base has no gravity."""
    scalar = model.q_of_v >= 0
    model = model if np.all(scalar) else model.with_gravity((0, 0, 0))
    step = engine.suggested_step(model, held=True)
    name = integrator or step.integrator
    kp, kd = engine.holding_gains(model, step.dt, name)
    simulation = engine.Simulation(model, dt=step.dt, integrator=name, kp=kp, kd=kd)
    simulation.step(round(seconds / step.dt))
    return np.abs(simulation.q[0] - model.neutral())[model.q_of_v[scalar]]


@pytest.mark.parametrize("name", [name for name in SHIPPED if name != "snake50"])
def test_shipped_robots_stay_where_they_are_held(load, name):
    assert np.degrees(after_holding(load(name)).max()) < 0.3


@pytest.mark.parametrize("n", [10, 50, 200, 1000])
@pytest.mark.parametrize("straight", [False, True])
def test_chains_of_any_length_stay_where_they_are_held(n, straight):
    model = engine.chain(n, straight=straight).with_gravity((3.0, 0.0, -9.0))
    assert np.degrees(after_holding(model, seconds=SECONDS if n < 500 else 1.5).max()) < 0.5


def test_real_robots_stay_where_they_are_held_or_need_more_than_their_effort(example_robots):
    tried = 0
    for path in example_robots:
        model = engine.load(path)
        if model.nv == 0:
            continue
        scalar = model.q_of_v >= 0
        _, weight = holding.inertia_and_load(model, model.neutral())
        if np.any(np.abs(engine.bias(model, model.neutral(), np.zeros(model.nv)))[scalar] > model.effort_limit[scalar]):
            weak = model.effort_limit[scalar] < weight[scalar]
            assert np.all(np.isfinite(after_holding(model))), path.name
            assert np.any(weak), path.name
            continue
        tried += 1
        assert np.degrees(after_holding(model).max()) < 1, path.name
    assert tried > 50


def test_effort_limits_far_above_what_legs_carry_make_them_no_stiffer(tmp_path):
    """Such as 1000 N m for a quadruped, which then took off at its first target."""
    text, kp = Path("robots/quadruped.urdf").read_text("utf-8"), {}
    for effort in (33, 1000, 10**6):
        (tmp_path / "dog.urdf").write_text(re.sub(r'effort="[^"]*"', f'effort="{effort}"', text), "utf-8")
        kp[effort] = engine.holding_gains(engine.load(tmp_path / "dog.urdf"))[0]
    np.testing.assert_array_equal(kp[1000], kp[10**6])
    assert np.all(kp[1000][6:] < 3 * kp[33][6:])


@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4"])
@pytest.mark.parametrize("name", ["arm6", "arm7", "humanoid"])
def test_gains_for_explicit_integrators_are_softer_and_stable(load, name, integrator):
    model = dataclasses.replace(load(name), friction=np.zeros(load(name).nv))
    moved = after_holding(model, integrator, seconds=2.0)
    assert np.degrees(moved.max()) < 12
    full, bounded = (engine.holding_gains(model, 1e-3, name)[0] for name in ("implicit", integrator))
    assert np.all(bounded <= full)
    assert np.any(bounded < full)


def test_a_held_arm_comes_to_another_target_without_overshoot(load):
    model = load("arm7").with_gravity((0, 0, 0))
    kp, kd = engine.holding_gains(model)
    simulation = engine.Simulation(model, integrator="implicit", kp=kp, kd=kd)
    simulation.target[0, 3] = -0.5
    lowest = 0.0
    for _ in range(3000):
        simulation.step()
        lowest = min(lowest, simulation.q[0, 3])
    assert simulation.q[0, 3] == pytest.approx(-0.5, abs=0.01)
    assert lowest > -0.55


@pytest.mark.parametrize("name", ["arm6", "arm7", "scara", "humanoid"])
def test_joints_come_to_their_setpoints_despite_their_friction(load, name):
    """The last joints, which carry little and rub much, stayed up to 8° away."""
    model = load(name).with_gravity((0, 0, 0))
    kp, kd = engine.holding_gains(model)
    simulation, held = engine.Simulation(model, integrator="implicit", kp=kp, kd=kd), model.q_of_v >= 0
    wanted = np.clip(0.05, model.lower, model.upper)[held]
    simulation.target[0, held] = wanted
    simulation.step(4000)
    assert np.abs(simulation.q[0, model.q_of_v[held]] - wanted).max() < 0.005


def test_gains_of_an_unknown_integrator_or_a_wrong_pose_are_refused(load):
    with pytest.raises(ValueError, match="integrator is 'euler'"):
        engine.holding_gains(load("arm7"), 1e-3, "euler")
    with pytest.raises(ValueError, match="q has shape"):
        engine.holding_gains(load("arm7"), q=[0.0])


@pytest.mark.sample(4)
@pytest.mark.parametrize("n", [1, 2, 10, 20, 50, 100])
@pytest.mark.parametrize("straight", [False, True])
def test_chains_that_fall_freely_do_not_diverge_at_the_suggested_step(n, straight):
    model = engine.chain(n, seed=n, straight=straight).with_gravity((3.0, 0.0, -9.0))
    step = engine.suggested_step(model)
    simulation = engine.Simulation(model, dt=step.dt, integrator=step.integrator)
    simulation.step(round(SECONDS / step.dt))
    assert np.all(np.isfinite(simulation.q))


@pytest.mark.parametrize("links", [300, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_long_chain_falls_at_its_suggested_step_past_where_a_millisecond_ended(links):
    model = engine.chain(links)
    step = engine.suggested_step(model)
    assert step.integrator == "rk4"
    assert step.dt <= 1e-4
    simulation = engine.Simulation(model, dt=step.dt, integrator=step.integrator)
    simulation.step(round(1.0 / step.dt))
    with pytest.raises(engine.Diverged):
        engine.Simulation(model).step(1000)


def test_real_robots_fall_freely_at_the_suggested_step(example_robots):
    for path in example_robots:
        model = engine.load(path)
        if model.nv == 0 or path.name == "tiago_dual.urdf":  # that one alone would take as long as all others
            continue
        step = engine.suggested_step(model)
        undamped = path.name == "iris.urdf"  # the rotors of a quadrotor, without a velocity limit
        assert (step.dt, step.integrator) == (1e-3, "rk4" if undamped else "implicit"), path.name
        engine.Simulation(model, dt=step.dt, integrator=step.integrator).step(5000)


@pytest.mark.parametrize("name", ["pendulum", "double_pendulum"])
def test_the_suggested_step_keeps_the_energy_of_what_nothing_slows_down(load, name):
    model = load(name)
    step = engine.suggested_step(model)
    q = np.full(model.nv, 1.5)
    simulation = engine.Simulation(model, dt=step.dt, integrator=step.integrator, q=q)
    begin = sum(engine.energy(model, q, np.zeros(model.nv)))
    simulation.step(round(48 / step.dt))
    kinetic, potential = engine.energy(model, simulation.q[0], simulation.v[0])
    assert kinetic + potential == pytest.approx(begin, rel=1e-5)
    assert "damping" in step.why
    damped = dataclasses.replace(model, damping=np.full(model.nv, 0.1))
    assert engine.suggested_step(damped).integrator == "implicit"


def test_the_fastest_joint_turns_a_little_in_a_suggested_step():
    for n in (20, 200, 1000):
        model = engine.chain(n)
        step = engine.suggested_step(model)
        assert timestep.top_speeds(model).max() * step.dt <= timestep.TURN
        assert "rad/s" in step.why


def test_a_model_without_joints_has_a_step_and_no_gains():
    model = dataclasses.replace(engine.chain(1), friction=np.zeros(1))
    assert engine.suggested_step(model).dt == timestep.MAX_STEP
    assert [len(gains) for gains in engine.holding_gains(model)] == [1, 1]


SLIDER = """<robot name="slider"><link name="base"/><link name="slide">
  <inertial><mass value="{}"/><inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/></inertial></link>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="slide"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="{}" effort="1000" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize(("travel", "most"), [(0.0, 5e-4), (1e-9, 5e-7), (8e-4, 1.6e-5), (0.2, 5e-4)])
@pytest.mark.parametrize("mass", [1e-4, 5.0])
def test_a_short_slide_sinks_by_a_small_share_of_its_travel(tmp_path, mass, travel, most):
    """One of 0.8 mm sank by 0.4 mm to its end, as stiff as one of any travel."""
    path = tmp_path / "slider.urdf"
    path.write_text(SLIDER.format(mass, travel), "utf-8")
    model = engine.load(path)
    kp, kd = engine.holding_gains(model)
    assert most / 1.001 <= 9.81 * mass / kp[0] <= most * 1.001
    middle = np.array([[travel / 2]])
    simulation = engine.Simulation(model, q=middle, integrator="implicit", kp=kp, kd=kd)
    simulation.target[:] = middle
    simulation.step(1000)
    assert 0 <= travel / 2 - simulation.q[0, 0] <= most * 1.001
