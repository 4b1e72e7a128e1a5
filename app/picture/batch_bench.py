"""A benchmark of simulating and drawing a batch, without a window: ``python -m app.picture.batch_bench --help``.

Each frame follows the steps of its time span, in real time. Its parts are timed apart: steps, link poses and copy to
the host by the clock of their device, then sending to OpenGL and drawing until it is finished.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

import numpy as np

import engine
from app.gl import context
from app.gl.batch import Batch
from app.gl.camera import Camera
from app.gl.scene import Scene
from app.gl.view import View
from app.link_extents import link_points
from app.picture.crowd import DEVIATION, Crowd
from app.simulation.batch_spread import BatchSpread, deviations

PARTS = ("steps", "poses", "copy", "colours", "upload", "draw", "whole")


def measure(
    model: engine.Model, robots: int, device: str, dtype: str, size: tuple[int, int], pictures: int, rate: float
) -> dict[str, object]:
    """Return the medians of each of `PARTS`, ms, and the fps of a batch, with its factor of real time."""
    spread = BatchSpread(robots, pose=0.3, mass=0.2)
    simulation = engine.Simulation(
        model, robots, q=spread.poses(model, model.neutral()), device=device, dtype=dtype,
        parameters=spread.parameters(model), on_divergence="freeze",
    )  # fmt: skip
    count = max(1, round(1 / (rate * simulation.dt)))
    reader, scene, crowd = simulation.frames(robots), Scene(model), Crowd(coloring=DEVIATION)
    scene.read()
    crowd.set_size(*scene.bounds(engine.link_poses(model, model.neutral())))
    known, points, times = np.zeros(robots), link_points(model), []
    with context.canvas(*size):
        from OpenGL import GL

        from app.gl.renderer import DETAILS, Renderer

        renderer, camera = Renderer(), Camera(elevation=np.radians(30))
        renderer.initialize()
        for picture in range(pictures + 5):
            began = time.perf_counter()
            reader.begin()
            simulation.step(count)
            reader.request()
            frame = reader.take()
            colored = time.perf_counter()
            poses = np.asarray(frame.link_poses, np.float32)
            batch: Batch = crowd.batch(poses, known, deviations(poses, points), np.zeros(robots, bool))
            if picture == 0:
                camera.fit(*batch.bounds(scene.content.reach))
            drawn = time.perf_counter()
            view = View(scene.content, poses[0], camera, 0.0, size, batch)
            renderer.draw(view, len(DETAILS) - 1 if renderer.software else 0)
            GL.glFinish()
            ended = time.perf_counter()
            upload = renderer.upload_seconds
            spent = (*frame.spent, drawn - colored, upload, ended - drawn - upload, ended - began)
            times.append(spent)
        name = GL.glGetString(GL.GL_RENDERER).decode()
        triangles = renderer.triangles
        renderer.release()
    medians = 1e3 * np.median(np.array(times[5:]), 0)
    rates = 1e3 / medians[-1]
    return {
        "robots": robots, "model": model.name, "device": simulation.device, "dtype": dtype,
        "algorithm": simulation.algorithm, "steps": count, "dt": simulation.dt,
        "width": size[0], "height": size[1], "renderer": name, "triangles": triangles,
        "milliseconds": dict(zip(PARTS, np.round(medians, 3).tolist(), strict=True)),
        "pictures_per_second": round(float(rates), 1),
        "times_real_time": round(float(rates * count * simulation.dt), 2),
    }  # fmt: skip


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m app.picture.batch_bench", description="Time a batch, simulated and drawn."
    )
    parser.add_argument("robot", nargs="?", default="arm7", help="a file, or the name of a robot that ships")
    parser.add_argument("--robots", type=int, nargs="+", default=[64], metavar="N", help="how many, one line for each")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--dtype", default="float64", choices=("float64", "float32"))
    parser.add_argument(
        "--size", type=int, nargs=2, default=(1920, 1080), metavar=("WIDTH", "HEIGHT"), help="in pixels"
    )
    parser.add_argument("--pictures", type=int, default=100, help="that are timed")
    parser.add_argument("--rate", type=float, default=60.0, help="pictures a second of simulated time")
    args = parser.parse_args(argv)
    model = engine.load(engine.find_robot(args.robot))
    for robots in args.robots:
        timing = measure(model, robots, args.device, args.dtype, tuple(args.size), args.pictures, args.rate)
        print(json.dumps(timing), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
