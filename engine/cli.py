"""The headless commands: `main.py run | repeat | unpack | info | check | bench | compare | study | generate …`.

With ``--json`` a command prints one object on standard output; everything else goes to standard error. Exit 0: done. 1:
it ran and the result is negative (a broken URDF, a diverged run). 2: wrong usage. 130: ended by Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from engine import files
from engine.bench.compare.command import add_arguments as add_compare_arguments
from engine.bench.paper.command import add_arguments as add_paper_arguments
from engine.bench.suites.command import add_arguments as add_bench_arguments
from engine.check_command import add_arguments as add_check_arguments
from engine.cuda.runtime.device import NoGpu
from engine.lessons.command import add_arguments as add_lessons_arguments
from engine.model import Model, ModelError, generate
from engine.model.urdf_text import urdf
from engine.repeat_command import add_arguments as add_repeat_arguments
from engine.robot_arguments import (
    DONE,
    INTERRUPTED,
    NO,
    WRONG_CALL,
    CallError,
    add_robot,
    add_sources,
    console,
    load_robot,
    print_message,
    seed,
    warn,
)
from engine.run_command import add_arguments as add_run_arguments
from engine.run_command import run_robot
from engine.selection import capabilities, choice
from engine.simulation import Diverged
from engine.study.command import add_arguments as add_study_arguments
from engine.unpack_command import add_arguments as add_unpack_arguments
from engine.urdf.markup import in_one_line

ROWS = 1000  # joints that `info` shows as a table, at most; more take over a second
Command = Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """A parser that takes "-0.1,0.2" and "-1e-3" as values, not options, in all versions of Python."""

    def __init__(self, *words: Any, **named: Any):
        super().__init__(*words, **named)
        self._negative_number_matcher = re.compile(r"-(\.?\d|inf|nan)", re.IGNORECASE)


def parser() -> tuple[argparse.ArgumentParser, Any]:
    """Return the parser of all headless commands, and its sub-parsers, to which `app` adds its own."""
    root = _Parser(
        prog="catena",
        description="Catena simulates articulated robots. Without a command it opens the window: "
        "catena [ROBOT.urdf | RUN.npz | SESSION.catena]; catena view RUN.npz plays a run there.",
    )
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add_run_arguments(_add(commands, "run", run_robot, "simulate a robot and write its trajectory", robot=True))
    _add(commands, "info", info, "a robot's bodies and joints, and the algorithms that support it", robot=True)
    again = "run a trajectory's file again, and compare every state bit for bit"
    add_repeat_arguments(commands.add_parser("repeat", help=again, description=again))
    plain = "write a run's file as large as what it holds, where it is packed too tightly to be trusted"
    add_unpack_arguments(commands.add_parser("unpack", help=plain, description=plain))
    problems = "all problems of a URDF, each with its line and fix"
    check = commands.add_parser("check", help=problems, description=problems)
    add_check_arguments(check)
    add_sources(check)
    _add_generate(commands)
    benchmark = commands.add_parser("bench", help="forward dynamics timed, beside other libraries that are installed")
    add_bench_arguments(benchmark)
    comparison = commands.add_parser("compare", help="algorithms timed against one another, for robots or over sizes")
    add_compare_arguments(comparison)
    family = "a family of runs by a file: what varies, what is kept; on this machine or on Ray"
    add_study_arguments(commands.add_parser("study", help=family, description=family))
    add_paper_arguments(commands.add_parser("paper", help="the papers' experiments, with pictures and a page in words"))
    add_lessons_arguments(commands.add_parser("lessons", help="the papers' algorithms, taught as pages for a browser"))
    return root, commands


def _add(commands: Any, name: str, function: Command, text: str, robot: bool) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    if robot:
        add_robot(command)
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=function)
    return command


def _add_generate(commands: Any) -> None:
    command = _add(commands, "generate", write_generated, "write the URDF of a random chain or tree", robot=False)
    command.add_argument("kind", choices=("chain", "tree"))
    command.add_argument("links", type=int, help="number of moving links")
    command.add_argument(
        "--straight", action="store_true", help="chain: every joint 0.1 m above the one before, axes parallel"
    )
    command.add_argument(
        "--prismatic", type=float, default=0.0, metavar="SHARE", help="share of prismatic joints, 0 to 1"
    )
    command.add_argument("--spherical", type=float, default=0.0, metavar="SHARE", help="share of ball joints, 0 to 1")
    command.add_argument("--seed", type=seed, default=0)
    command.add_argument("--out", type=Path, metavar="FILE.urdf", help="default: standard output")


def main(argv: list[str], extend: Callable[[Any], None] | None = None) -> int:
    """Run a headless command; `extend` may add more commands to the parser."""
    root, commands = parser()
    if extend is not None:
        extend(commands)
    if argv and not argv[0].startswith("-") and argv[0] not in commands.choices:
        known = f"commands: {', '.join(commands.choices)}; robots: a file, or the name of one that ships, such as arm7"
        root.error(f"{argv[0]!r} is neither a command nor a robot; {known}")
    args = root.parse_args(argv)
    prints_result = getattr(args, "json", False) or (args.command == "generate" and args.out is None)
    if prints_result and getattr(sys.stdout, "name", "") == os.devnull:  # in place of a closed one
        print_message(f"catena {args.command}: standard output, which the result goes to, is closed; leave it open")
        return WRONG_CALL
    try:
        status = int(args.function(args))
        sys.stdout.flush()
        return status
    except (ModelError, Diverged) as error:
        if args.json and isinstance(error, ModelError):
            print(json.dumps({"robot": args.robot, "diagnostics": [asdict(found) for found in error.diagnostics]}))
        print_message(error)
        return NO
    except BrokenPipeError:  # the reader of the pipe, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO
    except (CallError, ValueError, TypeError, OSError, MemoryError, NoGpu) as error:
        said = str(error) or "out of memory"  # Python's MemoryError has no message
        print_message(f"catena {args.command}: {said}")
        return WRONG_CALL
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def info(args: argparse.Namespace) -> int:
    """`info`: the robot's bodies, joints and algorithms."""
    model = load_robot(args)
    warn(model)
    chosen, why = choice.choose(model)
    changes = choice.changes(model)
    facts = {
        "robot": model.name, "source": model.source, "links": len(model.link_names), "moving_bodies": len(model.parent),
        "nq": model.nq, "nv": model.nv, "mass_kg": float(model.mass.sum()),
        "algorithms": list(capabilities.algorithms(model)), "algorithm": chosen, "why": why,
        "refused": {name: reason for reason, names in capabilities.unserved(model).items() for name in names},
        "choice_by_links": [change._asdict() for change in changes], "visuals": len(model.visuals),
        "collisions": len(model.collisions),
        "warnings": [asdict(found) for found in model.diagnostics],
    }  # fmt: skip
    joints = [_joint_facts(model, joint.name) for joint in model.joints]
    if args.json:
        print(json.dumps({**facts, "joints": joints}))
        return DONE
    screen = console(args)
    bodies = f"{facts['links']} links in {facts['moving_bodies']} moving bodies"
    screen.print(in_one_line(model.name), style="bold", end="")
    screen.print(f": {bodies}, {facts['mass_kg']:.4g} kg moving")
    shapes = f"{len(model.visuals)} shapes to draw, {len(model.collisions)} that collide"
    screen.print(f"nq {model.nq}, nv {model.nv}, {shapes}")
    screen.print(why)
    if changes:
        screen.print(f"choice by size, for robots like this one: {choice.describe(changes)}")
    screen.print(f"served by {', '.join(capabilities.algorithms(model))}")
    for reason, names in capabilities.unserved(model).items():
        screen.print(f"not by {', '.join(names)}: {reason}")
    columns = ("type", "q", "v", "position", "velocity", "effort", "damping", "friction")
    table = Table("joint", *columns, box=None, pad_edge=False)
    for joint in joints[:ROWS]:
        table.add_row(*(in_one_line(str(joint[key])) for key in ("name", *columns)))
    screen.print(table)
    if len(joints) > ROWS:
        screen.print(f"and {len(joints) - ROWS} more joints; --json lists them all")
    return DONE


