"""A simulation's step within a run of many, and launched by itself: chains, trees, threads and batches, and peers."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from engine import files
from engine.bench.peers.peer import Missing, or_missing
from engine.bench.results import NONE, Part, Rows, measured_rows
from engine.bench.suites.gpu import Goal
from engine.compile import finish_compiling
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import clock, device
from engine.device_arrays import to_host
from engine.model import Model, generate
from engine.selection import capabilities
from engine.selection.steppers import advancing
from engine.simulation import Simulation
from engine.urdf.load import load
from engine.validation import Array
from tests.bench import mujoco_steps, trees

CHAINS = (*((1, n, held) for held in (False, True) for n in (50, 200, 1000, 4000)), (100, 200, False))
"""Chains, links of each, and whether joint limits and friction act."""
TREES = (("binary", 255), ("binary", 4096), ("random", 1024), ("snake", 1000))
"""Robots that branch or float, as `trees.Case` makes them: each without anything on its joints, and with."""
THREADED, THREADS = 2000, (1, 2, 4, 16)
"""Links of the chain that threads share, and how many do."""
BATCHES = ("quadruped", "humanoid")
ROBOTS = 1 << 16
STEPS, RUNS, DT = 1000, 5, 1e-5
WALKED = 50
"""Steps of a run in which a thread walks the chain, or a core does."""
MAX_WALKED = 1000
"""Bodies beyond which no thread of the GPU walks: it takes milliseconds, and its kernel long to compile."""
LONG = 0.1
"""Maximum seconds of a run: slow steps are fewer."""
MAX_ROWS = len(CHAINS) + 2 * len(TREES) + 2 * len(BATCHES) + 1
SAME_WAY = {"float64": 1e-6, "float32": 1e-2}
"""The relative tolerance of a peer's velocities after `WALKED` steps: in single precision the mass matrix of 200 links
leaves 3e-3.
"""


_MICROSECONDS = {
    "steps-50x1": (24, 16), "steps-200x1": (32, 22), "steps-1000x1": (45, 32), "steps-4000x1": (75, 50),
    "steps-50x1-held": (60, 40), "steps-200x1-held": (80, 55), "steps-1000x1-held": (120, 80),
    "steps-4000x1-held": (200, 130), "steps-200x100": (60, 40),
}  # fmt: skip
GOALS = {key: Goal("us", *bounds) for key, bounds in _MICROSECONDS.items()}
GOALS["launched-quadruped"] = Goal("rate", 800e6, 880e6)
"""The least time of a step on the GPU, or the steps per second of a large batch."""
PEERS: Mapping[str, tuple[Callable[[Model, Array, float, int], mujoco_steps.Steps], int]] = {
    "mujoco": (mujoco_steps.steps_on_one_core, 1000),
    "mujoco-warp": (mujoco_steps.steps_on_warp, 200),
}
"""Peers that step unconstrained chains, with their maximum number of links: they factorize the mass matrix."""


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each case not finished, medians: of chains and threads the time `us` of a step in float64, by algorithm
    and device; of batches, in float32, the steps a second of all robots.

    On the GPU by its own clock over runs of up to 1000 steps; a core's runs are of up to 50. `apart` is how far each
    one's velocities are from ABIA's on a core after 50 steps, relative. Peers have runs of about `seconds`. Raises
    `device.NoGpu` where there is none. A row that fails holds `failure` in words.
    """
    device.require()
    parts: list[Part] = [
        (f"steps-{n}x{batch}{'-held' if held else ''}", partial(_steps, "chain", n, batch, held, seconds))
        for batch, n, held in CHAINS
    ]
    parts += [
        (f"steps-{shape}-{n}{'-held' if held else ''}", partial(_steps, shape, n, 1, held, seconds))
        for (shape, n), held in product(TREES, (False, True))
    ]
    parts.append((f"threads-{THREADED}", threads_row))
    for robot in BATCHES:
        parts += [(f"batch-{robot}", partial(_run_of, robot)), (f"launched-{robot}", partial(_launched, robot))]
    for row in measured_rows(parts, finished):
        key = row["key"]
        if key not in finished and "failure" not in row and key in GOALS:
            times = [us for name, us in row.get("us", {}).items() if name.endswith("cuda")]
            row["goal"] = GOALS[key].verdict(row | {"us": min(times, default=None)})
        yield row


def chain(n: int, held: bool) -> Model:
    """A random chain that nothing holds back or, `held`, with damping, friction and limits on every joint."""
    model, one = generate.chain(n), np.ones(n)
    if not held:
        return dataclasses.replace(model, friction=0 * one, damping=0 * one)
    load = np.cumsum(model.mass[::-1])[::-1]
    friction = 0.3 * load * np.random.default_rng(n).random(n)
    return dataclasses.replace(
        model, friction=friction, damping=0.01 * one, lower=-0.2 * one, upper=0.2 * one, velocity_limit=2 * one,
        effort_limit=3 * load,
    )  # fmt: skip


