"""A batch at work for the window, on either device, without Qt."""

from dataclasses import replace

import numpy as np
import pytest

import engine
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Settings, Snapshot
from app.simulation.running import Running, running_of

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
SPREAD = BatchSpread(12, pose=0.3, mass=0.2, friction=0.1)


@pytest.fixture(scope="module")
def arm() -> engine.Model:
    return engine.load(engine.find_robot("arm7"))


@pytest.fixture(params=DEVICES)
def settings(request) -> Settings:
    return Settings(device=request.param, algorithm="abia", spread=SPREAD)


def collected(running: Running, model: engine.Model) -> Snapshot:
    into = Snapshot(model)
    running.collect(into)
    return into


def test_a_batch_is_brought_whole_and_one_robot_in_full(arm, settings):
    running = running_of(arm, settings)
    running.reset(arm.neutral())
    running.select_robot(5)
    running.advance(40)
    shown = collected(running, arm)
    assert shown.robot == 5
    assert shown.time == pytest.approx(0.04)
    assert shown.batch.link_poses.shape == (12, len(arm.link_names), 4, 4)
    np.testing.assert_allclose(shown.link_poses, engine.link_poses(arm, shown.q), atol=1e-5)
    np.testing.assert_allclose(shown.batch.link_poses[5], shown.link_poses, atol=1e-5)
    own = SPREAD.parameters(arm).robot(5)
    assert shown.batch.energy[5] == pytest.approx(sum(engine.energy(own, shown.q, shown.v)), rel=1e-5)
    assert shown.batch.diverged.tolist() == [False] * 12


def test_all_robots_have_the_same_targets_and_efforts(arm, settings):
    running = running_of(arm, replace(settings, held=True))
    running.reset(arm.neutral())
    running.set_one("target", 2, 0.5)
    running.set_one("tau", 3, 7.0)
    of_host = [running.simulation.target, running.simulation.tau]
    target, tau = (x if isinstance(x, np.ndarray) else x.get() for x in of_host)
    np.testing.assert_array_equal(target, np.repeat(running.target[None], 12, 0))
    np.testing.assert_array_equal(tau, np.repeat(running.tau[None], 12, 0))
    assert (target[7, 2], tau[7, 3]) == (0.5, 7.0)


def test_another_simulation_goes_on_with_every_robot_where_it_is(arm, settings):
    before = running_of(arm, settings)
    before.reset(arm.neutral())
    before.advance(20)
    before.refresh()
    same = running_of(arm, replace(settings, integrator="rk4", spread=replace(SPREAD, mass=0.4)))
    same.carry_on(before)
    np.testing.assert_array_equal(same.q, before.q)
    assert same.time == before.time == pytest.approx(0.02)
    more = running_of(arm, replace(settings, spread=replace(SPREAD, robots=30)))
    more.carry_on(before)
    np.testing.assert_allclose(more.q[0], before.q[0])
    np.testing.assert_allclose(more.v, np.repeat(before.v[:1], 30, 0))
    q, _ = more.simulation.state()
    np.testing.assert_allclose(q, more.q)


def test_a_robot_that_diverges_is_told_and_the_rest_is_shown(settings):
    chain = engine.chain(7, seed=2)
    running = running_of(chain, replace(settings, spread=BatchSpread(9)))
    running.v[4] = 3e3
    running.simulation.reset(running.q, running.v)
    running.advance(60)
    shown = collected(running, chain)
    assert np.flatnonzero(shown.batch.diverged).tolist() == [4]
    assert np.all(np.isfinite(shown.batch.link_poses))
