"""The command `main.py bench`: which suites there are, and their tables, data and pictures."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from engine.bench import facts, plots
from engine.bench.results import Results, Row, Rows
from engine.bench.suites import (
    accuracy,
    against,
    batches,
    contact,
    contact_gpu,
    cpu,
    gpu,
    grid,
    growth,
    lengths,
    measure,
    pictures,
    real_robots,
    real_robots_gpu,
    regret,
    repeats,
    rounds,
    step_growth,
    steps,
    threads,
    tree_threads,
    trees,
)
from engine.cuda.runtime import device
from engine.cuda.runtime.device import NoGpu
from engine.robot_arguments import DONE, INTERRUPTED, NO, positive
from engine.robot_arguments import console as console_of
from engine.selection import shipped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ROWS_A_LENGTH = 4 * len(accuracy.TEXTS)
"""Of the suite `accuracy`: two number types, random and straight chains."""


class Suite(NamedTuple):
    """Rows from about so many seconds a case, how a terminal shows them, and how a picture does.

    `run` answers the rows that are finished already as they are, each with its "key". `most` is how many there
    will be at most. `line` says a row in words as soon as it is there, in suites that take minutes.
    """

    run: Callable[[float, Rows], Iterable[Row]]
    most: int
    show: Callable[[list[Row]], Table | str]
    draw: Callable[[list[Row]], Figure] | None = None
    line: Callable[[Row], str] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `bench`."""
    parser.add_argument(
        "--suite", choices=tuple(SUITES), default="cpu",
        help="robots beside Pinocchio (cpu, the default), chains by all algorithms, devices and number types (grid), "
        "one chain on threads, batches on threads beside peers on all cores, every algorithm over the number of links, "
        "what the algorithms' texts leave (accuracy), one comparison again and again (repeats), "
        "the GPU beside its peers (gpu), a simulation's steps (steps), robots that branch (trees), "
        "on threads (tree-threads), how many rounds they take (rounds), "
        "how times grow on it, how a step's do on both devices (step-growth), "
        "what the automatic choice costs (regret), robots on the ground against what was asked (contact), "
        "batches of them on the GPU beside MuJoCo Warp (contact-gpu), "
        "robots of others on the ground on one core beside MuJoCo (real-robots), "
        f"and batches of them on the GPU beside MuJoCo Warp ({real_robots_gpu.NAME})",
    )  # fmt: skip
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE.svg",
        help="draw the rows as well: .svg, .png or .pdf; not of cpu, grid, repeats, batches, gpu, steps, "
        f"trees, tree-threads, contact, contact-gpu, real-robots, {real_robots_gpu.NAME} or regret",
    )
    parser.add_argument(
        "--rows", type=Path, metavar="FILE.jsonl",
        help="keep the machine and each row there as it comes, a line each; the same call again goes on from there",
    )  # fmt: skip
    parser.add_argument(
        "--against", type=Path, metavar="FILE",
        help="an earlier result, by --rows or --json: say what got slower beyond noise, and exit with 1 if any did",
    )  # fmt: skip
    parser.add_argument("--seconds", type=positive, default=1.0, help="time spent on each case (default 1)")
    parser.add_argument(
        "--measure-choice", action="store_true", help="measure the algorithms for the automatic choice, in minutes"
    )
    parser.add_argument(
        "--ship", metavar="NAME",
        help="with --measure-choice: keep it among the tables that ship, by this name for the machine",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    real_robots_gpu.add_arguments(parser)
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """`bench`: measure a suite, or the algorithms for the automatic choice."""
    console = console_of(args)
    suite, picture = _asked_for(args), args.picture
    if picture is not None:
        if args.measure_choice or suite.draw is None:
            drawn = " | ".join(name for name, suite in SUITES.items() if suite.draw)
            raise ValueError(f"--picture goes with --suite {drawn}, and not with --measure-choice")
        plots.require(picture)
    if args.measure_choice:
        return _measure_choice(args, console)
    if args.prepare is not None:
        real_robots_gpu.prepare(args.prepare, real_robots_gpu.plan(args).robots)
        return DONE
    machine = {**facts.gathered(), "clocks": {"before": facts.clocks()}}
    before = None
    if args.against is not None:
        there, before = against.read(args.against)
        against.require_comparable(args.against, machine, there)
    plan = {"suite": args.suite, "seconds": args.seconds}
    if args.steps is not None:
        plan["steps"] = args.steps
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
        plots.save(suite.draw(rows), picture)
    slower = before is not None and _say_changes(args, suite, before, {row["key"]: row for row in rows})
    if interrupted:
        return INTERRUPTED
    return NO if slower or any("failure" in row for row in rows) else DONE


def _asked_for(args: argparse.Namespace) -> Suite:
    """The suite, as its own options want it. Raises ValueError for options of another."""
    suite = SUITES[args.suite]
    if args.suite == real_robots_gpu.NAME:
        plan = real_robots_gpu.plan(args)
        return suite._replace(run=partial(real_robots_gpu.run, plan=plan), most=len(plan.works))
    for name in (*real_robots_gpu.OPTIONS, "prepare"):
        if getattr(args, name) is not None:
            option = name.removesuffix("_folder").replace("_", "-")
            raise ValueError(f"--{option} goes with --suite {real_robots_gpu.NAME}")
    return suite


def _measured(suite: Suite, seconds: float, results: Results, console: Console) -> tuple[list[Row], bool]:
    """The rows, each said and kept as it comes, and whether Ctrl-C ended it: it leaves those that it had."""
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
            cure = "the same call goes on from there" if results.path else "--rows FILE.jsonl keeps them"
            print(f"interrupted after {len(rows)} rows; {cure}", file=sys.stderr)
            return rows, True
    return rows, False


def _say_changes(args: argparse.Namespace, suite: Suite, before: Rows, now: Rows) -> bool:
    """Say what changed since the other results, and whether anything got slower: whatever did is measured once more.

    Raises ValueError without a shared row.
    """
    if not before.keys() & now.keys():
        raise ValueError(f"{args.against} has no row of this suite; name a result of the same one")
    found = against.changes(before, now)
    suspects = {change.key for change in found if change.slower}
    if suspects:
        rest = {key: row for key, row in now.items() if key not in suspects}
        again = {row["key"]: row for row in suite.run(args.seconds, rest)}
        found = against.confirmed(found, against.changes(before, again))
    for change in found:
        print(change, file=sys.stderr)
    slower = sum(change.slower for change in found)
    shared = len(before.keys() & now.keys())
    print(f"{slower} slower and {len(found) - slower} faster beyond noise, of {shared} shared rows", file=sys.stderr)
    return slower > 0


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
        began = perf_counter()
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"measuring on {where}")

            def show(done: int, total: int, progress: Progress = progress, task: TaskID = task) -> None:
                progress.update(task, completed=done, total=total)

            table = measure.measure_algorithms(show, where, ship=args.ship)
            assert table is not None  # nothing stops it but Ctrl-C, which raises
        found.append({"device": where, "file": str(table.path), "rows": [vars(row) for row in table.rows]})
        folder, took = (args.ship and shipped.FOLDER) or table.path, perf_counter() - began
        console.print("\n".join([*measure.summary(where), f"measured in {took:.0f} s, written to {folder}"]))
    if args.json:
        print(json.dumps({"machine": facts.machine(), "tables": found}))
    return DONE


