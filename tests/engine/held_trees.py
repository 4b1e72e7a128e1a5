"""Trees for comparing steps on the GPU with ABIA's, and their initial states."""

import dataclasses

import numpy as np

import engine


def a_tree(n, rng):
    """A tree of random shape, with joints of all kinds."""
    floating = bool(rng.integers(2))
    return engine.tree(n, seed=int(rng.integers(1 << 30)), prismatic=0.3, floating=floating, spherical=0.3)


def free(model):
    """Return the robot without friction, damping and limits."""
    none, any_ = np.zeros(model.nv), np.full(model.nv, np.inf)
    return dataclasses.replace(model, friction=none, damping=none, effort_limit=any_, velocity_limit=any_)


def held(model, rng):
    """Return the robot with damping, friction and limits that act on some joints at any time."""
    rows, near = model.constrained, np.where(model.q_of_v >= 0, 0.3, np.inf)
    return dataclasses.replace(
        model, friction=2 * rng.random(model.nv) * rows, damping=0.05 * rows, lower=-near, upper=near,
        velocity_limit=np.where(rows, 1.0, np.inf), effort_limit=np.where(rows, 20.0, np.inf),
    )  # fmt: skip


def states(model, batch, rng):
    q, scalar = np.stack([model.random(rng) for _ in range(batch)]), model.q_of_v >= 0
    q[:, model.q_of_v[scalar]] = rng.uniform(-0.25, 0.25, (batch, scalar.sum()))
    v = rng.uniform(-0.3, 0.3, (batch, model.nv))
    v[rng.random(v.shape) < 0.2] = 0
    return q, v
