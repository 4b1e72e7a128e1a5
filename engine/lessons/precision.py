"""Computations of the lesson on precision: errors of q̈ by joint, and of each block, in single precision.

Both are computed for the open robot, and with a last link a million times as heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from engine.algorithms import abia, cfa, dca, inverse
from engine.algorithms.chain import Chain
from engine.blocks.stages import stage
from engine.lessons.counting import plain
from engine.lessons.sheet import scientific
from engine.lessons.trace import SWEEPS, Stage, Trace, trace
from engine.lie import Array
from engine.model import Model
from engine.selection import capabilities

HEAVY = 1e6
"""The factor on the last link's mass in the second half."""
NOISE = 1e-6
"""The relative difference of two algorithms in double precision from which accelerations are only rounding errors."""
NAMES = {
    "abia": "the articulated-body algorithm",
    "dca": "divide and conquer",
    "cfa": "the constraint force algorithm, unrefined",
    "refined": "the constraint force algorithm, refined",
}


def constraint_forces(chain: Chain, q: Array, v: Array, tau: Array) -> Array:
    """Return q̈ by [Y]'s CFA, without the refinement of `cfa.refined`: the lesson shows its residual."""
    X = chain.X(q)
    _, c, b = inverse.velocities(chain, X, v)
    tau_delta = tau - inverse.forces(chain, X, c, b, np.zeros_like(c))
    return cfa.System.of(chain, X).solve(tau_delta)


TEXTS = {
    "abia": abia.forward_dynamics,
    "dca": dca.forward_dynamics,
    "cfa": constraint_forces,
    "refined": cfa.forward_dynamics,
}
"""The algorithms whose precision is compared."""


@lru_cache(maxsize=2)
def loaded(model: Model) -> Model:
    """Return the robot with the heavy last link."""
    share = np.where(np.arange(len(model.parent)) == len(model.parent) - 1, HEAVY, 1.0)
    return replace(
        model,
        mass=model.mass * share,
        first_moment=model.first_moment * share[:, None],
        inertia=model.inertia * share[:, None, None],
    )


def in_single_precision(chain: Chain, q: Array, v: Array, tau: Array) -> Array:
    """Return q̈ by the ABA, after stages with the others' errors in single precision.

    Errors are relative to the largest acceleration, and each block's to the largest number in it.
    """
    state = tuple(plain(x)[0] for x in (q, v, tau))
    for load, model in (("", chain.model), ("loaded ", loaded(chain.model))):
        long, short = Chain.of(model), Chain.of(model, dtype="float32")
        exact = trace(abia.forward_dynamics, long, *state).result
        for name, text in TEXTS.items():
            single, double = (trace(text, robot, *state, dtype=str(robot.S.dtype)) for robot in (short, long))
            # As many refinement steps as needed, on numbers that are zero except for errors.
            blocks = {} if name == "refined" else by_block(single, double)
            errors = np.array([[_relative(one.result, exact) for one in (single, double)]])
            each = np.abs(single.result - exact) / _size(exact)
            stage(
                load + name, range(chain.n), each[None], np.array([[*blocks.values()]]), np.array([[*blocks]]), errors
            )
    return abia.forward_dynamics(chain, q, v, tau)


def by_block(single: Trace, double: Trace) -> dict[str, float]:
    """Return the largest relative error of each stage, by its name; for a scan, of its result."""
    errors: dict[str, float] = {}
    for one, other in zip(single.stages, double.stages, strict=True):
        name = one.part if one.name in SWEEPS else one.name
        errors[name] = max(errors.get(name, 0.0), _of_stage(one, other))
    return errors


def _of_stage(one: Stage, other: Stage) -> float:
    return max((_relative(a, b) for a, b in zip(one.values, other.values, strict=True) if b.size), default=0.0)


def _relative(computed: Array, exact: Array) -> float:
    return float(np.abs(computed - exact).max() / _size(exact))


def _size(exact: Array) -> float:
    return max(float(np.abs(exact).max()), float(np.finfo(float).tiny))


def moving(chain: Chain, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
    """Return a state with accelerations: the given one, or its configuration with velocities and efforts by chance.

    Accelerations that are zero up to rounding have no digits to lose.
    """
    exact, again = (TEXTS[name](chain, q[None], v[None], tau[None]) for name in ("abia", "dca"))
    if exact.any() and _relative(again, exact) < NOISE:
        return q, v, tau
    rng = np.random.default_rng(0)
    return q, rng.normal(size=v.shape), rng.normal(size=tau.shape)


def facts(chain: Chain, *state: Array) -> Mapping[str, float | str]:
    """Return the largest errors by algorithm, in both precisions and with both loads, and the worst algorithms."""
    made = trace(in_single_precision, chain, *state)
    words: dict[str, float | str] = {}
    for load in ("", "loaded "):
        for name in TEXTS:
            single, double = made.of(load + name)[0].values[3]
            key = (load + name).replace(" ", "_")
            words[f"{key}_error"] = float(single)
            if name != "abia":  # the reference for the others
                words[f"{key}_double_error"] = float(double)
    errors = {name: float(made.of(name)[0].values[3][0]) for name in ("abia", "dca", "cfa")}
    shown = {name: scientific(error) for name, error in errors.items()}
    worst = shown[max(errors, key=errors.__getitem__)]
    return words | {
        "worst": " | ".join(NAMES[name] for name in errors if shown[name] == worst),
        "refusal": capabilities.reason("dca", loaded(chain.model), "cpu") or "nothing",
    }
