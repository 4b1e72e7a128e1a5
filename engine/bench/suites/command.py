"""The command `main.py bench`: its suites, with their tables, data and figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from engine import figures
from engine.bench import facts
from engine.bench.results import Results, Row, Rows
from engine.bench.suites import against, batches, cpu, gpu, lengths, measure, pictures, threads
from engine.cuda.runtime import device
from engine.cuda.runtime.device import NoGpu
from engine.robot_arguments import DONE, INTERRUPTED, NO, positive
from engine.robot_arguments import console as console_of
from engine.selection import shipped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Suite(NamedTuple):
    """A suite: yields rows from about `seconds` per case, with functions for their table and their figure.

    `run` yields finished rows unchanged, each with its "key". `most` is the maximum number of rows. `line` describes a
    row when it is done, in suites that take minutes.
    """

    run: Callable[[float, Rows], Iterable[Row]]
    most: int
    show: Callable[[list[Row]], Table | str]
    draw: Callable[[list[Row]], Figure] | None = None
    line: Callable[[Row], str] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench`."""
    parser.add_argument(
        "--suite", choices=tuple(SUITES), default="cpu",
        help="robots beside Pinocchio (cpu, the default), one chain on threads, batches on threads beside peers on all "
        "cores, every algorithm over the number of links, the GPU beside its peers (gpu)",
    )  # fmt: skip
    add_output_arguments(parser, SUITES)
    parser.add_argument(
        "--measure-choice", action="store_true", help="measure the algorithms for the automatic choice, in minutes"
    )
    parser.add_argument(
        "--ship", metavar="NAME",
        help="with --measure-choice: keep it among the tables that ship, by this name for the machine",
    )  # fmt: skip
    parser.set_defaults(function=run)