def tree(shape: str, n: int, held: bool) -> Model:
    """Return such a robot of that shape; nothing acts on its free joint, if it has one."""
    model = trees.Case(shape, n).model()
    rows, near = model.constrained, np.where(model.q_of_v >= 0, 0.2, np.inf)
    if not held:
        return dataclasses.replace(model, friction=0.0 * rows, damping=0.0 * rows)
    load = model.mass.copy()
    for i in range(n - 1, 0, -1):
        if model.parent[i] >= 0:
            load[model.parent[i]] += load[i]
    load = np.repeat(load, np.diff([*model.v_start, model.nv]))
    return dataclasses.replace(
        model, friction=0.3 * load * np.random.default_rng(n).random(model.nv) * rows, damping=0.01 * rows, lower=-near,
        upper=near, velocity_limit=np.where(rows, 2.0, np.inf), effort_limit=np.where(rows, 3 * load, np.inf),
    )  # fmt: skip


def candidates(model: Model, where: str) -> list[str]:
    """The algorithms that step it there, but those for which it is too large."""
    rows = capabilities.ALGORITHMS
    return [
        name
        for name in advancing(model)[where]
        if capabilities.reason(name, model, where) is None
        if len(model.parent) <= (rows[name].largest or np.inf)
        if (name, where) != ("abia", "cuda") or len(model.parent) <= MAX_WALKED
    ]


def _steps(shape: str, n: int, batch: int, held: bool, seconds: float) -> dict[str, Any]:
    model = chain(n, held) if shape == "chain" else tree(shape, n, held)
    rng, rows = np.random.default_rng(n), model.q_of_v >= 0
    q = np.tile(model.neutral(), (batch, 1))
    q[:, model.q_of_v[rows]] = rng.uniform(-0.2, 0.2, (batch, int(rows.sum())))
    us, reference = timed_steps(model, q, "abia", "cpu")
    times, apart, failures = {"abia on cpu": us}, {}, {}
    for algorithm in candidates(model, "cuda"):
        name = f"{algorithm} on cuda"
        try:
            times[name], end = timed_steps(model, q, algorithm, "cuda")
        except Exception as error:  # the row says it, and the others are measured all the same
            failures[name] = f"{type(error).__name__}: {error}"
            continue
        apart[name] = _distance(end, reference)
    row = {"shape": shape, "links": n, "batch": batch, "held": held, "us": times, "apart": apart}
    row |= {"failures": failures} if failures else {}
    if shape == "chain" and not held:
        row["peers"] = {name: or_missing(partial(_beside, name, model, q, seconds, reference, times)) for name in PEERS}
    return row


def timed_steps(model: Model, q: Array, algorithm: str, where: str) -> tuple[float, Array]:
    """The median µs of a step, and the velocities after the first steps."""
    threads = 1 if where == "cpu" else None
    simulation = Simulation(
        model, len(q), DT, algorithm=algorithm, q=q, device=where, timed=False, threads=threads
    )  # fmt: skip
    simulation.step(WALKED)
    simulation.check()
    end = np.array(to_host(simulation.v))
    once = run_seconds(simulation, q, 2, where) / 2
    steps = max(2, min(STEPS if where == "cuda" else WALKED, int(LONG / once)))
    samples = [run_seconds(simulation, q, steps, where) for _ in range(RUNS)]
    simulation.check()
    return float(np.median(samples)) / steps * 1e6, end


def run_seconds(simulation: Simulation, q: Array, steps: int, where: str) -> float:
    """Return the seconds of a run from its beginning, on a GPU without the host's part."""
    simulation.reset(q)
    if where == "cuda":
        simulation.step(1)
        clock.synchronize()
        return clock.device_seconds(lambda: simulation.step(steps))
    finish_compiling()
    began = perf_counter()
    simulation.step(steps)
    return perf_counter() - began


def _distance(end: Array, reference: Array) -> float:
    return float(np.abs(end - reference).max() / np.abs(reference).max())


def _beside(
    name: str, model: Model, q: Array, seconds: float, reference: Array, ours: Mapping[str, float]
) -> dict[str, Any]:
    """A peer's µs a step for the same chains, and how many times that is ours: on one core, or on the GPU."""
    measure, largest = PEERS[name]
    if model.nv > largest:
        raise Missing(f"it is not asked beyond {largest} links")
    found = measure(model, q, DT, WALKED)
    distance = _distance(found.v, reference)
    us = found.seconds(seconds) * 1e6
    row = {"us": us, "how": found.how, "apart": distance}
    if not distance < SAME_WAY["float64" if found.on_core else "float32"]:
        return {**row, "missing": "it moves the chains otherwise"}
    where = "cpu" if found.on_core else "cuda"
    return {**row, "ratio": us / min(own for name, own in ours.items() if name.endswith(where))}


