"""One call of `dca` for a tree, shared between threads that communicate by memory (`runtime.thread_pool`).

Each block is claimed, once an epoch, by one thread; each prefers its own, and then takes others. A part of the work is
finished on all blocks before the next begins; the thread that finishes the last block does the nodes first:

    1. T_i, and the motion within each chunk;                          nodes: twists;
    2. own forces, shares of subtrees, the five quantities of chunks;  nodes: the share of all bodies distal to each;
    3. with these the ABA's recursion through chunks, and their maps;  nodes: accelerations;
    4. accelerations.

So threads only wait for work that another is doing, and no bit depends on which thread does it. A simulation's step
adds inertias, held joints and external wrenches, and calls again with other values for the same motion
(`dca_step.FRESH`). Its phases are timed by the leader's clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.compile.operations import address, call, now
from engine.compile.shared import array_at, count, exchange, read, write
from engine.cpu.chains import dca_step
from engine.cpu.runtime.epochs import EPOCH, LINE, OWN, next_epoch, wait_for
from engine.cpu.trees import block_passes, node_passes
from engine.cpu.trees.group import SIZES, group_at
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.phases import ACCELERATION, BIAS, CHUNKS, COUNT, INERTIA_RECURSION, JOINS, KINEMATICS

_ARRIVED, _PASSED, _DONE, _INVALID, TASK, _BLOCKS = (OWN + LINE * k for k in (0, 4, 8, 9, 10, 11))
TABLE = TASK + 1
"""Places in the control block: the function that helpers call, and the address of the group's table."""
TABLE_WORDS = SIZES + 28


def words(blocks: int) -> int:
    """The number of words of the control block."""
    return _BLOCKS + LINE * blocks


class Acting(NamedTuple):
    """Forces on the coordinates and the results, (nv,) each: see `accelerations.CoordinateForces`, `Accelerations`."""

    tau: NDArray[np.floating]
    added_inertia: NDArray[np.floating]
    held: NDArray[np.floating]
    target_acceleration: NDArray[np.floating]
    qdd: NDArray[np.floating]
    reaction: NDArray[np.floating]


@inline
def _argument(group, which, dtype):
    return array_at(group.arguments[which], dtype, (0,))


@inline
def _acting(group, dtype):
    return Acting(
        _argument(group, dca_step.TAU, dtype),
        _argument(group, dca_step.ADDED_INERTIA, dtype),
        _argument(group, dca_step.HELD, dtype),
        _argument(group, dca_step.TARGET_ACCELERATION, dtype),
        _argument(group, dca_step.OUT, dtype),
        _argument(group, dca_step.REACTION, dtype),
    )


@inline
def _wrenches(group, bodies, dtype):
    some = group.arguments[dca_step.WRENCHES] != 0
    return array_at(group.arguments[dca_step.WRENCHES], dtype, (bodies if some else 0, 6))


@inline
def _lap(group, thread, phase):
    """Add the time since the last lap to a phase, on the leader's thread, if phases are timed."""
    arguments = group.arguments
    if thread == 0 and arguments[dca_step.PHASES] != 0:
        time = now()
        if phase >= 0:
            phases = array_at(arguments[dca_step.PHASES], "int64", (COUNT,))
            phases[phase] += time - arguments[dca_step.SINCE]
        arguments[dca_step.SINCE] = time


@inline
def _claim(t):
    return _BLOCKS + LINE * t


@kernel
def _block_part(group, part, t, thread, bodies, dtype, added):
    """Do a part of the work on one block."""
    acting, fresh = _acting(group, dtype), group.arguments[dca_step.FRESH] != 0
    q, v = _argument(group, dca_step.Q, dtype), _argument(group, dca_step.V, dtype)
    if part == 0:
        if fresh:
            block_passes.poses(group, t, q, v)
            block_passes.relative_motion(group, t, v)
    elif part == 1:
        if fresh:
            block_passes.velocities(group, t, v, _wrenches(group, bodies, dtype))
        _lap(group, thread, BIAS)
        block_passes.absorb_subtrees(group, t, acting, added)
        block_passes.reduce_chunks(group, t, acting, added)
        _lap(group, thread, CHUNKS)
    elif part == 2:
        block_passes.articulate_chunks(group, t, acting, added)
        _lap(group, thread, INERTIA_RECURSION)
        block_passes.maps(group, t)
    elif not block_passes.accelerations(group, t, acting, added):
        count(group.control, _INVALID)


