"""The kept contacts of a pair: boxes, hulls and cylinders that stand or lie on each other."""

from itertools import product

import numpy as np
import pytest
from shape_pairs import contacts, turned

from engine import lie
from engine.scene.shapes import Solid, shapes

CORNERS = np.array(list(product((-0.1, 0.1), repeat=3)))
CUBE, DIE = Solid("box", (0.2, 0.2, 0.2)), Solid("hull", (), CORNERS)
FLOOR, SLAB = Solid("box", (2.0, 3.0, 0.5)), Solid("hull", (), CORNERS * [10, 15, 2.5])
TIN, POLE, ROD = Solid("cylinder", (0.1, 0.2)), Solid("cylinder", (0.05, 0.6)), Solid("capsule", (0.05, 0.5))
REACH, FLAT = 1e-3, np.eye(3)


def height(lower: Solid) -> float:
    """Return the distance from the lower body's centre to its top; of poles to their sides."""
    return 0.25 if lower is FLOOR or lower is SLAB else (0.05 if lower is POLE or lower is ROD else 0.1)


def tilted(angle: float) -> np.ndarray:
    return lie.rotation_from_rpy([0.7 * angle, angle, 0.0])


def resting(upper, lower, height: float, turn=FLAT, aside=(0.0, 0.0), frame=FLAT, reach: float = REACH):
    """The contacts of a solid above another, seen from the lower one, which itself is turned by `frame`."""
    p = np.array([0.3, -0.2, 0.4])
    at = (frame @ turn, p + frame @ np.array([*aside, height])), (frame, p)
    found = contacts((upper, lower), at, reach)
    return found._replace(at=(found.at - p) @ frame, normal=found.normal @ frame)


def around(x: np.ndarray) -> np.ndarray:
    return x[np.argsort(np.arctan2(x[:, 1], x[:, 0]))]


@pytest.mark.parametrize("upper", [CUBE, DIE], ids=["box", "hull"])
@pytest.mark.parametrize("lower", [FLOOR, SLAB, CUBE, DIE], ids=["floor", "slab", "cube", "die"])
@pytest.mark.parametrize("gap", [0.0, 1e-12, -1e-12, 5e-4, -1e-3])
def test_a_box_rests_on_its_four_corners(upper, lower, gap, rng):
    """Whatever it lies on, also one as large as itself, and wherever both are."""
    top = height(lower)
    for turn in (FLAT, turned(rng), turned(rng)):
        found = resting(upper, lower, 0.1 + top + gap, frame=turn)
        np.testing.assert_allclose(found.normal, [[0, 0, 1]] * 4, atol=1e-12)
        np.testing.assert_allclose(found.gap, gap, atol=1e-14)
        expected = [[x, y, top + gap / 2] for x, y in ((-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1))]
        np.testing.assert_allclose(around(found.at), expected, atol=1e-6)


@pytest.mark.parametrize("upper", [CUBE, DIE, TIN], ids=["box", "hull", "cylinder"])
@pytest.mark.parametrize("lower", [FLOOR, SLAB, CUBE, DIE, TIN], ids=["floor", "slab", "cube", "die", "tin"])
def test_what_rests_keeps_its_contacts_under_rounding(upper, lower, rng):
    """Tilts and shifts that are no more than noise change neither which contacts are kept nor where they are."""
    top, frame = height(lower), turned(rng)
    first = resting(upper, lower, 0.1 + top, frame=frame)
    assert len(first.gap) >= 3
    for _ in range(40):
        noise = 1e-12 * rng.normal(size=3)
        found = resting(upper, lower, 0.1 + top + noise[0], tilted(noise[1]), 1e-10 * rng.normal(size=2), frame)
        np.testing.assert_array_equal(found.feature, first.feature)
        np.testing.assert_allclose(found.at, first.at, atol=1e-6)
        np.testing.assert_allclose(found.gap, 0, atol=1e-11)
        np.testing.assert_allclose(found.normal, [[0, 0, 1]] * len(found.gap), atol=1e-9)


@pytest.mark.parametrize("upper", [CUBE, DIE], ids=["box", "hull"])
@pytest.mark.parametrize("lower", [FLOOR, SLAB], ids=["box", "hull"])
def test_a_box_across_an_edge_touches_by_corners_and_where_edges_cross(upper, lower):
    found = resting(upper, lower, 0.35, lie.rotation_from_rpy([0, 0, 0.3]), aside=(1.02, 0.1))
    assert len(found.gap) == 4
    assert np.max(found.at[:, 0]) == pytest.approx(1.0, abs=1e-5)
    assert np.sum(np.abs(found.at[:, 0] - 1.0) < 1e-5) == 2
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)


