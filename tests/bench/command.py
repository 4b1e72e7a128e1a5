"""The command `python -m tests.bench`: suites for developers of the engine."""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from engine.bench.results import Row, Rows
from engine.bench.suites import gpu
from engine.bench.suites.command import Suite, add_output_arguments, measure_suite
from engine.robot_arguments import DONE
from tests.bench import (
    accuracy,
    contact,
    contact_gpu,
    growth,
    pictures,
    real_robots,
    real_robots_gpu,
    regret,
    rounds,
    step_growth,
    steps,
    tree_threads,
    trees,
)

ROWS_A_LENGTH = 4 * len(accuracy.TEXTS)
"""For the suite `accuracy`: two number types, random and straight chains."""


def parser() -> argparse.ArgumentParser:
    """The arguments of `python -m tests.bench`."""
    made = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    made.add_argument(
        "--suite", choices=tuple(SUITES), required=True,
        help="what the algorithms' texts leave (accuracy), a simulation's steps (steps), robots that branch (trees), "
        "on threads (tree-threads), how many rounds they take (rounds), how times grow on a GPU (growth), "
        "how a step's do on both devices (step-growth), what the automatic choice costs (regret), "
        "robots on the ground against what was asked (contact), batches of them on the GPU beside MuJoCo Warp "
        "(contact-gpu), robots of others on the ground on one core beside MuJoCo (real-robots), "
        f"and batches of them on the GPU beside MuJoCo Warp ({real_robots_gpu.NAME})",
    )  # fmt: skip
    add_output_arguments(made, SUITES)
    real_robots_gpu.add_arguments(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Measure a suite, as its own options want it. Raises ValueError for options of another."""
    if args.suite != real_robots_gpu.NAME:
        for name in (*real_robots_gpu.OPTIONS, "prepare"):
            if getattr(args, name) is not None:
                option = name.removesuffix("_folder").replace("_", "-")
                raise ValueError(f"--{option} goes with --suite {real_robots_gpu.NAME}")
        return measure_suite(args, SUITES)
    plan = real_robots_gpu.plan(args)
    if args.prepare is not None:
        real_robots_gpu.prepare(args.prepare, plan.robots)
        return DONE
    suite = SUITES[args.suite]._replace(run=partial(real_robots_gpu.run, plan=plan), most=len(plan.works))
    return measure_suite(args, {**SUITES, args.suite: suite}, {} if args.steps is None else {"steps": args.steps})


def main(words: list[str] | None = None) -> int:
    """Carry out the command line. Returns the exit status."""
    args = parser().parse_args(words)
    try:
        return run(args)
    except (ValueError, OSError) as error:
        print(f"python -m tests.bench: {error}", file=sys.stderr)
        return 2


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


def _by_lines(run: Callable[[float, Rows], Iterator[Row]], most: int, line: Callable[[Row], str]) -> Suite:
    """A suite whose table has the line of each row."""
    return Suite(run, most, partial(gpu.table, line=line), None, line)


def _residuals(rows: list[Row]) -> list[accuracy.Row]:
    """As `accuracy` has them: what is not finite is infinite there, and null in a file."""
    found = []
    for row in rows:
        values = {name: row[name] for name in accuracy.Row._fields}
        found.append(accuracy.Row(**{**values, "residual": math.inf if row["residual"] is None else row["residual"]}))
    return found


SUITES: Mapping[str, Suite] = {
    "accuracy": Suite(
        _accuracy, ROWS_A_LENGTH * len(accuracy.LENGTHS),
        lambda rows: accuracy.markdown(_residuals(rows)), lambda rows: pictures.accuracy(_residuals(rows)),
    ),
    "steps": _by_lines(steps.run, steps.MAX_ROWS, steps.line),
    "trees": _by_lines(trees.run, len(trees.CASES), trees.line),
    "tree-threads": _by_lines(tree_threads.run, tree_threads.MAX_ROWS, tree_threads.line),
    "rounds": Suite(rounds.run, rounds.MAX_ROWS, rounds.table, pictures.rounds_of_trees),
    "contact": Suite(contact.run, contact.MAX_ROWS, contact.markdown, None, contact.line),
    "contact-gpu": _by_lines(contact_gpu.run, contact_gpu.MAX_ROWS, contact_gpu.line),
    "real-robots": _by_lines(real_robots.run, real_robots.MAX_ROWS, real_robots.line),
    real_robots_gpu.NAME: _by_lines(real_robots_gpu.run, real_robots_gpu.MAX_ROWS, real_robots_gpu.line),
    "regret": Suite(regret.run, len(regret.CASES), regret.table, None, regret.line),
    "growth": Suite(growth.run, growth.MAX_ROWS, growth.markdown, pictures.grown, growth.line),
    "step-growth": Suite(
        step_growth.run, step_growth.MAX_ROWS, step_growth.markdown, pictures.steps_grown, growth.line
    ),
}  # fmt: skip
"""By name: the measurement, the maximum number of rows, and the display."""
