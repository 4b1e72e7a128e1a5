"""`Obstacle`: a static shape in the world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import lie
from engine.model.shapes import SIZES, Kind, checked_color, checked_friction, checked_size
from engine.scene.cached_hulls import hulls


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A shape fixed to the world, with which robots can collide.

    `size`, in m, is a box's edge lengths, a cylinder's and a capsule's radius and length along z (without the capsule's
    ends), a sphere's radius; for a mesh it is the scale along its axes, by default 1. `pose` (4, 4) is its frame in the
    world, or (3,) the position of its centre. `mesh` is a mesh file, whose convex hull, or those of its parts, are used
    for contact. `friction` is its own coefficient, at least 0, None for the scene's; `color`, RGBA in 0…1, is that of
    its picture, None for the usual one.

    Raises ValueError with one sentence for an invalid shape.
    """

    shape: Kind
    size: tuple[float, ...] = ()
    pose: ArrayLike = (0.0, 0.0, 0.0)
    mesh: str | None = None
    friction: float | None = None
    color: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.shape not in SIZES:
            raise ValueError(f"the obstacle's shape is {self.shape!r}; expected one of {', '.join(SIZES)}")
        size = (1.0, 1.0, 1.0) if self.shape == "mesh" and np.size(self.size) == 0 else self.size
        object.__setattr__(self, "size", checked_size(self.shape, size, "the obstacle"))
        object.__setattr__(self, "pose", lie.pose(self.pose, f"the obstacle, a {self.shape},"))
        if (self.mesh is None) == (self.shape == "mesh"):
            fix = "give mesh='FILE'" if self.mesh is None else "only an obstacle 'mesh' has a file"
            raise ValueError(f"the obstacle is a {self.shape} and its mesh {self.mesh!r}; {fix}")
        if self.friction is not None:
            object.__setattr__(self, "friction", checked_friction(self.friction, "the obstacle"))
        if self.color is not None:
            object.__setattr__(self, "color", checked_color(self.color, "the obstacle"))
        if self.mesh is not None:
            hulls(str(self.mesh))
            object.__setattr__(self, "mesh", str(Path(self.mesh).absolute()))  # independent of the working directory

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        vars(self)["pose"].flags.writeable = False  # the arrays of pickles and copies are writeable
