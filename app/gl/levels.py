"""Levels of detail: coarser meshes for use where they are small in the picture.

Each `Level` knows its largest distance from the finest mesh. The coarsest whose error is below a share of a pixel is
drawn; `choose` finds it for all meshes at once. Round shapes are generated with fewer sides. Meshes from files are
simplified by quadric error (fast-simplification), which takes seconds; until then, crude levels from merging vertices
in grid cells replace them in moving pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.gl.camera import Camera
from app.gl.mesh import CREASE, Mesh, Recipe, from_corners, weld

if TYPE_CHECKING:
    from app.gl.scene import Content

TOLERANCE = 1.0
"""Pixels, the tolerated error of a level."""
SHARES = (0.4, 0.16, 0.06, 0.02)
"""The shares of its triangles that the levels of a mesh from a file have."""
SIMPLE = 400
"""The number of triangles up to which a mesh has no coarser level."""
SAMPLES = 100
"""Sample points of a mesh for measuring the error of a level."""
CELLS = (24, 12, 8)
"""Grid cells for the crude levels, along the longest side of a mesh."""
CRUDE_FACTOR = 8.0
"""The factor by which a crude level's error may exceed `TOLERANCE`."""
SIDES = ((24, 1), (16, 1), (12, 0), (8, 0), (6, 0))
"""The sides of a round shape's levels, and the steps of their rounded edges."""


@dataclass(frozen=True, eq=False)
class Level:
    """A mesh or its recipe, and its largest distance from the finest mesh, m, in the mesh's frame."""

    source: Mesh | Recipe
    error: float
    crude: bool = False

    @cached_property
    def mesh(self) -> Mesh:
        return self.source if isinstance(self.source, Mesh) else self.source.make()


def of_recipe(recipe: Recipe) -> tuple[Level, ...]:
    """Return the coarser levels of a shape."""
    coarser = [(sides, steps) for sides, steps in SIDES if sides < recipe.sides]
    if recipe.shape == "box":
        coarser = [(recipe.sides, steps) for steps in range(recipe.steps - 1, -1, -1)]
    return tuple(
        Level(replace(recipe, sides=sides, steps=steps), _error(recipe, sides, steps)) for sides, steps in coarser
    )


def _error(recipe: Recipe, sides: int, steps: int) -> float:
    if recipe.shape == "box":
        return min(recipe.size) / 16 * (0.4 if steps == 0 else 0.1)
    rim = 0.03 if recipe.shape == "cylinder" and recipe.steps and not steps else 0.0
    return recipe.size[0] * (1 - float(np.cos(np.pi / sides)) + rim)


def crude_levels(mesh: Mesh) -> tuple[Level, ...]:
    """Return crude levels of a mesh, in milliseconds."""
    lower = mesh.vertices.min(0)
    extent = max(float((mesh.vertices.max(0) - lower).max()), 1e-30)
    levels: list[Level] = []
    for cells in CELLS:
        place = ((mesh.vertices - lower) * (cells / extent)).astype(np.int64) @ (1 << np.array([40, 20, 0]))
        _, joined, count = np.unique(place, return_inverse=True, return_counts=True)
        joined = joined.reshape(-1)
        points = np.stack([np.bincount(joined, mesh.vertices[:, k]) for k in range(3)], 1) / count[:, None]
        faces = joined[mesh.faces]
        first = faces.argmin(1)[:, None]
        turned = np.take_along_axis(faces, (first + np.arange(3)) % 3, 1)
        whole = (turned[:, 0] != turned[:, 1]) & (turned[:, 1] != turned[:, 2]) & (turned[:, 0] != turned[:, 2])
        among = turned[whole] @ np.array([len(points) ** 2, len(points), 1])
        kept = np.flatnonzero(whole)[np.unique(among, return_index=True)[1]]
        if not len(kept):
            break
        corner = mesh.faces[kept].reshape(-1)
        made = from_corners(points, faces[kept], mesh.normals[corner].astype(float), mesh.colors[corner], mesh.painted)
        # A vertex moves to its cell's mean, rarely farther than half a diagonal.
        levels.append(Level(replace(made, color=mesh.color), 0.5 * np.sqrt(3) * extent / cells, crude=True))
    return tuple(levels)


def coarser_levels(mesh: Mesh) -> tuple[Level, ...]:
    """Return the coarser levels of a mesh from a file; none if it is simple already."""
    from fast_simplification import replay_simplification, simplify  # here, since only the simplifying process needs it

    # Vertices with equal place and colour are merged, so that colour borders are kept.
    shade = np.unique(np.ascontiguousarray(mesh.colors).view(np.uint32).reshape(-1), return_inverse=True)[1]
    place = weld(mesh.vertices.astype(float)) + len(mesh.vertices) * shade.astype(np.int64).reshape(-1)
    _, first, joined = np.unique(place, return_index=True, return_inverse=True)
    points, faces = mesh.vertices[first].astype(float), joined.reshape(-1)[mesh.faces].astype(np.int32)
    levels: list[Level] = []
    for share in SHARES:
        count = int(share * len(mesh.faces))
        if count < SIMPLE / 8:
            break
        *_, collapses = simplify(points, faces, target_count=min(count, len(faces)), return_collapses=True)
        few, triangles, became = replay_simplification(points, faces, collapses)
        if not len(triangles):
            break
        made = _shaded_as(mesh, became[joined.reshape(-1)], np.asarray(few, float), np.asarray(triangles, np.int64))
        levels.append(Level(made, max(_distance(mesh, made), levels[-1].error if levels else 0.0)))
    return tuple(levels)


