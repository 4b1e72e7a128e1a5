"""The ABIA for one robot and for batches: few robots one after the other, more in blocks on threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from engine.compile import specialise
from engine.cpu.rigid_body import aba
from engine.cpu.rigid_body.aba_threads import MOST, Blocks
from engine.cpu.rigid_body.workspace import EIGHT, ONE, workspace
from engine.cpu.runtime.arrays import admit
from engine.cpu.runtime.cores import checked, cores
from engine.cpu.runtime.status import FITS
from engine.model import Model
from engine.model.layout import pack

FEW = 3
"""Robots that are done sooner one after the other than in the lanes of a block."""
SHARE = 32
"""Bodies times blocks that are worth a thread: some 10 µs."""


class Abia:
    """Forward dynamics by the ABA, see `cpu.dynamics.Kernels`.

    `threads` is how many take part in a batch at most, the caller's among them; None: as many as pay, up to the number
    of cores. An answer has the same bits for any number. One object serves one caller at a time, from any thread.
    """

    def __init__(self, model: Model, dtype: str, threads: int | None):
        self._most, self._dtype = min(checked(threads), cores(), MOST), np.dtype(dtype)
        self._example = (np.zeros((1, 1), dtype),) * 4
        self._packed, self._bodies = pack(model, dtype), len(model.parent)
        self.one = aba.for_one(self._packed)
        self._blocks: Blocks | None = None

    def many(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        """Of matrices, q (batch, nq) and the others (batch, nv)."""
        if len(q) <= FEW:
            return self._in_turn(q, v, tau, out)
        if self._admit(q, v, tau, out) != FITS:
            return NotImplemented
        blocks = -(-len(q) // len(EIGHT))
        threads = max(1, min(blocks, blocks * self._bodies // SHARE, self._most))
        if self._blocks is None or threads > self._blocks.threads:
            self._blocks = Blocks(self._packed, threads)
        return self._blocks(threads, q, v, tau, out)

    @cached_property
    def _admit(self) -> Callable[..., Any]:
        return specialise(admit, *self._example)

    @cached_property
    def _in_turn(self) -> Callable[..., Any]:
        fixed = (*self._packed, workspace(self._bodies, ONE, self._dtype.name), ONE)
        return partial(specialise(aba.forward, *fixed, *self._example), *fixed)
