"""The passes of `dca` over one block of a tree: its chunks and subtrees, L at once, see `group` and `plan`.

Equations and symbols are those of `trees.dca`. Motions and accelerations go outwards, shares (what the row before
receives) inwards. Those that do not pass from a row to the next in its lane go through ports.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.vectors import gather, load, scatter, store
from engine.cpu.rigid_body.workspace import EIGHT as LANES
from engine.cpu.runtime.lanes import load3, load6, load9, put3, put6, put9
from engine.cpu.trees import group as slot
from engine.cpu.trees import row_passes as row_of
from engine.cpu.trees import rows
from engine.cpu.trees.plan import L
from engine.kernels.spatial import add, cross, matmul, mul, scale, sub

GUESTS, HOSTS, ENDS = range(3)


@inline
def _some(group, r, which):
    """Whether a row has any entry in a list."""
    return group.first[r + 1, which] > group.first[r, which]


@kernel
def _set_lane(buffer, place, k, source, at_source, count):
    for f in range(count):
        buffer[(place + f) * L + k] = source[at_source + f]


@kernel
def _get_lane(buffer, place, k, target_acceleration, at_target, count):
    for f in range(count):
        target_acceleration[at_target + f] = buffer[(place + f) * L + k]


@kernel
def _add_lane(buffer, place, k, target_acceleration, at_target, count):
    for f in range(count):
        target_acceleration[at_target + f] += buffer[(place + f) * L + k]


@kernel
def _add_to_lane(buffer, place, k, source, at_source, count):
    for f in range(count):
        buffer[(place + f) * L + k] += source[at_source + f]


@kernel
def _clear_lane(buffer, place, k, count):
    for f in range(count):
        buffer[(place + f) * L + k] = 0.0


@kernel
def _identity_in_lane(buffer, place, size, k):
    _clear_lane(buffer, place, k, size * size)
    for r in range(size):
        buffer[(place + (size + 1) * r) * L + k] = 1.0


@kernel
def poses(group, t, q, v):
    """Compute T_i of all rows from q (nq,) and v (nv,)."""
    constants, w = group.constants, group.w
    for r in range(group.bounds[t, 0], group.bounds[t, 2]):
        row_of.pose(w[r], constants[r], group.of_q[r], LANES, q)
    for j in range(group.joint_first[t], group.joint_first[t + 1]):
        joint = group.joints[j]
        row_of.joint_of_several_rows(w, joint[0], joint[1], L, constants, q[joint[2] :], v[joint[3] :], joint[4])


@inline
def _relative(buffer):
    at_twist = slot.PHI + 12
    R, p = load9(buffer, slot.PHI, LANES), load3(buffer, slot.PHI + 9, LANES)
    return R, p, load3(buffer, at_twist, LANES), load3(buffer, at_twist + 3, LANES)


@inline
def _keep_relative(buffer, motion):
    put9(buffer, slot.PHI, motion[0])
    put3(buffer, slot.PHI + 9, motion[1])
    put3(buffer, slot.PHI + 12, motion[2])
    put3(buffer, slot.PHI + 15, motion[3])


@kernel
def relative_motion(group, t, v):
    """Compute the pose and twist of each chunk's last row relative to the row before the chunk."""
    buffer, begin, end = group.buffer[t], group.bounds[t, 0], group.bounds[t, 1]
    motion = _relative(buffer)
    for r in range(begin, end):
        if _some(group, r, GUESTS):
            _keep_relative(buffer, motion)
            for g in range(group.first[r, GUESTS], group.first[r + 1, GUESTS]):
                _identity_in_lane(buffer, slot.PHI, 3, group.guests[g, 0])
                _clear_lane(buffer, slot.PHI + 9, group.guests[g, 0], 9)
            motion = _relative(buffer)
        row = group.w[r]
        Rc, pc, o, u = motion
        o, u = row_of.own_twist(row, group.constants[r], o, u, gather(v, group.of_v[r], LANES), LANES)
        p = add(pc, mul(Rc, load3(row, rows.P, LANES)))
        motion = (matmul(Rc, load9(row, rows.R, LANES)), p, o, u)
        if _some(group, r, ENDS):
            _keep_relative(buffer, motion)
            for e in range(group.first[r, ENDS], group.first[r + 1, ENDS]):
                _get_lane(buffer, slot.PHI, group.ends[e, 0], group.chunk[group.ends[e, 1]], slot.CR, 18)


