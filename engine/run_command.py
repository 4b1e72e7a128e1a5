"""The command `run`: simulate a robot, report the speed, write the trajectory."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from engine import __version__, files, run_arguments
from engine.compilation import Compilation
from engine.controller import Controller, ControllerError
from engine.cuda.runtime import device
from engine.device_arrays import to_host
from engine.model import Model
from engine.recording.files import how_made
from engine.recording.robot_text import robot_as_text
from engine.recording.run_format import save_trajectory
from engine.recording.tables import save_csv
from engine.robot_arguments import (
    DONE,
    INTERRUPTED,
    NO,
    CallError,
    console,
    load_parts,
    load_robot,
    print_message,
    warn,
)
from engine.rollout import Recorder
from engine.run_arguments import (
    controls_of,
    gains_of,
    is_table,
    require_controller,
    require_ground,
    require_out,
    scene_of,
    start_of,
)
from engine.scene import put_down
from engine.simulation import Diverged, Simulation
from engine.text import in_one_line
from engine.timestep import MAX_STEP, suggested_step
from engine.validation import MAX_STEPS, Array


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `run`."""
    run_arguments.add_arguments(command)
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=run_robot)


def run_robot(args: argparse.Namespace) -> int:
    """`run`: simulate, report the speed, the energy's drift and the times of phases, write the trajectory."""
    began = perf_counter()
    if args.srdf is not None and not args.self_collision:
        raise CallError("--srdf says which links never touch each other; add --self-collision, or leave it out")
    model = load_parts(args, load_robot(args, args.srdf)).with_gravity(args.gravity)
    warn(model)
    step = suggested_step(model, args.hold)
    args.dt = args.dt or (step.dt if args.controls is None else MAX_STEP)
    args.integrator = step.integrator if args.integrator == "auto" else args.integrator
    requested = args.seconds / args.dt
    if requested > MAX_STEPS:
        many = f"--seconds {args.seconds:g} with --dt {args.dt:g} are {requested:.3g} steps"
        raise CallError(f"{many}; expected at most {MAX_STEPS:.3g}")
    steps = round(requested / args.every) * args.every
    require_out(args)
    if steps < 1:
        raise CallError(f"--seconds {args.seconds:g}, --dt {args.dt:g} and --every {args.every} leave no step to keep")
    q, v = start_of(args, model)
    scene = scene_of(args, model)
    require_ground(args, model, scene)
    if scene is not None:
        q = put_down(model, scene, q)
    kp, kd = gains_of(args, model, q)
    require_controller(args)
    controls = controls_of(args, model, steps)
    loaded = perf_counter()
    simulation = Simulation(
        model, args.batch, args.dt, args.integrator, args.algorithm, limits=not args.no_limits, q=q, v=v, kp=kp, kd=kd,
        device=args.device, dtype=args.dtype, scene=scene, on_divergence="raise" if args.batch == 1 else "freeze",
    )  # fmt: skip
    compilation = Compilation(simulation)
    if compilation.needed and sys.stderr.isatty():
        print(f"compiling once for this machine, about {max(1, round(compilation.seconds))} s", file=sys.stderr)
    compilation.here()
    compiled = perf_counter()
    energies, made = [_total_energy(simulation)], how_made(simulation)
    failure, lost = "", False
    with _controller(args, model) as controller:
        recorder = _recorder(args, simulation, steps, controls, controller)
        start = perf_counter()
        try:
            _run_with_progress(recorder, steps, console(args))
        except (ControllerError, Diverged, KeyboardInterrupt) as error:
            failure = str(error) or _INTERRUPTED
        except Exception as error:
            if simulation.device != "cuda" or not device.gpu_failed(error):
                raise
            failure, lost = _gpu_failure(recorder, error), True
    wall = perf_counter() - start
    failure = failure or _divergences(simulation)
    energies.append(np.nan if lost else _total_energy(simulation))
    if args.out is not None:
        with _undisturbed():
            trajectory, settings = recorder.trajectory(), _settings(args, simulation)
            if is_table(args.out):
                save_csv(args.out, model, trajectory)
            else:
                save_trajectory(args.out, model, trajectory, settings, recorder.controls, made)
    seconds = loaded - began, compiled - loaded, wall, perf_counter() - start - wall
    phases = {} if lost and not recorder.end else recorder.phases()
    result = _result(args, simulation, phases, energies, seconds) | {"failure": failure or None}
    _report_run(args, result)
    if failure:
        print_message(failure)
    return INTERRUPTED if failure == _INTERRUPTED else NO if failure else DONE


def _gpu_failure(recorder: Recorder, error: Exception) -> str:
    """Return the message for a GPU that was removed or out of memory; its data is lost."""
    reason = str(error).strip().partition("\n")[0] or type(error).__name__
    return f"the GPU failed ({reason}); what was simulated until {recorder.end:g} s is kept, --device cpu needs none"


