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
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.compile import guard, inline, kernel, specialise
from engine.compile.operations import address, call
from engine.compile.shared import array_at, count, exchange, read, write
from engine.cpu.rigid_body import aba, tree_passes
from engine.cpu.rigid_body.workspace import EIGHT, WIDTH
from engine.cpu.runtime.arrays import Array
from engine.cpu.runtime.cores import cores
from engine.cpu.runtime.epochs import EPOCH, LINE, OWN, next_epoch, wait_for
from engine.cpu.runtime.thread_pool import ThreadPool
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.model.layout import CONSTANTS, Packed
from engine.process import OnePerProcess

RUNS = 4
"""Runs of blocks for each thread: so many that one who comes late still finds some."""
MOST = 255
"""Threads, at most."""
BUSY = 3
"""Answered where another thread leads the pool."""
_LANES = len(EIGHT)
_CLAIM, _DONE, _UNFIT, _LED, _TASK = (OWN + LINE * k for k in range(5))
_BODIES, _BATCH, _NQ, _NV, _RUN, _TOPOLOGY, _CONSTANTS, _W, _Q, _V, _TAU, _OUT, _CODE = (
    _TASK + 1 + k for k in range(13)
)
_NEXT, _THREADS, _EPOCH = 1 << 16, 32, 40  # in the word of claims: one run more; where threads and epoch stand


@inline
def _by_code(code, constants, q, v, tau, out, first, last, unfit):
    """Robots `first` up to `last` by code for the robot; `unfit[0]` counts blocks in which a number is not finite."""
    for k in range(first, last, len(EIGHT)):
        at_q, at_v, at_tau, at_out = address(q[k:last]), address(v[k:last]), address(tau[k:last]), address(out[k:last])
        call(code, constants, at_q, at_v, at_tau, at_out, last - k, address(unfit))


@guard
def _alone(fixed, unfit, q, v, tau, out):
    """`_lead` on the caller's thread alone, by code for the robot; `unfit` (1,) is room for it."""
    topology = array_at(fixed[2], "int64", (fixed[1], 4))
    if not tree_passes.shapes_fit(topology, q, v, tau, out):
        return WRONG_SHAPE
    unfit[0] = 0
    _by_code(fixed[5], fixed[3], q, v, tau, out, 0, q.shape[0], unfit)
    return FITS if unfit[0] == 0 else NOT_FINITE


@kernel
def _take_part(control, me, epoch, dtype):
    """Claim runs of this epoch as thread `me`, and see them through; `dtype` is their number type."""
    while True:
        claim = read(control, _CLAIM)
        run, runs, threads = claim >> 16 & 0xFFFF, claim & 0xFFFF, claim >> _THREADS & 0xFF
        if claim >> _EPOCH != epoch & 0x7FFFFF or run >= runs or me >= threads:
            return
        if not exchange(control, _CLAIM, claim, claim + _NEXT):
            continue
        n, batch, nq, nv = control[_BODIES], control[_BATCH], control[_NQ], control[_NV]
        topology = array_at(control[_TOPOLOGY], "int64", (n, 4))
        constants = array_at(control[_CONSTANTS], dtype, (n + 1, CONSTANTS))
        w = array_at(control[_W], dtype, (threads, n, WIDTH * _LANES))
        q, v = array_at(control[_Q], dtype, (batch, nq)), array_at(control[_V], dtype, (batch, nv))
        tau, out = array_at(control[_TAU], dtype, (batch, nv)), array_at(control[_OUT], dtype, (batch, nv))
        first, last, code = run * control[_RUN], min((run + 1) * control[_RUN], batch), control[_CODE]
        if code != 0:
            _by_code(code, control[_CONSTANTS], q, v, tau, out, first, last, control[_UNFIT:])
        else:
            status = aba.forward(
                topology, constants, w[me], EIGHT, q[first:last], v[first:last], tau[first:last], out[first:last]
            )
            if status != FITS:
                count(control, _UNFIT)
        count(control, _DONE)


@kernel
def _in_double(place, me, epoch):
    _take_part(array_at(place, "int64", (0,)), me, epoch, "float64")


@kernel
def _in_single(place, me, epoch):
    _take_part(array_at(place, "int64", (0,)), me, epoch, "float32")


_TASKS = {"float64": _in_double, "float32": _in_single}
"""`_take_part` by number type, for the control block at an address."""


