"""The articulated-body recursion for bodies with any inertias, beside the dense system of the reference texts."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.algorithms.motion import equations_of_motion, motion, point_jacobian
from engine.kernels.contact.recursion import (
    Places,
    add_at,
    carried,
    eliminate,
    gather,
    mobility,
    mobility_at,
    move,
    put_rigid,
    recursion,
    vectors,
)
from engine.model import PRISMATIC, REVOLUTE, WORLD, generate, layout

ROBOTS = [
    *(generate.tree(n, seed, prismatic=0.3, spherical=0.3) for n, seed in ((1, 0), (7, 1), (25, 2), (60, 3))),
    generate.tree(9, 4, floating=True),
    engine.load(engine.find_robot("quadruped")),
]


def _places(model: engine.Model, at) -> Places:
    arms = [p if parent == WORLD else p - at.p[parent] for p, parent in zip(at.p, model.parent, strict=True)]
    return Places(at.R.reshape(-1, 9).copy(), np.array(arms))


def _rigid(model: engine.Model, at, tree) -> None:
    for i in range(len(model.parent)):
        moment, inertia = tuple(model.first_moment[i]), tuple(model.J[i][:3, :3].ravel())
        put_rigid(tree.inertia[i], tuple(at.R[i].ravel()), model.mass[i], moment, inertia)


@pytest.mark.parametrize("model", ROBOTS, ids=lambda model: model.name)
def test_it_solves_the_system_with_places_that_resist_their_velocity(model, chance):
    n, nv = len(model.parent), model.nv
    at = motion(model, model.random(chance), np.zeros(nv))
    tree, vector, places, topology = recursion(n), vectors(n), _places(model, at), layout.pack(model).topology
    _rigid(model, at, tree)
    d, tau, solved = chance.uniform(0, 2, nv), chance.normal(size=nv), np.zeros(nv)
    A, right = equations_of_motion(model, at)[0] + np.diag(d), tau.copy()
    for body in chance.integers(n, size=2 * n):
        x, skew, impulse = at.p[body] + chance.normal(size=3), chance.normal(size=(3, 3)), chance.normal(size=3)
        root = chance.normal(size=(3, 3))
        omega, J = 10 * root @ root.T + skew - skew.T, point_jacobian(model, at, body, x)
        A, right = A + J.T @ omega @ J, right + J.T @ impulse
        arm = x - at.p[body]
        add_at(tree.inertia[body], tuple(arm), tuple(omega.ravel()))
        vector.force[body] -= np.concatenate([np.cross(arm, impulse), impulse])
    for i in range(n - 1, -1, -1):
        eliminate(i, topology, places, d, tree)
        gather(i, topology, places, tau, tree, vector)
    for i in range(n):
        move(i, *carried(i, topology, places, (0.0, 0.0, 0.0), vector.twist), topology, places, tree, vector, solved)
    np.testing.assert_allclose(solved, np.linalg.solve(A, right), rtol=0, atol=1e-9 * np.abs(solved).max())
    for i in range(n):
        twist = at.J[i] @ solved
        expected = np.concatenate([twist[:3], twist[3:] + np.cross(twist[:3], at.p[i])])
        np.testing.assert_allclose(vector.twist[i], expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("model", ROBOTS, ids=lambda model: model.name)
def test_mobilities_are_those_of_the_inverse_mass_matrix(model, chance):
    n = len(model.parent)
    at = motion(model, model.random(chance), np.zeros(model.nv))
    tree, places, spread = recursion(n), _places(model, at), np.zeros((n, 36))
    _rigid(model, at, tree)
    d = chance.uniform(0, 2, model.nv)
    inverse = np.linalg.inv(equations_of_motion(model, at)[0] + np.diag(d))
    for i in range(n - 1, -1, -1):
        eliminate(i, layout.pack(model).topology, places, d, tree)
    for i in range(n):
        own, start = mobility(i, layout.pack(model).topology, places, tree, spread), model.v_start[i]
        x = at.p[i] + chance.normal(size=3)
        J = point_jacobian(model, at, i, x)
        found = np.reshape(mobility_at(spread[i], tuple(x - at.p[i])), (3, 3))
        expected = J @ inverse @ J.T
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
        if model.kind[i] in (REVOLUTE, PRISMATIC):
            assert own == pytest.approx(inverse[start, start], rel=1e-9)
