"""Kinematics of bodies and links in NumPy, for uses that must not wait for a compiler."""

from __future__ import annotations

import numpy as np

from engine.lie import Array, rotation_from_quaternion
from engine.model import PRISMATIC, REVOLUTE, Model
from engine.model.coupling import Indices
from engine.model.joints import BODY_JOINTS, NV


def body_poses(model: Model, q: Array) -> Array:
    """Return the poses of all bodies in the world, (batch, n, 4, 4), at q (batch, nq).

    Starts from the poses relative to the parents, and multiplies by pointer doubling: ⌈log₂ depth⌉ rounds over whole
    arrays.
    """
    T = _in_parent(model, model.coupling.expand_q(q))
    above = model.parent.copy()
    while np.any(hangs := above >= 0):
        i = np.flatnonzero(hangs)
        T[:, i] = T[:, above[i]] @ T[:, i]
        above[i] = above[above[i]]
    return T


def link_poses(model: Model, q: Array) -> Array:
    """Return the poses of all links in the world, (batch, links, 4, 4), at q (batch, nq)."""
    world = np.broadcast_to(np.eye(4), (len(q), 1, 4, 4))
    T = np.concatenate([body_poses(model, q), world], 1)[:, model.link_body]  # index −1, the world, is the last
    poses = np.zeros_like(T)
    poses[..., :3, :3] = T[..., :3, :3] @ model.link_rotation
    poses[..., :3, 3] = (T[..., :3, :3] @ model.link_position[..., None])[..., 0] + T[..., :3, 3]
    poses[..., 3, 3] = 1.0
    return poses


def link_frame(model: Model, T: Array, link: int) -> tuple[Array, Array]:
    """Return R (3, 3) and p (3,) of a link in the world, from the `body_poses` of one robot, T (n, 4, 4)."""
    body, R, p = int(model.link_body[link]), model.link_rotation[link], model.link_position[link]
    return (R, p) if body < 0 else (T[body, :3, :3] @ R, T[body, :3, :3] @ p + T[body, :3, 3])


def link_jacobian(model: Model, T: Array, link: int) -> Array:
    """Return J (6, nv) of a link: ``J v`` is the twist (ω, v) of its frame's origin, in world axes.

    T (n, 4, 4) is `body_poses` of one robot. Each joint axis between link and root gives one column; columns of mimic
    joints are added. Source: Murray, Li, Sastry (1994), (3.54), about the link's origin.
    """
    path = ancestors(model, link)
    body = np.repeat(path, NV[model.kind[path]])
    every = [column for kind in model.kind[path].tolist() for column in BODY_JOINTS[kind].columns]
    column = np.array(every, np.int64)
    at = model.v_start[body] + np.arange(len(body)) - np.searchsorted(body, body)
    axis = T[body, :3, column % 3]
    turns = np.where(column < 3, axis.T, 0.0)
    arm = link_frame(model, T, link)[1] - T[body, :3, 3]
    shifts = np.where(column < 3, np.cross(axis, arm).T, axis.T)
    J = np.zeros((model.nv, 6))
    np.add.at(J, model.coupling.v_index[at], (model.coupling.v_scale[at] * np.concatenate([turns, shifts])).T)
    return J.T


def ancestors(model: Model, link: int) -> Indices:
    """Return the bodies from the root to a link; none if it is fixed to the world."""
    path: list[int] = []
    body = int(model.link_body[link])
    while body >= 0:
        path.append(body)
        body = int(model.parent[body])
    return np.array(path[::-1], np.int64)


def link_twists(model: Model, q: Array, v: Array) -> Array:
    """Return the twists (ω, v) of all links, (batch, links, 6), at q (batch, nq), v (batch, nv), in world axes.

    The linear velocity is that of the link frame's origin.
    """
    T, twist = moving_bodies(model, q, v)
    still = np.zeros((len(q), 1, 6))
    twist = np.concatenate([twist, still], 1)[:, model.link_body]  # index −1, the world, is the last
    T = np.concatenate([T, np.broadcast_to(np.eye(4), (len(q), 1, 4, 4))], 1)[:, model.link_body]
    origin = (T[..., :3, :3] @ model.link_position[..., None])[..., 0] + T[..., :3, 3]
    twist[..., 3:] += np.cross(twist[..., :3], origin)
    return twist


def moving_bodies(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Return `body_poses`, and the bodies' twists about the world's origin in world axes, (batch, n, 6).

    In the world frame, twists add up along each branch, here by pointer doubling as in `body_poses`.
    """
    T, tree_v = body_poses(model, q), model.coupling.expand_v(v)
    R, p = T[..., :3, :3], T[..., :3, 3]
    S_v = np.zeros((len(q), len(model.parent), 6))
    for kind, joint in BODY_JOINTS.items():
        bodies = np.flatnonzero(model.kind == kind)
        for k, column in enumerate(joint.columns):
            S_v[:, bodies, column] = tree_v[:, model.v_start[bodies] + k]
    omega = (R @ S_v[..., :3, None])[..., 0]
    twist = np.concatenate([omega, (R @ S_v[..., 3:, None])[..., 0] + np.cross(p, omega)], -1)
    above = model.parent.copy()
    while np.any(hangs := above >= 0):
        i = np.flatnonzero(hangs)
        twist[:, i] += twist[:, above[i]]
        above[i] = above[above[i]]
    return T, twist


def _in_parent(model: Model, q: Array) -> Array:
    """Return T_i (batch, n, 4, 4), each body's pose in its parent's frame, from the tree's coordinates."""
    revolute, prismatic = (np.flatnonzero(model.kind == kind) for kind in (REVOLUTE, PRISMATIC))
    T = np.zeros((len(q), len(model.parent), 4, 4))
    R, p = T[..., :3, :3], T[..., :3, 3]
    R[:], p[:], T[..., 3, 3] = model.home_rotation, model.home_position, 1.0
    angle = q[:, model.q_start[revolute]]
    turn = np.zeros((*angle.shape, 3, 3))
    turn[..., 0, 0] = turn[..., 1, 1] = np.cos(angle)
    turn[..., 1, 0] = np.sin(angle)
    turn[..., 0, 1], turn[..., 2, 2] = -turn[..., 1, 0], 1.0
    R[:, revolute] = model.home_rotation[revolute] @ turn
    p[:, prismatic] += model.home_rotation[prismatic, :, 2] * q[:, model.q_start[prismatic], None]
    for i in np.flatnonzero(NV[model.kind] > 1):
        joint, home = BODY_JOINTS[int(model.kind[i])], model.home_rotation[i]
        x, start = q[:, model.q_start[i] : model.q_start[i] + joint.nq], joint.quaternion
        if start:
            p[:, i] += x[:, :start] @ home.T
        R[:, i] = home @ rotation_from_quaternion(x[:, start:] / np.linalg.norm(x[:, start:], axis=1, keepdims=True))
    return T
