"""`HeightField`: uneven ground, triangulated over a grid of heights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import array_files

Array = NDArray[np.floating]
Origin = tuple[float, float, float]
MIN_CELL, MAX_EXTENT = 1e-6, 1e9
"""m: minimum cell size; maximum extent and height."""


@dataclass(frozen=True, eq=False)
class HeightField:
    """Ground of heights (rows, columns) in m over a square grid; rows run along y, columns along x.

    `heights[i, j]` is at `origin` + (j, i, 0) · `cell`, all in m. Without an origin the centre of the grid is at x = y
    = 0. Each cell is two triangles, split along the diagonal from its smallest to its largest x and y. Beyond the
    border the ground continues at the border's heights. `rough` has the arguments height, length, seed and size of
    `rough_ground` for what that made, so that a file keeps them; None for other heights.

    Raises ValueError for heights that are not finite or fewer than 2 × 2, for a cell that is not positive, for a
    ground beyond the limits above, and for `rough` of other than four numbers.
    """

    heights: Array
    cell: float
    origin: Origin | None = None
    rough: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        try:
            heights = np.array(self.heights, np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                "a height field's heights are not numbers; expected an array (rows, columns) in m"
            ) from None
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ValueError(f"a height field's heights have the shape {heights.shape}; expected at least (2, 2)")
        if not np.all(np.isfinite(heights)):
            i, j = np.argwhere(~np.isfinite(heights))[0]
            raise ValueError(f"a height field's heights[{i}, {j}] is {heights[i, j]}; expected finite heights in m")
        if not (np.isfinite(self.cell) and self.cell > 0):
            raise ValueError(f"a height field's cell is {self.cell}; expected the length of its side in m")
        rows, columns = heights.shape
        extent = max(np.abs(heights).max(), max(rows, columns) * self.cell)
        if self.cell < MIN_CELL or extent > MAX_EXTENT:
            raise ValueError(
                f"a height field of cells of {self.cell:g} m goes as far as {extent:g} m; expected cells of "
                f"{MIN_CELL:g} m or more, and at most {MAX_EXTENT:g} m"
            )
        corner = (-(columns - 1) * self.cell / 2, -(rows - 1) * self.cell / 2, 0.0)
        origin = np.asarray(corner if self.origin is None else self.origin, float)
        if origin.shape != (3,) or not np.all(np.isfinite(origin)):
            raise ValueError(f"a height field's origin is {self.origin}; expected three numbers in m")
        rough = None if self.rough is None else np.asarray(self.rough)
        if rough is not None and (rough.shape != (4,) or rough.dtype.kind not in "if" or not np.isfinite(rough).all()):
            raise ValueError(f"a height field's rough is {self.rough}; expected height, length, seed and size, or None")
        heights.flags.writeable = False
        object.__setattr__(self, "rough", None if rough is None else tuple(map(float, rough)))
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "cell", float(self.cell))
        object.__setattr__(self, "origin", (float(origin[0]), float(origin[1]), float(origin[2])))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.heights.flags.writeable = False  # the arrays of pickles and copies are writeable

    @classmethod
    def of_file(cls, path: str | Path, cell: float, origin: Origin | None = None) -> HeightField:
        """The ground of heights in a file of `numpy.save`; `cell` and `origin` are as for the class.

        Raises OSError where it cannot be read, and ValueError where it holds no heights, in one sentence.
        """
        return cls(array_files.read(path), cell, origin)

    @property
    def corner(self) -> Array:
        """(3,): the origin of the grid, from which `heights[0, 0]` is measured."""
        return np.array(self.origin)

    def height(self, x: Array) -> Array:
        """(k,): the ground's height at each x (k, 2 or 3)."""
        place = (x[:, :2] - self.corner[:2]) / self.cell
        whole = np.floor(place)
        (u, v), (j, i) = (place - whole).T, whole.T
        a, d = self._at(i, j), self._at(i + 1, j + 1)
        low = a + u * (self._at(i, j + 1) - a) + v * (d - self._at(i, j + 1))
        high = a + u * (d - self._at(i + 1, j)) + v * (self._at(i + 1, j) - a)
        return np.asarray(np.where(v > u, high, low))

    def lift(self, x: Array, radius: Array) -> Array:
        """(k,): how far up (down, if negative) spheres of `radius` (k,) about x (k, 3) go to lie on the ground, m."""
        heights = self.height(x)
        for k in np.flatnonzero(radius > 0):
            heights[k] = max(self._resting(x[k], float(radius[k])))
        return heights - x[:, 2]

    def _at(self, i: Array, j: Array) -> Array:
        """Return the heights in the world at rows i and columns j, clamped to the border."""
        rows, columns = self.heights.shape
        heights = self.heights[np.clip(i, 0, rows - 1).astype(int), np.clip(j, 0, columns - 1).astype(int)]
        return np.asarray(heights + self.corner[2])

    def _resting(self, x: Array, r: float) -> list[float]:
        """Return a sphere's centre height when resting on each of the corners, edges and triangles beneath."""
        first, last = (np.floor((x[:2] + side * r - self.corner[:2]) / self.cell).astype(int) for side in (-1, 1))
        j, i = np.meshgrid(*(np.arange(a, b + 2) for a, b in zip(first, last, strict=True)))
        V = np.stack([self.corner[0] + j * self.cell - x[0], self.corner[1] + i * self.cell - x[1], self._at(i, j)], -1)
        candidates = [_on_corners(V.reshape(-1, 3), r)]
        pairs = (V[:, :-1], V[:, 1:]), (V[:-1], V[1:]), (V[:-1, :-1], V[1:, 1:])
        candidates += [_on_edges(a.reshape(-1, 3), b.reshape(-1, 3), r) for a, b in pairs]
        a, b, c, d = (part.reshape(-1, 3) for part in (V[:-1, :-1], V[:-1, 1:], V[1:, :-1], V[1:, 1:]))
        candidates += [_on_triangles(a, b, d, r), _on_triangles(a, d, c, r)]
        return [float(np.max(heights)) for heights in candidates if heights.size]