@pytest.mark.parametrize("lower", [FLOOR, SLAB], ids=["box", "hull"])
def test_a_tilted_box_touches_by_its_edge_and_a_balanced_one_by_its_corner(lower):
    found = resting(CUBE, lower, 0.25 + 0.1 * np.sqrt(2), lie.rotation_from_rpy([np.pi / 4, 0, 0]))
    np.testing.assert_allclose(sorted(found.at[:, 0]), [-0.1, 0.1], atol=1e-12)
    up = np.array([1.0, 1.0, 1.0]) / np.sqrt(3)
    found = resting(CUBE, lower, 0.25 + 0.1 * np.sqrt(3), lie.rotation_to(up).T)
    np.testing.assert_allclose(found.at, [[0, 0, 0.25]], atol=1e-9)


def test_edges_that_cross_touch_in_one_place():
    turn = lie.rotation_from_rpy([np.pi / 4, 0, 0])
    for upper in (CUBE, DIE):
        at = (turn, np.array([0.03, 0.02, 0.2 * np.sqrt(2)])), (lie.rotation_from_rpy([0, np.pi / 4, 0]), np.zeros(3))
        found = contacts((upper, CUBE), at, REACH)
        np.testing.assert_allclose(found.at, [[0.0, 0.02, 0.1 * np.sqrt(2)]], atol=1e-9)
        np.testing.assert_allclose(found.normal, [[0, 0, 1]], atol=1e-9)
        np.testing.assert_allclose(found.gap, [0], atol=1e-12)


@pytest.mark.parametrize("lower", [FLOOR, SLAB, TIN], ids=["box", "hull", "cylinder"])
@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-4, 3e-3])
def test_a_cylinder_stands_on_four_places_of_its_rim(lower, tilt, rng):
    """Tilted it stands on the lowest one, and on what else is within reach."""
    high = height(lower) + 0.1 * np.cos(tilt) + 0.1 * np.sin(tilt)
    found = resting(TIN, lower, high, lie.rotation_from_rpy([0, tilt, 0]), frame=turned(rng))
    assert len(found.gap) == 4
    np.testing.assert_allclose(np.hypot(found.at[:, 0], found.at[:, 1]), 0.1, rtol=1e-2)
    assert np.min(found.gap) == pytest.approx(0.0, abs=1e-12)
    x, y = np.ptp(found.at[:, :2], 0)
    assert min(x, y) > 0.13


@pytest.mark.parametrize("upper", [POLE, ROD], ids=["cylinder", "capsule"])
@pytest.mark.parametrize("lower", [FLOOR, SLAB, POLE, ROD], ids=["floor", "slab", "pole", "rod"])
def test_a_lying_round_shape_touches_at_both_ends(upper, lower, rng):
    top = height(lower)
    lying = lie.rotation_from_rpy([0, np.pi / 2, 0])
    turn = lying if top == 0.25 else FLAT
    frame = turned(rng) @ (FLAT if top == 0.25 else lying)
    p = frame @ (np.array([0, 0, 0.05 + top]) if top == 0.25 else np.array([0.05 + top, 0, 0]))
    found = contacts((upper, lower), ((frame @ turn, p), (frame, np.zeros(3))), REACH)
    along = found.at @ frame @ turn[:, 2]
    half = upper.size[1] / 2 if top == 0.25 else min(upper.size[1], lower.size[1]) / 2
    np.testing.assert_allclose(sorted(along), [-half, half], atol=1e-5)
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)


def test_of_many_corners_the_widest_four_are_kept():
    angle = np.arange(12) * (2 * np.pi / 12)
    ring = np.stack([0.1 * np.cos(angle), 0.1 * np.sin(angle)], -1)
    prism = Solid("hull", (), np.concatenate([np.c_[ring, np.full(12, z)] for z in (-0.05, 0.05)]))
    found = resting(prism, FLOOR, 0.3)
    assert len(found.gap) == 4
    x, y = around(found.at)[:, 0], around(found.at)[:, 1]
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    assert area > 1.8 * 0.1**2


@pytest.mark.parametrize("solid", [CUBE, DIE, TIN], ids=["box", "hull", "cylinder"])
def test_a_thing_of_a_millimetre_rests_on_one_of_a_hundred_metres(solid, rng):
    scale = 5e-3
    small = solid._replace(size=tuple(scale * x for x in solid.size))
    if solid.vertices is not None:
        small = small._replace(vertices=scale * solid.vertices)
    for lower in (Solid("box", (100.0, 100.0, 100.0)), Solid("hull", (), CORNERS * 500)):
        found = resting(small, lower, 50 + 0.1 * scale, frame=turned(rng), aside=(20.0, -30.0), reach=1e-5)
        assert len(found.gap) == 4
        np.testing.assert_allclose(found.gap, 0, atol=1e-13)
        np.testing.assert_allclose(np.ptp(found.at[:, :2], 0), 0.2 * scale, rtol=1e-3)


def test_shapes_in_one_place_come_apart(rng):
    """With one centre and one orientation, no direction is given by the poses."""
    for solid in (CUBE, DIE, TIN, POLE):
        both, turn = shapes([solid, solid]), turned(rng)
        at = (turn, np.ones(3)), (turn, np.ones(3))
        found = contacts(both, at)
        assert all(np.all(np.isfinite(part)) for part in found)
        assert np.min(found.gap) == pytest.approx(-(0.1 if solid is POLE else 0.2), abs=1e-9)
