"""Hybrid ABIA: articulated inertias by recursion on the CPU, the rest by scans on the GPU, [Y] section II.C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.cuda.chains.block_solvers import Bidiagonal, Graph
from engine.cuda.chains.thread_group import (
    CHAIN_FIELDS,
    MAX_THREADS,
    PREAMBLE,
    ChainArrays,
    ThreadGroupKernels,
    ThreadGroups,
    Workspace,
)
from engine.cuda.runtime import arrays, compiler
from engine.model import Model

_FIELDS = CHAIN_FIELDS + 1

Recursion = Callable[[np.ndarray, np.ndarray], None]
"""Computes U = Ĵ S (batch, n, 6), the second argument, from q (batch, n), on the host: all that the rest needs of Ĵ."""


class AbiaHybrid:
    """``abia_hybrid(q, v, tau, out)``: q̈ of serial chains on a fixed base, for contiguous CuPy arrays (batch, n).

    The call copies q to the host, waits for it only, and copies U back; the GPU computes τ_bias meanwhile.
    """

    def __init__(self, model: Model, dtype: str, recursion: Recursion):
        self._n, self._dtype, self._recursion = len(model.parent), np.dtype(dtype), recursion
        self._chain, real = ChainArrays.of(model, dtype), compiler.REAL[dtype]
        self._torques_left = ThreadGroupKernels("chains/abia_hybrid.cu", ["torques_left<"], dtype)
        names = [f"{kernel}<{real}>" for kernel in ("prepare", "divide", "finish")]
        module = compiler.load("chains/abia_hybrid.cu", names, PREAMBLE)
        self._between = [module.function(name) for name in names]
        self._batch = 0

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        import cupy

        if len(q) != self._batch:
            self.prepare(len(q))
        stream = cupy.cuda.get_current_stream()
        q.get(out=self._q, blocking=False)
        copied = stream.record()
        self._bias(q, v, tau)
        copied.synchronize()
        self._recursion(self._q, self._U_host)
        self._U.set(self._U_host, stream=stream)
        self._solve(q, out)

    def _scans(self, q: Any, out: Any) -> None:
        """Evaluate [Y] (8) from the tip and back, given U and τ_δ."""
        Psi, x, y = self._Psi, self._x, self._y
        self._prepare(q)
        self._from_tip(Psi, x, y)
        self._divide()
        self._from_base(Psi, x, y)
        self._finish(q, out)

    def prepare(self, batch: int) -> None:
        """Allocate the memory for a batch of `batch` robots. Raises MemoryError."""
        self._batch, n, name = 0, self._n, self._dtype.name
        groups = ThreadGroups.of(batch, n)
        workspace = Workspace(groups, _FIELDS, 0, name)
        tau_delta, self._Psi = arrays.empty((batch, n), name), arrays.empty((batch, n, 6, 6), name)
        self._U, self._x, self._y = (arrays.empty((batch, n, 6), name) for _ in range(3))
        (torques_left,) = self._torques_left.of(groups)
        self._bias = workspace.launch(torques_left, 3, workspace.outside, *self._chain, tau_delta)
        (constants, revolute), U, sizes = self._chain, self._U, (np.int32(batch), np.int32(n))
        rests = (
            (1, (constants, revolute, *sizes, U, tau_delta, self._Psi, self._x)),
            (0, (revolute, *sizes, U, tau_delta, self._y, self._x)),
            (2, (constants, revolute, *sizes, U, self._x, self._y)),
        )
        grid = -(-batch * n // MAX_THREADS)
        self._prepare, self._divide, self._finish = (
            compiler.Launch(kernel, grid, MAX_THREADS, given, rest)
            for kernel, (given, rest) in zip(self._between, rests, strict=True)
        )
        self._q, self._U_host = _pinned((batch, n), self._dtype), _pinned((batch, n, 6), self._dtype)
        self._from_tip = Bidiagonal(batch, n, dtype=name, transposed=True)
        self._from_base = Bidiagonal(batch, n, dtype=name)
        self._solve = Graph(self._scans)
        self._batch = batch


def _pinned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return a NumPy array in pinned memory."""
    import cupy

    size = int(np.prod(shape))
    memory = cupy.cuda.alloc_pinned_memory(size * dtype.itemsize)
    return np.frombuffer(memory, dtype, size).reshape(shape)
