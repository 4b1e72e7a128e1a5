"""`World`: the drawable ground and obstacles of an `engine.Scene`, free of OpenGL and Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import engine
from app.gl.mesh import Mesh, assemble
from app.gl.scene import Content, Instances, Scene

Floats = NDArray[np.float64]

OBSTACLE = (0.62, 0.55, 0.46, 1.0)
BEYOND = 6.0
"""The extension of a height field beyond its border, as a multiple of its longer side."""
FEW = 128
"""The number of cells along each side up to which drafts show a height field exactly."""


@dataclass(frozen=True, eq=False)
class World:
    """The ground and obstacles. `plane` (4,) is normal and offset, n·x = d; `terrain` replaces it if given.

    `terrain` is a height field's triangles, exact and for drafts. `obstacles` are the links of a content, at `poses`
    (K, 4, 4); `things` are what they show, by which they are known again in another world.
    """

    plane: Floats
    terrain: tuple[Mesh, Mesh] | None = None
    obstacles: Content | None = None
    poses: Floats | None = None
    things: tuple[engine.Obstacle, ...] = ()

    @property
    def count(self) -> int:
        """The number of obstacles, K."""
        return 0 if self.poses is None else len(self.poses)


def world_of(scene: engine.Scene) -> World:
    """Return the drawable world of a scene. Meshes of obstacles are read at once."""
    ground = scene.ground
    plane, terrain = np.array([0.0, 0.0, 1.0, 0.0]), None
    if isinstance(ground, engine.Plane):
        plane = np.array([*ground.normal, ground.offset])
    elif ground is not None:
        step = int(np.ceil(max(ground.heights.shape) / FEW))
        exact = _terrain(ground, 1)
        terrain = exact, exact if step == 1 else _terrain(ground, step)
    if not scene.obstacles:
        return World(plane, terrain)
    built = Scene(_Props(scene.obstacles)).read()
    poses = np.array([each.pose for each in scene.obstacles], float)
    return World(plane, terrain, built.content, poses, scene.obstacles)


class _Props:
    """Obstacles as shapes of links, for a `Scene`."""

    def __init__(self, obstacles: Sequence[engine.Obstacle]):
        self.visuals = tuple(
            engine.Visual(k, each.shape, each.size, np.eye(4), each.color or OBSTACLE, each.mesh)
            for k, each in enumerate(obstacles)
        )
        self.collisions: tuple[engine.Collision, ...] = ()


def _terrain(field: engine.HeightField, step: int) -> Mesh:
    """Return the triangles between every `step`-th of the heights, and the ground beyond the border."""
    rows, columns = (np.unique([*range(0, count, step), count - 1]) for count in field.heights.shape)
    heights = np.pad(field.heights[np.ix_(rows, columns)], 1, mode="edge")
    x, y = (field.corner[axis] + field.cell * places for axis, places in enumerate((columns, rows)))
    reach = BEYOND * max(np.ptp(x), np.ptp(y))
    x, y = (np.concatenate([[line[0] - reach], line, [line[-1] + reach]]) for line in (x, y))
    vertices = np.stack([*np.meshgrid(x, y), heights + field.corner[2]], -1).reshape(-1, 3)
    wide = len(x)
    a = (np.arange(len(y) - 1)[:, None] * wide + np.arange(wide - 1)).ravel()
    # Each cell's diagonal goes from its lowest x and y to its highest, as in the engine.
    faces = np.concatenate([np.stack([a, a + 1, a + wide + 1], 1), np.stack([a, a + wide + 1, a + wide], 1)])
    return assemble(vertices, np.broadcast_to([0.0, 0.0, 1.0], vertices.shape), faces)


def join_contents(content: Content, links: int, other: Content) -> Content:
    """Join two contents, with the other's links numbered after the first one's `links`."""
    one, two = content.instances, other.instances
    instances = Instances(
        np.concatenate([one.mesh, two.mesh + len(content.meshes)]),
        np.concatenate([one.link, two.link + links]),
        np.concatenate([one.local, two.local]),
        np.concatenate([one.color, two.color]),
        np.concatenate([one.start, two.start[1:] + one.start[-1]]),
    )
    hulls = np.concatenate([content.hulls, other.hulls])
    parts = content.parts or (links, links)
    return Content([*content.meshes, *other.meshes], [*content.levels, *other.levels], instances, hulls, parts)
