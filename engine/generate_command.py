"""The command `generate`: the URDF of a random chain or tree."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from engine import files
from engine.model import generate
from engine.model.urdf_text import urdf
from engine.robot_arguments import DONE, CallError, seed


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `generate`."""
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
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=write_generated)


def write_generated(args: argparse.Namespace) -> int:
    """`generate`: a chain or tree as URDF."""
    shares = (args.prismatic, args.spherical)
    if args.links < 1:
        raise CallError(f"got {args.links} links; expected 1 or more")
    if not (min(shares) >= 0 and sum(shares) <= 1):  # false for NaN
        raise CallError(
            f"got a prismatic share of {args.prismatic:g} and a spherical one of {args.spherical:g}; expected 0 to 1 "
            "for each and for both together"
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
