"""The algorithms that the lessons run, one of `engine.algorithms` each, and the engine's result for the same state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from engine import dynamics
from engine.algorithms import abia, dca, dca_tree, inverse
from engine.algorithms.chain import Chain
from engine.algorithms.tree import Tree
from engine.blocks import bidiagonal
from engine.blocks.scan import loop
from engine.blocks.stages import stage
from engine.lessons import contact, paths, precision, pull
from engine.lessons.precision import TEXTS, constraint_forces
from engine.lessons.trace import Run, Trace, trace
from engine.lie import Array
from engine.model import Model, generate
from engine.selection import capabilities, shipped
from engine.selection.timings import Case

SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
"""Links of the chains for which times are counted."""
MEASURED = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Links of the chains for which the engine's times are shown."""
NOWHERE = "at none"
PAPER_FASTER = 2.25
"""The speed-up of DCA-ABA over the ABA with four processors in Bhalerao, Critchley, Anderson (2012)."""


class Subject(NamedTuple):
    """An algorithm to run, with the joints' efforts or, `of_accelerations`, with the accelerations they cause.

    `engine` returns the expected result of `run` from a model, q, v and that input.
    """

    run: Run
    engine: Callable[[Model, Array, Array, Array], Array]
    of_accelerations: bool = False
    more: Callable[[Any, Array, Array, Array], Mapping[str, float | str]] = lambda *_: {}
    """Additional facts of this lesson, from the robot, q, v and the joints' efforts."""
    robot: Callable[[Model], Any] = Chain.of
    """Converts a model to the argument of `run` and `more`."""
    beside: str = ""
    """The part of the algorithm to which the error is relative, since the result of `run` may be zero."""
    moving: Callable[[Any, Array, Array, Array], tuple[Array, Array, Array]] | None = None
    """Returns the state to show: the robot's, or, where that shows nothing, a motion, as the fact `motion` says."""
    algorithm: str = ""
    """The engine's name of the algorithm, if its compiled code has corresponding phases."""


def three_links(chain: Chain, q: Array, v: Array, tau: Array) -> Array:
    """Return the force (1, 6) of the last three links on the link before, from their composed (I, p)."""
    X, n = chain.X(q), chain.n
    _, c, b = inverse.velocities(chain, X, v)
    links = dca.Links(chain.S[None], chain.J[None], X, c, b, tau).at(slice(n - 3, n))
    runs = dca.reduce(links, 1)
    stage("alone", range(n - 3, n), *runs)
    first, second, third = (tuple(x[:, k : k + 1] for x in runs) for k in range(3))

    pair = dca.join(first, second)
    stage("first two", range(n - 3, n - 1), *pair)

    left = dca.join(pair, third)
    stage("then the last", range(n - 3, n), *left)

    last = dca.join(second, third)
    right = dca.join(first, last)
    stage("the other way", range(n - 3, n), *right)

    I, p = chain.J[-1] + np.zeros_like(X[:, 0]), b[:, -1]
    for i in (n - 1, n - 2, n - 3):
        here = abia.joint(chain.S[i], I, p, tau[:, i])
        I, p = abia.to_parent(here, X[:, i], I, p, c[:, i])
        I, p = (chain.J[i - 1] + I, b[:, i - 1] + p) if i > n - 3 else (I, p)
    stage("recursion", range(n - 3, n), I[:, None], p[:, None])

    before = accelerations_of_links(chain, X, c, abia.forward_dynamics(chain, q, v, tau))[:, n - 3]
    F: Array = (left[0][:, 0] @ before[..., None])[..., 0] + left[4][:, 0]
    stage("force", range(n - 3, n - 2), F)
    return F


def accelerations_of_links(chain: Chain, X: Array, c: Array, qdd: Array) -> Array:
    """(1, n + 1, 6): the accelerations of the base and of each link, by [Y] (2b)."""
    drive = chain.along(qdd) + c
    base = np.zeros_like(drive[:, :1]) + chain.a0
    drive[:, 0] += (X[:, 0] @ chain.a0[:, None])[..., 0]
    A = bidiagonal.solve(X, drive)
    stage("accelerations", range(chain.n), A)
    return np.concatenate([base, A], 1)


def _force_on_three(model: Model, q: Array, v: Array, tau: Array) -> Array:
    """Return that force by Newton-Euler, from the engine's accelerations, in the frame of the link before."""
    chain = Chain.of(model)
    X, n = chain.X(q[None]), chain.n
    _, c, b = inverse.velocities(chain, X, v[None])
    A = accelerations_of_links(chain, X, c, accelerations(model, q, v, tau)[None])[:, 1:]
    F = bidiagonal.solve_transposed(X, (chain.J @ A[..., None])[..., 0] + b)
    force: Array = X[0, n - 3].T @ F[0, n - 3]
    return force


def kinetic_energy(chain: Chain, q: Array, v: Array, _: Array) -> Array:
    """Return ½ Σ VᵀJV (1, 1), J, with the velocities from the bi-diagonal system."""
    V, _, _ = inverse.velocities(chain, chain.X(q), v)
    energy: Array = 0.5 * np.sum(V * (chain.J @ V[..., None])[..., 0], (1, 2))
    return energy[:, None]


