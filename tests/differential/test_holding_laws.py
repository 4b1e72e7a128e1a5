"""Holding, payloads, placement on the ground, and standing agree with their definitions, on random robots."""

import copy
import dataclasses

import numpy as np
import pytest

import engine
from engine import holding, lie, timestep
from engine.algorithms import touching
from engine.algorithms.motion import equations_of_motion, motion
from engine.model import FREE, PRISMATIC, WORLD, poses
from engine.scene import Plane
from engine.validation import Array
from tests.differential import urdf_text
from tests.differential.cases import Case, case
from tests.differential.laws import FIELD, PLAIN, PLANE, TREES, chances, holds
from tests.differential.solids import cloud

MANY = [pytest.param(10, id="some"), pytest.param(250, id="many", marks=pytest.mark.slow)]
ROUNDING = 1 + 1e-9


def joints_carry_what_hangs_on_them(found: Case) -> None:
    """Static loads, the mass matrix's diagonal, the moments of weight, and the mobility, at random poses."""
    model, rng = found.model(), chances(found)
    still = np.zeros(model.nv)
    moves = holding.mobility(model)
    assert not np.any(moves[~model.constrained])
    for joint in model.joints:  # a ball's axes may be turned to wherever the body before turns most easily
        before = int(model.parent[joint.bodies.start])
        if joint.kind == "spherical" and before != WORLD and model.mass[before] > 0:
            c = lie.skew(model.first_moment[before] / model.mass[before])
            central = model.inertia[before] + model.mass[before] * c @ c
            assert np.all(moves[joint.v] * ROUNDING >= 1 / np.linalg.eigvalsh(central)[0])
    for q in [*np.array(found.state["q"]).reshape(found.batch, -1)[:2], *model.random(rng, 3), model.neutral()]:
        M, h = equations_of_motion(model, motion(model, q, still))
        size = np.sqrt(np.diag(M))
        loads = engine.static_loads(model, q)
        rounding = 1e-10 * float(np.abs(h).max(initial=0)) + _rounding_of_weight(model, q)
        np.testing.assert_allclose(loads[model.constrained], h[model.constrained], rtol=0, atol=rounding)
        assert not np.any(loads[~model.constrained])
        inertia, weight = holding.inertia_and_load(model, q)
        bound = model.constrained
        if model.has_mimic:
            assert np.all(np.diag(M)[bound] <= inertia[bound] * ROUNDING + 1e-12)
        else:
            np.testing.assert_allclose(inertia[bound], np.diag(M)[bound], rtol=1e-10, atol=1e-14)
        assert np.all(np.abs(h[bound]) <= weight[bound] * ROUNDING + rounding)
        if not model.has_mimic:
            _weigh_at_most(model, q, weight)
        mobile = np.diag(np.linalg.inv(M / np.outer(size, size))) / size**2 if model.nv else still
        condition = np.linalg.cond(M / np.outer(size, size)) if model.nv else 1.0
        bound = model.constrained & _between_bodies(model)
        assert np.all(mobile[bound] <= moves[bound] * (1 + 1e-12 * condition)), (mobile[bound] / moves[bound]).max()


def followers_bound_their_leader(found: Case) -> None:
    """The mobility of one with followers: the least that any has alone, by the square of its multiplier."""
    robot = copy.deepcopy(found.robot)
    for joint in robot["joints"]:
        joint["mimic"] = None
    together, apart = found.model(), urdf_text.load(robot)
    moves, alone = holding.mobility(together), holding.mobility(apart)
    own = {joint.name: joint for joint in apart.joints}
    between = _between_bodies(apart)
    for leader in together.joints:
        group = [joint for joint in together.joints if joint.leader == leader.name and joint.multiplier != 0]
        rows = [(own[x.name].v.start, x.multiplier) for x in group if x.name in own]
        rows += [(own[leader.name].v.start, 1.0)] if leader.name in own else []
        if group and len(rows) == len(group) + 1 and all(between[v] for v, _ in rows):
            assert moves[leader.v] == pytest.approx(min(alone[v] / m**2 for v, m in rows), rel=1e-9)


def _between_bodies(model: engine.Model) -> Array:
    """(nv,): the velocities of joints all of which are between bodies with inertia of their own."""
    own, above = model.mass > 0, (model.parent < 0) | (model.mass[model.parent] > 0)
    between = np.ones(model.nv, bool)
    for joint in model.joints:
        between[joint.v] &= bool(np.all((own & above)[joint.bodies]))
    return between


