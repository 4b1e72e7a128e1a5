"""The command `main.py lessons`: write a robot's lessons as pages."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from engine.lessons import pages
from engine.lessons.lesson import Lesson
from engine.robot_arguments import DONE, NO, add_sources, console, load_robot, seed

DEFAULT = "lessons"
ROBOT = "arm7"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `lessons`."""
    parser.add_argument(
        "--out", type=Path, default=Path(DEFAULT), metavar="FOLDER", help=f"where the pages go (default {DEFAULT})"
    )
    what = "a URDF or xacro file, or the name of a robot that ships"
    parser.add_argument("--robot", default=ROBOT, metavar="FILE", help=f"{what} (default {ROBOT})")
    parser.add_argument("--seed", type=seed, default=0, help="of the state that the lessons show (default 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    add_sources(parser)
    parser.set_defaults(function=run, floating=False, no_mimic=False)


def run(args: argparse.Namespace) -> int:
    """Run `lessons`: write the pages of all lessons that support the robot."""
    model, rng = load_robot(args), np.random.default_rng(args.seed)
    state = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    refusals = pages.write(args.out, model, state)
    written = [name for name in Lesson.names() if name not in refusals]
    if args.json:
        facts = {"robot": model.name, "folder": str(args.out), "lessons": written, "refused": refusals}
        print(json.dumps(facts))
    else:
        screen = console(args)
        screen.print(f"{len(written)} lessons are in {args.out / pages.INDEX}")
        for reason in refusals.values():
            screen.print(reason)
    return DONE if written else NO
