"""The axioms of SE(3), and the conventions stated in engine/lie.py."""

from fractions import Fraction
from math import factorial

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


AXES = [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, 1, 0), (0.6, 0, -0.8), (1e-9, 0, -1), (1e-5, -2e-5, -1)]


@pytest.mark.parametrize("axis", AXES)
def test_rotation_to_turns_z_onto_the_axis(axis):
    R = lie.rotation_to(axis)
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-15)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-9)  # as near as the axis is to a unit vector
    assert np.linalg.det(R) == pytest.approx(1)


def test_the_terms_of_small_angles_are_exact_to_rounding():
    for angle in (0.0, 1e-8, 1e-4, 5e-3, 9.99e-3, 1.01e-2, 0.3):
        t2 = Fraction(angle) ** 2
        exact = [sum((-t2) ** k / factorial(2 * k + n) for k in range(12)) for n in (1, 2, 3)]
        small = angle < 1e-2
        for term, true in zip(lie.sinc_terms(np.array(angle)), exact, strict=True):
            assert float(term) == pytest.approx(float(true), rel=3e-16 if small else 1e-10)


def test_every_function_takes_any_number_of_axes_in_front(rng):
    V = rng.uniform(-1, 1, (2, 5, 6))
    R, p = lie.exp(V)
    rows = [(V[i, j], *lie.exp(V[i, j])) for i in range(2) for j in range(5)]
    functions = {
        lie.log: (R, p), lie.Ad: (R, p), lie.ad: (V,), lie.skew: (p,), lie.rpy_from_rotation: (R,),
        lie.quaternion_from_rotation: (R,), lie.rotation_from_rpy: (V[..., :3],),
        lie.rotation_from_quaternion: (lie.quaternion_from_rotation(R),),
    }  # fmt: skip
    for function, arguments in functions.items():
        whole = function(*arguments)
        each = [function(*(x.reshape(10, *x.shape[2:])[k] for x in arguments)) for k in range(10)]
        np.testing.assert_allclose(whole.reshape(10, *whole.shape[2:]), each, atol=1e-15, err_msg=function.__name__)
    np.testing.assert_allclose(R.reshape(10, 3, 3), [row[1] for row in rows], atol=1e-15)
    np.testing.assert_allclose(p.reshape(10, 3), [row[2] for row in rows], atol=1e-15)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_at_vertical_pitch_roll_is_zero(pitch):
    for roll, yaw in ((0.0, 0.7), (0.4, 0.0), (0.3, -1.1)):
        R = lie.rotation_from_rpy([roll, pitch, yaw])
        found = lie.rpy_from_rotation(R)
        assert found[0] == 0.0
        assert found[1] == pytest.approx(pitch)
        assert found[2] == pytest.approx(yaw - roll if pitch > 0 else yaw + roll)
        np.testing.assert_allclose(lie.rotation_from_rpy(found), R, atol=1e-15)


def test_rotation_to_is_the_one_of_least_angle(rng):
    np.testing.assert_array_equal(lie.rotation_to([0, 0, 1]), np.eye(3))
    for axis in rng.standard_normal((50, 3)):
        axis /= np.linalg.norm(axis)
        R = lie.rotation_to(axis)
        np.testing.assert_allclose(R @ [0, 0, 1], axis, atol=1e-15)
        turned = lie.log(R, np.zeros(3))[:3]
        np.testing.assert_allclose(
            turned, np.arccos(axis[2]) * np.array([-axis[1], axis[0], 0]) / np.hypot(*axis[:2]), atol=1e-12
        )


def test_log_at_half_a_turn_and_at_almost_none():
    for axis in np.eye(3):
        R, p = lie.exp([*(np.pi * axis), 1.0, 2.0, 3.0])
        np.testing.assert_allclose(abs(lie.log(R, p)[:3]), np.pi * axis, atol=1e-12)
    for angle in (1e-12, 1e-9, 3e-9, 1e-7):
        V = np.array([angle, 0, 0, 0.5, 0.0, 0.0])
        np.testing.assert_allclose(lie.log(*lie.exp(V)), V, rtol=1e-7, atol=1e-22)
