"""The papers' conclusions compared with the measurements: a verdict on each claim, with its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np

from engine.bench import curves, intervals
from engine.bench.intervals import Interval
from engine.bench.paper import experiments
from engine.bench.paper.experiments import FIG2, FIG3A, FIG3B, PROCESSORS, Candidate, Experiment, PaperPlan, row_data
from engine.selection.choice import in_words

Verdict = Literal["holds", "holds in part", "does not hold", "not tested here"]
NAMES = {"abia": "ABIA", "dca": "DCA-ABA", "jsiia": "JSIIA", "abia-hybrid": "hybrid ABIA", "cfa": "CFA"}
OF_YANG = ("cfa", "jsiia", "abia-hybrid")
"""The three algorithms that [Y] compares."""
ALIKE = 1.5
"""Ratio up to which two curves of a log-log plot are called similar."""
UNTIMED = ("wrong", "failure", "left_out")
"""Reasons for a missing time."""
SPEEDUP, EQUAL_RATIO = 2.25, 1.1
"""[B]'s headline; ratio up to which an algorithm counts as no faster."""


class Claim(NamedTuple):
    """A conclusion of a paper, and the verdict on it."""

    source: str
    says: str
    verdict: Verdict
    found: str


class Measured:
    """The rows of a run, by experiment and algorithm. Times are in µs, for a call until its result is available."""

    def __init__(self, plan: PaperPlan, rows: Iterable[Mapping[str, Any]]):
        order = [experiments.key(*point) for point in plan.points()]
        self.plan, self.rows = plan, sorted(rows, key=lambda row: order.index(row["key"]))

    def facts(self, experiment: Experiment, candidate: Candidate) -> dict[int, dict[str, Any]]:
        """Return each size's data on a candidate."""
        rows = [row for row in self.rows if row["experiment"] == experiment.key]
        return {row[experiment.axis]: data for row in rows if (data := row_data(row, candidate))}

    def curve(self, experiment: Experiment, candidate: Candidate, clock: str = "call_us") -> curves.Curve:
        """Return µs over the sizes that have a time by that clock."""
        return {n: x[clock] for n, x in self.facts(experiment, candidate).items() if clock in x}

    def gains(self, experiment: Experiment, one: Candidate, other: Candidate) -> dict[int, Interval]:
        """Return the other's time divided by this one's, where both have times."""
        mine, others = self.facts(experiment, one), self.facts(experiment, other)
        shared = [n for n in mine if "rounds_us" in mine[n] and "rounds_us" in others.get(n, {})]
        pairs = {n: (np.array(others[n]["rounds_us"]), np.array(mine[n]["rounds_us"])) for n in shared}
        return {n: gain for n, pair in pairs.items() if (gain := intervals.of_ratio(*pair))}

    def leads(self, experiment: Experiment, name: str, among: Iterable[str]) -> list[int]:
        """Return the sizes at which an algorithm is significantly faster than each other one, or the only one."""
        mine = self.facts(experiment, self.on(name))
        sizes = {n for n, x in mine.items() if "call_us" in x}
        for other in among:
            if other != name:
                gains, facts = (
                    self.gains(experiment, self.on(name), self.on(other)),
                    self.facts(experiment, self.on(other)),
                )
                sizes &= {n for n, gain in gains.items() if gain.low > 1} | {
                    n for n, x in facts.items() if "left_out" in x
                }
        return sorted(sizes)

    def on(self, name: str) -> Candidate:
        """Return an algorithm on the device of [Y]'s figures."""
        return Candidate(name, self.plan.device)


def claims(measured: Measured) -> list[Claim]:
    """Return the verdicts on every testable claim; [Y]'s are about a GPU and not tested without one."""
    return [*_of_yang(measured), *_of_bhalerao(measured)]


