"""RNEA: inverse dynamics of one robot, [Y] (2a)–(2d), any tree, O(n)."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import rows
from engine.kernels.bodies import AXIS, NV, ZERO, joint_rate, momentum
from engine.kernels.robot import ENTER, KIND, PARENT, Q_START, V_START
from engine.kernels.spatial import add, cross
from engine.kernels.transforms import force_to_parent, joint_numbers, motion_to_child


@inline
def _enter(robot, i, q, v, a, numbers, twist, acceleration, force):
    """(2a), (2b) and the body's part of (2c): V, its derivative with gravity's, and the wrench that they take."""
    kind, parent, c, at = robot.tree[i, KIND], robot.tree[i, PARENT], robot.bodies[i], robot.tree[i, V_START]
    x = joint_numbers(kind, c, q, robot.tree[i, Q_START])
    numbers[i] = x
    g = robot.gravity
    above = twist[parent] if parent >= 0 else (ZERO, ZERO)
    beyond = acceleration[parent] if parent >= 0 else (ZERO, (-g[0], -g[1], -g[2]))
    o, w = motion_to_child(kind, c, x, above[0], above[1])
    do, dw = motion_to_child(kind, c, x, beyond[0], beyond[1])
    p, r = joint_rate(kind, v, at)
    s, t = joint_rate(kind, a, at)
    o, w = add(o, p), add(w, r)
    do, dw = add(add(do, cross(o, p)), s), add(add(dw, add(cross(w, p), cross(o, r))), t)
    twist[i], acceleration[i] = (o, w), (do, dw)
    n, f = momentum(c, o, w)
    dn, df = momentum(c, do, dw)
    force[i] = add(dn, add(cross(o, n), cross(w, f))), add(df, cross(o, f))


@inline
def _leave(robot, i, numbers, force, out):
    """(2d): τ of a body's joint; the wrench, with those of what it carries, goes to the parent."""
    kind, parent, at = robot.tree[i, KIND], robot.tree[i, PARENT], robot.tree[i, V_START]
    n, f = force[i]
    for j in range(NV[kind]):
        out[at + j] = (n[0], n[1], n[2], f[0], f[1], f[2])[AXIS[kind] + j]
    if parent >= 0:
        n, f = force_to_parent(kind, robot.bodies[i], numbers[i], n, f)
        force[parent] = add(force[parent][0], n), add(force[parent][1], f)


@kernel
def inverse_dynamics(robot, q, v, a, out):
    """τ into `out` (nv,), from q (nq,), v and q̈ (nv,) of a robot that is known."""
    n = robot.tree.shape[0]
    numbers, twist, acceleration, force = rows(n), rows(n), rows(n), rows(n)
    for e in range(robot.walk.shape[0]):
        if robot.walk[e, 1] == ENTER:
            _enter(robot, robot.walk[e, 0], q, v, a, numbers, twist, acceleration, force)
        else:
            _leave(robot, robot.walk[e, 0], numbers, force, out)
