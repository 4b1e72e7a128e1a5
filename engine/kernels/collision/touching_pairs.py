"""Which pairs of a scene's shapes may touch: not pairs that touch in the robot's neutral pose."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.kernels.collision import pair_workspace
from engine.kernels.collision.pairs import pair_contacts
from engine.model import Model
from engine.model.poses import body_poses
from engine.scene import Pairs, Scene
from engine.scene import pairs as scene_pairs
from engine.scene.shapes import Shapes, shapes

_TOUCHES = 1e-6
"""m: the gap in the neutral pose up to which shapes touch there."""


@lru_cache(maxsize=16)
def touching_pairs(model: Model, scene: Scene) -> tuple[Pairs, Shapes]:
    """Return a scene's pairs that may touch, without the pairs that touch in the robot's neutral pose, and the
    shapes."""
    chosen = scene_pairs(model, scene)
    solids = shapes(chosen.solids)
    if not np.any(chosen.neutral):
        return chosen, solids
    poses = np.concatenate([body_poses(model, model.neutral()[None])[0], np.eye(4)[None]])[chosen.body]  # −1: the world
    rotation = poses[:, :3, :3] @ chosen.rotation
    position = np.einsum("sij,sj->si", poses[:, :3, :3], chosen.position) + poses[:, :3, 3]
    work, keep = pair_workspace.workspace(solids), np.ones(len(chosen.one), bool)
    frames = rotation.reshape(-1, 9), np.ascontiguousarray(position)
    for k in np.flatnonzero(chosen.neutral):
        keep[k] = pair_contacts(int(chosen.one[k]), int(chosen.other[k]), solids, *frames, _TOUCHES, work) == 0
    return chosen.only(keep), solids
