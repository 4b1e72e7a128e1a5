"""Draws that cases are made of, cheaper than those of NumPy for one number at a time."""

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any, TypeVar

import numpy as np

Rng = np.random.Generator
T = TypeVar("T")


def chance(rng: Rng, share: float) -> bool:
    return bool(rng.random() < share)


def log_uniform(rng: Rng, least: float, most: float) -> float:
    return exp(log(least) + rng.random() * (log(most) - log(least)))


def one_of(rng: Rng, values: Sequence[T]) -> T:
    return values[int(rng.random() * len(values))]


def pick(rng: Rng, weights: Mapping[T, float]) -> T:
    """A key, as often as its weight says."""
    left = rng.random() * sum(weights.values())
    for key, weight in weights.items():
        left -= weight
        if left < 0:
            return key
    return key


def unit(rng: Rng) -> np.ndarray:
    """A direction."""
    x = rng.standard_normal(3)
    return np.asarray(x / np.sqrt(x @ x))


def rounded(values: Any, digits: int = 4) -> Any:
    """Round to `digits` significant digits, which makes files easier to read."""
    if isinstance(values, np.ndarray):
        return [float(f"{value:.{digits}g}") for value in values.tolist()]
    return float(f"{values:.{digits}g}")
