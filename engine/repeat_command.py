"""The command `repeat`: recomputes the file of a run and compares every state, bit for bit."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from engine import __version__, files
from engine.model import Model
from engine.recording.files import SavedRun, read_run
from engine.recording.repeating import repeat
from engine.recording.robot_text import robot_of_text
from engine.robot_arguments import DONE, NO, CallError, console, print_message
from engine.urdf.load import load


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `repeat`."""
    command.add_argument("run", type=Path, metavar="RUN.npz", help="a file of `run --out`, or of the window")
    command.add_argument("--robot", metavar="FILE", help="the robot's file, where it has moved")
    command.add_argument("--trust-xacro", action="store_true", help="let xacro files run any Python, as xacro does")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=repeat_run, xacro_args={})


def repeat_run(args: argparse.Namespace) -> int:
    """Run it again and compare every state. Returns 1 where a bit differs."""
    saved = read_run(args.run)
    settings = saved.settings
    package_dirs, srdf = settings.get("package_dir"), settings.get("srdf")
    folders = [folder for folder in package_dirs if isinstance(folder, str)] if isinstance(package_dirs, list) else []

    def read(file: str | Path, **options: Any) -> Model:
        reported = settings.get("xacro_args")
        saved_options = {"floating": bool(settings.get("floating")), "mimic": not settings.get("no_mimic")} | (
            {
                "package_dirs": folders,
                "srdf": srdf if isinstance(srdf, str) else None,
                "xacro_args": args.xacro_args or (reported if isinstance(reported, dict) else {}),
            }
        )
        return load(file, trust_xacro=args.trust_xacro, **(options or saved_options))

    if isinstance(srdf, str):
        files.refuse_endless(srdf)
    model = None if args.robot else robot_of_text(saved, read)
    model = model or read(_robot(args, saved))
    result = repeat(saved, model)
    written = str(settings.get("catena", "an unknown version"))
    same = result.differs is None
    if args.json:
        print(json.dumps({
            "run": str(args.run), "robot": model.name, "same": same, "samples": result.samples, "steps": result.steps,
            "first_difference_s": result.differs, "difference": result.farthest, "device": result.setup.device,
            "not_compared": result.placed, "written_by": written, "catena": __version__,
        }))  # fmt: skip
        return DONE if same else NO
    if same:
        beside = f"; no steps lead to {result.placed} more, set by hand or taken from a file" if result.placed else ""
        states = result.samples - result.placed
        console(args).print(f"{args.run.name}: {states} states after {result.steps} steps, the same to the bit{beside}")
        return DONE
    by = "" if written == __version__ else f"; it was written by Catena {written}, and this is {__version__}"
    print_message(
        f"{args.run.name}: the state at {result.differs:g} s differs by {result.farthest:.3g}; perhaps the "
        f"robot's file, the processor, its threads or the GPU is another than it was{by}"
    )
    return NO


def _robot(args: argparse.Namespace, saved: SavedRun) -> Path:
    """Return the file of the run's robot."""
    named = args.robot or saved.settings.get("robot")
    if not isinstance(named, str) or not named:
        raise CallError(f"{args.run.name} names no robot; give --robot FILE")
    try:
        files.refuse_endless(named)
        return files.find_robot(named)
    except FileNotFoundError:
        raise CallError(f"the robot of {args.run.name} is not at {named}; give --robot FILE") from None
