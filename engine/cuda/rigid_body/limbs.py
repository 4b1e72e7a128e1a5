"""Limbs of a robot for kernels with a lane for each: the tables of limbs.cuh."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.model import FREE, PRISMATIC, REVOLUTE, Model

LANES = 4
"""Lanes of a robot with limbs."""
_MAX_BODIES = 4
"""The most joints of a limb that fit a lane's registers."""
_SHARE = 0.5
"""The largest limb, as a fraction of the robot's bodies, for which lanes are faster than one thread."""


@lru_cache(maxsize=64)
def limbs(model: Model) -> tuple[int, ...] | None:
    """Return the first body of each of `LANES` lanes' ranges, and the end of the last; None for a robot without limbs.

    A range is one or more subtrees of the first body, which is free; all other joints have one coordinate.
    """
    scalar = np.isin(model.kind[1:], (REVOLUTE, PRISMATIC)).all()
    if model.has_mimic or model.kind[0] != FREE or not scalar or np.any(model.parent[1:] < 0):
        return None
    n = len(model.parent)
    starts = [i for i in range(1, n) if model.parent[i] == 0]
    if not starts or any(not _whole(model, a, b) for a, b in zip(starts, [*starts[1:], n], strict=True)):
        return None
    ends = [1]
    for lane in range(LANES):
        left = [i for i in [*starts, n] if i > ends[-1]]
        share = ends[-1] + (n - ends[-1]) / (LANES - lane)
        ends.append(min(left, key=lambda i: abs(i - share)) if left and lane + 1 < LANES else n)
    return tuple(ends) if max(np.diff(ends)) <= _SHARE * n else None


def has_even_limbs(model: Model) -> bool:
    """Return whether each of `LANES` lanes has one chain of revolute joints, all equally long, up to `_MAX_BODIES`."""
    ends = limbs(model)
    if ends is None or len(set(np.diff(ends))) > 1 or ends[1] - ends[0] > _MAX_BODIES:
        return False
    above = np.arange(len(model.parent)) - 1
    above[list(ends[:-1])] = 0
    return bool(np.all(model.parent[1:] == above[1:]) and np.all(model.kind[1:] == REVOLUTE))


def _whole(model: Model, first: int, end: int) -> bool:
    """Return whether the bodies from `first` up to `end` are one subtree."""
    return all(first <= model.parent[i] < end for i in range(first + 1, end))
