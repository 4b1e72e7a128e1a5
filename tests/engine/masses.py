"""Models with different masses per link."""

import dataclasses

import numpy as np

import engine


def weighed(model, factor):
    """Return the model with its links' masses multiplied by `factor`."""
    return dataclasses.replace(
        model,
        mass=model.mass * factor,
        first_moment=model.first_moment * factor[:, None],
        inertia=model.inertia * factor[:, None, None],
    )


def alternating(n, ratio):
    """Return a chain in which every second link's mass is multiplied by `ratio`."""
    return weighed(engine.chain(n), np.where(np.arange(n) % 2 == 0, 1.0, ratio))
