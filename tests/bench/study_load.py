"""The leading machine's work for each batch of a study: python -m tests.bench.study_load.

Draws the values, pickles the transferred data, writes the part, and with Ray submits empty tasks. Prints one JSON
object: seconds and bytes per batch and per sample; see docs/studies.md.
"""

import argparse
import json
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import engine
from engine.bench import facts
from engine.study.batch import Batch
from engine.study.plan import NONE, Task
from engine.study.results import Results, parts
from tests.bench.studies import written
from tests.engine.small_studies import planned

SAMPLES = 2**18
"""Maximum number of samples of a batch on a GPU."""
RUNS = 5
TASKS, WAITING = 2000, 1024
"""Tasks of Ray's that are timed; batches that 512 GPUs are asked for at a time, on which the leader waits."""


def main(words: list[str] | None = None) -> int:
    """Carry out the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.study_load", description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of a batch (default 2¹⁸)")
    args = parser.parse_args(words)
    args.device, args.dtype = "cpu", "float64"
    found: dict[str, Any] = {"machine": facts.collect(), "batch": args.samples}
    with tempfile.TemporaryDirectory() as folder:
        found |= _led(Path(folder), args)
    found["ray"] = _ray()
    print(json.dumps(found, indent=1))
    return 0


def _led(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """The values, what travels, and the part of a batch."""
    file = written(folder, args.samples * (RUNS + 1) * 5, args)
    study, (description, plan) = engine.Study.read(file), planned(file)
    plan.decided = {"quadruped, auto on cpu in float64": ["abia", "cpu"]}
    samples = np.arange(args.samples)
    drawn = _seconds(lambda: plan.sampling.values(samples))
    values = plan.sampling.values(samples)
    group, task = plan.group({name: x[0] for name, x in values.items()}), Task(samples, values)
    rng = np.random.default_rng(0)
    numbers: dict[str, Any] = {name: rng.random(args.samples) for name in study.kept}
    numbers["stands"] = numbers["stands"] > 0.5
    lost = np.zeros(args.samples, bool)
    batch = Batch(task, numbers, lost, np.full(args.samples, np.nan))
    there, back = len(pickle.dumps(task)), len(pickle.dumps(batch.of(NONE)))
    pickled = _seconds(lambda: (pickle.dumps(task), pickle.loads(pickle.dumps(batch.of(NONE)))))
    with Results(folder / "r", description, {"robots": plan.digests}, {}) as store:
        store.decided(lambda: plan.decided)
        times = []
        for k in range(RUNS):
            own = samples + k * args.samples
            began = perf_counter()
            store.add(group, Batch(Task(own, values), numbers, lost, batch.diverged_at))
            times.append(perf_counter() - began)
    part = parts(folder / "r")[0].stat().st_size
    return {
        "draw_s": drawn, "pickle_s": pickled, "write_s": float(np.median(times)), "bytes_there": there,
        "bytes_back": back, "bytes_part": part, "bytes_group": len(pickle.dumps(group)),
    }  # fmt: skip


def _seconds(call: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        began = perf_counter()
        call()
        times.append(perf_counter() - began)
    return float(np.median(times))


def _nothing(_: object) -> None:
    """A task that steps nothing."""


def _ray() -> dict[str, float] | None:
    """Return the tasks per second that Ray executes here, with as many waiting as for the given number of machines."""
    try:
        import ray
    except ImportError:
        return None
    ray.init(num_cpus=2, log_to_driver=False, configure_logging=False)
    try:
        task, given = ray.remote(num_cpus=1)(_nothing), ray.put(np.zeros(1000))
        ray.get([task.remote(given) for _ in range(50)])
        began, running, left = perf_counter(), [], TASKS
        while left or running:
            while left and len(running) < WAITING:
                running.append(task.remote(given))
                left -= 1
            (ready,), running = ray.wait(running, num_returns=1)
            ray.get(ready)
        return {"tasks": TASKS, "waiting": WAITING, "tasks_per_s": TASKS / (perf_counter() - began)}
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
