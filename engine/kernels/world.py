"""The bodies of one robot in world axes: poses, twists, inertias and bias forces, in one pass.

Vectors of a body are about its own origin: passing them from body to body shifts them without rotation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import compiled_apart, inline
from engine.compile.operations import is_single
from engine.kernels.bodies import ZERO
from engine.kernels.limbs import outward
from engine.kernels.quaternions import rotation_from_quaternion
from engine.kernels.robot import KIND, PARENT, Q_START, V_START
from engine.kernels.sines import MAX_ANGLE, sincos, sine_and_cosine
from engine.kernels.spatial import (
    add,
    cross,
    full,
    load3,
    load6,
    load9,
    matmul,
    momentum,
    mul,
    rotate_symmetric,
    rotated_about_z,
    scale,
    store3,
    store6,
    store9,
    sub,
)
from engine.model import FREE, PRISMATIC, REVOLUTE, WORLD, layout

RIGID_MASS, RIGID_FIRST_MOMENT, RIGID_INERTIA, RIGID = 0, 1, 4, 10
"""Columns of `Bodies.rigid`, and their number."""


class Bodies(NamedTuple):
    """The n bodies of a robot in world axes.

    `rotation` (n, 9) by rows, `position` (n, 3) of the origin and `arm` (n, 3) to it from the parent's; `twist` (n, 6);
    `rigid` (n, 10) mass, first moment and rotational inertia; the `bias` force (n, 6) −ad_Vᵀ J V, and `product` (n, 6),
    ad_V S q̇.
    """

    rotation: NDArray[np.floating]
    position: NDArray[np.floating]
    arm: NDArray[np.floating]
    twist: NDArray[np.floating]
    rigid: NDArray[np.floating]
    bias: NDArray[np.floating]
    product: NDArray[np.floating]


def bodies(n: int) -> Bodies:
    """Return the arrays for a robot's bodies."""
    return Bodies(*(np.zeros((n, width)) for width in (9, 3, 3, 6, RIGID, 6, 6)))


@inline
def _sine_and_cosine(x):
    if is_single(x) or not abs(x) <= MAX_ANGLE:
        return sine_and_cosine(x)
    return sincos(x)


@inline
def _in_parent(kind, c, q, start):
    """Rotation and position of a body in its parent's frame."""
    R, p = load9(c, layout.HOME_ROTATION), load3(c, layout.HOME_POSITION)
    if kind == REVOLUTE:
        s, o = _sine_and_cosine(q[start])
        return rotated_about_z(R, s, o), p
    if kind == PRISMATIC:
        return R, add(p, scale(q[start], (R[2], R[5], R[8])))
    if kind == FREE:
        rotation = rotation_from_quaternion(q[start + 3], q[start + 4], q[start + 5], q[start + 6])
        return matmul(R, rotation), add(p, mul(R, load3(q, start)))
    return matmul(R, rotation_from_quaternion(q[start], q[start + 1], q[start + 2], q[start + 3])), p


@inline
def joint_twist(kind, R, v, start):
    """S q̇ of a joint whose body has the rotation R, from its velocities v[start…]."""
    if kind == REVOLUTE:
        return scale(v[start], (R[2], R[5], R[8])), ZERO
    if kind == PRISMATIC:
        return ZERO, scale(v[start], (R[2], R[5], R[8]))
    if kind == FREE:
        return mul(R, load3(v, start)), mul(R, load3(v, start + 3))
    return mul(R, load3(v, start)), ZERO


@inline
def _compute_body(i, q, v, wrenches, topology, constants, bodies):
    """Compute body i, after its parent."""
    kind, parent, c = topology[i, KIND], topology[i, PARENT], constants[i]
    R, p = _in_parent(kind, c, q, topology[i, Q_START])
    omega, velocity, arm = ZERO, ZERO, p
    if parent != WORLD:
        parent_rotation = load9(bodies.rotation[parent])
        arm, R = mul(parent_rotation, p), matmul(parent_rotation, R)
        p = add(load3(bodies.position[parent]), arm)
        omega = load3(bodies.twist[parent])
        velocity = add(load3(bodies.twist[parent], 3), cross(omega, arm))
    store9(bodies.rotation[i], R)
    store3(bodies.position[i], p)
    store3(bodies.arm[i], arm)
    angular, linear = joint_twist(kind, R, v, topology[i, V_START])
    store3(bodies.product[i], cross(omega, angular))
    store3(bodies.product[i], add(cross(velocity, angular), cross(omega, linear)), 3)
    omega, velocity = add(omega, angular), add(velocity, linear)
    store3(bodies.twist[i], omega)
    store3(bodies.twist[i], velocity, 3)
    m, h = c[layout.MASS], mul(R, load3(c, layout.FIRST_MOMENT))
    inertia = rotate_symmetric(R, load6(c, layout.INERTIA))
    rigid = bodies.rigid[i]
    rigid[RIGID_MASS] = m
    store3(rigid, h, RIGID_FIRST_MOMENT)
    store6(rigid, inertia, RIGID_INERTIA)
    n, f = momentum(m, h, full(inertia), omega, velocity)
    n, f = add(cross(omega, n), cross(velocity, f)), cross(omega, f)
    if len(wrenches) > 0:
        n, f = sub(n, mul(R, load3(wrenches[i]))), sub(f, mul(R, load3(wrenches[i], 3)))
    store3(bodies.bias[i], n)
    store3(bodies.bias[i], f, 3)


@compiled_apart
def compute_bodies(q, v, wrenches, topology, constants, limbs, bodies):
    """Compute the bodies at q (tree_nq,) and v (tree_nv,), under wrenches (n, 6) in their own frames or an empty
    tuple."""
    for limb in outward(limbs):
        for i in range(limbs.begin[limb], limbs.end[limb]):
            _compute_body(i, q, v, wrenches, topology, constants, bodies)
