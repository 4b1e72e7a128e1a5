"""The suite `regret`: the cost of the automatic choice on a machine that was not measured.

Each case is measured with every algorithm on every device. The regret is the ratio of the time of the choice by
reference timings, including the device, to the fastest time. Algorithms that share machine code on the CPU, as DCA-ABA
and ABIA do for few links, count as one, with the shorter time: otherwise noise would be their regret.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from rich.table import Table

from engine.bench.results import NONE, Rows
from engine.bench.suites import measure
from engine.cpu.stepping.code import Code
from engine.cuda.runtime import device as gpu
from engine.model import generate
from engine.selection import capabilities, choice, shipped
from engine.selection.timings import Case, Work

MUST = 1.25
LINKS, BATCHES = (3, 12, 50, 200, 700, 3000), (1, 10, 100, 1000)
MAX_BODIES = 200_000
WORKS: tuple[Work, ...] = ("call", "step")
CASES = tuple(
    Case("tree" if branches else "chain", links, batch, "float64")
    for branches, links, batch in product((False, True), LINKS, BATCHES)
    if links * batch <= MAX_BODIES
)


def run(_seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each shape of robot, number of links and batch: what was chosen for calls and steps, and its regret."""
    for case in CASES:
        key = f"{case.shape}-{case.links}x{case.batch}"
        yield finished.get(key) or {"key": key, **_measured(case)}


def _measured(case: Case) -> dict[str, Any]:
    devices = ("cpu", "cuda") if gpu.available() else ("cpu",)
    times = {(row.work, f"{row.algorithm} on {where}"): row.seconds
             for where in devices for row in measure.measure(case, where)}  # fmt: skip
    row: dict[str, Any] = {}
    for work in WORKS:
        found = {name: seconds for (of, name), seconds in times.items() if of == work}
        name = _chosen(case._replace(work=work), found)
        own = min(found[other] for other in alike(case, work, name, found))
        microseconds = {name: float(f"{time * 1e6:.4g}") for name, time in found.items()}
        row[work] = {"chosen": name, "regret": own / min(found.values()), "us": microseconds}
    return row


def _chosen(case: Case, found: Container[str]) -> str:
    """Return the choice by reference timings among the algorithms found, as "dca on cuda"."""
    _, _, batch, dtype, work = case
    model = generate.chain(case.links) if case.shape == "chain" else generate.tree(case.links)
    among: Mapping[str, tuple[str, ...]] = {
        device: tuple(name for name in capabilities.ALGORITHMS if f"{name} on {device}" in found)
        for device in capabilities.DEVICES
    }
    where, _ = choice.place(model, "auto", "auto", batch, dtype, among, work, shipped.table)
    name, _ = choice.choose(model, "auto", batch, dtype, where, among[where], work, shipped.table)
    return f"{name} on {where}"


def alike(case: Case, work: Work, name: str, found: Iterable[str]) -> list[str]:
    """Return the names that share machine code with `name`, including itself."""
    algorithm, _, where = name.partition(" on ")
    if (work, where) != ("step", "cpu"):
        return [name]
    code = _step_code(case, algorithm)
    others = (other.partition(" on ") for other in found)
    return [f"{other} on {place}" for other, _, place in others if place == where and _step_code(case, other) == code]


def _step_code(case: Case, algorithm: str) -> Code:
    """Which code the CPU takes steps with."""
    return Code.of(measure.simulation(case, algorithm, "cpu").settings)


def line(row: dict[str, Any]) -> str:
    """A row in words."""
    text = (f"{work} {row[work]['chosen']}, {row[work]['regret']:.2f} × the fastest" for work in WORKS)
    return f"{row['key']}: {'; '.join(text)}"


def table(rows: list[dict[str, Any]]) -> Table:
    """The regrets, with the worst and how many are above what must be."""
    regrets = [row[work]["regret"] for row in rows for work in WORKS]
    above = sum(regret > MUST for regret in regrets)
    title = f"worst {max(regrets):.2f}; {above} of {len(regrets)} above {MUST}"
    shown = Table("case", "call", "regret", "step", "regret", title=title, box=None, pad_edge=False)
    for row in rows:
        cells = (cell for work in WORKS for cell in (row[work]["chosen"], f"{row[work]['regret']:.2f}"))
        shown.add_row(row["key"], *cells)
    return shown
