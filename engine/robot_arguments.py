"""Common parts of headless commands on a robot: arguments that name it, loading, and output."""

from __future__ import annotations

import argparse
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from engine import files
from engine.model import Model, ModelError
from engine.model.composition import Part, compose
from engine.text import in_one_line
from engine.urdf.load import load
from engine.urdf.topology import OWN_BASE
from engine.validation import Array

DONE, NO, WRONG_CALL = 0, 1, 2
INTERRUPTED = 130
"""The exit status after Ctrl-C, as in shells."""


class CallError(Exception):
    """A command that cannot be carried out; its message is shown unchanged."""


_XACRO_ARGUMENT = re.compile(r"([A-Za-z_]\w*):=(.*)", re.DOTALL)


def without_xacro_args(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return a command's words, and the arguments of xacro files among them, ``NAME:=VALUE`` as xacro takes them."""
    matches = [_XACRO_ARGUMENT.fullmatch(word) for word in words]
    rest = [word for word, match in zip(words, matches, strict=True) if match is None]
    return rest, {match[1]: match[2] for match in matches if match is not None}


def add_robot(command: argparse.ArgumentParser) -> None:
    """Add the arguments that name a robot and say how to load it."""
    what = "a URDF file, a xacro file with its arguments NAME:=VALUE, or the name of a robot that ships, such as arm7"
    command.add_argument("robot", help=what)
    add_sources(command)
    command.add_argument("--floating", action="store_true", help="put the root link on a free joint")
    command.add_argument("--no-mimic", action="store_true", help="let joints that mimic others move freely")


def add_sources(command: argparse.ArgumentParser) -> None:
    """Add the arguments that say what a robot's file may read and run."""
    command.add_argument(
        "--package-dir", action="append", default=[], metavar="DIR", help="where package:// is looked for"
    )
    command.add_argument("--trust-xacro", action="store_true", help="let xacro files run any Python, as xacro does")
    command.set_defaults(xacro_args={})


def add_parts(command: argparse.ArgumentParser) -> None:
    """Add the arguments that put more robots and bodies beside the robot."""
    for word, base in (("--add", "a fixed base, or the free one of its file,"), ("--add-free", "a free base")):
        command.add_argument(
            word, nargs=4, action="append", default=[], metavar=("FILE", "X", "Y", "Z"),
            help=f"another robot or body on {base} at that place, m; may be given again",
        )  # fmt: skip


def load_robot(args: argparse.Namespace, srdf: Path | None = None) -> Model:
    """Return the robot named by the arguments of `add_robot`, with an SRDF. Raises FileNotFoundError or ModelError."""
    path = files.find_robot(args.robot)
    return _load(args, path, args.floating, "leave out --floating", srdf, args.xacro_args)


def _load(
    args: argparse.Namespace,
    path: Path,
    free: bool,
    instead: str,
    srdf: Path | None = None,
    xacro_args: dict[str, str] | None = None,
) -> Model:
    """Return a robot, its root link on a free joint if `free`; `instead` is what to do if its file has one there."""
    try:
        return load(path, args.package_dir, free, not args.no_mimic, args.trust_xacro, srdf, xacro_args)
    except ModelError as error:
        if any(each.fix == OWN_BASE for each in error.diagnostics):
            raise CallError(f"{path.name} has a free base already; {instead}") from None
        raise


def load_parts(args: argparse.Namespace, model: Model) -> Model:
    """Return the robot with the parts of `add_parts` beside it. Raises CallError, for an invalid position too."""
    named = [(word, free) for free, words in ((False, args.add), (True, args.add_free)) for word in words]
    if not named:
        return model
    parts = [Part(model)]
    for (name, *place), free in named:
        try:
            where = np.array(list(map(float, place)))
        except ValueError:
            raise CallError(f"{name} is to be put at {' '.join(place)}; expected x, y and z in m") from None
        robot = _load(args, files.find_robot(name), free, f"write --add {name} in place of --add-free {name}")
        count = sum(part.model.name == robot.name for part in parts)
        parts.append(Part(robot, where, f"{robot.name}{count + 1 if count else ''}/"))
    return compose(*parts)


def numbers(name: str, text: str, width: int) -> Array:
    """Return the `width` numbers of option `name`, of which one stands for all. Raises CallError."""
    try:
        values = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise CallError(f"--{name} is {text!r}; expected {width} numbers with commas between") from None
    if values.size == 1:
        values = np.repeat(values, width)
    if values.shape != (width,):
        raise CallError(f"--{name} has {values.size} numbers; this robot takes {width}")
    return values


def count(text: str) -> int:
    """Parse an integer of 1 or more, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of 1 or more")
    return int(text)


def seed(text: str) -> int:
    """Parse an integer of 0 or more, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of 0 or more")
    return int(text)


def positive(text: str) -> float:
    """Parse a positive number, for argparse."""
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def printable(text: str) -> str:
    """Return a text of several lines without control characters, since parts of it come from files."""
    return "\n".join(map(in_one_line, text.split("\n")))


class _Screen(Console):
    """A console that shows texts literally, including marks of writing direction and terminal escapes."""

    def render_str(self, text: str, **how: Any) -> Text:
        """Return the text as tables and lines show it."""
        return super().render_str(printable(text), **how)


def console(args: argparse.Namespace) -> Console:
    """Return the console for people: standard error if standard output has JSON."""
    return _Screen(stderr=args.json, highlight=False, soft_wrap=True, markup=False, emoji=False)


def warn(model: Model) -> None:
    """Print the diagnoses of a robot's file."""
    for diagnostic in model.diagnostics:
        print_message(diagnostic)


def print_message(message: object) -> None:
    """Print a message for people on standard error."""
    print(printable(str(message)), file=sys.stderr)
