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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any

from engine.cuda.runtime.device import NoGpu
from engine.model import ModelError
from engine.robot_arguments import INTERRUPTED, NO, WRONG_CALL, CallError, print_message, without_xacro_args
from engine.simulation import Diverged

Table = Mapping[str, tuple[str, str]]
COMMANDS: Table = {
    "run": ("simulate a robot and write its trajectory", "engine.run_command"),
    "info": ("a robot's bodies and joints, and the algorithms that support it", "engine.info_command"),
    "repeat": ("run a trajectory's file again, and compare every state bit for bit", "engine.repeat_command"),
    "unpack": (
        "write a readable copy of a run's file that is compressed more than is safe to read", "engine.unpack_command",
    ),
    "check": ("all problems of a URDF, each with its line and fix", "engine.check_command"),
    "generate": ("write the URDF of a random chain or tree", "engine.generate_command"),
    "bench": ("forward dynamics timed, beside other libraries that are installed", "engine.bench.suites.command"),
    "compare": (
        "algorithms timed against one another, for robots or over sizes", "engine.bench.compare.command",
    ),
    "study": (
        "a family of runs by a file: what varies, what is kept; on this machine or on Ray", "engine.study.command",
    ),
    "paper": ("the papers' experiments, with pictures and a page in words", "engine.bench.paper.command"),
    "lessons": ("the papers' algorithms, taught as pages for a browser", "engine.lessons.command"),
}  # fmt: skip
"""The help of each command, and the module whose `add_arguments` completes its parser; imported when it is called."""

_NUMBER = re.compile(r"(\.?\d|inf|nan)")


class _Parser(argparse.ArgumentParser):
    """A parser that takes "-0.1,0.2" and "-1e-3" as values, not options, in all versions of Python."""

    def __init__(self, *words: Any, **named: Any):
        super().__init__(*words, **named)
        self._negative_number_matcher = re.compile(rf"-{_NUMBER.pattern}", re.IGNORECASE)


def parser(table: Table, words: Collection[str]) -> tuple[argparse.ArgumentParser, Any]:
    """Return the parser of a table's commands, and its sub-parsers; those named in `words` have their arguments."""
    root = _Parser(
        prog="catena",
        description="Catena simulates articulated robots. Without a command it opens the window: "
        "catena [ROBOT.urdf | RUN.npz | SESSION.catena]; catena view RUN.npz plays a run there.",
    )
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (text, module) in table.items():
        command = commands.add_parser(name, help=text, description=text)
        if name in words:
            import_module(module).add_arguments(command)
    return root, commands


def main(argv: list[str], table: Table = COMMANDS, windowed: Sequence[str] = ()) -> int:
    """Run a headless command of a table; `windowed` names the commands of the window."""
    root, commands = parser(table, argv)
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
