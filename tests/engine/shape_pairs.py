"""Pairs of solids at poses, and their contacts."""

from typing import Any, NamedTuple

import numpy as np

from engine import lie
from engine.kernels.collision.pair_workspace import workspace
from engine.kernels.collision.pairs import pair_contacts
from engine.scene.shapes import Solid, shapes

Pose = tuple[np.ndarray, np.ndarray]


class Touching(NamedTuple):
    """Contacts of a pair: places and normals (k, 3), gaps and features (k,)."""

    at: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    feature: np.ndarray


def contacts(solids: Any, poses: tuple[Pose, Pose], reach: float = np.inf, pair: tuple[int, int] = (0, 1)) -> Touching:
    """The contacts of two solids, or of shapes made of them, at rotations (3, 3) and positions (3,)."""
    both = solids if hasattr(solids, "kind") else shapes(solids)
    rotation = np.array([np.ravel(R) for R, _ in poses])
    position = np.array([p for _, p in poses], float)
    found = workspace(both)
    number = pair_contacts(*pair, both, rotation, position, float(reach), found)
    return Touching(*(np.copy(part[:number]) for part in found[:4]))


def turned(rng: np.random.Generator) -> np.ndarray:
    """A rotation (3, 3), any as likely as any other."""
    q = rng.normal(size=4)
    return lie.rotation_from_quaternion(q / np.linalg.norm(q))


def reach(solid: Solid) -> float:
    """A solid's largest distance from its origin, m, or a little more."""
    return float(np.linalg.norm(solid.size if solid.vertices is None else np.max(np.abs(solid.vertices), 0)))


def poses(rng: np.random.Generator, a: Solid, b: Solid, nearness: float) -> tuple[Pose, Pose]:
    """Return two poses, with origins at `nearness` times the sum of the shapes' radii."""
    far = nearness * (reach(a) + reach(b))
    away = rng.normal(size=3)
    start = rng.uniform(-1, 1, 3)
    return (turned(rng), start + far * away / np.linalg.norm(away)), (turned(rng), start)
