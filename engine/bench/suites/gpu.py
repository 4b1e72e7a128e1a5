"""The suite `gpu`: the GPU's figures, each beside its peers in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from engine.bench import gpu_timing
from engine.bench.gpu_timing import OnDevice, Timed
from engine.bench.peers import jaxsim, mujoco, pinocchio
from engine.bench.peers.peer import Timing, or_missing
from engine.bench.results import NONE, Part, Rows, measured_rows
from engine.bench.states import State, state
from engine.bench.suites import first_answers, swarm
from engine.cuda.runtime import device
from engine.model import Model, generate
from engine.selection.choice import MAX_RESIDUAL

RACE = (2, 4, 8, 12, 16, 20, 25, 32, 40, 50, 64, 100)
"""Lengths at which one call from Python is compared with Pinocchio on one core."""


class Goal(NamedTuple):
    """The goal for a quantity: a minimum if `aim` is above `must`, else a maximum."""

    quantity: str
    must: float
    aim: float

    def verdict(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the goal, and whether a row meets "aim", "must" or "nothing"."""
        value, sign = row[self.quantity], 1 if self.aim > self.must else -1
        met = [value is not None and sign * value >= sign * bound for bound in (self.aim, self.must)]
        return {**self._asdict(), "met": "aim" if met[0] else "must" if met[1] else "nothing"}


class ChainCase(NamedTuple):
    """Forward dynamics of chains: numbers of links and robots, algorithms, and peers."""

    links: int
    batch: int
    dtype: str
    algorithms: tuple[str, ...]
    peers: tuple[str, ...]
    goal: Goal

    @property
    def key(self) -> str:
        """The row's name, the same in every run."""
        return f"chains-{self.links}x{self.batch}-{self.dtype}"


LIBRARIES = ("mujoco-warp", "mjx", "jaxsim")
WORKS = (
    ChainCase(10, 1 << 18, "float32", ("abia",), (*LIBRARIES, "pinocchio, all cores"), Goal("rate", 1.6e9, 2.6e9)),
    ChainCase(10, 1 << 20, "float64", ("abia",), ("pinocchio, all cores", "pinocchio"), Goal("rate", 0.9e9, 1.5e9)),
    ChainCase(200, 1, "float64", ("dca",), ("pinocchio", "mujoco-warp"), Goal("device_us", 22, 12)),
    ChainCase(1000, 1, "float64", ("dca",), (), Goal("device_us", 30, 16)),
    ChainCase(4000, 1, "float64", ("dca",), (), Goal("device_us", 60, 32)),
    ChainCase(200, 100, "float64", ("dca", "abia"), ("pinocchio, all cores", "mujoco-warp"), Goal("device_us", 60, 30)),
    ChainCase(10, 1000, "float64", ("abia", "dca"), ("pinocchio, all cores", "mujoco-warp"), Goal("device_us", 15, 8)),
)
PEERS: Mapping[str, Callable[[Model, State, float], Timing]] = {
    "pinocchio": pinocchio.one_core,
    "pinocchio, all cores": pinocchio.all_cores,
    "mujoco-warp": mujoco.on_warp,
    "mjx": mujoco.on_mjx,
    "jaxsim": jaxsim.on_jaxsim,
}


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """Yield the rows, finished ones unchanged, with about `seconds` of calls for each candidate.

    Raises `device.NoGpu`, with the reason, if no GPU can be used. A row that fails has `failure` in words.
    """
    device.require()
    parts: list[Part] = [
        *((case.key, partial(_forward, case, seconds)) for case in WORKS),
        ("race", partial(_race, seconds)),
        ("simulation", partial(swarm.run, seconds)),
        ("first-answer", partial(first_answers.run, seconds)),
    ]
    yield from measured_rows(parts, finished)


