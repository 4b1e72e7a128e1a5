"""Batches on threads: forward dynamics and rollouts, compared with Pinocchio and MuJoCo on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

from engine import files
from engine.bench import intervals, timer
from engine.bench.peers import mujoco, pinocchio
from engine.bench.peers.peer import Missing, or_missing
from engine.bench.results import NONE, Rows
from engine.bench.states import State
from engine.bench.suites import swarm
from engine.bench.suites.threads import THREADS
from engine.cpu.runtime.cores import cores
from engine.dynamics import ForwardDynamics
from engine.model import generate
from engine.rollout import rollout
from engine.urdf.load import load
from engine.validation import Array

CASES = tuple((robot, batch) for robot in ("arm7", "humanoid", "chain10") for batch in (64, 512, 4096, 32768))
"""Robots that ship or a generated chain, and the batch size."""
ROBOTS, STEPS = 4096, 100
"""Of the rollout, whose states are all stored."""
ROLLOUT = f"rollout of {ROBOTS} arms, {STEPS} steps"
MAX_ROWS = len(CASES) + 1


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """Yield a row for each unfinished case: the median `us` of a call for the batch, by number of threads.

    `speedup` holds the 25, 50 and 75 % quantiles of the ratio of the times on one and on several threads in the same
    round.
    """
    for robot, batch in CASES:
        key = f"{robot}-{batch}"
        yield finished.get(key) or {"key": key, "batch": batch, **_forward(robot, batch, seconds)}
    yield finished.get(ROLLOUT) or {"key": ROLLOUT, "batch": ROBOTS, **_rollout(seconds)}


def _forward(robot: str, batch: int, seconds: float) -> dict[str, Any]:
    model = generate.chain(10) if robot == "chain10" else load(files.find_robot(robot))
    rng = np.random.default_rng(0)
    at = State(model.random(rng, batch), *rng.uniform(-1, 1, (2, batch, model.nv)))
    solvers = {count: ForwardDynamics(model, batch, "abia", "cpu", threads=count) for count in _counts()}
    row = _timed({count: partial(fd, *at, np.empty_like(at.v)) for count, fd in solvers.items()}, seconds)
    peer = partial(_compare_peer, row, lambda: pinocchio.all_cores(model, at, seconds)[:2])
    return row | {"peers": {"pinocchio": or_missing(peer)}}


def _rollout(seconds: float) -> dict[str, Any]:
    model = swarm.arm()
    q = model.random(np.random.default_rng(0), ROBOTS)

    def ours(threads: int) -> Array:
        trajectory = rollout(model, q, steps=STEPS, dt=swarm.DT, algorithm="abia", limits=False, device="cpu",
                       keep=("q", "v"), threads=threads)  # fmt: skip
        end: Array = trajectory.q[:, -1]
        return end

    row = _timed({count: partial(ours, count) for count in _counts()}, seconds)
    best = min(row["us"].values())
    row["steps_per_second"] = ROBOTS * STEPS / best * 1e6

    def theirs() -> tuple[float, str]:
        time, end = mujoco.on_threads(model, q, STEPS, swarm.DT, cores(), seconds)
        deviation = float(np.max(np.abs(end - ours(cores()))))
        if not deviation < swarm.SAME_WAY:
            raise Missing(f"it moves the arms otherwise, by {deviation:.2g} rad")
        return time, f"rollout, {cores()} threads, host clock"

    return row | {"peers": {"mujoco": or_missing(partial(_compare_peer, row, theirs))}}


def _counts() -> tuple[int, ...]:
    return tuple(count for count in THREADS if count <= cores())


def _timed(calls: dict[int, Callable[[], Any]], seconds: float) -> dict[str, Any]:
    times = timer.alternate([(timer.repeater(call), 1) for call in calls.values()], seconds)
    return {
        "us": {str(count): float(np.median(times[i])) * 1e6 for i, count in enumerate(calls)},
        "spread": {f"us on {count}": intervals.of_median(times[i] * 1e6) for i, count in enumerate(calls)},
        "speedup": {
            str(count): [float(x) for x in np.quantile(times[0] / times[i], (0.25, 0.5, 0.75))]
            for i, count in enumerate(calls)
        },
    }


def _compare_peer(row: dict[str, Any], measure: Callable[[], tuple[float, str]]) -> dict[str, Any]:
    """Return a peer's µs on all cores, and the ratio to ours on the best number of threads."""
    seconds, how = measure()
    return {"us": seconds * 1e6, "how": how, "ratio": seconds * 1e6 / min(row["us"].values())}


def table(rows: list[dict[str, Any]]) -> Table:
    """Format the rows: times in µs, speed-up over one thread, and the peer's."""
    counts = tuple(rows[0]["us"])
    times = Table("case", *(f"on {c}" for c in counts), "the peer's, on all cores", box=None, title="µs a call")
    for row in rows:
        ours = (f"{row['us'][count]:.1f} ({row['speedup'][count][1]:.2f} ×)" for count in counts)
        ((name, peer),) = row["peers"].items()
        beside = f"{name} {peer['us']:.1f} ({peer['ratio']:.2f} ×)" if "us" in peer else f"{name}: {peer['missing']}"
        times.add_row(row["key"], *ours, beside)
    return times
