"""One call of `dca`, shared between threads that meet in memory (`runtime.thread_pool`).

Each block is claimed, once an epoch, by one thread; each prefers its own, and takes what else is left. Then nobody
waits but for work that someone is doing:

    1. T_i and the motion within each chunk, then I, Φ and Y (no velocity enters there);
    2. with the motion of all chunks before: p and b, then the block's chunks joined to one element;
       the last to finish joins the blocks;
    3. with I and p of all that lies distal to it: the ABA's recursion, and the map of accelerations through each chunk;
    4. with the maps of all chunks before: accelerations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from engine.cpu.chains import chunk_join, chunk_passes, chunks
from engine.cpu.chains.lanes import aligned
from engine.cpu.rigid_body.workspace import EIGHT
from engine.cpu.runtime import atomic
from engine.cpu.runtime.numba_kernels import inline, kernel
from engine.cpu.runtime.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.cpu.runtime.thread_pool import EPOCH, LINE, OWN, next_epoch
from engine.model.layout import Packed

LARGEST = 63
"""Threads, at most: a thread keeps which blocks it has claimed in the bits of a number."""
_ARRIVED, _JOINED, _DONE, _UNFIT, _BLOCKS = (OWN + LINE * k for k in range(5))


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
    """(4,): where q, v, τ and q̈ lie."""


def gather(packed: Packed, blocks: int) -> ThreadGroup:
    """A group for a packed serial chain, in blocks of eight chunks."""
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
        arguments=np.zeros(4, np.int64),
    )


def addresses(group: ThreadGroup, n: int) -> NDArray[np.int64]:
    """Where all that lies, for a chain of n links: one array is handed to compiled code sooner than thirteen."""
    return np.array([n, len(group.chunk), len(group.links), *(array.ctypes.data for array in group)], np.int64)


@inline
def _reals(table, which, like, shape):
    return carray(atomic.pointer(table[3 + which], like), shape)


@inline
def _integers(table, which, shape):
    return carray(atomic.pointer(table[3 + which], table), shape)


@inline
def _group(table, like):
    """The group of which `table` holds the addresses; `like` is an array of its number type."""
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
        _integers(table, 10, (4,)),
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


@kernel
def _first_part(group, t, epoch, n):
    rows = slice(group.first[t], group.first[t + 1])
    constants, links, w, chunk = group.constants[rows], group.links[rows], group.w[rows], group.chunk[t]
    chunk_passes.relative_motion(constants, links, w, chunk, EIGHT, _argument(group, 0, n), _argument(group, 1, n))
    atomic.write(group.control, _moved(t), epoch)
    chunk_passes.inertias(constants, w, chunk, EIGHT)


@kernel
def _second_part(group, t, epoch, n):
    rows, scratch = slice(group.first[t], group.first[t + 1]), group.scratch[t]
    twist = scratch[24, :6]
    twist[:] = 0.0
    for s in range(t):
        atomic.wait_for(group.control, _moved(s), epoch)
        chunk_join.carry_twist(group.chunk[s], EIGHT, twist, False)
    chunk_join.carry_twist(group.chunk[t], EIGHT, twist, True)
    chunk_passes.forces(
        group.constants[rows], group.links[rows], group.w[rows], group.chunk[t], EIGHT, _argument(group, 2, n)
    )
    chunk_join.join_chunks(group.chunk[t], EIGHT, group.suffix[t], scratch[6:24, :8], scratch[25:, :8], scratch[:6])
    if atomic.count(group.control, _ARRIVED) == group.chunk.shape[0] * epoch:
        chunk_join.join_blocks(group.suffix, group.span, scratch[25:, :8], scratch[:6])
        atomic.write(group.control, _JOINED, epoch)


@kernel
def _third_part(group, t, epoch, n):
    rows, scratch, last = slice(group.first[t], group.first[t + 1]), group.scratch[t], group.chunk.shape[0] - 1
    constants, links, w, chunk = group.constants[rows], group.links[rows], group.w[rows], group.chunk[t]
    following, whole = group.span[min(t + 1, last)], scratch[6:24, :8]
    chunk_join.distal(chunk, EIGHT, group.suffix[t], following, t == last, whole, scratch[25:, :8], scratch[:6])
    chunk_passes.articulate(constants, links, w, chunk, EIGHT, _argument(group, 2, n))
    chunk_passes.maps(constants, w, chunk, EIGHT)
    atomic.write(group.control, _mapped(t), epoch)


@kernel
def _fourth_part(group, t, epoch, n):
    rows, a = slice(group.first[t], group.first[t + 1]), group.scratch[t, 24, :6]
    constants, links, w, chunk = group.constants[rows], group.links[rows], group.w[rows], group.chunk[t]
    for j in range(3):
        a[j], a[3 + j] = 0.0, -group.gravity[j]
    for s in range(t):
        atomic.wait_for(group.control, _mapped(s), epoch)
        chunk_join.carry_acceleration(group.chunk[s], EIGHT, a, False)
    chunk_join.carry_acceleration(chunk, EIGHT, a, True)
    if not chunk_passes.accelerations(constants, links, w, chunk, EIGHT, _argument(group, 3, n)):
        atomic.count(group.control, _UNFIT)
    atomic.count(group.control, _DONE)


@kernel
def _take_part(group, n, me, epoch):
    """Claim blocks, thread `me` its own first, and see them through."""
    blocks, mine = group.chunk.shape[0], 0
    for step in range(blocks):
        t = (me + step) % blocks
        if atomic.exchange(group.control, _claim(t), epoch - 1, epoch):
            mine |= 1 << t
            _first_part(group, t, epoch, n)
    for t in range(blocks):
        if mine >> t & 1:
            _second_part(group, t, epoch, n)
    if mine:
        atomic.wait_for(group.control, _JOINED, epoch)
    for t in range(blocks):
        if mine >> t & 1:
            _third_part(group, t, epoch, n)
    for t in range(blocks):
        if mine >> t & 1:
            _fourth_part(group, t, epoch, n)


@kernel
def lead(table, like, q, v, tau, out):
    """q̈ (n,) into `out` from q, v and τ (n,); answers FITS, WRONG_SHAPE or NOT_FINITE."""
    group, n = _group(table, like), table[0]
    if not (q.shape[0] == n and v.shape[0] == n and tau.shape[0] == n and out.shape[0] == n):
        return WRONG_SHAPE
    control, arguments, epoch = group.control, group.arguments, group.control[EPOCH] + 1
    arguments[0], arguments[1], arguments[2] = q.ctypes.data, v.ctypes.data, tau.ctypes.data
    arguments[3] = out.ctypes.data
    control[_UNFIT] = 0
    atomic.write(control, EPOCH, epoch)
    _take_part(group, n, 0, epoch)
    atomic.wait_for(control, _DONE, group.chunk.shape[0] * epoch)
    return FITS if atomic.read(control, _UNFIT) == 0 else NOT_FINITE


@kernel
def attend(table, like, me, buffer):
    """Take part in calls as thread `me`, until none has come for a while."""
    group, n = _group(table, like), table[0]
    epoch = next_epoch(group.control, 0, buffer)
    while epoch >= 0:
        _take_part(group, n, me, epoch)
        epoch = next_epoch(group.control, epoch, buffer)
