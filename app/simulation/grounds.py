"""Grounds to choose from: each is a scene, as large as the robot asks for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import engine

SLOPE = 10.0  # degrees
CELLS = 96  # of the rough ground, along each side
TREADS = 5
SEED = 7


def level(_: float = 1.0) -> engine.Scene:
    return engine.Scene()


def sloping(_: float = 1.0) -> engine.Scene:
    """Rising towards −x."""
    return engine.Scene(ground=engine.slope(np.radians(SLOPE)))


def rough(size: float) -> engine.Scene:
    """Bumps as high as a twelfth of a robot of that size, m, and about half as long; flatter where it starts."""
    rng = np.random.default_rng(SEED)
    x = np.linspace(-6.0, 6.0, CELLS + 1)
    heights = np.zeros((CELLS + 1, CELLS + 1))
    for _ in range(24):
        wave, phase = rng.normal(0.0, 4.0, 2), rng.uniform(0.0, 2 * np.pi)
        heights += np.cos(wave[0] * x[None] + wave[1] * x[:, None] + phase) / 24**0.5
    near = np.exp(-(x[None] ** 2 + x[:, None] ** 2))
    return engine.Scene(ground=engine.HeightField(0.08 * size * heights * (1 - 0.7 * near), 12.0 / CELLS * size))


def stairs(size: float) -> engine.Scene:
    """Boxes beside one another, each higher than the last, in front of a robot of that size, m."""
    depth, rise, width = 0.4 * size, 0.06 * size, 2.0 * size
    boxes = [
        engine.Obstacle("box", (depth, width, (k + 1) * rise), (size + k * depth, 0.0, (k + 1) * rise / 2))
        for k in range(TREADS)
    ]
    return engine.Scene(obstacles=tuple(boxes))


def of_file(path: str | Path, cell: float) -> engine.Scene:
    """Heights in m from a file of `numpy.save`, `cell` m apart. OSError or ValueError for one that has none."""
    return engine.Scene(ground=engine.HeightField.of_file(path, cell))
