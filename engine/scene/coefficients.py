"""Friction and restitution between two shapes, from those of each and of the scene."""

from __future__ import annotations

import numpy as np

from engine.model import Collision
from engine.scene.obstacle import Obstacle
from engine.scene.scene import Scene


def coefficients(scene: Scene, shape: Collision, other: Collision | Obstacle | None = None) -> tuple[float, float]:
    """Return friction and restitution between a shape and another one, or the scene: the smaller of two values.

    A shape without coefficients of its own has the scene's. The rule is that of Gazebo with ODE, for which most robots'
    files with coefficients are written.
    """
    friction, restitution = [scene.friction, scene.restitution] if other is None else [np.inf, np.inf]
    for one in (shape, other) if other is not None else (shape,):
        friction = min(friction, scene.friction if one.friction is None else one.friction)
        own = None if isinstance(one, Obstacle) else one.restitution
        restitution = min(restitution, scene.restitution if own is None else own)
    return friction, restitution
