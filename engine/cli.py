"""The headless commands: `main.py run | info | check | bench | compare | generate …`.

With ``--json`` a command prints one object on standard output; everything else goes to standard error.
Exit 0: done. 1: it ran and the answer is no (a broken URDF, a diverged run). 2: the call was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from engine import __version__, files
from engine.bench.compare.command import add_arguments as add_compare_arguments
from engine.bench.paper.command import add_arguments as add_paper_arguments
from engine.bench.suites.command import add_arguments as add_bench_arguments
from engine.bench.suites.command import positive
from engine.check_command import add_arguments as add_check_arguments
from engine.compilation import Compilation
from engine.cuda.runtime.device import NoGpu
from engine.model import EARTH, Model, ModelError, generate
from engine.rollout import Recorder, save
from engine.selection import capabilities, choice
from engine.simulation import ALGORITHMS, INTEGRATORS, Diverged, Simulation
from engine.timestep import LONGEST, suggested_step
from engine.urdf.load import load
from engine.validation import Array

DONE, NO, WRONG_CALL = 0, 1, 2
ROWS = 1000  # of the joints that `info` shows as a table, which takes a second for so many
Command = Callable[[argparse.Namespace], int]


class CallError(Exception):
    """A call that cannot be carried out; its message is shown as it is."""


def parser() -> tuple[argparse.ArgumentParser, Any]:
    """The parser of all headless commands, and its sub-parsers, to which the window's rooms add theirs."""
    root = argparse.ArgumentParser(
        prog="catena",
        description="Catena simulates articulated robots. Without a command it opens the window: catena [ROBOT.urdf].",
    )
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_run(commands)
    _add(commands, "info", info, "what a robot is made of, and which algorithms serve it", robot=True)
    faults = "all that is wrong with a URDF, each fault with its line and cure"
    check = commands.add_parser("check", help=faults, description=faults)
    add_check_arguments(check)
    add_sources(check)
    _add_generate(commands)
    benchmark = commands.add_parser("bench", help="forward dynamics timed, beside other libraries that are installed")
    add_bench_arguments(benchmark)
    comparison = commands.add_parser("compare", help="algorithms timed against one another, for robots or over sizes")
    add_compare_arguments(comparison)
    add_paper_arguments(commands.add_parser("paper", help="the papers' experiments, with pictures and a page in words"))
    return root, commands


def _add(commands: Any, name: str, function: Command, text: str, robot: bool) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    if robot:
        add_robot(command)
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=function)
    return command


def add_robot(command: argparse.ArgumentParser) -> None:
    """The arguments that name a robot and say how to load it."""
    command.add_argument("robot", help="a URDF or xacro file, or the name of a robot that ships, such as arm7")
    add_sources(command)
    command.add_argument("--floating", action="store_true", help="put the root link on a free joint")
    command.add_argument("--no-mimic", action="store_true", help="let joints that mimic others move freely")


def add_sources(command: argparse.ArgumentParser) -> None:
    """The arguments that say what a robot's file may read, and run."""
    command.add_argument(
        "--package-dir", action="append", default=[], metavar="DIR", help="where package:// is looked for"
    )
    command.add_argument("--trust-xacro", action="store_true", help="let xacro files run any Python, as xacro does")


def load_robot(args: argparse.Namespace) -> Model:
    """The robot that the arguments of `add_robot` name. Raises FileNotFoundError or ModelError."""
    path = files.find_robot(args.robot)
    return load(path, args.package_dir, args.floating, not args.no_mimic, args.trust_xacro)


