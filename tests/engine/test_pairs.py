"""Contacts of convex shapes against each other: distances and depths as coal has them, normals, places and features."""

from __future__ import annotations

import numpy as np
import pytest
from coal_oracle import distance
from shape_pairs import contacts, poses, turned

from engine.scene.shapes import Solid

SMALL, LARGE = Solid("sphere", (0.08,)), Solid("sphere", (0.5,))
ROD, PILL = Solid("capsule", (0.05, 0.8)), Solid("capsule", (0.2, 0.1))
ROUND = [(SMALL, LARGE), (SMALL, ROD), (LARGE, PILL), (ROD, PILL), (ROD, ROD)]


def name(pair) -> str:
    return "-".join(solid.kind for solid in pair)


@pytest.mark.parametrize("pair", ROUND, ids=name)
def test_round_shapes_are_as_far_apart_as_coal_says(pair, rng):
    """The least gap is the distance, and moving the first shape by it along the normal makes the two just touch."""
    for _ in range(1000):
        at = poses(rng, *pair, rng.uniform(0.02, 1.3))
        found = contacts(pair, at)
        assert 1 <= len(found.gap) <= 4
        assert all(np.all(np.isfinite(part)) for part in found)
        nearest = int(np.argmin(found.gap))
        expected, _ = distance(*pair, at)
        assert found.gap[nearest] == pytest.approx(expected, abs=1e-9)
        (R, p), other = at
        apart, _ = distance(*pair, ((R, p - found.gap[nearest] * found.normal[nearest]), other))
        assert apart == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("pair", ROUND, ids=name)
def test_the_other_order_is_the_mirror_image(pair, rng):
    for _ in range(200):
        at = poses(rng, *pair, rng.uniform(0.02, 1.0))
        one, other = contacts(pair, at), contacts(pair[::-1], at[::-1])
        again = contacts(pair, at, pair=(1, 0))
        np.testing.assert_array_equal(again.normal, -one.normal)
        np.testing.assert_array_equal(again.at, one.at)
        np.testing.assert_array_equal(again.gap, one.gap)
        np.testing.assert_array_equal(again.feature, one.feature)
        assert np.min(other.gap) == pytest.approx(np.min(one.gap), abs=1e-14)


def test_what_is_out_of_reach_has_no_contact(rng):
    for pair in ROUND:
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


def test_a_millimetre_beside_a_hundred_metres(rng):
    huge, tiny = Solid("capsule", (50.0, 100.0)), Solid("sphere", (1e-3,))
    for _ in range(200):
        at = poses(rng, huge, tiny, 1.0)
        found = contacts((huge, tiny), at)
        expected, _ = distance(huge, tiny, at)
        assert found.gap[0] == pytest.approx(expected, abs=1e-12 * 100)
