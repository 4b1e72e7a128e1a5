"""The requested and displayed values of batches, without a window."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from app.picture import crowd
from app.picture.crowd import DEVIATION, ENERGY, Crowd
from app.simulation.spread import Spread


@pytest.fixture(scope="module")
def arm() -> engine.Model:
    return engine.load(engine.find_robot("arm7"))


def test_chance_comes_from_the_seed_alone(arm):
    q = arm.neutral()
    one, two = (Spread(9, pose=0.3, seed=seed).poses(arm, q) for seed in (1, 2))
    np.testing.assert_array_equal(one, Spread(9, pose=0.3, mass=0.4, seed=1).poses(arm, q))
    assert np.all(one[1:] != two[1:])


def test_robots_that_are_alike_take_no_parameters_of_their_own(arm):
    assert Spread(100, pose=1.0).parameters(arm) is None
    assert Spread(1, mass=0.5).parameters(arm) is None


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
    own = shown.batch(np.zeros((5, 2, 4, 4), np.float32), energy, deviation, diverged < 0).tints
    assert not np.any(own[1:])
    np.testing.assert_allclose(own[0, :3], np.float32(crowd.LOOKED_AT))
    assert shown.values(energy, deviation) is deviation
    shown.coloring = DEVIATION
    assert shown.values(energy, deviation) is deviation
