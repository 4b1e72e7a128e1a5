"""Inverse kinematics: poses checked by Pinocchio's frames, closest poses by SciPy's search, and constraints."""

import numpy as np
import pinocchio as pin
import pytest
from conftest import EXAMPLE_ROBOTS
from mimics import mimics
from pinocchio_oracle import Oracle
from scipy.optimize import least_squares

import engine
from engine.model import poses

FILES = {path.stem: path for path in EXAMPLE_ROBOTS}
ARMS = [name for name in ("panda", "ur5_robot", "iiwa14", "xarm7", "z1", "talos_reduced") if name in FILES]


def pose_by_pinocchio(oracle: Oracle, q: np.ndarray, link: str) -> np.ndarray:
    frame = oracle.model.getFrameId(link, pin.FrameType.BODY)
    pin.framesForwardKinematics(oracle.model, oracle.data, oracle.q(q))
    return oracle.data.oMf[frame].homogeneous


def last_moving(model: engine.Model) -> int:
    """The link on the longest branch."""
    return max(range(len(model.link_names)), key=lambda link: len(poses.ancestors(model, link)))


def nearby(model: engine.Model, q: np.ndarray, rng: np.random.Generator, far: float) -> np.ndarray:
    """Another pose (nq,), every scalar coordinate within `far` of q and within its limits."""
    other, at = q.copy(), model.q_of_v[model.q_of_v >= 0]
    bounds = model.lower[model.q_of_v >= 0], model.upper[model.q_of_v >= 0]
    other[at] = np.clip(q[at] + rng.uniform(-far, far, len(at)), *bounds)
    return other


@pytest.mark.parametrize("path", EXAMPLE_ROBOTS[::4], ids=lambda path: path.stem)
def test_the_jacobian_is_pinocchios(path, rng):
    model = engine.load(path, floating=True, mimic=False)
    oracle, q, link = Oracle(path, model, True), model.random(rng), last_moving(model)
    frame = oracle.model.getFrameId(model.link_names[link], pin.FrameType.BODY)
    theirs = pin.computeFrameJacobian(
        oracle.model, oracle.data, oracle.q(q), frame, pin.LOCAL_WORLD_ALIGNED
    )  # linear part first
    T = poses.body_poses(model, q[None])[0]
    ours = poses.link_jacobian(model, T, link)[:, oracle.order]
    np.testing.assert_allclose(ours, np.concatenate([theirs[3:], theirs[:3]]), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["balls", "mimic"])
def test_the_jacobian_gives_the_twists_of_links(kind, rng, tmp_path):
    balls = kind == "balls"
    model = engine.tree(15, seed=5, floating=True, prismatic=0.3, spherical=0.3) if balls else mimics(tmp_path, 3)
    q, v = model.random(rng), rng.uniform(-1, 1, model.nv)
    twists, T = engine.link_twists(model, q, v), poses.body_poses(model, q[None])[0]
    for link in range(len(model.link_names)):
        np.testing.assert_allclose(poses.link_jacobian(model, T, link) @ v, twists[link], atol=1e-12)


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("what", ["pose", "position"])
def test_random_targets_are_reached_by_pinocchios_frames(name, what, rng):
    model = engine.load(FILES[name], mimic=False)
    oracle, link = Oracle(FILES[name], model), last_moving(model)
    for _ in range(10):
        q = model.random(rng)
        target = pose_by_pinocchio(oracle, nearby(model, q, rng, 0.3), model.link_names[link])
        found = engine.inverse_kinematics(model, q, link, target if what == "pose" else target[:3, 3])
        assert found.reached
        assert max(found.distance, found.angle) < 1e-7
        there = pose_by_pinocchio(oracle, found.q, model.link_names[link])
        np.testing.assert_allclose(there[:3, 3], target[:3, 3], atol=1e-7)
        if what == "pose":
            np.testing.assert_allclose(there, target, atol=1e-7)
        scalar = model.q_of_v >= 0
        values = found.q[model.q_of_v[scalar]]
        assert np.all((values >= model.lower[scalar]) & (values <= model.upper[scalar]))


def test_a_point_of_the_link_goes_where_it_is_asked(rng, arm7):
    link, point = len(arm7.link_names) - 1, np.array([0.02, -0.05, 0.1])
    for _ in range(5):
        q = arm7.random(rng)
        there = engine.link_poses(arm7, nearby(arm7, q, rng, 0.2))[link]
        target = there[:3, :3] @ point + there[:3, 3]
        found = engine.inverse_kinematics(arm7, q, link, target, point)
        pose = engine.link_poses(arm7, found.q)[link]
        np.testing.assert_allclose(pose[:3, :3] @ point + pose[:3, 3], target, atol=1e-7)


@pytest.mark.parametrize("name", ARMS)
def test_out_of_reach_it_comes_as_close_as_a_bounded_search(name, rng):
    """SciPy's bounded search for least squares, from where it ended, comes 0.1 mm closer at most."""
    model = engine.load(FILES[name], mimic=False)
    oracle, link = Oracle(FILES[name], model), last_moving(model)
    bounds = model.lower, model.upper
    assert np.array_equal(model.q_of_v, np.arange(model.nq))  # bounds are those of q

    def left(q: np.ndarray, target: np.ndarray) -> np.ndarray:
        return pose_by_pinocchio(oracle, q, model.link_names[link])[:3, 3] - target

    for _ in range(4):
        q, way = model.random(rng), rng.standard_normal(3)
        target = 4.0 * way / np.linalg.norm(way)
        found = engine.inverse_kinematics(model, q, link, target)
        assert not found.reached
        assert found.distance == pytest.approx(np.linalg.norm(left(found.q, target)), rel=1e-9)
        inside = np.clip(found.q, *(end + sign * 1e-9 for end, sign in zip(bounds, (1, -1), strict=True)))
        other = least_squares(left, inside, bounds=bounds, args=(target,), xtol=1e-12, ftol=1e-12, gtol=1e-12)
        assert found.distance <= np.linalg.norm(other.fun) + 1e-4


