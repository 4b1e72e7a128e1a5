"""The model of a robot's file agrees with the file: link poses, masses, and joint limits.

The files are of random robots, whose numbers are plain data here (`urdf_text`), independent of the engine's reader.
"""

import copy
import tempfile
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import lie
from engine.validation import Array
from tests.differential.cases import Case
from tests.differential.laws import OWN_PAIRS, PLAIN, PLANE, TREES, holds
from tests.differential.test_quantity_laws import states
from tests.differential.urdf_text import load, mesh_file, urdf

UNBOUNDED = 1e9
"""Limits of so much or more are none, as exporters write them."""
MANY = [pytest.param(12, id="some"), pytest.param(400, id="many", marks=pytest.mark.slow)]


def turn(axis: Array, angle: float) -> Array:
    """Rodrigues' formula, for an axis of any length."""
    K = lie.skew(np.array(axis, float) / np.linalg.norm(axis))
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def quaternion(x: Array) -> Array:
    """The rotation of a unit quaternion (x, y, z, w): about its vector part, by twice the angle of its cosine w."""
    length = float(np.linalg.norm(x[:3]))
    return turn(x[:3], 2 * np.arctan2(length, x[3])) if length else np.eye(3)


def placed(R: Array, p: Array) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def origin(entry: dict) -> Array:
    """URDF: fixed axes, roll about x first, then pitch about y, then yaw about z."""
    roll, pitch, yaw = entry["rpy"]
    return placed(turn([0, 0, 1], yaw) @ turn([0, 1, 0], pitch) @ turn([1, 0, 0], roll), np.array(entry["xyz"]))


def coordinate(robot: dict, model: engine.Model, name: str, q: Array) -> Array:
    """A joint's coordinates by the file: its own, or its leader's times the multiplier plus the offset."""
    joint = next(joint for joint in robot["joints"] if joint["name"] == name)
    if (mimic := joint["mimic"]) is not None:
        return mimic["multiplier"] * coordinate(robot, model, mimic["joint"], q) + mimic["offset"]
    own = next((own for own in model.joints if own.name == name), None)
    return np.array([joint["limit"]["lower"]]) if own is None else q[own.q]  # one that its limits hold still is fixed


def across(joint: dict, x: Array) -> Array:
    """Return the transform across a joint."""
    if joint["kind"] == "fixed":
        return np.eye(4)
    if joint["kind"] == "floating":
        return placed(quaternion(x[3:]), x[:3])
    if joint["kind"] == "spherical":
        return placed(quaternion(x), np.zeros(3))
    axis = np.array(joint["axis"], float) / np.linalg.norm(joint["axis"])
    if joint["kind"] == "prismatic":
        return placed(np.eye(3), axis * x[0])
    if joint["kind"] == "planar":
        return placed(turn(axis, x[2]), lie.rotation_to(axis) @ [x[0], x[1], 0.0])
    return placed(turn(axis, x[0]), np.zeros(3))


def where_links_are(robot: dict, model: engine.Model, q: Array) -> dict[str, Array]:
    base = q[model.joints[0].q] if robot["floating"] else None
    poses = {robot["links"][0]["name"]: np.eye(4) if base is None else placed(quaternion(base[3:]), base[:3])}
    while len(poses) < len(robot["links"]):
        for joint in robot["joints"]:
            if joint["parent"] in poses:
                x = np.zeros(0) if joint["kind"] == "fixed" else coordinate(robot, model, joint["name"], q)
                poses[joint["child"]] = poses[joint["parent"]] @ origin(joint) @ across(joint, x)
    return poses


def followers_of_followers_stand_as_the_file_says(found: Case) -> None:
    """Each joint of one coordinate follows the one before it, by a multiplier and an offset of its own."""
    robot = copy.deepcopy(found.robot)
    scalar = [joint for joint in robot["joints"] if joint["kind"] in ("revolute", "prismatic", "continuous")]
    for joint in scalar:
        joint["limit"] = {"lower": -UNBOUNDED, "upper": UNBOUNDED, "velocity": None, "effort": None}
        joint["mimic"] = None
    for k, joint in enumerate(scalar[1:]):
        joint["mimic"] = {"joint": scalar[k]["name"], "multiplier": 0.7 + 0.1 * k, "offset": 0.2 - 0.1 * k}
    model = load(robot)
    q = model.neutral()
    q[model.q_of_v[model.constrained & (model.q_of_v >= 0)]] = 0.3
    expected = where_links_are(robot, model, q)
    for name, T in zip(model.link_names, engine.link_poses(model, q), strict=True):
        np.testing.assert_allclose(T, expected[name], rtol=0, atol=1e-9 * (1 + np.abs(T).max()), err_msg=name)