def _of_yang(measured: Measured) -> list[Claim]:
    claims = []
    for test in _YANG:
        verdict: Verdict = "not tested here"
        missing = next((wording for part in test.needs if (wording := _missing(measured, *part))), "")
        if missing:
            words = missing
        elif measured.plan.device == "cuda":
            verdict, words = test.judge(measured)
        else:
            words = "This run is on the CPU, not on a GPU."
            words += f" There: {test.judge(measured)[1]}" if test.on_cpu else ""
        claims.append(Claim(test.source, test.says, verdict, words))
    return claims


def _missing(measured: Measured, experiment: Experiment, names: tuple[str, ...]) -> str:
    """Return which algorithm has no time in an experiment where all should, and why; else ""."""
    for name in names:
        facts = measured.facts(experiment, measured.on(name)).values()
        if not any("call_us" in x for x in facts):
            why = next((x[key] for x in facts for key in UNTIMED if key in x), "it was not measured")
            return f"{NAMES[name]} has no times of {experiment.source}: {why}."
    shared = set.intersection(*({*measured.curve(experiment, measured.on(name))} for name in names))
    return (
        ""
        if shared
        else f"At no size of {experiment.source} have all of {', '.join(NAMES[name] for name in names)} a time."
    )


def _many_links(measured: Measured) -> tuple[Verdict, str]:
    leads, sizes = measured.leads(FIG2, "cfa", OF_YANG), [*measured.facts(FIG2, measured.on("cfa"))]
    inside = max(n for n in sizes if n <= (FIG2.largest or n))
    words = f"Of the three, CFA is the fastest {_where(leads, sizes, 'links')}. "
    words += " ".join(_at(measured, FIG2, n, "cfa", OF_YANG) for n in dict.fromkeys((inside, max(sizes))))
    if inside in leads:
        return "holds", words
    return ("holds in part" if max(sizes) in leads else "does not hold"), words


def _grows_slower(measured: Measured) -> tuple[Verdict, str]:
    slopes = {name: curves.slope(measured.curve(FIG2, measured.on(name))) for name in OF_YANG}
    fitted = {name: slope for name, slope in slopes.items() if slope is not None}
    listed = ", ".join(f"{NAMES[name]} {slope:.2f}" for name, slope in fitted.items())
    words = f"Over the larger half of the lengths the times grow by these powers of the links: {listed}."
    return ("holds" if fitted and min(fitted, key=fitted.__getitem__) == "cfa" else "does not hold"), words


def _moderate(measured: Measured) -> tuple[Verdict, str]:
    leads, sizes = measured.leads(FIG2, "jsiia", OF_YANG), [*measured.facts(FIG2, measured.on("jsiia"))]
    words = f"Of the three, JSIIA is the fastest {_where(leads, sizes, 'links')}. "
    words += _at(measured, FIG2, min(sizes), "jsiia", OF_YANG)
    if not leads:
        return "does not hold", words
    return ("holds" if min(sizes) in leads else "holds in part"), words


def _never_hybrid(measured: Measured) -> tuple[Verdict, str]:
    inside, words = True, []
    leading = False
    for experiment in (FIG2, FIG3A, FIG3B):
        leads = measured.leads(experiment, "abia-hybrid", OF_YANG)
        sizes = [*measured.facts(experiment, measured.on("abia-hybrid"))]
        leading |= bool(leads)
        inside &= not any(n <= (experiment.largest or n) for n in leads)
        unit = "links" if experiment.axis == "links" else f"robots of {experiment.fixed} links"
        words.append(f"In {experiment.source} the hybrid is the fastest of the three {_where(leads, sizes, unit)}.")
    if leading:
        return ("holds in part" if inside else "does not hold"), " ".join(words)
    return "holds", " ".join(words)


