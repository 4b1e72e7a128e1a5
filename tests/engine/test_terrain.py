"""Terrain from a few numbers: slopes, rough ground and stairs."""

import numpy as np
import pytest

import engine


def test_a_slope_falls_where_it_is_told_to(chance: np.random.Generator) -> None:
    steep, downhill = float(chance.uniform(0.02, 1.0)), float(chance.uniform(-3, 3))
    x, y, z = engine.slope(steep, downhill).normal
    assert np.hypot(x, y) / z == pytest.approx(np.tan(steep))
    assert np.arctan2(y, x) == pytest.approx(downhill)
    x, y, _ = engine.slope(steep).normal
    assert x == pytest.approx(np.sin(steep))
    assert y == 0.0


def test_rough_ground_has_the_numbers_that_are_asked_for(chance: np.random.Generator) -> None:
    short, long, other = (engine.rough_ground(0.1, *of).heights for of in ((0.5, 3), (2.0, 3), (0.5, 4)))
    turns = [np.count_nonzero(np.diff(np.sign(np.diff(h, axis=1)), axis=1)) / len(h) for h in (short, long)]
    assert turns[0] > 2 * turns[1]
    assert np.abs(short - other).max() > 0.05
    height, size = chance.uniform(0.1, 3, 2)
    field = engine.rough_ground(height, size, 1, size)
    assert np.abs(field.heights).max() == pytest.approx(height)
    assert field.cell * (len(field.heights) - 1) == pytest.approx(12 * size)
    middle = len(field.heights) // 2
    assert field.rough == (height, size, 1, size)
    assert engine.rough_ground(height, size, None, size).rough is None
    for rough in ((1.0, 2.0, 3.0), (1.0, 2.0, 3.0, np.nan), "some"):
        with pytest.raises(ValueError, match="expected height, length, seed and size, or None"):
            engine.HeightField(field.heights, field.cell, rough=rough)
    near = np.abs(field.heights[middle - 3 : middle + 4, middle - 3 : middle + 4]).max()
    assert near < 0.5 * height
    for words in ({"length": 0.0}, {"length": np.nan}, {"length": 1.0, "size": -1.0}):
        with pytest.raises(ValueError, match=r"for rough ground is \S+; expected a number of m above 0"):
            engine.rough_ground(0.1, **words)


def test_stairs_are_known_again_among_other_obstacles(chance: np.random.Generator) -> None:
    count, numbers = int(chance.integers(2, 9)), chance.uniform(0.05, 2, 4).round(3).tolist()
    rise, depth, width, away = numbers
    boxes = engine.stairs(count, *numbers)
    assert len(boxes) == count
    assert boxes[0].size == pytest.approx((depth, width, rise))
    assert boxes[0].pose[0, 3] - depth / 2 == pytest.approx(away)
    assert boxes[-1].size[2] == pytest.approx(count * rise)
    other = engine.Obstacle("box", (0.1, 0.1, 0.1), (-5.0, 0.0, 0.05))
    steps, found = engine.stairs_among((other, *boxes, other))
    assert steps == boxes
    assert found == pytest.approx((count, *numbers))
    for lacking in ((), boxes[:1], (other, other), boxes[1:], (boxes[0], other)):
        assert engine.stairs_among(lacking) is None
