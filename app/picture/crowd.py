"""`Crowd`: how a batch of robots is shown: in a grid or overlaid, in which colours, which one in sight. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.gl.batch import Batch

ARRANGEMENTS = ("in a grid", "overlaid")
COLORINGS = ("own colours", "energy", "deviation")
OWN, ENERGY, DEVIATION = COLORINGS
UNITS = {ENERGY: "J", DEVIATION: "m"}
STRENGTH = 0.85
"""How much of a colour that tells a number takes the place of a robot's own."""
STOPS = np.array(
    [(0.19, 0.18, 0.50), (0.16, 0.42, 0.62), (0.13, 0.63, 0.55), (0.53, 0.79, 0.30), (0.98, 0.88, 0.15)], np.float32
)
"""From the least to the greatest number; each is lighter than the one before, also to those who see no red or green."""
DIVERGED = (0.93, 0.20, 0.24)
LOOKED_AT = (1.0, 0.62, 0.16)
GAP = 1.25
"""Times the robot's width, from one robot of a grid to the next."""


def ramp(shares: ArrayLike) -> NDArray[np.float32]:
    """(…, 3) RGB of `STOPS` for shares in 0…1."""
    place = np.clip(np.nan_to_num(np.asarray(shares, float)), 0.0, 1.0) * (len(STOPS) - 1)
    first = np.minimum(place.astype(int), len(STOPS) - 2)
    part = (place - first)[..., None]
    mixed: NDArray[np.float32] = ((1 - part) * STOPS[first] + part * STOPS[first + 1]).astype(np.float32)
    return mixed


def shares(values: NDArray[np.float64], known: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float, float]:
    """Each value between the least (0) and the greatest (1) of those that are known; and these two."""
    known = known & np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if np.any(known) else (0.0, 0.0)
    return (values - low) / (high - low if high > low else 1.0), low, high


@dataclass
class Crowd:
    """The robots of one model as they are drawn."""

    arrangement: str = ARRANGEMENTS[0]
    coloring: str = OWN
    looked_at: int = 0
    """The robot whose joints are shown and that the camera follows."""
    width: float = 1.0
    """Of a robot as it stood when it was loaded, m."""
    _offsets: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    _arranged: tuple[str, float, int] | None = None

    def set_size(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        """A new robot, which as it is loaded stands between these corners, (3,) each."""
        extent = upper - lower
        self.width = float(max(extent[0], extent[1], 0.5 * extent[2], 0.05))
        self.looked_at = 0

    def offsets(self, robots: int) -> NDArray[np.float32]:
        """(robots, 3): where each is drawn, m; robot 0 at the world's origin."""
        asked = self.arrangement, self.width, robots
        if asked != self._arranged:
            self._arranged, self._offsets = asked, np.zeros((robots, 3), np.float32)
            if self.arrangement == ARRANGEMENTS[0]:
                side = int(np.ceil(np.sqrt(robots)))
                self._offsets[:, 0] = -GAP * self.width * (np.arange(robots) // side)
                self._offsets[:, 1] = GAP * self.width * (np.arange(robots) % side)
        return self._offsets

    def values(self, energy: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
        """(robots,): the numbers that colours tell; deviations where robots have their own colours."""
        return energy if self.coloring == ENERGY else deviation

    def batch(
        self,
        link_poses: NDArray[np.float32],
        energy: NDArray[np.float64],
        deviation: NDArray[np.float64],
        diverged: NDArray[np.bool_],
    ) -> Batch:
        """The robots at poses (robots, links, 4, 4) as they are to be drawn, with (robots,) of the others."""
        tints = np.zeros((len(link_poses), 4), np.float32)
        if self.coloring != OWN:
            tints[:, :3] = ramp(shares(self.values(energy, deviation), ~diverged)[0])
            tints[:, 3] = STRENGTH
        tints[diverged] = (*DIVERGED, STRENGTH)
        if len(tints) > 1 and self.looked_at < len(tints):
            tints[self.looked_at] = (*LOOKED_AT, STRENGTH)
        return Batch(link_poses, self.offsets(len(link_poses)), tints)