def _add_run(commands: Any) -> None:
    run = _add(commands, "run", run_robot, "simulate a robot and write its trajectory", robot=True)
    run.add_argument("--seconds", type=positive, default=10.0, help="time to simulate (default 10)")
    run.add_argument(
        "--dt",
        type=positive,
        help="time step in s (default: one that suits the robot, at most 0.001; with --controls 0.001)",
    )
    run.add_argument("--integrator", choices=("auto", *INTEGRATORS), default="auto", help="default: one that suits it")
    run.add_argument("--algorithm", choices=("auto", *ALGORITHMS["cpu"]), default="auto")
    run.add_argument("--batch", type=_count, default=1, help="so many robots, each with its own --q random (default 1)")
    run.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="cpu", help="default: the CPU; auto: the faster"
    )
    run.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="float32 is for the GPU")
    run.add_argument("--q", default="neutral", help="start: neutral, random, or numbers q1,q2,… (default neutral)")
    run.add_argument("--v", default="0", help="start velocities: one number for all, or v1,v2,… (default 0)")
    run.add_argument("--controls", type=Path, metavar="FILE.npy", help="generalized forces (nv,) or (steps, nv)")
    run.add_argument(
        "--gravity", type=float, nargs=3, default=EARTH, metavar=("X", "Y", "Z"), help="m/s² (default 0 0 -9.81)"
    )
    run.add_argument("--no-limits", action="store_true", help="ignore position and velocity limits")
    run.add_argument("--every", type=_count, default=1, metavar="N", help="keep every N-th state (default 1)")
    run.add_argument("--seed", type=_seed, default=0, help="for --q random (default 0)")
    run.add_argument("--out", type=Path, metavar="FILE.npz", help="where the trajectory goes (default: nowhere)")


def _add_generate(commands: Any) -> None:
    command = _add(commands, "generate", write_generated, "write the URDF of a random chain or tree", robot=False)
    command.add_argument("kind", choices=("chain", "tree"))
    command.add_argument("links", type=int, help="number of moving links")
    command.add_argument(
        "--straight", action="store_true", help="chain: every joint 0.1 m above the one before, axes parallel"
    )
    command.add_argument(
        "--prismatic", type=float, default=0.0, metavar="SHARE", help="share of prismatic joints, 0 to 1"
    )
    command.add_argument("--spherical", type=float, default=0.0, metavar="SHARE", help="share of ball joints, 0 to 1")
    command.add_argument("--seed", type=_seed, default=0)
    command.add_argument("--out", type=Path, metavar="FILE.urdf", help="default: standard output")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of 1 or more")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of 0 or more")
    return int(text)


def main(argv: list[str], extend: Callable[[Any], None] | None = None) -> int:
    """Carry out a headless command; `extend` may add more commands to the parser."""
    root, commands = parser()
    if extend is not None:
        extend(commands)
    if argv and not argv[0].startswith("-") and argv[0] not in commands.choices:
        known = f"commands: {', '.join(commands.choices)}; robots: a file, or the name of one that ships, such as arm7"
        root.error(f"{argv[0]!r} is neither a command nor a robot; {known}")
    args = root.parse_args(argv)
    try:
        status = int(args.function(args))
        sys.stdout.flush()
        return status
    except (ModelError, Diverged) as error:
        if args.json and isinstance(error, ModelError):
            print(json.dumps({"robot": args.robot, "diagnostics": [asdict(found) for found in error.diagnostics]}))
        print(error, file=sys.stderr)
        return NO
    except BrokenPipeError:  # whoever reads, such as head, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO
    except (CallError, ValueError, TypeError, OSError, MemoryError, NoGpu) as error:
        print(f"catena {args.command}: {error}", file=sys.stderr)
        return WRONG_CALL
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return NO


def _console(args: argparse.Namespace) -> Console:
    return Console(stderr=args.json, highlight=False, soft_wrap=True)


def _warn(model: Model) -> None:
    for found in model.diagnostics:
        print(found, file=sys.stderr)


def _numbers(name: str, text: str, width: int) -> Array:
    try:
        values = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise CallError(f"--{name} is {text!r}; expected {width} numbers with commas between") from None
    if values.size == 1:
        values = np.repeat(values, width)
    if values.shape != (width,):
        raise CallError(f"--{name} has {values.size} numbers; this robot takes {width}")
    return values


def _start(args: argparse.Namespace, model: Model) -> tuple[Array, Array]:
    q: Array
    if args.q == "neutral":
        q = model.neutral()[None]
    elif args.q == "random":
        q = model.random(np.random.default_rng(args.seed), args.batch)
    else:
        q = _numbers("q", args.q, model.nq)[None]
    return q, _numbers("v", args.v, model.nv)


def _controls(args: argparse.Namespace, model: Model, steps: int) -> Array | None:
    if args.controls is None:
        return None
    try:
        controls = np.load(args.controls, allow_pickle=False)
    except ValueError:
        raise CallError(f"{args.controls} is no .npy file of numbers; write one with numpy.save") from None
    if controls.shape not in ((model.nv,), (steps, model.nv)):
        raise CallError(
            f"{args.controls} holds an array of shape {controls.shape}; expected ({model.nv},) or ({steps}, {model.nv})"
        )
    if not np.all(np.isfinite(controls)):
        raise CallError(f"{args.controls} holds a number that is not finite; every control must be finite")
    return np.ascontiguousarray(np.broadcast_to(controls, (1, steps, model.nv)), float)


