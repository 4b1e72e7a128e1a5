"""The suite `repeats`: whether a comparison's interval contains the result of another comparison.

One comparison is repeated, each time in fresh processes; each interval is compared with the next result, and the last
one with the first result.
"""

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from engine.bench.compare.comparison import Comparison
from engine.bench.compare.result import AlgorithmResult, times
from engine.bench.results import NONE, Rows

REPEATS = 40
MUST, AIM = 36, 39
"""Of `REPEATS`, for each robot."""
ROBOTS, ONE, OTHER = ("arm7", "chain:30"), "abia", "dca"
KEYS = tuple(f"comparison-{number}" for number in range(1, REPEATS + 1))


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each comparison: by how much one algorithm is faster than the other, with its interval, per robot."""
    for key in KEYS:
        yield finished.get(key) or {"key": key, "spread": _measured(seconds)}


def _measured(seconds: float) -> dict[str, list[float]]:
    *_, last = Comparison(ROBOTS, (ONE, OTHER), ("cpu",), seconds=seconds).run()
    found = {row.model: (row, other) for row, other in zip(last.rows[::2], last.rows[1::2], strict=True)}
    return {f"{OTHER} / {ONE}, {model}": _ratio(*pair) for model, pair in found.items()}


def _ratio(one: AlgorithmResult, other: AlgorithmResult) -> list[float]:
    """The bounds and the middle of the other's time as a multiple of one's, whichever is the faster."""
    assert one.ratio is not None
    assert other.ratio is not None
    return [*other.ratio] if one.ratio.middle == 1 else [1 / bound for bound in reversed(one.ratio)]


def inside(intervals: list[list[float]]) -> int:
    """Return how many intervals (low, middle, high) contain the next one's middle, cyclically."""
    following = [*intervals[1:], intervals[0]]
    return sum(low <= after[1] <= high for (low, _, high), after in zip(intervals, following, strict=True))


def line(row: dict[str, Any]) -> str:
    """A row in words."""
    text = (f"{name}: {times(middle)} ({times(low)}–{times(high)})" for name, (low, middle, high) in _spread(row))
    return f"{row['key']}: {'; '.join(text)}"


def table(rows: list[dict[str, Any]]) -> Table:
    """Return a table of the number of comparisons that contain the next middle, per robot, with the middles' range."""
    goal = f"the next inside\n(of {REPEATS}: must {MUST}, aim {AIM})"
    shown = Table("ratio", goal, "middles", "high / low − 1", box=None, pad_edge=False)
    for name in rows[0]["spread"]:
        found = [row["spread"][name] for row in rows]
        middles, widths = [each[1] for each in found], [each[2] / each[0] - 1 for each in found]
        shown.add_row(
            name, f"{inside(found)} of {len(found)}",
            f"{times(min(middles))}–{times(max(middles))}", f"{min(widths):.1%}–{max(widths):.1%}",
        )  # fmt: skip
    return shown


def _spread(row: dict[str, Any]) -> list[tuple[str, list[float]]]:
    return list(row["spread"].items())
