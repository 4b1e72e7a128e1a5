"""Links × batch × algorithm × device × number type, each chain's candidates taking turns: the suite `grid`."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from engine.bench.compare.comparison import DTYPES, Comparison
from engine.bench.compare.result import times
from engine.bench.results import NONE, Rows
from engine.selection.choice import in_words


class Case(NamedTuple):
    """A batch of chains: number of links, number of chains per call."""

    links: int
    batch: int

    @property
    def key(self) -> str:
        """The row's name, the same in every run."""
        return f"chain-{self.links}x{self.batch}"


CASES = tuple(
    Case(links, batch)
    for links in (1, 7, 20, 50, 200, 1000)
    for batch in (1, 64, 4096, 1 << 18)
    if links * batch <= 1 << 21
)


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each case, those finished as they are: the results of all algorithms, devices and number types."""
    for case in CASES:
        yield finished.get(case.key) or {"key": case.key, **case._asdict(), **_measured(case, seconds)}


def _measured(case: Case, seconds: float) -> dict[str, Any]:
    *_, last = Comparison((f"chain:{case.links}",), dtypes=DTYPES, batch=case.batch, seconds=seconds).run()
    spread = {
        f"{row.algorithm} on {row.device} in {row.dtype}, µs": [seconds * 1e6 for seconds in row.host_interval]
        for row in last.rows
        if row.host_interval is not None
    }
    return {"results": [row.plain() for row in last.rows], "spread": spread}


def line(row: dict[str, Any]) -> str:
    """A row in words: the fastest in each number type, and the next."""
    messages = []
    for dtype in DTYPES:
        timed = [found for found in row["results"] if found["dtype"] == dtype and found["host"] is not None]
        best = sorted(timed, key=lambda found: float(found["host"]))[:2]
        names = [f"{found['algorithm']} on {found['device']} {in_words(found['host'])}" for found in best]
        ratio = f", {times(best[1]['host'] / best[0]['host'])} ×" if len(best) > 1 else ""
        messages.append(f"{dtype}: {', then '.join(names)}{ratio}" if best else f"{dtype}: none")
    return f"{row['key']}: {'; '.join(messages)}"
