"""Forward dynamics by the ABA for one robot and for batches: written out, or with loops in blocks on threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from engine.compile import address_for, specialise, specialise_for
from engine.cpu.rigid_body import aba
from engine.cpu.rigid_body.aba_threads import MAX_THREADS, Blocks
from engine.cpu.rigid_body.workspace import EIGHT
from engine.cpu.runtime.arrays import Array, admit
from engine.cpu.runtime.cores import check_threads, cores
from engine.kernels.aba import forward_dynamics_of_one, forward_dynamics_of_some
from engine.kernels.robot import constants, pattern, robot_of
from engine.kernels.status import FITS, WRONG_SHAPE
from engine.model import Model
from engine.model.layout import pack

MAX_BODIES = 32
"""The maximum number of bodies of a robot with written-out code: larger ones take seconds to compile."""
LOOP_UP_TO = 3
"""The number of robots up to which the loop over robots is faster than a block's lanes, where loops are kept."""
SHARE = 32
"""Bodies times blocks that are worth a thread: some 10 µs."""


def for_one(model: Model, dtype: str) -> Callable[..., Any]:
    """Return forward dynamics of one robot, with vectors q, v, τ and q̈, see `cpu.dynamics.Kernels`."""
    return _written_out(model, dtype) if _serves(model) else aba.for_one(pack(model, dtype))


def _serves(model: Model) -> bool:
    """Whether a robot has written-out code."""
    return 0 < len(model.parent) <= MAX_BODIES and not model.has_mimic


@lru_cache(maxsize=64)
def _written_out(model: Model, dtype: str) -> Callable[..., Any]:
    """The code for one robot of the model's shape, with the model's constants."""
    robot, vectors = robot_of(model), (np.zeros(1, dtype),) * 4
    numbers = constants(robot, dtype)
    return partial(specialise_for(forward_dynamics_of_one, pattern(robot), dtype, numbers, *vectors), numbers)


class Abia:
    """Forward dynamics by the ABA, see `cpu.dynamics.Kernels`: written out for the model's shape, if small enough.

    At most `threads` threads share a batch, the caller's among them; None: as many as pay, up to the number of cores.
    Results have the same bits for any number, alone and in a batch. An object serves one caller at a time, from any
    thread.
    """

    def __init__(self, model: Model, dtype: str, threads: int | None):
        self._most, self._dtype, self._model = min(check_threads(threads), cores(), MAX_THREADS), dtype, model
        self._packed, self._bodies = pack(model, dtype), len(model.parent)
        self._blocks: Blocks | None = None

    def many(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        """Takes matrices, q (batch, nq) and the others (batch, nv)."""
        blocks = -(-len(q) // len(EIGHT))
        threads = max(1, min(blocks, blocks * self._bodies // SHARE, self._most))
        if threads == 1 and self._code:
            return self._alone(q, v, tau, out)
        if self._admit(q, v, tau, out) != FITS:
            return NotImplemented
        if len(q) <= LOOP_UP_TO:
            return self._in_turn(q, v, tau, out)
        if self._blocks is None or threads > self._blocks.threads:
            self._blocks = Blocks(self._packed, threads, *self._code)
        return self._blocks(threads, q, v, tau, out)

    @cached_property
    def one(self) -> Callable[..., Any]:
        """Takes vectors, q (nq,) and the others (nv,)."""
        return for_one(self._model, self._dtype)

    @cached_property
    def _alone(self) -> Callable[..., Any]:
        return Blocks(self._packed, 1, *self._code).alone

    def _in_turn(self, q: Any, v: Any, tau: Any, out: Any) -> int:
        if not len(q) == len(v) == len(tau) == len(out):
            return WRONG_SHAPE
        return max((self.one(*robot) for robot in zip(q, v, tau, out, strict=True)), default=FITS)

    @cached_property
    def _code(self) -> tuple[int, Array] | tuple[()]:
        """The address of the code for a block of robots of this shape, and its constants."""
        if not _serves(self._model):
            return ()
        robot = robot_of(self._model)
        place = address_for(forward_dynamics_of_some, (pattern(robot), self._dtype, EIGHT), self._dtype, 7)
        return place, constants(robot, self._dtype)

    @cached_property
    def _admit(self) -> Callable[..., Any]:
        return specialise(admit, *(np.zeros((1, 1), self._dtype),) * 4)
