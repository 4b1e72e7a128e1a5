"""Generate random trees of given shapes."""

import numpy as np

from engine.model import Model, generate

SHAPES = ("binary", "star", "caterpillar", "comb", "legs")


def shaped(
    shape: str, n: int, seed: int = 0, prismatic: float = 0.0, floating: bool = False, spherical: float = 0.0
) -> Model:
    """Generate a tree of n moving links with a shape from `SHAPES`; the rest is as in `tree`.

    "binary": balanced, two children per link; "star": all links on the first; "caterpillar": a chain with one more
    child per link; "comb": a chain of √n links with a chain of √n on each; "legs": eight chains on the first link.
    """
    if shape not in SHAPES:
        raise ValueError(f"shape is {shape!r}; expected one of {', '.join(SHAPES)}")
    i, side, leg = np.arange(n), max(1, round(n**0.5)), max(1, -(-(n - 1) // 8))
    parents = {
        "binary": (i - 1) // 2,
        "star": np.zeros(n),
        "caterpillar": np.where(i % 2 == 0, i - 2, i - 1),
        "comb": np.where(i % side == 0, i - side, i - 1),
        "legs": np.where((i - 1) % leg == 0, 0, i - 1),
    }
    parent = np.where(i == 0, -1, np.maximum(parents[shape], 0)).astype(np.int64)
    return generate.random_robot(f"{shape}{n}", parent, seed, False, prismatic, spherical, floating)
