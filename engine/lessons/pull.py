"""The effect of a different effort at one joint: two runs of one algorithm, compared stage by stage."""

from __future__ import annotations

import numpy as np

from engine.algorithms import abia, dca
from engine.algorithms.chain import Chain
from engine.lessons.trace import Stage, Trace, trace
from engine.lie import Array
from engine.model import generate

Changes = tuple[tuple[bool, ...], ...]
"""For each stage and each place, whether any number there has changed."""
PULL = 1.0
"""N m or N, the additional effort."""
SAME = 1e-12
"""Relative to a stage's largest number: smaller changes are ignored."""


def changes(before: Trace, after: Trace) -> Changes:
    """Return the places of the stages that the additional effort has changed."""
    return tuple(_changed(one, other) for one, other in zip(before.stages, after.stages, strict=True))


def _changed(one: Stage, other: Stage) -> tuple[bool, ...]:
    marks = np.zeros(one.tasks, bool)
    for a, b in zip(one.values, other.values, strict=True):
        if a.shape[:1] != (one.tasks,):
            a, b = (x[None] if one.tasks == 1 else x[-one.tasks :] for x in (a, b))
        size = max(float(np.abs(a).max(initial=0.0)), float(np.finfo(float).tiny))
        marks |= np.abs(a - b).reshape(one.tasks, -1).max(1, initial=0.0) > SAME * size
    return tuple(marks.tolist())


def facts(chain: Chain, q: Array, v: Array, tau: Array) -> dict[str, float | str]:
    """Return how additional efforts at the first and at the last joint propagate through DCA's trees."""
    before, root, tip = (
        trace(dca.forward_dynamics, chain, q, v, tau + PULL * np.eye(chain.n)[k] * pulled)
        for k, pulled in ((0, False), (0, True), (-1, True))
    )
    from_root, from_tip = (list(zip(before.stages, changes(before, x), strict=True)) for x in (root, tip))
    beyond = [(stage, marks) for stage, marks in from_root if stage.part == "beyond"]
    up = [marks for stage, marks in from_tip if stage.part == "beyond" and stage.name in ("reduce", "join")]
    joins = [stage for stage, _ in beyond if stage.name == "join"]
    longer, rest = Chain.of(generate.chain(2 * chain.n)), np.zeros((3, 2 * chain.n))
    return {
        "depth_of_twice": trace(dca.forward_dynamics, longer, *rest).depth,
        "abia_depth_of_twice": trace(abia.forward_dynamics, longer, *rest).depth,
        "pull": f"{PULL:g}",
        "pull_beyond": sum(any(marks) for _, marks in beyond),
        "pull_links": sum(from_root[-1][1]),
        "pull_steps": sum(any(marks) and stage.operations > 0 for stage, marks in from_root),
        "all_parts": sum(map(len, up)),
        "tip_parts": sum(sum(marks) for marks in up),
        "left_parts": chain.n - 1 - sum(stage.tasks for stage in joins),
    }
