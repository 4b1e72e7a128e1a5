"""DCA-ABA: articulated inertias by divide and conquer ([B]); with chunks of one link, an ABIA made of scans only.

[B] is K. Bhalerao, J. Critchley, K. Anderson, "An efficient parallel dynamics algorithm for simulation of large
articulated robotic systems" (2012). A run of links is described by five quantities (I, Φ, Y, b, p), which give the
force on the link before it and the acceleration of its last link,

    F_first = I a + Φᵀ F_next + p        a_last = Φ a − Y F_next + b

where a is the acceleration of the link before it and F_next the force in the joint after it. The ABA's own step adds a
link in front of a run. Two runs are joined by solving for the acceleration of the link between them. I and Y stay
symmetric and positive semidefinite, which makes this accurate.

Joining is associative. The recursion for articulated inertias, which [Y] section III considers sequential, is thus a
scan like those of velocities and forces: its maps are runs, its states the (I, p) of all links beyond.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.algorithms import abia
from engine.algorithms.abia import ArticulatedJoint
from engine.algorithms.chain import Chain
from engine.algorithms.inverse import velocities
from engine.blocks import bidiagonal
from engine.blocks.arrays import identity, mv, outer, symmetrised, t
from engine.blocks.scan import Arrays, loop, scan
from engine.blocks.stages import stage
from engine.lie import Array


class Links(NamedTuple):
    """The links' inputs to the ABA, (batch or 1, links, …): axes, inertias, transforms, velocity terms c and b, τ."""

    S: Array
    J: Array
    X: Array
    c: Array
    b: Array
    tau: Array

    def at(self, places: slice) -> Links:
        return Links(*(array[:, places] for array in self))

    def kth(self, chunk: int) -> list[Links]:
        """Return the first links of all chunks, the second ones, …, the last ones; a short last chunk lacks some."""
        return [self.at(slice(k, None, chunk)) for k in range(chunk)]


def forward_dynamics(chain: Chain, q: Array, v: Array, tau: Array, chunk: int = 1) -> Array:
    """Return q̈ (batch, n) from q, v and tau (batch, n).

    Each chunk of `chunk` links is reduced sequentially, all chunks in parallel; the scan runs over chunks. 1 gives a
    pure scan, n or more the plain ABA. Raises ValueError for a link without inertia about its joint axis that would
    form a run of its own.
    """
    chain.check(q, v, tau)
    if chunk < 1:
        raise ValueError(f"chunk is {chunk}; expected how many links to reduce one after the other, 1 or more")
    chunk = min(chunk, chain.n)
    _refuse_idle_ends(chain, chunk)
    X = chain.X(q)
    _, c, b = velocities(chain, X, v, sweep=loop if chunk == chain.n else scan)
    links = Links(chain.S[None], chain.J[None], X, c, b, tau)
    joints = articulate(links, *distal(links, chunk), chunk)
    return accelerate(links, joints, chain.a0, chunk)


def _refuse_idle_ends(chain: Chain, chunk: int) -> None:
    """Raise ValueError if a chunk's last joint moves no inertia within the chunk: D = SᵀJS would be zero."""
    for i in range(2 * chunk - 1, chain.n - 1, chunk):
        if chain.own_inertia[i] <= 0:
            raise ValueError(
                f"dca does not support {chain.model.name} with chunks of {chunk}: the last joint of a chunk, "
                f"{chain.model.joint_names[i]!r}, moves no inertia within it; use abia, or other chunks"
            )


def distal(links: Links, chunk: int) -> tuple[Array, Array]:
    """Return (I, p) of the links distal to each chunk, (batch, chunks, 6, 6) and (batch, chunks, 6); 0 for the last."""
    batch, n = links.tau.shape
    nothing = np.zeros_like(links.X, shape=(batch, 1, 6, 6)), np.zeros_like(links.X, shape=(batch, 1, 6))
    if n <= chunk:
        return nothing
    # The first chunk is distal to none.
    runs = reduce(links.at(slice(chunk, None)), chunk)
    states = scan(join, runs, apply, first, reverse=True)
    stage("beyond", range(chunk, n, chunk), *states)
    I, p = (np.concatenate(parts, 1) for parts in zip(states, nothing, strict=True))
    return I, p


