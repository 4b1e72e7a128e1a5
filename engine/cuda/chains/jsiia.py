"""JSIIA on the GPU: the mass matrix of serial chains, its factor and its solution in one launch (`jsiia.cu`)."""

from __future__ import annotations

import numpy as np

from engine.cuda.chains.thread_group import (
    CHAIN_FIELDS,
    WARP,
    ChainArrays,
    OneLaunch,
    ThreadGroupKernels,
    ThreadGroups,
    Workspace,
)
from engine.cuda.runtime import arrays, device, header
from engine.cuda.runtime.compiler import Launch
from engine.model import Model

_FIELDS = CHAIN_FIELDS + 1
_PANEL, _VECTORS = 16, 12
"""Rows of a block of the matrix; numbers of a link's row and axis."""


class Jsiia(OneLaunch):
    """``jsiia(q, v, tau, out)``: q̈ of serial chains from a fixed base, for contiguous CuPy arrays (batch, n).

    q̈ is not a number where rounding leaves a mass matrix that is not positive definite.
    """

    def __init__(self, model: Model, dtype: str = "float64"):
        self._n, self._dtype = len(model.parent), np.dtype(dtype)
        self._chain = ChainArrays.of(model, dtype)
        self._kernels = ThreadGroupKernels(
            "chains/jsiia.cu", ["jsiia<"], dtype, "\n".join(header.numbers({"P": _PANEL, "VECTORS": _VECTORS}))
        )

    def _made(self, batch: int) -> Launch:
        groups, size, name = ThreadGroups.of(batch, self._n, dense=True), self._dtype.itemsize, self._dtype.name
        if self._n <= WARP:
            share, beside = 0, groups.block // groups.threads * self._n * (self._n | 1) * size
        else:
            panels = -(-self._n // _PANEL)
            share = panels * (panels + 1) // 2 * _PANEL**2 + (1 + _VECTORS) * panels * _PANEL
            beside = panels * _PANEL * size
        numbers = groups.resident * share
        device.require_memory(numbers * size, f"the mass matrices of {groups.resident} chains of {self._n} links")
        workspace, matrices = Workspace(groups, _FIELDS, 0, name, beside), arrays.empty((max(numbers, 1),), name)
        (kernel,) = self._kernels.of(groups)
        return workspace.launch(kernel, 4, workspace.outside, *self._chain, matrices, np.int64(share))
