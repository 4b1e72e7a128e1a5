"""The command `main.py bench`: which suites there are, and their tables, data and pictures."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from engine import bench
from engine.bench import accuracy, lengths, measure, plots, threads

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Suite(NamedTuple):
    """Rows from about so many seconds a case, how a terminal shows them, and how a picture does."""

    run: Callable[[float], Iterable[Any]]
    show: Callable[[list[Any]], Table | str]
    draw: Callable[[list[Any]], Figure] | None


def run(args: argparse.Namespace) -> int:
    """`bench`: measure a suite, or the algorithms for the automatic choice."""
    console = Console(stderr=args.json, highlight=False, soft_wrap=True)
    suite, picture = SUITES[args.suite], args.picture
    if picture is not None:
        if args.measure_choice or suite.draw is None:
            drawn = " | ".join(name for name, suite in SUITES.items() if suite.draw)
            raise ValueError(f"--picture goes with --suite {drawn}, and not with --measure-choice")
        plots.require(picture)
    if args.measure_choice:
        return _measure_choice(args, console)
    with console.status("measuring"):
        rows = list(suite.run(args.seconds))
    if args.json:
        print(json.dumps({"machine": bench.machine(), "rows": [_plain(row) for row in rows]}, allow_nan=False))
    else:
        console.print(suite.show(rows), markup=False)
    if suite.draw is not None and picture is not None:
        plots.save(suite.draw(rows), picture)
    return 0


def _plain(row: dict[str, Any] | accuracy.Row) -> dict[str, Any]:
    """A row for JSON, which has no infinity."""
    if isinstance(row, dict):
        return row
    return {**row._asdict(), "residual": row.residual if math.isfinite(row.residual) else None}


def _beside_pinocchio(rows: list[dict[str, Any]]) -> Table:
    table = Table("case", "catena, µs", "pinocchio, µs", "catena/pinocchio (25–75 %)", box=None, pad_edge=False)
    for row in rows:
        peer, ratio = row.get("pinocchio_us"), row.get("ratio")
        table.add_row(
            row["case"], f"{row['catena_us']:.3g}", f"{peer:.3g}" if peer else "not installed",
            f"{ratio[1]:.2f} ({ratio[0]:.2f}–{ratio[2]:.2f})" if ratio else "",
        )  # fmt: skip
    return table


def _measure_choice(args: argparse.Namespace, console: Console) -> int:
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("measuring")
        table = measure.measure_algorithms(lambda done, total: progress.update(task, completed=done, total=total))
    if args.json:
        print(json.dumps({"machine": bench.machine(), "file": str(table.path), "rows": [vars(r) for r in table.rows]}))
        return 0
    console.print("\n".join([*measure.summary(), f"written to {table.path}"]))
    return 0


SUITES: Mapping[str, Suite] = {
    "cpu": Suite(bench.run, _beside_pinocchio, None),
    "threads": Suite(threads.run, threads.table, plots.threads),
    "algorithms": Suite(lengths.run, lengths.markdown, plots.algorithms),
    "accuracy": Suite(lambda _seconds: accuracy.residuals(), accuracy.markdown, plots.accuracy),
}
"""Robots beside Pinocchio; one chain on threads; every algorithm over the number of links; the texts' residuals."""