def _forward(case: ChainCase, seconds: float) -> dict[str, Any]:
    model = generate.chain(case.links)
    at = state(model, np.random.default_rng(), case.batch)
    robots = OnDevice.of(model, at, case.dtype)
    ours = [gpu_timing.time_algorithm(robots, name, seconds) for name in case.algorithms]
    best = min(ours, key=lambda timed: timed.device)
    there, back = gpu_timing.copies(at, case.dtype)
    row = {
        "links": case.links,
        "batch": case.batch,
        "dtype": case.dtype,
        **best.row(),
        "rate": case.batch / best.device,
        "copy_there_us": there * 1e6,
        "copy_back_us": back * 1e6,
        "others": [timed.row() for timed in ours if timed is not best],
    }
    accurate = best.residual <= MAX_RESIDUAL[case.dtype]
    beside = {name: or_missing(partial(_compare_peer, PEERS[name], model, at, seconds, best)) for name in case.peers}
    return {**row, "accurate": accurate, "goal": case.goal.verdict(row), "peers": beside}


def _compare_peer(
    peer: Callable[[Model, State, float], Timing], model: Model, at: State, seconds: float, best: Timed
) -> dict[str, Any]:
    """Return a peer's figures, with the ratios of its time to ours on the device and including the wait."""
    timing = peer(model, at, seconds)
    row = {"us": timing.seconds * 1e6, "how": timing.how, "first_s": timing.first, "residual": timing.residual}
    if not timing.residual <= MAX_RESIDUAL["float32"]:
        return {**row, "missing": "it computes something else, or too inaccurately"}
    return {**row, "ratio": timing.seconds / best.device, "ratio_call": timing.seconds / best.call}


def _race(seconds: float) -> dict[str, Any]:
    """Compare, by length, one call from Python including the wait with Pinocchio's on one core."""
    points = []
    for links in RACE:
        model = generate.chain(links)
        at = state(model, np.random.default_rng())
        robots = OnDevice.of(model, at, "float64")
        ours = [gpu_timing.time_algorithm(robots, name, seconds / len(RACE)) for name in ("dca", "abia")]
        theirs = pinocchio.one_core(model, at, seconds / len(RACE))
        points.append(
            {
                "links": links,
                "pinocchio_us": theirs.seconds * 1e6,
                **{name: min(getattr(x, name) for x in ours) * 1e6 for name in ("call", "queued", "device")},
            }
        )
    row: dict[str, Any] = {"points": points}
    for name in ("call", "queued", "device"):
        row[f"links_{name}"] = overtakes([(p["links"], p[name] < p["pinocchio_us"]) for p in points])
    return {**row, "goal": Goal("links_call", 50, 25).verdict(row)}


def overtakes(points: list[tuple[int, bool]]) -> int | None:
    """Return the smallest length from which all longer ones are won; None if the longest is lost."""
    won = None
    for links, ahead in reversed(points):
        if not ahead:
            break
        won = links
    return won


def line(row: dict[str, Any]) -> str:
    """Describe a row, for printing when it is done."""
    if "failure" in row:
        return f"{row['key']}: failed: {row['failure']}"
    goal = row.get("goal")
    requested = f"; must {_short(goal['must'])}, aim {_short(goal['aim'])}: {goal['met']} met" if goal else ""
    if "device_us" in row:
        beside = "".join(f"; {name}: {_ratios(peer)}" for name, peer in row["peers"].items())
        times = f"{row['device_us']:.4g} µs on the device, {row['call_us']:.4g} µs a call, {row['rate']:.4g} robots/s"
        return f"{row['key']} by {row['algorithm']}: {times}{requested}{beside}"
    facts = [f"{name} {_short(value)}" for name, value in row.items() if isinstance(value, int | float | None)]
    beside = "".join(f"; {name}: {_ratios(peer)}" for name, peer in row.get("peers", {}).items())
    return f"{row['key']}: {', '.join(facts)}{requested}{beside}"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"


def _ratios(peer: Mapping[str, Any]) -> str:
    ratios = [f"{name} {value:.3g} ×" for name, value in peer.items() if name.startswith("ratio")]
    return ", ".join(ratios) or f"{peer['missing']}"


def table(rows: list[dict[str, Any]], line: Callable[[dict[str, Any]], str] = line) -> Table:
    """Format the rows: the text of `line` for each."""
    shown = Table("work", "figures", box=None, pad_edge=False)
    for row in rows:
        key, _, text = line(row).partition(": ")
        shown.add_row(key, text)
    return shown