def add_output_arguments(parser: argparse.ArgumentParser, suites: Mapping[str, Suite]) -> None:
    """Add arguments for the duration of suites, and the destination of their results."""
    drawn = " and ".join(name for name, suite in suites.items() if suite.draw)
    parser.add_argument(
        "--picture", type=Path, metavar="FILE.svg", help=f"draw the rows of {drawn} as well: .svg, .png or .pdf"
    )
    parser.add_argument(
        "--rows", type=Path, metavar="FILE.jsonl",
        help="keep the machine and each row there as it comes, a line each; the same call continues from there",
    )  # fmt: skip
    parser.add_argument(
        "--against", type=Path, metavar="FILE",
        help="an earlier result, by --rows or --json: say what got slower beyond noise, and exit with 1 if any did",
    )  # fmt: skip
    parser.add_argument("--seconds", type=positive, default=1.0, help="time spent on each case (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run `bench`: measure a suite, or the algorithms for the automatic choice."""
    if not args.measure_choice:
        return measure_suite(args, SUITES)
    if args.picture is not None:
        raise ValueError("--picture goes with a suite, and not with --measure-choice")
    return _measure_choice(args, console_of(args))


def measure_suite(args: argparse.Namespace, suites: Mapping[str, Suite], plan: Mapping[str, Any] | None = None) -> int:
    """Measure one of these suites, described in addition by `plan`, and show it. Return the exit status."""
    console = console_of(args)
    suite, picture = suites[args.suite], args.picture
    if picture is not None:
        if suite.draw is None:
            drawn = " | ".join(name for name, suite in suites.items() if suite.draw)
            raise ValueError(f"--picture goes with --suite {drawn}")
        figures.require(picture)
    machine = {**facts.collect(), "clocks": {"before": facts.clocks()}}
    before = None
    if args.against is not None:
        there, before = against.read(args.against, args.suite)
        against.require_comparable(args.against, machine, there)
    plan = {"suite": args.suite, "seconds": args.seconds, **(plan or {})}
    try:
        with Results(args.rows, plan, machine) as results:
            rows, interrupted = _measured(suite, args.seconds, results, console)
    except NoGpu as reason:
        print(f"catena bench --suite {args.suite}: {reason}", file=sys.stderr)
        return NO
    if args.json:
        machine["clocks"]["after"] = facts.clocks()
        print(json.dumps({"machine": machine, "plan": plan, "rows": rows}, allow_nan=False))
    elif rows:
        console.print(suite.show(rows))
    if suite.draw is not None and picture is not None and rows:
        figures.save(suite.draw(rows), picture)
    slower = before is not None and _say_changes(args, suite, before, {row["key"]: row for row in rows})
    if interrupted:
        return INTERRUPTED
    return NO if slower or any("failure" in row for row in rows) else DONE


def _measured(suite: Suite, seconds: float, results: Results, console: Console) -> tuple[list[Row], bool]:
    """Return the rows, each printed and stored as it arrives, and whether Ctrl-C ended it: finished rows are kept."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn()
    finished = dict(results.rows)
    rows: list[Row] = []
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("measuring", total=suite.most, completed=len(finished))
        try:
            for row in suite.run(seconds, finished):
                kept = row["key"] in finished
                rows.append(row if kept else results.add(row))
                if not kept:
                    progress.advance(task)
                if suite.line is not None:
                    print(suite.line(rows[-1]), file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            fix = "the same call continues from there" if results.path else "--rows FILE.jsonl keeps them"
            print(f"interrupted after {len(rows)} rows; {fix}", file=sys.stderr)
            return rows, True
    return rows, False


def _say_changes(args: argparse.Namespace, suite: Suite, before: Rows, now: Rows) -> bool:
    """Print changes since the other results; return whether anything became slower, confirmed by a second measurement.

    Raises ValueError without a shared row.
    """
    if not before.keys() & now.keys():
        raise ValueError(f"{args.against} has no row of this suite; name a result of the same one")
    changes = against.changes(before, now)
    suspects = {change.key for change in changes if change.slower}
    if suspects:
        rest = {key: row for key, row in now.items() if key not in suspects}
        again = {row["key"]: row for row in suite.run(args.seconds, rest)}
        changes = against.keep_confirmed(changes, against.changes(before, again))
    for change in changes:
        print(change, file=sys.stderr)
    slower = sum(change.slower for change in changes)
    shared = len(before.keys() & now.keys())
    print(f"{slower} slower and {len(changes) - slower} faster beyond noise, of {shared} shared rows", file=sys.stderr)
    return slower > 0


def _pinocchio_table(rows: list[dict[str, Any]]) -> Table:
    table = Table("case", "catena, µs", "pinocchio, µs", "catena/pinocchio (25–75 %)", box=None, pad_edge=False)
    for row in rows:
        peer, ratio = row.get("pinocchio_us"), row.get("ratio")
        table.add_row(
            row["case"], f"{row['catena_us']:.3g}", f"{peer:.3g}" if peer else "not installed",
            f"{ratio[1]:.2f} ({ratio[0]:.2f}–{ratio[2]:.2f})" if ratio else "",
        )  # fmt: skip
    return table


def _measure_choice(args: argparse.Namespace, console: Console) -> int:
    tables = []
    for where in ("cpu", "cuda") if device.available() else ("cpu",):
        began = perf_counter()
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"measuring on {where}")

            def show(done: int, total: int, progress: Progress = progress, task: TaskID = task) -> None:
                progress.update(task, completed=done, total=total)

            table = measure.measure_algorithms(show, where, ship=args.ship)
            assert table is not None  # only Ctrl-C stops it, which raises
        tables.append({"device": where, "file": str(table.path), "rows": [vars(row) for row in table.rows]})
        folder, took = shipped.FILE if args.ship else table.path, perf_counter() - began
        console.print("\n".join([*measure.summary(where), f"measured in {took:.0f} s, written to {folder}"]))
    if args.json:
        print(json.dumps({"machine": facts.machine(), "tables": tables}))
    return DONE


SUITES: Mapping[str, Suite] = {
    "cpu": Suite(cpu.run, len(cpu.CASES), _pinocchio_table),
    "threads": Suite(
        lambda seconds, finished: threads.run(seconds, finished=finished), len(threads.LINKS), threads.table,
        pictures.threads,
    ),
    "batches": Suite(batches.run, batches.MAX_ROWS, batches.table),
    "algorithms": Suite(
        lambda seconds, finished: lengths.run(seconds, finished=finished), len(lengths.LINKS), lengths.markdown,
        pictures.algorithms,
    ),
    "gpu": Suite(gpu.run, len(gpu.WORKS) + 3, gpu.table, None, gpu.line),
}  # fmt: skip
"""Robots beside Pinocchio; one chain on threads; batches on them; all algorithms over the number of links; the GPU."""
