"""Models whose masses differ from link to link."""

import dataclasses

import numpy as np

import engine


def weighed(model, factor):
    """The model whose links have so many times their mass."""
    return dataclasses.replace(
        model,
        mass=model.mass * factor,
        first_moment=model.first_moment * factor[:, None],
        inertia=model.inertia * factor[:, None, None],
    )


def alternating(n, ratio):
    """A chain in which every second link has so many times the mass."""
    return weighed(engine.chain(n), np.where(np.arange(n) % 2 == 0, 1.0, ratio))
