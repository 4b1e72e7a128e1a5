"""Kinematics and equations of motion by definition: body Jacobians, and sums over bodies.

Inputs are a `Model` and one robot's q (nq,) and v (nv,); results are poses, Jacobians, the mass matrix and the bias.
Only the poses are recursive. It is the slow, readable basis of `algorithms.step`, for comparison.

Twists are about the *world's* origin in world axes, so that twists of different bodies can be added. With J_i (6, nv)
the Jacobian of body i, V_i = J_i v, and I_i its inertia in that frame:

    M = Σ J_iᵀ I_i J_i        bias = Σ J_iᵀ (I_i (J̇_i v − a₀) − ad(V_i)ᵀ I_i V_i)        a₀ = (0, g)

Source: R. Featherstone, "Rigid Body Dynamics Algorithms" (2008), sections 2.10 and 3.3; [Y] (2) summed over bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine import lie
from engine.lie import Array
from engine.model import FREE, PRISMATIC, REVOLUTE, WORLD, Model
from engine.model.joints import BODY_JOINTS


class Motion(NamedTuple):
    """The poses and twists of n bodies.

    R (n, 3, 3) and p (n, 3) are the bodies' frames in the world; J (n, 6, nv) their Jacobians, V (n, 6) their twists
    and `drift` (n, 6) J̇ v, all about the world's origin.
    """

    R: Array
    p: Array
    J: Array
    V: Array
    drift: Array


def motion(model: Model, q: Array, v: Array) -> Motion:
    """Return the poses and twists of all bodies at q (nq,) and v (nv,)."""
    n, coupling = len(model.parent), model.coupling
    tree_q, C = coupling.expand_q(q), coupling.C
    R, p = np.zeros((n, 3, 3)), np.zeros((n, 3))
    J, V, drift = np.zeros((n, 6, model.nv)), np.zeros((n, 6)), np.zeros((n, 6))
    for i, parent in enumerate(model.parent.tolist()):
        joint = BODY_JOINTS[int(model.kind[i])]
        rotation, displacement = joint_pose(int(model.kind[i]), tree_q[model.q_start[i] : model.q_start[i] + joint.nq])
        R[i], p[i] = model.home_rotation[i] @ rotation, model.home_rotation[i] @ displacement + model.home_position[i]
        if parent != WORLD:
            R[i], p[i] = R[parent] @ R[i], R[parent] @ p[i] + p[parent]
            J[i], drift[i] = J[parent], drift[parent]
        S = lie.Ad(R[i], p[i])[:, list(joint.columns)] @ C[model.v_start[i] : model.v_start[i] + joint.nv]
        J[i] = J[i] + S
        V[i] = J[i] @ v
        drift[i] = drift[i] + lie.ad(V[i]) @ S @ v
    return Motion(R, p, J, V, drift)


def joint_pose(kind: int, x: Array) -> tuple[Array, Array]:
    """Return the rotation (3, 3) and translation (3,) from home by a joint's coordinates x."""
    if kind == REVOLUTE:
        return lie.exp(np.array([0.0, 0.0, x[0], 0.0, 0.0, 0.0]))
    if kind == PRISMATIC:
        return np.eye(3), np.array([0.0, 0.0, x[0]])
    rotation = lie.rotation_from_quaternion(x[-4:] / np.linalg.norm(x[-4:]))
    return rotation, x[:3] if kind == FREE else np.zeros(3)


def equations_of_motion(model: Model, bodies: Motion, wrench: Array | None = None) -> tuple[Array, Array]:
    """Return M (nv, nv) and the bias (nv,) of M v̇ + bias = τ; `wrench` (links, 6) acts on links, in their frames."""
    M, bias = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    a0 = np.concatenate([np.zeros(3), model.gravity])
    for i in range(len(model.parent)):
        X = lie.Ad(*lie.inverse(bodies.R[i], bodies.p[i]))
        inertia, J, V = X.T @ model.J[i] @ X, bodies.J[i], bodies.V[i]
        M += J.T @ inertia @ J
        bias += J.T @ (inertia @ (bodies.drift[i] - a0) - lie.ad(V).T @ inertia @ V)
    if wrench is not None:
        for link, body in enumerate(model.link_body.tolist()):
            if body != WORLD:
                X = lie.Ad(*lie.inverse(*frame_of_link(model, bodies, link)))
                bias -= bodies.J[body].T @ X.T @ wrench[link]
    return M, bias


def frame_of_link(model: Model, bodies: Motion, link: int) -> tuple[Array, Array]:
    """Return R (3, 3) and p (3,) of a link in the world."""
    body, R, p = int(model.link_body[link]), model.link_rotation[link], model.link_position[link]
    return (R, p) if body == WORLD else (bodies.R[body] @ R, bodies.R[body] @ p + bodies.p[body])


def point_jacobian(model: Model, bodies: Motion, body: int, x: Array) -> Array:
    """(3, nv): the Jacobian of the velocity of the point x (3,), in the world, fixed to a body; 0 for the world."""
    if body == WORLD:
        return np.zeros((3, model.nv))
    return np.asarray(bodies.J[body][3:] - lie.skew(x) @ bodies.J[body][:3])
