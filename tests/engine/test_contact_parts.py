"""Parts of contact by themselves: the ground of heights, meshes that are not there."""

import numpy as np
import pytest

import engine
from engine.scene import cached_hulls


def test_heights_stand_at_their_places_and_go_on_beyond_each_border(rng):
    heights, cell = rng.normal(size=(4, 5)), 0.5
    field = engine.HeightField(heights, cell, (1.0, -2.0, 3.0))
    i, j = (x.ravel() for x in np.mgrid[-2:6, -2:7])
    places = np.stack([1.0 + cell * j, -2.0 + cell * i], -1)
    expected = 3.0 + heights[np.clip(i, 0, 3), np.clip(j, 0, 4)]
    np.testing.assert_allclose(field.height(places), expected, rtol=0, atol=1e-12)


def test_between_heights_the_ground_is_one_of_two_triangles():
    field = engine.HeightField([[0.0, 1.0], [2.0, 7.0]], 1.0, (0.0, 0.0, 0.0))
    below, above = np.array([0.75, 0.25]), np.array([0.25, 0.75])
    of_the_right = 0.0 + 0.75 * 1.0 + 0.25 * (7.0 - 1.0)  # along x to the corner of height 1, along y to that of 7
    of_the_left = 0.0 + 0.75 * 2.0 + 0.25 * (7.0 - 2.0)
    assert field.height(np.stack([below, above])) == pytest.approx([of_the_right, of_the_left])


@pytest.mark.parametrize("mesh", [None, "meshes/foot.stl"])
def test_a_mesh_that_was_not_found_when_the_robot_was_read_is_told(mesh):
    with pytest.raises(ValueError, match=f"the collision mesh {mesh} was not found, or lies outside"):
        cached_hulls.of_link(mesh)
