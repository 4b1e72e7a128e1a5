"""Corners of hulls near the ground: the search along edges finds those of an exhaustive search, except corners that are
out of reach by tilting in a step; over a height field all are found.
"""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import engine
from engine import lie
from engine.compile import kernel
from engine.kernels.collision.near_points import Motion, _clear_height, _is_above, near_points, of_thread, workspace
from engine.kernels.collision.surfaces import UPWARDS, surface
from engine.kernels.spatial import load3, load9
from engine.model import Collision
from engine.scene.contact_tolerances import TILT_RATE
from engine.scene.hull_faces import edges
from engine.scene.points import Points, points

DT = 2e-3


@kernel
def found_near(points, pose, speed, dt, ground, near):
    """Return the number of near points of the only shape; pose (12,) rotation and position, speed (6,)."""
    motion = Motion(load9(pose), load3(pose, 9), load3(speed), load3(speed, 3))
    return near_points(0, points, motion, dt, ground, near)


@kernel
def is_above(points, pose, speed, dt, ground):
    """Return whether the only shape is known to be above a height field."""
    motion = Motion(load9(pose), load3(pose, 9), load3(speed), load3(speed, 3))
    return _is_above(0, points, motion, _clear_height(0, points, motion, dt, ground))


def corners(rng, kind: str, many: int) -> np.ndarray:
    """Corners of a hull: of a ball, of a prism with a round sole, of a thin plate."""
    if kind == "prism":
        angle = np.linspace(0, 2 * np.pi, many // 2, endpoint=False)
        sole = np.stack([0.1 * np.cos(angle), 0.06 * np.sin(angle), np.zeros(len(angle))], 1)
        return np.concatenate([sole, 0.8 * sole + [0.01, 0, 0.05]])
    x = rng.standard_normal((many, 3))
    x *= 0.1 / np.linalg.norm(x, axis=1, keepdims=True)
    x *= [1, 1, 0.05] if kind == "plate" else 1
    return x[ConvexHull(x).vertices]


def shape_of(x: np.ndarray, monkeypatch) -> Points:
    """The points of a free body whose collision mesh has these corners as its hull."""
    model = engine.chain(1)
    monkeypatch.setattr(import_module("engine.scene.points"), "with_edges", lambda _mesh: ((x, edges(x)),))
    moved = int(np.flatnonzero(model.link_body >= 0)[0])
    mesh = Collision(link=moved, pose=np.eye(4), shape="mesh", size=(1.0, 1.0, 1.0), mesh="/mesh.stl")
    return points(replace(model, collisions=(mesh,)), engine.Scene())


@pytest.mark.parametrize("kind", ["ball", "prism", "plate"])
@pytest.mark.parametrize("many", [20, 60, 700])
def test_the_corners_found_along_edges_are_those_that_are_near(kind, many, monkeypatch):
    rng = np.random.default_rng(many)
    walked = shape_of(corners(rng, kind, many), monkeypatch)
    looked_at = walked._replace(first_neighbour=np.zeros_like(walked.first_neighbour))
    assert len(walked.neighbour) > 0
    tilt = rng.standard_normal(3) * 0.3
    n = np.array([*tilt[:2], 1.0]) / np.linalg.norm([*tilt[:2], 1.0])
    ground = surface(engine.Plane(normal=tuple(n), offset=0.1))
    ways = of_thread(workspace(walked)), of_thread(workspace(looked_at))
    touched = 0
    for trial in range(300):
        R = lie.exp(np.append(rng.standard_normal(3), np.zeros(3)))[0] if trial % 3 else _upright(n)
        speed = rng.standard_normal(6) * rng.choice([0.0, 1.0, 30.0])
        height = np.min((R @ walked.position.T).T @ n) + rng.choice([0.0, 1e-3, -0.01, 0.02]) * rng.uniform()
        p = n * (0.1 - height) + np.cross(n, rng.standard_normal(3))
        pose = np.concatenate([R.ravel(), p])
        sets, within = [], _within_reach(walked, R, p, n, speed)
        for kept, near in zip((walked, looked_at), ways, strict=True):
            count = found_near(kept, pose, speed, DT, ground, near)
            order = np.argsort(near.point[:count])
            order = order[within[near.point[order]]]
            sets.append((near.point[:count][order], near.position[:count][order], near.gap[:count][order]))
        np.testing.assert_array_equal(sets[0][0], sets[1][0])
        for one, other in zip(sets[0][1:], sets[1][1:], strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-15)  # products are added in other orders
        touched += len(sets[0][0]) > 0
    assert 100 < touched < 300


@pytest.mark.parametrize("kind", ["ball", "prism", "plate"])
@pytest.mark.parametrize(("shape", "cell", "rough"), [((9, 14), 0.3, 0.2), ((80, 50), 0.02, 0.03), ((5, 4), 2.0, 3.0)])
def test_over_a_height_field_no_near_corner_is_left_out(kind, shape, cell, rough, monkeypatch, chance):
    """Compared with a search without the bound of the ground's height: a normal that may lie flat bounds nothing."""
    hull = shape_of(corners(chance, kind, 60), monkeypatch)
    field = engine.HeightField(rough * chance.random(shape), cell)
    ground = surface(field)
    unbounded = ground._replace(grid=np.where(np.arange(5) == UPWARDS, 1e-30, ground.grid))
    for (i, j), top in np.ndenumerate(ground.tops):
        assert top == np.max(field.heights[4 * i : 4 * i + 5, 4 * j : 4 * j + 5]), "with the next block's first heights"
    near, every, touched, above = of_thread(workspace(hull)), of_thread(workspace(hull)), 0, 0
    for _ in range(300):
        R, speed = lie.exp(np.append(chance.standard_normal(3), np.zeros(3)))[0], chance.standard_normal(6)
        p = chance.uniform(-0.6, 0.6, 3) * [shape[1] * cell, shape[0] * cell, 0]
        speed *= np.repeat(chance.choice([0.0, 1.0, 30.0], 2), 3)
        x = R @ hull.position.T + p[:, None]
        p[2] = np.max(field.height(x[:2].T) - x[2]) + chance.choice([-0.01, 0.0, 0.002, 0.01, 0.1])
        pose = np.concatenate([R.ravel(), p])
        count = found_near(hull, pose, speed, DT, ground, near)
        assert count == found_near(hull, pose, speed, DT, unbounded, every)
        for one, other in zip(near[:5], every[:5], strict=True):
            np.testing.assert_array_equal(one[:count], other[:count])
        far = is_above(hull, pose, speed, DT, ground)
        assert not (far and count)
        touched, above = touched + (count > 0), above + far
    assert touched > 100
    assert above > 0 or rough > 1


def test_over_a_height_field_a_wall_beside_a_ball_is_not_left_out(chance):
    """The ball's lowest point is above all ground below it, and what it moves towards is beside it."""
    heights = np.zeros((9, 17))
    heights[:, 9:] = 1.0  # the wall rises from x = 0 to x = 0.1 m
    ground = engine.HeightField(heights, 0.1)
    model = engine.chain(1)
    moved = int(np.flatnonzero(model.link_body >= 0)[0])
    ball = Collision(link=moved, pose=np.eye(4), shape="sphere", size=(0.05,))
    found = points(replace(model, collisions=(ball,)), engine.Scene(ground=ground))
    near, field, touched = of_thread(workspace(found)), surface(ground), 0
    for _ in range(300):
        R = lie.exp(np.append(chance.standard_normal(3), np.zeros(3)))[0]
        centre = np.array([chance.uniform(-0.07, -0.04), chance.uniform(-0.2, 0.2), chance.uniform(0.06, 0.3)])
        pose, speed = np.concatenate([R.ravel(), centre - R @ found.position[0]]), np.zeros(6)
        speed[3] = chance.uniform(0.0, 5.0)
        count = found_near(found, pose, speed, DT, field, near)
        assert not (is_above(found, pose, speed, DT, field) and count)
        touched += count > 0
    assert touched > 30


def _within_reach(walked: Points, R: np.ndarray, p: np.ndarray, n: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Whether each corner may touch within a step, whichever is the lowest of those that rounding makes so: the hull
    moves as it does, less what its lowest corner comes down by, and turns by twice that over its size and by TILT_RATE.
    """
    x, size = walked.position @ R.T + p, 2 * walked.bound[0, 3]
    gap, down = x @ n - 0.1, -DT * (speed[3:] + np.cross(speed[:3], x - p)) @ n
    within = np.full(len(x), True)
    for lowest in np.flatnonzero(gap <= np.min(gap) + 1e-12):
        stops = max(down[lowest], 0)
        higher = np.minimum(gap, gap - down + stops) - gap[lowest]
        within &= higher <= TILT_RATE * DT * size + 2 * stops / size * np.linalg.norm(x - x[lowest], axis=1)
    return within


def _upright(n: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is n."""
    x = np.cross([0.0, 1.0, 0.0], n)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(n, x), n], 1)


def test_a_hull_of_which_a_corner_has_no_edge_is_looked_at_whole(monkeypatch):
    rng = np.random.default_rng(0)
    x = corners(rng, "ball", 40)
    inside = np.concatenate([x, np.mean(x[ConvexHull(x).simplices[0]], 0)[None]])
    assert len(shape_of(inside, monkeypatch).neighbour) == 0


def test_a_hull_without_a_volume_is_looked_at_whole(monkeypatch):
    x = corners(np.random.default_rng(0), "ball", 40) * [1, 1, 0]
    assert len(shape_of(x, monkeypatch).neighbour) == 0
