"""DCA-ABA's text for trees: against the ABA and inverse dynamics, on trees of all shapes and kinds of joints."""

import dataclasses

import numpy as np
import pytest

import engine
from engine.algorithms import dca_tree
from engine.algorithms.tree import Tree, paths
from tests.shaped_trees import SHAPES, shaped

MODELS = {
    **{
        f"{shape}{n}": lambda shape=shape, n=n: shaped(shape, n, seed=n, prismatic=0.2)
        for shape in SHAPES
        for n in (10, 255)
    },
    "one body": lambda: engine.chain(1),
    "chain": lambda: engine.chain(60, prismatic=0.3),
    "bushy, with balls": lambda: engine.tree(80, branching=0.9, spherical=0.4),
    "floating, with balls": lambda: engine.tree(300, branching=0.3, prismatic=0.2, spherical=0.2, floating=True),
    "deep": lambda: engine.tree(1000, branching=0.05),
    "humanoid": lambda: engine.load("robots/humanoid.urdf"),
    "quadruped": lambda: engine.load("robots/quadruped.urdf"),
}


@pytest.mark.parametrize("name", MODELS)
def test_trees_get_the_accelerations_of_the_aba(name, rng):
    model = MODELS[name]()
    q, v, tau = model.random(rng, 2), rng.uniform(-1, 1, (2, model.nv)), rng.uniform(-1, 1, (2, model.nv))
    qdd = dca_tree.forward_dynamics(Tree.of(model), q, v, tau)
    expected = engine.forward_dynamics(model, q, v, tau, "abia", "cpu")
    assert np.abs(qdd - expected).max() <= 1e-10 * np.abs(expected).max()
    missing = engine.inverse_dynamics(model, q, v, qdd) - tau
    assert np.linalg.norm(missing) <= 1e-11 * np.linalg.norm(tau - engine.bias(model, q, v))


def test_paths_cover_a_tree_and_are_few_from_any_body_to_the_base():
    for n in (1, 2, 31, 1024):
        for shape in SHAPES:
            model = shaped(shape, n)
            levels = paths(model.parent)
            assert len(levels) <= np.log2(n) + 1
            bodies = np.concatenate([level.bodies[level.bodies >= 0] for level in levels])
            assert sorted(bodies) == list(range(n))
            for level in levels:
                for path, parent in zip(level.bodies, level.parent, strict=True):
                    links = path[path >= 0]
                    assert list(model.parent[links]) == [parent, *links[:-1]]


def test_what_it_does_not_serve_is_refused_with_what_does():
    model = engine.tree(5)
    light = np.where(np.arange(5) == 3, 0.0, model.mass)
    massless = dataclasses.replace(
        model, mass=light, first_moment=model.first_moment * (light > 0)[:, None],
        inertia=model.inertia * (light > 0)[:, None, None],
    )  # fmt: skip
    with pytest.raises(ValueError, match="has no mass, or no rotational inertia; use abia"):
        Tree.of(massless)
