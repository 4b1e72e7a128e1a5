"""Which shapes of a robot and of a scene can collide with each other."""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.model import FREE, WORLD, Collision, Model
from engine.scene.cached_hulls import hulls, of_link
from engine.scene.coefficients import coefficients
from engine.scene.contact_tolerances import MAX_CONTACTS
from engine.scene.obstacle import Obstacle
from engine.scene.points import KEPT
from engine.scene.scene import Scene
from engine.scene.shapes import Solid

Array = NDArray[np.floating]
Indices = NDArray[np.int64]
MAX_PAIRS = 8 * MAX_CONTACTS
"""Maximum number of candidate pairs; those that touch in the neutral pose are removed later."""


class Pairs(NamedTuple):
    """N pairs of S shapes of a robot and the obstacles; a mesh with several convex parts counts as several shapes.

    `solids` (S) are the shapes, `body` (S,) their bodies, WORLD for static ones, `link` (S,) their links, or −2 − k for
    obstacle k. `rotation` (S, 3, 3) and `position` (S, 3), m, are each shape's frame in its body's. Shapes `one` (N,)
    and `other` (N,) form the pairs, with `friction` (N,) and `restitution` (N,); contacts `first[k]` … `first[k + 1]`
    belong to pair k. `neutral` (N,) marks the pairs that are ignored if they touch in the neutral pose.
    """

    solids: tuple[Solid, ...]
    body: Indices
    link: Indices
    rotation: Array
    position: Array
    one: Indices
    other: Indices
    friction: Array
    restitution: Array
    first: Indices
    neutral: NDArray[np.bool_]

    @property
    def capacity(self) -> int:
        """The maximum number of simultaneous contacts."""
        return int(self.first[-1])

    def only(self, kept: NDArray[np.bool_]) -> Pairs:
        """Return the pairs with `kept` (N,), of the same shapes."""
        return self._replace(
            one=self.one[kept], other=self.other[kept], friction=self.friction[kept],
            restitution=self.restitution[kept], first=np.cumsum([0, *np.diff(self.first)[kept]]),
            neutral=self.neutral[kept],
        )  # fmt: skip


def pairs(model: Model, scene: Scene) -> Pairs:
    """Return the pairs of a scene, before those marked `neutral` are checked in the neutral pose.

    Raises ValueError with one sentence for a mesh without volume, and for more than `MAX_PAIRS` pairs.
    """
    shapes: list[Collision | Obstacle] = [*model.collisions, *scene.obstacles]
    body = np.array([_body(model, shape) for shape in shapes], np.int64)
    shape_pairs = _with_obstacles(model, scene, body)
    if scene.self_collision or model.parts:
        shape_pairs += _within_robot(model, body, scene.self_collision)
    table = np.array(shape_pairs, np.int64).reshape(-1, 3)
    pieces = [(int(k), solid) for k in np.unique(table[:, :2]) for solid in _solids(model, shapes[k])]
    solids, shape = tuple(solid for _, solid in pieces), np.array([k for k, _ in pieces], np.int64)
    places = {int(k): np.flatnonzero(shape == k).tolist() for k in np.unique(shape)}
    if sum(len(places[i]) * len(places[j]) for i, j, _ in shape_pairs) > MAX_PAIRS:
        raise _too_many(model)
    rows = [(x, y, pair) for pair, (i, j, _) in enumerate(shape_pairs) for x, y in product(places[i], places[j])]
    one, other, pair = np.array(rows, np.int64).reshape(-1, 3).T
    laws = np.array([coefficients(scene, *_of_pair(shapes[i], shapes[j])) for i, j, _ in shape_pairs]).reshape(-1, 2)
    capacity = [1 if "sphere" in (solids[i].kind, solids[j].kind) else KEPT for i, j in zip(one, other, strict=True)]
    link = [shape.link for shape in model.collisions] + [-2 - k for k in range(len(scene.obstacles))]
    frames = [_frame(model, shapes[k]) for k in shape]
    return Pairs(
        solids, body[shape], np.array(link, np.int64)[shape],
        np.array([R for R, _ in frames]).reshape(-1, 3, 3), np.array([p for _, p in frames]).reshape(-1, 3),
        one.copy(), other.copy(), laws[pair, 0], laws[pair, 1], np.cumsum([0, *capacity]), table[pair, 2] != 0,
    )  # fmt: skip


