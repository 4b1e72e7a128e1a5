"""The command `main.py paper`: the papers' experiments, from the measurement to the page."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from engine import figures
from engine.bench import facts
from engine.bench.paper import experiments, page
from engine.bench.paper.claims import Measured
from engine.bench.results import Results
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import device
from engine.robot_arguments import DONE, INTERRUPTED, NO, seed
from engine.robot_arguments import console as console_of

ROWS = "rows.jsonl"
DEFAULT = "papers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `paper`."""
    parser.add_argument(
        "--out", type=Path, default=Path(DEFAULT), metavar="FOLDER",
        help=f"where page, pictures and data go; what it has is not measured again (default {DEFAULT})",
    )  # fmt: skip
    parser.add_argument("--short", action="store_true", help="fewer sizes and calls: half a minute on a CPU")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where [Y]'s figures are measured (default auto)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="of the chains and inputs (default 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, that of data.json")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run `paper`: measure what the folder lacks, and write its page, figures and data."""
    console = console_of(args)
    where = args.device if args.device != "auto" else "cuda" if device.available() else "cpu"
    if where == "cuda" and (reason := device.why_not()):
        print(f"catena paper: {reason}", file=sys.stderr)
        return NO
    _make(args.out)
    figures.require(args.out / f"{experiments.FIG2.key}.svg")
    plan = experiments.PaperPlan(where, args.short, args.seed)
    machine = {**facts.collect(), "why_no_gpu": device.why_not(), "clocks": {"before": facts.clocks()}}
    machine["date"] = date.today().isoformat()
    points = len(plan.points())
    with Results(args.out / ROWS, {"suite": "paper", "processors": cores(), **plan._asdict()}, machine) as results:
        try:
            _measure(plan, results, points, console)
        except KeyboardInterrupt:
            print(f"interrupted; {len(results.rows)} of {points} points are in {args.out / ROWS}, from where the same "
                  "command goes on", file=sys.stderr)  # fmt: skip
            return INTERRUPTED
    machine["clocks"] = {**machine["clocks"], "after": facts.clocks()}
    data = page.write(args.out, Measured(plan, results.rows.values()), machine)
    if args.json:
        print(json.dumps(data, allow_nan=False))
    else:
        _show(data, args.out, console)
    failed = any("failure" in x or "wrong" in x for row in data["rows"] for x in row["candidates"])
    return NO if failed else DONE


def _make(folder: Path) -> None:
    """Create the folder if necessary. Raises ValueError if that fails or it contains anything else."""
    if not folder.absolute().parent.is_dir() or folder.is_file():
        why = "it is a file" if folder.is_file() else f"there is no folder {str(folder.parent)!r}"
        raise ValueError(f"--out is {str(folder)!r}, which cannot be made, since {why}; name another folder")
    folder.mkdir(exist_ok=True)
    if any(folder.iterdir()) and not (folder / ROWS).is_file():
        raise ValueError(
            f"{str(folder)!r} contains files but no {ROWS}; give --out a new folder, or one that this command made"
        )


def _measure(plan: experiments.PaperPlan, results: Results, points: int, console: Console) -> None:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("measuring", total=points, completed=len(results.rows))
        for row in experiments.measure(plan, results.rows):
            results.add(row)
            progress.update(task, description=f"measured {row['key']}", completed=len(results.rows))


def _show(data: dict[str, Any], folder: Path, console: Console) -> None:
    width = max(len(claim["verdict"]) for claim in data["claims"])
    for claim in data["claims"]:
        console.print(f"{claim['verdict']:<{width}}  {claim['says']} ({claim['source']})")
    console.print(f"page, pictures and data: {folder / page.PAGE}")
