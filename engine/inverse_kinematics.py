"""Inverse kinematics: the joint coordinates that bring a link to a target, by damped least squares.

Inputs are a `Model`, the start q (nq,) and the target; the result is a q near the start. NumPy only, without
compilation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import lie, validation
from engine.lie import Array
from engine.model import FREE, PRISMATIC, Model, poses

CLOSE = 1e-8
"""Position tolerance relative to the lever, and angle tolerance in rad."""
FLAT = 1e-10
"""The slope of the error below which no coordinate brings the link closer."""
DAMPING = 1e-3
"""λ² of the first step."""
MIN_DAMPING, MAX_DAMPING = 1e-12, 1e6
"""The bounds of λ²; at the upper one a step is too short to change anything."""


class IKResult(NamedTuple):
    """The result of `inverse_kinematics`.

    `q` (nq,) is within the joints' limits; `distance` in m and `angle` in rad are the link's deviation from the target,
    with angle 0 for a position target; `reached`: whether both are within the tolerance.
    """

    q: Array
    distance: float
    angle: float
    reached: bool


def inverse_kinematics(
    model: Model, q: ArrayLike, link: int, target: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0), iterations: int = 200
) -> IKResult:
    """The pose near q (nq,) in which a link, by its index in `model.link_names`, is at `target`.

    `target` is a position (3,) in the world, m, for a point of the link, in any orientation; or a pose (4, 4) of the
    link's frame in the world. `point` (3,) is in the link's frame, m; its distance is minimised.

    Damped least squares: each step is ``Δ = Jᵀ (J Jᵀ + λ²)⁻¹ e`` over the coordinates that may move, with the remaining
    error e along and about the world's axes. λ decreases while steps bring the link closer and increases where one does
    not, so that near a singular pose, and for a target out of reach, the joints slow down rather than oscillate. A
    radian is weighted by the lever, the longest distance from the point to a joint that moves it.

    Limits are kept: q is first brought within them, and a coordinate at its limit that would leave it is fixed. Mimic
    joints follow their leaders. Free joints do not move, nor do joints off the path from the link to the root. For a
    target out of reach the result is the closest pose found by descent from q, after at most `iterations` steps, with
    `reached` False; another q may lead closer.

    Sources: Y. Nakamura, H. Hanafusa, "Inverse kinematic solutions with singularity robustness for robot manipulator
    control" (1986), equation 18; C. W. Wampler, "Manipulator inverse kinematic solutions based on vector formulations
    and damped least-squares methods" (1986); S. R. Buss, "Introduction to inverse kinematics with Jacobian transpose,
    pseudoinverse and damped least squares methods" (2009), section 6.

    Raises ValueError, in one sentence, for an invalid link, a target of another shape, and more than one q.
    """
    (start,), single = validation.states(model, q=q)
    if not single:
        raise ValueError(f"q has shape {np.shape(q)}; expected one state, ({model.nq},)")
    link, iterations = validation.integer("link", link, 0), validation.integer("iterations", iterations, 0)
    if link >= len(model.link_names):
        raise ValueError(f"link is {link}; {model.name} has {len(model.link_names)} links, numbered from 0")
    wanted = lie.pose(target, f"the target of {model.link_names[link]}")
    at = validation.vector("point", point, 3, "three finite numbers, m")
    return _Descent(model, link, wanted, at, turns=np.ndim(target) == 2).run(
        _within_limits(model, start[0]), iterations
    )


class _Descent:
    """The iteration towards one target."""

    def __init__(self, model: Model, link: int, wanted: Array, point: Array, turns: bool):
        self.model, self.link, self.wanted, self.point, self.turns = model, link, wanted, point, turns
        self.place = wanted[:3, :3] @ point + wanted[:3, 3] if turns else wanted[:3, 3]
        self.slides = np.zeros(model.nv, bool)
        self.slides[model.coupling.v_index[model.v_start[model.kind == PRISMATIC]]] = True
        scalar = model.q_of_v >= 0
        self.scalar, self.coordinate = np.flatnonzero(scalar), model.q_of_v[scalar]
        self.lever = 1.0

    def run(self, q: Array, iterations: int) -> IKResult:
        T = poses.body_poses(self.model, q[None])[0]
        self.lever = self._lever(T)
        damping, error = DAMPING, self._error(T)
        for _ in range(iterations):
            if self._close(error):
                break
            J = self._jacobian(T)
            slope = J.T @ error
            J[:, ~self._free(q, slope)] = 0.0
            if np.abs(J.T @ error).max(initial=0.0) <= FLAT:
                break
            while damping < MAX_DAMPING:
                tried = self._moved(q, J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), error))
                T = poses.body_poses(self.model, tried[None])[0]
                left = self._error(T)
                if left @ left < error @ error:
                    q, error, damping = tried, left, max(damping / 10, MIN_DAMPING)
                    break
                damping *= 10
            else:
                break
        distance = float(np.linalg.norm(error[3:])) * self.lever
        return IKResult(q, distance, float(np.linalg.norm(error[:3])), self._close(error))

    def _close(self, error: Array) -> bool:
        return bool(np.linalg.norm(error[3:]) <= CLOSE and np.linalg.norm(error[:3]) <= CLOSE)

    def _frame(self, T: Array) -> tuple[Array, Array]:
        """Return the link's rotation (3, 3), and the point's position (3,)."""
        R, p = poses.link_frame(self.model, T, self.link)
        return R, R @ self.point + p

    def _error(self, T: Array) -> Array:
        """Return the remaining error (6,): rotation, rad, about the world's axes, and translation, in levers."""
        R, x = self._frame(T)
        left = np.zeros(6)
        left[3:] = (self.place - x) / self.lever
        if self.turns:
            left[:3] = lie.log(self.wanted[:3, :3] @ R.T, np.zeros(3))[:3]
        return left

    def _jacobian(self, T: Array) -> Array:
        """Return the point's Jacobian (6, nv), in rad and levers, per rad/s and levers/s; 0 for fixed coordinates."""
        J, (R, _) = poses.link_jacobian(self.model, T, self.link), self._frame(T)
        J[3:] -= lie.skew(R @ self.point) @ J[:3]
        J[3:] /= self.lever
        J[:, self.slides] *= self.lever
        J[:, ~self.model.constrained] = 0.0
        return J if self.turns else np.concatenate([np.zeros((3, self.model.nv)), J[3:]])

    def _lever(self, T: Array) -> float:
        """Return the longest distance from the point to a joint that moves it, m; 1 where there is none."""
        path, (_, x) = poses.ancestors(self.model, self.link), self._frame(T)
        origins = T[path[self.model.kind[path] != FREE], :3, 3]
        return float(np.linalg.norm(origins - x, axis=1).max(initial=0.0)) or 1.0

    def _free(self, q: Array, slope: Array) -> NDArray[np.bool_]:
        """Return (nv,): the coordinates that may move along the slope (nv,) without leaving their limits."""
        free = self.model.constrained.copy()
        value, slope = q[self.coordinate], slope[self.scalar]
        over = (value >= self.model.upper[self.scalar]) & (slope > 0)
        under = (value <= self.model.lower[self.scalar]) & (slope < 0)
        free[self.scalar[over | under]] = False
        return free

    def _moved(self, q: Array, step: Array) -> Array:
        """Return q (nq,) after a step (nv,), rad and levers, within the limits."""
        model, moved, step = self.model, q.copy(), np.where(self.slides, self.lever, 1.0) * step
        moved[self.coordinate] += step[self.scalar]
        for joint in model.joints:
            if joint.kind == "spherical" and joint.leader is None:
                turn, _ = lie.exp(np.concatenate([step[joint.v], np.zeros(3)]))
                now = lie.rotation_from_quaternion(q[joint.q] / np.linalg.norm(q[joint.q]))
                moved[joint.q] = lie.quaternion_from_rotation(now @ turn)
        return _within_limits(model, moved)


def _within_limits(model: Model, q: Array) -> Array:
    """Return q (nq,) with every coordinate clipped to its limits."""
    within, scalar = q.copy(), model.q_of_v >= 0
    at = model.q_of_v[scalar]
    within[at] = np.clip(q[at], model.lower[scalar], model.upper[scalar])
    return within
