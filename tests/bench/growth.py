"""Times over the numbers of links and of robots on the GPU: slopes and crossings of the curves."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np

from engine.bench import gpu_timing
from engine.bench.curves import Curve, crossing, slope
from engine.bench.gpu_timing import OnDevice
from engine.bench.peers import mujoco, pinocchio
from engine.bench.peers.peer import Timing, or_missing
from engine.bench.results import NONE, Row, Rows, measured_rows
from engine.bench.states import State, state
from engine.cuda.runtime import device
from engine.model import Model, generate
from engine.selection import capabilities

LINKS = tuple(1 << power for power in range(13))
BATCHES = tuple(1 << power for power in range(0, 21, 2))
SHORT = 10
"""Links of the chains in batches."""
HOPELESS = 0.5
"""Seconds of one call, from which on a curve is not followed further."""
Measure = Callable[[Model, State, float], Timing]
PEERS: Mapping[str, tuple[Measure, dict[str, tuple[int, ...]]]] = {
    "pinocchio": (pinocchio.one_core, {"links": tuple(n for n in LINKS if n <= 256), "batch": (1, 16, 256, 4096)}),
    "mujoco-warp": (mujoco.on_warp, {"links": (2, 32, 128), "batch": (1, 1024, 1 << 16)}),
}
"""The sizes for each peer: Pinocchio's models grow with the cube of the links, and MuJoCo Warp compiles for each
number.
"""
MAX_ROWS = (
    len(capabilities.ALGORITHMS) * (len(LINKS) + len(BATCHES))
    + sum(len(found) for _, sizes in PEERS.values() for found in sizes.values())
    + 1
)
"""The findings among them."""


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each point, those finished as they are: the candidate, links, batch, and the µs of one call for the
    batch on its device.

    One chain of 1 to 4096 links, and 1 to 2²⁰ chains of ten, in double precision (MuJoCo Warp: single). The last row
    holds the `findings`: slopes and crossings. Raises `device.NoGpu` where no GPU can be used.
    """
    device.require()
    sizes = {"links": LINKS, "batch": BATCHES}
    yield from with_findings((row for axis in sizes for row in _curves(axis, sizes[axis], seconds, finished)), findings)


def with_findings(rows: Iterable[Row], findings: Callable[[list[Row]], Row]) -> Iterator[Row]:
    """The rows, and last what they show together."""
    found = []
    for row in rows:
        found.append(row)
        yield row
    yield {"key": "findings", **findings(found)}


def _curves(axis: str, sizes: tuple[int, ...], seconds: float, finished: Rows) -> Iterator[dict[str, Any]]:
    given_up: set[str] = set()
    for size in sizes:
        links, batch = (size, 1) if axis == "links" else (SHORT, size)
        model = generate.chain(links)
        drawn = cache(partial(state, model, np.random.default_rng(), batch))
        robots = cache(partial(_on_device, model, drawn))
        largest = {name: capabilities.ALGORITHMS[name].largest for name in capabilities.algorithms(model, "cuda")}
        measures: dict[str, Callable[[], Row]] = {
            name: partial(_ours, robots, name, seconds)
            for name, limit in largest.items() if name not in given_up and links <= (limit or links)
        }  # fmt: skip
        for name, (measure, at) in PEERS.items():
            if size in at[axis]:
                measures[name] = partial(or_missing, partial(_theirs, measure, model, drawn, seconds))
        parts = [(f"{axis}-{size}-{name}", measure) for name, measure in measures.items()]
        for name, row in zip(measures, measured_rows(parts, finished), strict=True):
            if "failure" in row or row.get("call_us", 0.0) * 1e-6 > HOPELESS:
                given_up.add(name)
            point = {"axis": axis, "candidate": name, "links": links, "batch": batch}
            yield row if row["key"] in finished else row | point


def _on_device(model: Model, drawn: Callable[[], State]) -> OnDevice:
    return OnDevice.of(model, drawn(), "float64")


def _ours(robots: Callable[[], OnDevice], name: str, seconds: float) -> Row:
    timed = gpu_timing.time_algorithm(robots(), name, seconds)
    return {"us": timed.device * 1e6, **timed.row()}


def _theirs(measure: Measure, model: Model, drawn: Callable[[], State], seconds: float) -> Row:
    timing = measure(model, drawn(), seconds)
    return {"us": timing.seconds * 1e6, "how": timing.how, "residual": timing.residual}


def curves(rows: list[dict[str, Any]], axis: str, clock: str = "us") -> dict[str, Curve]:
    """Return µs over the sizes, by candidate: on its device, or including the host's wait for `clock` "call_us"."""
    found: dict[str, Curve] = {}
    for row in rows:
        if row.get("axis") == axis and "us" in row:
            found.setdefault(row["candidate"], {})[row[axis]] = row.get(clock, row["us"])
    return found


def findings(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return slopes by axis and candidate, and sentences on crossings."""
    slopes, words = {}, []
    for axis in ("links", "batch"):
        found, waited = curves(rows, axis), curves(rows, axis, "call_us")
        slopes[axis] = {name: slope(curve) for name, curve in found.items()}
        for pair in combinations(found, 2):
            on_cpu = "pinocchio" in pair
            sentence = said(axis, *pair, waited if on_cpu else found)
            words += [sentence + (", launch and wait included" if on_cpu else "")] if sentence else []
    return {"slopes": slopes, "crossings": words}


def said(axis: str, one: str, other: str, found: Mapping[str, Curve]) -> str:
    """Describe where one of two overtakes the other, and its final lead; "" if they share no size."""
    shared = sorted(found[one].keys() & found[other].keys())
    if not shared or (one in PEERS and other in PEERS):
        return ""
    unit = "links" if axis == "links" else f"robots of {SHORT} links"
    where = crossing(found[one], found[other])
    last = shared[-1]
    ahead = found[one][last] < found[other][last]
    winner, loser = (one, other) if ahead else (other, one)
    ratio = found[loser][last] / found[winner][last]
    start = f"from {where[0]:.3g} {unit} on" if where else f"at all of {shared[0]} to {last} {unit}"
    return f"{winner} is faster than {loser} {start}, {ratio:.3g} × at {last}"


def line(row: dict[str, Any]) -> str:
    """A row in words, as it is said once it is there."""
    if "us" in row:
        return f"{row['key']}: {row['us']:.4g} µs"
    if "crossings" in row:
        return "\n".join(row["crossings"])
    return f"{row['key']}: {row['failure' if 'failure' in row else 'missing']}"


def markdown(rows: list[dict[str, Any]]) -> str:
    """A table of µs for each axis, with the slopes, and the crossings in words."""
    return tables(rows, rows[-1] if "crossings" in rows[-1] else findings(rows))


def tables(rows: list[dict[str, Any]], reported: Mapping[str, Any]) -> str:
    """Return the tables with findings `told`."""
    lines = []
    for axis in ("links", "batch"):
        found = curves(rows, axis)
        sizes = sorted({size for curve in found.values() for size in curve})
        heads = " | ".join(map(str, sizes))
        lines += [f"| µs over {axis} | {heads} | slope |", "| --- |" + " ---: |" * (len(sizes) + 1)]
        for name, curve in found.items():
            cells = (f"{curve[size]:.4g}" if size in curve else "" for size in sizes)
            steep = reported["slopes"][axis][name]
            lines.append(f"| `{name}` | {' | '.join(cells)} | {'' if steep is None else f'{steep:.2f}'} |")
        lines.append("")
    return "\n".join([*lines, *(f"- {sentence}" for sentence in reported["crossings"]), ""])