def _divergences(simulation: Simulation) -> str:
    """Return the message for a batch's robots that diverged and were frozen; empty if none did."""
    lost = np.flatnonzero(to_host(simulation.diverged)).tolist()
    if not lost:
        return ""
    first = f"{len(lost)} of {simulation.batch} robots diverged and stay as they were before: "
    reported = "; ".join(simulation.divergence(robot) or "" for robot in lost[:_SHOWN])
    return first + reported + " …" * (len(lost) > _SHOWN)


_INTERRUPTED = "interrupted"
_SHOWN = 3  # robots of a batch whose divergence is reported, at most


def _controller(args: argparse.Namespace, model: Model) -> AbstractContextManager[Controller | None]:
    """Return the controller, without a time limit, or a null context."""
    if args.controller is None:
        return nullcontext()

    def late(words: str) -> None:
        print_message(f"{words}; Ctrl+C ends the run")

    return Controller(args.controller, model, patience=None, late=late)


def _recorder(
    args: argparse.Namespace, simulation: Simulation, steps: int, controls: Array | None, controller: Controller | None
) -> Recorder:
    try:
        return Recorder(simulation, steps, args.every, controls, args.out is not None, controller)
    except ControllerError as error:
        raise CallError(str(error)) from None
    except MemoryError:
        states = f"--seconds {args.seconds:g} with --every {args.every} keep {steps // args.every + 1:,} states"
        raise CallError(f"{states}, too many for the memory; give a larger --every, or fewer --seconds") from None


def _result(
    args: argparse.Namespace,
    simulation: Simulation,
    phases: dict[str, float],
    energies: list[float],
    seconds: tuple[float, ...],
) -> dict[str, Any]:
    """Return the report of a run; `seconds` to load, compile, simulate and write."""
    wall = seconds[2]
    return {
        "robot": simulation.model.name,
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
        "seconds": dict(zip(("load", "compile", "simulate", "write"), seconds, strict=True)),
        "phases_us": {name: seconds * 1e6 for name, seconds in phases.items()},
        "trajectory": str(args.out) if args.out else None,
    }


def _run_with_progress(recorder: Recorder, steps: int, screen: Console) -> None:
    """Run all steps, with a progress bar on a terminal."""
    if not screen.is_terminal:
        recorder.run(lambda _: None)
        return
    with Progress(console=screen, transient=True) as progress:
        task = progress.add_task("simulating", total=steps)
        recorder.run(lambda done: progress.update(task, completed=done))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay Ctrl-C until the block is done: the results are written first."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _settings(args: argparse.Namespace, simulation: Simulation) -> dict[str, Any]:
    """Return all settings to run it again, as JSON."""
    settings = {
        key: value
        for key, value in vars(args).items()
        if key not in ("function", "command", "json", "out", "xacro_args")
    }
    return settings | {
        "robot": str(files.find_robot(args.robot).resolve()),
        **({"parts": robot_as_text(simulation.model)["parts"]} if simulation.model.parts else {}),
        **({"xacro_args": args.xacro_args} if args.xacro_args else {}),
        "package_dir": [str(Path(folder).resolve()) for folder in args.package_dir],
        "controls": str(args.controls.resolve()) if args.controls else None,
        "controller": str(args.controller.resolve()) if args.controller else None,
        "terrain": str(args.terrain.resolve()) if args.terrain else None,
        "srdf": str(args.srdf.resolve()) if args.srdf else None,
        "algorithm": simulation.algorithm,
        "catena": __version__,
    }


def _total_energy(simulation: Simulation) -> float:
    kinetic, potential = simulation.energy()
    return float(np.sum(kinetic + potential))


def _report_run(args: argparse.Namespace, result: dict[str, Any]) -> None:
    if args.json:
        numbers = (name for name, x in result.items() if isinstance(x, float) and not np.isfinite(x))
        print(json.dumps(result | dict.fromkeys(numbers)))
        return
    screen = console(args)
    speed = f"{result['simulated_per_wall_second']:.0f} times real time"
    times = f"{result['simulated_seconds']:g} s in {result['wall_seconds']:.3g} s of wall time"
    screen.print(f"{in_one_line(result['robot'])}: {times}, ", end="")
    screen.print(speed, style="bold", end="")
    screen.print(f" ({result['integrator']}, dt {args.dt:g} s)")
    screen.print(result["why"])
    if np.isfinite(result["energy_end_J"]):
        screen.print(
            f"energy: {result['energy_start_J']:.6g} J at the start, {result['energy_end_J']:.6g} J at the end, "
            f"change {result['energy_drift_J']:+.3g} J"
        )
    if result["batch"] > 1:
        screen.print(f"{result['batch']} robots: {result['robot_steps_per_second']:.4g} steps of a robot per second")
    table = Table("phase of a step", "µs", box=None, pad_edge=False)
    for name, time in result["phases_us"].items():
        table.add_row(name, f"{time:.2f}")
    screen.print(table)
    screen.print("seconds: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in result["seconds"].items()))
    if args.out:
        screen.print(f"trajectory written to {in_one_line(str(args.out))}")
