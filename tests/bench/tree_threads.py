"""Single robots that branch or float: DCA-ABA on 1, 2, 4, … threads, and the ABA on one core."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from engine.bench.curves import Curve, crossing
from engine.bench.results import NONE, Rows
from engine.bench.states import residual, state
from engine.bench.timer import alternate, repeater
from engine.cpu.runtime.cores import cores
from engine.dynamics import ForwardDynamics
from tests.bench.growth import with_findings
from tests.bench.trees import Case

THREADS = (1, 2, 4, 16)
SHAPES = ("binary", "random", "snake", "star", "caterpillar", "comb", "legs")
"""As `trees.Case` makes them."""
BODIES = (16, 64, 256, 1024, 4096)
GAIN = 1.05
"""The minimum speed-up of DCA-ABA to count as faster: below its smallest size it is the ABA."""
MAX_ROWS = len(SHAPES) * len(BODIES) + 1


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each shape and number of bodies, µs a call, medians of rounds in which all take turns; last from how
    many bodies on DCA-ABA is ahead.

    `dca_us` is by threads, up to the number of cores. DCA-ABA takes of these as many as pay by its own costs, and is
    the ABA where none do. `residual` is that of the most threads.
    """
    counts = [count for count in THREADS if count <= cores()]
    cases = {f"{shape}-{bodies}": Case(shape, bodies) for shape, bodies in product(SHAPES, BODIES)}
    rows = (finished.get(key) or {"key": key, **measured_row(case, counts, seconds)} for key, case in cases.items())
    yield from with_findings(rows, lambda found: {"ahead": ahead(found)})


def measured_row(case: Case, counts: list[int], seconds: float) -> dict[str, Any]:
    model = case.model()
    states = state(model, np.random.default_rng(case.bodies), 1)
    (q, v, tau), out = (x[0] for x in states), np.empty(model.nv)
    solvers = [ForwardDynamics(model, algorithm="abia", device="cpu")]
    solvers += [ForwardDynamics(model, algorithm="dca", device="cpu", threads=count) for count in counts]
    calls: list[Callable[[], Any]] = [partial(solver, q, v, tau, out) for solver in solvers]
    for call in calls:
        call()
    left = float(residual(model, states, out[None])[0])
    times = alternate([(repeater(call), 1) for call in calls], seconds)
    medians = (np.median(times, axis=1) * 1e6).tolist()
    speedup = np.median(times[0] / times[1:], axis=1).tolist()
    return {
        "shape": case.shape, "bodies": case.bodies, "aba_us": medians[0],
        "dca_us": dict(zip(map(str, counts), medians[1:], strict=True)),
        "speedup": dict(zip(map(str, counts), speedup, strict=True)), "residual": left,
    }  # fmt: skip


def ahead(rows: list[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return, by shape and threads, the interpolated number of bodies from which DCA-ABA is faster, or None."""
    found: dict[str, dict[str, float | None]] = {}
    for shape in dict.fromkeys(row["shape"] for row in rows):
        curve = [row for row in rows if row["shape"] == shape]
        aba = {row["bodies"]: row["aba_us"] for row in curve}
        found[shape] = {
            count: _ahead({row["bodies"]: row["dca_us"][count] * GAIN for row in curve}, aba)
            for count in curve[0]["dca_us"]
        }
    return found


def _ahead(dca: Curve, aba: Curve) -> float | None:
    found = crossing(dca, aba)
    if found is None:
        return float(min(dca)) if dca[max(dca)] < aba[max(dca)] else None
    return found[0] if found[1] else None


def line(row: dict[str, Any]) -> str:
    """A row in words."""
    if "ahead" in row:
        reported = (
            f"{shape} from {', '.join(f'{_from(bodies)} bodies on {count}' for count, bodies in found.items())} threads"
            for shape, found in row["ahead"].items()
        )
        return f"ahead of the ABA: {'; '.join(reported)}"
    times = ", ".join(f"{us:.4g} ({row['speedup'][count]:.2f} ×) on {count}" for count, us in row["dca_us"].items())
    return f"{row['key']}: abia {row['aba_us']:.4g} µs, dca {times} threads; residual {row['residual']:.1e}"


def _from(bodies: float | None) -> str:
    return "no number of" if bodies is None else f"{bodies:.0f}"
