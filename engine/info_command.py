"""The command `info`: a robot's bodies and joints, and the algorithms that support it."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.table import Table

from engine.model import Model
from engine.robot_arguments import DONE, add_robot, console, load_robot, warn
from engine.selection import capabilities, choice
from engine.text import in_one_line

ROWS = 1000  # joints that `info` shows as a table, at most; more take over a second


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `info`."""
    add_robot(command)
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=info)


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
        "refused": {name: reason for reason, names in capabilities.reasons_against(model).items() for name in names},
        "choice_by_links": [change._asdict() for change in changes], "visuals": len(model.visuals),
        "collisions": len(model.collisions),
        "warnings": [asdict(entry) for entry in model.diagnostics],
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
    for reason, names in capabilities.reasons_against(model).items():
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
