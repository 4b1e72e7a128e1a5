"""Kinds of terrain and their parameters; each makes a scene. Lengths are in m, angles in degrees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import engine
from app.desktop.numbers import round_length

FLAT, SLOPE, ROUGH, STAIRS, FIELD = KINDS = "Flat", "Slope", "Rough", "Stairs", "Height field"
GAP = 0.1  # robot sizes, the initial distance from the robot to the stairs


@dataclass(frozen=True)
class TerrainParameter:
    """A terrain parameter. `usual` is its default, for a length as a multiple of the robot's size.

    `unit` is "m", "°", or "" for whole numbers.
    """

    name: str
    unit: str
    low: float
    high: float
    usual: float
    tip: str


NUMBERS: dict[str, tuple[TerrainParameter, ...]] = {
    FLAT: (),
    SLOPE: (
        TerrainParameter("Angle", "°", 0.0, 60.0, 10.0, "Angle to the horizontal"),
        TerrainParameter("Uphill", "°", -180.0, 180.0, 180.0, "Direction in which it rises, from the x axis towards y"),
    ),
    ROUGH: (
        TerrainParameter("Height", "m", 1e-4, 1e2, 0.15, "Largest height above or below the mean"),
        TerrainParameter("Length", "m", 1e-3, 1e3, 1.25, "Mean distance from one bump to the next"),
        TerrainParameter("Seed", "", 0, 999_999, 7, "Random seed: the same seed makes the same ground"),
    ),
    STAIRS: (
        TerrainParameter("Steps", "", 1, 40, 5, "Number of steps"),
        TerrainParameter("Rise", "m", 1e-4, 1e2, 0.06, "Height of each step"),
        TerrainParameter("Depth", "m", 1e-3, 1e2, 0.4, "Depth of each step"),
        TerrainParameter("Width", "m", 1e-3, 1e3, 1.0, "Width of the stairs"),
        TerrainParameter("Distance", "m", 0.0, 1e3, GAP, "From the world's origin to the first step, along x"),
    ),
    FIELD: (),
}


@dataclass(frozen=True)
class Terrain:
    """A kind of ground, one of `KINDS`, and its `NUMBERS`; of a height field, which it is."""

    kind: str
    values: tuple[float, ...] = ()
    note: str = ""


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
            angle, uphill = terrain.values
            return engine.Scene(ground=engine.slope(np.radians(angle), np.radians(uphill - 180.0)))
        case "Rough":
            height, length, seed = terrain.values
            return engine.Scene(ground=engine.rough_ground(height, length, int(seed), size))
        case "Stairs":
            return engine.Scene(obstacles=engine.stairs(*terrain.values))
    return engine.Scene()


def terrain_of(ground: object) -> Terrain:
    """Return the terrain of a ground of unknown origin, with its parameters if they can be derived."""
    if isinstance(ground, engine.HeightField) and ground.rough is not None:
        return Terrain(ROUGH, ground.rough[:-1])
    if not isinstance(ground, engine.Plane):
        return Terrain(FIELD, note=describe(ground))
    x, y, z = ground.normal
    if z == 1.0:
        return Terrain(FLAT)
    return Terrain(SLOPE, (float(np.degrees(np.arccos(z))), float(np.degrees(np.arctan2(-y, -x)))))


def describe(field: object, name: str = "") -> str:
    """Return the size of a height field, after the name of its file; nothing of another ground."""
    if not isinstance(field, engine.HeightField):
        return ""
    rows, columns = field.heights.shape
    low, high = float(field.heights.min()), float(field.heights.max())
    size = f"{columns} × {rows} heights, {field.cell:g} m apart, from {low:.3g} to {high:.3g} m"
    return f"{name}: {size}" if name else size


def height_at_base(scene: engine.Scene) -> float:
    """Return the height of a height field at the world's origin, where a fixed root is, m; 0 of other grounds."""
    ground = scene.ground
    return float(ground.height(np.zeros((1, 2)))[0]) if isinstance(ground, engine.HeightField) else 0.0


def of_file(path: str | Path, cell: float) -> engine.Scene:
    """Return a height field from a `numpy.save` file, m, with that cell size, m. Raises OSError or ValueError."""
    return engine.Scene(ground=engine.HeightField.of_file(path, cell))