def links_stand_and_weigh_as_the_file_says(found: Case) -> None:
    model, q, v = states(found)
    poses, twists = engine.link_poses(model, q), engine.link_twists(model, q, v)
    energies = engine.energy(model, q, v)
    fixed = found.robot["links"][0]["name"] if not found.robot["floating"] else None
    for k in range(len(q)):
        expected = where_links_are(found.robot, model, q[k])
        kinetic, potential, size = 0.0, 0.0, 1e-9
        for number, name in enumerate(model.link_names):
            T = poses[k, number]
            size = max(size, 1 + float(np.abs(T).max()))
            np.testing.assert_allclose(T, expected[name], rtol=0, atol=1e-10 * size, err_msg=name)
            inertial = next(link["inertial"] for link in found.robot["links"] if link["name"] == name)
            if inertial is None or name == fixed:
                continue
            a, b, c, d, e, f = inertial["moments"]
            central = T @ origin(inertial)
            R = central[:3, :3]
            w = twists[k, number, :3]
            moves = twists[k, number, 3:] + np.cross(w, central[:3, 3] - T[:3, 3])
            kinetic += inertial["mass"] * moves @ moves / 2
            kinetic += w @ R @ np.array([[a, b, c], [b, d, e], [c, e, f]]) @ R.T @ w / 2
            potential -= inertial["mass"] * model.gravity @ central[:3, 3]
        weight = size * 10 * (1 + float(model.mass.sum())) * (1 + float(np.abs(v[k]).max(initial=0))) ** 2
        reference = engine.energy(model, q[0] * 0 + model.neutral(), v[0] * 0)[1]
        zero = sum(
            -link["inertial"]["mass"] * model.gravity @ (T @ origin(link["inertial"]))[:3, 3]
            for link in found.robot["links"]
            for T in [where_links_are(found.robot, model, model.neutral())[link["name"]]]
            if link["inertial"] is not None and link["name"] != fixed
        )
        np.testing.assert_allclose(energies[0][k], kinetic, rtol=1e-9, atol=1e-10 * weight, err_msg="kinetic")
        np.testing.assert_allclose(energies[1][k] - reference, potential - zero, rtol=1e-9, atol=1e-10 * weight)


def joints_are_bounded_as_the_file_says(found: Case) -> None:
    """Damping, friction, and limits of position, velocity and effort, with those that followers put on their leader.

    A follower moves m times as fast: its velocity limit counts 1/|m| of its own, its damping m² and its friction |m|.
    """
    model, named = found.model(), {joint["name"]: joint for joint in found.robot["joints"]}
    for own in model.joints:
        if own.leader is not None or own.name not in named or own.kind == "floating":
            continue
        group = [(named[own.name], 1.0, 0.0)]
        group += [(named[x.name], x.multiplier, x.offset) for x in model.joints if x.leader == own.name]
        assert own.kind == named[own.name]["kind"]
        resistance = {
            key: sum(abs(m) ** power * ((joint["dynamics"] or {}).get(key) or 0.0) for joint, m, _ in group)
            for key, power in (("damping", 2), ("friction", 1))
        }
        np.testing.assert_allclose(model.damping[own.v], resistance["damping"], rtol=1e-12)
        np.testing.assert_allclose(model.friction[own.v], resistance["friction"], rtol=1e-12)
        if own.kind not in ("revolute", "prismatic", "continuous"):
            continue
        fast = [_limit(joint, "velocity") / abs(m) for joint, m, _ in group if m]
        assert model.velocity_limit[own.v][0] == pytest.approx(min(fast), rel=1e-12)
        assert model.effort_limit[own.v][0] == pytest.approx(_limit(group[0][0], "effort"), rel=1e-15)
        ranges = [_range(joint, m, offset) for joint, m, offset in group]
        lower, upper = max(low for low, _ in ranges), min(high for _, high in ranges)
        if lower <= upper and all(m for _, m, _ in group):
            np.testing.assert_allclose([model.lower[own.v][0], model.upper[own.v][0]], [lower, upper], rtol=1e-12)


def _limit(joint: dict, key: str) -> float:
    """Return the file's velocity or effort limit; 0 and huge values mean no limit."""
    value = (joint["limit"] or {}).get(key) or 0.0
    return value if 0 < value < UNBOUNDED else np.inf


def _range(joint: dict, m: float, offset: float) -> tuple[float, float]:
    """Return a mimic joint's range in terms of its leader; unlimited if both are 0, or in the wrong order."""
    limit = (joint["limit"] or {}) if joint["kind"] != "continuous" else {}
    lower, upper = ((0.0 if limit.get(key) is None else limit[key]) for key in ("lower", "upper"))
    if lower > upper or lower == upper == 0:
        return -np.inf, np.inf
    ends = [np.inf * np.sign(x) if abs(x) >= UNBOUNDED else x for x in (lower, upper)]
    low, high = sorted((x - offset) / m for x in ends) if m else (-np.inf, np.inf)
    return low, high


def files_are_read_as_they_are_now(found: Case) -> None:
    """A robot and the hulls of its meshes, rewritten under the same names, are those of the new files."""
    smaller = copy.deepcopy(found.robot)
    for shape in [shape for link in smaller["links"] for shape in link["shapes"]]:
        if shape["kind"] == "mesh":
            shape["parts"] = [(0.5 * np.array(part)).tolist() for part in shape["parts"]]
            shape["xyz"] = [x + 0.01 for x in shape["xyz"]]
    heights = []
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        for robot, folder in ((found.robot, one), (smaller, one), (smaller, other)):
            model = engine.load(written(robot, Path(folder)), floating=found.robot["floating"])
            heights.append(engine.put_down(model, engine.Scene(), model.neutral()))
    np.testing.assert_array_equal(heights[1], heights[2])


def written(robot: dict, folder: Path) -> Path:
    """The robot's file in a folder, its meshes numbered beside it."""
    text = urdf(robot)
    for number, shape in enumerate(shape for link in robot["links"] for shape in link["shapes"]):
        if shape["kind"] == "mesh":
            own = mesh_file(shape)
            (folder / f"{number}{own.suffix}").write_bytes(own.read_bytes())
            text = text.replace(own.name, f"{number}{own.suffix}", 1)
    (folder / "robot.urdf").write_text(text, "utf-8")
    return folder / "robot.urdf"


@pytest.mark.parametrize("count", MANY)
def test_files_are_read_as_they_are_now(count: int) -> None:
    holds(files_are_read_as_they_are_now, (PLANE,), count)


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize(
    "law",
    [
        followers_of_followers_stand_as_the_file_says,
        links_stand_and_weigh_as_the_file_says,
        joints_are_bounded_as_the_file_says,
    ],
)
def test_models_are_what_files_say(law, count: int) -> None:
    holds(law, (PLAIN, TREES, OWN_PAIRS), count)
