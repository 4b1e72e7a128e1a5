"""`View`: the input of a picture, and a measure of the difference between two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.gl.batch import Batch
from app.gl.camera import Camera
from app.gl.contact_marks import Marks, distance
from app.gl.extras import PLAIN, Extras
from app.gl.scene import Content, Instances


@dataclass(frozen=True, eq=False)
class View:
    """A robot's links at poses (links, 4, 4), seen by its own camera, over a level ground at that height, m.

    If there is a `batch` its robots are drawn, and `poses` are those of the selected one. `content` and `poses` are
    None for the empty ground; `size` is the picture's, in pixels. If `extras` have a world, it replaces the ground.
    """

    content: Content | None
    poses: NDArray[np.float64] | None
    camera: Camera
    ground: float
    size: tuple[int, int]
    batch: Batch | None = None
    marks: Marks | None = None
    """The contact marks of the selected robot."""
    extras: Extras = PLAIN

    @property
    def _instances(self) -> Instances | None:
        """The instances, which stay the same when better levels of detail arrive."""
        return self.content.instances if self.content is not None else None

    def pixels_from(self, other: View) -> float:
        """Return the largest motion, in pixels, roughly; infinite if more than links and the camera's target differ."""
        mine, yours = self.camera, other.camera
        if self.batch is not other.batch or not self.extras.like(other.extras):
            return np.inf
        if self._instances is not other._instances or (self.ground, self.size) != (other.ground, other.size):
            return np.inf
        turned = (mine.distance, mine.azimuth, mine.elevation) != (yours.distance, yours.azimuth, yours.elevation)
        if turned or mine.parallel != yours.parallel:
            return np.inf
        moved = max(float(np.linalg.norm(mine.target - yours.target)), distance(self.marks, other.marks))
        if self.poses is not other.poses and len(self.poses):
            step = self.poses - other.poses
            shifted = np.linalg.norm(step[:, :3, 3], axis=1)
            turned = np.linalg.norm(step[:, :3, :3], axis=(1, 2))
            moved = max(moved, float((shifted + turned * self.content.reach).max()))
        return moved * min(self.size) / (2 * np.tan(mine.fov / 2) * mine.distance)
