"""Rounds of DCA-ABA for trees, those of its schedule that follow one another, over the bodies: no GPU is asked."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from engine.bench.results import NONE, Rows
from engine.cuda.trees.schedule import schedule
from tests.bench.trees import Case

SHAPES = ("binary", "random", "snake", "caterpillar", "comb", "legs", "star")
"""As `trees.Case` makes them."""
BODIES = tuple(1 << power for power in range(4, 15, 2))
WARPS = 128
"""Warps of a cluster of sixteen blocks."""
MAX_ROWS = len(SHAPES) * len(BODIES)


def run(_seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each shape and number of bodies: the `rounds`, between which all of 128 warps meet."""
    for shape in SHAPES:
        for n in BODIES:
            key = f"{shape}-{n}"
            yield finished.get(key) or {"key": key, "shape": shape, "bodies": n, "rounds": rounds(shape, n)}


def rounds(shape: str, n: int) -> int:
    """Return the rounds for a robot of n bodies."""
    model = Case(shape, n).model()
    return schedule(model.parent.tolist(), model.kind.tolist(), WARPS).rounds


def curves(rows: list[dict[str, Any]]) -> dict[str, dict[int, int]]:
    """Rounds over bodies, by shape."""
    found: dict[str, dict[int, int]] = {}
    for row in rows:
        found.setdefault(row["shape"], {})[row["bodies"]] = row["rounds"]
    return found


def table(rows: list[dict[str, Any]]) -> Table:
    """Shapes down, bodies across."""
    found = curves(rows)
    sizes = sorted({row["bodies"] for row in rows})
    shown = Table("bodies", *map(str, sizes), box=None, title="rounds")
    for shape, curve in found.items():
        shown.add_row(shape, *(str(curve.get(size, "")) for size in sizes))
    return shown