@kernel
def velocities(group, t, v, wrenches):
    """Compute the motion of every row, and its own force, minus the wrenches (n, 6) on the bodies, if any."""
    buffer, first = group.buffer[t], group.first
    for k in range(3 * L):
        buffer[slot.LANES_MOTION * L + k] = 0.0
    zero = load3(buffer, slot.LANES_MOTION, LANES)
    motion = (zero, zero, zero, zero)
    for r in range(group.bounds[t, 0], group.bounds[t, 2]):
        if _some(group, r, GUESTS):
            _keep_motion(buffer, motion)
            for g in range(first[r, GUESTS], first[r + 1, GUESTS]):
                _set_lane(
                    buffer, slot.LANES_MOTION, group.guests[g, 0], group.ports[group.guests[g, 1]], slot.MOTION, 12
                )
            motion = (
                load3(buffer, slot.LANES_MOTION, LANES), load3(buffer, slot.LANES_MOTION + 3, LANES),
                load3(buffer, slot.LANES_MOTION + 6, LANES), load3(buffer, slot.LANES_MOTION + 9, LANES),
            )  # fmt: skip
        motion = row_of.velocity(group.w[r], group.constants[r], motion, group.of_v[r], LANES, v)
        if wrenches.shape[0] > 0:
            row_of.less_wrenches(group.w[r], group.of_body[r], wrenches, L)
        if _some(group, r, HOSTS) or _some(group, r, ENDS):
            _keep_motion(buffer, motion)
            for h in range(first[r, HOSTS], first[r + 1, HOSTS]):
                _get_lane(buffer, slot.LANES_MOTION, group.hosts[h, 0], group.ports[group.hosts[h, 1]], slot.MOTION, 12)
            for e in range(first[r, ENDS], first[r + 1, ENDS]):
                _get_lane(buffer, slot.LANES_MOTION + 6, group.ends[e, 0], group.chunk[group.ends[e, 1]], slot.END, 6)


@inline
def _keep_motion(buffer, motion):
    put3(buffer, slot.LANES_MOTION, motion[0])
    put3(buffer, slot.LANES_MOTION + 3, motion[1])
    put3(buffer, slot.LANES_MOTION + 6, motion[2])
    put3(buffer, slot.LANES_MOTION + 9, motion[3])


@inline
def _share(buffer):
    A, B, C = load6(buffer, slot.I, LANES), load9(buffer, slot.I + 6, LANES), load6(buffer, slot.I + 15, LANES)
    return A, B, C, load3(buffer, slot.I + 21, LANES), load3(buffer, slot.I + 24, LANES)


@inline
def _keep_share(buffer, share):
    put6(buffer, slot.I, share[0])
    put9(buffer, slot.I + 6, share[1])
    put6(buffer, slot.I + 15, share[2])
    put3(buffer, slot.I + 21, share[3])
    put3(buffer, slot.I + 24, share[4])


@inline
def _take_from_ports(group, r, buffer):
    for h in range(group.first[r, HOSTS], group.first[r + 1, HOSTS]):
        _add_to_lane(buffer, slot.I, group.hosts[h, 0], group.ports[group.hosts[h, 1]], slot.SHARE_SUM, slot.SHARE)