def _on_corners(V: Array, r: float) -> Array:
    """Return the heights of a sphere over the origin that rests on corners (k, 3); none for corners out of reach."""
    rest = r**2 - np.sum(V[:, :2] ** 2, -1)
    return np.asarray(V[rest >= 0, 2] + np.sqrt(rest[rest >= 0]))


def _on_edges(a: Array, b: Array, r: float) -> Array:
    """Return those heights for edges from a to b (k, 3), if the sphere touches between their ends."""
    along = b[:, :2] - a[:, :2]
    length = np.linalg.norm(along, axis=-1)
    e, steep = along / length[:, None], (b[:, 2] - a[:, 2]) / length
    t = -np.sum(a[:, :2] * e, -1)
    rest = r**2 - np.sum((a[:, :2] + t[:, None] * e) ** 2, -1)
    half, slant = np.sqrt(np.maximum(rest, 0.0)), np.sqrt(1 + steep**2)
    foot = t + steep * half / slant
    touches = (rest >= 0) & (foot >= 0) & (foot <= length)
    return np.asarray((a[:, 2] + steep * t + half * slant)[touches])


def _on_triangles(a: Array, b: Array, c: Array, r: float) -> Array:
    """Return those heights for triangles (k, 3), if the sphere touches inside."""
    n = np.cross(b - a, c - a)
    n /= np.linalg.norm(n, axis=-1, keepdims=True)
    foot = -r * n[:, :2]
    inside = np.ones(len(n), bool)
    for p, q in ((a, b), (b, c), (c, a)):
        side, to = q[:, :2] - p[:, :2], foot - p[:, :2]
        inside &= side[:, 0] * to[:, 1] - side[:, 1] * to[:, 0] >= 0
    return np.asarray((np.sum(n * a, -1) / n[:, 2] + r / n[:, 2])[inside])
