"""The command `study`: run a study here or on Ray with progress, and print a summary table."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from engine import figures
from engine.robot_arguments import DONE, INTERRUPTED, NO, CallError, console, count, print_message
from engine.study import pictures
from engine.study.results import MANIFEST, parquet, parts, write_csv
from engine.study.study import Study, StudyProgress
from engine.study.summaries import wilson


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `study`."""
    command.add_argument("study", type=Path, metavar="FILE.toml", help="what is simulated, what varies, what is kept")
    command.add_argument("--out", type=Path, metavar="FOLDER", help="of the results (default: FILE.results beside it)")
    command.add_argument(
        "--on", metavar="WHERE", help="Ray: auto, local-cluster or ray://HOST:PORT (default: this machine, without Ray)"
    )
    command.add_argument(
        "--resume", action="store_true", help="continue from existing results; refuse to begin without any"
    )
    command.add_argument("--processes", type=count, metavar="N", help="on this machine (default: one for each core)")
    command.add_argument("--batch", type=count, metavar="N", help="samples that step together at most")
    command.add_argument("--csv", type=Path, metavar="FILE.csv", help="write the results there, too")
    command.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw the results: .svg, .png or .pdf")
    command.add_argument("--x", metavar="COLUMN", help="of the picture (default: the first that varies)")
    command.add_argument("--y", metavar="COLUMN", help="of the picture (default: the next that varies, or is kept)")
    command.add_argument("--color", metavar="COLUMN", help="of the picture (default: the first predicate, or number)")
    command.add_argument("--trust-xacro", action="store_true", help="let xacro files run any Python, as xacro does")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=run_study)


def run_study(args: argparse.Namespace) -> int:
    """Run `study`: compute the missing samples, and report on all."""
    began = perf_counter()
    parquet()
    if args.picture is not None:
        figures.require(args.picture)
    study = Study.read(args.study, args.trust_xacro)
    axes = pictures.axes(study.varied, study.kept, args.x, args.y, args.color)
    folder = args.out or args.study.with_suffix(".results")
    if args.resume and not (folder / MANIFEST).exists():
        raise CallError(f"--resume: there are no results in {str(folder)!r}; leave --resume out to begin")
    last, interrupted, first, failure = StudyProgress(0, study.count, 0, 0), False, -1, ""
    with _bar(console(args)) as bar:
        task = bar.add_task("", total=study.count)

        def report(now: StudyProgress) -> None:
            nonlocal last, first
            last, first = now, now.done if first < 0 else first
            bar.update(task, completed=now.done, description=f"{now.seats} at work, {now.diverged} diverged")

        try:
            with redirect_stdout(sys.stderr if args.json else sys.stdout):  # Ray and controllers may print
                study.run(folder, args.on, args.processes, args.batch, report)
        except KeyboardInterrupt:
            interrupted = True
        except RuntimeError as error:
            failure = str(error)
    columns = Study.results(folder) if last.done or parts(folder) else {}
    done = len(columns["sample"]) if columns else 0  # a part may have been written after the last report
    wording = _summary(study, columns) | {
        "folder": str(folder), "samples": study.count, "done": done, "before": max(first, 0),
        "interrupted": interrupted, "failure": failure or None, "wall_seconds": perf_counter() - began,
    }  # fmt: skip
    if args.csv is not None and columns:
        write_csv(args.csv, columns)
    if args.picture is not None and columns:
        figures.save(pictures.draw(study.title, columns, axes, study.units, study.logarithmic), args.picture)
    if args.json:
        print(json.dumps(wording))
    else:
        _show(console(args), study, wording)
    if interrupted:
        print_message(f"interrupted; {done} of {study.count} samples are kept, and the same call continues from there")
        return INTERRUPTED
    if failure:
        print_message(f"{failure}; {done} of {study.count} samples are kept")
    return NO if failure else DONE


def _bar(screen: Console) -> Bar:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Bar(*columns, console=screen, transient=True, disable=not screen.is_terminal)


_QUANTILES = ("least", "median", "greatest")


def _summary(study: Study, columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return numbers' minimum, median and maximum, and predicates' share, over robots that did not diverge."""
    numbers, predicates = {}, {}
    lost = columns.get("diverged", np.zeros(0, bool))
    for name, predicate in study.kept.items():
        x = columns[name][~lost] if name in columns else np.zeros(0)
        if predicate:
            interval = wilson(int(np.count_nonzero(x)), len(x))
            predicates[name] = None if math.isnan(interval.share) else interval._asdict()
        else:
            numbers[name] = dict(zip(_QUANTILES, np.quantile(x, (0, 0.5, 1)).tolist(), strict=True)) if len(x) else None
    return {"diverged": int(np.count_nonzero(lost)), "numbers": numbers, "predicates": predicates}


def _show(screen: Console, study: Study, wording: Mapping[str, Any]) -> None:
    title = study.title or "study"
    screen.print(f"{title}: {wording['done']} of {wording['samples']} samples, {wording['diverged']} diverged", end="")
    screen.print(f", {wording['wall_seconds']:.3g} s; results in {wording['folder']}")
    numbers = Table("number", *_QUANTILES, box=None, pad_edge=False)
    for name, summary in wording["numbers"].items():
        if summary is not None:
            numbers.add_row(name, *(f"{summary[key]:.6g}" for key in _QUANTILES))
    predicates = Table("predicate", "true", "95 % interval", box=None, pad_edge=False)
    for name, summary in wording["predicates"].items():
        if summary is not None:
            interval = f"{100 * summary['low']:.1f} – {100 * summary['high']:.1f} %"
            predicates.add_row(name, f"{100 * summary['share']:.1f} %", interval)
    for table in (numbers, predicates):
        if table.row_count:
            screen.print(table)
