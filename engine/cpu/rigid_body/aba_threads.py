"""The ABIA for a batch on threads, in blocks of eight robots, which whoever is free takes; for `aba_batch`.

A block goes through the lanes of vector instructions (`aba`). Robots know nothing of each other, and a block is the
same eight wherever it is worked on, so the number of threads changes no bit of an answer.

The process has one team of `helpers`, which whoever calls first may lead; who finds it led by another thread works
alone. Blocks are claimed in runs, from one word that holds the turn, how many threads may take part, the next run and
how many there are: who can claim a run knows that this turn is not over, and that what else the words say is of it.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import types
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from engine.cpu.rigid_body import aba, tree_passes
from engine.cpu.rigid_body.aba_batch import MOST
from engine.cpu.rigid_body.workspace import EIGHT, WIDTH
from engine.cpu.runtime import atomic, clock
from engine.cpu.runtime.arrays import Array
from engine.cpu.runtime.cores import cores
from engine.cpu.runtime.numba_kernels import callback, inline, kernel, specialise
from engine.cpu.runtime.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.cpu.runtime.thread_pool import LINE, OWN, TURN, Helpers, next_turn
from engine.model.layout import CONSTANTS, Packed

RUNS = 4
"""Runs of blocks for each thread: so many that one who comes late still finds some."""
BUSY = 3
"""Answered where another thread leads the helpers."""
_LANES = len(EIGHT)
_CLAIM, _DONE, _UNFIT, _LED, _TASK = (OWN + LINE * k for k in range(5))
_BODIES, _BATCH, _NQ, _NV, _RUN, _TOPOLOGY, _CONSTANTS, _W, _Q, _V, _TAU, _OUT = (_TASK + 1 + k for k in range(12))
_NEXT, _THREADS, _TURN = 1 << 16, 32, 40  # in the word of claims: one run more; where threads and turn stand


@inline
def _reals(words, place, like, shape):
    return carray(atomic.pointer(words[place], like), shape)


@kernel
def _take_part(words, me, turn, like):
    """Claim runs of this turn as thread `me`, and see them through; `like` is an array of their number type."""
    while True:
        claim = atomic.read(words, _CLAIM)
        run, runs, threads = claim >> 16 & 0xFFFF, claim & 0xFFFF, claim >> _THREADS & 0xFF
        if claim >> _TURN != turn & 0x7FFFFF or run >= runs or me >= threads:
            return
        if not atomic.exchange(words, _CLAIM, claim, claim + _NEXT):
            continue
        n, batch, nq, nv = words[_BODIES], words[_BATCH], words[_NQ], words[_NV]
        topology = carray(atomic.pointer(words[_TOPOLOGY], words), (n, 4))
        constants = _reals(words, _CONSTANTS, like, (n + 1, CONSTANTS))
        w = _reals(words, _W, like, (threads, n, WIDTH * _LANES))[me]
        some = slice(run * words[_RUN], min((run + 1) * words[_RUN], batch))
        q, v = _reals(words, _Q, like, (batch, nq))[some], _reals(words, _V, like, (batch, nv))[some]
        tau, out = _reals(words, _TAU, like, (batch, nv))[some], _reals(words, _OUT, like, (batch, nv))[some]
        if aba.forward(topology, constants, w, EIGHT, q, v, tau, out) != FITS:
            atomic.count(words, _UNFIT)
        atomic.count(words, _DONE)


def _in_double(address, me, turn):
    words = carray(atomic.pointer(address, np.empty(0, np.int64)), _OUT + 1)
    _take_part(words, me, turn, np.empty(0, np.float64))


def _in_single(address, me, turn):
    words = carray(atomic.pointer(address, np.empty(0, np.int64)), _OUT + 1)
    _take_part(words, me, turn, np.empty(0, np.float32))


@cache
def _task(dtype: str) -> Any:
    """`_take_part` in a number type as a function that has an address."""
    signature = types.void(types.int64, types.int64, types.int64)
    return callback(signature, {"float64": _in_double, "float32": _in_single}[dtype])


@kernel
def _attend(words, me, buffer):
    """Take part in calls as thread `me`, until none has come for a while."""
    turn = next_turn(words, 0, buffer)
    while turn >= 0:
        atomic.call(words[_TASK], words, me, turn)
        turn = next_turn(words, turn, buffer)


@kernel
def _lead(fixed, words, threads, q, v, tau, out):
    """q̈ into `out` (batch, nv), from q (batch, nq), v and τ (batch, nv), on `threads` threads; answers a `status`.

    Or BUSY, where another thread leads. `fixed` holds the task, the number of bodies, and where topology, constants and
    workspaces lie. No signal is handled in here, so that nobody leads for ever.
    """
    topology = carray(atomic.pointer(fixed[2], fixed), (fixed[1], 4))
    if not tree_passes.shapes_fit(topology, q, v, tau, out):
        return WRONG_SHAPE
    if not atomic.exchange(words, _LED, 0, 1):
        return BUSY
    batch, turn = q.shape[0], words[TURN] + 1
    run = _LANES * -(-batch // (_LANES * RUNS * threads))
    runs = -(-batch // run)
    words[_TASK], words[_BODIES], words[_BATCH], words[_RUN] = fixed[0], fixed[1], batch, run
    words[_NQ], words[_NV] = q.shape[1], v.shape[1]
    words[_TOPOLOGY], words[_CONSTANTS], words[_W] = fixed[2], fixed[3], fixed[4]
    words[_Q], words[_V], words[_TAU], words[_OUT] = q.ctypes.data, v.ctypes.data, tau.ctypes.data, out.ctypes.data
    words[_UNFIT] = words[_DONE] = 0
    atomic.write(words, _CLAIM, (turn & 0x7FFFFF) << _TURN | threads << _THREADS | runs)
    atomic.write(words, TURN, turn)
    atomic.call(fixed[0], words, 0, turn)
    atomic.wait_for(words, _DONE, runs)
    unfit = atomic.read(words, _UNFIT)
    atomic.write(words, _LED, 0)
    return FITS if unfit == 0 else NOT_FINITE


class _Crew:
    """The process's helpers, which whoever calls first may lead."""

    def __init__(self) -> None:
        self.words = _words()
        attend = specialise(_attend, self.words, 1, clock.buffer())
        self.helpers = Helpers(partial(_stand_by, attend, self.words), min(cores(), MOST) - 1, self.words, "batch")
        atexit.register(self.helpers.dismiss)


