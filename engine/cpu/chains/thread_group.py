"""One call of `dca`, shared between threads that meet in memory (`runtime.thread_pool`).

Each block is claimed, once an epoch, by one thread; each prefers its own, and takes what else is left. Then nobody
waits but for work that someone is doing:

    1. T_i and the motion within each chunk, then I, Φ and Y (no velocity enters there);
    2. with the motion of all chunks before: p and b, then the block's chunks joined to one element;
       the last to finish joins the blocks;
    3. with I and p of all that lies distal to it: the ABA's recursion, and the map of accelerations through each chunk;
    4. with the maps of all chunks before: accelerations.

A simulation's step adds inertias, locks and external wrenches (`chunks.ADDITIONS`), and calls again with others of them
for the same motion, which is then as it was (`dca_step.FRESH`). It times its phases by the leader's clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from engine.cpu.chains import chunk_join, chunk_passes, chunks, dca_step
from engine.cpu.chains.lanes import aligned
from engine.cpu.rigid_body.workspace import EIGHT
from engine.cpu.runtime import atomic, clock
from engine.cpu.runtime.epochs import EPOCH, LINE, OWN
from engine.cpu.runtime.numba_kernels import inline, kernel
from engine.cpu.runtime.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.model.layout import Packed
from engine.phases import ACCELERATION, BIAS, CHUNKS, COUNT, INERTIA_RECURSION, JOINS, KINEMATICS

LARGEST = dca_step.MOST
"""Threads, at most: a thread keeps which blocks it has claimed in the bits of a number."""
_ARRIVED, _JOINED, _DONE, _UNFIT, _CALLED, _BLOCKS = (OWN + LINE * k for k in range(6))
TASK, TABLE = _CALLED, _CALLED + 1
"""Places in the control block: what helpers of a simulation's step call, and where the group's table lies."""


class ThreadGroup(NamedTuple):
    """What the threads share: the chain in T blocks of L chunks (`chunks`, `join`), and the control they meet by."""

    constants: NDArray[np.floating]
    links: NDArray[np.int64]
    first: NDArray[np.int64]
    w: NDArray[np.floating]
    """(m, WIDTH · L)."""
    chunk: NDArray[np.floating]
    """(T, CHUNK · L)."""
    suffix: NDArray[np.floating]
    """(T, L, 18, 8): the element of each chunk and all that follow it in its block."""
    span: NDArray[np.floating]
    """(T, 18, 8): the element of each block and all that follow it."""
    scratch: NDArray[np.floating]
    """(T, 31, 32): M (6), an element (18), a twist or acceleration (1), K (6), see `join`."""
    gravity: NDArray[np.floating]
    control: NDArray[np.int64]
    arguments: NDArray[np.int64]
    """(ARGUMENTS,): where q, v, τ, q̈ and the rest lie, see `dca_step`."""
    additions: NDArray[np.floating] | None
    """(m, ADDITIONS · L), or None where nothing is added."""


def gather(packed: Packed, blocks: int, additions: bool = False) -> ThreadGroup:
    """A group for a packed serial chain, in blocks of eight chunks; for a simulation's steps with `additions`."""
    n, dtype, L = len(packed.topology), packed.constants.dtype.name, len(EIGHT)
    piece = chunks.cut(packed, blocks, L)
    return ThreadGroup(
        *piece,
        w=aligned((len(piece.links), chunks.WIDTH * L), dtype),
        chunk=aligned((blocks, chunks.CHUNK * L), dtype),
        suffix=aligned((blocks, L, 18, 8), dtype),
        span=aligned((blocks, 18, 8), dtype),
        scratch=aligned((blocks, 31, 32), dtype),
        gravity=packed.constants[n, :3].copy(),
        control=aligned((_BLOCKS + 3 * LINE * blocks,), "int64"),
        arguments=np.zeros(dca_step.ARGUMENTS, np.int64),
        additions=aligned((len(piece.links), chunks.ADDITIONS * L), dtype) if additions else None,
    )


def addresses(group: ThreadGroup, n: int) -> NDArray[np.int64]:
    """Where all that lies, for a chain of n links: one array is handed to compiled code sooner than fourteen."""
    places = (0 if array is None else array.ctypes.data for array in group)
    return np.array([n, len(group.chunk), len(group.links), *places], np.int64)


@inline
def _reals(table, which, like, shape):
    return carray(atomic.pointer(table[3 + which], like), shape)


@inline
def _integers(table, which, shape):
    return carray(atomic.pointer(table[3 + which], table), shape)


@inline
def _additions(table, like, additions):
    if additions is None:
        return additions
    return _reals(table, 11, like, (table[2], chunks.ADDITIONS * len(EIGHT)))


