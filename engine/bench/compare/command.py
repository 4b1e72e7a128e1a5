"""The command `main.py compare`: its arguments, table, data and figure."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from engine import figures, files, robot_words
from engine.bench import facts
from engine.bench.compare import pictures, user_algorithms
from engine.bench.compare.comparison import DTYPES, PROCESSES, Comparison, distinct
from engine.bench.compare.result import AlgorithmResult, ComparisonResult, table, times
from engine.bench.compare.scaling import Crossing, Growth, Point, Scaling
from engine.bench.results import Results
from engine.child_process import Children
from engine.robot_arguments import DONE, INTERRUPTED, NO, seed
from engine.robot_arguments import console as console_of
from engine.selection import capabilities
from engine.selection.choice import in_words

ALONE, AT_A_SIZE = 1.0, 0.2
"""Default seconds for each candidate: for one robot, and for each size with `--over`."""
PIPE = 200
"""Width in columns of output that is not a terminal, so that nothing is cut off."""


class Part(NamedTuple):
    """The comparison of one model, or at one size: the unit that is stored once it is done."""

    key: str
    title: str
    size: int | None
    comparison: Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `compare`."""
    parser.add_argument(
        "robot",
        nargs="*",
        help="a URDF or xacro file, the name of a robot that ships, or chain:N and tree:N of N links",
    )
    parser.add_argument(
        "--algorithm", action="append", metavar="NAME", type=capabilities.by_name,
        help="again for each one: a name, or a function of your own as path.py:name (default: all that are sensible)",
    )  # fmt: skip
    parser.add_argument("--device", action="append", help="cpu or cuda (default: all present)")
    parser.add_argument("--dtype", action="append", choices=DTYPES, help="default: float64")
    parser.add_argument("--batch", type=int, default=1, help="robots in one call (default 1)")
    parser.add_argument("--over", choices=("links", "batch"), help="compare over sizes: of chains, or of batches")
    parser.add_argument("--sizes", type=_sizes, default=(), metavar="N,N,…", help="those of --over")
    parser.add_argument(
        "--seconds", type=float, help=f"time for each candidate (default {ALONE:g}; with --over {AT_A_SIZE:g})"
    )
    parser.add_argument("--seed", type=seed, default=0, help="of the states (default 0)")
    parser.add_argument(
        "--package-dir", action="append", default=[], metavar="DIR", help="where package:// is looked for"
    )
    parser.add_argument("--trust-xacro", action="store_true", help="let xacro files run any Python, as xacro does")
    parser.set_defaults(xacro_args={})
    parser.add_argument("--floating", action="store_true", help="put the root links on free joints")
    parser.add_argument("--no-mimic", action="store_true", help="let joints that mimic others move freely")
    parser.add_argument("--csv", type=Path, metavar="FILE.csv", help="write the results there")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw them: .svg, .png or .pdf")
    parser.add_argument(
        "--rows", type=Path, metavar="FILE.jsonl",
        help="keep each model's or size's results there as they come; the same call continues from there",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(function=run)


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise argparse.ArgumentTypeError(f"{text} is not whole numbers of 1 or more with commas between")
    return tuple(map(int, parts))


def run(args: argparse.Namespace) -> int:
    """Run `compare`: measure, and show, store and plot the results; if interrupted, those so far."""
    parts, command = _parts(args)
    if args.picture is not None:
        figures.require(args.picture)
    if args.csv is not None and not args.csv.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {str(args.csv.parent)!r} for {args.csv.name!r}; make it first")
    console = console_of(args)
    if not console.is_terminal:
        console.width = PIPE
    machine = {**facts.collect(), "clocks": {"before": facts.clocks()}}
    ours = redirect_stdout(sys.stderr) if args.json else nullcontext()  # users' functions may print
    with Results(args.rows, {"command": command, "files": _digests(parts)}, machine) as store, ours:
        rows, interrupted = _with_progress(parts, store, console)
    machine["clocks"]["after"] = facts.clocks()
    growth = Growth(args.over, tuple(Point(part.size, row) for part, row in rows if part.size), 1, 0, "")
    comparison = ComparisonResult(tuple(row for _, row in rows), 1, 0, "")
    plain = growth.plain() if args.over else [row.plain() for row in comparison.rows]
    findings = (
        [_crossed(args.over, crossing) for crossing in growth.crossings()] if args.over else comparison.findings()
    )
    if args.csv is not None:
        with files.replacing(args.csv, "w") as file:
            file.write(table(plain))
    if args.picture is not None:
        figures.save(pictures.over_sizes(growth) if args.over else pictures.bars(comparison), args.picture)
    if args.json:
        record = {"machine": machine, "command": command, "results": plain, "findings": findings}
        print(json.dumps({**record, "interrupted": interrupted}, allow_nan=False))
    else:
        console.print(_table(rows, args.over))
        for line in [*_reasons(rows), *findings]:
            console.print(line)
    if interrupted:
        print("interrupted; the results are those until then", file=sys.stderr)
        return INTERRUPTED
    return NO if _fails(comparison, requested=args.algorithm is not None) else DONE


def _fails(comparison: ComparisonResult, requested: bool) -> bool:
    """Whether nothing was timed, or anything requested by name is wrong or failed."""
    verdicts = {row.verdict for row in comparison.rows}
    return "ok" not in verdicts or (requested and bool(verdicts & {"wrong", "failed"}))


def _parts(args: argparse.Namespace) -> tuple[list[Part], str]:
    """Return the comparisons, and the command that repeats them."""
    settings: dict[str, Any] = {"algorithms": args.algorithm, "devices": args.device, "seed": args.seed}
    how = (args.package_dir, args.floating, not args.no_mimic, args.trust_xacro, args.xacro_args)
    models = [robot_words.model_named(name, *how) for name in args.robot]
    dtypes = args.dtype or ["float64"]
    if args.over is None:
        if args.sizes:
            raise ValueError("--sizes goes with --over links or --over batch")
        settings |= {"dtypes": dtypes, "batch": args.batch, "seconds": args.seconds or ALONE}
        titles = distinct([model.name for model in models])
        command = Comparison(models, **settings).command()
        return [Part(t, t, None, Comparison([m], **settings)) for m, t in zip(models, titles, strict=True)], command
    if args.over == "links" and models:
        raise ValueError(f"--over links makes its own chains; leave out {' '.join(args.robot)}, or drop --over")
    if len(models) > 1:
        raise ValueError(f"--over batch takes one robot; got {' '.join(args.robot)}")
    if len(dtypes) > 1:
        raise ValueError(f"--over takes one --dtype; got {' '.join(dtypes)}")
    model = models[0] if models else "chain:10"
    settings |= {"dtype": dtypes[0], "batch": args.batch, "seconds": args.seconds or AT_A_SIZE}
    scaling = Scaling(args.over, args.sizes, model, **settings)
    return [
        Part(f"{args.over}-{size}", comparison.robots[0].name, size, comparison)
        for size, comparison in ((size, scaling.at(size)) for size in scaling.all_sizes)
    ], scaling.command()


def _digests(parts: list[Part]) -> dict[str, str]:
    """Return hashes of robot files and users' algorithms, so that results of different versions are not mixed."""
    sources = [model.source for part in parts for model in part.comparison.robots]
    users = [user_algorithms.parse(name) for part in parts for name in part.comparison.algorithms or ()]
    paths = {*(Path(source) for source in sources if source), *(algorithm.path for algorithm in users if algorithm)}
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in sorted(paths) if path.is_file()}