def _shaded_as(fine: Mesh, became: NDArray[np.int64], points: NDArray[np.float64], faces: NDArray[np.int64]) -> Mesh:
    """Return the triangles, shaded with normals and colours of the vertices of `fine` merged into each corner."""
    corners = points[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = (across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-30)).repeat(3, 0)
    order = np.argsort(became, kind="stable")[np.count_nonzero(became < 0) :]  # some were removed
    count = np.bincount(became[order], minlength=len(points))
    corner = faces.reshape(-1)
    # Pair each corner with every vertex merged into its point.
    among = np.arange(len(corner)).repeat(count[corner])
    first = np.cumsum(count[corner]) - count[corner]
    vertex = order[(np.cumsum(count) - count)[corner][among] + np.arange(len(among)) - first[among]]
    alike = np.einsum("ij,ij->i", fine.normals[vertex], flat[among]) > np.cos(CREASE)
    # A sliver may face away from all of them: it takes their mean.
    taken = alike | ~(np.bincount(among, alike, len(corner)) > 0)[among]
    normals = np.stack([np.bincount(among[taken], fine.normals[vertex[taken], k], len(corner)) for k in range(3)], 1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(length > 1e-6, normals / np.maximum(length, 1e-6), flat)
    tint = np.full((len(corner), 4), 255, np.uint8)
    tint[among] = fine.colors[vertex]
    return replace(from_corners(points, faces, normals, tint, fine.painted), color=fine.color)


def _distance(fine: Mesh, coarse: Mesh) -> float:
    """Return the distance of the fine mesh from the coarse one, except for 3 % of its surface, m."""
    from trimesh.triangles import closest_point

    whole = fine.vertices[fine.faces].astype(float)
    area = np.cumsum(np.linalg.norm(np.cross(whole[:, 1] - whole[:, 0], whole[:, 2] - whole[:, 0]), axis=1))
    # Sample the surface, not the vertices: a long rod has few of them.
    picked = np.searchsorted(area, area[-1] * (np.arange(SAMPLES) + 0.5) / SAMPLES)
    points = whole[picked].mean(1)
    corners = coarse.vertices[coarse.faces].astype(float)
    centers = corners.mean(1)
    reach = np.linalg.norm(corners - centers[:, None], axis=2).max(1)
    least = np.empty(len(points))
    for k, point in enumerate(points):  # one by one, since all triangles may be near a point
        away = np.linalg.norm(point - centers, axis=1)
        # Candidates are triangles that may be nearer than the nearest centre.
        near = np.flatnonzero(away - reach <= away.min())
        there = np.broadcast_to(point, (len(near), 3))
        least[k] = np.linalg.norm(closest_point(corners[near], there) - there, axis=1).min()
    return float(np.percentile(least, 97))


def scales(content: Content) -> NDArray[np.float64]:
    """(M,): the largest scale of any copy of each mesh."""
    grown = np.linalg.norm(content.instances.local[:, :3, :3], axis=1).max(1)
    return _per_mesh(content, grown)


def visibility(
    content: Content, link_poses: NDArray[np.float64], camera: Camera, size: tuple[int, int]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """For each mesh, (M,) each: whether any copy may be visible, and its maximum pixels per metre.

    `size` is of the picture, in pixels.
    """
    centers, radii = content.spheres
    poses = link_poses[content.instances.link]
    centers = np.einsum("nij,nj->ni", poses[:, :3, :3], centers) + poses[:, :3, 3]
    inside, _, pixels = camera.seen(centers, radii, size)
    return _per_mesh(content, inside.astype(float)) > 0, _per_mesh(content, np.where(inside, pixels, 0.0))


def _per_mesh(content: Content, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(M,): the largest of the copies' values, (I,), for each mesh."""
    largest = np.zeros(len(content.meshes))
    np.maximum.at(largest, content.instances.mesh, values)
    return largest


def choose(levels: Sequence[tuple[Level, ...]], pixels: NDArray[np.float64]) -> NDArray[np.int64]:
    """(M,): for each mesh the coarsest sufficient level, 0 for the mesh itself.

    `pixels` (M,): the maximum pixels per metre of each mesh in the picture.
    """
    most = max((len(each) for each in levels), default=0)
    errors = np.full((len(levels), most), np.inf)
    for row, each in zip(errors, levels, strict=True):
        row[: len(each)] = [level.error / (CRUDE_FACTOR if level.crude else 1.0) for level in each]
    return np.asarray((errors <= TOLERANCE / np.maximum(pixels, 1e-9)[:, None]).sum(1), np.int64)