@inline
def group_at(table, like, additions):
    """The group of which `table` holds the addresses; `like` is an array of its number type.

    `additions` is None where it has none, else any matrix of that type.
    """
    blocks, rows, L = table[1], table[2], len(EIGHT)
    return ThreadGroup(
        _reals(table, 0, like, (rows, chunks.CONSTANTS * L)),
        _integers(table, 1, (rows, L)),
        _integers(table, 2, (blocks + 1,)),
        _reals(table, 3, like, (rows, chunks.WIDTH * L)),
        _reals(table, 4, like, (blocks, chunks.CHUNK * L)),
        _reals(table, 5, like, (blocks, L, 18, 8)),
        _reals(table, 6, like, (blocks, 18, 8)),
        _reals(table, 7, like, (blocks, 31, 32)),
        _reals(table, 8, like, (3,)),
        _integers(table, 9, (_BLOCKS + 3 * LINE * blocks,)),
        _integers(table, 10, (dca_step.ARGUMENTS,)),
        _additions(table, like, additions),
    )


@inline
def _claim(t):
    return _BLOCKS + 3 * LINE * t


@inline
def _moved(t):
    return _claim(t) + LINE


@inline
def _mapped(t):
    return _claim(t) + 2 * LINE


@inline
def _argument(group, which, n):
    return carray(atomic.pointer(group.arguments[which], group.w), n)


@inline
def _fresh(arguments, additions):
    """Whether the motion of the chain is another than in the last call."""
    if additions is None:
        return True
    return arguments[dca_step.FRESH] != 0


@inline
def _wrenches(arguments, additions, n):
    if additions is None:
        return additions
    wrenches = arguments[dca_step.WRENCHES]
    return carray(atomic.pointer(wrenches, additions), (n if wrenches != 0 else 0, 6))


@inline
def _gravity(group, additions):
    if additions is None:
        return group.gravity
    return _argument(group, dca_step.GRAVITY, 3)


@inline
def _reaction(group, additions, n):
    """Where the reactions go; not used where there are none."""
    return _argument(group, dca_step.OUT if additions is None else dca_step.REACTION, n)


@inline
def _gather_additions(group, additions, rows, n):
    if additions is not None:
        inertia, locked = _argument(group, dca_step.INERTIA, n), _argument(group, dca_step.LOCKED, n)
        target = _argument(group, dca_step.TARGET, n)
        chunk_passes.gather_additions(group.links[rows], additions[rows], EIGHT, inertia, locked, target)


@inline
def _lap(group, additions, me, phase):
    """Add the time since the last lap to a phase, on the leader's thread, where phases are asked for."""
    if additions is not None:
        arguments = group.arguments
        if me == 0 and arguments[dca_step.PHASES] != 0:
            time = clock.now(arguments[dca_step.CLOCK : dca_step.CLOCK + 2])
            if phase >= 0:
                phases = carray(atomic.pointer(arguments[dca_step.PHASES], arguments), COUNT)
                phases[phase] += time - arguments[dca_step.SINCE]
            arguments[dca_step.SINCE] = time


@kernel
def _first_part(group, t, epoch, n, me, additions):
    rows = slice(group.first[t], group.first[t + 1])
    constants, links, w, chunk = group.constants[rows], group.links[rows], group.w[rows], group.chunk[t]
    if _fresh(group.arguments, additions):
        q, v = _argument(group, dca_step.Q, n), _argument(group, dca_step.V, n)
        chunk_passes.relative_motion(constants, links, w, chunk, EIGHT, q, v)
    atomic.write(group.control, _moved(t), epoch)
    _gather_additions(group, additions, rows, n)
    _lap(group, additions, me, KINEMATICS)
    chunk_passes.inertias(constants, w, chunk, EIGHT, chunk_passes.rows_of(additions, rows))
    _lap(group, additions, me, CHUNKS)


@kernel
def _second_part(group, t, epoch, n, me, additions):
    rows, scratch = slice(group.first[t], group.first[t + 1]), group.scratch[t]
    constants, links, w, chunk = group.constants[rows], group.links[rows], group.w[rows], group.chunk[t]
    if _fresh(group.arguments, additions):
        twist = scratch[24, :6]
        twist[:] = 0.0
        for s in range(t):
            atomic.wait_for(group.control, _moved(s), epoch)
            chunk_join.carry_twist(group.chunk[s], EIGHT, twist, False)
        chunk_join.carry_twist(chunk, EIGHT, twist, True)
        chunk_passes.bias_forces(constants, links, w, chunk, EIGHT, _wrenches(group.arguments, additions, n))
    _lap(group, additions, me, BIAS)
    tau = _argument(group, dca_step.TAU, n)
    chunk_passes.forces(constants, links, w, chunk, EIGHT, tau, chunk_passes.rows_of(additions, rows))
    chunk_join.join_chunks(chunk, EIGHT, group.suffix[t], scratch[6:24, :8], scratch[25:, :8], scratch[:6])
    if atomic.count(group.control, _ARRIVED) == group.chunk.shape[0] * epoch:
        chunk_join.join_blocks(group.suffix, group.span, scratch[25:, :8], scratch[:6])
        atomic.write(group.control, _JOINED, epoch)
    _lap(group, additions, me, JOINS)


