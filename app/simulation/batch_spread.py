"""`BatchSpread`: a batch of robots with random differences in initial pose, mass and joint friction. Free of Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import engine

MAX_ROBOTS = 4096
"""The maximum number of robots in a batch."""


class OwnJoint(NamedTuple):
    """Numbers of a joint in place of its file's, by velocity index; N m and rad of an angle, else N and m."""

    v: int
    effort_limit: float
    """inf where there is none."""
    friction: float
    """Coulomb's."""
    damping: float
    """Per rad/s or m/s."""


@dataclass(frozen=True)
class BatchSpread:
    """The number of robots in a batch, and how much they differ; robot 0 is the nominal one.

    Each coordinate starts within ±`pose` (rad or m) of robot 0's, inside its limits. Each body's mass and inertia vary
    by up to the share `mass`, and each joint's friction and damping by up to `friction`, 0…1.
    """

    robots: int = 1
    pose: float = 0.0
    mass: float = 0.0
    friction: float = 0.0
    seed: int = 0

    def starts_like(self, other: BatchSpread) -> bool:
        """Whether both have equally many robots with equal initial poses."""
        return (self.robots, self.pose, self.seed) == (other.robots, other.pose, other.seed)

    def poses(self, model: engine.Model, q: NDArray[np.floating]) -> NDArray[np.float64]:
        """(robots, nq): initial poses, with robot 0 at q (nq,). Free and ball joints start at robot 0's."""
        poses = np.repeat(np.asarray(q, float)[None], self.robots, 0)
        if not self.pose:
            return poses
        scalar = model.q_of_v >= 0
        chance = np.random.default_rng((self.seed, 0)).uniform(-1, 1, (self.robots, int(scalar.sum())))
        chance[0] = 0.0
        spread = poses[:, model.q_of_v[scalar]] + self.pose * chance
        poses[1:, model.q_of_v[scalar]] = np.clip(spread, model.lower[scalar], model.upper[scalar])[1:]
        return poses

    def parameters(
        self, model: engine.Model, joints: Sequence[OwnJoint] = (), masses: Sequence[tuple[int, float]] = ()
    ) -> engine.Parameters | None:
        """Return the inertial and joint parameters of each robot; None if all are the model's.

        `masses`: bodies, each with its mass in kg in place of the file's.
        """
        if not joints and not masses and (self.robots == 1 or not (self.mass or self.friction)):
            return None
        parameters = engine.Parameters(model, self.robots)
        for v, *own in joints:
            parameters.effort_limit[:, v], parameters.friction[:, v], parameters.damping[:, v] = own
        chance = np.random.default_rng((self.seed, 1)).uniform(-1, 1, (self.robots, len(model.parent)))
        scale = 1 + self.mass * np.where(np.arange(self.robots)[:, None] == 0, 0.0, chance)
        for body, mass in masses:
            scale[:, body] *= mass / model.mass[body]
        parameters.mass *= scale
        parameters.first_moment *= scale[..., None]
        parameters.inertia *= scale[..., None, None]
        chance = np.random.default_rng((self.seed, 2)).uniform(-1, 1, (self.robots, model.nv))
        rub = 1 + self.friction * np.where(np.arange(self.robots)[:, None] == 0, 0.0, chance)
        parameters.friction *= rub
        parameters.damping *= rub
        return parameters


ALONE = BatchSpread()
"""A single robot."""


def deviations(link_poses: NDArray[np.floating], points: NDArray[np.floating]) -> NDArray[np.float64]:
    """(robots,): the largest distance of a link's points from robot 0's, m.

    Poses are (robots, links, 4, 4); `points` (links, P, 3) are in link frames, some off any rotation axis, see
    `link_points`.
    """
    squares = np.zeros(len(link_poses))
    for poses, of_link in zip(link_poses.transpose(1, 2, 3, 0), points, strict=True):
        rows = np.array(poses[:3], order="C")  # (3, 4, robots), fast for many robots
        rows -= rows[..., :1].copy()
        displacement = np.insert(of_link, 3, 1.0, axis=1).astype(rows.dtype) @ rows  # (3, P, robots)
        displacement *= displacement
        np.maximum(squares, displacement.sum(0).max(0), out=squares)
    farthest: NDArray[np.float64] = np.sqrt(squares)
    return farthest


def masses_by_link(model: engine.Model, masses: Sequence[tuple[int, float]]) -> dict[str, float]:
    """Return the masses of bodies, kg, by the name of each body's first link."""
    return {model.link_names[int(np.argmax(model.link_body == body))]: mass for body, mass in masses}


@lru_cache(maxsize=4)
def with_masses(model: engine.Model, masses: tuple[tuple[int, float], ...]) -> engine.Model:
    """Return a model whose bodies have masses of their own."""
    parameters = ALONE.parameters(model, masses=masses)
    return model if parameters is None else parameters.robot(0)


@lru_cache(maxsize=4)
def with_joints(model: engine.Model, joints: tuple[OwnJoint, ...]) -> engine.Model:
    """Return a model whose joints have numbers of their own."""
    parameters = ALONE.parameters(model, joints)
    return model if parameters is None else parameters.robot(0)


def factors(model: engine.Model, own: engine.Model) -> NDArray[np.float64]:
    """(F,): the friction and the damping of a robot's joints, in shares of those of a model that has any."""
    pairs = (own.friction, model.friction), (own.damping, model.damping)
    shares: NDArray[np.float64] = np.concatenate([each[other > 0] / other[other > 0] for each, other in pairs])
    return shares


@lru_cache(maxsize=4)
def recorded_model(setup: engine.Setup, robot: int = 0) -> engine.Model:
    """Return the model of a robot of a recorded simulation, with its own masses, friction and gravity."""
    parameters = setup.settings.parameters
    return setup.model if parameters is None else parameters.robot(min(robot, parameters.batch - 1))
