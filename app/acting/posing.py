"""Posing a link by hand: its free base, or by inverse kinematics the joints between it and the root."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import engine
from app.acting.loaded_robot import LoadedRobot
from app.acting.saved_poses import joints_of_robot
from app.acting.undoing import Actions, State
from app.recording.replay import Replay
from app.simulation.worker import Worker

EFFORT, MIN_ITERATIONS, MAX_ITERATIONS = 2400, 4, 40
"""Iterations of inverse kinematics per move: EFFORT / nv, between MIN_ITERATIONS and MAX_ITERATIONS; some 10 ms."""


@dataclass
class Grasp:
    """The posed link, its `point` (3,) in m that is moved to the target, and the state before."""

    link: int
    point: np.ndarray
    before: State


class Posing:
    """Poses the robot, by hand while it is paused."""

    def __init__(self, robot: LoadedRobot, worker: Worker, replay: Replay, actions: Actions):
        self._robot, self._worker, self._replay, self._actions = robot, worker, replay, actions
        self.grasp: Grasp | None = None
        """The current grasp."""

    def pose(self, q: np.ndarray) -> None:
        """Put the robot at q (nq,), at rest and held there; at time zero it is also the pose that `reset` restores."""
        robot = self._robot
        robot.aim(q)
        robot.place(lambda state: np.copyto(state, q))
        self._worker.change(lambda running: running.aim(q))
        self._worker.set_rotation(lambda state: np.copyto(state, q), tuple(range(robot.model.nv)))

    def can_pose(self, link: int) -> bool:
        """Whether a link can be posed now: it has its own free base, or joints between it and the root.

        Robots of a batch cannot be posed by hand, since the others spread from the first.
        """
        robot, model = self._robot, self._robot.model
        still = model is not None and not robot.playing and not self._replay.active
        if not still or robot.settings.spread.robots > 1 or link < 0:
            return False
        return free_base(model, link) is not None or _has_joints(model, link)

    def take_link(self, link: int, point: np.ndarray | None = None) -> None:
        """Start posing a link by a point (3,) in its frame, m, by default its origin."""
        self.grasp = Grasp(link, np.zeros(3) if point is None else point, self._actions.state)

    def move_link(self, target: np.ndarray) -> engine.IKResult:
        """Move the link to `target`, a position (3,) of its point or a pose (4, 4), as near as possible."""
        grasp, model, q = self.grasp, self._robot.model, self._robot.q
        base = free_base(model, grasp.link)
        if base is None:
            steps = min(max(EFFORT // model.nv, MIN_ITERATIONS), MAX_ITERATIONS)
            solution = engine.inverse_kinematics(model, q, grasp.link, target, grasp.point, iterations=steps)
        else:
            now = engine.link_poses(model, q)[grasp.link]
            wanted = target
            if target.shape == (3,):
                wanted = now.copy()
                wanted[:3, 3] += target - now[:3, :3] @ grasp.point - now[:3, 3]
            put_base(model, base, grasp.link, wanted, q)
            solution = engine.IKResult(q, 0.0, 0.0, True)
        self.pose(solution.q)
        return solution

    def release_link(self) -> None:
        """Stop posing; all changes since `take_link` are undone as one."""
        grasp, self.grasp = self.grasp, None
        if grasp is None or self._robot.model is not grasp.before.model:
            return
        self._actions.report_pose(f"Pose {self._robot.model.link_names[grasp.link]}", grasp.before)

    def set_pose(self, name: str, posed: np.ndarray | None = None) -> None:
        """Set a named pose of the robot's model, or `posed` (nq,), on the ground if that is on. Other parts stay.

        Joints that the pose does not name are unchanged.
        """
        model, before, scene = self._robot.model, self._actions.state, self._robot.settings.scene
        q = self._robot.q
        posed = model.pose(name, q) if posed is None else posed
        own = joints_of_robot(model)
        for joint in own:
            q[joint.q] = posed[joint.q]
        if self._robot.settings.ground:
            down = engine.put_down(model, scene, q)
            for joint in own:
                q[joint.q] = down[joint.q]
        self.pose(q)
        self._actions.report_pose(f"Pose {name}", before)


def free_base(model: engine.Model, link: int) -> engine.Joint | None:
    """Return the free joint between the world and the body that carries a link; None if there is none."""
    body = int(model.link_body[link])
    own = (each for each in model.joints if each.kind == "floating" and each.bodies.start == body)
    return next((each for each in own if model.parent[each.bodies.start] < 0), None)


def put_base(model: engine.Model, base: engine.Joint, link: int, pose: np.ndarray, q: np.ndarray) -> None:
    """Write into q (nq,) the free base's coordinates for a link on it at `pose` (4, 4)."""
    body, home, local = base.bodies.start, np.eye(4), np.eye(4)
    home[:3, :3], home[:3, 3] = model.home_rotation[body], model.home_position[body]
    local[:3, :3], local[:3, 3] = model.link_rotation[link], model.link_position[link]
    moved = np.linalg.inv(home) @ pose @ np.linalg.inv(local)
    q[base.q] = np.concatenate([moved[:3, 3], engine.quaternion_from_rotation(moved[:3, :3])])


def _has_joints(model: engine.Model, link: int) -> bool:
    """Whether a joint other than a free one is between a link and the root."""
    free = {joint.bodies.start for joint in model.joints if joint.kind == "floating"}
    body = int(model.link_body[link])
    while body >= 0 and body in free:
        body = int(model.parent[body])
    return body >= 0
