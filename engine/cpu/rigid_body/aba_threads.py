"""The ABIA for a batch on threads, in blocks of eight robots, which whoever is free takes; for `aba_batch`.

A block goes through the lanes of vector instructions (`aba`). Robots know nothing of each other, and a block is the
same eight wherever it is worked on, so the number of threads changes no bit of an answer.

The process has one `ThreadPool`, which whoever calls first may lead; who finds it led by another thread works alone.
Blocks are claimed in runs, from one word that holds the epoch, how many threads may take part, the next run and how
many there are: who can claim a run knows that this epoch is not over, and that the control block is of it.
"""

from __future__ import annotations

import atexit
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
from engine.cpu.runtime.epochs import EPOCH, LINE, OWN
from engine.cpu.runtime.numba_kernels import callback, inline, kernel, specialise
from engine.cpu.runtime.process import OnePerProcess
from engine.cpu.runtime.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.cpu.runtime.thread_pool import ThreadPool
from engine.model.layout import CONSTANTS, Packed

RUNS = 4
"""Runs of blocks for each thread: so many that one who comes late still finds some."""
BUSY = 3
"""Answered where another thread leads the pool."""
_LANES = len(EIGHT)
_CLAIM, _DONE, _UNFIT, _LED, _TASK = (OWN + LINE * k for k in range(5))
_BODIES, _BATCH, _NQ, _NV, _RUN, _TOPOLOGY, _CONSTANTS, _W, _Q, _V, _TAU, _OUT = (_TASK + 1 + k for k in range(12))
_NEXT, _THREADS, _EPOCH = 1 << 16, 32, 40  # in the word of claims: one run more; where threads and epoch stand


@inline
def _reals(control, place, like, shape):
    return carray(atomic.pointer(control[place], like), shape)


@kernel
def _take_part(control, me, epoch, like):
    """Claim runs of this epoch as thread `me`, and see them through; `like` is an array of their number type."""
    while True:
        claim = atomic.read(control, _CLAIM)
        run, runs, threads = claim >> 16 & 0xFFFF, claim & 0xFFFF, claim >> _THREADS & 0xFF
        if claim >> _EPOCH != epoch & 0x7FFFFF or run >= runs or me >= threads:
            return
        if not atomic.exchange(control, _CLAIM, claim, claim + _NEXT):
            continue
        n, batch, nq, nv = control[_BODIES], control[_BATCH], control[_NQ], control[_NV]
        topology = carray(atomic.pointer(control[_TOPOLOGY], control), (n, 4))
        constants = _reals(control, _CONSTANTS, like, (n + 1, CONSTANTS))
        w = _reals(control, _W, like, (threads, n, WIDTH * _LANES))[me]
        some = slice(run * control[_RUN], min((run + 1) * control[_RUN], batch))
        q, v = _reals(control, _Q, like, (batch, nq))[some], _reals(control, _V, like, (batch, nv))[some]
        tau, out = _reals(control, _TAU, like, (batch, nv))[some], _reals(control, _OUT, like, (batch, nv))[some]
        if aba.forward(topology, constants, w, EIGHT, q, v, tau, out) != FITS:
            atomic.count(control, _UNFIT)
        atomic.count(control, _DONE)


def _in_double(address, me, epoch):
    control = carray(atomic.pointer(address, np.empty(0, np.int64)), _OUT + 1)
    _take_part(control, me, epoch, np.empty(0, np.float64))


def _in_single(address, me, epoch):
    control = carray(atomic.pointer(address, np.empty(0, np.int64)), _OUT + 1)
    _take_part(control, me, epoch, np.empty(0, np.float32))


@cache
def _task(dtype: str) -> Any:
    """`_take_part` in a number type as a function that has an address."""
    signature = types.void(types.int64, types.int64, types.int64)
    return callback(signature, {"float64": _in_double, "float32": _in_single}[dtype])


