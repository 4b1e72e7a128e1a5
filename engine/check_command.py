"""The command `check`: all that is wrong with robots' files, and a repaired copy."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine import files
from engine.model import Diagnostic
from engine.urdf.load import check
from engine.urdf.markup import in_one_line
from engine.urdf.repair import repair


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What `check` takes beside the places where packages are looked for."""
    command.add_argument("robot", nargs="+", help="URDF or xacro files")
    command.add_argument("--fix", type=Path, metavar="OUT", help="write a repaired copy of the one file")
    command.add_argument("--overwrite", action="store_true", help="let --fix replace a file that is there")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=check_files)


def check_files(args: argparse.Namespace) -> int:
    """Report every fault of every file; 1 where one has errors, in its repaired copy if that was asked for."""
    if args.fix is not None and len(args.robot) != 1:
        raise ValueError(f"--fix repairs one file, not {len(args.robot)}; call it once for each")
    broken = False
    reports: dict[str, Any] = {}
    for name in args.robot:
        path = Path(name)
        with suppress(FileNotFoundError):  # a file that is not there is a finding like any other
            path = files.find_robot(name)
        found = check(path, args.package_dir, args.trust_xacro)
        reports[name] = [asdict(entry) for entry in found]
        if not args.json:
            _print(name, found)
        if args.fix is not None:
            count, found = repair(path, args.fix, args.package_dir, args.overwrite)
            reports[str(args.fix)] = [asdict(entry) for entry in found]
            if not args.json:
                print(f"{count} repair{'s' * (count != 1)} written to")
                _print(str(args.fix), found)
        broken |= any(entry.severity == "error" for entry in found)
    if args.json:
        print(json.dumps(reports))
    return int(broken)


def _print(name: str, found: list[Diagnostic]) -> None:
    errors = sum(entry.severity == "error" for entry in found)
    rest = len(found) - errors
    print(f"{in_one_line(name)}: {errors} error{'s' * (errors != 1)}, {rest} warning{'s' * (rest != 1)}")
    for entry in found:
        print(f"  {entry}")
