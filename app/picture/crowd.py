"""`Crowd`: the appearance of a batch: in a grid or overlaid, its colours, and the selected robot. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.gl.batch import Batch, Box
from app.gl.world import World

ARRANGEMENTS = ("in a grid", "overlaid")
COLORINGS = ("own colours", "energy", "deviation")
OWN, ENERGY, DEVIATION = COLORINGS
UNITS = {ENERGY: "J", DEVIATION: "m"}
STRENGTH = 0.85
"""The share of a number's colour in a robot's displayed colour."""
STOPS = np.array(
    [(0.27, 0.27, 0.62), (0.16, 0.42, 0.62), (0.13, 0.63, 0.55), (0.53, 0.79, 0.30), (0.98, 0.88, 0.15)], np.float32
)
"""Colours from the smallest to the largest number, each lighter than the one before, also with colour blindness."""
DIVERGED = (0.93, 0.20, 0.24)
SELECTED_COLOR = (1.0, 0.62, 0.16)
GAP = 1.25
"""The spacing of robots in a grid, in robot widths."""
WIDEST = 8.0
"""The largest width of a robot with its obstacles, in widths of the robot alone; larger obstacles overlap."""
LEVEL = 0.05
"""The vertical part of a plane's normal, up to which it is a wall, beside which the grid is level."""


def ramp(shares: ArrayLike) -> NDArray[np.float32]:
    """Return the colours of `STOPS` for shares in 0…1, (…, 3) RGB."""
    place = np.clip(np.nan_to_num(np.asarray(shares, float)), 0.0, 1.0) * (len(STOPS) - 1)
    first = np.minimum(place.astype(int), len(STOPS) - 2)
    part = (place - first)[..., None]
    mixed: NDArray[np.float32] = ((1 - part) * STOPS[first] + part * STOPS[first + 1]).astype(np.float32)
    return mixed


def shares(values: NDArray[np.float64], known: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float, float]:
    """Scale values so that the smallest known one is 0 and the largest 1; return them and these two."""
    known = known & np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if np.any(known) else (0.0, 0.0)
    return (values - low) / (high - low if high > low else 1.0), low, high


@dataclass
class Crowd:
    """The appearance of the robots of one model."""

    arrangement: str = ARRANGEMENTS[0]
    coloring: str = OWN
    """One of `COLORINGS`, or the name of `numbers`."""
    numbers: NDArray[np.float64] | None = None
    """(robots,): what colours show in place of the energy and the deviation; None, or of another batch, for neither."""
    selected_robot: int = 0
    """The robot whose joints are shown and that the camera follows."""
    width: float = 1.0
    """The width of a robot in the pose in which it was loaded, with the obstacles around it, m."""
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Of the plane on which the grid lies, so that each robot is drawn on the ground that it touches."""
    has_terrain: bool = False
    """Whether the ground is a height field, which is drawn once: all robots are then drawn where they touch it."""
    _size: Box = (np.zeros(3), np.ones(3))
    _offsets: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    _arranged: tuple[object, ...] | None = None

    def set_size(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        """Set a new robot, whose initial pose is between these corners, (3,) each."""
        self._size = lower, upper
        self.selected_robot = 0
        self.set_world(None)

    def set_world(self, world: World | None) -> None:
        """Set the ground and the obstacles that each robot touches; None for a flat ground."""
        lower, upper = self._size
        extent = upper - lower
        self.width = float(max(extent[0], extent[1], 0.5 * extent[2], 0.05))
        self.normal, self.has_terrain = (0.0, 0.0, 1.0), world is not None and world.terrain is not None
        if world is not None and world.terrain is None and world.plane[2] > LEVEL:
            self.normal = float(world.plane[0]), float(world.plane[1]), float(world.plane[2])
        if world is not None and world.obstacles is not None and world.poses is not None:
            corners = world.obstacles.bounds(world.poses)
            across = float((np.maximum(corners[1], upper) - np.minimum(corners[0], lower))[:2].max())
            self.width = min(max(self.width, across), WIDEST * self.width)

    @property
    def in_grid(self) -> bool:
        """Whether each robot is drawn at a place of its own."""
        return self.arrangement == ARRANGEMENTS[0] and not self.has_terrain

    def offsets(self, robots: int) -> NDArray[np.float32]:
        """Return where each robot is drawn, (robots, 3), m; robot 0 is at the world's origin."""
        requested = self.in_grid, self.width, self.normal, robots
        if requested != self._arranged:
            self._arranged, self._offsets = requested, np.zeros((robots, 3), np.float32)
            if self.in_grid:
                side = int(np.ceil(np.sqrt(robots)))
                self._offsets[:, 0] = -GAP * self.width * (np.arange(robots) // side)
                self._offsets[:, 1] = GAP * self.width * (np.arange(robots) % side)
                x, y, z = self.normal
                self._offsets[:, 2] = self._offsets[:, :2] @ np.array([x, y], np.float32) / -z
        return self._offsets

    def values(self, energy: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers that colours show, (robots,); deviations if robots have their own colours.

        NaN where others are shown that are not known yet.
        """
        if self.coloring in (OWN, DEVIATION):
            return deviation
        if self.numbers is not None and len(self.numbers) == len(energy):
            return self.numbers
        return energy if self.coloring == ENERGY else np.full(len(energy), np.nan)

    def batch(
        self,
        link_poses: NDArray[np.float32],
        energy: NDArray[np.float64],
        deviation: NDArray[np.float64],
        diverged: NDArray[np.bool_],
        selected: bool = True,
    ) -> Batch:
        """Return the batch to draw at poses (robots, links, 4, 4); the other arrays are (robots,).

        The selected robot is highlighted, if `selected`.
        """
        tints = np.zeros((len(link_poses), 4), np.float32)
        if self.coloring != OWN:
            tints[:, :3] = ramp(shares(self.values(energy, deviation), ~diverged)[0])
            tints[:, 3] = STRENGTH
        tints[diverged] = (*DIVERGED, STRENGTH)
        if selected and len(tints) > 1 and self.selected_robot < len(tints):
            tints[self.selected_robot] = (*SELECTED_COLOR, STRENGTH)
        return Batch(link_poses, self.offsets(len(link_poses)), tints)
