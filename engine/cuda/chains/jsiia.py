"""JSIIA on the GPU: mass matrix, factorisation and solution of serial chains in one launch (`jsiia.cu`)."""

from __future__ import annotations

from typing import Any

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

_PANEL = 16
"""Rows of a block of the matrix."""
FIELDS = CHAIN_FIELDS + 2
"""Shared fields of a link."""
_VECTORS = {False: 12, True: 14}
"""Numbers of a link's row and axis, and of its additions."""


class Jsiia(OneLaunch):
    """``jsiia(q, v, tau, out)``: q̈ of serial chains on a fixed base, for contiguous CuPy arrays (batch, n).

    q̈ is NaN where rounding makes a mass matrix indefinite.
    """

    def __init__(self, model: Model, dtype: str = "float64"):
        self._n, self._dtype = len(model.parent), np.dtype(dtype)
        self._chain = ChainArrays.of(model, dtype)
        self._kernels = ThreadGroupKernels("chains/jsiia.cu", ["jsiia<"], dtype, preamble(False))

    def _made(self, batch: int) -> Launch:
        groups, name = ThreadGroups.of(batch, self._n, dense=True), self._dtype.name
        beside, share, matrices = dense(groups, name, False)
        workspace = Workspace(groups, FIELDS, 0, name, beside)
        (kernel,) = self._kernels.of(groups)
        return workspace.launch(kernel, 4, workspace.outside, *self._chain, matrices, np.int64(share))


def preamble(additions: bool) -> str:
    """Return the preamble of jsiia.cuh; with `additions` joints may be held and have inertias of their own."""
    numbers = header.numbers({"P": _PANEL, "VECTORS": _VECTORS[additions], "JSIIA_FIELDS": FIELDS})
    return "\n".join([*numbers, *header.flags({"ADDITIONS": additions})])


def dense(groups: ThreadGroups, dtype: str, additions: bool) -> tuple[int, int, Any]:
    """Return the sizes of `Dense` in jsiia.cuh: bytes of shared memory, numbers of a group, and numbers of all groups.

    Raises MemoryError where they do not fit.
    """
    n, size = groups.n, np.dtype(dtype).itemsize
    if n <= WARP:
        share, beside = 0, groups.block // groups.threads * n * (n | 1) * size
    else:
        panels = -(-n // _PANEL)
        share = panels * (panels + 1) // 2 * _PANEL**2 + (1 + _VECTORS[additions]) * panels * _PANEL
        beside = panels * _PANEL * size
    numbers = groups.resident * share
    device.require_memory(numbers * size, f"the mass matrices of {groups.resident} chains of {n} links")
    return beside, share, arrays.empty((max(numbers, 1),), dtype)
