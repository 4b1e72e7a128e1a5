"""Contacts of convex shapes against each other: distances and depths as coal has them, normals, places and features."""

from itertools import product

import numpy as np
import pytest
from coal_oracle import distance
from scipy.spatial import ConvexHull
from shape_pairs import contacts, poses, turned

from engine.scene.shapes import Solid, shapes

SMALL, LARGE = Solid("sphere", (0.08,)), Solid("sphere", (0.5,))
ROD, PILL = Solid("capsule", (0.05, 0.8)), Solid("capsule", (0.2, 0.1))
BRICK, PLATE, CUBE = Solid("box", (0.3, 0.4, 0.2)), Solid("box", (0.9, 0.7, 0.02)), Solid("box", (0.2, 0.2, 0.2))
TIN, PIN = Solid("cylinder", (0.2, 0.3)), Solid("cylinder", (0.03, 0.9))
CORNERS = np.array(list(product((-0.1, 0.1), repeat=3)))
DIE = Solid("hull", (), CORNERS)
STONE = Solid("hull", (), np.random.default_rng(7).normal(size=(12, 3)) * [0.2, 0.1, 0.15])
STONE = STONE._replace(vertices=STONE.vertices[ConvexHull(STONE.vertices).vertices])
ROUND = [(SMALL, LARGE), (SMALL, ROD), (LARGE, PILL), (ROD, PILL), (ROD, ROD)]
FLAT = [(SMALL, BRICK), (LARGE, PLATE), (ROD, BRICK), (PILL, PLATE), (BRICK, PLATE), (BRICK, CUBE), (CUBE, CUBE)]
HULLS = [(SMALL, STONE), (ROD, STONE), (PILL, DIE), (BRICK, STONE), (CUBE, DIE), (STONE, STONE), (STONE, DIE)]
CYLINDERS = [(ROD, TIN), (PILL, PIN), (BRICK, TIN), (PLATE, PIN), (TIN, TIN), (TIN, PIN), (TIN, STONE), (PIN, DIE)]


def name(pair) -> str:
    return "-".join(solid.kind for solid in pair)


def farthest(solid: Solid, e: np.ndarray) -> np.ndarray:
    """The points of a solid that are farthest along directions (k, 3), in its own frame."""
    e, up = e / np.linalg.norm(e, axis=-1, keepdims=True), np.copysign([0, 0, 0.5], e)
    if solid.kind in ("sphere", "capsule"):
        return solid.size[0] * e + up * (solid.size[1] if solid.kind == "capsule" else 0.0)
    if solid.kind == "box":
        return np.copysign(0.5, e) * solid.size
    if solid.kind == "cylinder":
        return solid.size[0] * e * [1, 1, 0] / np.maximum(np.hypot(e[:, :1], e[:, 1:2]), 1e-300) + up * solid.size[1]
    return solid.vertices[np.argmax(e @ solid.vertices.T, -1)]


def gaps_along(pair, at, n: np.ndarray) -> np.ndarray:
    """Return the gaps of two solids along normals (k, 3) from second to first; the maximum is their distance."""
    (R, p), (Q, q) = at
    return np.sum(n * (p + farthest(pair[0], -n @ R) @ R.T - q - farthest(pair[1], n @ Q) @ Q.T), -1)


@pytest.mark.parametrize("pair", [*ROUND, *FLAT, *HULLS], ids=name)
def test_shapes_are_as_far_apart_and_as_deep_as_coal_says(pair, rng):
    """The least gap is the distance, and moving the first shape along the normal changes it by as much."""
    both = shapes(pair)
    for _ in range(400):
        at = poses(rng, *pair, rng.uniform(0.02, 1.3))
        found = contacts(both, at)
        assert 1 <= len(found.gap) <= 4
        assert all(np.all(np.isfinite(part)) for part in found)
        nearest = int(np.argmin(found.gap))
        expected, _ = distance(*pair, at)
        assert found.gap[nearest] == pytest.approx(expected, abs=1e-9)
        (R, p), other = at
        apart, _ = distance(*pair, ((R, p + (0.01 - found.gap[nearest]) * found.normal[nearest]), other))
        assert apart == pytest.approx(0.01, abs=1e-9)


@pytest.mark.parametrize("pair", [*CYLINDERS, (SMALL, TIN), (LARGE, PIN)], ids=name)
def test_along_no_direction_are_cylinders_farther_apart(pair, rng):
    """For overlapping cylinders coal finds depths that are not minimal, or none; for disjoint ones it agrees.

    If one axis is deep in the other cylinder, all directions are nearly equal; then a depth within a hundredth
    suffices.
    """
    sphere = rng.normal(size=(1000, 3))
    sphere /= np.linalg.norm(sphere, axis=-1, keepdims=True)
    both = shapes(pair)
    for number in range(200):
        at = poses(rng, *pair, rng.uniform(0.02, 1.3) if number < 150 else 0.05 * rng.uniform())
        if number >= 150:  # axes that are parallel or square, deep in each other
            at = (np.roll(at[1][0], number % 2, 1), at[0][1]), at[1]
        found = contacts(both, at)
        nearest = int(np.argmin(found.gap))
        n, gap = found.normal[nearest], found.gap[nearest]
        assert gaps_along(pair, at, n[None])[0] == pytest.approx(gap, abs=1e-8)
        around = [n + 10.0**-k * sphere[200 * k - 200 : 200 * k] for k in range(1, 6)]
        for others in (sphere, *(x / np.linalg.norm(x, axis=-1, keepdims=True) for x in around)):
            assert np.max(gaps_along(pair, at, others)) <= gap + (1e-8 if number < 150 else 0.01 * abs(gap))
        expected, _ = distance(*pair, at)
        if expected > 0:
            assert gap == pytest.approx(expected, abs=1e-8)
        if number < 150:
            (R, p), other = at
            assert distance(*pair, ((R, p + (0.01 - gap) * n), other))[0] == pytest.approx(0.01, abs=1e-8)


