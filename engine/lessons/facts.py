"""The values that a lesson's text names: counted in its run, and formatted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.lessons import drawing
from engine.lessons.sheet import scientific
from engine.lessons.trace import Trace
from engine.model import Model

LISTED = 16
"""The maximum number of links that are listed."""


def levels(n: int) -> int:
    """⌈log₂ n⌉."""
    return (n - 1).bit_length()


def of_run(trace: Trace, serial: Trace | None, model: Model, more: Mapping[str, float | str]) -> dict[str, str]:
    """Return the values of a whole run, compared with the ABA's for a chain, and `more`, those of this lesson alone."""
    n = len(model.parent)
    velocities = [stage for stage in trace.stages if stage.part == "velocities" and stage.operations]
    joins = [stage for stage in velocities if stage.name == "join"]
    return {
        "robot": model.name,
        "n": str(n),
        "levels": str(levels(n)),
        "twice": str(2 * n),
        "thousand": "1000",
        "levels_of_thousand": str(levels(1000)),
        "levels_of_four": str(levels(4)),
        "many": "1024",
        "levels_of_many": str(levels(1024)),
        "depth": str(trace.depth),
        "work": _whole(trace.work),
        "time_n": _whole(trace.time(n)),
        "scan_depth": str(len(velocities)),
        "scan_work": _whole(sum(stage.operations for stage in velocities)),
        "scan_joins": str(sum(stage.tasks for stage in joins)),
        **(_against_aba(trace, serial, n) if serial else {}),
        **{name: _written(name, value) for name, value in more.items()},
    }


def _against_aba(trace: Trace, serial: Trace, n: int) -> dict[str, str]:
    """Return the values that compare a run with the ABA's on the same robot."""
    return {
        "time_ratio": f"{trace.time(n) / serial.work:.2f}",
        "abia_depth": str(serial.depth),
        "abia_work": _whole(serial.work),
        "more_work": f"{trace.work / serial.work:.1f}",
        "verdict": f"So on this robot it is the {'slower' if trace.time(n) > serial.work else 'faster'} one.",
        "inertia_depth": str(len(serial.of("articulated inertia"))),
    }


def of_stage(trace: Trace, index: int) -> dict[str, str]:
    """Return the values of one stage, and of all stages of its name and part up to it."""
    stage = trace.stages[index]
    alike = [each for each in trace.stages if (each.name, each.part) == (stage.name, stage.part)]
    number = alike.index(stage) + 1
    n = trace.links
    lit = drawing.lights(trace, index, n)
    return {
        "number": str(number),
        "count": str(len(alike)),
        "tasks": str(stage.tasks),
        "each": _whole(stage.operations / stage.tasks),
        "span": str(stage.span),
        "distance": str(1 << (number - 1)),
        "doubled": str(1 << number),
        "left": str(max(n - (1 << number), 0)),
        "known": str(int((lit >= drawing.KNOWN).sum())),
        "link": str(1 + stage.links[0]),
        "lit_links": _listed((np.flatnonzero(lit >= drawing.KNOWN) + 1).tolist()),
    }


def _listed(numbers: Sequence[int]) -> str:
    """Return numbers separated by commas; if there are many, the first ones."""
    return ", ".join(map(str, numbers[:LISTED])) + (" and more" if len(numbers) > LISTED else "")


def _written(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.2f}" if name.endswith("faster") else scientific(value) if name.endswith("error") else _whole(value)


def _whole(x: float) -> str:
    return f"{x:,.0f}"