def _of_pair(one: Collision | Obstacle, other: Collision | Obstacle) -> tuple[Collision, Collision | Obstacle]:
    """Return the two shapes, of which an obstacle is the second."""
    assert isinstance(one, Collision)
    return one, other


def _with_obstacles(model: Model, scene: Scene, body: Indices) -> list[tuple[int, int, bool]]:
    """Pair every moving shape with each obstacle."""
    shapes = range(len(model.collisions))
    return [(i, len(shapes) + k, False) for i in shapes if body[i] != WORLD for k in range(len(scene.obstacles))]


def _within_robot(model: Model, body: Indices, within: bool) -> list[tuple[int, int, bool]]:
    """Return pairs of the robot's own shapes, and whether each must not touch in the neutral pose.

    If `within` is false, pairs within one part of a composed model are omitted. Of a moving and a static shape the
    moving one comes first.
    """
    disabled, tree, before, shape_pairs = set(model.disabled_collisions), _trees(model), _before(model), []
    part = model.part_of_link
    for i, j in combinations(range(len(model.collisions)), 2):
        a, b = int(body[i]), int(body[j])
        links = model.collisions[i].link, model.collisions[j].link
        if a == b or (min(links), max(links)) in disabled:
            continue
        between_parts = part[links[0]] != part[links[1]]
        if not (between_parts or within):
            continue
        together = not between_parts and _of(tree, a) == _of(tree, b)
        if together and (_of(before, a) == b or _of(before, b) == a):
            continue
        shape_pairs.append((j, i, together) if a == WORLD else (i, j, together))
        if len(shape_pairs) > MAX_PAIRS:
            raise _too_many(model)
    return shape_pairs


def _too_many(model: Model) -> ValueError:
    return ValueError(
        f"{model.name} has more than {MAX_PAIRS} pairs of shapes that may touch; give fewer shapes, or disable pairs "
        "by an SRDF"
    )


def _of(table: list[int], body: int) -> int:
    """Look up a body in a table; the world maps to itself."""
    return WORLD if body == WORLD else table[body]


def _trees(model: Model) -> list[int]:
    """Return, for each body, the free body or the world at the root of its subtree."""
    tree: list[int] = []
    for body, parent in enumerate(model.parent):
        tree.append(body if model.kind[body] == FREE else _of(tree, int(parent)))
    return tree


def _before(model: Model) -> list[int]:
    """Return each body's closest ancestor with a link: those between belong to one joint."""
    carries, before = set(model.link_body.tolist()), list[int]()
    for parent in model.parent.tolist():
        before.append(parent if parent == WORLD or parent in carries else before[parent])
    return before


def _body(model: Model, shape: Collision | Obstacle) -> int:
    return WORLD if isinstance(shape, Obstacle) else int(model.link_body[shape.link])


def _frame(model: Model, shape: Collision | Obstacle) -> tuple[Array, Array]:
    """Return a shape's frame in its body, or in the world."""
    pose = np.asarray(shape.pose)
    if isinstance(shape, Obstacle):
        return pose[:3, :3], pose[:3, 3]
    R, p = model.link_rotation[shape.link], model.link_position[shape.link]
    return R @ pose[:3, :3], R @ pose[:3, 3] + p


def _solids(model: Model, shape: Collision | Obstacle) -> list[Solid]:
    """Return the convex pieces of a shape: one, except for some meshes."""
    if shape.shape == "mesh":
        what = "an obstacle" if isinstance(shape, Obstacle) else f"link {model.link_names[shape.link]!r}"
        name = f"the collision mesh {shape.mesh} of {what}"
        parts = hulls(str(shape.mesh)) if isinstance(shape, Obstacle) else of_link(shape.mesh)
        return [Solid("hull", (), corners * shape.size, name) for corners in parts]
    return [Solid(shape.shape, shape.size)]


_NONE: Indices = np.zeros(0, np.int64)
NO_PAIRS = Pairs(
    (), _NONE, _NONE, np.zeros((0, 3, 3)), np.zeros((0, 3)), _NONE, _NONE, np.zeros(0), np.zeros(0),
    np.zeros(1, np.int64), np.zeros(0, bool),
)  # fmt: skip
"""None at all."""