def threads_row() -> dict[str, Any]:
    """Time one long chain on the CPU in turns: every algorithm, DCA-ABA by threads."""
    model = chain(THREADED, False)
    q = np.random.default_rng(THREADED).uniform(-0.2, 0.2, (1, THREADED))
    runs: dict[str, Simulation] = {}
    for algorithm in candidates(model, "cpu"):
        counts = [c for c in THREADS if c <= cores()] if capabilities.ALGORITHMS[algorithm].threads else [1]
        for count in counts:
            runs[f"{algorithm}, {count}"] = Simulation(
                model, 1, DT, algorithm=algorithm, q=q, device="cpu", timed=False, threads=count
            )
    for simulation in runs.values():
        simulation.step(WALKED)
    ends = {name: simulation.v.copy() for name, simulation in runs.items()}
    rounds = [[run_seconds(simulation, q, WALKED, "cpu") for simulation in runs.values()] for _ in range(3 * RUNS)]
    medians = np.median(rounds, axis=0) / WALKED * 1e6
    before = np.array(rounds)[:, list(runs).index("abia, 1")]
    return {
        "links": THREADED,
        "us": dict(zip(runs, medians.tolist(), strict=True)),
        "speedup": {
            name: float(np.median(before / times)) for name, times in zip(runs, np.transpose(rounds), strict=True)
        },
        "apart": {name: _distance(end, ends["abia, 1"]) for name, end in ends.items()},
    }


def _robots(robot: str) -> tuple[Simulation, Array]:
    """So many robots of a file, somewhere within their limits, that fall with friction and limits as the file has."""
    model = load(files.find_robot(robot))
    rng, q = np.random.default_rng(0), np.tile(model.neutral(), (ROBOTS, 1))
    scalar = model.q_of_v >= 0
    lower, upper = model.lower[scalar], model.upper[scalar]
    q[:, model.q_of_v[scalar]] = (lower + upper) / 2 + 0.4 * (upper - lower) * rng.uniform(
        -1, 1, (ROBOTS, int(scalar.sum()))
    )
    simulation = Simulation(model, ROBOTS, 1e-3, algorithm="abia", q=q, device="cuda", dtype="float32", timed=False)
    return simulation, q


def _run_of(robot: str) -> dict[str, Any]:
    simulation, q = _robots(robot)
    times = sorted(run_seconds(simulation, q, STEPS, "cuda") / STEPS for _ in range(RUNS))
    simulation.check()
    return _rate(simulation, times[RUNS // 2])


def _launched(robot: str) -> dict[str, Any]:
    """A step a launch, from Python, by the host's clock with the wait for the last; `enqueued_us`: its own."""
    simulation, q = _robots(robot)
    whole, given = [], []
    for _ in range(RUNS):
        simulation.reset(q)
        simulation.step()
        clock.synchronize()
        began = perf_counter()
        for _ in range(STEPS // 2):
            simulation.step()
        given.append(perf_counter() - began)
        clock.synchronize()
        whole.append(perf_counter() - began)
    simulation.check()
    row = _rate(simulation, float(np.median(whole)) / (STEPS // 2))
    return {**row, "enqueued_us": float(np.median(given)) / (STEPS // 2) * 1e6}


def _rate(simulation: Simulation, seconds: float) -> dict[str, Any]:
    return {"batch": ROBOTS, "dofs": simulation.model.nv, "dtype": "float32", "step_us": seconds * 1e6,
            "rate": ROBOTS / seconds}  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """A row in words, as it is said once it is there."""
    if "failure" in row:
        return f"{row['key']}: failed: {row['failure']}"
    if "rate" in row:
        own = f", {row['enqueued_us']:.3g} µs of the host's" if "enqueued_us" in row else ""
        reported = f"{row['rate'] / 1e6:,.0f} M steps/s, {row['step_us']:.4g} µs a step of all{own}"
    else:
        times = [f"{name} {us:,.1f}" for name, us in row["us"].items()]
        times += [f"{name} {x['us']:,.1f}" if "us" in x else f"{name}: {x['missing']}" for name, x in _peers(row)]
        times += [f"{name}: {why}" for name, why in row.get("failures", {}).items()]
        reported = f"µs a step: {'; '.join(times)}; apart at most {max(row['apart'].values(), default=0):.0e}"
    goal = row.get("goal")
    return f"{row['key']}: {reported}" + (
        f"; {goal['met']} met of must {goal['must']:g}, aim {goal['aim']:g}" if goal else ""
    )


def _peers(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(row.get("peers", {}).items())