@kernel
def _attend(control, me, buffer):
    """Take part in calls as thread `me`, until none has come for a while."""
    epoch = atomic.next_epoch(control, 0, buffer)
    while epoch >= 0:
        atomic.call(control[_TASK], control, me, epoch)
        epoch = atomic.next_epoch(control, epoch, buffer)


@kernel
def _lead(fixed, control, threads, q, v, tau, out):
    """q̈ into `out` (batch, nv), from q (batch, nq), v and τ (batch, nv), on `threads` threads; answers a `status`.

    Or BUSY, where another thread leads. `fixed` holds the task, the number of bodies, and where topology, constants and
    workspaces lie. No signal is handled in here, so that nobody leads for ever.
    """
    topology = carray(atomic.pointer(fixed[2], fixed), (fixed[1], 4))
    if not tree_passes.shapes_fit(topology, q, v, tau, out):
        return WRONG_SHAPE
    if not atomic.exchange(control, _LED, 0, 1):
        return BUSY
    batch, epoch = q.shape[0], control[EPOCH] + 1
    run = _LANES * -(-batch // (_LANES * RUNS * threads))
    runs = -(-batch // run)
    control[_TASK], control[_BODIES], control[_BATCH], control[_RUN] = fixed[0], fixed[1], batch, run
    control[_NQ], control[_NV] = q.shape[1], v.shape[1]
    control[_TOPOLOGY], control[_CONSTANTS], control[_W] = fixed[2], fixed[3], fixed[4]
    control[_Q], control[_V] = q.ctypes.data, v.ctypes.data
    control[_TAU], control[_OUT] = tau.ctypes.data, out.ctypes.data
    control[_UNFIT] = control[_DONE] = 0
    atomic.write(control, _CLAIM, (epoch & 0x7FFFFF) << _EPOCH | threads << _THREADS | runs)
    atomic.write(control, EPOCH, epoch)
    atomic.call(fixed[0], control, 0, epoch)
    atomic.wait_for(control, _DONE, runs)
    unfit = atomic.read(control, _UNFIT)
    atomic.write(control, _LED, 0)
    return FITS if unfit == 0 else NOT_FINITE


class _Pool:
    """The process's thread pool, which whoever calls first may lead."""

    def __init__(self) -> None:
        self.control = _control()
        stand_by = partial(_stand_by, specialise(_attend, self.control, 1, clock.buffer()), self.control)
        self.threads = ThreadPool(stand_by, min(cores(), MOST) - 1, self.control, "batch")
        atexit.register(self.threads.dismiss)


def _stand_by(attend: Callable[..., None], control: NDArray[np.int64], me: int) -> None:
    attend(control, me, clock.buffer())


_pool = OnePerProcess(_Pool)


class Blocks:
    """Forward dynamics of a packed model's batches in blocks, with room for `threads` threads."""

    def __init__(self, packed: Packed, threads: int):
        dtype = packed.constants.dtype.name
        w = np.zeros((threads, len(packed.topology), WIDTH * _LANES), dtype)
        self.threads, self.w, self._own, self._packed = threads, w, _control(), packed
        places = (array.ctypes.data for array in (*packed, w))
        fixed = np.array([_task(dtype).address, len(packed.topology), *places], np.int64)
        example = (np.zeros((1, 1), dtype),) * 4
        self._lead: Callable[..., int] = partial(specialise(_lead, fixed, self._own, 1, *example), fixed)

    def __call__(self, threads: int, q: Array, v: Array, tau: Array, out: Array) -> int:
        """q̈ into `out` on so many threads, the caller's among them; alone where another thread leads the pool."""
        if threads > 1:
            pool = _pool()
            if pool.threads.asleep:
                pool.threads.wake(threads)
            status = self._lead(pool.control, threads, q, v, tau, out)
            if status != BUSY:
                return status
        return self._lead(self._own, 1, q, v, tau, out)


def _control() -> NDArray[np.int64]:
    return np.zeros(_OUT + LINE, np.int64)
