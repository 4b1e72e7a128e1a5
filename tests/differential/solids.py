"""Random shapes of cases, and the points of shapes by which cases are put next to each other and to the ground."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from engine import lie
from engine.model import Model
from tests.differential.chances import Rng, chance, pick

_KINDS = {"sphere": 0.22, "box": 0.26, "cylinder": 0.18, "capsule": 0.16, "mesh": 0.18}
_RIM = 48
_CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))
_ANGLE = np.arange(_RIM) * (2 * np.pi / _RIM)
_CIRCLE = np.stack([np.cos(_ANGLE), np.sin(_ANGLE), np.zeros(_RIM)], -1)


def shape(rng: Rng, size: float) -> dict:
    """A shape somewhere about the origin, within about that size."""
    made = solid(rng, size)
    xyz = [0.0] * 3 if chance(rng, 0.35) else np.round(rng.uniform(-0.5, 0.5, 3) * size, 4).tolist()
    rpy = [0.0] * 3 if chance(rng, 0.4) else np.round(rng.uniform(-3, 3, 3), 3).tolist()
    return made | {"xyz": xyz, "rpy": rpy}


def solid(rng: Rng, size: float) -> dict:
    """The kind and the size of a shape, and of a mesh its parts and its kind of file."""
    kind = pick(rng, _KINDS)
    edges = np.round(size * rng.uniform(0.3, 1, 3), 4).tolist()
    if kind == "mesh":
        parts = [_hull(rng, size * 0.5)]
        if rng.random() < 0.25:
            moved = np.add(_hull(rng, size * 0.4), [size * 1.2, 0, 0])
            parts.append(np.round(moved, 4).tolist())
        file = "stl" if rng.random() < 0.5 else "obj"
        scale = [1.0] * 3 if rng.random() < 0.7 else np.round(rng.uniform(0.5, 1.5, 3), 2).tolist()
        return {"kind": kind, "size": scale, "parts": parts, "file": file}
    count = {"sphere": 1, "box": 3, "cylinder": 2, "capsule": 2}[kind]
    sizes = edges if kind == "box" else [edges[0] / 2, edges[1]][:count]
    return {"kind": kind, "size": [round(x, 5) for x in sizes]}


def _hull(rng: Rng, radius: float) -> list:
    """The corners of a convex body: some points about an ellipsoid, all of them corners; or a prism or a block."""
    way = rng.random()
    if way < 0.25:
        corners = _CORNERS * rng.uniform(0.6, 2, 3) * radius
    elif way < 0.5:
        k = int(rng.integers(3, 7))
        angle = np.arange(k) * (2 * np.pi / k)
        ring = np.stack([np.cos(angle), np.sin(angle)], -1) * radius
        corners = np.concatenate([np.c_[ring, np.full(k, z)] for z in (-radius / 2, radius / 2)])
    else:
        x = rng.standard_normal((int(rng.integers(4, 13)), 3))
        x[:4] = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) + 0.3 * x[:4]
        corners = x / np.linalg.norm(x, axis=1, keepdims=True) * rng.uniform(0.5, 1, 3) * radius
    return np.round(corners, 4).tolist()


class Cloud(NamedTuple):
    """Points with balls about them whose hull is each shape: (N, 3) in the link's frame, radii, and link and shape."""

    position: np.ndarray
    radius: np.ndarray
    link: np.ndarray
    shape: np.ndarray

    def world(self, poses: np.ndarray) -> np.ndarray:
        """(..., N, 3): their positions, with links at `poses` (..., links, 4, 4)."""
        at = poses[..., self.link, :, :]
        return (at[..., :3, :3] @ self.position[:, :, None])[..., 0] + at[..., :3, 3]

    def of(self, chosen: np.ndarray) -> Cloud:
        return Cloud(*(x[chosen] for x in self))


def points(solid: dict) -> tuple[np.ndarray, float]:
    """Return a shape's points in its own frame."""
    kind, size = solid["kind"], solid["size"]
    if kind == "sphere":
        return np.zeros((1, 3)), size[0]
    if kind == "capsule":
        return np.array([[0, 0, -size[1] / 2], [0, 0, size[1] / 2]]), size[0]
    if kind == "box":
        return _CORNERS * size, 0.0
    if kind == "cylinder":
        rim = _CIRCLE * size[0]
        return np.concatenate([np.add(rim, [0, 0, z]) for z in (-size[1] / 2, size[1] / 2)]), 0.0
    return np.concatenate([np.array(part) for part in solid["parts"]]) * size, 0.0


def cloud(robot: dict, model: Model) -> Cloud:
    """The points of all shapes of a robot."""
    number = {name: k for k, name in enumerate(model.link_names)}
    shapes = [(number[link["name"]], solid) for link in robot["links"] for solid in link["shapes"]]
    if not shapes:
        return Cloud(np.zeros((0, 3)), np.zeros(0), np.zeros(0, int), np.zeros(0, int))
    R = lie.rotation_from_rpy(np.array([solid["rpy"] for _, solid in shapes]))
    balls = [points(solid) for _, solid in shapes]
    places = [x @ R[k].T + shapes[k][1]["xyz"] for k, (x, _) in enumerate(balls)]
    shape = np.repeat(np.arange(len(shapes)), [len(x) for x in places])
    link, radius = np.array([link for link, _ in shapes]), np.array([radius for _, radius in balls], float)
    return Cloud(np.concatenate(places), radius[shape], link[shape], shape)


def support(position: np.ndarray, radius: np.ndarray | float, u: np.ndarray) -> np.ndarray:
    """The farthest place along the unit vector u."""
    reach = position @ u + radius
    k = int(np.argmax(reach))
    return position[k] + u * np.broadcast_to(radius, len(position))[k]
