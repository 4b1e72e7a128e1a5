"""A part of a chain by its two handles: its DCA quantities, and its two handle equations with numbers.

    F_first = I a + Φᵀ F_next + p        a_last = Φ a − Y F_next + b

a is the acceleration of the link before the part, in that link's frame, as is F_first; F_next, in the frame of the
part's last link, is the force on the link after it. Accelerations are relative to free fall.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.algorithms import inverse
from engine.algorithms.chain import Chain
from engine.blocks import bidiagonal
from engine.lessons.sheet import NOTHING
from engine.lessons.trace import Trace
from engine.lie import Array


class Part(NamedTuple):
    """Links from `first` to `last`, from 0, and I, Φ (`Phi`), Y (6, 6), b and p (6,)."""

    first: int
    last: int
    I: Array
    Phi: Array
    Y: Array
    b: Array
    p: Array


class Ends(NamedTuple):
    """The inputs at a part's handles, and the results of its equations, (6,) each."""

    a: Array
    F_next: Array
    F_first: Array
    a_last: Array


class PartEquations(NamedTuple):
    """A part's links, and for each symbol and equation its text, its six numbers and what these are of."""

    links: str
    rows: tuple[tuple[str, str, str], ...]


def parts(trace: Trace, index: int) -> list[Part]:
    """Return the parts known after stage `index`, in order of size."""
    by_run: dict[tuple[int, int], Part] = {}
    for stage in trace.stages[: index + 1]:
        if stage.part == "beyond" and stage.name in ("reduce", "join"):
            for k, (first, last) in enumerate(stage.runs):
                last = min(last, len(trace.result) - 1)
                by_run[first, last] = Part(first, last, *(value[k] for value in stage.values))
    return list(by_run.values())


def motion(chain: Chain, q: Array, v: Array, qdd: Array) -> tuple[Array, Array]:
    """Return the accelerations of base and links, and the joint forces, (n + 1, 6) both, by [Y] (2b) and (2c).

    Inputs are q, v and q̈ (n,). A joint's force is in the frame of the link before it, and zero after the last link.
    """
    X = chain.X(q[None])
    _, c, b = inverse.velocities(chain, X, v[None])
    drive = chain.along(qdd[None]) + c
    drive[:, 0] += (X[:, 0] @ chain.a0[:, None])[..., 0]
    A = bidiagonal.solve(X, drive)
    F = bidiagonal.solve_transposed(X, (chain.J @ A[..., None])[..., 0] + b)
    before = (np.swapaxes(X, -1, -2) @ F[..., None])[0, ..., 0]
    return np.concatenate([chain.a0[None], A[0]]), np.concatenate([before, np.zeros((1, 6))])


def ends(part: Part, accelerations: Array, forces: Array) -> Ends:
    """Evaluate the two equations with the results of `motion`."""
    a, F_next = accelerations[part.first], forces[part.last + 1]
    return Ends(a, F_next, part.I @ a + part.Phi.T @ F_next + part.p, part.Phi @ a - part.Y @ F_next + part.b)


def part_equations(part: Part, ends: Ends) -> PartEquations:
    """Return the part's links and both equations with numbers, about x, y, z and along."""
    one, beyond = part.first == part.last, np.abs(ends.F_next).max() > 0
    links = f"Link {part.first + 1}" if one else f"Links {part.first + 1} to {part.last + 1}"
    rows = (
        ("a", _six(ends.a), f"of link {part.first}" if part.first else "of the base"),
        ("F_next", _six(ends.F_next), f"to link {part.last + 2}" if beyond else "nothing lies beyond"),
        ("F_first = I a + Φᵀ F_next + p", _six(ends.F_first), f"in the joint of link {part.first + 1}"),
        ("a_last = Φ a − Y F_next + b", _six(ends.a_last), f"of link {part.last + 1}"),
    )
    return PartEquations(links, rows)


def _six(value: Array) -> str:
    largest = float(np.abs(value).max())
    return ", ".join(f"{x if abs(x) > NOTHING * largest else 0:.3g}".replace("-", "−") for x in value)