def _joint_facts(model: Model, name: str) -> dict[str, Any]:
    joint = model.joint(name)
    facts: dict[str, Any] = {"name": name, "type": joint.kind}
    facts |= dict.fromkeys(("q", "v", "position", "velocity", "effort", "damping", "friction"), "")
    if joint.leader:
        facts["position"] = f"{joint.multiplier:g} × {joint.leader} {joint.offset:+g}"
        return facts
    facts["q"], facts["v"] = (
        f"{run.start}" if run.stop - run.start == 1 else f"{run.start}–{run.stop - 1}" for run in (joint.q, joint.v)
    )
    first = joint.v.start
    if joint.kind in ("revolute", "prismatic", "continuous"):
        facts["position"] = f"{model.lower[first]:.4g} … {model.upper[first]:.4g}" if model.bounded[first] else "free"
    for key, values in (("velocity", model.velocity_limit), ("effort", model.effort_limit)):
        facts[key] = f"{values[first]:.4g}" if np.isfinite(values[first]) else "∞"
    facts["damping"], facts["friction"] = f"{model.damping[first]:.4g}", f"{model.friction[first]:.4g}"
    return facts


def write_generated(args: argparse.Namespace) -> int:
    """`generate`: a chain or tree as URDF."""
    shares = (args.prismatic, args.spherical)
    if args.links < 1 or not (min(shares) >= 0 and sum(shares) <= 1):  # false for NaN
        raise CallError(
            f"got {args.links} links, a prismatic share of {args.prismatic:g} and a spherical one of "
            f"{args.spherical:g}; expected 1 or more, and shares of 0 to 1 together"
        )
    if args.kind == "chain":
        model = generate.chain(args.links, args.seed, args.straight, *shares)
    else:
        model = generate.tree(args.links, args.seed, prismatic=args.prismatic, spherical=args.spherical)
    text = urdf(model)
    if args.out is not None:
        with files.replacing(args.out, "w") as file:
            file.write(text)
    if args.json:
        print(json.dumps({"robot": model.name, "links": args.links, "file": str(args.out) if args.out else None}))
    elif args.out is None:
        print(text)
    return DONE
