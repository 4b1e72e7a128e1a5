"""`main.py render`: an image of a robot at a configuration, with no window and no display."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine

DONE, NO = 0, 1


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `render`."""
    command.add_argument("robot", help="a URDF or xacro file, or the name of a robot that ships, such as arm7")
    command.add_argument("--out", type=Path, required=True, metavar="IMAGE.png", help="the image file")
    command.add_argument("--q", metavar="Q1,Q2,…", help="the configuration, in rad and m (default: neutral)")
    command.add_argument("--size", type=_size, default=(1280, 960), metavar="WxH", help="in pixels (default 1280x960)")
    command.add_argument("--azimuth", type=float, metavar="DEG", help="of the camera, from the x-axis")
    command.add_argument("--elevation", type=float, metavar="DEG", help="of the camera, above the horizon")
    command.add_argument(
        "--package-dir", action="append", default=[], metavar="DIR", help="where package:// is looked for"
    )
    command.add_argument("--transparent", action="store_true", help="the robot alone, without ground and backdrop")
    command.add_argument("--trust-xacro", action="store_true", help="let xacro files run any Python, as xacro does")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.set_defaults(function=run, xacro_args={})


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and 0 < int(width) <= 16384 and 0 < int(height) <= 16384):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; expected WIDTHxHEIGHT in pixels, such as 1280x960")
    return int(width), int(height)


def run(args: argparse.Namespace) -> int:
    """Draw and write the image; return 0, or 1 if this machine cannot draw.

    Problems with the robot (engine.ModelError) or the arguments (ValueError, OSError) are left to the command line.
    """
    from app.gl import context  # here, so that the other commands start without the renderer's libraries

    try:
        report = _render(args)
    except context.NoOpenGL as error:
        print(f"catena render: {error}", file=sys.stderr)
        return NO
    for warning in report["diagnostics"]:
        print(warning, file=sys.stderr)
    if args.json:
        print(json.dumps({**report, "diagnostics": [asdict(diagnostic) for diagnostic in report["diagnostics"]]}))
    else:
        print(f"{report['robot']}: {report['width']}×{report['height']} pixels written to {report['picture']}")
    return DONE


def _render(args: argparse.Namespace) -> dict[str, Any]:
    from PIL import Image

    from app.gl import offscreen
    from app.gl.camera import Camera
    from app.gl.scene import Scene

    if args.out.suffix.lower() != ".png":
        raise ValueError(f"--out is {str(args.out)!r}; images are PNG, so end the name with .png")
    if not args.out.parent.is_dir():
        raise ValueError(f"--out is in {str(args.out.parent)!r}, which is not a folder; make it first")
    source = engine.find_robot(args.robot)
    model = engine.load(source, args.package_dir, trust_xacro=args.trust_xacro, xacro_args=args.xacro_args)
    poses = engine.link_poses(model, _configuration(args.q, model))
    scene = Scene(model).read()
    camera = Camera()
    for name in ("azimuth", "elevation"):
        degrees = getattr(args, name)
        if degrees is None:
            continue
        if not np.isfinite(degrees) or (name == "elevation" and abs(degrees) > 89.5):
            raise ValueError(f"--{name} is {degrees:g}; expected degrees, for the elevation from -89.5 to 89.5")
        setattr(camera, name, float(np.radians(degrees)))
    camera.fit(*scene.bounds(poses))
    width, height = args.size
    picture = offscreen.draw(scene, poses, width, height, camera, transparent=args.transparent)
    with engine.replacing(args.out) as file:
        Image.fromarray(picture).save(file, "PNG")
    diagnostics = [*model.diagnostics, *scene.diagnostics]
    return {"robot": model.name, "picture": str(args.out), "width": width, "height": height, "diagnostics": diagnostics}


def _configuration(text: str | None, model: engine.Model) -> NDArray[np.floating]:
    if text is None:
        return model.neutral()
    try:
        q = np.array([float(part) for part in text.split(",")], np.float64)
    except ValueError:
        raise ValueError(f"--q is {text!r}; expected {model.nq} numbers with commas between") from None
    if q.shape != (model.nq,) or not np.all(np.isfinite(q)):
        raise ValueError(f"--q is {text!r}; {model.name} takes {model.nq} finite numbers with commas between")
    return np.asarray(q, np.float64)