def accelerations(model: Model, q: Array, v: Array, tau: Array) -> Array:
    """Return q̈ (nv,) as the engine computes it on the CPU."""
    return dynamics.forward_dynamics(model, q, v, tau, device="cpu")


def _kinetic(model: Model, q: Array, v: Array, _: Array) -> Array:
    kinetic, _ = dynamics.energy(model, q, v)
    return np.array([kinetic])


def growth(chain: Chain, q: Array, v: Array, tau: Array) -> Array:
    """Return q̈ by the ABA, after counting three algorithms' times with one processor per link."""
    for name in ("abia", "dca", "cfa"):
        stage(f"{name} over links", range(chain.n), times_over_links(name)[None])
    stage("measured over links", range(chain.n), measured_over_links()[None])
    return abia.forward_dynamics(chain, q, v, tau)


@cache
def times_over_links(name: str) -> Array:
    """(sizes,): counted times of chains of `SIZES` links; they do not depend on the numbers."""
    times = []
    for n in SIZES:
        rest = np.zeros(n)
        times.append(trace(TEXTS[name], Chain.of(generate.chain(n)), rest, rest, rest).time(n))
    return np.array(times)


def measured_over_links() -> Array:
    """(algorithms, sizes): seconds of a call for chains of `MEASURED` links by the ABA, DCA-ABA and the CFA.

    They are the timings of the engine's automatic choice; NaN if not measured.
    """
    device = capabilities.resolve_device("auto")
    table = shipped.table_in_use(device)
    rows = [[table.seconds(name, Case("chain", n, 1, "float64")) for n in MEASURED] for name in ("abia", "dca", "cfa")]
    return np.array(rows, float)


def _crossings(*_: object) -> dict[str, float | str]:
    """Return the first of `SIZES` at which each parallel algorithm is faster than the ABA."""
    crossing = {
        name: SIZES[int(np.argmax(times_over_links(name) < times_over_links("abia")))] for name in ("dca", "cfa")
    }
    aba, faster, _ = measured_over_links()
    slower = [size for size, time, other in zip(MEASURED, aba, faster, strict=True) if not other < time]
    after = [str(size) for size in MEASURED if size > max(slower, default=0)]
    return {
        "measured_device": {"cpu": "processor", "cuda": "graphics processor"}[capabilities.resolve_device("auto")],
        "measured_where": shipped.table_in_use(capabilities.resolve_device("auto")).origin,
        "measured_crossing": (after or [NOWHERE])[0],
        "measured_as_choices": " | ".join([*map(str, MEASURED), NOWHERE]),
        "least_size": SIZES[0], "largest_size": SIZES[-1],
        "dca_crossing": crossing["dca"], "cfa_crossing": crossing["cfa"],
        "sizes_as_choices": " | ".join(map(str, SIZES[1:-1])),
    }  # fmt: skip


def parts(processors: int) -> Run:
    """Return DCA-ABA with at most one part for each processor."""
    return lambda chain, q, v, tau: dca.forward_dynamics(chain, q, v, tau, chunk=-(-chain.n // processors))


def _on_few_processors(chain: Chain, *state: Array) -> dict[str, float]:
    """Return times with at most one part for each of one to eight processors, and the speed-ups."""
    one, two, four, eight = (trace(parts(count), chain, *state).time(count) for count in (1, 2, 4, 8))
    chunk = -(-chain.n // 4)
    return {
        "chunk": chunk, "chunks": -(-chain.n // chunk),
        "one_time": one, "two_time": two, "four_time": four, "eight_time": eight,
        "two_faster": one / two, "four_faster": one / four, "eight_faster": one / eight, "paper_faster": PAPER_FASTER,
    }  # fmt: skip


def one_by_one(chain: Chain, q: Array, v: Array, tau: Array) -> Trace:
    """Return the velocities by their recursion, for comparison with a scan."""
    return trace(lambda chain, q, v, _: inverse.velocities(chain, chain.X(q), v, sweep=loop)[0], chain, q, v, tau)


def _recursion(chain: Chain, *state: Array) -> dict[str, float]:
    """Compute the velocities by their recursion."""
    steps = [stage for stage in one_by_one(chain, *state).of("first", "apply") if stage.operations]
    return {"recursion_depth": len(steps), "recursion_work": sum(stage.operations for stage in steps)}


SUBJECTS = {
    "elimination": Subject(constraint_forces, accelerations, algorithm="cfa"),
    "inverse": Subject(inverse.inverse_dynamics, dynamics.inverse_dynamics, of_accelerations=True, beside="forces"),
    "bidiagonal": Subject(kinetic_energy, _kinetic, more=_recursion),
    "abia": Subject(abia.forward_dynamics, accelerations, algorithm="abia"),
    "chunks": Subject(parts(4), accelerations, more=_on_few_processors, algorithm="dca"),
    "precision": Subject(precision.in_single_precision, accelerations, more=precision.facts, moving=precision.moving),
    "crossing": Subject(growth, accelerations, more=_crossings),
    "composition": Subject(three_links, _force_on_three),
    "dca": Subject(dca.forward_dynamics, accelerations, more=pull.facts, algorithm="dca"),
    "dca_tree": Subject(dca_tree.forward_dynamics, accelerations, more=paths.facts, robot=Tree.of),
    "contact": Subject(contact.run, contact.of_engine, more=contact.facts, robot=lambda model: model),
}