def run_robot(args: argparse.Namespace) -> int:
    """`run`: simulate, report the speed, the energy's drift and where the time went, write the trajectory."""
    began = perf_counter()
    model = load_robot(args).with_gravity(args.gravity)
    _warn(model)
    step = suggested_step(model)
    args.dt = args.dt or (step.dt if args.controls is None else LONGEST)
    args.integrator = step.integrator if args.integrator == "auto" else args.integrator
    every = args.every
    steps = round(args.seconds / args.dt / every) * every
    if args.out is not None and not args.out.parent.is_dir():
        raise CallError(f"--out is in {str(args.out.parent)!r}, which is no folder; make it first")
    if steps < 1:
        raise CallError(f"--seconds {args.seconds:g}, --dt {args.dt:g} and --every {every} leave no step to keep")
    q, v = _start(args, model)
    controls = _controls(args, model, steps)
    loaded = perf_counter()
    simulation = Simulation(
        model, args.batch, args.dt, args.integrator, args.algorithm, not args.no_limits, q, v,
        device=args.device, dtype=args.dtype,
    )  # fmt: skip
    compilation = Compilation(simulation)
    if compilation.needed and sys.stderr.isatty():
        print(f"compiling once for this machine, about {max(1, round(compilation.seconds))} s", file=sys.stderr)
    compilation.here()
    compiled = perf_counter()
    recorder = Recorder(simulation, steps, every, controls, keep=args.out is not None)
    energies = [_total_energy(simulation)]
    failure, start = "", perf_counter()
    try:
        _run_with_progress(recorder, steps, _console(args))
    except (Diverged, KeyboardInterrupt) as error:
        failure = str(error) or "interrupted"
    wall = perf_counter() - start
    energies.append(_total_energy(simulation))
    if args.out is not None:
        with _undisturbed():
            save(args.out, model, recorder.trajectory(), _settings(args, simulation), controls)
    result = {
        "robot": model.name,
        "algorithm": simulation.algorithm,
        "why": simulation.why,
        "integrator": args.integrator,
        "dt": args.dt,
        "steps": simulation.steps,
        "simulated_seconds": simulation.time,
        "wall_seconds": wall,
        "simulated_per_wall_second": simulation.time / wall,
        "batch": args.batch,
        "device": simulation.device,
        "dtype": simulation.dtype,
        "robot_steps_per_second": args.batch * simulation.steps / wall,
        "energy_start_J": energies[0],
        "energy_end_J": energies[1],
        "energy_drift_J": energies[1] - energies[0],
        "seconds": {
            "load": loaded - began,
            "compile": compiled - loaded,
            "simulate": wall,
            "write": perf_counter() - start - wall,
        },
        "phases_us": {name: seconds * 1e6 for name, seconds in recorder.phases().items()},
        "trajectory": str(args.out) if args.out else None,
        "failure": failure or None,
    }
    _report_run(args, result)
    if failure:
        print(failure, file=sys.stderr)
    return NO if failure else DONE


def _run_with_progress(recorder: Recorder, steps: int, console: Console) -> None:
    """Run it all, with a progress bar where there is a terminal."""
    if not console.is_terminal:
        recorder.run(lambda _: None)
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("simulating", total=steps)
        recorder.run(lambda done: progress.update(task, completed=done))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits until this is done: what was simulated is written first."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _settings(args: argparse.Namespace, simulation: Simulation) -> dict[str, Any]:
    """All it takes to run it again, as JSON knows it."""
    settings = {key: value for key, value in vars(args).items() if key not in ("function", "command", "json", "out")}
    return settings | {
        "robot": str(files.find_robot(args.robot).resolve()),
        "package_dir": [str(Path(folder).resolve()) for folder in args.package_dir],
        "controls": str(args.controls.resolve()) if args.controls else None,
        "algorithm": simulation.algorithm,
        "catena": __version__,
    }


def _total_energy(simulation: Simulation) -> float:
    kinetic, potential = simulation.energy()
    return float(np.sum(kinetic + potential))