@kernel
def _attend(control, me):
    """Take part in calls as thread `me`, until none has come for a while."""
    epoch = next_epoch(control, 0)
    while epoch >= 0:
        call(control[_TASK], address(control), me, epoch)
        epoch = next_epoch(control, epoch)


@kernel
def _lead(fixed, control, threads, q, v, tau, out):
    """q̈ into `out` (batch, nv), from q (batch, nq), v and τ (batch, nv), on `threads` threads; returns a `status`.

    Or BUSY, where another thread leads. `fixed` holds the task, the number of bodies, where topology, constants and
    workspaces lie, and where code for the robot does, 0 where there is none. No signal is handled in here, so that
    nobody leads for ever.
    """
    topology = array_at(fixed[2], "int64", (fixed[1], 4))
    if not tree_passes.shapes_fit(topology, q, v, tau, out):
        return WRONG_SHAPE
    if not exchange(control, _LED, 0, 1):
        return BUSY
    batch, epoch = q.shape[0], control[EPOCH] + 1
    run = _LANES * -(-batch // (_LANES * RUNS * threads))
    runs = -(-batch // run)
    control[_TASK], control[_BODIES], control[_BATCH], control[_RUN] = fixed[0], fixed[1], batch, run
    control[_NQ], control[_NV] = q.shape[1], v.shape[1]
    control[_TOPOLOGY], control[_CONSTANTS], control[_W] = fixed[2], fixed[3], fixed[4]
    control[_Q], control[_V] = address(q), address(v)
    control[_TAU], control[_OUT], control[_CODE] = address(tau), address(out), fixed[5]
    control[_UNFIT] = 0
    control[_DONE] = 0
    write(control, _CLAIM, (epoch & 0x7FFFFF) << _EPOCH | threads << _THREADS | runs)
    write(control, EPOCH, epoch)
    call(fixed[0], address(control), 0, epoch)
    wait_for(control, _DONE, runs)
    unfit = read(control, _UNFIT)
    write(control, _LED, 0)
    return FITS if unfit == 0 else NOT_FINITE


class _Pool:
    """The process's thread pool, which whoever calls first may lead."""

    def __init__(self) -> None:
        self.control = _control()
        stand_by = partial(_stand_by, specialise(_attend, self.control, 1), self.control)
        self.threads = ThreadPool(stand_by, min(cores(), MOST) - 1, self.control, "batch")
        atexit.register(self.threads.dismiss)


def _stand_by(attend: Callable[..., None], control: NDArray[np.int64], me: int) -> None:
    attend(control, me)


_pool = OnePerProcess(_Pool)


class Blocks:
    """Forward dynamics of a packed model's batches in blocks, with room for `threads` threads.

    `code` is where `kernels.aba.forward_dynamics_of_some` is for the robot, in EIGHT lanes; it takes the `constants`.
    """

    def __init__(self, packed: Packed, threads: int, code: int = 0, constants: Array | None = None):
        dtype = packed.constants.dtype.name
        w = np.zeros((0 if code else threads, len(packed.topology), WIDTH * _LANES), dtype)
        numbers = packed.constants if constants is None else constants
        self.threads, self.w, self._own, self._kept = threads, w, _control(), (packed, numbers)
        places = (array.ctypes.data for array in (packed.topology, numbers, w))
        fixed = np.array([_TASKS[dtype].address(3), len(packed.topology), *places, code], np.int64)
        example = (np.zeros((1, 1), dtype),) * 4
        self._lead: Callable[..., int] = partial(specialise(_lead, fixed, self._own, 1, *example), fixed)
        self.alone: Callable[..., int] = partial(self._lead, self._own, 1)
        """q̈ into `out` on the caller's thread."""
        if code:
            unfit = np.zeros(1, np.int64)
            self.alone = partial(specialise(_alone, fixed, unfit, *example), fixed, unfit)

    def __call__(self, threads: int, q: Array, v: Array, tau: Array, out: Array) -> int:
        """q̈ into `out` on so many threads, the caller's among them; alone where another thread leads the pool."""
        if threads > 1:
            pool = _pool()
            if pool.threads.asleep:
                pool.threads.wake(threads)
            status = self._lead(pool.control, threads, q, v, tau, out)
            if status != BUSY:
                return status
        return self.alone(q, v, tau, out)


def _control() -> NDArray[np.int64]:
    return np.zeros(_CODE + LINE, np.int64)
