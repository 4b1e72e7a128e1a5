"""The public dynamics functions: arrays in, arrays out.

Every function takes one state or a batch, as lists or arrays of any number type, and returns the same kind. Shapes
below are those of one state; a batch adds a leading axis. Where q is in a GPU's memory, forward and inverse dynamics,
`bias` and `mass_matrix` run on the GPU, and take all their arrays there; the others take arrays in the host's memory.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import validation
from engine.cpu import dynamics as on_cpu
from engine.cpu.rigid_body import aba, crba, rnea, wrenches
from engine.cpu.rigid_body.energy import energies
from engine.cpu.rigid_body.workspace import EIGHT, ONE, workspace
from engine.cpu.runtime.cores import check_threads
from engine.cuda import dynamics as on_gpu
from engine.cuda.runtime import arrays
from engine.device_arrays import on_device, to_host
from engine.kernels.status import FITS
from engine.model import Model, poses
from engine.model.layout import pack
from engine.model.momentum import momentum as momentum_of_batch
from engine.selection import capabilities, choice
from engine.validation import Array


def _tree(model: Model, *, q: Array | None = None, v: Array | None = None) -> Array:
    """Return the independent coordinates or velocities, expanded to those of every body."""
    if q is not None:
        return np.ascontiguousarray(model.coupling.expand_q(q)) if model.has_mimic else q
    assert v is not None
    return np.ascontiguousarray(model.coupling.expand_v(v)) if model.has_mimic else v


def _lanes(batch: int) -> tuple[int, ...]:
    return ONE if batch == 1 else EIGHT


def _made_again(kind: type[ForwardDynamics], how: tuple[Any, ...], why: str) -> ForwardDynamics:
    made = kind(*how)
    made.why = why
    return made


class ForwardDynamics:
    """Forward dynamics of one model, with buffers allocated once: ``fd(q, v, tau) -> q̈``.

    `algorithm` is one of `engine.algorithms(model)`, or "auto": the fastest by `selection.choice` for batches of size
    `batch`. `device` is "cpu", "cuda" or "auto", the faster one. `dtype` is "float64" or "float32". `fd.algorithm`,
    `fd.device` and `fd.why` are the choice and its reason. A call takes q (nq,), v and tau (nv,) or batches of any
    size, and returns q̈ (nv,) or (batch, nv), in `out` if given: one of the three, or an array that overlaps none of
    them. `external` are wrenches on the links, see `forward_dynamics`. A call that raises may have written to `out`.
    One object serves one thread, and on a GPU one stream, at a time; a concurrent call raises RuntimeError. `threads`:
    the most on the CPU, for a batch ("abia") or one robot ("dca"); None takes as many as pay.

    On "cuda", arrays in the GPU's memory (CuPy's, or others' by DLPack) give a CuPy array, without a copy and without
    waiting, except for the CPU's part of "abia-hybrid". Their values are not checked: what is not finite shows in the
    result. Other arrays are copied to the GPU and back.

    Raises ValueError for an algorithm that does not support the model, wrong shapes and numbers that are not finite,
    ArithmeticError where the mass matrix is singular, RuntimeError where there is no GPU, and MemoryError where its
    memory does not suffice.
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
        batch = validation.integer("batch", batch, 1)
        dtype = validation.one_of("dtype", dtype, ("float64", "float32"))
        device = validation.one_of("device", device, ("auto", *capabilities.DEVICES))
        algorithm = validation.one_of("algorithm", algorithm, ("auto", *capabilities.ALGORITHMS))
        self.model, self.dtype = model, dtype
        check_threads(threads)
        self._sizes = batch, threads
        self._type, self._nv = np.dtype(dtype), model.nv
        self._on_gpu: on_gpu.Kernels
        self._on_cpu: on_cpu.Kernels | None = None
        self._busy = False
        self.device, why_there = choice.place(model, device, algorithm, batch, dtype)
        self._choose(algorithm, batch, why_there)
        if self.device == "cuda":
            recursion = partial(on_cpu.axial_inertias, model, dtype)
            try:
                self._on_gpu = on_gpu.kernels(model, self.algorithm, dtype, batch, recursion)
                return
            except MemoryError as error:
                if device != "auto":
                    raise
                self.device = "cpu"
                self._choose(algorithm, batch, f"; on the CPU, since {error}")
        self._on_cpu = on_cpu.kernels(model, self.algorithm, dtype, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies have buffers and threads of their own."""
        batch, threads = self._sizes
        how = self.model, batch, self.algorithm, self.device, self.dtype, threads
        return _made_again, (type(self), how, self.why)

    def _choose(self, algorithm: str, batch: int, why_there: str) -> None:
        self.algorithm, why = choice.choose(self.model, algorithm, batch, self.dtype, self.device)
        self.why = why + why_there

    def __call__(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, out: Array | None = None, external: ArrayLike | None = None
    ) -> Array:
        if self._busy:
            raise RuntimeError("another thread is using this ForwardDynamics; make one for each thread")
        self._busy = True
        try:
            if external is not None:
                tau = self._with_external(q, tau, external)
            if (kernels := self._on_cpu) is None:
                result: Array = self._run_on_gpu(self._on_gpu, q, v, tau, out)
                return result
            if out is None or not (out is q or out is v or out is tau):  # the error of `require` describes the numbers
                axes = getattr(q, "ndim", 0)
                if axes == 1:
                    result = np.empty(self._nv, self._type) if out is None else out
                    if kernels.one(q, v, tau, result) == FITS:
                        return result
                elif axes == 2 and isinstance(q, np.ndarray):
                    result = np.empty((len(q), self._nv), self._type) if out is None else out
                    if kernels.many(q, v, tau, result) == FITS:
                        return result
            return self._run_on_cpu(kernels, q, v, tau, out)
        finally:
            self._busy = False

    def _with_external(self, q: Any, tau: Any, external: Any) -> Any:
        """Return the generalized force of tau and the wrenches, on the GPU where q and these dynamics are there."""
        if self._on_cpu is not None or not on_device(q):
            return _with_external(self.model, external, 1, q, tau=tau)
        (poses, tau), single = arrays.states(self.model, self.dtype, q=q, tau=tau)
        out = on_gpu.with_external(
            self.model, poses, tau, arrays.wrenches(self.model, self.dtype, external, len(poses))
        )
        return out[0] if single else out

    def _run_on_cpu(self, kernels: on_cpu.Kernels, q: Any, v: Any, tau: Any, out: Array | None) -> Array:
        """Return the result on the CPU. Raises for arguments that do not fit."""
        if on_device(q):
            raise TypeError("q is on the GPU, and these dynamics are on the CPU; make them with device='cuda'")
        states, single = validation.states(self.model, self.dtype, q=q, v=v, tau=tau)
        out = validation.result(out, (self.model.nv,) if single else states[1].shape, self.dtype)
        q, v, tau = (x if x.flags.writeable else x.copy() for x in states)  # the number type of kernels
        status = kernels.one(q[0], v[0], tau[0], out) if single else kernels.many(q, v, tau, out)
        if status != FITS:
            raise _not_finite(self.model)
        return out

    def _run_on_gpu(self, kernels: on_gpu.Kernels, q: Any, v: Any, tau: Any, out: Any) -> Any:
        """Return the result on the GPU, for arrays in its memory."""
        if out is not None and arrays.are_kernel_arrays(self.model, self._type, q, v, tau, out):
            kernels(q, v, tau, out)
            return out
        if on_device(q):
            (q, v, tau), single = arrays.states(self.model, self.dtype, q=q, v=v, tau=tau)
            shape = (self.model.nv,) if single else (len(q), self.model.nv)
            out = arrays.result(out, shape, self.dtype)
            kernels(q, v, tau, out.reshape(len(q), self.model.nv))
            return out
        host, single = validation.states(self.model, self.dtype, q=q, v=v, tau=tau)
        out = validation.result(out, (self.model.nv,) if single else host[1].shape, self.dtype)
        result = arrays.empty(host[1].shape, self.dtype)
        q, v, tau = (arrays.to_device(x) for x in host)
        kernels(q, v, tau, result)
        out[...] = to_host(result).reshape(out.shape)
        if not np.all(np.isfinite(out)):
            raise _not_finite(self.model)
        return out


def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    algorithm: str = "auto",
    device: str = "auto",
    dtype: str = "float64",
    external: ArrayLike | None = None,
) -> Array:
    """q̈ (nv,), rad/s² or m/s², from q (nq,), v (nv,) and the generalized forces tau (nv,), N m or N; or of a batch.

    `external` (links, 6) are wrenches (n, f) on the links from outside, in the order of `model.link_names`, each in the
    link's own frame, about its origin, N m and N. With J their Jacobians they act like Σ Jᵢᵀ wᵢ in tau.

    Joint damping, friction and limits belong to the simulation and are not included. See `ForwardDynamics`, which is
    faster for repeated calls, for `algorithm`, `device`, `dtype` and errors.
    """
    rows = max(1, np.shape(q)[0]) if np.ndim(q) == 2 else 1
    device = "cuda" if device == "auto" and on_device(q) else device
    return ForwardDynamics(model, rows, algorithm, device, dtype)(q, v, tau, external=external)


def inverse_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: ArrayLike | None = None
) -> Array:
    """The generalized forces τ (nv,) that give q̈ = a (nv,) at q (nq,), v (nv,): [Y] (2a)–(2d), the RNEA.

    `external` (links, 6) are wrenches on the links from outside, see `forward_dynamics`. For arrays in a GPU's memory
    it runs there, as do `bias` and `mass_matrix`.
    """
    if on_device(q):
        tau: Array = on_gpu.inverse_dynamics(model, q, v, a, external)
        return tau
    if external is not None:
        less: Array = _with_external(model, external, -1, q, a=inverse_dynamics(model, q, v, a))
        return less
    (q, v, a), single = validation.states(model, q=q, v=v, a=a)
    lanes = _lanes(len(q))
    out = np.empty((len(q), model.tree_nv))
    w = workspace(len(model.parent), lanes)
    rnea.inverse(_tree(model, q=q), _tree(model, v=v), _tree(model, v=a), out, *pack(model), w, lanes)
    if model.has_mimic:
        out = out @ model.coupling.C
    return out[0] if single else out


def _not_finite(model: Model) -> ArithmeticError:
    return ArithmeticError(
        f"{model.name}: the accelerations are not finite; "
        "a joint moves no inertia, or the velocities are beyond any robot's"
    )


def _with_external(model: Model, external: Any, sign: int, q: Any, **forces: Any) -> Any:
    """τ ± Σ Jᵢᵀ wᵢ (nv,), of τ, the only one of `forces`, whose name there stands in errors, and of the wrenches."""
    (poses, tau), single = validation.states(model, q=q, **forces)
    on_links, one = validation.wrenches(model, external)
    if not (single or one or len(poses) == len(on_links)):
        raise ValueError(
            f"the batch sizes differ (q {len(poses)}, external {len(on_links)}); "
            "give all arguments the same number of rows"
        )
    tree_q = _tree(model, q=np.repeat(poses, len(on_links), 0) if single else poses)
    lanes, n = _lanes(len(tree_q)), len(model.parent)
    out = np.empty((len(tree_q), model.tree_nv))
    room, w = np.empty((n, 6 * len(lanes))), workspace(n, lanes)
    wrenches.generalized_forces(tree_q, on_links, out, room, *pack(model), wrenches.pack_links(model), w, lanes)
    out = tau + sign * (out @ model.coupling.C if model.has_mimic else out)
    return out[0] if single and one else out


def bias(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """τ_bias (nv,): the generalized forces that keep q̈ = 0 at q (nq,), v (nv,), gravity included ([Y] below (7))."""
    if on_device(q):
        tau: Array = on_gpu.bias(model, q, v)
        return tau
    return inverse_dynamics(model, q, v, np.zeros(model.nv))


def mass_matrix(model: Model, q: ArrayLike) -> Array:
    """M (nv, nv) at q (nq,), symmetric, by composite bodies, the CRBA (Featherstone 2008, table 6.2).

    With mimic joints it is CᵀMC.
    """
    if on_device(q):
        M: Array = on_gpu.mass_matrix(model, q)
        return M
    (q,), single = validation.states(model, q=q)
    out = np.empty((len(q), model.tree_nv, model.tree_nv))
    crba.mass_matrix(_tree(model, q=q), out, *pack(model), workspace(len(model.parent), ONE), ONE)
    if model.has_mimic:
        out = model.coupling.C.T @ out @ model.coupling.C
        out = (out + np.swapaxes(out, 1, 2)) / 2  # of the two products each rounds its own way
    return out[0] if single else out


def inverse_mass_matrix(model: Model, q: ArrayLike) -> Array:
    """M⁻¹ (nv, nv) at q (nq,), symmetric: ∂q̈/∂τ; column j is the change of q̈ per unit of τ_j.

    The ABA's inertias are computed once, then each column is solved, O(n²); (CᵀMC)⁻¹ with mimic joints. Raises
    ArithmeticError where M is singular.
    """
    (q,), single = validation.states(model, q=q)
    if model.has_mimic:
        try:
            out, finite = np.linalg.inv(mass_matrix(model, q)), True
        except np.linalg.LinAlgError:
            finite = False
    else:
        out, w = np.empty((len(q), model.nv, model.nv)), workspace(len(model.parent), EIGHT)
        finite = aba.inverse_mass_matrix(q, np.eye(model.nv), np.zeros(3), out, *pack(model), w, EIGHT)
        out = (out + np.swapaxes(out, 1, 2)) / 2
    if not finite:
        raise ArithmeticError(f"{model.name}: the mass matrix has no inverse; a joint moves no inertia")
    return out[0] if single else out


def link_poses(model: Model, q: ArrayLike) -> Array:
    """The frames of all links in the world, (…, links, 4, 4), in the order of `model.link_names`, at q (…, nq)."""
    (q,), single = validation.states(model, q=q)
    frames = poses.link_poses(model, q)
    return frames[0] if single else frames


def link_twists(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """The twists of all links, (…, links, 6), as in `model.link_names`: ω (rad/s), and v (m/s) of the origin.

    Both are along the world's axes. The state is q (nq,), v (nv,).
    """
    (q, v), single = validation.states(model, q=q, v=v)
    twists = poses.link_twists(model, q, v)
    return twists[0] if single else twists


def point_mobility(model: Model, q: ArrayLike, link: int, point: ArrayLike) -> Array:
    """Λ⁻¹ (3, 3), 1/kg, symmetric: the acceleration of a point of a link per unit force on it, in the world's axes.

    It is the linear part of the inverse operational-space inertia J M⁻¹ Jᵀ (Khatib 1987). q is (nq,), `link` an index
    in `model.link_names`, `point` (3,) in its frame, m; constraints and contacts are ignored. By the ABA, O(n),
    whichever algorithm simulates it. Raises ValueError for an invalid link.
    """
    (pose,), _ = validation.states(model, q=q)
    link = validation.integer("link", link, 0)
    if link >= len(model.link_names):
        raise ValueError(f"link is {link}; {model.name} has {len(model.link_names)} links, numbered from 0")
    p = validation.vector("point", point, 3, "three finite numbers, m")
    R = poses.link_poses(model, pose)[0, link, :3, :3]
    external = np.zeros((4, len(model.link_names), 6))  # the last is massless
    external[:3, link, 3:] = R  # row i: eᵢ of the world in the link's frame, Rᵀ eᵢ
    external[:3, link, :3] = np.cross(p, R)
    rows, still = np.repeat(pose, 4, 0), np.zeros((4, model.nv))
    if model.has_mimic:
        a = ForwardDynamics(model, 4, "jsiia", "cpu")(rows, still, still, external=external)
    else:  # by loops, whose code is one for all robots: the written-out code would be compiled for this one
        a, w = np.empty_like(still), workspace(len(model.parent), EIGHT)
        tau = _with_external(model, external, 1, rows, tau=still)
        if aba.forward(*pack(model), w, EIGHT, rows, still, tau, a) != FITS:
            raise _not_finite(model)
    twist = poses.link_twists(model, rows[:3], a[:3] - a[3])[:, link]
    response: Array = twist[:, 3:] + np.cross(twist[:, :3], R @ p)
    return (response + response.T) / 2


def energy(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """Kinetic and potential energy in J, scalars; the potential is zero where all mass lies at the world's origin.

    The state is q (nq,), v (nv,); for a batch both are (batch,).
    """
    (q, v), single = validation.states(model, q=q, v=v)
    kinetic, potential = energies(model, q, v, pack(model).constants[None])
    return (kinetic[0], potential[0]) if single else (kinetic, potential)


def momentum(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """The whole robot's momentum as a wrench (n, f) about the world's origin, (6,): N m s, N s. q is (nq,), v (nv,)."""
    (q, v), single = validation.states(model, q=q, v=v)
    total = momentum_of_batch(model, q, v)
    return total[0] if single else total