def _report_run(args: argparse.Namespace, result: dict[str, Any]) -> None:
    if args.json:
        print(json.dumps(result))
        return
    console = _console(args)
    speed = f"[bold]{result['simulated_per_wall_second']:.0f} times real time[/bold]"
    times = f"{result['simulated_seconds']:g} s in {result['wall_seconds']:.3g} s of wall time"
    console.print(f"{result['robot']}: {times}, {speed} ({result['integrator']}, dt {args.dt:g} s)")
    console.print(result["why"])
    console.print(
        f"energy: {result['energy_start_J']:.6g} J at the start, {result['energy_end_J']:.6g} J at the end, "
        f"change {result['energy_drift_J']:+.3g} J"
    )
    if result["batch"] > 1:
        console.print(f"{result['batch']} robots: {result['robot_steps_per_second']:.4g} steps of a robot per second")
    table = Table("phase of a step", "µs", box=None, pad_edge=False)
    for name, time in result["phases_us"].items():
        table.add_row(name, f"{time:.2f}")
    console.print(table)
    console.print("seconds: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in result["seconds"].items()))
    if args.out:
        console.print(f"trajectory written to {args.out}")


def info(args: argparse.Namespace) -> int:
    """`info`: what the robot is made of."""
    model = load_robot(args)
    _warn(model)
    chosen, why = choice.choose(model)
    changes = choice.changes(model)
    facts = {
        "robot": model.name, "source": model.source, "links": len(model.link_names), "moving_bodies": len(model.parent),
        "joints": len(model.joints), "nq": model.nq, "nv": model.nv, "mass_kg": float(model.mass.sum()),
        "algorithms": list(capabilities.algorithms(model)), "algorithm": chosen, "why": why,
        "refused": {name: reason for reason, names in capabilities.unserved(model).items() for name in names},
        "choice_by_links": [change._asdict() for change in changes], "visuals": len(model.visuals),
        "collisions": len(model.collisions),
        "warnings": [asdict(found) for found in model.diagnostics],
    }  # fmt: skip
    joints = [_joint_facts(model, joint.name) for joint in model.joints]
    if args.json:
        print(json.dumps({**facts, "joints": joints}))
        return DONE
    console = _console(args)
    bodies = f"{facts['links']} links in {facts['moving_bodies']} moving bodies"
    console.print(f"[bold]{model.name}[/bold]: {bodies}, {facts['mass_kg']:.4g} kg moving")
    shapes = f"{len(model.visuals)} shapes to draw, {len(model.collisions)} that collide"
    console.print(f"nq {model.nq}, nv {model.nv}, {shapes}")
    console.print(why, markup=False)
    if changes:
        console.print(f"choice by size, for robots like this one: {choice.describe(changes)}")
    console.print(f"served by {', '.join(capabilities.algorithms(model))}")
    for reason, names in capabilities.unserved(model).items():
        console.print(f"not by {', '.join(names)}: {reason}", markup=False)
    columns = ("type", "q", "v", "position", "velocity", "effort", "damping", "friction")
    table = Table("joint", *columns, box=None, pad_edge=False)
    for joint in joints[:ROWS]:
        table.add_row(*(str(joint[key]) for key in ("name", *columns)))
    console.print(table)
    if len(joints) > ROWS:
        console.print(f"and {len(joints) - ROWS} more joints; --json lists them all")
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


def write_generated(args: argparse.Namespace) -> int:
    """`generate`: a chain or tree as URDF."""
    shares = (args.prismatic, args.spherical)
    if args.links < 1 or min(shares) < 0 or sum(shares) > 1:
        raise CallError(
            f"got {args.links} links, a prismatic share of {args.prismatic:g} and a spherical one of "
            f"{args.spherical:g}; expected 1 or more, and shares of 0 to 1 together"
        )
    if args.kind == "chain":
        model = generate.chain(args.links, args.seed, args.straight, *shares)
    else:
        model = generate.tree(args.links, args.seed, prismatic=args.prismatic, spherical=args.spherical)
    text = generate.urdf(model)
    if args.out is not None:
        with files.replacing(args.out, "w") as file:
            file.write(text)
    if args.json:
        print(json.dumps({"robot": model.name, "links": args.links, "file": str(args.out) if args.out else None}))
    elif args.out is None:
        print(text)
    return DONE
