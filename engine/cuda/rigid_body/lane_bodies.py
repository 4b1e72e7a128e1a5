"""A lane a body: what lane_bodies.cuh takes as known when it is compiled for robots that have a warp each."""

from __future__ import annotations

import numpy as np

from engine.cuda.rigid_body import joint_space
from engine.model import FREE, PRISMATIC, REVOLUTE, Model

WARP = 32
"""Lanes that have one robot, and the most bodies that it may have."""
_LEAST = 14
"""Bodies of the smallest robot that a warp is for; smaller ones leave too many lanes without work."""

_TABLES = ("BODY_DEPTH", "END_OF_SUBTREE", "LANE_PATHS")
_A_WORD = 6
"""Lanes of a path that stand in one word, of five bits each."""


def fits(model: Model) -> bool:
    """Whether bodies have a lane each: one free body first, all others with one coordinate, in depth-first order.

    And the entries of a row of M as well, with one more beside them.
    """
    n = len(model.parent)
    scalar = np.isin(model.kind[1:], (REVOLUTE, PRISMATIC)).all()
    if not _LEAST <= n <= WARP or model.has_mimic or model.kind[0] != FREE or not scalar:
        return False
    return not np.any(model.parent[1:] < 0) and _depth_first(model) and bool(joint_space.rows(model).level.max() < WARP)


def _depth_first(model: Model) -> bool:
    """Whether the bodies that hang on each one come right after it."""
    path = [0]
    for i in range(1, len(model.parent)):
        while path and path[-1] != model.parent[i]:
            path.pop()
        if not path:
            return False
        path.append(i)
    return True


def tables(model: Model, read: bool) -> dict[str, np.ndarray]:
    """Tables of bodies and of the rows of M, by the names that kernels have for them; zeros where they are not `read`.

    The bodies' depths; for each velocity the end of those that hang on it; the bodies on the way from the first one to
    each, which comes last and not the first one itself, by words that hold several of them, the lowest bits first.
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
