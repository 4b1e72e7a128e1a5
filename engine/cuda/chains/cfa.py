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
"""The residual that ends the refinement, by number type, as in `engine.algorithms.cfa`."""
REFINEMENTS = 32
"""The most refinements of a chain."""
_CORRECTION = 2  # numbers per link and refinement


class Cfa(OneLaunch):
    """``cfa(q, v, tau, out)``: q̈ of serial chains on a fixed base, for contiguous CuPy arrays (batch, n).

    After a call, `steps` (batch,) is the number of refinements and `residual` (batch,) the final residual of each
    chain.
    """

    def __init__(self, model: Model, dtype: str = "float64", refinements: int = REFINEMENTS):
        self._n, self._dtype, self._refinements = len(model.parent), np.dtype(dtype), refinements
        self._chain = ChainArrays.of(model, dtype)
        self._J_inverse = arrays.to_device(np.ascontiguousarray(inverse_inertias(model.J).T, dtype))
        self._fields, self._kept = sizes(self._n, False, refinements)
        self._kernels = ThreadGroupKernels("chains/cfa.cu", ["cfa<"], dtype, preamble(False))

    def _made(self, batch: int) -> Launch:
        real, groups = self._dtype.type, ThreadGroups.of(batch, self._n)
        workspace = Workspace(groups, self._fields, self._kept, self._dtype.name)
        self.steps, self.residual = arrays.empty((batch,), "int32"), arrays.empty((batch,), self._dtype.name)
        (kernel,) = self._kernels.of(groups)
        return workspace.launch(
            kernel, 4, workspace.outside, *self._chain, self._J_inverse, self.steps, self.residual,
            np.int32(self._refinements), real(TOLERANCE[self._dtype.name]), np.finfo(real).tiny,
        )  # fmt: skip


def sizes(n: int, additions: bool, refinements: int = REFINEMENTS) -> tuple[int, int]:
    """Return the shared and the private fields of a link, for chains of n links."""
    m, vectors = (6, 13) if additions else (5, 8)
    fields = CHAIN_FIELDS + vectors + 2 * (m * (m + 1) // 2 + m * m + m)
    return fields, _CORRECTION * (refinements + 1) + 2 * m * m * (n - 1).bit_length()


def preamble(additions: bool) -> str:
    """Return the preamble of cfa.cuh; with `additions` joints may be held and have inertias of their own."""
    fields, _ = sizes(1, additions)
    return "\n".join([*header.numbers({"CFA_FIELDS": fields}), *header.flags({"ADDITIONS": additions})])


def inverse_inertias(J: np.ndarray) -> np.ndarray:
    """Return J⁻¹ (…, n, 21): its first block's upper triangle, the second by rows, the last one's upper triangle."""
    # scaled by each link's mass and size, the entries of J have similar magnitudes
    diagonal = np.sqrt(np.diagonal(J, axis1=-2, axis2=-1))
    scale = diagonal[..., :, None] * diagonal[..., None, :]
    inverse = np.linalg.inv(J / scale)
    inverse = (inverse + np.swapaxes(inverse, -1, -2)) / 2 / scale
    rows, columns = np.triu_indices(3)
    blocks = (
        inverse[..., rows, columns],
        inverse[..., :3, 3:].reshape(*J.shape[:-2], 9),
        inverse[..., rows + 3, columns + 3],
    )
    return np.concatenate(blocks, -1)
