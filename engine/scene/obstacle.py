"""`Obstacle`: a shape that stands in the world and never moves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from engine.scene.hull import hulls

Kind = Literal["box", "cylinder", "sphere", "capsule", "mesh"]
_SIZES = {
    "box": "three edges", "cylinder": "radius and length", "capsule": "radius and length", "sphere": "a radius",
    "mesh": "three factors",
}  # fmt: skip
_COUNT = {"box": 3, "cylinder": 2, "capsule": 2, "sphere": 1, "mesh": 3}
_STRAIGHT = 1e-6  # how far RᵀR may be from the identity


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A shape fixed to the world, which robots touch.

    `size` is, in m, of a box its edges, of a cylinder and a capsule radius and length along z (without the capsule's
    ends), of a sphere its radius; of a mesh the factors along its axes, by default 1. `pose` (4, 4) is its frame in the
    world, or (3,) the position of its middle. `mesh` is the file of a mesh, which is touched by its convex hull, or by
    those of its parts.

    Raises ValueError with one sentence for a shape that cannot be.
    """

    shape: Kind
    size: tuple[float, ...] = ()
    pose: ArrayLike = (0.0, 0.0, 0.0)
    mesh: str | None = None

    def __post_init__(self) -> None:
        if self.shape not in _SIZES:
            raise ValueError(f"the obstacle's shape is {self.shape!r}; expected one of {', '.join(_SIZES)}")
        object.__setattr__(self, "size", self._checked_size())
        object.__setattr__(self, "pose", self._checked_pose())
        if (self.mesh is None) == (self.shape == "mesh"):
            cure = "give mesh='FILE'" if self.mesh is None else "only an obstacle 'mesh' has a file"
            raise ValueError(f"the obstacle is a {self.shape} and its mesh {self.mesh!r}; {cure}")
        if self.mesh is not None:
            hulls(str(self.mesh))
            object.__setattr__(self, "mesh", str(Path(self.mesh).absolute()))  # found wherever it is asked for

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        vars(self)["pose"].flags.writeable = False  # pickles and copies have arrays that can be written to

    def _checked_size(self) -> tuple[float, ...]:
        given = (1.0, 1.0, 1.0) if self.shape == "mesh" and np.size(self.size) == 0 else self.size
        try:
            size = np.atleast_1d(np.asarray(given, float))
        except (TypeError, ValueError):
            size = np.zeros(0)
        if size.shape != (_COUNT[self.shape],) or not np.all(np.isfinite(size)) or not np.all(size > 0):
            expected = f"{_SIZES[self.shape]}, positive" + ("" if self.shape == "mesh" else " and in m")
            raise ValueError(f"the size of the obstacle, a {self.shape}, is {self.size!r}; expected {expected}")
        return tuple(map(float, size))

    def _checked_pose(self) -> np.ndarray:
        try:
            given = np.asarray(self.pose, float)
        except (TypeError, ValueError):
            given = np.zeros(0)
        pose = np.eye(4)
        if given.shape == (3,):
            pose[:3, 3] = given
        elif given.shape == (4, 4):
            pose[:] = given
        R = pose[:3, :3]
        straight = np.allclose(R.T @ R, np.eye(3), atol=_STRAIGHT) and np.linalg.det(R) > 0
        fits = given.shape in ((3,), (4, 4)) and np.all(np.isfinite(given))
        if not (fits and straight and np.array_equal(pose[3], [0, 0, 0, 1])):
            raise ValueError(
                f"the pose of the obstacle, a {self.shape}, is {self.pose!r}; expected a position of three numbers "
                "in m, or a (4, 4) matrix of a rotation and a position"
            )
        pose.flags.writeable = False
        return pose