def test_a_stretched_arm_is_straight_towards_what_it_cannot_reach():
    """Two bars of length 1 m: the closest is on the line to the target, at their whole length."""
    model = engine.load(engine.find_robot("double_pendulum"))
    link = len(model.link_names) - 1
    hang = engine.link_poses(model, model.neutral())
    root, elbow = hang[link - 1, :3, 3], hang[link, :3, 3]
    tip = elbow + (elbow - root)
    point = hang[link, :3, :3].T @ (tip - elbow)
    axis = poses.link_jacobian(model, poses.body_poses(model, model.neutral()[None])[0], link)[:3, 0]
    way = np.cross(axis, (tip - root) / np.linalg.norm(tip - root))  # across both, in the plane they swing in
    reach = np.linalg.norm(tip - root)
    target = root + 3 * reach * way
    found = engine.inverse_kinematics(model, [0.3, 0.4], link, target, point)
    pose = engine.link_poses(model, found.q)[link]
    np.testing.assert_allclose(pose[:3, :3] @ point + pose[:3, 3], root + reach * way, atol=1e-6)
    assert found.distance == pytest.approx(2 * reach, rel=1e-9)
    assert not found.reached


def test_followers_follow_and_their_leaders_keep_their_limits(rng, tmp_path):
    model = mimics(tmp_path, 3)
    link = last_moving(model)
    for _ in range(5):
        q = model.random(rng)
        target = engine.link_poses(model, nearby(model, q, rng, 0.2))[link, :3, 3]
        found = engine.inverse_kinematics(model, q, link, target)
        assert found.q.shape == (model.nq,)
        np.testing.assert_allclose(engine.link_poses(model, found.q)[link, :3, 3], target, atol=1e-6)


def test_a_floating_base_stays_and_so_do_other_limbs(rng, quadruped):
    link, q = quadruped.link_names.index("RL_foot"), quadruped.random(rng)
    base = quadruped.joints[0]
    assert base.kind == "floating"
    target = engine.link_poses(quadruped, q)[link, :3, 3] + [0.0, 0.0, 0.02]
    found = engine.inverse_kinematics(quadruped, q, link, target)
    np.testing.assert_array_equal(found.q[base.q], q[base.q])
    T = poses.body_poses(quadruped, q[None])[0]
    moved = np.flatnonzero(found.q != q)
    own = np.flatnonzero(np.abs(poses.link_jacobian(quadruped, T, link)).any(0))
    assert set(quadruped.q_of_v[own]) >= set(moved.tolist())


def test_ball_joints_turn_and_stay_rotations(rng):
    model = engine.tree(14, seed=2, prismatic=0.3, spherical=0.4)
    link, q = last_moving(model), model.random(rng)
    target = engine.link_poses(model, model.random(rng))[link]
    found = engine.inverse_kinematics(model, q, link, target)
    assert found.reached
    np.testing.assert_allclose(engine.link_poses(model, found.q)[link], target, atol=1e-6)
    for _, place in model.quaternions:
        assert np.linalg.norm(found.q[place]) == pytest.approx(1.0)


def test_a_reached_pose_leaves_q_unchanged(rng, arm7):
    q, link = arm7.random(rng), len(arm7.link_names) - 1
    found = engine.inverse_kinematics(arm7, q, link, engine.link_poses(arm7, q)[link])
    np.testing.assert_array_equal(found.q, q)
    assert found.reached


def test_a_pose_outside_the_limits_is_brought_within(rng, arm7):
    link, q = len(arm7.link_names) - 1, arm7.random(rng)
    q[1] = arm7.upper[1] + 1.0
    found = engine.inverse_kinematics(arm7, q, link, [0.3, 0.1, 0.5])
    assert np.all((found.q >= arm7.lower) & (found.q <= arm7.upper))


def test_a_link_of_the_world_stays_and_says_how_far_it_is(arm7):
    found = engine.inverse_kinematics(arm7, arm7.neutral(), 0, [0.0, 3.0, 4.0])
    np.testing.assert_array_equal(found.q, arm7.neutral())
    assert (found.distance, found.reached) == (5.0, False)


@pytest.mark.parametrize(
    ("requested", "reported"),
    [
        ({"link": 99}, "has 9 links, numbered from 0"),
        ({"link": -1}, "link is -1"),
        ({"target": [1, 2]}, "the target of hand"),
        ({"target": [1, 2, np.nan]}, "the target of hand"),
        ({"q": np.zeros((2, 7))}, r"expected one state, \(7,\)"),
        ({"q": np.zeros(3)}, "q has shape"),
        ({"point": [1, 2]}, "point is three finite numbers"),
        ({"iterations": -1}, "iterations is -1"),
    ],
)
def test_what_it_cannot_take_is_said_in_one_sentence(requested, reported, arm7):
    how = {"q": arm7.neutral(), "link": len(arm7.link_names) - 1, "target": [0.3, 0.0, 0.5], **requested}
    with pytest.raises(ValueError, match=reported) as refusal:
        engine.inverse_kinematics(arm7, **how)
    assert "\n" not in str(refusal.value)
