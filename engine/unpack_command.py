"""The command `unpack`: writes the file of a run uncompressed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from engine import array_files
from engine.recording.files import MAX_BYTES
from engine.robot_arguments import DONE, CallError
from engine.text import in_one_line


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `unpack`."""
    command.add_argument("run", type=Path, metavar="RUN.npz", help="a run that is compressed more than is safe to read")
    command.add_argument("out", type=Path, metavar="NEW.npz", help="the larger copy, which can be read")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=unpack)


def unpack(args: argparse.Namespace) -> int:
    """Write the file of a run uncompressed."""
    if args.out.suffix.lower() != ".npz":
        raise CallError(f"NEW.npz is {str(args.out)!r}; end the name with .npz")
    array_files.unpack(args.run, args.out, MAX_BYTES)
    if args.json:
        print(json.dumps({"run": str(args.run), "file": str(args.out)}))
    else:
        print(f"uncompressed run written to {in_one_line(str(args.out))}, {args.out.stat().st_size / 1e6:.1f} MB")
    return DONE
