"""Random user actions on a running simulation: steps, inputs, and robots that diverge."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import engine
from engine.validation import Array
from tests.differential.cases import Case
from tests.differential.laws import chances, results_of

WILD = 1e11
"""A velocity by which a robot diverges within some steps."""


class Act(NamedTuple):
    """The inputs set before some steps; None for unchanged ones."""

    tau: Array | None
    target: Array | None
    wrench: Array | None
    wild: int | None
    """The robot whose velocities are put beyond any robot's."""
    steps: int


def script(found: Case, length: int, wild: float = 0.1) -> list[Act]:
    """Draw acts for a case; in a share `wild` of them a robot diverges."""
    rng, model = chances(found, length), found.model()
    size = np.abs(np.array(found.state["tau"])) + 0.1
    weight = max(float(model.mass.sum()), 0.01)
    acts = []
    for _ in range(length):
        tau, target, wrench = None, None, None
        if rng.random() < 0.4:
            tau = size * rng.standard_normal(size.shape)
        if rng.random() < 0.4:
            target = np.array(found.state["target"]) + 0.1 * rng.standard_normal(size.shape)
        if found.state["wrench"] is not None and rng.random() < 0.4:
            shape = np.shape(found.state["wrench"])
            wrench = weight * rng.standard_normal(shape) * (rng.random((*shape[:2], 1)) < 0.4)
        goes = int(rng.integers(found.batch)) if model.nv and rng.random() < wild else None
        acts.append(Act(tau, target, wrench, goes, int(rng.choice([0, 1, 1, 1, 2, 3, 5]))))
    if found.state["wrench"] is not None:  # one push, and the same on another link
        wrench = np.zeros(np.shape(found.state["wrench"]))
        wrench[:, 0] = weight * np.linspace(0.5, 1.0, 6)
        acts[-2:] = [Act(None, None, np.roll(wrench, link, axis=1), None, 2) for link in range(2)]
    return acts


def give(simulation: engine.Simulation, act: Act) -> None:
    """Set the inputs, and make some robots diverge."""
    for name in ("tau", "target", "wrench"):
        if getattr(act, name) is not None:
            getattr(simulation, name)[:] = getattr(act, name)
    if act.wild is not None:
        simulation.v[act.wild] += WILD * np.linspace(1.0, 2.0, simulation.model.nv)


def go(simulation: engine.Simulation, steps: int) -> str | None:
    """Take some steps; return the message if they ended early."""
    try:
        simulation.step(steps)
    except engine.Diverged as end:
        return str(end)
    return None


def played(simulation: engine.Simulation, acts: list[Act]) -> Iterator[dict[str, Any]]:
    """Return the results after each act."""
    for act in acts:
        give(simulation, act)
        text = go(simulation, act.steps)
        yield results_of(simulation) | {"said": text}
