"""Coordinates that move several joints, as mimic joints have them, in the recursion over bodies.

In `recursion` a joint's coordinate is eliminated at its body, and the parent gets an inertia and a wrench. A coordinate
y of several joints can be eliminated only where the paths from all of them have met: of two fingers on one palm, one of
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

PASSES, ENDS, OWN = 1, 2, 3
"""`Mimics.fate` of a coordinate at a body: it is passed on, or eliminated in the body, or with the body's joint; else
0."""
R, T = 0, 1
"""Columns of `Passed.force`."""


class Passed(NamedTuple):
    """What bodies pass on, by place: row i · width + k for body i.

    Where a coordinate y is eliminated, w/d_yy, 1/d_yy on the diagonal and, for each z eliminated later, d_yz/d_yy in
    its row and d_zy in its column remain.
    """

    u: NDArray[np.floating]  # (…, 6)
    w: NDArray[np.floating]  # (…, 6)
    d: NDArray[np.floating]  # (…, width), by rows
    force: NDArray[np.floating]  # (…, 2): r and t
    alpha: NDArray[np.floating]  # (…, 6): (Sᵀ u)/D of a joint with several axes, Sᵀ u of a free one in `mass`
    beta: NDArray[np.floating]  # (…, 6): wᵀ S there


class Mimics(NamedTuple):
    """The coordinates that are passed on among n bodies; the last of n + 1 rows is the world's, the last of `width`
    places that of a body's own joint."""

    busy: NDArray[np.int64]  # (n + 1,): 1 where any coordinate arrives or stays
    own: NDArray[np.int64]  # (n,): the place of the joint's coordinate
    fate: NDArray[np.int64]  # (n + 1, width)
    into: NDArray[np.int64]  # (n + 1, width): the place at the parent
    row: NDArray[np.int64]  # (n + 1, width): the velocity
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
    fates = _fates(model)
    n, rows = len(model.parent), topology(model)[:, V_START]
    arrivals = [[y for y, (_, arrives) in here.items() if arrives] for here in fates]
    own = max(map(len, arrivals))
    width, busy, at = own + 1, np.zeros(n + 1, np.int64), np.full(n, own)
    fate, into, row = (np.zeros((n + 1, width), np.int64) for _ in range(3))
    for i, here in enumerate(fates):
        for y, (what, arrives) in here.items():
            k = arrivals[i].index(y) if arrives else own
            fate[i, k], row[i, k], busy[i] = what, y, 1
            if what == PASSES:
                into[i, k] = arrivals[model.parent[i]].index(y)
            if i < n and y == rows[i] and model.kind[i] <= PRISMATIC:
                at[i] = k
        if busy[i] and i < n and fate[i, at[i]] == 0:
            fate[i, own], row[i, own] = OWN, rows[i]
    factor = np.ones(n)
    single = model.kind <= PRISMATIC
    factor[single] = model.coupling.v_scale[model.v_start[single]]
    return Mimics(busy, at, fate, into, row, factor, _passed(n, width), _passed(n, width))


def _passed(n: int, width: int) -> Passed:
    size = (n + 1) * width
    return Passed(*(np.zeros((size, columns)) for columns in (6, 6, width, 2, 6, 6)))


def _fates(model: Model) -> list[dict[int, tuple[int, bool]]]:
    """Return, by body and for the world, what becomes of each passed coordinate there, and whether it arrives."""
    n, parent = len(model.parent), model.parent.tolist()
    row = topology(model)[:, V_START].tolist()
    joints: dict[int, int] = {}
    for i in range(n):
        if model.kind[i] <= PRISMATIC:
            joints[row[i]] = joints.get(row[i], 0) + 1
    met: list[dict[int, int]] = [{} for _ in range(n + 1)]  # of each body's arriving coordinates, the joints below
    fates: list[dict[int, tuple[int, bool]]] = [{} for _ in range(n + 1)]
    for i in [*range(n - 1, -1, -1), n]:
        here, below = fates[i], met[i]
        for y, count in below.items():
            here[y] = (ENDS if count == joints[y] else PASSES), True
        single = i < n and model.kind[i] <= PRISMATIC
        if single and joints[y := row[i]] > 1:
            below[y] = below.get(y, 0) + 1
            here[y] = (OWN if below[y] == joints[y] else PASSES), y in here
        passes = [y for y, (what, _) in here.items() if what == PASSES]
        for y in passes:
            above = met[parent[i] if parent[i] != WORLD else n]
            above[y] = above.get(y, 0) + below[y]
    return fates


def example() -> Mimics:
    """Return arrays of the types that kernels are compiled for."""
    whole, real = np.zeros(1, np.int64), np.zeros(1)
    table, passed = whole[None], Passed(*(real[None] for _ in Passed._fields))
    return Mimics(whole, whole, table, table, table, real, passed, passed)


@inline
def axis(i, e, tree):
    """S of a joint with one axis e."""
    return scale(tree.mimics.factor[i], e) if len(tree.mimics) > 0 else e


@inline
def is_busy(i, tree):
    """Whether any coordinate arrives or stays at body i, or at the world, its index the number of bodies."""
    return tree.mimics.busy[i] == 1 if len(tree.mimics) > 0 else False


@inline
def has_own(i, tree):
    """Whether the coordinate of body i's joint is eliminated with it."""
    return tree.mimics.busy[i] == 0 or tree.mimics.fate[i, tree.mimics.own[i]] == OWN if len(tree.mimics) > 0 else True


@inline
def with_joint_mobility(kind, s, k, E, H):
    """Add k S Sᵀ to the mobility [E F; Fᵀ H] of a body whose joint's coordinate is passed on; k is that
    coordinate's."""
    square = scale(k, s)
    turns = (s[0] * square[0], s[0] * square[1], s[0] * square[2], s[1] * square[1], s[1] * square[2], s[2] * square[2])
    return (plus(E, turns), H) if kind == REVOLUTE else (E, plus(H, turns))


@inline
def own_mobilities(tree, out):
    """Compute the velocity per unit force of each coordinate that is eliminated in a body, as if the body were
    fixed."""
    if len(tree.mimics) > 0:
        mimics = tree.mimics
        for i in range(mimics.fate.shape[0]):
            for k in range(mimics.fate.shape[1]):
                if mimics.fate[i, k] == ENDS:
                    out[mimics.row[i, k]] = mimics.mass.d[i * mimics.fate.shape[1] + k, k]
