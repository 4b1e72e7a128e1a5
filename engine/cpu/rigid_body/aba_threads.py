"""The ABA for a batch on threads that claim blocks of eight robots, for `aba_batch`.

A block uses the lanes of vector instructions (`aba`). Robots are independent, and a block has the same eight on any
thread, so the number of threads changes no bit.

The process has one `ThreadPool`, led by one caller at a time; a caller that finds it busy works alone. Runs of blocks
are claimed from one word with the epoch, the number of threads, the next run and the number of runs: a successful claim
proves that the epoch is not over, and that the control block belongs to it.
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
from engine.per_process import OnePerProcess

RUNS = 4
"""Runs of blocks per thread: enough that a late thread still finds some."""
MAX_THREADS = 255
"""The maximum number of threads."""
BUSY = 3
"""The status where another thread leads the pool."""
_LANES = len(EIGHT)
_CLAIM, _DONE, _INVALID, _LED, _TASK = (OWN + LINE * k for k in range(5))
_BODIES, _BATCH, _NQ, _NV, _RUN, _TOPOLOGY, _CONSTANTS, _W, _Q, _V, _TAU, _OUT, _CODE = (
    _TASK + 1 + k for k in range(13)
)
_NEXT, _THREADS, _EPOCH = 1 << 16, 32, 40  # in the word of claims: one run; the shifts of threads and epoch


@inline
def _by_code(code, constants, q, v, tau, out, first, last, invalid):
    """Compute robots `first` up to `last` by written-out code; `invalid[0]` counts blocks with a number that is not
    finite."""
    for k in range(first, last, len(EIGHT)):
        at_q, at_v, at_tau, at_out = address(q[k:last]), address(v[k:last]), address(tau[k:last]), address(out[k:last])
        call(code, constants, at_q, at_v, at_tau, at_out, last - k, address(invalid))


@guard
def _alone(fixed, invalid, q, v, tau, out):
    """`_lead` on the caller's thread alone, by written-out code; `invalid` (1,) is a work array."""
    topology = array_at(fixed[2], "int64", (fixed[1], 4))
    if not tree_passes.shapes_fit(topology, q, v, tau, out):
        return WRONG_SHAPE
    invalid[0] = 0
    _by_code(fixed[5], fixed[3], q, v, tau, out, 0, q.shape[0], invalid)
    return FITS if invalid[0] == 0 else NOT_FINITE


@kernel
def _take_part(control, thread, epoch, dtype):
    """Claim and compute runs of this epoch as that `thread`, with numbers of `dtype`."""
    while True:
        claim = read(control, _CLAIM)
        run, runs, threads = claim >> 16 & 0xFFFF, claim & 0xFFFF, claim >> _THREADS & 0xFF
        if claim >> _EPOCH != epoch & 0x7FFFFF or run >= runs or thread >= threads:
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
            _by_code(code, control[_CONSTANTS], q, v, tau, out, first, last, control[_INVALID:])
        else:
            status = aba.forward(
                topology, constants, w[thread], EIGHT, q[first:last], v[first:last], tau[first:last], out[first:last]
            )
            if status != FITS:
                count(control, _INVALID)
        count(control, _DONE)


@kernel
def _in_double(place, thread, epoch):
    _take_part(array_at(place, "int64", (0,)), thread, epoch, "float64")


@kernel
def _in_single(place, thread, epoch):
    _take_part(array_at(place, "int64", (0,)), thread, epoch, "float32")


_TASKS = {"float64": _in_double, "float32": _in_single}
"""`_take_part` by number type, given the control block's address."""


@kernel
def _serve_calls(control, thread):
    """Take part in calls as that `thread`, until none has come for a while."""
    epoch = next_epoch(control, 0)
    while epoch >= 0:
        call(control[_TASK], address(control), thread, epoch)
        epoch = next_epoch(control, epoch)


@kernel
def _lead(fixed, control, threads, q, v, tau, out):
    """Compute q̈ into `out` (batch, nv) from q (batch, nq), v and τ (batch, nv), on `threads` threads.

    Returns a `status`, or BUSY if another thread leads. `fixed` holds the task, the number of bodies, the addresses of
    topology, constants and workspaces, and that of written-out code, 0 for none. No signal is handled in here, so that
    the lead is always given up.
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
    control[_INVALID] = 0
    control[_DONE] = 0
    write(control, _CLAIM, (epoch & 0x7FFFFF) << _EPOCH | threads << _THREADS | runs)
    write(control, EPOCH, epoch)
    call(fixed[0], address(control), 0, epoch)
    wait_for(control, _DONE, runs)
    invalid = read(control, _INVALID)
    write(control, _LED, 0)
    return FITS if invalid == 0 else NOT_FINITE


class _Pool:
    """The process's thread pool, led by one caller at a time."""

    def __init__(self) -> None:
        self.control = _control()
        run_thread = partial(_run_thread, specialise(_serve_calls, self.control, 1), self.control)
        self.threads = ThreadPool(run_thread, min(cores(), MAX_THREADS) - 1, self.control, "batch")
        atexit.register(self.threads.dismiss)


def _run_thread(serve_calls: Callable[..., None], control: NDArray[np.int64], thread: int) -> None:
    serve_calls(control, thread)


shared_pool = OnePerProcess(_Pool)


class Blocks:
    """Forward dynamics of batches of a packed model in blocks, with workspaces for `threads` threads.

    `code` is the address of `kernels.aba.forward_dynamics_of_some` for the robot, in EIGHT lanes; it takes the
    `constants`.
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
        """Computes q̈ into `out` on the caller's thread."""
        if code:
            invalid = np.zeros(1, np.int64)
            self.alone = partial(specialise(_alone, fixed, invalid, *example), fixed, invalid)

    def __call__(self, threads: int, q: Array, v: Array, tau: Array, out: Array) -> int:
        """Compute q̈ into `out` on that many threads, the caller's among them; alone where another thread leads the
        pool."""
        if threads > 1:
            pool = shared_pool()
            if pool.threads.sleeping:
                pool.threads.wake(threads)
            status = self._lead(pool.control, threads, q, v, tau, out)
            if status != BUSY:
                return status
        return self.alone(q, v, tau, out)


def _control() -> NDArray[np.int64]:
    return np.zeros(_CODE + LINE, np.int64)
