"""JSIIA on the GPU: the mass matrix of serial chains, its factor and its solution in one launch (`jsiia.cu`)."""

from __future__ import annotations

import numpy as np

from engine.cuda import arrays, device
from engine.cuda.compiler import Launch
from engine.cuda.team import CHAIN_FIELDS, WARP, ChainArrays, OneLaunch, TeamKernels, Teams, Workspace
from engine.model import Model

_FIELDS = CHAIN_FIELDS + 1
_PANEL, _VECTORS = 16, 12


class Jsiia(OneLaunch):
    """``jsiia(q, v, tau, out)``: q̈ of serial chains from a fixed base, for contiguous CuPy arrays (batch, n).

    q̈ is not a number where rounding leaves a mass matrix that is not positive definite.
    """

    def __init__(self, model: Model, dtype: str = "float64"):
        self._n, self._dtype = len(model.parent), np.dtype(dtype)
        self._chain = ChainArrays.of(model, dtype)
        self._kernels = TeamKernels("jsiia.cu", ["jsiia<"], dtype)

    def _made(self, batch: int) -> Launch:
        teams, size, name = Teams.of(batch, self._n, dense=True), self._dtype.itemsize, self._dtype.name
        if self._n <= WARP:
            share, beside = 0, teams.block // teams.threads * self._n * (self._n | 1) * size
        else:
            panels = -(-self._n // _PANEL)
            share = panels * (panels + 1) // 2 * _PANEL**2 + (1 + _VECTORS) * panels * _PANEL
            beside = panels * _PANEL * size
        numbers = teams.resident * share
        device.require_memory(numbers * size, f"the mass matrices of {teams.resident} chains of {self._n} links")
        workspace, matrices = Workspace(teams, _FIELDS, 0, name, beside), arrays.empty((max(numbers, 1),), name)
        (kernel,) = self._kernels.of(teams)
        return workspace.launch(kernel, 4, workspace.outside, *self._chain, matrices, np.int64(share))
