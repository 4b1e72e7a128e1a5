"""A turntable camera with target, distance and direction. z is up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float32]

UPRIGHT = np.radians(89.5)
"""The steepest elevation; above it the up direction degenerates."""
MIN_DISTANCE, MAX_DISTANCE = 1e-7, 1e8
"""m, limits of the camera's distance from its target."""
PARALLEL = np.radians(0.1)
"""The angle of view of a parallel camera: perspective is below a pixel or two."""


@dataclass
class Camera:
    """A camera on a sphere around `target`.

    `azimuth` turns about z, from the x-axis; `elevation` rises from the ground; radians and metres. `fov` is the angle
    of view across the shorter side of the picture, so that a robot that fits a wide picture fits a tall one. A
    `parallel` camera approximates parallel projection by a distant eye and a narrow angle, with the size at the target
    unchanged, so that users of its eye and matrices need no special case.
    """

    target: NDArray[np.float64] = field(default_factory=lambda: np.array([0.0, 0.0, 0.4]))
    distance: float = 3.0
    azimuth: float = np.radians(40.0)
    elevation: float = np.radians(20.0)
    fov: float = np.radians(35.0)
    parallel: bool = False

    def axes(self) -> NDArray[np.float64]:
        """(3, 3): rows are the camera's right, up and backward directions in the world."""
        ca, sa, ce, se = np.cos(self.azimuth), np.sin(self.azimuth), np.cos(self.elevation), np.sin(self.elevation)
        backward = np.array([ce * ca, ce * sa, se])
        right = np.array([-sa, ca, 0.0])
        return np.stack([right, np.cross(backward, right), backward])

    @property
    def angle(self) -> float:
        """The angle of view used for drawing, rad."""
        return PARALLEL if self.parallel else self.fov

    @property
    def away(self) -> float:
        """The distance of the eye from the target, m."""
        return float(self.distance * np.tan(self.fov / 2) / np.tan(self.angle / 2))

    @property
    def eye(self) -> NDArray[np.float64]:
        """(3,): the camera's position, m."""
        return self.target + self.away * self.axes()[2]

    def depth(self, point: ArrayLike) -> float:
        """Return the depth of a point (3,) along the line of sight, m."""
        return float((self.eye - np.asarray(point, float)) @ self.axes()[2])

    def view(self) -> Matrix:
        """(4, 4): world to camera."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.axes()
        matrix[:3, 3] = -matrix[:3, :3] @ self.eye
        return matrix.astype(np.float32)

    def projection(self, aspect: float) -> Matrix:
        """(4, 4): camera to clip space, for a picture of that aspect, width over height."""
        near, far = (self.away - 20 * self.distance if self.parallel else 0.01 * self.distance), 100.0 * self.distance
        far += self.away if self.parallel else 0.0
        focal = 1 / np.tan(self.angle / 2)
        matrix = np.zeros((4, 4))
        matrix[0, 0] = focal * min(1.0, 1 / aspect)
        matrix[1, 1] = focal * min(1.0, aspect)
        matrix[2, 2:] = (near + far) / (near - far), 2 * near * far / (near - far)
        matrix[3, 2] = -1
        return matrix.astype(np.float32)

    def seen(
        self, centers: NDArray[np.floating], radii: NDArray[np.floating], size: tuple[int, int]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
        """Return of balls, centres (n, 3): whether each may be visible, its depth, and its most pixels per metre.

        `size` is of the picture, in pixels.
        """
        view, projection = self.view(), self.projection(size[0] / size[1])
        place = centers @ view[:3, :3].T + view[:3, 3]
        depth = -place[:, 2]
        slopes = 1 / projection[[0, 1], [0, 1]]
        # A ball is inside a side of the view if its centre is less than its radius beyond it.
        beyond = np.abs(place[:, :2]) - depth[:, None] * slopes - radii[:, None] * np.sqrt(1 + slopes**2)
        nearest = np.maximum(depth - radii, 0.01 * self.distance)
        return np.all(beyond <= 0, axis=1) & (depth > -radii), depth, size[1] / (2 * slopes[1] * nearest)

    def orbit(self, dx: float, dy: float) -> None:
        """Rotate about the target by angles in radians: dx to the right, dy upwards."""
        self.azimuth = float((self.azimuth + dx + np.pi) % (2 * np.pi) - np.pi)
        self.elevation = float(np.clip(self.elevation + dy, -UPRIGHT, UPRIGHT))

    def pan(self, dx: float, dy: float) -> None:
        """Move the target across the picture: dx right, dy up, as shares of the picture's shorter side."""
        right, up, _ = self.axes()
        self.target = self.target + (dx * right + dy * up) * 2 * self.distance * np.tan(self.fov / 2)

    def zoom(self, factor: float) -> None:
        """Move nearer (factor > 1) or farther (factor < 1)."""
        self.distance = float(np.clip(self.distance / factor, MIN_DISTANCE, MAX_DISTANCE))

    def fit(self, lower: ArrayLike, upper: ArrayLike, aspect: float = 1.0) -> None:
        """Show the whole box between two corners, (3,) each, from the camera's current direction.

        `aspect` is the picture's width over its height, of which a box is shown in the whole; by default in a square.
        """
        lower, upper = np.asarray(lower, float), np.asarray(upper, float)
        self.target = (lower + upper) / 2
        offsets = (
            np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T - self.target
        ) @ self.axes().T
        # A corner is in the picture from the distance at which it appears at half the angle of view.
        reach = (np.abs(offsets[:, :2]) / (aspect, 1.0)).max(1) / np.tan(0.46 * self.fov) + offsets[:, 2]
        self.distance = float(np.clip(reach.max(), MIN_DISTANCE, MAX_DISTANCE))