@pytest.mark.parametrize("pair", [*ROUND, *FLAT, *HULLS, *CYLINDERS], ids=name)
def test_the_other_order_is_the_mirror_image(pair, rng):
    both, mirrored = shapes(pair), shapes(pair[::-1])
    for _ in range(200):
        at = poses(rng, *pair, rng.uniform(0.02, 1.0))
        one, other = contacts(both, at), contacts(mirrored, at[::-1])
        again = contacts(both, at, pair=(1, 0))
        np.testing.assert_array_equal(again.normal, -one.normal)
        np.testing.assert_array_equal(again.at, one.at)
        np.testing.assert_array_equal(again.gap, one.gap)
        np.testing.assert_array_equal(again.feature, one.feature)
        assert np.min(other.gap) == pytest.approx(np.min(one.gap), abs=1e-8 if pair in CYLINDERS else 1e-13)


def test_a_pair_beyond_the_reach_has_no_contact(rng):
    for pair in (*ROUND, *FLAT, *HULLS, *CYLINDERS):
        at = poses(rng, *pair, 1.2)
        gap = np.min(contacts(pair, at).gap)
        assert len(contacts(pair, at, gap * (1 - 1e-9)).gap) == 0
        assert len(contacts(pair, at, gap * (1 + 1e-9)).gap) >= 1


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-6])
def test_capsules_side_by_side_touch_at_both_ends_of_what_they_share(tilt, rng):
    along = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    for shift, expected in ((0.0, (-0.4, 0.4)), (0.3, (-0.1, 0.4)), (-0.5, (-0.4, -0.1))):
        R, p = turned(rng), rng.uniform(-1, 1, 3)
        found = contacts((ROD, ROD), ((R @ along, p + R @ [0.1, 0, shift]), (R, p)), 1e-3)
        assert sorted(found.feature) == sorted(set(found.feature))
        np.testing.assert_allclose(sorted(((found.at - p) @ R)[:, 2]), expected, atol=2e-5)
        np.testing.assert_allclose(found.normal @ R, [[1, 0, 0]] * 2, atol=1e-5)
        np.testing.assert_allclose(found.gap, 0, atol=1e-6)


def test_shapes_with_one_centre_and_flat_ones_have_finite_contacts():
    none, still = np.zeros(3), (np.eye(3), np.zeros(3))
    point = Solid("capsule", (0.1, 0.0))
    for pair in (*ROUND, (SMALL, SMALL), (point, point), (SMALL, point), (ROD, point)):
        for at in ((still, still), (still, (np.diag([-1.0, -1, 1]), none)), (still, (np.eye(3)[[1, 2, 0]], none))):
            found = contacts(pair, at)
            assert len(found.gap) >= 1
            assert all(np.all(np.isfinite(part)) for part in found)
            np.testing.assert_allclose(np.linalg.norm(found.normal, axis=-1), 1)
            assert np.min(found.gap) == pytest.approx(-pair[0].size[0] - pair[1].size[0])


def test_poses_that_are_no_numbers_make_no_contacts():
    for pair in (*ROUND, *FLAT, *HULLS, *CYLINDERS):
        for bad in (np.nan, np.inf):
            assert len(contacts(pair, ((np.eye(3), np.full(3, bad)), (np.eye(3), np.zeros(3))), 1.0).gap) == 0
            assert len(contacts(pair, ((np.full((3, 3), bad), np.zeros(3)), (np.eye(3), np.zeros(3))), 1.0).gap) <= 4


@pytest.mark.parametrize("pair", [*ROUND, *FLAT, *HULLS, *CYLINDERS], ids=name)
def test_small_motion_keeps_the_features_of_contacts(pair, rng):
    """In all but a few poses, where one contact just comes or goes; and a gap moves no more than the shapes do."""
    both, changed = shapes(pair), 0
    for _ in range(100):
        at = poses(rng, *pair, rng.uniform(0.3, 1.0))
        reach = np.min(contacts(both, at).gap) + 1e-3
        first = contacts(both, at, reach)
        (R, p), other = at
        moved = contacts(both, ((R, p + 1e-9 * rng.uniform(-1, 1, 3)), other), reach)
        assert np.min(moved.gap) == pytest.approx(np.min(first.gap), abs=1e-8)
        changed += set(first.feature) != set(moved.feature)
    assert changed <= 3


def test_a_millimetre_beside_a_hundred_metres(rng):
    huge, tiny = Solid("capsule", (50.0, 100.0)), Solid("sphere", (1e-3,))
    for _ in range(200):
        at = poses(rng, huge, tiny, 1.0)
        found = contacts((huge, tiny), at)
        expected, _ = distance(huge, tiny, at)
        assert found.gap[0] == pytest.approx(expected, abs=1e-12 * 100)
