"""The arguments of `run`, and what they name: the start, efforts, the scene and gains."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from engine import array_files, files
from engine.holding import holding_gains
from engine.model import EARTH, FREE, Model
from engine.robot_arguments import CallError, add_parts, add_robot, count, numbers, positive, seed
from engine.scene import HeightField, Plane, Scene, slope, stands
from engine.selection.capabilities import by_name
from engine.selection.steppers import ALGORITHMS
from engine.simulation import INTEGRATORS
from engine.validation import Array


def add_arguments(run: argparse.ArgumentParser) -> None:
    """Add the arguments of `run`, but for what says how it is carried out and reported."""
    add_robot(run)
    run.add_argument("--seconds", type=positive, default=10.0, help="time to simulate (default 10)")
    run.add_argument(
        "--dt",
        type=positive,
        help="time step in s (default: chosen for the robot, at most 0.001; with --controls 0.001)",
    )
    run.add_argument(
        "--integrator", choices=("auto", *INTEGRATORS), default="auto", help="default: chosen for the robot"
    )
    names, said = ("auto", *ALGORITHMS["cpu"]), "also by the window's names: ABA, CRBA, DCA-ABA"
    run.add_argument("--algorithm", type=by_name, choices=names, default="auto", help=said)
    run.add_argument(
        "--batch", type=count, default=1, help="number of robots, each with its own --q random (default 1)"
    )
    run.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="cpu", help="default: the CPU; auto: the faster"
    )
    run.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="float32 is for the GPU")
    run.add_argument("--q", default="neutral", help="start: neutral, random, or numbers q1,q2,… (default neutral)")
    run.add_argument("--v", default="0", help="start velocities: one number for all, or v1,v2,… (default 0)")
    run.add_argument("--controls", type=Path, metavar="FILE.npy", help="generalized forces (nv,) or (steps, nv)")
    run.add_argument(
        "--controller", type=Path, metavar="FILE.py", help="a function control(t, q, v) that returns the efforts (nv,)"
    )
    run.add_argument(
        "--gravity", type=float, nargs=3, default=EARTH, metavar=("X", "Y", "Z"), help="m/s² (default 0 0 -9.81)"
    )
    run.add_argument("--no-limits", action="store_true", help="ignore position and velocity limits")
    run.add_argument("--every", type=count, default=1, metavar="N", help="keep every N-th state (default 1)")
    run.add_argument("--seed", type=seed, default=0, help="for --q random (default 0)")
    run.add_argument("--out", type=Path, metavar="FILE", help=".npz: trajectory and settings; .csv: one robot's table")
    add_parts(run)
    _add_scene(run)


def _add_scene(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--ground",
        action=argparse.BooleanOptionalAction,
        help="ground under the robot (default: where it has collision shapes, and does not hang from a fixed base)",
    )
    run.add_argument("--slope", type=float, default=0.0, metavar="DEG", help="the ground's angle, rising towards −x")
    run.add_argument(
        "--terrain", type=Path, metavar="FILE.npy", help="ground of heights in m, rows along y, columns along x"
    )
    run.add_argument(
        "--cell", type=positive, default=0.1, metavar="M", help="spacing of the heights of --terrain, m (default 0.1)"
    )
    run.add_argument(
        "--friction",
        type=float,
        metavar="MU",
        help="of the ground, and of links without a value in the file (default 0.8)",
    )
    run.add_argument("--self-collision", action="store_true", help="the robot's links touch each other")
    run.add_argument(
        "--srdf", type=Path, metavar="FILE", help="its disable_collisions are excluded from --self-collision"
    )
    run.add_argument("--hold", action="store_true", help="joint gains hold the robot in its initial pose")


def start_of(args: argparse.Namespace, model: Model) -> tuple[Array, Array]:
    """Return the start positions (1 or batch, nq) and velocities (nv,)."""
    q: Array
    if args.q == "neutral":
        q = model.neutral()[None]
    elif args.q == "random":
        q = model.random(np.random.default_rng(args.seed), args.batch)
    else:
        q = numbers("q", args.q, model.nq)[None]
    return q, numbers("v", args.v, model.nv)


def controls_of(args: argparse.Namespace, model: Model, steps: int) -> Array | None:
    """Return the efforts of a file, for each step; None without one. Raises CallError for another file."""
    if args.controls is None:
        return None
    try:
        controls = array_files.read(args.controls)
    except ValueError:
        raise CallError(f"{args.controls} is not an .npy file of numbers; write one with numpy.save") from None
    if controls.shape not in ((model.nv,), (steps, model.nv)):
        wanted = f"({model.nv},) or ({steps}, {model.nv})"
        raise CallError(f"{args.controls} holds an array of shape {controls.shape}; expected {wanted}")
    if not np.all(np.isfinite(controls)):
        raise CallError(f"{args.controls} holds a number that is not finite; every control must be finite")
    return np.ascontiguousarray(np.broadcast_to(controls, (1, steps, model.nv)), float)


def require_out(args: argparse.Namespace) -> None:
    """Raise CallError, before anything is simulated, where the trajectory cannot be written to --out."""
    if args.out is None:
        return
    if not is_table(args.out) and args.out.suffix.lower() != ".npz":
        raise CallError(f"--out is {str(args.out)!r}; end the name with .npz, or with .csv for a table")
    if is_table(args.out) and args.batch > 1:
        raise CallError(f"--out {args.out}: a table holds one robot, and --batch is {args.batch}; write .npz")
    if not args.out.parent.is_dir():
        raise CallError(f"--out is in {str(args.out.parent)!r}, which is not a folder; make it first")
    files.require_writable(args.out)


def is_table(path: Path) -> bool:
    """Whether a name is that of a table, .csv."""
    return path.suffix.lower() == ".csv"


def require_controller(args: argparse.Namespace) -> None:
    """Raise CallError for a controller that cannot be used."""
    if args.controller is None:
        return
    if args.controls is not None:
        raise CallError("--controller and --controls exclude each other; give one of them")
    if args.batch != 1:
        raise CallError(f"--controller drives one robot, and --batch is {args.batch}; leave --batch out")
    if not args.controller.is_file():
        raise CallError(f"--controller {args.controller}: there is no such file")


def scene_of(args: argparse.Namespace, model: Model) -> Scene | None:
    """Return the requested scene, or the default one."""
    ground = _ground(args) if _has_ground(args, model) else None
    if args.self_collision and not model.collisions:
        raise CallError(f"--self-collision: {_BARE.format(model.name, 'touch each other')}")
    if ground is None and not args.self_collision:
        return None
    friction = {} if args.friction is None else {"friction": args.friction}
    return Scene(ground=ground, self_collision=args.self_collision, **friction)


_BARE = "{} has no collision shapes that could {}; give its links <collision>"


def _has_ground(args: argparse.Namespace, model: Model) -> bool:
    """Return whether there is to be ground."""
    requested = args.ground or args.terrain is not None
    if args.ground is False or (not requested and not _stands(model)):
        if args.terrain is not None:
            raise CallError("--terrain and --no-ground exclude each other; give one of them")
        return False
    if requested and not model.collisions:
        raise CallError(f"{'--terrain' if args.terrain else '--ground'}: {_BARE.format(model.name, 'touch it')}")
    return True


def _stands(model: Model) -> bool:
    """Return whether the robot is on the ground by default."""
    try:
        return stands(model)
    except ValueError:  # an unreadable mesh, reported where the ground is requested, or needed
        return bool(np.any(model.kind == FREE))


def _ground(args: argparse.Namespace) -> Plane | HeightField:
    if args.terrain is None:
        return slope(np.radians(args.slope))
    if args.slope:
        raise CallError("--terrain and --slope exclude each other; give the slope in the heights")
    try:
        return HeightField.of_file(args.terrain, args.cell)
    except ValueError as problem:
        raise CallError(f"--terrain {args.terrain}: {problem}; write heights in m with numpy.save") from None


def require_ground(args: argparse.Namespace, model: Model, scene: Scene | None) -> None:
    """Raise CallError where an argument is the ground's, and there is none."""
    level = scene is None or scene.ground is None
    for name, useless, default in (("slope", level, 0.0), ("friction", scene is None, None)):
        if useless and getattr(args, name) != default:
            raise CallError(f"--{name} is the ground's, and {model.name} gets none; add --ground, or leave it out")


def gains_of(args: argparse.Namespace, model: Model, q: Array) -> tuple[Array | None, Array | None]:
    """Return gains kp and kd, (1, nv) or (batch, nv), that hold the robots at q, if requested."""
    if not args.hold:
        return None, None
    gains = [holding_gains(model, args.dt, args.integrator, row) for row in q]
    return np.stack([kp for kp, _ in gains]), np.stack([kd for _, kd in gains])
