"""What the lessons run: a text of `engine.algorithms` for each, and what the engine itself says of the same state."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine import dynamics
from engine.algorithms import abia, cfa, dca, inverse
from engine.algorithms.chain import Chain
from engine.blocks.scan import loop
from engine.lessons.trace import Run, Trace, trace
from engine.lie import Array
from engine.model import Model


class Subject(NamedTuple):
    """`run` gets the joints' efforts, or the accelerations that they cause where `of_accelerations`.

    `engine` gives from a model, q, v and those what `run` is to have found. `chunks` is how many links the text reduces
    one after the other, of how many there are.
    """

    run: Run
    engine: Callable[[Model, Array, Array, Array], Array]
    of_accelerations: bool = False


def constraint_forces(chain: Chain, q: Array, v: Array, tau: Array) -> Array:
    """q̈ as [Y] has the CFA, without the refinement of `cfa.refined`: what is left over is what the lesson shows."""
    X = chain.X(q)
    _, c, b = inverse.velocities(chain, X, v)
    tau_delta = tau - inverse.forces(chain, X, c, b, np.zeros_like(c))
    return cfa.System.of(chain, X).solve(tau_delta)


def kinetic_energy(chain: Chain, q: Array, v: Array, _: Array) -> Array:
    """½ Σ VᵀJV (1, 1), J, of the velocities that the bi-diagonal system has."""
    V, _, _ = inverse.velocities(chain, chain.X(q), v)
    energy: Array = 0.5 * np.sum(V * (chain.J @ V[..., None])[..., 0], (1, 2))
    return energy[:, None]


def accelerations(model: Model, q: Array, v: Array, tau: Array) -> Array:
    """q̈ (nv,) as the engine computes it on the CPU."""
    return dynamics.forward_dynamics(model, q, v, tau, device="cpu")


def _kinetic(model: Model, q: Array, v: Array, _: Array) -> Array:
    kinetic, _ = dynamics.energy(model, q, v)
    return np.array([kinetic])


SUBJECTS = {
    "elimination": Subject(constraint_forces, accelerations),
    "inverse": Subject(inverse.inverse_dynamics, dynamics.inverse_dynamics, of_accelerations=True),
    "bidiagonal": Subject(kinetic_energy, _kinetic),
    "aba": Subject(abia.forward_dynamics, accelerations),
    "dca": Subject(dca.forward_dynamics, accelerations),
}


def one_by_one(chain: Chain, q: Array, v: Array, tau: Array) -> Trace:
    """The velocities by their recursion, for which a scan is to be compared with."""
    return trace(lambda chain, q, v, _: inverse.velocities(chain, chain.X(q), v, sweep=loop)[0], chain, q, v, tau)
