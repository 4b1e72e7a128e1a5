"""The requested and displayed values of batches, without a window."""

import numpy as np
import pytest

import engine
from app.simulation.batch_spread import BatchSpread


@pytest.fixture(scope="module")
def arm() -> engine.Model:
    return engine.load(engine.find_robot("arm7"))


def test_chance_comes_from_the_seed_alone(arm):
    q = arm.neutral()
    one, two = (BatchSpread(9, pose=0.3, seed=seed).poses(arm, q) for seed in (1, 2))
    np.testing.assert_array_equal(one, BatchSpread(9, pose=0.3, mass=0.4, seed=1).poses(arm, q))
    assert np.all(one[1:] != two[1:])


def test_robots_that_are_alike_take_no_parameters_of_their_own(arm):
    assert BatchSpread(100, pose=1.0).parameters(arm) is None
    assert BatchSpread(1, mass=0.5).parameters(arm) is None
