"""One call of `dca`, shared between threads that meet in memory (`helpers`).

Each block is claimed, once a turn, by one thread; each prefers its own, and takes what else is left. Then nobody waits
but for work that someone is doing:

    1. T_i and the motion within each chunk, then I, Φ and Y (no velocity enters there);
    2. with the motion of all chunks before: p and b, then the block's chunks joined to one element;
       the last to finish joins the blocks;
    3. with I and p of all that lies beyond: the ABA's recursion, and the map of accelerations through each chunk;
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
from engine.cpu.runtime.thread_pool import LINE, OWN, TURN, next_turn
from engine.model.layout import Packed

LARGEST = 63
"""Threads, at most: a thread keeps which blocks it has claimed in the bits of a number."""
_ARRIVED, _JOINED, _DONE, _UNFIT, _BLOCKS = (OWN + LINE * k for k in range(5))


class Team(NamedTuple):
    """What the threads share: the chain in T blocks of L chunks (`chunks`, `join`), and the words they meet by."""

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
    words: NDArray[np.int64]
    arguments: NDArray[np.int64]
    """(4,): where q, v, τ and q̈ lie."""


def gather(packed: Packed, blocks: int) -> Team:
    """A team for a packed serial chain, in blocks of eight chunks."""
    n, dtype, L = len(packed.topology), packed.constants.dtype.name, len(EIGHT)
    piece = chunks.cut(packed, blocks, L)
    return Team(
        *piece,
        w=aligned((len(piece.links), chunks.WIDTH * L), dtype),
        chunk=aligned((blocks, chunks.CHUNK * L), dtype),
        suffix=aligned((blocks, L, 18, 8), dtype),
        span=aligned((blocks, 18, 8), dtype),
        scratch=aligned((blocks, 31, 32), dtype),
        gravity=packed.constants[n, :3].copy(),
        words=aligned((_BLOCKS + 3 * LINE * blocks,), "int64"),
        arguments=np.zeros(4, np.int64),
    )


def addresses(team: Team, n: int) -> NDArray[np.int64]:
    """Where all that lies, for a chain of n links: one array is handed to compiled code sooner than thirteen."""
    return np.array([n, len(team.chunk), len(team.links), *(array.ctypes.data for array in team)], np.int64)


@inline
def _reals(table, which, like, shape):
    return carray(atomic.pointer(table[3 + which], like), shape)


@inline
def _words(table, which, shape):
    return carray(atomic.pointer(table[3 + which], table), shape)


@inline
def _team(table, like):
    """The team of which `table` holds the addresses; `like` is an array of its number type."""
    blocks, rows, L = table[1], table[2], len(EIGHT)
    return Team(
        _reals(table, 0, like, (rows, chunks.CONSTANTS * L)),
        _words(table, 1, (rows, L)),
        _words(table, 2, (blocks + 1,)),
        _reals(table, 3, like, (rows, chunks.WIDTH * L)),
        _reals(table, 4, like, (blocks, chunks.CHUNK * L)),
        _reals(table, 5, like, (blocks, L, 18, 8)),
        _reals(table, 6, like, (blocks, 18, 8)),
        _reals(table, 7, like, (blocks, 31, 32)),
        _reals(table, 8, like, (3,)),
        _words(table, 9, (_BLOCKS + 3 * LINE * blocks,)),
        _words(table, 10, (4,)),
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
def _argument(team, which, n):
    return carray(atomic.pointer(team.arguments[which], team.w), n)


@kernel
def _first_part(team, t, turn, n):
    rows = slice(team.first[t], team.first[t + 1])
    constants, links, w, chunk = team.constants[rows], team.links[rows], team.w[rows], team.chunk[t]
    chunk_passes.relative_motion(constants, links, w, chunk, EIGHT, _argument(team, 0, n), _argument(team, 1, n))
    atomic.write(team.words, _moved(t), turn)
    chunk_passes.inertias(constants, w, chunk, EIGHT)


@kernel
def _second_part(team, t, turn, n):
    rows, scratch = slice(team.first[t], team.first[t + 1]), team.scratch[t]
    twist = scratch[24, :6]
    twist[:] = 0.0
    for s in range(t):
        atomic.wait_for(team.words, _moved(s), turn)
        chunk_join.carry_twist(team.chunk[s], EIGHT, twist, False)
    chunk_join.carry_twist(team.chunk[t], EIGHT, twist, True)
    chunk_passes.forces(
        team.constants[rows], team.links[rows], team.w[rows], team.chunk[t], EIGHT, _argument(team, 2, n)
    )
    chunk_join.join_chunks(team.chunk[t], EIGHT, team.suffix[t], scratch[6:24, :8], scratch[25:, :8], scratch[:6])
    if atomic.count(team.words, _ARRIVED) == team.chunk.shape[0] * turn:
        chunk_join.join_blocks(team.suffix, team.span, scratch[25:, :8], scratch[:6])
        atomic.write(team.words, _JOINED, turn)


@kernel
def _third_part(team, t, turn, n):
    rows, scratch, last = slice(team.first[t], team.first[t + 1]), team.scratch[t], team.chunk.shape[0] - 1
    constants, links, w, chunk = team.constants[rows], team.links[rows], team.w[rows], team.chunk[t]
    following, whole = team.span[min(t + 1, last)], scratch[6:24, :8]
    chunk_join.beyond(chunk, EIGHT, team.suffix[t], following, t == last, whole, scratch[25:, :8], scratch[:6])
    chunk_passes.articulate(constants, links, w, chunk, EIGHT, _argument(team, 2, n))
    chunk_passes.maps(constants, w, chunk, EIGHT)
    atomic.write(team.words, _mapped(t), turn)


@kernel
def _fourth_part(team, t, turn, n):
    rows, a = slice(team.first[t], team.first[t + 1]), team.scratch[t, 24, :6]
    constants, links, w, chunk = team.constants[rows], team.links[rows], team.w[rows], team.chunk[t]
    for j in range(3):
        a[j], a[3 + j] = 0.0, -team.gravity[j]
    for s in range(t):
        atomic.wait_for(team.words, _mapped(s), turn)
        chunk_join.carry_acceleration(team.chunk[s], EIGHT, a, False)
    chunk_join.carry_acceleration(chunk, EIGHT, a, True)
    if not chunk_passes.accelerations(constants, links, w, chunk, EIGHT, _argument(team, 3, n)):
        atomic.count(team.words, _UNFIT)
    atomic.count(team.words, _DONE)


@kernel
def _take_part(team, n, me, turn):
    """Claim blocks, thread `me` its own first, and see them through."""
    blocks, mine = team.chunk.shape[0], 0
    for step in range(blocks):
        t = (me + step) % blocks
        if atomic.exchange(team.words, _claim(t), turn - 1, turn):
            mine |= 1 << t
            _first_part(team, t, turn, n)
    for t in range(blocks):
        if mine >> t & 1:
            _second_part(team, t, turn, n)
    if mine:
        atomic.wait_for(team.words, _JOINED, turn)
    for t in range(blocks):
        if mine >> t & 1:
            _third_part(team, t, turn, n)
    for t in range(blocks):
        if mine >> t & 1:
            _fourth_part(team, t, turn, n)


@kernel
def lead(table, like, q, v, tau, out):
    """q̈ (n,) into `out` from q, v and τ (n,); answers FITS, WRONG_SHAPE or NOT_FINITE."""
    team, n = _team(table, like), table[0]
    if not (q.shape[0] == n and v.shape[0] == n and tau.shape[0] == n and out.shape[0] == n):
        return WRONG_SHAPE
    words, arguments, turn = team.words, team.arguments, team.words[TURN] + 1
    arguments[0], arguments[1], arguments[2] = q.ctypes.data, v.ctypes.data, tau.ctypes.data
    arguments[3] = out.ctypes.data
    words[_UNFIT] = 0
    atomic.write(words, TURN, turn)
    _take_part(team, n, 0, turn)
    atomic.wait_for(words, _DONE, team.chunk.shape[0] * turn)
    return FITS if atomic.read(words, _UNFIT) == 0 else NOT_FINITE


@kernel
def attend(table, like, me, buffer):
    """Take part in calls as thread `me`, until none has come for a while."""
    team, n = _team(table, like), table[0]
    turn = next_turn(team.words, 0, buffer)
    while turn >= 0:
        _take_part(team, n, me, turn)
        turn = next_turn(team.words, turn, buffer)
