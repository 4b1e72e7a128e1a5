"""Contacts that no joint moves along their normal: their impulses are undetermined, and they are left out."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.kernels.contact.properties import bodies_of
from engine.kernels.contact.recursion_workspace import has_one_axis
from engine.kernels.robot import KIND, PARENT, V_START
from engine.kernels.spatial import cross, load3, load9, mul_t, store3, store9, sub
from engine.model import FREE, PRISMATIC, REVOLUTE, WORLD
from engine.scene.contact_tolerances import IMMOBILE


@inline
def _moves(body, n, x, topology, contact):
    """Whether any joint moves the place x of a body along n."""
    i, moves = body, False
    while i != WORLD and not moves:
        kind, R = topology[i, KIND], load9(contact.bodies.rotation[i])
        arm = sub(x, load3(contact.bodies.position[i]))
        angular, linear = mul_t(R, cross(arm, n)), mul_t(R, n)
        if kind == REVOLUTE:
            moves = abs(angular[2]) > IMMOBILE
        elif kind == PRISMATIC:
            moves = abs(linear[2]) > IMMOBILE
        else:
            largest = max(abs(angular[0]), max(abs(angular[1]), abs(angular[2])))
            moves = kind == FREE or largest > IMMOBILE
        i = topology[i, PARENT]
    return moves


@inline
def _add_motion(i, sign, n, x, topology, contact):
    """Add to `column`, times `sign`, the velocity along n of a place x by body i's joint."""
    kind, start, row, R = topology[i, KIND], topology[i, V_START], contact.column, load9(contact.bodies.rotation[i])
    angular, linear = mul_t(R, cross(sub(x, load3(contact.bodies.position[i])), n)), mul_t(R, n)
    if has_one_axis(kind):
        factor = sign * contact.solver.tree.mimics.factor[i] if len(contact.solver.tree.mimics) > 0 else sign
        row[start] += factor * (angular[2] if kind == REVOLUTE else linear[2])
    else:
        for k in range(3):
            row[start + k] += sign * angular[k]
            if kind == FREE:
                row[start + 3 + k] += sign * linear[k]


@kernel
def _moves_relatively(a, b, n, x, topology, contact):
    """Whether any joint moves the place x of body a along n relative to body b."""
    largest = 0.0
    for j in range(contact.column.size):
        contact.column[j] = 0.0
    while a != b:  # common ancestors move both alike
        if a > b:
            _add_motion(a, 1.0, n, x, topology, contact)
            a = topology[a, PARENT]
        else:
            _add_motion(b, -1.0, n, x, topology, contact)
            b = topology[b, PARENT]
    for j in range(contact.column.size):
        largest = max(largest, abs(contact.column[j]))
    return largest > IMMOBILE


@kernel
def _swap(touching, i, j):
    """Swap two contacts."""
    touching.point[i], touching.point[j] = touching.point[j], touching.point[i]
    touching.shape[i], touching.shape[j] = touching.shape[j], touching.shape[i]
    touching.gap[i], touching.gap[j] = touching.gap[j], touching.gap[i]
    x, y = load3(touching.position[i]), load3(touching.position[j])
    store3(touching.position[i], y)
    store3(touching.position[j], x)
    A, B = load9(touching.frame[i]), load9(touching.frame[j])
    store9(touching.frame[i], B)
    store9(touching.frame[j], A)


@inline
def leave_out_immobile(count, topology, contact):
    """Move contacts that no joint moves along their normal behind all movable ones; return the number of movable
    contacts."""
    touching, i = contact.contacts, 0
    while i < count:
        (a, b), x, n = bodies_of(touching.shape[i], contact), load3(touching.position[i]), load3(touching.frame[i])
        moves = False
        if len(contact.pairs) > 0 and b != WORLD:
            moves = _moves_relatively(a, b, n, x, topology, contact)
        else:
            moves = _moves(a, n, x, topology, contact)
        if moves:
            i += 1
        else:
            count -= 1
            for later in range(i, count):
                _swap(touching, later, later + 1)
    return count
