"""A lane per body: the tables of lane_bodies.cuh for robots with a warp each."""

from __future__ import annotations

import numpy as np

from engine.cuda.rigid_body import joint_space
from engine.model import FREE, PRISMATIC, REVOLUTE, Model

WARP = 32
"""Lanes per robot, and the most bodies."""
_LEAST = 14
"""Bodies of the smallest robot for which a warp pays; smaller ones leave too many lanes idle."""

_TABLES = ("BODY_DEPTH", "END_OF_SUBTREE", "LANE_PATHS")
_A_WORD = 6
"""Lanes of a path per word, of five bits each."""


def fits(model: Model) -> bool:
    """Return whether a warp can serve the robot: one free body first, all others with one coordinate, depth first.

    A lane must also hold the entries of a row of M, with one more beside them.
    """
    n = len(model.parent)
    scalar = np.isin(model.kind[1:], (REVOLUTE, PRISMATIC)).all()
    if not _LEAST <= n <= WARP or model.has_mimic or model.kind[0] != FREE or not scalar:
        return False
    return not np.any(model.parent[1:] < 0) and _depth_first(model) and bool(joint_space.rows(model).level.max() < WARP)


def _depth_first(model: Model) -> bool:
    """Return whether every body's subtree is the range of bodies right after it."""
    path = [0]
    for i in range(1, len(model.parent)):
        while path and path[-1] != model.parent[i]:
            path.pop()
        if not path:
            return False
        path.append(i)
    return True


def tables(model: Model, read: bool) -> dict[str, np.ndarray]:
    """Return the tables of bodies and of the rows of M by their names in kernels; zeros where they are not `read`.

    They are the bodies' depths; for each velocity the end of its subtree; and the bodies on the path from the first
    one, exclusive, to each, inclusive, packed into words from the lowest bits on.
    """
    if not read:
        return dict.fromkeys(_TABLES, np.zeros(1, int))
    parent, rows = model.parent, joint_space.rows(model)
    n, nv = len(parent), len(rows.parent)
    depth = np.zeros(n, int)
    for i in range(1, n):
        depth[i] = depth[parent[i]] + 1
    paths = np.zeros((n, -(-depth.max() // _A_WORD)), int)
    for i in range(1, n):
        word, place = divmod(depth[i] - 1, _A_WORD)
        paths[i] = paths[parent[i]]
        paths[i, word] |= i << 5 * place
    end = np.arange(1, nv + 1)
    for k in range(nv - 1, 0, -1):
        if rows.parent[k] >= 0:
            end[rows.parent[k]] = max(end[rows.parent[k]], end[k])
    return dict(zip(_TABLES, (depth, end, paths.ravel()), strict=True))