@kernel
def _third_part(group, t, epoch, n, me, additions):
    rows, scratch, last = slice(group.first[t], group.first[t + 1]), group.scratch[t], group.chunk.shape[0] - 1
    constants, links, w, chunk = group.constants[rows], group.links[rows], group.w[rows], group.chunk[t]
    following, whole = group.span[min(t + 1, last)], scratch[6:24, :8]
    chunk_join.distal(chunk, EIGHT, group.suffix[t], following, t == last, whole, scratch[25:, :8], scratch[:6])
    _lap(group, additions, me, JOINS)
    tau = _argument(group, dca_step.TAU, n)
    chunk_passes.articulate(constants, links, w, chunk, EIGHT, tau, chunk_passes.rows_of(additions, rows))
    _lap(group, additions, me, INERTIA_RECURSION)
    chunk_passes.maps(constants, w, chunk, EIGHT)
    atomic.write(group.control, _mapped(t), epoch)


@kernel
def _fourth_part(group, t, epoch, n, additions):
    rows, a, gravity = slice(group.first[t], group.first[t + 1]), group.scratch[t, 24, :6], _gravity(group, additions)
    constants, links, w, chunk = group.constants[rows], group.links[rows], group.w[rows], group.chunk[t]
    for j in range(3):
        a[j], a[3 + j] = 0.0, -gravity[j]
    for s in range(t):
        atomic.wait_for(group.control, _mapped(s), epoch)
        chunk_join.carry_acceleration(group.chunk[s], EIGHT, a, False)
    chunk_join.carry_acceleration(chunk, EIGHT, a, True)
    out, reaction = _argument(group, dca_step.OUT, n), _reaction(group, additions, n)
    added = chunk_passes.rows_of(additions, rows)
    if not chunk_passes.accelerations(constants, links, w, chunk, EIGHT, out, added, reaction):
        atomic.count(group.control, _UNFIT)
    atomic.count(group.control, _DONE)


@kernel
def take_part(group, n, me, epoch, additions):
    """Claim blocks, thread `me` its own first, and see them through; `additions` are the group's."""
    blocks, mine = group.chunk.shape[0], 0
    for step in range(blocks):
        t = (me + step) % blocks
        if atomic.exchange(group.control, _claim(t), epoch - 1, epoch):
            mine |= 1 << t
            _first_part(group, t, epoch, n, me, additions)
    for t in range(blocks):
        if mine >> t & 1:
            _second_part(group, t, epoch, n, me, additions)
    if mine:
        atomic.wait_for(group.control, _JOINED, epoch)
    for t in range(blocks):
        if mine >> t & 1:
            _third_part(group, t, epoch, n, me, additions)
    for t in range(blocks):
        if mine >> t & 1:
            _fourth_part(group, t, epoch, n, additions)


@inline
def begin_epoch(group, additions):
    """Begin the next epoch, whose arguments stand, as its leader; answers its number."""
    control, epoch = group.control, group.control[EPOCH] + 1
    control[_UNFIT] = 0
    _lap(group, additions, 0, -1)
    atomic.write(control, EPOCH, epoch)
    return epoch


@inline
def finish_epoch(group, epoch, additions):
    """Wait until all blocks are done."""
    atomic.wait_for(group.control, _DONE, group.chunk.shape[0] * epoch)
    _lap(group, additions, 0, ACCELERATION)


@kernel
def lead(table, like, q, v, tau, out):
    """q̈ (n,) into `out` from q, v and τ (n,); answers FITS, WRONG_SHAPE or NOT_FINITE."""
    group, n = group_at(table, like, None), table[0]
    if not (q.shape[0] == n and v.shape[0] == n and tau.shape[0] == n and out.shape[0] == n):
        return WRONG_SHAPE
    arguments = group.arguments
    arguments[dca_step.Q], arguments[dca_step.V] = q.ctypes.data, v.ctypes.data
    arguments[dca_step.TAU], arguments[dca_step.OUT] = tau.ctypes.data, out.ctypes.data
    epoch = begin_epoch(group, None)
    take_part(group, n, 0, epoch, None)
    finish_epoch(group, epoch, None)
    return FITS if atomic.read(group.control, _UNFIT) == 0 else NOT_FINITE


@kernel
def attend(table, like, me, buffer):
    """Take part in calls as thread `me`, until none has come for a while."""
    group, n = group_at(table, like, None), table[0]
    epoch = atomic.next_epoch(group.control, 0, buffer)
    while epoch >= 0:
        take_part(group, n, me, epoch, None)
        epoch = atomic.next_epoch(group.control, epoch, buffer)
