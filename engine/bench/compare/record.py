"""Reports of a comparison's processes on each candidate, and the results derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.bench import intervals
from engine.bench.compare.block import State
from engine.bench.compare.candidate import Candidate, Verdict
from engine.bench.compare.result import MIN_NAMED_RATIO, AlgorithmResult
from engine.bench.intervals import Interval
from engine.validation import Array

MIN_PAIRED_ROUNDS = 3
"""Minimum number of rounds of a process for ratios within rounds; with fewer, the medians' ratio is used."""


@dataclass
class Record:
    """One requested candidate, and the data on it."""

    candidate: Candidate
    verdict: Verdict = "waiting"
    reason: str = ""
    first: float | None = None
    residual: float | None = None
    host: list[Array] = field(default_factory=list)
    """(rounds,) of each process: seconds of a call until its result is available; NaN in rounds without a turn."""
    on_device: list[Array] = field(default_factory=list)
    """(rounds,) of each process: seconds of a call between two events on the GPU."""

    @property
    def out(self) -> bool:
        """Whether it is excluded from now on."""
        return self.verdict not in ("waiting", "ok")

    def begin(self, process: int) -> None:
        """Assign further data to that process, which may be a repeated one."""
        self.host[process:] = [np.empty(0)]
        self.on_device[process:] = [np.empty(0)]

    def fail(self, reason: str) -> None:
        """Exclude it."""
        self.verdict, self.reason = "failed", reason

    def take(self, state: State, host: Array, on_device: Array) -> None:
        """Add a process's report. A failure in one process is final."""
        if not (state.verdict == "waiting" and self.verdict == "ok"):  # it was ready in an earlier process
            self.verdict, self.reason = state.verdict, state.reason
        self.first = state.first if self.first is None else self.first  # later processes read its compiled code
        if state.residual is not None:
            self.residual = max(state.residual, self.residual or 0.0)
        self.host[-1] = np.concatenate([self.host[-1], host])
        self.on_device[-1] = np.concatenate([self.on_device[-1], on_device])

    @property
    def medians(self) -> Array:
        """(processes,): s of a call, of each process that has timed it."""
        return _medians(self.host)

    def ratios(self, other: Record) -> Array:
        """(processes,): the ratio of its time to the other's, of each process that has timed both."""
        pairs = zip(self.host, other.host, strict=True)
        ratios = [_ratio(*pair) for pair in pairs if all(np.any(np.isfinite(times)) for times in pair)]
        return np.array(ratios)


def results(records: Sequence[Record]) -> list[AlgorithmResult]:
    """Return the results; those of one number type are compared with one another."""
    compared: list[AlgorithmResult] = []
    for dtype in dict.fromkeys(record.candidate.dtype for record in records):
        rivals = [record for record in records if record.candidate.dtype == dtype]
        timed = [record for record in rivals if record.verdict == "ok" and len(record.medians)]
        fastest = _fastest(timed)
        ratios = {id(r): r.ratios(fastest) for r in timed if fastest and r is not fastest}
        behind = [_is_significant(ratio) for ratio in ratios.values()]
        for record in rivals:
            first = record is fastest
            ratio = ratios.get(id(record), np.empty(0))
            level = first or (len(ratio) > 0 and not _is_significant(ratio))
            compared.append(_result(record, first, ratio, level, first and bool(behind) and all(behind)))
    return compared


def _is_significant(ratios: Array) -> bool:
    interval = intervals.of_runs(ratios)
    return interval is not None and interval.low > MIN_NAMED_RATIO


def _fastest(timed: list[Record]) -> Record | None:
    """Return the one with the least time, unless others beat it within rounds: the machine's speed may vary."""
    rest = sorted(timed, key=lambda record: float(np.mean(np.log(record.medians))))
    fastest = rest.pop(0) if rest else None
    while fastest is not None:
        ratios = [intervals.of_runs(record.ratios(fastest)) for record in rest]
        ahead = [(ratio.middle, i) for i, ratio in enumerate(ratios) if ratio is not None and ratio.high < 1]
        if not ahead:
            break
        fastest = rest.pop(min(ahead)[1])
    return fastest


def _result(record: Record, first: bool, ratios: Array, level: bool, winner: bool) -> AlgorithmResult:
    c, timed = record.candidate, record.verdict == "ok"
    turns = int(sum(np.isfinite(times).sum() for times in record.host)) if timed else 0
    medians = record.medians if timed else np.empty(0)
    on_device = _medians(record.on_device) if timed else np.empty(0)
    host = intervals.of_runs(medians)
    return AlgorithmResult(
        c.title, c.label, c.device, c.dtype, c.batch, record.verdict, record.reason, residual=record.residual,
        first=record.first, turns=turns, host=host.middle if host else None, host_interval=host,
        on_device=float(np.median(on_device)) if len(on_device) else None,
        ratio=Interval(1.0, 1.0, 1.0) if first else intervals.of_runs(ratios), level=level, winner=winner,
        host_runs=tuple(medians.tolist()), ratio_runs=tuple(ratios.tolist()),
    )  # fmt: skip


def _ratio(one: Array, other: Array) -> float:
    both = np.isfinite(one) & np.isfinite(other)
    if both.sum() < MIN_PAIRED_ROUNDS:
        return float(np.nanmedian(one) / np.nanmedian(other))
    return float(np.median(one[both] / other[both]))


def _medians(of: Sequence[Array]) -> Array:
    return np.array([np.nanmedian(times) for times in of if np.any(np.isfinite(times))])
