"""A user's named poses of robots: made of a state, compared with a robot's joints, and read from text. Free of Qt."""

from __future__ import annotations

import json
import math

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting.coordinates import coordinates
from app.recording.replay import Replay

Pose = dict[str, tuple[str, list[float]]]
"""By joint name, the joint's kind and its coordinates, m or rad or a quaternion."""
Poses = dict[str, dict[str, Pose]]
"""By robot name, the poses by their names."""
SLACK = 0.01  # share of a joint's range by which a simulated pose may be beyond a limit


def joints_of_robot(model: engine.Model) -> list[engine.Joint]:
    """Return the robot's joints that have coordinates of their own; not those of other parts of a scene."""
    return [each for each in model.joints if each.leader is None and model.part_of_body[each.bodies.start] == 0]


def pose_of(model: engine.Model, q: NDArray[np.floating]) -> Pose:
    """Return the robot's pose in q (nq,)."""
    return {each.name: (_kind(each), q[each.q].tolist()) for each in joints_of_robot(model)}


def shown(replay: Replay, *live: NDArray[np.floating]) -> list[NDArray[np.floating]]:
    """Return q (nq,) and v (nv,), as many as given, of the recorded frame that is shown, else the live ones."""
    if replay.frame is None:
        return list(live)
    every = replay.frame.checkpoint.q, replay.frame.checkpoint.v
    return [np.asarray(x[replay.robot if replay.robot < len(x) else 0], float) for x in every[: len(live)]]


def misfit(model: engine.Model, pose: Pose) -> str:
    """Return why a pose does not fit the robot's joints, in a few words; empty if it fits.

    A free base may be missing in either, since a robot can be opened with or without one.
    """
    joints = {each.name: each for each in joints_of_robot(model)}
    for name, (kind, values) in pose.items():
        joint = joints.get(name)
        if joint is None:
            if kind != "floating":
                return f"the robot has no joint {name}"
            continue
        if (kind, len(values)) != (_kind(joint), joint.q.stop - joint.q.start):
            return f"{name} is a {joint.kind} joint, in the pose a {kind} one"
        if joint.type.quaternion is None and (beyond := _beyond(model, joint, np.array(values))) is not None:
            return f"{name} is outside its limits, {beyond}"
    lacking = [name for name, joint in joints.items() if name not in pose and joint.kind != "floating"]
    return f"it has no value for {lacking[0]}" if lacking else ""


def q_with_pose(model: engine.Model, pose: Pose, q: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return a copy of q (nq,) with the coordinates of a pose that fits, inside the joints' limits."""
    taken = q.copy()
    for joint in joints_of_robot(model):
        if joint.name in pose:
            values = np.array(pose[joint.name][1])
            if joint.type.quaternion is None:
                values = np.clip(values, model.lower[joint.v], model.upper[joint.v])
            taken[joint.q] = values
    return taken


def outside(robot: engine.Model, name: str) -> list[str]:
    """Return a clause for each value outside the limits of a pose that comes with a robot, in the units of its rows."""
    state, posed, clauses = robot.group_states.get(name, {}), robot.pose(name), []
    given = {joint.q.start + k: (joint, x) for joint in robot.joints for k, x in enumerate(state.get(joint.name, ()))}
    for row in coordinates(robot):
        if row.q not in given or not row.direct or row.leader is not None:
            continue
        (joint, value), taken = given[row.q], float(posed[row.q])
        beyond = math.remainder(value - taken, math.tau) if joint.kind == "revolute" else value - taken
        if abs(beyond) > engine.POSE_ROUNDING:
            ends = f"{row.format(row.lower)} to {row.format(row.upper)}"
            clauses.append(f"{row.label} {row.format(value)} is outside {ends}; {row.format(taken)} is set")
    return clauses


def _kind(joint: engine.Joint) -> str:
    return "revolute" if joint.kind == "continuous" else joint.kind


def _beyond(model: engine.Model, joint: engine.Joint, values: NDArray[np.floating]) -> str | None:
    """Return the limits that coordinates are beyond, in words; None if they are not."""
    lower, upper = model.lower[joint.v], model.upper[joint.v]
    slack = SLACK * np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    outside = np.flatnonzero((values < lower - slack) | (values > upper + slack))
    if not len(outside):
        return None
    unit = "rad" if joint.type.angular[outside[0]] else "m"
    return f"{lower[outside[0]]:.4g} to {upper[outside[0]]:.4g} {unit}"


def read(text: str) -> Poses:
    """Parse saved poses; those that are damaged are left out."""
    try:
        robots = json.loads(text)
        return {
            robot: {name: _read_pose(pose) for name, pose in poses.items() if _is_whole(pose)}
            for robot, poses in robots.items()
            if isinstance(poses, dict)
        }
    except (ValueError, AttributeError, RecursionError):
        return {}


def _read_pose(pose: Pose) -> Pose:
    return {joint: (kind, [float(x) for x in values]) for joint, (kind, values) in pose.items()}


def _is_whole(pose: object) -> bool:
    """Whether a pose, as read from JSON, has finite numbers and rotations other than zero."""
    if not isinstance(pose, dict):
        return False
    for each in pose.values():
        if not (isinstance(each, list) and len(each) == 2 and isinstance(each[0], str) and isinstance(each[1], list)):
            return False
        kind, values = each
        if not all(isinstance(x, int | float) and math.isfinite(x) for x in values):
            return False
        if kind in ("floating", "spherical") and not any(values[-4:]):
            return False
    return True
