"""Shared coordinates, which move several joints since some of these mimic another, in the recursion over bodies.

In `recursion` a joint's coordinate is eliminated at its body, and the parent gets an inertia and a wrench. A coordinate
y of several joints can be eliminated only where the paths from all of them have met: of two fingers on a palm, one of
which mimics the other, in the palm. Until then a body passes on, beside its inertia I and its wrench p, for each such
coordinate a column u (6), a row w (6) and a number r, and for each two of them a number d. With the body's acceleration
a, the force f on it and the generalized force τ_y of the coordinate,

    f = I a + Σ u_y ẏ + p,    τ_y = w_yᵀ a + Σ d_yz ż + r_y
    through a joint with ẏ S:   u_y + I S,   w_y + Iᵀ S,   d_yy + Sᵀ I S + Sᵀ u_y + w_yᵀ S,   r_y + Sᵀ p
                                d_yz + Sᵀ u_z,   d_zy + w_zᵀ S
    without y:   I − u w_yᵀ/d_yy,   p + u q,   u_z − u d_yz/d_yy,   w_z − w_y d_zy/d_yy,   r_z + d_zy q,
                 d_zx − d_zy d_yx/d_yy      q = (τ_y − r_y)/d_yy, u = u_y

S is a joint's axis times its multiplier. The coordinate is eliminated with the joint that is an ancestor of the others,
or in the body where their paths meet, possibly the world, before that body's own joint. This module computes which
coordinates a body passes on or eliminates; `mimic_passes` has the passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.kernels.robot import V_START
from engine.kernels.spatial import plus, scale
from engine.model import PRISMATIC, REVOLUTE, WORLD, Model
from engine.model.layout import pack

PASSED_ON, ELIMINATED, WITH_JOINT = 1, 2, 3
"""`Mimics.action` on a shared coordinate at a body: it is passed on to the parent, eliminated in the body, or
eliminated with the body's joint; 0 for none."""


class Passed(NamedTuple):
    """The terms of shared coordinates that bodies pass on: row i · width + k is that of slot k of body i.

    Where a coordinate y is eliminated, w/d_yy and, for each z eliminated later, d_yz/d_yy in its row and d_zy in its
    column remain.
    """

    u: NDArray[np.floating]  # (…, 6)
    w: NDArray[np.floating]  # (…, 6)
    d: NDArray[np.floating]  # (…, width), by rows
    inverse: NDArray[np.floating]  # (…,): 1/d_yy
    r: NDArray[np.floating]  # (…,)
    t: NDArray[np.floating]  # (…,): q
    alpha: NDArray[np.floating]  # (…, 6): (Sᵀ u)/D of a joint with several axes, Sᵀ u of a free one in `mass`
    beta: NDArray[np.floating]  # (…, 6): wᵀ S there


class Mimics(NamedTuple):
    """The shared coordinates at n bodies, each in one of `width` slots of a body.

    The last of n + 1 rows is the world's. The last slot has the coordinate of the body's joint, unless a child
    has passed this on.
    """

    has_shared: NDArray[np.int64]  # (n + 1,): 1 where a body has any
    joint_slot: NDArray[np.int64]  # (n,): the slot of the joint's coordinate
    action: NDArray[np.int64]  # (n + 1, width): see `PASSED_ON`
    parent_slot: NDArray[np.int64]  # (n + 1, width): the slot at the parent
    v_index: NDArray[np.int64]  # (n + 1, width): the index of its velocity
    factor: NDArray[np.floating]  # (n,): the joints' multipliers
    mass: Passed  # of the factors of M + d
    newton: Passed  # of Newton's matrix


def topology(model: Model) -> NDArray[np.int64]:
    """(n, 4): that of `model.layout.pack`, with velocities counted without mimicking joints."""
    packed = pack(model).topology.copy()
    packed[:, V_START] = (
        model.coupling.v_index[np.minimum(packed[:, V_START], max(model.tree_nv - 1, 0))] if model.tree_nv else 0
    )
    return packed