def _rounding_of_weight(model: engine.Model, q: Array) -> float:
    """The rounding of moments of weight, N m or N, whose terms may cancel: ten for each body of their sum."""
    at, count = motion(model, q, np.zeros(model.nv)), len(model.mass)
    far, own = 1 + np.linalg.norm(at.p, axis=-1), np.linalg.norm(model.first_moment, axis=-1)
    return 10 * count * float(np.finfo(float).eps * np.linalg.norm(model.gravity) * np.sum(model.mass * far + own))


def _weigh_at_most(model: engine.Model, q: Array, weight: Array) -> None:
    """Each joint's reported maximum load is that over all directions of gravity."""
    still, g = np.zeros(model.nv), float(np.linalg.norm(model.gravity))
    loads = np.stack([engine.static_loads(model.with_gravity(axis), q) for axis in np.eye(3)])
    greatest = g * np.linalg.norm(loads, axis=0)
    bound = model.constrained & (model.q_of_v >= 0)
    np.testing.assert_allclose(weight[bound], greatest[bound], rtol=1e-7, atol=1e-9 * (1 + greatest.max(initial=0)))
    assert still.shape == weight.shape


def gains_hold(found: Case) -> None:
    """Gains agree with their definition, bounded for explicit integrators; a held robot does not sink further."""
    model, dt = found.model(), found.settings["dt"]
    q = model.random(chances(found))
    held, inertia = model.q_of_v >= 0, holding.inertia_and_load(model, q)[0]
    weight, (standing, moment, root) = holding.inertia_and_load(model, q)[1], holding.support(model, q)
    kp, kd = engine.holding_gains(model, dt, "implicit", q)
    sliding = np.zeros(model.nv, bool)
    for body in np.flatnonzero(model.kind == PRISMATIC):
        sliding[model.coupling.v_index[model.v_start[body]]] = True
    sag = np.where(sliding, 0.0005, 0.004)
    legs = standing & held & np.isfinite(model.effort_limit) & ~sliding
    soft = np.maximum(400.0 * inertia, np.maximum(weight, model.friction) / sag)
    effort = np.minimum(np.where(legs, model.effort_limit, 0.0), 2 * moment)
    expected = np.where(legs, np.maximum(soft, effort / 0.02), soft)
    np.testing.assert_allclose(kp, np.where(held, expected, 0.0), rtol=1e-12)
    largest = np.array([inertia[root == each].max() for each in root])
    between = np.where(legs, np.sqrt(inertia * largest), inertia)
    np.testing.assert_allclose(kd, 2 * np.sqrt(kp * between), rtol=1e-12)
    for integrator in ("semi-implicit", "rk4"):
        soft_p, soft_d = engine.holding_gains(model, dt, integrator, q)
        moves = np.where(held, holding.mobility(model), 1.0)
        np.testing.assert_allclose(soft_p, np.where(held, np.minimum(kp, 0.1 / (dt * dt * moves)), 0), rtol=1e-12)
        np.testing.assert_allclose(soft_d, np.where(held, np.minimum(kd, 0.2 / (dt * moves)), 0), rtol=1e-12)
    if not np.any(model.kind == FREE):
        assert not np.any(standing)
        assert not np.any(moment)


def robots_beside_each_other_are_held_as_alone(found: Case) -> None:
    """The gains of a robot are the same beside itself, turned about the vertical, and a heavy body lower down."""
    if all(joint["kind"] != "floating" for joint in found.robot["joints"]):
        found = dataclasses.replace(found, robot=_freed(found.robot))
    model, pose = found.model(), np.eye(4)
    c, s = np.cos(1.0), np.sin(1.0)
    pose[:3] = [[c, -s, 0, 3], [s, c, 0, 1], [0, 0, 1, -5]]
    body = engine.free_body("box", (1.0, 1.0, 1.0), 900.0).with_gravity(model.gravity)
    every = engine.compose(engine.Part(model, prefix=""), engine.Part(model, pose, "copy/"), engine.Part(body, pose))
    for alone, beside in zip(engine.holding_gains(model), engine.holding_gains(every), strict=True):
        np.testing.assert_allclose(beside, [*alone, *alone, *[0.0] * body.nv], rtol=1e-6)


