"""The outward pass of the ABA and the RNEA: a body's velocity, bias acceleration and wrench, from its parent's."""

from __future__ import annotations

from engine.compile import inline
from engine.kernels.bodies import ZERO, joint_rate, momentum
from engine.kernels.robot import KIND, PARENT, Q_START, TILTED, V_START
from engine.kernels.spatial import add, cross
from engine.kernels.transforms import joint_numbers, motion_to_child


@inline
def enter(robot, i, q, v, rate, numbers, twist, acceleration, force):
    """[Y] (2a), (2b) and the body's part of [Y] (2c): V, its derivative with gravity, and the wrench for that motion.

    `rate` is S q̈, or two zeros for the motion by velocities and gravity alone.
    """
    kind, parent, c = robot.tree[i, KIND], robot.tree[i, PARENT], robot.bodies[i]
    x = joint_numbers(kind, c, robot.tree[i, TILTED] == 1, q, robot.tree[i, Q_START])
    numbers[i] = x
    g = robot.gravity
    parent_twist = twist[parent] if parent >= 0 else (ZERO, ZERO)
    parent_acceleration = acceleration[parent] if parent >= 0 else (ZERO, (-g[0], -g[1], -g[2]))
    o, w = motion_to_child(kind, c, x, parent_twist[0], parent_twist[1])
    a, b = motion_to_child(kind, c, x, parent_acceleration[0], parent_acceleration[1])
    do, dw = joint_rate(kind, v, robot.tree[i, V_START])
    o, w = add(o, do), add(w, dw)
    a, b = add(add(a, cross(o, do)), rate[0]), add(add(b, add(cross(w, do), cross(o, dw))), rate[1])
    twist[i], acceleration[i] = (o, w), (a, b)
    n, f = momentum(c, o, w)
    dn, df = momentum(c, a, b)
    force[i] = add(dn, add(cross(o, n), cross(w, f))), add(df, cross(o, f))
