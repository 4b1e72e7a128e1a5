"""Dynamics on the GPU from CuPy arrays to CuPy arrays, for callers without knowledge of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from threading import get_ident
from typing import Any, Protocol

from engine.cuda.chains.abia_hybrid import AbiaHybrid, Recursion
from engine.cuda.chains.cfa import Cfa
from engine.cuda.chains.dca import Dca
from engine.cuda.rigid_body import written_out
from engine.cuda.rigid_body.thread_per_robot import ExternalForces, MassMatrix
from engine.cuda.runtime import arrays, device
from engine.cuda.trees import dca as trees
from engine.cuda.trees.jsiia import Jsiia
from engine.model import Model, features


class Kernels(Protocol):
    """``(q, v, tau, out)`` of contiguous CuPy arrays (batch, nq) and (batch, nv): q̈ into `out`, without waiting."""

    def prepare(self, batch: int) -> object: ...
    def __call__(self, q: Any, v: Any, tau: Any, out: Any, /) -> None: ...


class Still:
    """The dynamics of a robot without joints."""

    def prepare(self, batch: int) -> None:
        """Launch nothing."""

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        """Leave the empty q̈."""


def kernels(model: Model, algorithm: str, dtype: str, batch: int, recursion: Recursion) -> Kernels:
    """Return an algorithm's kernels with their memory for a batch, usable on any stream.

    `recursion` is the CPU's part of "abia-hybrid", see `abia_hybrid`. Raises `device.NoGpu` where there is no GPU and
    MemoryError where its memory does not suffice.
    """
    device.require()
    if not len(model.parent):
        return Still()
    make: dict[str, Callable[[Model, str], Kernels]] = {
        "abia": written_out.forward_dynamics,
        "dca": Dca if features.serial(model) else trees.Dca,
        "jsiia": Jsiia,
        "cfa": Cfa,
        "abia-hybrid": partial(AbiaHybrid, recursion=recursion),
    }
    made = make[algorithm](model, dtype)
    made.prepare(batch)
    arrays.wait()  # the model's constants are copied before calls on other streams
    return made


def inverse_dynamics(model: Model, q: Any, v: Any, a: Any, external: Any = None) -> Any:
    """`engine.inverse_dynamics` for arrays in the GPU's memory."""
    dtype = _number_type(q)
    (q, v, a), single = arrays.states(model, dtype, q=q, v=v, a=a)
    out = arrays.empty((len(q), model.nv), dtype)
    if out.size:
        _many(written_out.inverse_dynamics, model, dtype, get_ident())(q, v, a, out)
    if external is not None:
        out = with_external(model, q, out, arrays.wrenches(model, dtype, external, len(q)), -1)
    return out[0] if single else out


def bias(model: Model, q: Any, v: Any) -> Any:
    """`engine.bias` for arrays in the GPU's memory."""
    return inverse_dynamics(model, q, v, arrays.zeros_like(v))


def with_external(model: Model, q: Any, tau: Any, external: Any, sign: int = 1) -> Any:
    """Return τ + Σ Jᵢᵀ wᵢ (batch, nv): the generalized force of tau and the wrenches wᵢ on the links.

    q (batch, nq), tau (batch, nv) and external (1 or batch, links, 6) are contiguous CuPy arrays of one number type;
    the wrenches are multiplied by `sign`.
    """
    dtype = _number_type(q)
    out = arrays.empty(tau.shape, dtype)
    if out.size:
        _many(ExternalForces, model, dtype, get_ident())(q, tau, external, out, sign)
    return out


def mass_matrix(model: Model, q: Any) -> Any:
    """`engine.mass_matrix` for an array in the GPU's memory."""
    dtype = _number_type(q)
    (q,), single = arrays.states(model, dtype, q=q)
    shape = len(q), model.nv, model.nv
    device.require_memory(len(q) * model.nv**2 * q.itemsize, f"{len(q)} mass matrices of {model.name}")
    out = arrays.empty(shape, dtype)
    if out.size:
        _many(MassMatrix, model, dtype, get_ident())(q, out)
    return out[0] if single else out


def _number_type(x: Any) -> str:
    return "float32" if str(x.dtype).endswith("float32") else "float64"


@lru_cache(maxsize=16)
def _many(
    make: Callable[[Model, str], Callable[..., None]], model: Model, dtype: str, _thread: int
) -> Callable[..., None]:
    """Return the kernels of a model, one set per thread, since a set serves one call at a time."""
    made = make(model, dtype)
    arrays.wait()
    return made
