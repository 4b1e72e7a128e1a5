"""Batches as they are asked for, and how they are shown, without a window."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from app.picture import crowd
from app.picture.crowd import DEVIATION, ENERGY, Crowd
from app.simulation.spread import Spread, deviations


@pytest.fixture(scope="module")
def arm() -> engine.Model:
    return engine.load(engine.find_robot("arm7"))


def test_robot_0_is_as_it_was_and_the_others_differ_by_as_much_as_asked(arm):
    spread = Spread(200, pose=0.3, mass=0.2, friction=0.5, seed=5)
    q = arm.neutral()
    poses = spread.poses(arm, q)
    np.testing.assert_array_equal(poses[0], q)
    assert np.all(np.abs(poses - q) <= 0.3)
    assert np.abs(poses - q).max() > 0.29
    assert np.all(poses >= arm.lower - 1e-12)
    assert np.all(poses <= arm.upper + 1e-12)
    parameters = spread.parameters(arm)
    parameters.check()
    shares = parameters.mass / arm.mass
    np.testing.assert_array_equal(shares[0], 1.0)
    assert 0.8 <= shares.min() < 0.82 < 1.18 < shares.max() <= 1.2
    np.testing.assert_allclose(parameters.inertia[7, 3], shares[7, 3] * arm.inertia[3])
    rubs = arm.damping > 0
    assert np.any(rubs)
    assert 0.5 <= (parameters.damping[:, rubs] / arm.damping[rubs]).min() < 0.6


def test_chance_comes_from_the_seed_alone(arm):
    q = arm.neutral()
    one, two = (Spread(9, pose=0.3, seed=seed).poses(arm, q) for seed in (1, 2))
    np.testing.assert_array_equal(one, Spread(9, pose=0.3, mass=0.4, seed=1).poses(arm, q))
    assert np.all(one[1:] != two[1:])


def test_robots_that_are_alike_take_no_parameters_of_their_own(arm):
    assert Spread(100, pose=1.0).parameters(arm) is None
    assert Spread(1, mass=0.5).parameters(arm) is None


def test_a_deviation_is_that_of_the_farthest_link(arm):
    q = np.repeat(arm.neutral()[None], 3, 0)
    q[1, 0] += 0.2
    poses = engine.link_poses(arm, q)
    found = deviations(poses)
    assert found[0] == found[2] == 0
    tip = np.linalg.norm(poses[1, :, :3, 3] - poses[0, :, :3, 3], axis=1).max()
    assert found[1] == pytest.approx(tip)
    assert tip > 0


def test_colours_grow_lighter_with_the_number_and_mark_who_diverged():
    shown = Crowd(coloring=ENERGY, looked_at=2)
    energy, deviation = np.array([1.0, 3.0, 2.0, 9.0, np.nan]), np.zeros(5)
    diverged = np.array([False, False, False, True, True])
    batch = shown.batch(np.zeros((5, 2, 4, 4), np.float32), energy, deviation, diverged)
    lightness = batch.tints[:, :3] @ (0.2126, 0.7152, 0.0722)
    assert lightness[1] > lightness[0]
    np.testing.assert_allclose(batch.tints[1, :3], crowd.STOPS[-1])  # the greatest of those that go on
    np.testing.assert_allclose(batch.tints[3:, :3], np.float32([crowd.DIVERGED] * 2))
    np.testing.assert_allclose(batch.tints[2, :3], np.float32(crowd.LOOKED_AT))
    assert np.all(np.isfinite(batch.tints))
    shown.coloring, shown.looked_at = crowd.OWN, 0
    assert not np.any(shown.batch(np.zeros((5, 2, 4, 4), np.float32), energy, deviation, diverged < 0).tints)
    assert shown.values(energy, deviation) is deviation
    shown.coloring = DEVIATION
    assert shown.values(energy, deviation) is deviation


def test_robots_stand_apart_in_a_grid_or_all_in_one_place():
    shown = Crowd()
    shown.set_size(np.zeros(3), np.array([0.4, 0.8, 1.0]))
    offsets = shown.offsets(10)
    apart = np.linalg.norm(offsets[:, None] - offsets, axis=-1)[~np.eye(10, dtype=bool)]
    assert apart.min() == pytest.approx(0.8 * crowd.GAP)
    np.testing.assert_array_equal(offsets[0], 0)
    assert shown.offsets(10) is offsets
    shown.arrangement = crowd.ARRANGEMENTS[1]
    assert not np.any(shown.offsets(10))
