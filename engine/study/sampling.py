"""The values of a study's samples, as a function of the study and the sample's number only.

Inputs are sample numbers (N,), results are arrays (N,) by variable name. Axes with lists form a grid, with the last one
varying fastest; each grid point has the same `samples` draws of the random variables.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.study.description import Description, StudyAxis
from engine.validation import Array

_BLOCK = 4
"""Numbers per Philox block (Salmon et al. 2011); each sample has blocks of its own."""


class Sampling:
    """The samples of a study, numbered from 0."""

    def __init__(self, study: Description):
        self._study = study
        self._grid = [axis for axis in study.axes if not axis.drawn]
        self._chance = [axis for axis in study.axes if axis.drawn]

    def values(self, samples: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the variables by axis name, (N,) each: numbers, or texts."""
        point, draw = np.divmod(samples, self._study.samples)
        shape = tuple(len(axis.values) for axis in self._grid)
        places = np.unravel_index(point, shape) if shape else ()
        columns = {axis.name: np.array(axis.values)[place] for axis, place in zip(self._grid, places, strict=True)}
        if self._chance and len(samples):
            first = int(draw.min())
            u = self._draws(first, int(draw.max()) + 1 - first)[draw - first]
            columns |= {axis.name: _spread(axis, u[:, k]) for k, axis in enumerate(self._chance)}
        return {axis.name: columns[axis.name] for axis in self._study.axes}

    def _draws(self, first: int, count: int) -> Array:
        """(count, axes): uniform numbers in 0 … 1 for the draws from `first` on."""
        width = len(self._chance)
        if self._study.sampling == "latin-hypercube":
            return self._hypercube[first : first + count]
        if self._study.sampling == "sobol":
            from scipy.stats import qmc

            sequence = qmc.Sobol(width, seed=np.random.default_rng(self._study.seed))
            if first:
                sequence.fast_forward(first)
            with warnings.catch_warnings():  # the count is not a power of two, but the total may be
                warnings.simplefilter("ignore", UserWarning)
                drawn: Array = sequence.random(count)
            return drawn
        blocks = -(-width // _BLOCK)
        philox = np.random.Philox(self._study.seed)
        philox.advance(first * blocks)
        return np.random.Generator(philox).random((count, blocks * _BLOCK))[:, :width]

    @cached_property
    def _hypercube(self) -> Array:
        """(samples, axes): a Latin hypercube, McKay, Beckman, Conover (1979)."""
        from scipy.stats import qmc  # takes a second to import, and only here

        generator = np.random.default_rng(self._study.seed)
        drawn: Array = qmc.LatinHypercube(len(self._chance), seed=generator).random(self._study.samples)
        return drawn


def _spread(axis: StudyAxis, u: Array) -> Array:
    """Map numbers in 0 … 1 to an axis's distribution; a normal one is truncated at the variable's minimum."""
    a, b = axis.values
    values: Array
    if axis.spread == "uniform":
        values = a + (b - a) * u
    elif axis.spread == "log_uniform":
        values = np.exp(np.log(a) + (np.log(b) - np.log(a)) * u)
    else:
        from scipy.special import ndtr, ndtri

        lower = axis.variable.least
        p = 0.0 if lower is None else float(ndtr((lower - a) / b))
        values = a + b * ndtri(np.clip(p + (1 - p) * u, 1e-300, 1 - 2.0**-53))
        values = values if lower is None else np.maximum(values, lower)
    return values