def _ten_links(measured: Measured) -> tuple[Verdict, str]:
    similar = measured.gains(FIG3A, measured.on("jsiia"), measured.on("cfa"))
    sizes = [n for n in similar if 100 < n <= (FIG3A.largest or n)]
    alike = [n for n in sizes if 1 / ALIKE <= similar[n].middle <= ALIKE]
    if not sizes:
        return "not tested here", f"JSIIA and CFA have no times for more than 100 and up to {FIG3A.largest} robots."
    leads = [measured.leads(FIG3A, name, (name, "abia-hybrid")) for name in ("jsiia", "cfa")]
    ahead = [n for n in sizes if all(n in sizes_ahead for sizes_ahead in leads)]
    words = f"Between 100 and 1000 robots, JSIIA and CFA are within {ALIKE:g} × of each other "
    words += f"{_where(alike, sizes, 'robots')}, and both faster than the hybrid {_where(ahead, sizes, 'robots')}. "
    words += " ".join(_at(measured, FIG3A, n, "jsiia", OF_YANG) for n in sizes[-1:])
    both = [len(alike) == len(sizes), len(ahead) == len(sizes)]
    return ("holds" if all(both) else "holds in part" if any(both) else "does not hold"), words


def _two_hundred_links(measured: Measured) -> tuple[Verdict, str]:
    inside = [n for n in measured.facts(FIG3B, measured.on("cfa")) if n <= (FIG3B.largest or n)]
    first = [n for n in measured.leads(FIG3B, "cfa", OF_YANG) if n in inside]
    ahead = (set(measured.leads(FIG3B, name, (name, "jsiia"))) for name in ("cfa", "abia-hybrid"))
    last = sorted(set(inside).intersection(*ahead))
    words = (
        f"Up to {FIG3B.largest} robots, CFA is the fastest of the three {_where(first, inside, 'robots')}, and JSIIA "
    )
    words += f"the slowest {_where(last, inside, 'robots')}. "
    words += " ".join(_at(measured, FIG3B, n, "cfa", OF_YANG) for n in dict.fromkeys((inside[0], inside[-1])))
    if first == inside and last == inside:
        return "holds", words
    return ("holds in part" if first or last else "does not hold"), words


def _pays(name: str, what: str) -> Callable[[Measured], tuple[Verdict, str]]:
    """Judge whether an algorithm with a building block overtakes the sequential recursion on the same device."""

    def judge(measured: Measured) -> tuple[Verdict, str]:
        leads, gains = (
            measured.leads(FIG2, name, (name, "abia")),
            measured.gains(FIG2, *map(measured.on, (name, "abia"))),
        )
        words = f"{NAMES[name]}, {what}, is faster than the ABIA's recursion from link to link on the same device "
        words += f"{_where(leads, [*gains], 'links')}. {_at(measured, FIG2, max(gains), name, (name, 'abia'))}"
        if max(gains) in leads:
            return "holds", words
        return ("holds in part" if leads else "does not hold"), words

    return judge


def _constant_factor(measured: Measured) -> tuple[Verdict, str]:
    gains = measured.gains(FIG2, measured.on("dca"), measured.on("abia"))
    slope = curves.slope({n: gain.middle for n, gain in gains.items()})
    shown = [n for n in (100, 1000, max(gains)) if n in gains]
    listed = ", ".join(f"{_factor(gains[n].middle)} × at {n} links" for n in dict.fromkeys(shown))
    words = f"The recursion as a scan of joins, which is DCA-ABA, is faster than link by link: {listed}. "
    words += f"The gain grows by the power {slope:.2f} of the links; 0 would be a constant factor."
    return ("does not hold" if slope is not None and slope > 0.25 else "holds"), words


class _Test(NamedTuple):
    """A claim of [Y], its test, and the times needed."""

    source: str
    says: str
    judge: Callable[[Measured], tuple[Verdict, str]]
    needs: tuple[tuple[Experiment, tuple[str, ...]], ...]
    on_cpu: bool = True
    """Whether the claim is meaningful on the CPU as well."""


