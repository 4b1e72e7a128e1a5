"""CFA on the GPU: constraint forces by odd-even elimination, refined chain by chain, in one launch (`cfa.cu`)."""

from __future__ import annotations

import numpy as np

from engine.cuda.chains.thread_group import (
    CHAIN_FIELDS,
    ChainArrays,
    OneLaunch,
    ThreadGroupKernels,
    ThreadGroups,
    Workspace,
)
from engine.cuda.runtime import arrays, header
from engine.cuda.runtime.compiler import Launch
from engine.model import Model

TOLERANCE = {"float64": 1e-13, "float32": 1e-6}
"""The residual that ends the refinement, by number type, as in the text."""
_M = 5
"""Constraint coordinates of a joint."""
_FIELDS = CHAIN_FIELDS + 8 + 2 * (_M * (_M + 1) // 2 + _M * _M + _M)
_CORRECTION, _STEP = 2, 50  # numbers that a link keeps of each


class Cfa(OneLaunch):
    """``cfa(q, v, tau, out)``: q̈ of serial chains from a fixed base, for contiguous CuPy arrays (batch, n).

    `steps` (batch,) and `residual` (batch,) say afterwards how often each chain was refined and what is left.
    """

    def __init__(self, model: Model, dtype: str = "float64", refinements: int = 32):
        self._n, self._dtype, self._refinements = len(model.parent), np.dtype(dtype), refinements
        self._chain = ChainArrays.of(model, dtype)
        self._J_inverse = arrays.to_device(np.ascontiguousarray(_inverse_inertias(model).T, dtype))
        self._kernels = ThreadGroupKernels(
            "chains/cfa.cu", ["cfa<"], dtype, "\n".join(header.numbers({"M": _M, "CFA_FIELDS": _FIELDS}))
        )
        self._kept = _CORRECTION * (refinements + 1) + _STEP * (self._n - 1).bit_length()

    def _made(self, batch: int) -> Launch:
        real, groups = self._dtype.type, ThreadGroups.of(batch, self._n)
        workspace = Workspace(groups, _FIELDS, self._kept, self._dtype.name)
        self.steps, self.residual = arrays.empty((batch,), "int32"), arrays.empty((batch,), self._dtype.name)
        (kernel,) = self._kernels.of(groups)
        return workspace.launch(
            kernel, 4, workspace.outside, *self._chain, self._J_inverse, self.steps, self.residual,
            np.int32(self._refinements), real(TOLERANCE[self._dtype.name]), np.finfo(real).tiny,
        )  # fmt: skip


def _inverse_inertias(model: Model) -> np.ndarray:
    """J⁻¹ (n, 21): the upper triangle of its first block, the second by rows, the upper triangle of the last."""
    # In units of each link's own mass and size no entry of J outweighs another.
    diagonal = np.sqrt(np.diagonal(model.J, axis1=1, axis2=2))
    scale = diagonal[:, :, None] * diagonal[:, None, :]
    inverse = np.linalg.inv(model.J / scale)
    inverse = (inverse + np.swapaxes(inverse, 1, 2)) / 2 / scale
    rows, columns = np.triu_indices(3)
    blocks = inverse[:, rows, columns], inverse[:, :3, 3:].reshape(-1, 9), inverse[:, rows + 3, columns + 3]
    return np.concatenate(blocks, 1)
