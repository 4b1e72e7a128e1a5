"""Chains on which the papers' algorithms are tested, and their states."""

from functools import cache

import numpy as np

import engine
from engine.bench.states import state

SHAPES = {
    "random": {},
    "straight": {"straight": True},
    "mixed": {"prismatic": 0.4},
    "straight, mixed": {"straight": True, "prismatic": 0.4},
}


@cache
def case(n, shape, batch=2):
    model = engine.chain(n, seed=n, **SHAPES[shape])
    return model, state(model, np.random.default_rng(n), batch)
