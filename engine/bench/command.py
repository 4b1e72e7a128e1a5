"""The command `main.py bench`: which suites there are, and their tables, data and pictures."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from engine import bench
from engine.bench import accuracy, facts, gpu, growth, lengths, measure, plots, threads
from engine.cuda import device
from engine.cuda.device import NoGpu

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DONE, NO = 0, 1


class Suite(NamedTuple):
    """Rows from about so many seconds a case, how a terminal shows them, and how a picture does.

    `line` says a row in words as soon as it is there, in suites that take minutes.
    """

    run: Callable[[float], Iterable[Any]]
    show: Callable[[list[Any]], Table | str]
    draw: Callable[[list[Any]], Figure] | None
    line: Callable[[Any], str] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `bench`."""
    parser.add_argument(
        "--suite", choices=tuple(SUITES), default="cpu",
        help="robots beside Pinocchio (cpu, the default), one chain on threads, every algorithm over the number of "
        "links, what the algorithms' texts leave (accuracy), the GPU beside its peers (gpu), and how times grow on it",
    )  # fmt: skip
    parser.add_argument(
        "--picture", type=Path, metavar="FILE.svg", help="draw the rows as well: .svg, .png or .pdf; not of cpu or gpu"
    )
    parser.add_argument(
        "--rows",
        type=Path,
        metavar="FILE.jsonl",
        help="write the machine there, and each row as it comes, a line each",
    )
    parser.add_argument("--seconds", type=positive, default=1.0, help="time spent on each case (default 1)")
    parser.add_argument(
        "--measure-choice", action="store_true", help="measure the algorithms for the automatic choice, some 10 s"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(function=run)


def positive(text: str) -> float:
    """A positive number, for argparse."""
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


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
    machine = {**facts.gathered(), "clocks": {"before": facts.clocks()}}
    try:
        rows = _measured(suite, args, machine, console)
    except NoGpu as reason:
        print(f"catena bench --suite {args.suite}: {reason}", file=sys.stderr)
        return NO
    if args.json:
        machine["clocks"]["after"] = facts.clocks()
        print(json.dumps({"machine": machine, "rows": [_plain(row) for row in rows]}, allow_nan=False))
    else:
        console.print(suite.show(rows), markup=False)
    if suite.draw is not None and picture is not None:
        plots.save(suite.draw(rows), picture)
    return NO if any(isinstance(row, dict) and "failure" in row for row in rows) else DONE


def _measured(suite: Suite, args: argparse.Namespace, machine: dict[str, Any], console: Console) -> list[Any]:
    """The rows of a suite, each said and written as it comes, so that a run that is cut short leaves those it had."""
    rows = []
    with console.status("measuring"), args.rows.open("w", encoding="utf-8") if args.rows else nullcontext() as file:
        if file is not None:
            print(json.dumps({"machine": machine}), file=file, flush=True)
        for row in suite.run(args.seconds):
            rows.append(row)
            if file is not None:
                print(json.dumps(_plain(row), allow_nan=False), file=file, flush=True)
            if suite.line is not None:
                print(suite.line(row), file=sys.stderr, flush=True)
    return rows


def _plain(row: dict[str, Any] | accuracy.Row) -> Any:
    """A row for JSON, which has no infinity: null stands for what is not finite."""
    return _finite(row if isinstance(row, dict) else row._asdict())


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
    found = []
    for where in ("cpu", "cuda") if device.available() else ("cpu",):
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"measuring on {where}")

            def show(done: int, total: int, progress: Progress = progress, task: TaskID = task) -> None:
                progress.update(task, completed=done, total=total)

            table = measure.measure_algorithms(show, where)
        found.append({"device": where, "file": str(table.path), "rows": [vars(row) for row in table.rows]})
        console.print("\n".join([*measure.summary(where), f"written to {table.path}"]))
    if args.json:
        print(json.dumps({"machine": bench.machine(), "tables": found}))
    return DONE


SUITES: Mapping[str, Suite] = {
    "cpu": Suite(bench.run, _beside_pinocchio, None),
    "threads": Suite(threads.run, threads.table, plots.threads),
    "algorithms": Suite(lengths.run, lengths.markdown, plots.algorithms),
    "accuracy": Suite(lambda _seconds: accuracy.residuals(), accuracy.markdown, plots.accuracy),
    "gpu": Suite(gpu.run, gpu.table, None, gpu.line),
    "growth": Suite(growth.run, growth.markdown, plots.grown, growth.line),
}
"""Robots beside Pinocchio; one chain on threads; every algorithm over the number of links; the texts' residuals; the
GPU beside its peers; times over links and robots on the GPU."""
