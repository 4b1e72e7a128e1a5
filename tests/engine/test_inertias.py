"""Inertias accepted by parameters, to the tolerance, and poses of quaternions that are not normalised."""

import dataclasses

import numpy as np
import pytest

import engine
from engine import lie
from engine.model import poses


def refusal(inertia):
    """Return the message for one robot of two whose second body has that inertia; "" if it is accepted."""
    parameters = engine.Parameters(engine.chain(3), 2)
    parameters.inertia[1, 1] = inertia
    try:
        parameters.check()
    except ValueError as error:
        return str(error)
    return ""


NEGATIVE = "parameters.inertia[1, 1] is not positive semidefinite; expected an inertia about a point"
CROOKED = "parameters.inertia[1, 1] is not symmetric; expected an inertia about a point"


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_inertias_of_points_rods_and_bodies_are_taken(size, rng):
    assert refusal(np.zeros((3, 3))) == ""
    for _ in range(50):
        R, _p = lie.exp(rng.standard_normal(6))
        for moments in ((1, 1, 0), (0, 0, 0), (2, 1, 1), (1, 1e-12, 0)):
            inertia = R @ np.diag(moments) @ R.T * size
            assert refusal((inertia + inertia.T) / 2) == ""


def test_each_principal_minor_is_looked_at():
    for k in range(3):
        inertia = np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 0]])
        assert refusal(np.roll(inertia, k, (0, 1))) == NEGATIVE
        inertia = np.eye(3)
        inertia[k, k] = -1e-30
        assert refusal(inertia) == NEGATIVE
    assert refusal(np.full((3, 3), -0.9) + 1.9 * np.eye(3)) == NEGATIVE
    assert refusal(np.full((3, 3), 2.0) - np.eye(3)) == NEGATIVE


@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
def test_an_inertia_may_miss_by_rounding_and_no_more(size, rng):
    for _ in range(50):
        R, _p = lie.exp(rng.standard_normal(6))
        whole = R @ np.diag([1.0, 1.0, 0.0]) @ R.T
        least = 1e-9 * np.abs(whole).max() ** 3
        for miss, text in ((0.9, ""), (1.1, NEGATIVE)):
            inertia = (whole - miss * least * np.outer(R[:, 2], R[:, 2])) * size
            assert refusal((inertia + inertia.T) / 2) == text
    for miss, text in ((0.9e-9, ""), (1.1e-9, CROOKED)):
        inertia = np.diag([3.0, 2.0, 2.0]) * size
        inertia[0, 1] += miss * 3 * size
        assert refusal(inertia) == text
    edge = np.diag([1.0, 1.0, 0.0])
    for miss, text in ((0.9e-9, ""), (1.1e-9, NEGATIVE)):
        edge[0, 2] = edge[2, 0] = np.sqrt(miss)
        assert refusal(edge * size) == text


def test_a_batch_has_a_robot_and_its_numbers_are_real():
    model = engine.chain(2)
    assert engine.Parameters(model, 1).mass.shape == (1, 2)
    with pytest.raises(ValueError, match="batch is 0"):
        engine.Parameters(model, 0)
    parameters = engine.Parameters(model, 1)
    parameters.mass = [["heavy", "light"]]
    with pytest.raises(TypeError, match=r"^parameters\.mass holds no real numbers"):
        parameters.check()


def test_a_quaternions_length_turns_nothing(rng):
    model = engine.chain(3, spherical=1.0)
    q = model.random(rng)
    longer = q * rng.uniform(0.5, 2.0)
    np.testing.assert_allclose(poses.body_poses(model, longer[None]), poses.body_poses(model, q[None]), atol=1e-14)
    still = dataclasses.replace(model, name="still")
    np.testing.assert_array_equal(poses.link_poses(still, q[None])[0, 0], np.eye(4))
