"""Kinds of terrain and their parameters; each makes a scene. Lengths are in m, angles in degrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import engine
from app.desktop.numbers import round_length

FLAT, SLOPE, ROUGH, STAIRS, FIELD = KINDS = "Flat", "Slope", "Rough", "Stairs", "Height field"
EXTENT = 12.0  # robot sizes, each side of the rough ground
FEWEST_CELLS, MOST_CELLS = 96, 384  # along each side
WAVES, CELLS_A_BUMP = 24, 8
GAP = 0.1  # robot sizes, the initial distance from the robot to the stairs


@dataclass(frozen=True)
class Number:
    """A terrain parameter. `usual` is its default, for a length as a multiple of the robot's size.

    `unit` is "m", "°", or "" for whole numbers.
    """

    name: str
    unit: str
    low: float
    high: float
    usual: float
    tip: str


NUMBERS: dict[str, tuple[Number, ...]] = {
    FLAT: (),
    SLOPE: (
        Number("Angle", "°", 0.0, 60.0, 10.0, "Angle to the horizontal"),
        Number("Uphill", "°", -180.0, 180.0, 180.0, "Direction in which it rises, from the x axis towards y"),
    ),
    ROUGH: (
        Number("Height", "m", 1e-4, 1e2, 0.15, "Largest height above or below the mean"),
        Number("Length", "m", 1e-3, 1e3, 1.25, "Mean distance from one bump to the next"),
        Number("Seed", "", 0, 999_999, 7, "Random seed: the same seed makes the same ground"),
    ),
    STAIRS: (
        Number("Steps", "", 1, 40, 5, "Number of steps"),
        Number("Rise", "m", 1e-4, 1e2, 0.06, "Height of each step"),
        Number("Depth", "m", 1e-3, 1e2, 0.4, "Depth of each step"),
        Number("Width", "m", 1e-3, 1e3, 1.0, "Width of the stairs"),
        Number("Distance", "m", 0.0, 1e3, GAP, "From the world's origin to the first step, along x"),
    ),
    FIELD: (),
}


@dataclass(frozen=True)
class Terrain:
    """A kind of ground, one of `KINDS`, and its `NUMBERS`."""

    kind: str
    values: tuple[float, ...] = ()


def usual(kind: str, size: float, front: float) -> Terrain:
    """Return default terrain for a robot of that size, m, whose front is at x = `front`, m."""
    values = [number.usual if number.unit != "m" else round_length(number.usual * size) for number in NUMBERS[kind]]
    if kind == STAIRS:
        values[-1] = round(max(front + GAP * size, 0.0), 3)
    return Terrain(kind, tuple(map(float, values)))


def scene_of(terrain: Terrain, size: float = 1.0) -> engine.Scene:
    """Return the scene of a terrain other than a height field from a file, for a robot of that size, m."""
    match terrain.kind:
        case "Slope":
            return engine.Scene(ground=sloping(*terrain.values))
        case "Rough":
            height, length, seed = terrain.values
            return engine.Scene(ground=rough(height, length, int(seed), size))
        case "Stairs":
            return engine.Scene(obstacles=stairs(*terrain.values))
    return engine.Scene()


def terrain_of(ground: object) -> Terrain:
    """Return the terrain of a ground of unknown origin, with its parameters if they can be derived."""
    if not isinstance(ground, engine.Plane):
        return Terrain(FIELD)
    x, y, z = ground.normal
    if z == 1.0:
        return Terrain(FLAT)
    return Terrain(SLOPE, (float(np.degrees(np.arccos(z))), float(np.degrees(np.arctan2(-y, -x)))))


def sloping(angle: float, uphill: float) -> engine.Plane:
    """Return a plane that rises by `angle` in the direction `uphill`, both in degrees."""
    steep, ahead = np.radians([angle, uphill])
    normal = -np.sin(steep) * np.cos(ahead), -np.sin(steep) * np.sin(ahead), np.cos(steep)
    return engine.Plane((float(normal[0]), float(normal[1]), float(normal[2])))


def rough(height: float, length: float, seed: int, size: float) -> engine.HeightField:
    """Return random waves up to `height`, about `length` long; flatter around a robot of that size, m."""
    rng, half = np.random.default_rng(seed), 0.5 * EXTENT * size
    cells = int(np.clip(2 * half * CELLS_A_BUMP / length, FEWEST_CELLS, MOST_CELLS))
    x = np.linspace(-half, half, cells + 1)
    heights = np.zeros((cells + 1, cells + 1))
    # The mean length of a vector of two normal numbers is 1.25.
    for wave, phase in zip(
        rng.normal(0.0, 2 * np.pi / (1.25 * length), (WAVES, 2)), rng.uniform(0.0, 2 * np.pi, WAVES), strict=True
    ):
        heights += np.cos(wave[0] * x[None] + wave[1] * x[:, None] + phase)
    heights *= 1 - 0.7 * np.exp(-(x[None] ** 2 + x[:, None] ** 2) / size**2)
    return engine.HeightField(height * heights / np.abs(heights).max(), 2 * half / cells)


def stairs(count: float, rise: float, depth: float, width: float, distance: float) -> tuple[engine.Obstacle, ...]:
    """Return boxes side by side along x, each higher than the last."""
    return tuple(
        engine.Obstacle("box", (depth, width, (k + 1) * rise), (distance + (k + 0.5) * depth, 0.0, (k + 1) * rise / 2))
        for k in range(int(count))
    )


def stairs_among(obstacles: Sequence[engine.Obstacle]) -> tuple[tuple[engine.Obstacle, ...], Terrain] | None:
    """Return the first stairs of two or more consecutive obstacles, with their parameters; None without stairs."""
    for start, first in enumerate(obstacles[:-1]):
        if first.shape == "box":
            depth, width, rise = first.size
            distance = round(float(np.asarray(first.pose)[0, 3]) - depth / 2, 9)
            numbers = rise, depth, width, distance
            count = 1
            while start + count < len(obstacles) and _fits(count, obstacles[start + count], *numbers):
                count += 1
            if count > 1 and _fits(0, first, *numbers):
                return tuple(obstacles[start : start + count]), Terrain(STAIRS, (float(count), *numbers))
    return None


def _fits(k: int, each: engine.Obstacle, rise: float, depth: float, width: float, distance: float) -> bool:
    """Whether an obstacle is step k of these stairs."""
    place = np.eye(4)
    place[:3, 3] = distance + (k + 0.5) * depth, 0.0, (k + 1) * rise / 2
    size = depth, width, (k + 1) * rise
    return each.shape == "box" and np.allclose(each.size, size) and np.allclose(each.pose, place)


def of_file(path: str | Path, cell: float) -> engine.Scene:
    """Return a height field from a `numpy.save` file, m, with that cell size, m. Raises OSError or ValueError."""
    return engine.Scene(ground=engine.HeightField.of_file(path, cell))