_YANG = (
    _Test(
        "[Y] section V.A, Fig. 2; conclusion",
        "CFA is the fastest of the three once the number of links is substantial.",
        _many_links, ((FIG2, OF_YANG),),
    ),
    _Test(
        "[Y] section V.A, Fig. 2", "CFA's time grows slowest with the number of links.",
        _grows_slower, ((FIG2, OF_YANG),),
    ),
    _Test(
        "[Y] section V.B; conclusion", "JSIIA is the fastest for a small or moderate number of links.",
        _moderate, ((FIG2, OF_YANG),),
    ),
    _Test(
        "[Y] section V.B; conclusion", "The hybrid ABIA is always dominated by JSIIA and CFA, in all experiments.",
        _never_hybrid, ((FIG2, OF_YANG), (FIG3A, OF_YANG), (FIG3B, OF_YANG)),
    ),
    _Test(
        "[Y] section V.B, Fig. 3a",
        "For more than a hundred robots of 10 links JSIIA and CFA are similar, and both faster than the hybrid ABIA.",
        _ten_links, ((FIG3A, OF_YANG),),
    ),
    _Test(
        "[Y] section V.B, Fig. 3b", "For robots of 200 links CFA is the fastest of the three and JSIIA the slowest.",
        _two_hundred_links, ((FIG3B, OF_YANG),),
    ),
    _Test(
        "[Y] sections II.B, VI", "Block bi-diagonal systems are solved efficiently by parallel scan.",
        _pays("dca", "whose passes are scans"), ((FIG2, ("dca", "abia")),), on_cpu=False,
    ),
    _Test(
        "[Y] sections IV, VI", "Block tri-diagonal systems are solved efficiently by odd-even elimination.",
        _pays("cfa", "by odd-even elimination"), ((FIG2, ("cfa", "abia")),), on_cpu=False,
    ),
    _Test(
        "[Y] section III",
        "Parallel algorithms cannot accelerate the recursion for articulated inertias beyond a constant factor.",
        _constant_factor, ((FIG2, ("dca", "abia")),), on_cpu=False,
    ),
)  # fmt: skip


def _of_bhalerao(measured: Measured) -> list[Claim]:
    abia, one = Candidate("abia", "cpu"), Candidate("dca", "cpu", 1)
    counts = [x.threads for x in measured.plan.candidates(PROCESSORS) if x.threads]
    claims = []
    for count, says in (
        (4, f"On four processors DCA-ABA is {SPEEDUP} times as fast as the ABA, for serial chains."),
        (2, "Two processors are enough for a useful gain."),
    ):
        if count not in counts:
            words = f"A process has {max(counts)} core{'s' if max(counts) > 1 else ''} on this machine."
            claims.append(Claim("[B] abstract", says, "not tested here", words))
            continue
        gains = measured.gains(PROCESSORS, Candidate("dca", "cpu", count), abia)
        if not gains:
            claims.append(Claim("[B] abstract", says, "not tested here", "There are no such times."))
            continue
        wanted = SPEEDUP if count == 4 else EQUAL_RATIO
        reached = [n for n, gain in gains.items() if gain.low >= wanted]
        words = f"On {count} threads DCA-ABA is at least {wanted} times as fast as our ABIA on one core "
        words += f"{_where(reached, [*gains], 'links')}: {_listed(gains)}. "
        threads = measured.gains(PROCESSORS, Candidate("dca", "cpu", count), one)
        helped = any(gain.low > EQUAL_RATIO for gain in threads.values())
        words += f"Of that the threads alone give, against DCA-ABA on one: {_listed(threads)}."
        verdict: Verdict = "does not hold" if not reached else "holds" if helped else "holds in part"
        claims.append(Claim("[B] abstract", says, verdict, words))
    return [*claims, _alone(measured.gains(PROCESSORS, one, abia))]


def _alone(gains: Mapping[int, Interval]) -> Claim:
    source, says = "[B] abstract", "Without parallel resources it degenerates to the ABA."
    if not gains:
        return Claim(source, says, "not tested here", "There are no such times.")
    even = [n for n, gain in gains.items() if 1 / EQUAL_RATIO <= gain.middle <= EQUAL_RATIO]
    where = _where(even, gains, "links")
    words = f"On one thread DCA-ABA is within {EQUAL_RATIO} × of our ABIA {where}: {_listed(gains)}. "
    if len(even) < len(gains):
        words += "One thread works on eight chunks at a time, in the lanes of vector instructions."
    return Claim(
        source, says, "holds" if len(even) == len(gains) else "holds in part" if even else "does not hold", words
    )


