"""Coordinates that move several joints, as mimic joints have them, in the recursion over bodies.

Such a coordinate is eliminated once all its joints have met. Until then a body passes on, beside its inertia and
wrench, the column u, the row w, d and r of

    f = I a + u ẏ + p,    τ = wᵀ a + d ẏ + r
    through a joint with ẏ S:   u + I S,   w + Iᵀ S,   d + Sᵀ I S + Sᵀ u + wᵀ S,   r + Sᵀ p

It is eliminated, I − u wᵀ/d, p + u (τ − r)/d, with the joint that is an ancestor of the others, or in the body where
they meet, possibly the world, before that body's own joint. S is the joint's axis times its multiplier. Models in which
two such coordinates are passed on at the same body, or one passes another coordinate's joint, are not served (`fit`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.kernels.contact.body_pairs import eliminate
from engine.kernels.robot import V_START
from engine.kernels.spatial import add, cross, dot, less_rank_one, load3, minus_outer, plus, scale, store3
from engine.kernels.world import ZERO
from engine.model import PRISMATIC, REVOLUTE, WORLD, Model
from engine.model.layout import pack

OWN, STAYS = 0, 1
"""`Mimics.role` of a joint: its coordinate is eliminated with it, or passed on."""
JOINS, ENDS = 1, 2
"""`Mimics.waits` of a body that receives a coordinate: it is that of the body's own joint, or is eliminated there; else
0."""
_U, _W, _D, _R, _T = 0, 6, 12, 13, 14
_WIDTH = 15


class Mimics(NamedTuple):
    """The mimic joints of n bodies, and the workspace for what they pass on; the last of n + 1 rows is the world's.

    `role` (n,), `waits` (n + 1,), `row` (n + 1,) the velocity that is eliminated there, `factor` (n,) the joints'
    multipliers. `mass` and `newton` (n + 1, 15) hold u, w, d, r and t of the factors of M + d and of Newton's matrix.
    """

    role: NDArray[np.int64]
    waits: NDArray[np.int64]
    row: NDArray[np.int64]
    factor: NDArray[np.floating]
    mass: NDArray[np.floating]
    newton: NDArray[np.floating]


def topology(model: Model) -> NDArray[np.int64]:
    """(n, 4): that of `model.layout.pack`, with velocities counted without mimicking joints."""
    found = pack(model).topology.copy()
    found[:, V_START] = (
        model.coupling.v_index[np.minimum(found[:, V_START], max(model.tree_nv - 1, 0))] if model.tree_nv else 0
    )
    return found


def fit(model: Model) -> bool:
    """Whether the recursion serves a model's mimic joints."""
    return _mimics(model) is not None


def mimics(model: Model) -> Mimics | tuple[()]:
    """Return the workspace of a model that fits; an empty tuple without mimic joints."""
    found = _mimics(model) if model.has_mimic else None
    return found if found is not None else ()