Rows = list[tuple[Part, AlgorithmResult]]


def _with_progress(parts: list[Part], store: Results, console: Console) -> tuple[Rows, bool]:
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(parts))

        def show(index: int, now: ComparisonResult) -> None:
            progress.update(task, completed=index + now.done, description=now.doing)

        return _measure(parts, store, show)


def _measure(parts: list[Part], store: Results, show: Callable[[int, ComparisonResult], None]) -> tuple[Rows, bool]:
    """Return the results, and whether Ctrl-C ended it; stored results are not measured again."""
    finished, now = Rows(), Rows()
    missing = any(part.key not in store.rows for part in parts)
    try:
        with Children(PROCESSES if missing else 0) as children:
            for index, part in enumerate(parts):
                if kept := store.rows.get(part.key):
                    finished += [(part, AlgorithmResult.of(row)) for row in kept["results"]]
                    continue
                for report in part.comparison.run(children=children):
                    now = [(part, replace(row, model=part.title)) for row in report.rows]
                    show(index, report)
                store.add({"key": part.key, "results": [row.plain() for _, row in now]})
                finished, now = finished + now, []
    except KeyboardInterrupt:
        return finished + now, True
    return finished, False


def _table(rows: Rows, over: str | None) -> Table:
    """Return a table with a line per candidate; GPU time and number type only if informative."""
    results = [row for _, row in rows]
    shown: dict[str, Callable[[Part, AlgorithmResult], str]] = {
        over or "robot": lambda part, row: f"{part.size}" if over else row.model,
        "algorithm": lambda _, row: row.algorithm,
        "on": lambda _, row: row.device,
        "type": lambda _, row: row.dtype,
        "residual": lambda _, row: "" if row.residual is None else f"{row.residual:.0e}",
        "a call": lambda _, row: "" if row.host is None else in_words(row.host),
        "on the GPU": lambda _, row: "" if row.on_device is None else in_words(row.on_device),
        "× the fastest": lambda _, row: _ratio(row),
        "": lambda _, row: _badge(row),
    }
    if len({row.dtype for row in results}) == 1:
        del shown["type"]
    if all(row.on_device is None for row in results):
        del shown["on the GPU"]
    table = Table(box=None, pad_edge=False)
    for head in shown:
        table.add_column(
            head, no_wrap=True, justify="right" if head in ("residual", "a call", "on the GPU") else "left"
        )
    for part, row in rows:
        style = "bold green" if row.winner else "red" if row.verdict in ("wrong", "failed") else ""
        table.add_row(*(Text(cell(part, row), style) for cell in shown.values()))
    return table


def _ratio(row: AlgorithmResult) -> str:
    if row.ratio is None:
        return ""
    low, middle, high = map(times, row.ratio)
    return middle if row.ratio.low == row.ratio.high else f"{middle} ({low}–{high})"


def _badge(row: AlgorithmResult) -> str:
    if row.verdict == "ok":
        return "fastest" if row.winner else "no difference" if row.level else ""
    return "WRONG" if row.verdict == "wrong" else row.verdict


def _reasons(rows: Rows) -> list[str]:
    """List the reasons for missing times, once per reason."""
    shared: dict[str, list[str]] = {}
    for _, row in rows:
        if row.reason:
            shared.setdefault(f"{row.model}: {row.verdict}: {row.reason}", []).append(row.algorithm)
    return [f"{reason} ({', '.join(dict.fromkeys(names))})" for reason, names in shared.items()]


def _crossed(axis: str, crossing: Crossing) -> str:
    unit = "links" if axis == "links" else "robots"
    return f"from {crossing.words()} {unit} on, {crossing.faster} is faster than {crossing.slower}"
