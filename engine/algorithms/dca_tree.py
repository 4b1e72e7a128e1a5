"""DCA-ABA for trees: a scan along each path, the ABA's step between paths; O(log² n) sequential steps.

A tree is cut into paths (`engine.algorithms.tree`). Paths of one level are independent and processed in parallel, the
outermost level first. Branches that hang on a body beside its path are added to the body as an articulated inertia and
a force before the scan of its path. The path is then a serial chain, and the scan over its runs
(`engine.algorithms.dca`) returns each body's articulated inertia. Accelerations run outwards, as a scan of affine maps
along each path from the acceleration of its parent body. A path of m bodies takes 2⌈log₂ m⌉ steps, and at most log₂ n +
1 paths lie between a body and the base.

Joints have up to six velocities: D = SᵀIS is a matrix. Unused columns of S have ones on D's diagonal, so that all
joints take the same code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine import lie
from engine.algorithms import dca
from engine.algorithms.tree import Indices, Tree
from engine.blocks import bidiagonal
from engine.blocks.arrays import identity, mv, symmetrised, t
from engine.blocks.scan import scan
from engine.blocks.stages import stage
from engine.lie import Array


class Bodies(NamedTuple):
    """The bodies' data for a tree's passes, (batch, n + 1, …); the last is an empty body that pads paths."""

    S: Array
    X: Array
    c: Array
    tau: Array
    I: Array
    """J, plus the articulated inertias of branches beside the body's path."""
    p: Array
    """The velocity-dependent bias, plus the forces of those branches."""

    def at(self, places: Indices) -> Bodies:
        """Return those of paths: (batch, paths, length) in front, flattened to (batch · paths, length)."""
        return Bodies(*(_rows(array[:, places]) for array in self))


def forward_dynamics(tree: Tree, q: Array, v: Array, tau: Array) -> Array:
    """Return q̈ (batch, nv) from q (batch, nq), v and tau (batch, nv)."""
    X = tree.X(q)
    c, b = velocities(tree, X, v)
    none = np.zeros_like(X, shape=(len(q), 1, 6, 6)) + identity(6, X)
    batched = np.broadcast_to(tree.S, (len(q), *tree.S.shape)), np.broadcast_to(tree.J, (len(q), *tree.J.shape))
    S, J = (np.concatenate([x, np.zeros_like(none)], 1) for x in batched)
    c, p, force = (np.concatenate([x, np.zeros_like(none[..., 0])], 1) for x in (c, b, tree.gathered(tau)))
    bodies = Bodies(S, np.concatenate([X, none], 1), c, force, J.copy(), p)
    joints = [articulate(tree, bodies, k) for k in reversed(range(len(tree.levels)))]
    return accelerate(tree, bodies, joints[::-1])


def velocities(tree: Tree, X: Array, v: Array) -> tuple[Array, Array]:
    """Return the velocity-dependent accelerations c and forces b, (batch, n, 6) each."""
    Sv, V = tree.along(v), np.zeros_like(X, shape=(len(X), tree.n + 1, 6))
    none = np.zeros_like(X, shape=(len(X), 1, 6, 6)) + identity(6, X)
    X = np.concatenate([X, none], 1)
    drive = np.concatenate([Sv, np.zeros_like(Sv[:, :1])], 1)
    for level in tree.levels:  # [Y] (2a)  V = X V_parent + S q̇, along each path
        A, rate = _rows(X[:, level.bodies]), _rows(drive[:, level.bodies])
        rate[:, 0] += mv(A[:, 0], V[:, level.parent].reshape(-1, 6))  # the base, stored last, is zero
        V[:, level.bodies] = bidiagonal.solve(A, rate).reshape(len(X), *level.bodies.shape, 6)
        V[:, -1] = 0
        stage("velocities", level.places, V[:, level.places])
    V = V[:, :-1]
    c, b = mv(lie.ad(V), Sv), -mv(t(lie.ad(V)), mv(tree.J, V))
    stage("bias", range(tree.n), c, b)
    return c, b


class Joints(NamedTuple):
    """The joints of paths, see `dca`: 1 − S D⁻¹ Uᵀ and S D⁻¹ u, and D⁻¹ with Uᵀ and u, for q̈."""

    gives: Array
    drive: Array
    D: Array
    U: Array
    u: Array