@kernel
def _node_part(group, part, bodies, dtype, added):
    """Do the nodes after a part."""
    acting = _acting(group, dtype)
    if part == 0:
        if group.arguments[dca_step.FRESH] != 0:
            q, v = _argument(group, dca_step.Q, dtype), _argument(group, dca_step.V, dtype)
            node_passes.velocities(group, q, v, _wrenches(group, bodies, dtype))
    elif part == 1:
        node_passes.inertias(group, acting, added)
    elif not node_passes.accelerations(group, acting, _argument(group, dca_step.GRAVITY, dtype), added):
        count(group.control, _INVALID)


@kernel
def _take_part(table, thread, epoch, dtype, added):
    """Claim and process blocks, `thread` its own first."""
    group, bodies, mine = group_at(table, dtype), table[4], 0
    control, blocks = group.control, group.bounds.shape[0]
    for step in range(blocks):
        t = (thread + step) % blocks
        if exchange(control, _claim(t), epoch - 1, epoch):
            mine |= 1 << t
            _block_part(group, 0, t, thread, bodies, dtype, added)
            _arrive(group, 0, epoch, bodies, dtype, added)
    if mine == 0:
        return
    for part in range(1, 4):
        wait_for(control, _PASSED + LINE * (part - 1), epoch)
        _lap(group, thread, KINEMATICS if part == 1 else (JOINS if part == 2 else ACCELERATION))
        for t in range(blocks):
            if mine >> t & 1:
                _block_part(group, part, t, thread, bodies, dtype, added)
                if part < 3:
                    _arrive(group, part, epoch, bodies, dtype, added)
                else:
                    count(control, _DONE)


@inline
def _arrive(group, part, epoch, bodies, dtype, added):
    if count(group.control, _ARRIVED + LINE * part) == group.bounds.shape[0] * epoch:
        _node_part(group, part, bodies, dtype, added)
        write(group.control, _PASSED + LINE * part, epoch)


@inline
def _call(place, thread, epoch, dtype, added):
    """Lead the next epoch as thread 0, or help with this one as another; `place` is that of the control block."""
    control = array_at(place, "int64", (0,))
    table = array_at(control[TABLE], "int64", (TABLE_WORDS,))
    group = group_at(table, dtype)
    if thread == 0:
        epoch = control[EPOCH] + 1
        control[_INVALID] = 0
        _lap(group, 0, -1)
        write(control, EPOCH, epoch)
    _take_part(table, thread, epoch, dtype, added)
    if thread == 0:
        wait_for(control, _DONE, group.bounds.shape[0] * epoch)
        _lap(group, 0, ACCELERATION)


@kernel
def _in_double(place, thread, epoch):
    _call(place, thread, epoch, "float64", "")


@kernel
def _in_single(place, thread, epoch):
    _call(place, thread, epoch, "float32", "")


@kernel
def step(place, thread, epoch):
    """Make a step's call, with its additions, see `_call`."""
    _call(place, thread, epoch, "float64", "added")


CALLS = {"float64": _in_double, "float32": _in_single}
"""Calls of forward dynamics by number type, see `_call`."""


@kernel
def lead(table, arguments, control, q, v, tau, out):
    """Compute q̈ (nv,) into `out` from q (nq,), v and τ (nv,); return FITS, WRONG_SHAPE or NOT_FINITE."""
    nq, nv = table[0], table[1]
    if not (q.shape[0] == nq and v.shape[0] == nv and tau.shape[0] == nv and out.shape[0] == nv):
        return WRONG_SHAPE
    arguments[dca_step.Q], arguments[dca_step.V] = address(q), address(v)
    arguments[dca_step.TAU], arguments[dca_step.OUT] = address(tau), address(out)
    call(control[TASK], address(control), 0, 0)
    return FITS if read(control, _INVALID) == 0 else NOT_FINITE


@kernel
def serve_calls(control, thread):
    """Take part in calls as that `thread`, until none has come for a while."""
    epoch = next_epoch(control, 0)
    while epoch >= 0:
        call(control[TASK], address(control), thread, epoch)
        epoch = next_epoch(control, epoch)