def _stand_by(attend: Callable[..., None], words: NDArray[np.int64], me: int) -> None:
    attend(words, me, clock.buffer())


_there: _Crew | None = None
_making = threading.Lock()


def _crew() -> _Crew:
    global _there
    with _making:
        if _there is None:
            _there = _Crew()
        return _there


def _forget() -> None:
    """Have the next call make a crew anew, as in a forked process, where threads stay behind."""
    global _there, _making
    _there, _making = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Blocks:
    """Forward dynamics of a packed model's batches in blocks, with room for `threads` threads."""

    def __init__(self, packed: Packed, threads: int):
        dtype = packed.constants.dtype.name
        w = np.zeros((threads, len(packed.topology), WIDTH * _LANES), dtype)
        self.threads, self.w, self._own, self._packed = threads, w, _words(), packed
        places = (array.ctypes.data for array in (*packed, w))
        fixed = np.array([_task(dtype).address, len(packed.topology), *places], np.int64)
        example = (np.zeros((1, 1), dtype),) * 4
        self._lead: Callable[..., int] = partial(specialise(_lead, fixed, self._own, 1, *example), fixed)

    def __call__(self, threads: int, q: Array, v: Array, tau: Array, out: Array) -> int:
        """q̈ into `out` on so many threads, the caller's among them; alone where another leads the helpers."""
        if threads > 1:
            crew = _crew()
            if crew.helpers.asleep:
                crew.helpers.wake(threads)
            status = self._lead(crew.words, threads, q, v, tau, out)
            if status != BUSY:
                return status
        return self._lead(self._own, 1, q, v, tau, out)


def _words() -> NDArray[np.int64]:
    return np.zeros(_OUT + LINE, np.int64)