def suggested_steps_turn_little(found: Case) -> None:
    """The longest of the steps in which the fastest joint turns by as much as may be; and 1 ms for what is held."""
    model = found.model()
    held, free = engine.suggested_step(model, held=True), engine.suggested_step(model)
    assert (held.dt, held.integrator) == (1e-3, "implicit")
    speeds = timestep.top_speeds(model)
    fast = float(speeds.max(initial=0))
    assert np.all(speeds <= model.velocity_limit)
    assert not np.any(speeds[~model.constrained])
    longer = [dt for dt in timestep.STEPS if fast * dt <= 0.12]
    assert free.dt == (longer[0] if longer else 1e-5)
    takers = model.damping, model.friction, np.isfinite(model.velocity_limit)
    slow = "implicit" if any(map(np.any, takers)) or not model.constrained.any() else "rk4"
    assert free.integrator == (slow if fast * 1e-3 <= 0.12 else "rk4")
    weightless = engine.suggested_step(model.with_gravity((0.0, 0.0, 0.0)))
    assert (weightless.dt, weightless.integrator) == (1e-3, slow)


def no_pose_is_deeper_than_the_deepest_fall(found: Case) -> None:
    """The energy that top speeds are of is at least what any pose within the limits lies below the neutral one."""
    model = found.model()
    model = dataclasses.replace(model, velocity_limit=np.full(model.nv, np.inf), damping=np.zeros(model.nv))
    slides = np.isin(np.arange(model.nv), model.coupling.v_index[model.v_start[model.kind == PRISMATIC]])
    if (
        model.has_mimic
        or not np.any(model.constrained)
        or not np.isfinite([model.lower[slides], model.upper[slides]]).all()
    ):
        return
    moves = holding.mobility(model)
    k = int(np.argmax(np.where(model.constrained, moves, 0.0)))
    energy = int(model.constrained.sum()) * timestep.top_speeds(model)[k] ** 2 / (2 * moves[k])
    q = np.concatenate([model.neutral()[None], model.random(np.random.default_rng(5), 200)])
    for joint in model.joints:
        if joint.kind == "floating" or model.parent[joint.bodies.start] == WORLD:  # what hangs on a root falls
            q[:, joint.q] = q[0, joint.q]
    T = poses.body_poses(model, q)
    moment = np.einsum("kbij,bj->kbi", T[..., :3, :3], model.first_moment) + model.mass[:, None] * T[..., :3, 3]
    potential = -np.sum(moment @ model.gravity, axis=1)
    assert np.all(potential[0] - potential <= energy * (1 + 1e-9) + 1e-12)


def poses_are_within_limits(found: Case) -> None:
    """`neutral`, and `random` of one and of a batch: within the limits, unit quaternions, all of the range."""
    model = found.model()
    q = np.concatenate([model.random(np.random.default_rng(3), 400), model.neutral()[None]])
    assert q.shape == (401, model.nq)
    assert model.random(np.random.default_rng(3)).shape == (model.nq,)
    turns = np.zeros(model.nq, bool)
    for _, place in model.quaternions:
        turns[place] = True
        np.testing.assert_allclose(np.linalg.norm(q[:, place], axis=1), 1.0, atol=1e-14)
        assert np.array_equal(model.neutral()[place], [0, 0, 0, 1])
    for v, k in enumerate(model.q_of_v.tolist()):
        if k >= 0:
            lower, upper = model.lower[v], model.upper[v]
            assert np.all((q[:, k] >= lower) & (q[:, k] <= upper))
            assert model.neutral()[k] == min(max(0.0, lower), upper)
            if np.isfinite(lower) and np.isfinite(upper) and upper > lower:
                assert np.ptp(q[:400, k]) > 0.9 * (upper - lower)
    free = np.setdiff1d(np.arange(model.nq)[~turns], model.q_of_v)
    assert np.all(np.abs(q[:, free]) <= 1.0)


def the_further_end_of_a_slide_counts(found: Case) -> None:
    """Top speeds are those of slides that go as far the other way: how far from zero the further end is, counts."""
    model = found.model()
    slides = np.isin(np.arange(model.nv), model.coupling.v_index[model.v_start[model.kind == PRISMATIC]])
    if np.any(slides & ((model.lower > 0) | (model.upper < 0))):
        return  # the neutral pose, from which the fall is measured, would be another
    far = np.maximum(np.abs(model.lower), np.abs(model.upper))
    both = dataclasses.replace(
        model, lower=np.where(slides, -far, model.lower), upper=np.where(slides, far, model.upper)
    )
    assert np.array_equal(timestep.top_speeds(both), timestep.top_speeds(model))