@kernel
def absorb_subtrees(group, t, acting, added):
    """Run the ABA's inward recursion through the subtrees, whose shares go to the ports."""
    buffer, first = group.buffer[t], group.first
    for p in range(group.bounds[t, 3], group.bounds[t, 4]):
        for f in range(slot.SHARE):
            group.ports[p, slot.SHARE_SUM + f] = 0.0
    for k in range(slot.SHARE * L):
        buffer[slot.I * L + k] = 0.0
    share = _share(buffer)
    for r in range(group.bounds[t, 2] - 1, group.bounds[t, 1] - 1, -1):
        if _some(group, r, HOSTS):
            _keep_share(buffer, share)
            _take_from_ports(group, r, buffer)
            share = _share(buffer)
        share = row_of.absorb(group.w[r], group.constants[r], share, group.of_v[r], LANES, acting, added)
        if _some(group, r, GUESTS):
            _keep_share(buffer, share)
            for g in range(first[r, GUESTS], first[r + 1, GUESTS]):
                k = group.guests[g, 0]
                _add_lane(buffer, slot.I, k, group.ports[group.guests[g, 1]], slot.SHARE_SUM, slot.SHARE)
                _clear_lane(buffer, slot.I, k, slot.SHARE)
            share = _share(buffer)


@inline
def _carry(row, c, buffer):
    """Φ (1 − S Uᵀ/D) X, Y + (Φ S)(Φ S)ᵀ/D and b + Φ S u/D."""
    turns, slides = load(c, rows.TURNS, LANES), load(c, rows.SLIDES, LANES)
    d, ud = load(row, rows.DINV, LANES), load(row, rows.UD, LANES)
    R, p = load9(row, rows.R, LANES), load3(row, rows.P, LANES)
    Ux, Uy = load3(row, rows.U, LANES), load3(row, rows.U + 3, LANES)
    for r in range(6):
        x, y = load3(buffer, slot.PHI + 6 * r, LANES), load3(buffer, slot.PHI + 6 * r + 3, LANES)
        g = turns * x[2] + slides * y[2]
        store(buffer, slot.LANES_MOTION + r, g)
        store(buffer, slot.DRIFT + r, load(buffer, slot.DRIFT + r, LANES) + ud * g)
        e = g * d
        y = mul(R, sub(y, scale(e, Uy)))
        put3(buffer, slot.PHI + 6 * r, add(mul(R, sub(x, scale(e, Ux))), cross(p, y)))
        put3(buffer, slot.PHI + 6 * r + 3, y)
    n = 0
    for r in range(6):
        e = d * load(buffer, slot.LANES_MOTION + r, LANES)
        for s in range(r, 6):
            store(buffer, slot.Y + n, load(buffer, slot.Y + n, LANES) + e * load(buffer, slot.LANES_MOTION + s, LANES))
            n += 1


@inline
def _through_chunks(purpose, group, t, acting, added):
    """The ABA's inward recursion through each chunk: to "reduce" it, also that of Φ, Y and b, or to "articulate" it."""
    buffer, first = group.buffer[t], group.first
    share = _share(buffer)
    for r in range(group.bounds[t, 1] - 1, group.bounds[t, 0] - 1, -1):
        if _some(group, r, ENDS) or _some(group, r, HOSTS):
            _keep_share(buffer, share)
            for e in range(first[r, ENDS], first[r + 1, ENDS]):
                k, chunk = group.ends[e, 0], group.chunk[group.ends[e, 1]]
                if purpose == "articulate":
                    _set_lane(buffer, slot.I, k, chunk, slot.DISTAL, slot.SHARE)
                else:
                    _clear_lane(buffer, 0, k, slot.ELEMENT)
                    _identity_in_lane(buffer, slot.PHI, 6, k)
                    _set_lane(buffer, slot.DRIFT, k, chunk, slot.END, 6)
            _take_from_ports(group, r, buffer)
            share = _share(buffer)
        share = row_of.absorb(group.w[r], group.constants[r], share, group.of_v[r], LANES, acting, added)
        if purpose == "reduce":
            _carry(group.w[r], group.constants[r], buffer)
            if _some(group, r, GUESTS):
                _keep_share(buffer, share)
                for g in range(first[r, GUESTS], first[r + 1, GUESTS]):
                    _get_lane(buffer, 0, group.guests[g, 0], group.chunk[group.guests[g, 1]], 0, slot.ELEMENT)


