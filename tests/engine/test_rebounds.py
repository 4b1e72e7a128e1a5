"""Restitution: Newton's law, and no more energy than before."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from free_bodies import free_body, simulated, thrown

import engine

G = 9.81


@pytest.fixture(scope="module")
def body(tmp_path_factory):
    return partial(free_body, tmp_path_factory)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_a_ball_that_springs_back_wholly_keeps_its_height_for_a_minute(body, integrator, dt):
    scene = engine.Scene(restitution=1.0)
    simulation = simulated(body('<sphere radius="0.1"/>'), scene, 1.1, dt=dt, integrator=integrator)
    heights = []
    for _ in range(round(60 / dt)):
        simulation.step()
        heights.append(simulation.q[0, 2] - 0.1)
    before, here, after = np.array(heights[:-2]), np.array(heights[1:-1]), np.array(heights[2:])
    peaks = here[(here > before) & (here >= after)]
    assert len(peaks) in (66, 67)
    assert np.all(peaks < 1.0)
    assert np.all(np.diff(peaks) < dt * dt * G)  # of the highest state that a step ends at
    assert peaks.min() > 0.99


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_no_impact_gives_energy(body, restitution):
    """In a nanosecond nothing but the impact acts: 30 000 of them."""
    rng, batch = np.random.default_rng(3), 30_000
    model = dataclasses.replace(body('<box size="0.3 0.2 0.1"/>'), gravity=np.zeros(3))
    q, v = thrown(rng, model, batch)
    scene = engine.Scene(restitution=restitution)
    simulation = engine.Simulation(model, batch, 1e-9, q=q, v=v, scene=scene, algorithm="abia")
    before, _ = simulation.energy()
    simulation.step()
    after, _ = simulation.energy()
    assert np.count_nonzero(simulation.contacts.impulse[:, 0, 2]) > batch / 3
    assert np.all(after - before <= 1e-9 * before)
    assert simulation.contacts.residual.max() <= 1e-8


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_rotating_boxes_rebound_wholly_without_friction(body, integrator):
    """Gyroscopic moments change the approach within the step, which must not cost restitution."""
    rng, batch = np.random.default_rng(5), 100
    model = dataclasses.replace(body('<box size="0.3 0.2 0.1"/>'), gravity=np.zeros(3))
    q, v = thrown(rng, model, batch)
    scene, parameters = engine.Scene(restitution=1.0, friction=0.0), engine.Parameters(model, batch)
    parameters.inertia[:] = np.diag([0.01, 0.02, 0.025])
    simulation = engine.Simulation(
        model, batch, 1e-4, integrator, q=q, v=v, scene=scene, parameters=parameters, algorithm="abia"
    )
    before, _ = simulation.energy()
    simulation.step(200)
    after, _ = simulation.energy()
    assert np.count_nonzero(np.abs(simulation.v - v).max(1) > 0.1) > batch / 3
    np.testing.assert_allclose(after, before, rtol=2e-3)


def test_restitution_is_reduced_little_more_than_energy_requires(body):
    """Where e = 1 would add energy with friction, boxes rebound with most of their normal speed."""
    rng, batch = np.random.default_rng(6), 3000
    model = dataclasses.replace(body('<box size="0.3 0.2 0.1"/>'), gravity=np.zeros(3))
    q, v = thrown(rng, model, batch)
    scene = engine.Scene(restitution=1.0)
    simulation = engine.Simulation(model, batch, 1e-9, q=q, v=v, scene=scene, algorithm="abia")
    simulation.step()
    rotation = engine.link_poses(model, q)[:, 0, :3, :3]
    arm = np.einsum("bji,bj->bi", rotation, simulation.contacts.point[:, 0] - q[:, :3])
    before, after = (
        np.einsum("bj,bj->b", rotation[:, 2], x[:, 3:] + np.cross(x[:, :3], arm)) for x in (v, simulation.v)
    )
    rebounds = (simulation.contacts.number == 1) & (before < -0.1)
    taken = -after[rebounds] / before[rebounds]
    reduced = taken[taken < 0.999]
    assert len(reduced) > batch / 20
    assert np.median(reduced) > 0.8
    assert np.min(reduced) > 0.5


def test_a_rebound_that_a_joint_limit_prevents_is_left_out(tmp_path):
    """A slider at its upper limit, its box on the ground, moves down: it can only stop."""
    (tmp_path / "slider.urdf").write_text(
        '<robot name="slider"><link name="base"/><joint name="slide" type="prismatic"><parent link="base"/>'
        '<child link="box"/><axis xyz="0 0 1"/><limit lower="-1" upper="0.1" effort="9" velocity="9"/></joint>'
        '<link name="box"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        '</inertial><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link></robot>'
    )
    model = engine.load(tmp_path / "slider.urdf")
    simulation = engine.Simulation(model, q=[0.1], v=[-1.0], scene=engine.Scene(restitution=1.0), algorithm="abia")
    simulation.step()
    assert simulation.contacts.number[0] == 4
    assert simulation.contacts.residual[0] <= 1e-8
    assert simulation.v[0, 0] == pytest.approx(0.0, abs=1e-9)