def robots_are_put_down(found: Case) -> None:
    """The lowest place of all shapes touches: by brute force over a plane, by the text's contacts over a field."""
    if found.scene is None:
        return
    if all(joint["kind"] != "floating" for joint in found.robot["joints"]):
        found = dataclasses.replace(found, robot=_freed(found.robot))
    model, scene = found.model(), found.scene_object()
    scene = dataclasses.replace(scene, obstacles=(), self_collision=False)
    if scene.ground is None:
        return
    roots = [body for body in range(len(model.parent)) if model.kind[body] == FREE and model.parent[body] == WORLD]
    shapes = cloud(found.robot, model)
    moved = shapes.of(model.link_body[shapes.link] != WORLD)
    for q in model.random(chances(found), 2):
        down = engine.put_down(model, scene, q)
        if not roots or not len(moved.link):
            np.testing.assert_array_equal(down, q)
            continue
        before, after = engine.link_poses(model, q), engine.link_poses(model, down)
        ways = [_way(before, after, link) for link in range(len(model.link_names))]
        way = next(ways[k] for k in range(len(ways)) if _hangs_on(model, int(model.link_body[k]), roots))
        n = np.array(scene.ground.normal) if isinstance(scene.ground, Plane) else np.array([0.0, 0.0, 1.0])
        np.testing.assert_allclose(way - n * (way @ n), 0, atol=1e-12)
        for link, body in enumerate(model.link_body.tolist()):
            assert_way = way if _hangs_on(model, body, roots) else np.zeros(3)
            np.testing.assert_allclose(ways[link], assert_way, atol=1e-12)
        gaps = [x.gap for x in _touching(model, scene, down)]
        rims = any(shape["kind"] == "cylinder" for link in found.robot["links"] for shape in link["shapes"])
        if rims and not isinstance(scene.ground, Plane):
            continue  # which touches by a few places of its rims
        if all(_hangs_on(model, int(model.link_body[k]), roots) for k in set(moved.link.tolist())):
            assert gaps, "nothing touches"
            assert -1e-9 <= min(gaps) <= 1e-9
            if isinstance(scene.ground, Plane):
                lowest = np.min(moved.world(after) @ n - moved.radius) - scene.ground.offset
                assert -1e-9 <= lowest <= 1e-9 + 3e-3 * float(np.abs(shapes.position).max(initial=0))


def _freed(robot: dict) -> dict:
    """The robot of a fixed base with a free one."""
    base, *others = robot["links"]
    block = {"mass": 1.0, "xyz": [0.0] * 3, "rpy": [0.0] * 3, "moments": [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]}
    return robot | {"floating": True, "links": [base | {"inertial": base["inertial"] or block}, *others]}


def _touching(model: engine.Model, scene: engine.Scene, q: Array) -> list:
    return touching.contacts(model, scene, motion(model, q, np.zeros(model.nv)), 1e-3)


def _way(before: Array, after: Array, link: int) -> Array:
    np.testing.assert_allclose(before[link, :3, :3], after[link, :3, :3], atol=1e-14)
    return np.asarray(after[link, :3, 3] - before[link, :3, 3])


def _hangs_on(model: engine.Model, body: int, roots: list[int]) -> bool:
    while body != WORLD:
        if body in roots:
            return True
        body = int(model.parent[body])
    return False


@pytest.mark.parametrize("count", MANY)
def test_joints_carry_what_hangs_on_them(count: int) -> None:
    holds(joints_carry_what_hangs_on_them, (PLAIN, TREES), count)
    holds(followers_bound_their_leader, (PLAIN, TREES), 2 * count)


def test_loads_that_cancel_are_none_to_rounding() -> None:
    """No axis bears a moment of weight here but what rounding leaves of moments that cancel."""
    joints_carry_what_hangs_on_them(case(1001, TREES))


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize(
    "law",
    [
        gains_hold,
        suggested_steps_turn_little,
        no_pose_is_deeper_than_the_deepest_fall,
        the_further_end_of_a_slide_counts,
        poses_are_within_limits,
    ],
)
def test_gains_time_steps_and_poses_hold_their_laws(law, count: int) -> None:
    holds(
        law, (TREES,), 6 * count if law is no_pose_is_deeper_than_the_deepest_fall else count
    )  # few slides have limits


@pytest.mark.parametrize("count", MANY)
def test_robots_beside_each_other_are_held_as_alone(count: int) -> None:
    holds(robots_beside_each_other_are_held_as_alone, (PLANE,), 4 * count)


@pytest.mark.parametrize("count", MANY)
def test_robots_are_put_down(count: int) -> None:
    holds(robots_are_put_down, (PLANE._replace(pairs=True),), count)
    holds(robots_are_put_down, (FIELD,), count // 2)
