"""The threads of DCA-ABA in a simulation's steps: made for a chain, called by the compiled step loop (`dca_step`)."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import types
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from engine.cpu.chains import chunks, dca_step, thread_group
from engine.cpu.rigid_body.workspace import EIGHT
from engine.cpu.runtime import atomic, clock, numba_code
from engine.cpu.runtime.arrays import Array
from engine.cpu.runtime.numba_kernels import callback, kernel, specialise
from engine.cpu.runtime.thread_pool import ThreadPool
from engine.model.layout import Packed

_SIGNATURE = types.void(types.int64, types.int64, types.int64)
_ENTRIES = 3 + len(thread_group.ThreadGroup._fields)


def _turn(address, me, epoch):
    """Lead the next epoch as thread 0, or help with this one as another; `address` is that of the control block."""
    none = np.empty((0, 0), np.float64)
    words = np.empty(0, np.int64)
    control = carray(atomic.pointer(address, words), thread_group.TABLE + 1)
    table = carray(atomic.pointer(control[thread_group.TABLE], words), _ENTRIES)
    group = thread_group.group_at(table, none, none)
    if me == 0:
        epoch = thread_group.begin_epoch(group, group.additions)
    thread_group.take_part(group, table[0], me, epoch, group.additions)
    if me == 0:
        thread_group.finish_epoch(group, epoch, group.additions)


@kernel
def _attend(control, me, buffer):
    """Take part in calls as thread `me`, until none has come for a while."""
    epoch = atomic.next_epoch(control, 0, buffer)
    while epoch >= 0:
        atomic.call(control[thread_group.TASK], control, me, epoch)
        epoch = atomic.next_epoch(control, epoch, buffer)


@cache
def _compiled() -> tuple[Any, Callable[..., None]]:
    """What a step calls, and what helpers do."""
    code = callback(_SIGNATURE, _turn), specialise(_attend, np.zeros(1, np.int64), 1, clock.buffer())
    numba_code.note(dca_step.CODE)
    return code


def make_code() -> None:
    """Compile it, or read it from disk."""
    _compiled()


class DcaGroup:
    """Threads that share each call of a step for one of the robots like a packed serial chain.

    `room` is what the step loop knows of it. The caller's thread is one of `blocks`; the others look on between the
    calls of a run of steps, and sleep half a millisecond after the last. `close`, or the end of the object, ends them.
    """

    def __init__(self, packed: Packed, blocks: int):
        turn, attend = _compiled()
        self._blocks, self._group = blocks, thread_group.gather(packed, blocks, additions=True)
        self._tables: dict[int, tuple[NDArray[np.int64], Array]] = {}
        self._packed, group = packed, self._group
        arguments, control = group.arguments, group.control
        arguments[dca_step.CONTROL], arguments[dca_step.TASK] = control.ctypes.data, turn.address
        control[thread_group.TASK] = turn.address
        self.room = dca_step.Room(arguments)
        self._pool = ThreadPool(partial(_stand_by, attend, group), blocks - 1, control, "dca-step")
        self._end = weakref.finalize(self, self._pool.dismiss)

    def begin(self, robot: int, constants: Array) -> None:
        """Have the threads ready for a run of steps of that robot, whose constants (n + 1, CONSTANTS) never change."""
        if robot not in self._tables:
            self._tables[robot] = self._table(constants)
        self._group.control[thread_group.TABLE] = self._tables[robot][0].ctypes.data
        if self._pool.asleep:
            self._pool.wake(self._blocks)

    def _table(self, constants: Array) -> tuple[NDArray[np.int64], Array]:
        """Where everything lies for a robot, and its constants, which nothing else holds on to."""
        piece = chunks.cut(self._packed._replace(constants=constants), self._blocks, len(EIGHT))
        group = self._group._replace(constants=piece.constants)
        return thread_group.addresses(group, len(self._packed.topology)), piece.constants

    def close(self) -> None:
        """End the other threads. Steps stay possible, on the caller's thread alone."""
        self._end()


def _stand_by(attend: Callable[..., None], group: thread_group.ThreadGroup, me: int) -> None:
    attend(group.control, me, clock.buffer())
