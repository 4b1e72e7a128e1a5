"""`Spread`: a batch of robots that differ by chance in their initial poses, masses and joint friction. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import engine

LARGEST = 4096
"""Robots of a batch, at most."""


@dataclass(frozen=True)
class Spread:
    """How many robots, and how far they differ; robot 0 is the one that all others are copies of.

    Each coordinate starts up to `pose` (rad or m) from robot 0's, within its limits. Each body's mass, with its
    inertia, and each joint's friction and damping lie up to the share `mass` or `friction`, 0…1, above or below.
    """

    robots: int = 1
    pose: float = 0.0
    mass: float = 0.0
    friction: float = 0.0
    seed: int = 0

    def starts_like(self, other: Spread) -> bool:
        """Whether both make as many robots that start alike."""
        return (self.robots, self.pose, self.seed) == (other.robots, other.pose, other.seed)

    def poses(self, model: engine.Model, q: NDArray[np.floating]) -> NDArray[np.float64]:
        """(robots, nq): where each starts, when robot 0 does at q (nq,). Free and ball joints start as its own do."""
        poses = np.repeat(np.asarray(q, float)[None], self.robots, 0)
        if not self.pose:
            return poses
        scalar = model.q_of_v >= 0
        chance = np.random.default_rng((self.seed, 0)).uniform(-1, 1, (self.robots, int(scalar.sum())))
        chance[0] = 0.0
        spread = poses[:, model.q_of_v[scalar]] + self.pose * chance
        poses[1:, model.q_of_v[scalar]] = np.clip(spread, model.lower[scalar], model.upper[scalar])[1:]
        return poses

    def parameters(self, model: engine.Model) -> engine.Parameters | None:
        """What each robot is made of; None where all are alike."""
        if self.robots == 1 or not (self.mass or self.friction):
            return None
        parameters = engine.Parameters(model, self.robots)
        chance = np.random.default_rng((self.seed, 1)).uniform(-1, 1, (self.robots, len(model.parent)))
        scale = 1 + self.mass * np.where(np.arange(self.robots)[:, None] == 0, 0.0, chance)
        parameters.mass *= scale
        parameters.first_moment *= scale[..., None]
        parameters.inertia *= scale[..., None, None]
        chance = np.random.default_rng((self.seed, 2)).uniform(-1, 1, (self.robots, model.nv))
        rub = 1 + self.friction * np.where(np.arange(self.robots)[:, None] == 0, 0.0, chance)
        parameters.friction *= rub
        parameters.damping *= rub
        return parameters


ALONE = Spread()
"""One robot."""


def deviations(link_poses: NDArray[np.floating], points: NDArray[np.floating]) -> NDArray[np.float64]:
    """(robots,): the farthest that a point of a link is from where robot 0 has it, m.

    Poses are (robots, links, 4, 4); `points` (links, P, 3) in the links' frames, some of which move when a link turns,
    as `link_points` has them.
    """
    squares = np.zeros(len(link_poses))
    for poses, of_link in zip(link_poses.transpose(1, 2, 3, 0), points, strict=True):
        rows = np.array(poses[:3], order="C")  # (3, 4, robots), fast for many robots
        rows -= rows[..., :1].copy()
        apart = np.insert(of_link, 3, 1.0, axis=1).astype(rows.dtype) @ rows  # (3, P, robots)
        apart *= apart
        np.maximum(squares, apart.sum(0).max(0), out=squares)
    farthest: NDArray[np.float64] = np.sqrt(squares)
    return farthest