def _accuracy(_seconds: float, finished: Rows) -> Iterator[Row]:
    """The residuals, of one length after the other."""
    for links in accuracy.LENGTHS:
        kept = [row for row in finished.values() if row["links"] == links]
        if len(kept) == ROWS_A_LENGTH:
            yield from kept
            continue
        for found in accuracy.residuals((links,)):
            key = f"{found.algorithm}-{found.dtype}-{links}-{'straight' if found.straight else 'random'}"
            yield finished.get(key) or {"key": key, **found._asdict()}


def _residuals(rows: list[Row]) -> list[accuracy.Row]:
    """As `accuracy` has them: what is not finite is infinite there, and null in a file."""
    found = []
    for row in rows:
        values = {name: row[name] for name in accuracy.Row._fields}
        found.append(accuracy.Row(**{**values, "residual": math.inf if row["residual"] is None else row["residual"]}))
    return found


SUITES: Mapping[str, Suite] = {
    "cpu": Suite(cpu.run, len(cpu.CASES), _beside_pinocchio),
    "repeats": Suite(repeats.run, repeats.REPEATS, repeats.table, line=repeats.line),
    "grid": Suite(grid.run, len(grid.CASES), grid.table, None, grid.line),
    "threads": Suite(
        lambda seconds, finished: threads.run(seconds, finished=finished), len(threads.LINKS), threads.table,
        pictures.threads,
    ),
    "batches": Suite(batches.run, batches.MOST_ROWS, batches.table),
    "algorithms": Suite(
        lambda seconds, finished: lengths.run(seconds, finished=finished), len(lengths.LINKS), lengths.markdown,
        pictures.algorithms,
    ),
    "accuracy": Suite(
        _accuracy, ROWS_A_LENGTH * len(accuracy.LENGTHS),
        lambda rows: accuracy.markdown(_residuals(rows)), lambda rows: pictures.accuracy(_residuals(rows)),
    ),
    "gpu": Suite(gpu.run, len(gpu.WORKS) + 3, gpu.table, None, gpu.line),
    "steps": Suite(steps.run, steps.MOST_ROWS, steps.table, None, steps.line),
    "trees": Suite(trees.run, len(trees.CASES), trees.table, None, trees.line),
    "tree-threads": Suite(
        tree_threads.run, tree_threads.MOST_ROWS, tree_threads.table, None, tree_threads.line
    ),
    "rounds": Suite(rounds.run, rounds.MOST_ROWS, rounds.table, pictures.rounds_of_trees),
    "contact": Suite(contact.run, contact.MOST_ROWS, contact.markdown, None, contact.line),
    "contact-gpu": Suite(contact_gpu.run, contact_gpu.MOST_ROWS, contact_gpu.markdown, None, contact_gpu.line),
    "real-robots": Suite(real_robots.run, real_robots.MOST_ROWS, real_robots.markdown, None, real_robots.line),
    real_robots_gpu.NAME: Suite(
        real_robots_gpu.run, real_robots_gpu.MOST_ROWS, real_robots_gpu.markdown, None, real_robots_gpu.line
    ),
    "regret": Suite(regret.run, len(regret.CASES), regret.table, None, regret.line),
    "growth": Suite(growth.run, growth.MOST_ROWS, growth.markdown, pictures.grown, growth.line),
    "step-growth": Suite(
        step_growth.run, step_growth.MOST_ROWS, step_growth.markdown, pictures.steps_grown, growth.line
    ),
}  # fmt: skip
"""Robots beside Pinocchio; chains by all algorithms; a chain on threads; batches there; all algorithms over the number
of links; the texts' residuals; the GPU beside its peers; a simulation's steps, robots that branch, on threads too,
their rounds, and times over links and robots there, of calls and of steps; robots on the ground, on a core and on the
GPU, and those of others there."""
