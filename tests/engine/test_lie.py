"""The axioms of SE(3), and the conventions stated in engine/lie.py."""

import numpy as np
import pytest

from engine import lie


@pytest.fixture
def twists(rng):
    return rng.standard_normal((200, 6))


def homogeneous(R, p):
    T = np.zeros((*p.shape[:-1], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1
    return T


def test_exp_of_log_is_identity(twists):
    R, p = lie.exp(twists)
    R2, p2 = lie.exp(lie.log(R, p))
    np.testing.assert_allclose(R2, R, atol=1e-14)
    np.testing.assert_allclose(p2, p, atol=1e-14)


def test_exp_solves_its_differential_equation(twists):
    h = 1e-6
    T = homogeneous(*lie.exp(twists))
    derivative = (homogeneous(*lie.exp((1 + h) * twists)) - homogeneous(*lie.exp((1 - h) * twists))) / (2 * h)
    hat = np.zeros((len(twists), 4, 4))
    hat[:, :3, :3], hat[:, :3, 3] = lie.skew(twists[:, :3]), twists[:, 3:]
    np.testing.assert_allclose(derivative, T @ hat, atol=1e-8)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-8, 1e-4, 9.9e-3, 1.01e-2])
def test_small_angles_agree_with_the_power_series(size, rng):
    V = rng.standard_normal(6)
    V[:3] *= size / np.linalg.norm(V[:3])
    hat = np.zeros((4, 4))
    hat[:3, :3], hat[:3, 3] = lie.skew(V[:3]), V[3:]
    series, term = np.eye(4), np.eye(4)
    for k in range(1, 12):
        term = term @ hat / k
        series = series + term
    np.testing.assert_allclose(homogeneous(*lie.exp(V)), series, atol=1e-15)


def test_adjoint_is_a_homomorphism(twists):
    (R1, p1), (R2, p2) = lie.exp(twists[:100]), lie.exp(twists[100:])
    np.testing.assert_allclose(
        lie.Ad(R1 @ R2, (R1 @ p2[..., None])[..., 0] + p1), lie.Ad(R1, p1) @ lie.Ad(R2, p2), atol=1e-13
    )
    np.testing.assert_allclose(lie.Ad(*lie.inverse(R1, p1)), np.linalg.inv(lie.Ad(R1, p1)), atol=1e-12)


def test_ad_is_the_derivative_of_Ad_and_a_bracket(twists):
    V, W = twists[:100], twists[100:]
    h = 1e-6
    derivative = (lie.Ad(*lie.exp(h * V)) - lie.Ad(*lie.exp(-h * V))) / (2 * h)
    np.testing.assert_allclose(derivative, lie.ad(V), atol=1e-8)
    VW, WV = (lie.ad(V) @ W[..., None])[..., 0], (lie.ad(W) @ V[..., None])[..., 0]
    np.testing.assert_allclose(VW, -WV, atol=1e-14)
    np.testing.assert_allclose(lie.ad(VW), lie.ad(V) @ lie.ad(W) - lie.ad(W) @ lie.ad(V), atol=1e-13)


def test_rotations_and_their_coordinates(rng):
    R, _ = lie.exp(rng.standard_normal((500, 6)) * 3)
    np.testing.assert_allclose(lie.rotation_from_rpy(lie.rpy_from_rotation(R)), R, atol=1e-13)
    np.testing.assert_allclose(lie.rotation_from_quaternion(lie.quaternion_from_rotation(R)), R, atol=1e-14)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, 1, 0), (0.6, 0, -0.8), (1e-9, 0, -1)])
def test_rotation_to_turns_z_onto_the_axis(axis):
    R = lie.rotation_to(axis)
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-8)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-8)
    assert np.linalg.det(R) == pytest.approx(1)