@kernel
def reduce_chunks(group, t, acting, added):
    """Compute the five quantities of each chunk, from its end, without distal bodies."""
    _through_chunks("reduce", group, t, acting, added)


@kernel
def articulate_chunks(group, t, acting, added):
    """Run the ABA's inward recursion through each chunk, from the share of all bodies distal to it."""
    _through_chunks("articulate", group, t, acting, added)


@kernel
def maps(group, t):
    """Compute the affine map of the acceleration before each chunk to that at its end, column by column."""
    buffer, first = group.buffer[t], group.first
    for r in range(group.bounds[t, 0], group.bounds[t, 1]):
        for g in range(first[r, GUESTS], first[r + 1, GUESTS]):
            _identity_in_lane(buffer, slot.PHI, 6, group.guests[g, 0])
            _clear_lane(buffer, slot.PHI + 36, group.guests[g, 0], 6)
        row, c = group.w[r], group.constants[r]
        for place in range(slot.PHI, slot.PHI + 36, 6):
            x, y, _, _ = row_of.through(row, c, load3(buffer, place, LANES), load3(buffer, place + 3, LANES), LANES)
            put3(buffer, place, x)
            put3(buffer, place + 3, y)
        o, v = load3(buffer, slot.PHI + 36, LANES), load3(buffer, slot.PHI + 39, LANES)
        o, v, _, _ = row_of.accelerated(row, c, o, v, LANES, "")
        put3(buffer, slot.PHI + 36, o)
        put3(buffer, slot.PHI + 39, v)
        for e in range(first[r, ENDS], first[r + 1, ENDS]):
            chunk = group.chunk[group.ends[e, 1]]
            _get_lane(buffer, slot.PHI, group.ends[e, 0], chunk, slot.MAP, 42)
            for f in range(6):
                chunk[slot.SHIFT + f] += chunk[slot.END + f]


@kernel
def accelerations(group, t, acting, added):
    """Compute q̈, and with `added` the reactions; return whether every number is finite."""
    buffer, first, place = group.buffer[t], group.first, slot.LANES_MOTION
    for k in range(3 * L):
        buffer[place * L + k] = 0.0
    o = load3(buffer, place, LANES)
    v, check = o, o[0]
    for r in range(group.bounds[t, 0], group.bounds[t, 2]):
        if _some(group, r, GUESTS):
            put3(buffer, place, o)
            put3(buffer, place + 3, v)
            for g in range(first[r, GUESTS], first[r + 1, GUESTS]):
                _set_lane(buffer, place, group.guests[g, 0], group.ports[group.guests[g, 1]], slot.A, 6)
            o, v = load3(buffer, place, LANES), load3(buffer, place + 3, LANES)
        o, v, qdd, reaction = row_of.accelerated(group.w[r], group.constants[r], o, v, LANES, added)
        check = check + qdd * 0.0
        scatter(acting.qdd, group.of_v[r], qdd)
        if added != "":
            scatter(acting.reaction, group.of_v[r], reaction)
        if _some(group, r, HOSTS):
            put3(buffer, place, o)
            put3(buffer, place + 3, v)
            for h in range(first[r, HOSTS], first[r + 1, HOSTS]):
                _get_lane(buffer, place, group.hosts[h, 0], group.ports[group.hosts[h, 1]], slot.A, 6)
    store(buffer, place, check)
    finite = True
    for k in range(L):
        finite &= np.isfinite(buffer[place * L + k])
    return finite
