"""The cost of a study, and its agreement with the bare engine to the bit: python -m tests.bench.studies.

The pushed quadruped that ships, 2 s at 2 ms, with random directions. Its samples are compared bit for bit with a
`Simulation` in one batch; then the command is timed from its call to the last part written, with one GPU and with more,
and its batches are compared with direct simulations. Needs a GPU but for --device cpu.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine.bench import facts
from engine.cuda.runtime import device
from engine.device_arrays import to_host
from engine.study import results
from engine.study.frames import Frames, norm, turned_back

ROOT = Path(__file__).parents[2]
SHIPS = ROOT / "docs" / "studies" / "pushed_quadruped.toml"
FRICTIONS = 5
SECONDS, DT, BEGIN, END, FORCE = 2.0, 0.002, 0.2, 0.3, 200.0
"""The values of the study's file."""
COMPARED = 9973
"""Samples of each friction that are compared bit for bit: no multiple of what a GPU does at once."""
BATCHES = (None, 1000)
"""Values of `batch` in `Study.run` for the compared study."""


def main(words: list[str] | None = None) -> int:
    """Run the command line; print one JSON object. Exit 1 if bits differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.studies", description=__doc__)
    parser.add_argument("--samples", type=int, default=10**6, help="of the command that is timed (default 10⁶)")
    parser.add_argument("--compared", type=int, default=COMPARED * FRICTIONS, help="samples compared bit for bit")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--dtype", default=None, choices=("float64", "float32"), help="default float32 on a GPU")
    parser.add_argument("--gpus", default="1", help="numbers of GPUs to time the command with, such as 1,2")
    parser.add_argument("--on", help="Ray, as the command takes it; by default a process a GPU, without Ray")
    parser.add_argument("--repeat", type=int, default=3, help="times that each is timed; the median counts")
    args = parser.parse_args(words)
    args.dtype = args.dtype or ("float32" if args.device == "cuda" else "float64")
    if args.device == "cuda":
        device.require()
    found: dict[str, Any] = {"machine": facts.collect(), "device": args.device, "dtype": args.dtype}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        found["same bits"] = _same(folder, args)
        found["beside bare"] = _beside_bare(folder, args)
        found["command"] = [_command(folder, args, int(count)) for count in args.gpus.split(",")]
    print(json.dumps(found, indent=1))
    return 0 if all(found["same bits"].values()) else 1


def written(folder: Path, samples: int, how: argparse.Namespace) -> Path:
    """Write the study with random directions and `samples` samples in all, as a file in the folder."""
    text = SHIPS.read_text("utf-8")
    assert text.count("grid = [0.0, 359.0, 360]") == 1
    text = text.replace("grid = [0.0, 359.0, 360]", "uniform = [0.0, 360.0]")
    head = f'device = "{how.device}"\ndtype = "{how.dtype}"\nsamples = {-(-samples // FRICTIONS)}\n'
    path = folder / f"pushed-{samples}.toml"
    path.write_text(head + text, "utf-8")
    return path


def bare(model: engine.Model, friction: float, directions: NDArray[Any], how: tuple[str, str, str]) -> Any:
    """The samples of one friction and these directions, ° (N,), stepped by hand in one batch. Returns the simulation.

    `how` is the algorithm, the device and the number type.
    """
    algorithm, where, dtype = how
    scene = engine.Scene(friction=friction)
    q = engine.put_down(model, scene, model.neutral())
    kp, kd = engine.holding_gains(model, DT, "implicit", q)
    simulation = engine.Simulation(
        model, len(directions), DT, "implicit", algorithm, q=q, kp=kp, kd=kd, device=where, dtype=dtype,
        timed=False, on_divergence="freeze", scene=scene, wrenches=True,
    )  # fmt: skip
    trunk = model.link_names.index("trunk")
    begin, end, last = (round(time / DT) for time in (BEGIN, END, SECONDS))
    force = [simulation.array(FORCE * f(np.radians(directions))) for f in (np.cos, np.sin)]
    simulation.step(begin)
    for _ in range(begin, end):
        R = Frames(model, simulation.q, simulation.v).pose(trunk).R
        for k, part in enumerate(turned_back(R, (*force, 0.0))):
            simulation.wrench[:, trunk, 3 + k] = part
        simulation.step(1)
    simulation.wrench[:] = 0.0
    simulation.step(last - end)
    simulation.check()
    return simulation


def _same(folder: Path, args: argparse.Namespace) -> dict[str, bool]:
    """Return, by batching, whether all numbers equal those of `bare` batches, bit for bit."""
    study = engine.Study.read(written(folder, args.compared, args))
    found = {}
    for batch in BATCHES:
        out = folder / f"compared-{batch}"
        study.run(out, processes=0, batch=batch)
        columns = results.read(out)
        found[f"batches of {batch or 'seconds'}"] = _is_bare(columns, _how(out))
    return found


def _is_bare(columns: dict[str, NDArray[Any]], how: tuple[str, str, str]) -> bool:
    model, same = engine.load(engine.find_robot("quadruped")), True
    trunk = model.link_names.index("trunk")
    for friction in np.unique(columns["friction"]):
        own = columns["friction"] == friction
        simulation = bare(model, float(friction), columns["push direction"][own], how)
        frames = Frames(model, simulation.q, simulation.v)
        z = np.array(to_host(frames.pose(trunk).p[2]), float)
        speed = np.array(to_host(norm(frames.twist(trunk).velocity)), float)
        lost = np.array(to_host(simulation.diverged), bool)
        same &= np.array_equal(lost, columns["diverged"][own])
        for x, name in ((z, "trunk position z"), (speed, "trunk |velocity|")):
            same &= np.where(lost, np.nan, x).tobytes() == columns[name][own].tobytes()
    return bool(same)


def _how(out: Path) -> tuple[str, str, str]:
    """The algorithm, device and number type that results were made with."""
    ((robot, (algorithm, where)),) = results.read_manifest(out)["decided"].items()
    return algorithm, where, robot.rpartition(" ")[2]


def _beside_bare(folder: Path, args: argparse.Namespace) -> dict[str, float]:
    """Seconds of a study in this process, and of the same batches by hand, and what the study takes more, in %."""
    path = written(folder, max(FRICTIONS, args.samples), args)
    study, model = engine.Study.read(path), engine.load(engine.find_robot("quadruped"))
    ours, theirs = [], []
    for turn in range(args.repeat):
        out = folder / f"beside-{turn}"
        began = perf_counter()
        study.run(out, processes=0)
        ours.append(perf_counter() - began)
        parts = [results.parquet().read_table(part) for part in results.parts(out)]
        works = [(part["friction"][0].as_py(), part["push direction"].to_numpy()) for part in parts]
        how = _how(out)
        began = perf_counter()
        for friction, directions in works:
            simulation = bare(model, friction, directions, how)
            simulation.state()
        theirs.append(perf_counter() - began)
    study_s, bare_s = float(np.median(ours)), float(np.median(theirs))
    return {"samples": study.count, "batches": len(works), "study_s": study_s, "bare_s": bare_s,
            "overhead_percent": 100 * (study_s / bare_s - 1)}  # fmt: skip


def _command(folder: Path, args: argparse.Namespace, gpus: int) -> dict[str, float]:
    """Return the wall seconds of the command with `gpus` GPUs, including Python's start and the last part."""
    path, times = written(folder, args.samples, args), []
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    if args.device == "cuda":
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        names = visible if visible != [""] else [str(k) for k in range(device.count())]
        if len(names) < gpus:
            raise ValueError(f"--gpus {gpus}: there are {len(names)}")
        env["CUDA_VISIBLE_DEVICES"] = ",".join(names[:gpus])
    for turn in range(args.repeat):
        out = folder / f"command-{gpus}-{turn}"
        words = [sys.executable, str(ROOT / "main.py"), "study", str(path), "--out", str(out), "--json"]
        began = perf_counter()
        output = subprocess.run(
            [*words, *(("--on", args.on) if args.on else ())], env=env, stdout=subprocess.PIPE, text=True, check=True
        )
        times.append(perf_counter() - began)
        done = json.loads(output.stdout)
    seconds, stored = float(np.median(times)), sum(part.stat().st_size for part in results.parts(out))
    return {
        "gpus": gpus, "samples": done["done"], "diverged": done["diverged"], "seconds": seconds, "all_seconds": times,
        "samples_per_s": done["done"] / seconds, "parts": len(results.parts(out)), "bytes": stored,
        "stands": done["predicates"]["stands"],
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
