"""The accuracy of the reference algorithms: residuals by number type and length, for the documentation."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.algorithms import abia, abia_hybrid, cfa, dca, jsiia
from engine.algorithms.chain import Chain
from engine.bench.states import State, residual, state
from engine.model import Model, generate
from engine.validation import Array

TEXTS: Mapping[str, Callable[[Chain, Array, Array, Array], Array]] = {
    "abia": abia.forward_dynamics,
    "abia-hybrid": abia_hybrid.forward_dynamics,
    "jsiia": jsiia.forward_dynamics,
    "cfa": cfa.forward_dynamics,
    "dca": dca.forward_dynamics,
}
"""The algorithms as `engine.algorithms` has them, by their public names."""

LENGTHS = (10, 50, 200, 1000, 4096)


class Row(NamedTuple):
    """The residual of one algorithm on one chain; infinite if it finds no result."""

    algorithm: str
    dtype: str
    links: int
    straight: bool
    residual: float


def residuals(
    lengths: Iterable[int] = LENGTHS, dtypes: Iterable[str] = ("float32", "float64"), batch: int = 4, xp: Any = np
) -> list[Row]:
    """The worst residual of each algorithm over `batch` states of random and straight chains, a third prismatic.

    `xp` is the library to compute with, numpy or cupy. 4096 links take some seconds each for jsiia.
    """
    rows = []
    for n in lengths:
        for straight in (False, True):
            model = generate.chain(n, straight=straight, prismatic=1 / 3)
            exact = state(model, np.random.default_rng(n), batch)
            for dtype in dtypes:
                at, chain = State(*(x.astype(dtype) for x in exact)), Chain.of(model, xp, dtype)
                for name, text in TEXTS.items():
                    rows.append(Row(name, dtype, n, straight, _worst(model, chain, at, text, xp)))
    return rows


def _worst(
    model: Model, chain: Chain, at: State, text: Callable[[Chain, Array, Array, Array], Array], xp: Any
) -> float:
    try:
        qdd = text(chain, *(xp.asarray(x) for x in at))
    except ArithmeticError:
        return float("inf")
    return float(np.max(residual(model, at, qdd if isinstance(qdd, np.ndarray) else qdd.get())))


def worst(rows: Iterable[Row]) -> dict[tuple[str, str, int], float]:
    """The worse residual of random and straight chains, by number type, algorithm and links."""
    found: dict[tuple[str, str, int], float] = {}
    for row in rows:
        key = row.dtype, row.algorithm, row.links
        found[key] = max(found.get(key, 0.0), row.residual)
    return found


def markdown(rows: Iterable[Row]) -> str:
    """A table for each number type: algorithms down, lengths across, the worse of random and straight chains."""
    left = worst(rows)
    dtypes, names, lengths = (tuple(dict.fromkeys(part)) for part in zip(*left, strict=True))
    lines = []
    for dtype in dtypes:
        lines += ["", f"| {dtype} | {' | '.join(map(str, lengths))} |", "| --- |" + " ---: |" * len(lengths)]
        for name in names:
            cells = (left.get((dtype, name, n)) for n in lengths)
            shown = ("" if x is None else "–" if np.isinf(x) else f"{x:.0e}" for x in cells)
            lines.append(f"| `{name}` | {' | '.join(shown)} |")
    return "\n".join([*lines[1:], ""])