def mimics(model: Model) -> Mimics | tuple[()]:
    """Return the workspace; an empty tuple without mimic joints."""
    if not model.has_mimic:
        return ()
    actions = _actions(model)
    n, joint_v_index = len(model.parent), topology(model)[:, V_START]
    arrivals = [[y for y, (_, arrives) in at_body.items() if arrives] for at_body in actions]
    own_slot = max(map(len, arrivals))
    width, has_shared, joint_slot = own_slot + 1, np.zeros(n + 1, np.int64), np.full(n, own_slot)
    action, parent_slot, v_index = (np.zeros((n + 1, width), np.int64) for _ in range(3))
    for i, at_body in enumerate(actions):
        for y, (code, arrives) in at_body.items():
            k = arrivals[i].index(y) if arrives else own_slot
            action[i, k], v_index[i, k], has_shared[i] = code, y, 1
            if code == PASSED_ON:
                parent_slot[i, k] = arrivals[model.parent[i]].index(y)
            if i < n and y == joint_v_index[i] and model.kind[i] <= PRISMATIC:
                joint_slot[i] = k
        if has_shared[i] and i < n and action[i, joint_slot[i]] == 0:
            action[i, own_slot], v_index[i, own_slot] = WITH_JOINT, joint_v_index[i]
    factor = np.ones(n)
    single = model.kind <= PRISMATIC
    factor[single] = model.coupling.v_scale[model.v_start[single]]
    return Mimics(has_shared, joint_slot, action, parent_slot, v_index, factor, _passed(n, width), _passed(n, width))


def _passed(n: int, width: int) -> Passed:
    size = (n + 1) * width
    u, w, d, alpha, beta = (np.zeros((size, columns)) for columns in (6, 6, width, 6, 6))
    inverse, r, t = (np.zeros(size) for _ in range(3))
    return Passed(u, w, d, inverse, r, t, alpha, beta)


def _actions(model: Model) -> list[dict[int, tuple[int, bool]]]:
    """Return, by body and for the world, the action on each shared coordinate, and whether a child passes it on."""
    n, parent = len(model.parent), model.parent.tolist()
    row = topology(model)[:, V_START].tolist()
    joints: dict[int, int] = {}
    for i in range(n):
        if model.kind[i] <= PRISMATIC:
            joints[row[i]] = joints.get(row[i], 0) + 1
    arriving: list[dict[int, int]] = [
        {} for _ in range(n + 1)
    ]  # by body and arriving coordinate, its number of joints below
    actions: list[dict[int, tuple[int, bool]]] = [{} for _ in range(n + 1)]
    for i in [*range(n - 1, -1, -1), n]:
        at_body, joints_below = actions[i], arriving[i]
        for y, count in joints_below.items():
            at_body[y] = (ELIMINATED if count == joints[y] else PASSED_ON), True
        single = i < n and model.kind[i] <= PRISMATIC
        if single and joints[y := row[i]] > 1:
            joints_below[y] = joints_below.get(y, 0) + 1
            at_body[y] = (WITH_JOINT if joints_below[y] == joints[y] else PASSED_ON), y in at_body
        passes = [y for y, (action, _) in at_body.items() if action == PASSED_ON]
        for y in passes:
            at_parent = arriving[parent[i] if parent[i] != WORLD else n]
            at_parent[y] = at_parent.get(y, 0) + joints_below[y]
    return actions


def example() -> Mimics:
    """Return arrays of the types that kernels are compiled for."""
    whole, real = np.zeros(1, np.int64), np.zeros(1)
    table, row = whole[None], real[None]
    passed = Passed(row, row, row, real, real, real, row, row)
    return Mimics(whole, whole, table, table, table, real, passed, passed)


@inline
def axis(i, e, tree):
    """S of a joint with one axis e."""
    return scale(tree.mimics.factor[i], e) if len(tree.mimics) > 0 else e


@inline
def has_shared_coordinates(i, tree):
    """Whether body i has shared coordinates; the index of the world is the number of bodies."""
    return tree.mimics.has_shared[i] == 1 if len(tree.mimics) > 0 else False


@inline
def eliminated_with_joint(i, tree):
    """Whether the coordinate of body i's joint is eliminated with it."""
    return (
        tree.mimics.has_shared[i] == 0 or tree.mimics.action[i, tree.mimics.joint_slot[i]] == WITH_JOINT
        if len(tree.mimics) > 0
        else True
    )


@inline
def with_joint_mobility(kind, s, k, E, H):
    """Add k S Sᵀ to the mobility [E F; Fᵀ H] of a body whose joint's coordinate is passed on; k is that
    coordinate's."""
    square = scale(k, s)
    added = (s[0] * square[0], s[0] * square[1], s[0] * square[2], s[1] * square[1], s[1] * square[2], s[2] * square[2])
    return (plus(E, added), H) if kind == REVOLUTE else (E, plus(H, added))


@inline
def eliminated_mobilities(tree, out):
    """Compute the velocity per unit force of each coordinate that is eliminated in a body, as if the body were
    fixed."""
    if len(tree.mimics) > 0:
        mimics = tree.mimics
        for i in range(mimics.action.shape[0]):
            for k in range(mimics.action.shape[1]):
                if mimics.action[i, k] == ELIMINATED:
                    out[mimics.v_index[i, k]] = mimics.mass.inverse[i * mimics.action.shape[1] + k]