def joint(S: Array, I: Array, p: Array, tau: Array) -> Joints:
    """Return the joints of bodies with articulated inertia I and bias p."""
    U, unused = I @ S, 1.0 - np.abs(S).sum(-2)
    D, u = t(S) @ U + unused[..., None] * identity(6, S), tau - mv(t(S), p)
    solved = np.linalg.solve(D, np.concatenate([t(U), u[..., None]], -1))
    return Joints(identity(6, S) - S @ solved[..., :6], mv(S, solved[..., 6]), D, U, u)


def to_parent(joint: Joints, X: Array, I: Array, p: Array, c: Array) -> tuple[Array, Array]:
    """Return the inertia and the bias that the parent body feels through the joint, in the parent's frame."""
    Ia = symmetrised(I @ joint.gives)
    return symmetrised(t(X) @ Ia @ X), mv(t(X), p + mv(Ia, c) + mv(I, joint.drive))


def articulate(tree: Tree, bodies: Bodies, k: int) -> Joints:
    """Return the joints of level k's paths, and add the paths' inertias and forces to their parent bodies."""
    level = tree.levels[k]
    path = bodies.at(level.bodies)
    length, like = path.tau.shape[1], path.X
    I, p = np.zeros_like(like), np.zeros_like(path.tau)
    if length > 1:
        # Each body beyond the first is a run.
        rest = Bodies(*(x[:, 1:] for x in path))
        alone = joint(rest.S, rest.I, rest.p, rest.tau)
        runs = (
            *to_parent(alone, rest.X, rest.I, rest.p, rest.c),
            alone.gives @ rest.X,
            rest.S @ np.linalg.solve(alone.D, t(rest.S)),
            mv(alone.gives, rest.c) + alone.drive,
        )
        I_run, p_run, Phi, Y, b = runs
        I[:, :-1], p[:, :-1] = scan(dca.join, (I_run, Phi, Y, b, p_run), dca.apply, dca.first, reverse=True)
    I, p = path.I + I, path.p + p
    joints = joint(path.S, I, p, path.tau)
    first = Joints(*(x[:, 0] for x in joints))
    I_parent, p_parent = to_parent(first, path.X[:, 0], I[:, 0], p[:, 0], path.c[:, 0])
    batch, hangs = len(bodies.I), level.parent >= 0
    if np.any(hangs):
        for total, share in ((bodies.I, I_parent), (bodies.p, p_parent)):
            of_paths = share.reshape(batch, -1, *total.shape[2:])
            np.add.at(np.swapaxes(total, 0, 1), level.parent[hangs], np.swapaxes(of_paths, 0, 1)[hangs])
    stage("paths", level.places, I.reshape(batch, -1, 6, 6)[:, level.filled], p.reshape(batch, -1, 6)[:, level.filled])
    return joints


def accelerate(tree: Tree, bodies: Bodies, joints: list[Joints]) -> Array:
    """Return q̈ (batch, nv), level by level from the base."""
    batch = len(bodies.X)
    a = np.zeros_like(bodies.c)
    qdd = np.zeros_like(bodies.c)
    a[:, -1] = tree.a0  # the parent of paths that start at the base
    for level, level_joints in zip(tree.levels, joints, strict=True):
        path = bodies.at(level.bodies)
        # a = A a_before + β
        A, beta = level_joints.gives @ path.X, mv(level_joints.gives, path.c) + level_joints.drive
        before = a[:, level.parent].reshape(-1, 1, 6)
        beta[:, 0] += mv(A[:, 0], before[:, 0])
        here = bidiagonal.solve(A, beta)
        held = mv(path.X, np.concatenate([before, here[:, :-1]], 1)) + path.c
        rate = np.linalg.solve(level_joints.D, (level_joints.u - mv(t(level_joints.U), held))[..., None])[..., 0]
        a[:, level.bodies] = here.reshape(batch, *level.bodies.shape, 6)
        qdd[:, level.bodies] = rate.reshape(batch, *level.bodies.shape, 6)
        a[:, -1] = tree.a0
        stage("outwards", level.places, a[:, level.places])
    return tree.scattered(qdd[:, :-1])


def _rows(x: Array) -> Array:
    """Reshape (batch, paths, …) -> (batch · paths, …)."""
    return x.reshape(-1, *x.shape[2:])
