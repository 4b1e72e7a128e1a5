"""The command `check`: all problems of robots' files and collision meshes, and a repaired copy."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from engine import files
from engine.model import FREE, WORLD, Diagnostic, Model
from engine.robot_arguments import add_sources
from engine.scene.cached_hulls import hulls
from engine.text import in_one_line
from engine.urdf.load import examine, read_beside
from engine.urdf.repair import repair


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `check`."""
    command.add_argument("robot", nargs="+", help="URDF or xacro files")
    command.add_argument("--fix", type=Path, metavar="OUT", help="write a repaired copy of the one file")
    command.add_argument("--overwrite", action="store_true", help="let --fix replace a file that is there")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=check_files)
    add_sources(command)


def check_files(args: argparse.Namespace) -> int:
    """Report all problems of every file. Returns 1 where one has errors, in its repaired copy if that was requested."""
    if args.fix is not None and len(args.robot) != 1:
        raise ValueError(f"--fix repairs one file, not {len(args.robot)}; call it once for each")
    broken = False
    reports: dict[str, Any] = {}
    for name in args.robot:
        path = Path(name)
        with suppress(FileNotFoundError):  # a missing file is a finding too
            path = files.find_robot(name)
        diagnostics = _diagnostics(path, args)
        reports[name] = [asdict(entry) for entry in diagnostics]
        if not args.json:
            _print(name, diagnostics)
        if args.fix is not None:
            count, _ = repair(path, args.fix, args.package_dir, args.overwrite)
            diagnostics = _diagnostics(args.fix, args)
            reports[str(args.fix)] = [asdict(entry) for entry in diagnostics]
            if not args.json:
                print(f"{count} repair{'s' * (count != 1)} written to")
                _print(str(args.fix), diagnostics)
        broken |= any(entry.severity == "error" for entry in diagnostics)
    if args.json:
        print(json.dumps(reports))
    return int(broken)


def _diagnostics(path: Path, args: argparse.Namespace) -> list[Diagnostic]:
    """Return all problems of a robot's file and its collision meshes, and one warning of those of its SRDF."""
    model, diagnostics = examine(path, args.package_dir, trust_xacro=args.trust_xacro, xacro_args=args.xacro_args)
    if model is None:
        return diagnostics
    sound = all(entry.severity != "error" for entry in diagnostics)
    beside = read_beside(path, model, args.package_dir)[2] if sound else []
    return diagnostics + beside + _of_meshes(model)


def _of_meshes(model: Model) -> list[Diagnostic]:
    """Return the problems of collision meshes: errors if the robot stands on them, since `run` refuses it."""
    meshes: dict[str, list[int]] = {}
    for shape in model.collisions:
        if shape.mesh is not None and Path(shape.mesh).is_absolute():  # else it is reported as missing
            meshes.setdefault(shape.mesh, []).append(shape.link)
    diagnostics = []
    for mesh, links in meshes.items():
        try:
            hulls(mesh)
        except ValueError as problem:
            stands = bool(np.any(model.kind == FREE)) and any(model.link_body[link] != WORLD for link in links)
            fix = "fix the file, or give the link another shape in <collision>"
            parts = f"link {model.link_names[links[0]]!r}", str(problem), fix
            diagnostics.append(Diagnostic("error" if stands else "warning", None, *parts))
    return diagnostics


def _print(name: str, diagnostics: list[Diagnostic]) -> None:
    errors = sum(entry.severity == "error" for entry in diagnostics)
    rest = len(diagnostics) - errors
    print(f"{in_one_line(name)}: {errors} error{'s' * (errors != 1)}, {rest} warning{'s' * (rest != 1)}")
    for entry in diagnostics:
        print(f"  {entry}")
