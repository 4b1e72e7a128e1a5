"""`Batch`: many robots of one scene in a picture, and the level of detail of each.

Robots are drawn in bands of similar size, nearest first: near ones with all their shapes at the levels that their size
requires, smaller ones with hulls in place of their links, the smallest with boxes (`proxies`). A triangle budget moves
the farther ones to simpler forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.gl import levels
from app.gl.camera import Camera
from app.gl.proxies import proxies
from app.gl.scene import Content

Box = tuple[NDArray[np.float64], NDArray[np.float64]]
"""A lower and an upper corner, (3,) each."""
WHOLE, HULLS, BOXES = range(3)
"""A robot's forms: the scene's shapes, or one of its two stand-ins."""
SMALL, TINY = 90.0, 16.0
"""Pixels across a robot, below which hulls suffice, and boxes."""
UNSEEN = 0.7
"""Pixels across a shape, below which it is not drawn."""
BANDS = 4
"""The number of size bands of whole robots, each half the size of the previous."""


@dataclass(frozen=True, eq=False)
class Batch:
    """N robots of one scene.

    =======  ===================  ==================================================================
    links    (N, links, 4, 4)     float32: poses in the robot's own world
    offsets  (N, 3)               float32: where that world is drawn, m
    tints    (N, 4)               float32: RGB in 0…1, and its share in place of the robot's own colour
    =======  ===================  ==================================================================
    """

    links: NDArray[np.float32]
    offsets: NDArray[np.float32]
    tints: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.links)

    @cached_property
    def origins(self) -> NDArray[np.float32]:
        """(N, links, 3): the drawn origins of the links' frames."""
        by_link = np.empty((self.links.shape[1], len(self), 3), np.float32)  # the order in which `boxes` reads them
        np.add(self.links[..., :3, 3].transpose(1, 0, 2), self.offsets, out=by_link)
        return by_link.transpose(1, 0, 2)

    @cached_property
    def boxes(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The lower and upper corners of each robot's link origins, (N, 3) each."""
        return self.origins.min(1), self.origins.max(1)

    def bounds(self, reach: float, robots: NDArray[np.integer] | slice = slice(None)) -> Box:
        """Return the lower and upper corner, (3,) each, of these robots; shapes extend `reach` m beyond link origins.

        Around the world's origin if there are none.
        """
        lower, upper = (corners[robots] for corners in self.boxes)
        finite = np.isfinite(lower).all(1) & np.isfinite(upper).all(1)
        lower, upper = lower[finite], upper[finite]
        if not len(lower):
            return np.full(3, -reach), np.full(3, reach)
        return lower.min(0).astype(float) - reach, upper.max(0).astype(float) + reach

    def nearest(self, camera: Camera, size: tuple[int, int], point: tuple[float, float], reach: float) -> int | None:
        """Return the robot at a point of a picture, in pixels from its upper left corner; None if there is none."""
        clip = camera.projection(size[0] / size[1]) @ camera.view()
        seen = self.origins @ clip[:, :3].T + clip[:, 3]
        depth = seen[..., 3]
        ahead = np.where(depth > 1e-6, depth, np.nan)
        place = (seen[..., :2] / ahead[..., None] * (0.5, -0.5) + 0.5) * size
        away = np.linalg.norm(place - point, axis=-1)
        pixels = size[1] * abs(clip_scale(camera, size)) / ahead
        beyond = away - reach * pixels
        # Of the links that may cover the point, take the one nearest to it relative to its reach.
        share = np.where(beyond <= 0, away / (reach * pixels), np.inf).min(1)
        best = int(np.argmin(share))
        return best if np.isfinite(share[best]) else None


def clip_scale(camera: Camera, size: tuple[int, int]) -> float:
    """Return half the height of the picture, in heights at unit depth."""
    return 0.5 * float(camera.projection(size[0] / size[1])[1, 1])


class DrawnMesh(NamedTuple):
    """One mesh of robots drawn alike: the form, the mesh, its level, and a range in their order."""

    tier: int
    mesh: int
    level: int
    first: int
    robots: int


@dataclass(frozen=True, eq=False)
class Choice:
    """The selection drawn of a batch: visible robots, nearest first, and the parts in picture and shadow map."""

    order: NDArray[np.int32]
    picture: list[DrawnMesh]
    shadow: list[DrawnMesh]
    triangles: int
    """The number in the picture."""


class Tiers:
    """A scene's content and its stand-ins, with the triangles of each."""

    def __init__(self, content: Content):
        self.content = content
        self.contents = (content, *proxies(content))
        self.copies = [np.diff(each.instances.start) for each in self.contents]
        self.scale = levels.scales(content)
        self.extent = _extents(content)
        self._faces = [
            [
                [len(mesh.faces), *([None] * len(coarser))]
                for mesh, coarser in zip(each.meshes, each.levels, strict=True)
            ]
            for each in self.contents
        ]

    def faces(self, tier: int, mesh: int, level: int) -> int:
        """Return the triangles of all copies of a mesh in one robot."""
        counts = self._faces[tier][mesh]
        if counts[level] is None:
            counts[level] = len(self.contents[tier].levels[mesh][level - 1].mesh.faces)
        return int(self.copies[tier][mesh] * counts[level])

    def plain(self, tier: int) -> list[tuple[int, int]]:
        """Return all meshes of a stand-in."""
        return [(mesh, 0) for mesh in range(len(self.contents[tier].meshes))]

    def whole(self, pixels: float) -> list[tuple[int, int]]:
        """Return the meshes of a robot at `pixels` pixels per metre, and the level of each."""
        content = self.content
        chosen = levels.choose(content.levels, pixels * self.scale)
        seen = np.flatnonzero(self.extent * pixels >= UNSEEN)
        return [(int(mesh), int(chosen[mesh])) for mesh in seen]


def _extents(content: Content) -> NDArray[np.float64]:
    """(M,): the extent of the largest copy of each mesh, m."""
    across = np.linalg.norm(np.ptp(content.hulls, axis=1), axis=-1)
    extents = np.zeros(len(content.meshes))
    np.maximum.at(extents, content.instances.mesh, across)
    return extents


def choose(
    batch: Batch, tiers: Tiers, camera: Camera, size: tuple[int, int], budget: int, shaded: int, small: float = SMALL
) -> Choice:
    """Select the parts to draw within about `budget` triangles, with shadows for up to `shaded` robots.

    Robots less than `small` pixels across are not drawn whole.
    """
    order, pixels, across = _seen(batch, tiers.content.reach, camera, size)
    picture: list[DrawnMesh] = []
    left, first = budget, 0
    farther = [sum(tiers.faces(tier, *part) for part in tiers.plain(tier)) for tier in (HULLS, BOXES)]
    large = int(np.searchsorted(-across, -small, side="right"))
    for band in range(BANDS):
        if first >= large:
            break
        stop = large
        if band < BANDS - 1:
            stop = max(first + 1, int(np.searchsorted(-pixels[:large], -0.5 * pixels[first], side="right")))
        parts = tiers.whole(float(pixels[first]))
        each = max(1, sum(tiers.faces(WHOLE, *part) for part in parts))
        # Nearer robots may use all but the minimum that the others need.
        count = max(0, min(stop - first, (left - (len(order) - first) * farther[1]) // each))
        picture += [DrawnMesh(WHOLE, mesh, level, first, count) for mesh, level in parts if count]
        left -= each * count
        first += count
        if first < stop:
            break
    whole = first
    stop = max(first, int(np.searchsorted(-across, -TINY, side="right")))
    spare = max(1, farther[0] - farther[1])
    count = max(0, min(stop - first, (left - (len(order) - first) * farther[1]) // spare))
    picture += [DrawnMesh(HULLS, mesh, 0, first, count) for mesh, _ in tiers.plain(HULLS) if count]
    first += count
    rest = len(order) - first
    picture += [DrawnMesh(BOXES, mesh, 0, first, rest) for mesh, _ in tiers.plain(BOXES) if rest]
    shadow = []
    if len(order) <= shaded:
        shadow += [DrawnMesh(HULLS, mesh, 0, 0, whole) for mesh, _ in tiers.plain(HULLS) if whole]
        far = len(order) - whole
        shadow += [DrawnMesh(BOXES, mesh, 0, whole, far) for mesh, _ in tiers.plain(BOXES) if far]
    triangles = sum(part.robots * tiers.faces(part.tier, part.mesh, part.level) for part in picture)
    return Choice(order, picture, shadow, triangles)


def _seen(
    batch: Batch, reach: float, camera: Camera, size: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return the visible robots, nearest first, with pixels per metre and pixels across for each."""
    lower, upper = batch.boxes
    centers = (lower + upper) / 2
    radii = np.linalg.norm(upper - lower, axis=1) / 2 + reach
    inside, depth, pixels = camera.seen(centers, radii, size)
    seen = np.flatnonzero(inside & np.isfinite(depth))
    seen = seen[np.argsort(depth[seen], kind="stable")]
    pixels = np.sort(pixels[seen])[::-1]
    across = np.minimum.accumulate(2 * radii[seen] * pixels) if len(seen) else pixels
    return seen.astype(np.int32), pixels, across
