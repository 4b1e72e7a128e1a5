"""RNEA: inverse dynamics of one robot, [Y] (2a)–(2d), any tree, O(n)."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import registers
from engine.kernels.bodies import AXIS, NV, joint_rate
from engine.kernels.outward import enter
from engine.kernels.robot import ENTER, KIND, PARENT, V_START
from engine.kernels.spatial import add
from engine.kernels.transforms import force_to_parent


@inline
def _leave(robot, i, numbers, force, out):
    """[Y] (2d): compute τ of a body's joint, and add its wrench to the parent's."""
    kind, parent, first = robot.tree[i, KIND], robot.tree[i, PARENT], robot.tree[i, V_START]
    n, f = force[i]
    for j in range(NV[kind]):
        out[first + j] = (n[0], n[1], n[2], f[0], f[1], f[2])[AXIS[kind] + j]
    if parent >= 0:
        n, f = force_to_parent(kind, robot.bodies[i], numbers[i], n, f)
        force[parent] = add(force[parent][0], n), add(force[parent][1], f)


@kernel
def inverse_dynamics(robot, q, v, a, out):
    """Compute τ into `out` (nv,) from q (nq,), v and q̈ (nv,) of a known robot."""
    n = robot.tree.shape[0]
    numbers, twist, acceleration, force = registers(n), registers(n), registers(n), registers(n)
    for e in range(robot.walk.shape[0]):
        if robot.walk[e, 1] == ENTER:
            i = robot.walk[e, 0]
            rate = joint_rate(robot.tree[i, KIND], a, robot.tree[i, V_START])
            enter(robot, i, q, v, rate, numbers, twist, acceleration, force)
        else:
            _leave(robot, robot.walk[e, 0], numbers, force, out)