def further_findings(measured: Measured) -> list[str]:
    """Return further findings, a sentence each: the fastest of all, and when a GPU pays."""
    wording = []
    for experiment in (FIG2, FIG3A, FIG3B):
        unit = "links" if experiment.axis == "links" else "robots"
        names = [x.algorithm for x in measured.plan.candidates(experiment) if x.device == measured.plan.device]
        sizes = [*measured.facts(experiment, measured.on(names[0]))]
        parts = [(name, leads) for name in names if (leads := measured.leads(experiment, name, names))]
        listed = (
            ", ".join(f"{NAMES[name]} {_where(leads, sizes, unit)}" for name, leads in parts) or "none beyond chance"
        )
        wording.append(f"{experiment.source}, the fastest of all five: {listed}.")
        if measured.plan.device == "cuda":
            core = Candidate("abia", "cpu")
            gains = [measured.gains(experiment, measured.on(name), core) for name in names]
            ahead = {n for by_size in gains for n, gain in by_size.items() if gain.low > 1}
            ahead |= {n for n, facts in measured.facts(experiment, core).items() if "left_out" in facts}
            wording.append(
                f"{experiment.source}, the GPU's fastest beats the ABIA on one core {_where(ahead, sizes, unit)}."
            )
    return wording


def _at(measured: Measured, experiment: Experiment, size: int, name: str, among: Iterable[str]) -> str:
    """Describe the times at a size: "At 1000 links CFA takes 16 ms, JSIIA 145 ms (8.8 ×)."""
    unit = "links" if experiment.axis == "links" else f"robot{'s' if size > 1 else ''} of {experiment.fixed} links"
    data = measured.facts(experiment, measured.on(name)).get(size, {})
    if "call_us" not in data:
        return f"At {size} {unit} {NAMES[name]} {_untimed(data)}."
    parts = [f"At {size} {unit} {NAMES[name]} takes {in_words(1e-6 * data['call_us'])}"]
    for other in among:
        if other != name:
            facts = measured.facts(experiment, measured.on(other)).get(size, {})
            gain = measured.gains(experiment, measured.on(name), measured.on(other)).get(size)
            time = (
                f"{in_words(1e-6 * facts['call_us'])} ({_factor(gain.middle)} × as long)" if gain else _untimed(facts)
            )
            parts.append(f"{NAMES[other]} {time}")
    return f"{', '.join(parts)}."


def _untimed(facts: Mapping[str, Any]) -> str:
    return "is left out" if "left_out" in facts else "has no time"


def _listed(gains: Mapping[int, Interval]) -> str:
    return ", ".join(f"{gain.middle:.2f} × at {n}" for n, gain in gains.items()) + " links"


def _where(chosen: Iterable[int], sizes: Iterable[int], unit: str) -> str:
    """Describe some of the sizes, such as "at all of 10 to 1000 links", or "at 300 to 1000 links"."""
    every, some = sorted(sizes), set(chosen)
    if not every:
        return "nowhere, since nothing was measured"
    if some == {1}:
        unit = re.sub(r"s\b", "", unit, count=1)
    if len(every) == 1:
        return f"at {every[0]} {unit}" if some else f"at no size measured ({every[0]} {unit})"
    if len(some) in (0, len(every)):
        return f"at {'all' if some else 'none'} of {every[0]} to {every[-1]} {unit}"
    runs = [[*run] for inside, run in groupby(every, some.__contains__) if inside]
    return f"at {' and '.join(f'{run[0]} to {run[-1]}' if len(run) > 1 else f'{run[0]}' for run in runs)} {unit}"


def _factor(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < 999.5 else f"{ratio:.0f}"
