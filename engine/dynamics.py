"""The dynamics functions users call: arrays in, arrays out.

Every function takes one state or a batch, as lists or arrays of any number type, and answers in kind.
Shapes below are those of one state; a batch puts its size in front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from engine import lie, validation
from engine.algorithms import abia_hybrid, cfa
from engine.algorithms.chain import Chain
from engine.cpu.chains import jsiia
from engine.cpu.rigid_body import aba, crba, rnea
from engine.cpu.rigid_body.aba import FITS
from engine.cpu.rigid_body.workspace import EIGHT, ONE, workspace
from engine.cpu.runtime.cores import checked
from engine.cuda import dynamics as on_gpu
from engine.cuda.runtime import arrays
from engine.model import Model, poses
from engine.model.layout import pack, pack_coupling
from engine.selection import choice
from engine.validation import Array

if TYPE_CHECKING:
    from engine.cpu.rigid_body.aba_batch import Abia

_TEXTS: Mapping[str, Callable[[Chain, Array, Array, Array], Array]] = {
    "abia-hybrid": abia_hybrid.forward_dynamics,
    "cfa": cfa.forward_dynamics,
}
"""The algorithms that have no compiled form on the CPU; they run as their text, for comparison."""


def _tree(model: Model, *, q: Array | None = None, v: Array | None = None) -> Array:
    """Independent coordinates or velocities as those of every body."""
    if q is not None:
        return np.ascontiguousarray(model.coupling.expand_q(q)) if model.has_mimic else q
    assert v is not None
    return np.ascontiguousarray(model.coupling.expand_v(v)) if model.has_mimic else v


def _lanes(batch: int) -> tuple[int, ...]:
    return ONE if batch == 1 else EIGHT


class ForwardDynamics:
    """Forward dynamics of one model, with its buffers made once: ``fd(q, v, tau) -> q̈``.

    `algorithm` is one of `engine.algorithms(model)`, or "auto": then `selection.choice` chooses for batches of the
    given size. `device` is "cpu", "cuda" or "auto", the faster one. `fd.algorithm`, `fd.device` and `fd.why` say
    what was chosen. A call takes q (nq,), v and tau (nv,) or batches of them, of any size, and answers q̈ (nv,) or
    (batch, nv), into `out` where that is given: one of the three, or an array that overlaps none of them. A call that
    raises leaves there whatever it came to. One object serves one thread, and on a GPU one stream, at a time.
    `threads`: how many take part at most, on the CPU, in a batch ("abia") or in one robot ("dca"); None takes as many
    as pay.

    On "cuda", arrays in the GPU's memory (CuPy's, or others' by DLPack) are answered by a CuPy array without a copy and
    without waiting, but for the CPU's part of "abia-hybrid"; so nothing looks at their numbers, and what is not finite
    shows in the answer. Others are copied there and back.

    Raises ValueError for an algorithm that does not serve the model, wrong shapes and numbers that are not finite,
    ArithmeticError where the mass matrix has no inverse, RuntimeError where there is no GPU to be had, and MemoryError
    where its memory does not suffice.
    """

    def __init__(
        self,
        model: Model,
        batch: int = 1,
        algorithm: str = "auto",
        device: str = "auto",
        dtype: str = "float64",
        threads: int | None = None,
    ):
        batch = validation.whole("batch", batch, 1)
        self.model, self.dtype = model, validation.one_of("dtype", dtype, ("float64", "float32"))
        checked(threads)
        self._one: Any = None
        self._threads = threads
        self._type = np.dtype(dtype)
        self.device, where = choice.place(model, device, algorithm, batch, dtype)
        self._choose(algorithm, batch, where)
        if self.device == "cuda":
            from engine.cpu.chains import chain_inertias

            recursion = partial(chain_inertias.axial_inertias, *pack(model, dtype))
            try:
                self._kernels = on_gpu.kernels(model, self.algorithm, dtype, batch, recursion)
                return
            except MemoryError as error:
                if device != "auto":
                    raise
                self.device = "cpu"
                self._choose(algorithm, batch, f"; on the CPU, since {error}")
        self._chain = Chain.of(model, np, dtype) if self.algorithm in _TEXTS else None
        self._packed, self._nv = pack(model, dtype), model.nv
        if self.algorithm == "abia":
            self._one = aba.for_one(self._packed)
        elif self.algorithm == "dca":
            from engine.cpu.chains import dca

            self._one = dca.Dca(model, threads, dtype)
        elif self.algorithm == "jsiia":
            self._workspace = workspace(len(model.parent), ONE, dtype)
            self._room = jsiia.dense(model, dtype), np.zeros(model.nv, dtype), np.zeros(model.nv, dtype)

    def _choose(self, algorithm: str, batch: int, where: str) -> None:
        self.algorithm, why = choice.choose(self.model, algorithm, batch, self.dtype, self.device)
        self.why = why + where

    def __call__(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, out: Array | None = None) -> Array:
        if out is None or not (out is q or out is v or out is tau):  # a refusal tells of their numbers
            if self._one is not None and getattr(q, "ndim", 0) == 1:
                answer = np.empty(self._nv, self._type) if out is None else out
                try:
                    if self._one(q, v, tau, answer) == FITS:
                        return answer
                except (TypeError, ValueError):
                    pass  # not vectors of this number type: taken or refused below
            elif getattr(q, "ndim", 0) == 2 and (answers := self._at_once(q, v, tau, out)) is not None:
                return answers
        if self.device == "cuda":
            there: Array = self._on_gpu(q, v, tau, out)
            return there
        if arrays.on_device(q):
            raise TypeError("q is on the GPU, and these dynamics are on the CPU; make them with device='cuda'")
        (q, v, tau), single = validation.states(self.model, self.dtype, q=q, v=v, tau=tau)
        shape = (self.model.nv,) if single else (len(q), self.model.nv)
        out = validation.result(out, shape, self.dtype)
        if not self._compute(q, v, tau, out.reshape(len(q), self.model.nv)):
            raise self._not_finite()
        return out

    @cached_property
    def _many(self) -> Abia | None:
        """ABIA for batches on the CPU. One robot does without: Numba, which shares them out, takes a second to load."""
        if self.algorithm != "abia" or self.device != "cpu":
            return None
        from engine.cpu.rigid_body.aba_batch import Abia

        return Abia(self.model, self._threads, self.dtype)

    def _at_once(self, q: Any, v: Any, tau: Any, out: Array | None) -> Array | None:
        """The answer to matrices as the kernels take them; None where something is else, or wrong."""
        many = self._many
        if many is None:
            return None
        try:
            out = np.empty((len(q), self._nv), self._type) if out is None else out
            return out if many(q, v, tau, out) == FITS else None
        except (TypeError, ValueError):
            return None

    def _not_finite(self) -> ArithmeticError:
        return ArithmeticError(
            f"{self.model.name}: the accelerations are not finite; "
            "a joint moves no inertia, or the velocities are beyond any robot's"
        )

    def _on_gpu(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        if out is not None and arrays.are(self.model, self._type, q, v, tau, out):
            self._kernels(q, v, tau, out)
            return out
        if arrays.on_device(q):
            (q, v, tau), single = arrays.states(self.model, self.dtype, q=q, v=v, tau=tau)
            shape = (self.model.nv,) if single else (len(q), self.model.nv)
            out = arrays.result(out, shape, self.dtype)
            self._kernels(q, v, tau, out.reshape(len(q), self.model.nv))
            return out
        host, single = validation.states(self.model, self.dtype, q=q, v=v, tau=tau)
        out = validation.result(out, (self.model.nv,) if single else host[1].shape, self.dtype)
        answer = arrays.empty(host[1].shape, self.dtype)
        q, v, tau = (arrays.to_device(x) for x in host)
        self._kernels(q, v, tau, answer)
        out[...] = arrays.to_host(answer).reshape(out.shape)
        if not np.all(np.isfinite(out)):
            raise self._not_finite()
        return out

    def _compute(self, q: Array, v: Array, tau: Array, out: Array) -> bool:
        if self._chain is not None:
            out[:] = _TEXTS[self.algorithm](self._chain, q, v, tau)
            return bool(np.all(np.isfinite(out)))
        q, v, tau = (x if x.flags.writeable else x.copy() for x in (q, v, tau))  # what kernels are compiled for
        if self.algorithm == "dca" or (len(q) == 1 and self.algorithm == "abia"):
            return all(self._one(*robot) == FITS for robot in zip(q, v, tau, out, strict=True))
        if self.algorithm == "jsiia":
            return bool(
                jsiia.forward(
                    q,
                    v,
                    tau,
                    out,
                    pack_coupling(self.model, self.dtype),
                    *self._packed,
                    self._workspace,
                    ONE,
                    *self._room,
                )
            )
        assert self._many is not None
        return self._many(q, v, tau, out) == FITS


def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    algorithm: str = "auto",
    device: str = "auto",
    dtype: str = "float64",
) -> Array:
    """q̈ (nv,) from q (nq,), v (nv,) and the generalized forces tau (nv,), N m or N.

    Joint damping, friction and limits are the simulation's business and take no part. See `ForwardDynamics`,
    which is faster for repeated calls.
    """
    rows = np.shape(q)[0] if np.ndim(q) == 2 else 1
    device = "cuda" if device == "auto" and arrays.on_device(q) else device
    return ForwardDynamics(model, rows, algorithm, device, dtype)(q, v, tau)


def inverse_dynamics(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """The generalized forces τ (nv,) that give q̈ = a (nv,) at q (nq,), v (nv,): [Y] (2a)–(2d).

    Arrays in a GPU's memory are answered there, for models without mimic joints; so does `mass_matrix`.
    """
    if arrays.on_device(q):
        tau: Array = on_gpu.inverse_dynamics(model, q, v, a)
        return tau
    (q, v, a), single = validation.states(model, q=q, v=v, a=a)
    lanes = _lanes(len(q))
    out = np.empty((len(q), model.tree_nv))
    w = workspace(len(model.parent), lanes)
    rnea.inverse(_tree(model, q=q), _tree(model, v=v), _tree(model, v=a), out, *pack(model), w, lanes)
    if model.has_mimic:
        out = out @ model.coupling.G
    return out[0] if single else out


def bias(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """τ_bias (nv,): the generalized forces that keep q̈ = 0, gravity included ([Y] below (7))."""
    return inverse_dynamics(model, q, v, arrays.zeros_like(v) if arrays.on_device(v) else np.zeros(model.nv))


def mass_matrix(model: Model, q: ArrayLike) -> Array:
    """M (nv, nv), symmetric, by composite bodies (Featherstone 2008, table 6.2); GᵀMG with mimic joints."""
    if arrays.on_device(q):
        M: Array = on_gpu.mass_matrix(model, q)
        return M
    (q,), single = validation.states(model, q=q)
    out = np.empty((len(q), model.tree_nv, model.tree_nv))
    crba.mass_matrix(_tree(model, q=q), out, *pack(model), workspace(len(model.parent), ONE), ONE)
    if model.has_mimic:
        out = model.coupling.G.T @ out @ model.coupling.G
    return out[0] if single else out


def link_poses(model: Model, q: ArrayLike) -> Array:
    """The frames of all links in the world, (links, 4, 4), in the order of `model.link_names`."""
    (q,), single = validation.states(model, q=q)
    frames = poses.link_poses(model, q)
    return frames[0] if single else frames


def energy(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """Kinetic and potential energy in J, scalars; the potential is zero where all mass lies at the world's origin."""
    (q, v), single = validation.states(model, q=q, v=v)
    n = len(model.parent)
    kinetic, potential = np.empty(len(q)), np.empty(len(q))
    rotations, positions = np.empty((len(q), n, 9)), np.empty((len(q), n, 3))
    rnea.energies(
        _tree(model, q=q),
        _tree(model, v=v),
        kinetic,
        positions,
        rotations,
        potential,
        *pack(model),
        workspace(n, ONE),
        ONE,
    )
    return (kinetic[0], potential[0]) if single else (kinetic, potential)


def momentum(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """The whole robot's momentum as a wrench (n, f) about the world's origin, (6,): N m s, N s."""
    (q, v), single = validation.states(model, q=q, v=v)
    T = poses.body_poses(model, q)
    rotations, positions = T[..., :3, :3], T[..., :3, 3]
    tree_v = _tree(model, v=v)
    total = np.zeros((len(q), 6))
    twists: list[Array] = []
    for i, parent in enumerate(model.parent):
        R, p = rotations[:, i], positions[:, i]
        start, width = model.v_start[i], 6 if model.kind[i] == 2 else 1
        S = np.eye(6) if width == 6 else np.eye(6)[:, [2 if model.kind[i] == 0 else 5]]
        own = lie.Ad(R, p) @ (S @ tree_v[:, start : start + width, None])
        twists.append(own if parent < 0 else own + twists[parent])
        body_twist = lie.Ad(*lie.inverse(R, p)) @ twists[i]
        total += (np.swapaxes(lie.Ad(*lie.inverse(R, p)), -1, -2) @ (model.J[i] @ body_twist))[..., 0]
    return total[0] if single else total
