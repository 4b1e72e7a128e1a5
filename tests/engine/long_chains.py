"""Chains for comparing DCA-ABA's steps with ABIA's, and their initial states."""

import dataclasses

import numpy as np

import engine


def plain(n, rng):
    """A chain that nothing holds back."""
    model = engine.chain(n, seed=int(rng.integers(1 << 30)), prismatic=0.2)
    return dataclasses.replace(model, friction=np.zeros(n), damping=np.zeros(n))


def constrained(n, rng):
    """Return a chain with damping, friction and limits that act on some joints at any time."""
    return held_back(plain(n, rng), rng)


def held_back(model, rng):
    """The chain with those, in proportion to what a joint carries."""
    one = np.ones(model.nv)
    load = np.cumsum(model.mass[::-1])[::-1]
    return dataclasses.replace(
        model, friction=0.3 * load * rng.random(model.nv), damping=0.01 * one, lower=-0.2 * one, upper=0.2 * one,
        velocity_limit=2 * one, effort_limit=3 * load,
    )  # fmt: skip


def states(model, batch, rng):
    v = rng.uniform(-0.3, 0.3, (batch, model.nv))
    v[rng.random(v.shape) < 0.2] = 0
    return rng.uniform(-0.2, 0.2, (batch, model.nq)), v
