"""The distance between two points on surfaces, drawn as a line; a point is fixed to its link or obstacle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.gl.contact_marks import along
from app.gl.extras import Copies
from app.gl.world import World

Floats = NDArray[np.float64]

Color = tuple[float, float, float, float]
ON_DARK, ON_LIGHT = (1.0, 0.84, 0.25, 1.0), (0.80, 0.0, 0.60, 1.0)
"""The colours of the line over a dark and a light backdrop."""
THIN, BALL = 0.0065, 0.016
"""The radii of the line and of its ends, in robot sizes."""


@dataclass(frozen=True, eq=False)
class End:
    """A point (3,), m: in the frame of a link, or of one of the second robot, or of an obstacle, or of the world."""

    point: Floats
    link: int = -1
    obstacle: int = -1
    second: int = -1

    def place(self, poses: Floats, world: World | None, second: Floats | None) -> Floats:
        """Return the point in the world, for links, and those of the second robot, at (links, 4, 4)."""
        pose = np.eye(4)
        if self.link >= 0:
            pose = poses[self.link]
        elif self.second >= 0 and second is not None:
            pose = second[self.second]
        elif self.obstacle >= 0 and world is not None and world.poses is not None:
            pose = world.poses[self.obstacle]
        return np.asarray(pose[:3, :3] @ self.point + pose[:3, 3])


def carried(ends: Sequence[End], before: World | None, after: World | None) -> tuple[End, ...]:
    """Return the ends on the same obstacles of another world; none if one of these is gone."""
    things, others = (() if each is None else each.things for each in (before, after))
    moved = tuple(replace(end, obstacle=_again(end.obstacle, things, others)) for end in ends)
    return () if any(one.obstacle >= 0 > other.obstacle for one, other in zip(ends, moved, strict=True)) else moved


def _again(number: int, things: Sequence[object], others: Sequence[object]) -> int:
    """Return an obstacle's number among the others, -1 if it is gone; of as many, it may be moved or resized."""
    if 0 <= number < len(things) and things[number] in others:
        return others.index(things[number])
    return number if number < 0 or len(others) == len(things) else -1


def fixed_to(pose: Floats, point: Floats) -> Floats:
    """Return a point (3,) of the world in the frame at `pose` (4, 4)."""
    return np.asarray(pose[:3, :3].T @ (point - pose[:3, 3]))


def shapes(ends: Floats, size: float, color: Color) -> dict[str, Copies]:
    """Return the line's glyphs, by mesh, in a colour for `ends` (1 or 2, 3) beside a robot of that size, m."""
    balls = np.zeros((len(ends), 4, 4))
    balls[:, [0, 1, 2], [0, 1, 2]] = BALL * size
    balls[:, :3, 3], balls[:, 3, 3] = ends, 1.0
    copies = {"ball": Copies(balls.astype(np.float32), np.tile(np.array(color, np.float32), (len(ends), 1)))}
    step = np.diff(ends, axis=0)
    length = np.linalg.norm(step, axis=1)
    if len(step) and length[0] > 1e-9:
        rod = along((ends[1:] + ends[:-1]) / 2, step / length[:, None], length, np.array([THIN * size]))
        copies["rod"] = Copies(rod.astype(np.float32), np.array([color], np.float32))
    return copies
