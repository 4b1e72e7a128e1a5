"""Terrain made from a few numbers: a slope, random bumps and stairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.scene.height_field import HeightField
from engine.scene.obstacle import Obstacle
from engine.scene.scene import Plane

EXTENT = 12.0  # robot sizes, each side of the rough ground
MIN_CELLS, MAX_CELLS = 96, 384  # along each side
WAVES, CELLS_A_BUMP = 24, 8


def slope(angle: float, downhill: float = 0.0) -> Plane:
    """Return a plane through the origin that rises towards −x by an angle in rad.

    With `downhill` it falls in that direction instead, in rad from x towards y.
    """
    across = float(np.sin(angle))
    return Plane((across * float(np.cos(downhill)), across * float(np.sin(downhill)), float(np.cos(angle))))


def rough_ground(height: float, length: float, seed: int = 0, size: float = 1.0) -> HeightField:
    """Return random waves up to `height`, about `length` long; flatter around a robot of that `size`, all in m.

    The same `seed` makes the same ground. Raises ValueError for a length or size that is not positive.
    """
    for name, value in (("length", length), ("size", size)):
        if not value > 0:
            raise ValueError(f"the {name} for rough ground is {value!r}; expected a number of m above 0")
    rng, half = np.random.default_rng(seed), 0.5 * EXTENT * size
    cells = int(np.clip(2 * half * CELLS_A_BUMP / length, MIN_CELLS, MAX_CELLS))
    x = np.linspace(-half, half, cells + 1)
    heights = np.zeros((cells + 1, cells + 1))
    # The mean length of a vector of two normal numbers is 1.25.
    for wave, phase in zip(
        rng.normal(0.0, 2 * np.pi / (1.25 * length), (WAVES, 2)), rng.uniform(0.0, 2 * np.pi, WAVES), strict=True
    ):
        heights += np.cos(wave[0] * x[None] + wave[1] * x[:, None] + phase)
    heights *= 1 - 0.7 * np.exp(-(x[None] ** 2 + x[:, None] ** 2) / size**2)
    made = (height, length, seed, size) if isinstance(seed, int | np.integer) else None  # else it has no number
    return HeightField(height * heights / np.abs(heights).max(), 2 * half / cells, rough=made)


def stairs(count: float, rise: float, depth: float, width: float, distance: float) -> tuple[Obstacle, ...]:
    """Return `count` boxes along x from x = `distance` on, each higher than the last by `rise`.

    Each is `depth` long along x and `width` along y, all in m.
    """
    return tuple(
        Obstacle("box", (depth, width, (k + 1) * rise), (distance + (k + 0.5) * depth, 0.0, (k + 1) * rise / 2))
        for k in range(int(count))
    )


def stairs_among(obstacles: Sequence[Obstacle]) -> tuple[tuple[Obstacle, ...], tuple[float, ...]] | None:
    """Return the first two or more consecutive obstacles that `stairs` makes, with its arguments; None without any."""
    for start, first in enumerate(obstacles[:-1]):
        if first.shape == "box":
            depth, width, rise = first.size
            distance = round(float(np.asarray(first.pose)[0, 3]) - depth / 2, 9)
            numbers = rise, depth, width, distance
            count = 1
            while start + count < len(obstacles) and _fits(count, obstacles[start + count], *numbers):
                count += 1
            if count > 1 and _fits(0, first, *numbers):
                return tuple(obstacles[start : start + count]), (float(count), *numbers)
    return None


def _fits(k: int, each: Obstacle, rise: float, depth: float, width: float, distance: float) -> bool:
    """Whether an obstacle is step k of these stairs."""
    place = np.eye(4)
    place[:3, 3] = distance + (k + 0.5) * depth, 0.0, (k + 1) * rise / 2
    size = depth, width, (k + 1) * rise
    return each.shape == "box" and np.allclose(each.size, size) and np.allclose(each.pose, place)
