"""The suite `cpu`: robots that ship, and chains, beside Pinocchio on one core, in one run, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine import files
from engine.bench import intervals
from engine.bench.peers import pinocchio
from engine.bench.results import NONE, Rows
from engine.bench.timer import alternate, repeater
from engine.dynamics import ForwardDynamics
from engine.model import Model, generate
from engine.urdf.load import load

CASES: tuple[tuple[str, str, int], ...] = (
    ("arm7, one call from Python", "arm7", 1),
    ("arm7, batch 4096", "arm7", 4096),
    ("humanoid, one call from Python", "humanoid", 1),
    ("humanoid, batch 4096", "humanoid", 4096),
    ("chain of 50, one call from Python", "chain50", 1),
    ("chain of 200, one call from Python", "chain200", 1),
)
"""The cases: a title, a robot that ships or a generated chain, and the batch."""


def _model(name: str) -> Model:
    if name.startswith("chain"):
        return generate.chain(int(name.removeprefix("chain")))
    return load(files.find_robot(name))


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """Measure every unfinished case for about `seconds`. Times are medians in µs per robot, on one core.

    If Pinocchio is installed its `aba` is called for the same states in turn: `ratio` holds the 25, 50 and 75 %
    quantiles of our time over its. `spread` holds the intervals of the medians, see `intervals`.
    """
    for title, name, batch in CASES:
        yield finished.get(title) or {"key": title, **_measure(title, _model(name), batch, seconds)}


def _measure(title: str, model: Model, batch: int, seconds: float) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    q = model.random(rng, batch)
    v, tau = rng.uniform(-1, 1, (batch, model.nv)), rng.uniform(-1, 1, (batch, model.nv))
    state = (q[0], v[0], tau[0]) if batch == 1 else (q, v, tau)
    fd = ForwardDynamics(model, batch, device="cpu", threads=1)
    candidates: list[tuple[Callable[[int], None], int]] = [(repeater(lambda: fd(*state)), batch)]
    peer = pinocchio.pinocchio_aba(model)
    if peer is not None:
        converted = [peer.states(q[i], v[i], tau[i]) for i in range(min(batch, 64))]
        candidates.append((_over(peer.aba, converted), 1))
    samples = alternate(candidates, seconds)
    row: dict[str, Any] = {
        "case": title,
        "batch": batch,
        "nv": model.nv,
        "catena_us": float(np.median(samples[0])) * 1e6,
        "spread": {"catena_us": intervals.of_median(samples[0] * 1e6)},
    }
    if peer is not None:
        row["pinocchio_us"] = float(np.median(samples[1])) * 1e6
        row["ratio"] = [float(x) for x in np.quantile(np.divide(*samples), (0.25, 0.5, 0.75))]
        row["spread"] = {"catena/pinocchio": intervals.of_ratio(*samples)}  # the machine's speed affects both
    return row


def _over(function: Callable[..., Any], states: list[tuple[Any, ...]]) -> Callable[[int], None]:
    """Return a loop that calls `function` on one state after another."""

    def repeat(times: int) -> None:
        n = len(states)
        for i in range(times):
            function(*states[i % n])

    return repeat