def _mimics(model: Model) -> Mimics | None:
    n, parent, row = len(model.parent), model.parent.tolist(), topology(model)[:, V_START]
    below: list[set[int]] = [{i} for i in range(n)]
    for i in range(n - 1, -1, -1):
        if parent[i] != WORLD:
            below[parent[i]] |= below[i]
    below.append(set(range(n)))
    alike = [np.flatnonzero((row == y) & (model.kind <= PRISMATIC)).tolist() for y in range(model.nv)]
    role, waits, ends, factor = np.zeros(n, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.ones(n)
    for y, group in enumerate(alike):
        factor[group] = model.coupling.v_scale[model.v_start[group]]
        if len(group) < 2:
            continue
        top = min((i for i in range(n + 1) if below[i] >= set(group)), key=lambda i: len(below[i]))
        passed = {parent[i] if parent[i] != WORLD else n for i in group if i != top}
        if not passed <= {*group, top} or np.any(waits[list(passed)]):
            return None
        role[[i for i in group if i != top]] = STAYS
        waits[list(passed)] = JOINS
        ends[top] = y
        waits[top] = JOINS if top in group else ENDS
    return Mimics(role, waits, ends, factor, np.zeros((n + 1, _WIDTH)), np.zeros((n + 1, _WIDTH)))


def example() -> Mimics:
    """Return arrays of the types that kernels are compiled for."""
    whole, real = np.zeros(1, np.int64), np.zeros(1)
    return Mimics(whole, whole, whole, real, real[None], real[None])


@inline
def clear(rows):
    """Clear what is passed on."""
    for i in range(rows.shape[0]):
        for k in range(_T):
            rows[i, k] = 0.0


@inline
def clear_r(rows):
    """Clear r of all coordinates."""
    for i in range(rows.shape[0]):
        rows[i, _R] = 0.0


@inline
def axis(i, e, tree):
    """S of a joint with one axis e."""
    return scale(tree.mimics.factor[i], e) if len(tree.mimics) > 0 else e


@inline
def add_drift(i, omega, velocity, rows):
    """Add to r of the coordinate at body i the effect of an added motion (ω, v) of the body."""
    held = rows[i]
    held[_R] += dot(load3(held, _W), omega) + dot(load3(held, _W + 3), velocity)


@inline
def received(i, kind, s, forces, rows, mimics):
    """The `forces` of a joint with motion s, its column (x, y), row (z, w), d and r, with those passed on to it."""
    x, y, z, w, D, along = forces
    if mimics.waits[i] == JOINS:
        held = rows[i]
        a, b, c, d = load3(held, _U), load3(held, _U + 3), load3(held, _W), load3(held, _W + 3)
        D += held[_D] + (dot(s, a) + dot(s, c) if kind == REVOLUTE else dot(s, b) + dot(s, d))
        along += held[_R]
        x, y, z, w = add(x, a), add(y, b), add(z, c), add(w, d)
    return x, y, z, w, D, along


@inline
def pass_on(parent, arm, forces, rows):
    """Pass on a coordinate's column, row, d and r to the parent, which may be the world."""
    held, (x, y, z, w, D, along) = rows[parent if parent != WORLD else rows.shape[0] - 1], forces
    store3(held, add(load3(held, _U), add(x, cross(arm, y))), _U)
    store3(held, add(load3(held, _U + 3), y), _U + 3)
    store3(held, add(load3(held, _W), add(z, cross(arm, w))), _W)
    store3(held, add(load3(held, _W + 3), w), _W + 3)
    held[_D] += D
    held[_R] += along


@inline
def eliminate_coordinate(i, right, added, rows, mimics):
    """Compute t of the coordinate eliminated in body i; store w/d and 1/d in place of w and d."""
    held, y = rows[i], mimics.row[i]
    over = 1.0 / (held[_D] + added[y])
    held[_T], held[_D] = over * (right[y] - held[_R]), over
    store3(held, scale(over, load3(held, _W)), _W)
    store3(held, scale(over, load3(held, _W + 3)), _W + 3)


@inline
def with_coordinate_force(i, n, f, rows):
    """The wrench of body i plus that of the coordinate eliminated there."""
    held = rows[i]
    return add(n, scale(held[_T], load3(held, _U))), add(f, scale(held[_T], load3(held, _U + 3)))


@inline
def update_with_wrench(i, n, f, rows):
    """The wrench of body i plus that which an added wrench causes by the coordinate eliminated there; t is updated."""
    held = rows[i]
    t = -held[_D] * held[_R]
    held[_T] += t
    return add(n, scale(t, load3(held, _U))), add(f, scale(t, load3(held, _U + 3)))


@inline
def without_coordinate(i, body, rows):
    """Eliminate the coordinate that ends at body i from its inertia [a b; c d] and its wrench (n, f)."""
    held, (a, b, c, d, n, f) = rows[i], body
    x, y, z, w = load3(held, _U), load3(held, _U + 3), load3(held, _W), load3(held, _W + 3)
    a, b, c, d = minus_outer(a, x, z), minus_outer(b, x, w), minus_outer(c, y, z), minus_outer(d, y, w)
    n, f = with_coordinate_force(i, n, f, rows)
    return a, b, c, d, n, f


@inline
def without_coordinate_symmetric(i, A, B, C, rows):
    """Eliminate the coordinate that ends at body i from a symmetric inertia; A and C are upper triangles."""
    held = rows[i]
    return less_rank_one(A, B, C, load3(held, _U), load3(held, _U + 3), held[_D])


@inline
def eliminate_in_pairs(i, tree):
    """Eliminate the coordinate that ends at body i from what pairs of bodies pass on, after `eliminate_coordinate`."""
    held, y = tree.mimics.newton[i], tree.mimics.row[i]
    x, z = load3(held, _U), load3(held, _W)
    eliminate(
        i, REVOLUTE, ZERO, x, load3(held, _U + 3), z, load3(held, _W + 3), held[_D], held[_T], y, tree.pairs
    )  # fmt: skip


@inline
def has_own(i, tree):
    """Whether the coordinate of body i's joint is eliminated with it."""
    return tree.mimics.role[i] == OWN if len(tree.mimics) > 0 else True


@inline
def passed_on_force(i, parent, along, rows, mimics):
    """r of body i's joint: `along` = Sᵀ p plus what was passed on to it; r of a coordinate that stays is passed on."""
    if mimics.waits[i] == JOINS:
        along += rows[i, _R]
        rows[i, _R] = 0.0
    if mimics.role[i] == STAYS:
        rows[parent if parent != WORLD else rows.shape[0] - 1, _R] += along
    return along


@inline
def eliminate_again(i, right, mimics):
    """Compute t of the coordinate eliminated in body i for another right-hand side, by the factors of M + d."""
    held, y = mimics.mass[i], mimics.row[i]
    held[_T] = held[_D] * (right[y] - held[_R])
    held[_R] = 0.0


@inline
def coordinate_velocity(i, omega, velocity, rows, mimics, out):
    """Compute the velocity of the coordinate eliminated in body i, whose twist is (ω, v), into `out`."""
    held = rows[i]
    out[mimics.row[i]] = held[_T] - dot(load3(held, _W), omega) - dot(load3(held, _W + 3), velocity)


@inline
def own_mobilities(mimics, out):
    """Compute the velocity per unit force of each coordinate that is eliminated in a body, as if the body were
    fixed."""
    for i in range(mimics.waits.size):
        if mimics.waits[i] == ENDS:
            out[mimics.row[i]] = mimics.mass[i, _D]


@inline
def with_joint_mobility(kind, s, k, E, H):
    """Add k S Sᵀ to the mobility [E F; Fᵀ H] of a body whose joint's coordinate is passed on; k is that
    coordinate's."""
    square = scale(k, s)
    turns = (s[0] * square[0], s[0] * square[1], s[0] * square[2], s[1] * square[1], s[1] * square[2], s[2] * square[2])
    return (plus(E, turns), H) if kind == REVOLUTE else (E, plus(H, turns))
