"""Forward dynamics on the CPU by any algorithm, with NumPy arrays as arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np

from engine.algorithms import abia_hybrid
from engine.algorithms.chain import Chain
from engine.compile import specialise
from engine.cpu.chains.cfa import Cfa
from engine.cpu.rigid_body.aba_batch import Abia
from engine.cpu.rigid_body.jsiia import Jsiia
from engine.cpu.runtime.arrays import Array, admit
from engine.cpu.trees.dca import TreeDca
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.model import Model
from engine.model.layout import pack


class Kernels(Protocol):
    """``(q, v, tau, out)`` of one robot or of a batch: q̈ into `out`; returns a `kernels.status`.

    All four are contiguous, aligned and writeable arrays of the kernels' number type. For any others NotImplemented is
    returned, and `out` is unchanged.
    """

    @property
    def one(self) -> Callable[[Any, Any, Any, Any], Any]:
        """Takes vectors: q (nq,), the others (nv,)."""

    @property
    def many(self) -> Callable[[Any, Any, Any, Any], Any]:
        """Takes matrices: q (batch, nq), two-dimensional for any contents, and the others (batch, nv)."""


def kernels(model: Model, algorithm: str, dtype: str, threads: int | None) -> Kernels:
    """Return an algorithm's kernels for a model that it serves, with at most `threads` threads, None: as many as
    pay."""
    return _MAKE[algorithm](model, dtype, threads)


def axial_inertias(model: Model, dtype: str, q: Array, out: Array) -> None:
    """Compute "abia-hybrid"'s part on the CPU, see `chains.chain_inertias`: from q (batch, n), U (batch, n, 6).

    Both are contiguous and of `dtype`.
    """
    from engine.cpu.chains import chain_inertias

    chain_inertias.axial_inertias(*pack(model, dtype), q, out)


class _Text:
    """An algorithm without kernels on the CPU: its reference text in `engine.algorithms`, for comparison."""

    def __init__(self, text: Callable[[Chain, Array, Array, Array], Array], model: Model, dtype: str, _: int | None):
        self._text, self._chain = text, Chain.of(model, np, dtype)
        self._admit_one, self._admit_many = (specialise(admit, *(np.zeros((1,) * k, dtype),) * 4) for k in (1, 2))

    def one(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        if self._admit_one(q, v, tau, out) != FITS:
            return NotImplemented
        return self.many(q[None], v[None], tau[None], out[None])

    def many(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        if self._admit_many(q, v, tau, out) != FITS:
            return NotImplemented
        if not q.shape == v.shape == tau.shape == out.shape == (len(q), self._chain.n):
            return WRONG_SHAPE
        out[:] = self._text(self._chain, q, v, tau)
        return FITS if np.all(np.isfinite(out)) else NOT_FINITE


_MAKE: Mapping[str, Callable[[Model, str, int | None], Kernels]] = {
    "abia": Abia,
    "dca": TreeDca,
    "jsiia": Jsiia,
    "cfa": Cfa,
    "abia-hybrid": partial(_Text, abia_hybrid.forward_dynamics),
}
