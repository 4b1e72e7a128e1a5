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
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from engine.bench.compare.command import add_arguments as add_compare_arguments
from engine.bench.paper.command import add_arguments as add_paper_arguments
from engine.bench.suites.command import add_arguments as add_bench_arguments
from engine.check_command import add_arguments as add_check_arguments
from engine.cuda.runtime.device import NoGpu
from engine.generate_command import add_arguments as add_generate_arguments
from engine.generate_command import write_generated
from engine.info_command import info
from engine.lessons.command import add_arguments as add_lessons_arguments
from engine.model import ModelError
from engine.repeat_command import add_arguments as add_repeat_arguments
from engine.robot_arguments import (
    INTERRUPTED,
    NO,
    WRONG_CALL,
    CallError,
    add_robot,
    add_sources,
    print_message,
    without_xacro_args,
)
from engine.run_command import add_arguments as add_run_arguments
from engine.run_command import run_robot
from engine.simulation import Diverged
from engine.study.command import add_arguments as add_study_arguments
from engine.unpack_command import add_arguments as add_unpack_arguments

Command = Callable[[argparse.Namespace], int]


_NUMBER = re.compile(r"(\.?\d|inf|nan)")


class _Parser(argparse.ArgumentParser):
    """A parser that takes "-0.1,0.2" and "-1e-3" as values, not options, in all versions of Python."""

    def __init__(self, *words: Any, **named: Any):
        super().__init__(*words, **named)
        self._negative_number_matcher = re.compile(rf"-{_NUMBER.pattern}", re.IGNORECASE)


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
    plain = "write a readable copy of a run's file that is compressed more than is safe to read"
    add_unpack_arguments(commands.add_parser("unpack", help=plain, description=plain))
    problems = "all problems of a URDF, each with its line and fix"
    check = commands.add_parser("check", help=problems, description=problems)
    add_check_arguments(check)
    add_sources(check)
    written = "write the URDF of a random chain or tree"
    add_generate_arguments(_add(commands, "generate", write_generated, written, robot=False))
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


def main(argv: list[str], extend: Callable[[Any], None] | None = None, windowed: Sequence[str] = ()) -> int:
    """Run a headless command; `extend` may add more commands to the parser, `windowed` names those of the window."""
    root, commands = parser()
    if extend is not None:
        extend(commands)
    if windowed:
        root.epilog = f"In the window: {', '.join(windowed)}; each has --help."
    if argv and not argv[0].startswith("-") and argv[0] not in commands.choices:
        names = ", ".join([*commands.choices, *windowed])
        known = f"commands: {names}; robots: a file, or the name of one that ships, such as arm7"
        root.error(f"{argv[0]!r} is neither a command nor a robot; {known}")
    argv, xacro_args = without_xacro_args(argv)
    args, unknown = root.parse_known_args(argv)
    if unknown:
        commas = (
            "; numbers after --q have commas between" if "--q" in argv and _NUMBER.match(unknown[0].lstrip("-")) else ""
        )
        commands.choices[args.command].error(f"unrecognized arguments: {' '.join(unknown)}{commas}")
    if xacro_args and "xacro_args" not in args:
        root.error(f"{next(iter(xacro_args))}:= is an argument of a xacro file; {args.command} loads none")
    if xacro_args:
        args.xacro_args = xacro_args
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
            print(json.dumps({"robot": args.robot, "diagnostics": [asdict(entry) for entry in error.diagnostics]}))
        print_message(error)
        return NO
    except BrokenPipeError:  # the reader of the pipe, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO
    except (CallError, ValueError, TypeError, OSError, MemoryError, NoGpu) as error:
        wording = str(error) or "out of memory"  # Python's MemoryError has no message
        print_message(f"catena {args.command}: {wording}")
        return WRONG_CALL
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
