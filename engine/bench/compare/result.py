"""The results of a comparison: of each algorithm, in numbers, in sentences and as a table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from engine.bench.compare.candidate import Verdict
from engine.bench.intervals import Interval
from engine.bench.results import finite

MIN_NAMED_RATIO = 1.05
"""Smaller ratios are no difference: objects of one algorithm differ by half as much, from buffer placement."""
NO_DIFFERENCE = f"no difference of more than {100 * (MIN_NAMED_RATIO - 1):.0f} %"


@dataclass(frozen=True)
class AlgorithmResult:
    """What was measured of an algorithm on a device, in the number type `dtype`: one call for a batch of a `model`."""

    model: str
    algorithm: str
    """Its name, or a user's as ``file.py:name``; a repeated name ends in " (2)", as with models."""
    device: str
    dtype: str
    batch: int
    verdict: Verdict
    """"waiting", "ok", "wrong" (without times), "refused" or "failed"."""
    reason: str
    """Why it is wrong, was refused, or failed: for a user's file with the line."""
    residual: float | None
    """‖ID(q̈) − τ‖ / ‖τ_δ‖ by inverse dynamics in double precision, the worst of the batch; infinite for NaN."""
    first: float | None
    """s on the host until the first result: compiling, or loading compiled code."""
    turns: int
    """In how many turns it was timed, between those of the others."""
    host: float | None
    """s of a call until its result is available, the mean of the processes' medians; inputs and result are on the
    device.
    """
    host_interval: Interval | None
    """The bounds contain another comparison's result in 99 of 100 cases."""
    on_device: float | None
    """s on the GPU between two events, the median; None on the CPU."""
    ratio: Interval | None
    """The ratio of `host` to that of the fastest in the same number type, paired within rounds; 1 for that one. The
    bounds are like those of `host_interval`.
    """
    level: bool
    """Whether it is the fastest of its number type, or the lower bound of `ratio` is at most 1.05."""
    winner: bool
    """Whether it is the fastest, and none of the others is `level`."""
    host_runs: tuple[float, ...] = ()
    """s: the median in each process, from which `host` and its interval are computed."""
    ratio_runs: tuple[float, ...] = ()
    """The ratio in each process; empty for the fastest."""

    @property
    def remark(self) -> str:
        """What it means that the result is `level`, in a few words; empty if it is not."""
        return NO_DIFFERENCE if self.level else ""

    def plain(self) -> dict[str, Any]:
        """Return a dictionary for JSON, times in s; null replaces numbers that are not finite."""
        plain: dict[str, Any] = finite(asdict(self))
        return plain

    @classmethod
    def of(cls, plain: dict[str, Any]) -> AlgorithmResult:
        """Return the result from the dictionary of `plain`."""
        bounds = {key: plain[key] and Interval(*plain[key]) for key in ("host_interval", "ratio")}
        runs = {key: tuple(plain.get(key, ())) for key in ("host_runs", "ratio_runs")}  # older rows have none
        return cls(**{**plain, **bounds, **runs})


@dataclass(frozen=True)
class ComparisonResult:
    """The results so far: a row for each model, number type, device and algorithm, in this order."""

    rows: tuple[AlgorithmResult, ...]
    done: float
    """The share of the work, 0 to 1."""
    left: float | None
    """Estimated s that the rest takes."""
    doing: str
    """What is under way, in a few words."""

    def csv(self) -> str:
        """Return the rows as comma-separated values with a header, times in s."""
        return table(row.plain() for row in self.rows)

    def findings(self) -> list[str]:
        """Return a sentence for each model and number type: the fastest, and by how much, if that is certain."""
        groups = dict.fromkeys((row.model, row.dtype) for row in self.rows if row.verdict != "waiting")
        return [_sentence(*group, [row for row in self.rows if (row.model, row.dtype) == group]) for group in groups]


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Format rows of `AlgorithmResult.plain`, possibly with more fields, as comma-separated values with a header."""
    text, writer = io.StringIO(), None
    for row in rows:
        flat: dict[str, Any] = {}
        for name, value in row.items():
            if name in ("host_interval", "ratio"):
                low, middle, high = value or (None, None, None)
                bounds = {f"{name.removesuffix('_interval')}_low": low, f"{name.removesuffix('_interval')}_high": high}
                flat |= bounds if name == "host_interval" else {name: middle, **bounds}
            elif name in ("host_runs", "ratio_runs"):
                flat[name] = " ".join(f"{each:.6g}" for each in value)
            else:
                flat[name] = value
        if writer is None:
            writer = csv.DictWriter(text, list(flat), lineterminator="\n")
            writer.writeheader()
        writer.writerow(flat)
    return text.getvalue()


def _sentence(model: str, dtype: str, rows: list[AlgorithmResult]) -> str:
    timed = sorted((row for row in rows if row.host is not None), key=_order)
    if not timed:
        refused = all(row.verdict == "refused" for row in rows)
        ended = any(row.verdict in ("waiting", "ok") for row in rows)
        why = (
            "nothing here serves it"
            if refused
            else "nothing was timed"
            if ended
            else "no algorithm gave a correct result"
        )
        return f"{model}, {dtype}: {why}"
    first, others = timed[0], timed[1:]
    level = [f"{row.algorithm} on {row.device}" for row in others if row.level]
    name = f"{first.algorithm} on {first.device}"
    if level:
        return f"{model}, {dtype}: {NO_DIFFERENCE} was found between {name} and {', '.join(level)}"
    if not others:
        return f"{model}, {dtype}: {name} is the only one that was timed"
    second = others[0]
    if second.ratio is None:
        return f"{model}, {dtype}: too few turns to distinguish {name} from {second.algorithm} on {second.device}"
    low, middle, high = second.ratio
    return (
        f"{model}, {dtype}: {name} is the fastest; {second.algorithm} on {second.device} takes {times(middle)} "
        f"times as long ({times(low)} to {times(high)})"
    )


def _order(row: AlgorithmResult) -> tuple[bool, float, float]:
    """Return the sort key: the fastest first, then by ratio, or by time without one."""
    ratio = row.ratio or Interval(math.inf, math.inf, math.inf)
    return ratio != Interval(1.0, 1.0, 1.0), ratio.middle, row.host or 0.0


def times(ratio: float) -> str:
    """Format a ratio with suitable digits."""
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"