def reduce(links: Links, chunk: int) -> Arrays:
    """Reduce each chunk to a run (I, Φ, Y, b, p), by the ABA's recursion with three more quantities."""
    shape = (len(links.tau), -(-links.tau.shape[1] // chunk), 6, 6)
    I, Phi, Y = (np.zeros_like(links.X, shape=shape) for _ in range(3))
    b, p = (np.zeros_like(links.X, shape=shape[:-1]) for _ in range(2))
    Phi += identity(6, Phi)
    for link in reversed(links.kth(chunk)):
        m = link.tau.shape[1]
        I_here, p_here = link.J + I[:, :m], link.b + p[:, :m]
        joint = abia.joint(link.S, I_here, p_here, link.tau)
        A, beta = abia.motion(joint, link.X, link.c)
        # Y' = Y + (Φ S)(Φ S)ᵀ/D,  b' = Φ β + b,  Φ' = Φ A
        w = mv(Phi[:, :m], link.S)
        Y[:, :m] += outer(w, w / joint.D[..., None])
        b[:, :m] += mv(Phi[:, :m], beta)
        Phi[:, :m] = Phi[:, :m] @ A
        I[:, :m], p[:, :m] = abia.to_parent(joint, link.X, I_here, p_here, link.c)
        stage("reduce", range(m), I, Phi, Y, b, p)
    return I, Phi, Y, b, p


def join(left: Arrays, right: Arrays) -> Arrays:
    """Join two neighbouring runs. The link between them has the acceleration

    a_m = (1 + Y₁ I₂)⁻¹ (Φ₁ a − Y₁ (Φ₂ᵀ F_next + p₂) + b₁)
    """
    (I1, Phi1, Y1, b1, p1), (I2, Phi2, Y2, b2, p2) = left, right
    known = np.concatenate([Phi1, Y1 @ t(Phi2), (b1 - mv(Y1, p2))[..., None]], -1)
    a_m = np.linalg.solve(identity(6, Y1) + Y1 @ I2, known)
    Phi_m, Y_m, b_m = a_m[..., :6], a_m[..., 6:12], a_m[..., 12]
    # I = I₁ + Φ₁ᵀ I₂ (1 + Y₁ I₂)⁻¹ Φ₁,  Y = Y₂ + Φ₂ (1 + Y₁ I₂)⁻¹ Y₁ Φ₂ᵀ
    I, Y = I1 + t(Phi1) @ I2 @ Phi_m, Y2 + Phi2 @ Y_m
    b, p = mv(Phi2, b_m) + b2, p1 + mv(t(Phi1), mv(I2, b_m) + p2)
    return symmetrised(I), Phi2 @ Phi_m, symmetrised(Y), b, p


def apply(runs: Arrays, states: Arrays) -> Arrays:
    """Return (I, p) of runs including all links beyond: `join` of I and p, with F_next eliminated."""
    (I1, Phi1, Y1, b1, p1), (I2, p2) = runs, states
    a_m = np.linalg.solve(identity(6, Y1) + Y1 @ I2, np.concatenate([Phi1, (b1 - mv(Y1, p2))[..., None]], -1))
    I, p = I1 + t(Phi1) @ I2 @ a_m[..., :6], p1 + mv(t(Phi1), mv(I2, a_m[..., 6]) + p2)
    return symmetrised(I), p


def first(runs: Arrays) -> Arrays:
    I, _, _, _, p = runs
    return I, p


def articulate(links: Links, I: Array, p: Array, chunk: int) -> list[ArticulatedJoint]:
    """Return the joints of all chunks' first links, second links, …, by the ABA's recursion from (I, p) beyond."""
    joints, n = [], links.tau.shape[1]
    for k in reversed(range(chunk)):
        link = links.at(slice(k, None, chunk))
        m = link.tau.shape[1]
        I_here, p_here = link.J + I[:, :m], link.b + p[:, :m]
        joints.append(abia.joint(link.S, I_here, p_here, link.tau))
        I_before, p_before = abia.to_parent(joints[-1], link.X, I_here, p_here, link.c)
        I = np.concatenate([I_before, I[:, m:]], 1)
        p = np.concatenate([p_before, p[:, m:]], 1)
        stage("joints", range(k, n, chunk), joints[-1].U, joints[-1].D, joints[-1].u)
    return joints[::-1]


def accelerate(links: Links, joints: list[ArticulatedJoint], a0: Array, chunk: int) -> Array:
    """Return q̈ (batch, n): each chunk's acceleration map is scanned over the chunks, then evaluated link by link.

    The maps come from the joints, so that the accelerations at the chunks' ends agree with q̈; those from the systems
    of `apply` would differ by the rounding of large forces.
    """
    kth = links.kth(chunk)
    m = kth[0].tau.shape[1]
    a = np.broadcast_to(a0, (len(links.tau), 1, 6))
    if m > 1:
        A, beta = identity(6, links.X), np.zeros_like(links.b[:, : m - 1])
        for joint, link in zip(joints, kth, strict=True):
            inner = ArticulatedJoint(*(x[:, : m - 1] for x in joint))
            here, offset = abia.motion(inner, link.X[:, : m - 1], link.c[:, : m - 1])
            A, beta = here @ A, mv(here, beta) + offset
            stage("maps", range(m - 1), A, beta)
        beta[:, 0] += mv(A[:, 0], a0)
        a = np.concatenate([a, bidiagonal.solve(A, beta)], 1)
        stage("ends", range(chunk - 1, len(links.tau[0]) - 1, chunk), a)
    qdd = np.empty_like(links.tau)
    for k, (joint, link) in enumerate(zip(joints, kth, strict=True)):
        held = mv(link.X, a[:, : link.tau.shape[1]]) + link.c
        qdd[:, k::chunk], a = abia.moved(joint, held)
        stage("moved", range(k, len(qdd[0]), chunk), a)
    return qdd
