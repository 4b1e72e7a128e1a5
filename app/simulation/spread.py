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


def deviations(link_poses: NDArray[np.floating]) -> NDArray[np.float64]:
    """(robots,): how far the farthest link of each, m, is from where robot 0 has it; poses (robots, links, 4, 4)."""
    places = np.ascontiguousarray(link_poses[:, :, :3, 3].transpose(2, 1, 0), float)  # (3, links, robots)
    squares = ((places - places[..., :1]) ** 2).sum(0)
    farthest: NDArray[np.float64] = np.sqrt(squares.max(0, initial=0.0))
    return farthest
