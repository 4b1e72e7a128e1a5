"""Robots on the ground on the GPU compared with goals: steps per second, standing and falling, and MuJoCo Warp."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine import files
from engine.bench.peers.peer import or_missing
from engine.bench.results import NONE, Rows, measured_rows
from engine.bench.suites.gpu import Goal
from engine.cuda.runtime import clock, device
from engine.device_arrays import to_host
from engine.holding import holding_gains
from engine.scene import Scene, put_down
from engine.scene.contact_tolerances import ACCEPTED_RESIDUAL_SINGLE
from engine.simulation import Simulation
from engine.validation import Array
from tests.bench import warp_contact
from tests.bench.contact_cases import DT, robot

SETTLE, STEPS, RUNS = 1000, 400, 3
"""Settling steps of standing robots; steps of a run, one launch; runs, for the median."""
HEIGHT = 0.2
"""m above the ground from which robots fall, limp, in random postures and turned at random."""
ALIKE = 200
"""Number of steps after which single robots and those in a batch must agree bit for bit."""
LAWFUL = {"float32": ACCEPTED_RESIDUAL_SINGLE, "float64": 1e-8}
"""The residual that is asked of a step."""


class ContactCase(NamedTuple):
    """A batch of one robot that stands, falls, or stands without ground ("plain")."""

    robot: str
    how: str
    batch: int
    dtype: str

    @property
    def key(self) -> str:
        """The row's."""
        return f"{self.robot}-{self.how}-{self.batch}-{self.dtype}"


BATCHES = (8192, 65536)
_RACES = (("quadruped", "falling"), ("humanoid", "standing"))
WORKS = (
    *(ContactCase("quadruped", "standing", batch, "float32") for batch in BATCHES),
    *(ContactCase(name, how, batch, "float32") for batch in BATCHES for name, how in _RACES),
    *(ContactCase(name, "standing", batch, "float64") for batch in BATCHES for name in ("quadruped", "humanoid")),
    *(ContactCase(name, "plain", 65536, "float32") for name in ("quadruped", "humanoid")),
)
"""In order of priority, in case a run is interrupted."""
MAX_ROWS = len(WORKS) + 1
GOALS: Mapping[str, Goal] = {
    **{work.key: Goal("ratio", 4.0, 10.0) for work in WORKS if work.dtype == "float32" and work.how != "plain"},
    "quadruped-standing-8192-float32": Goal("rate", 60e6, 120e6),
    "quadruped-standing-65536-float32": Goal("rate", 120e6, 300e6),
}
"""Times MuJoCo Warp, or steps a second of all robots."""


def run(_seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each case not finished: the `rate` of all robots by the GPU's clock, residuals, and Warp's rate.

    Every case has its runs, however long. Raises `device.NoGpu` where there is none. A row that fails holds `failure`
    in words.
    """
    device.require()
    parts = [(work.key, partial(_measured, work)) for work in WORKS] + [("alike", _alike)]
    yield from measured_rows(parts, finished)


def simulation(work: ContactCase, q: Array | None = None) -> Simulation:
    """The robots, put down on the ground and held by gains, or limp at q."""
    model, scene = robot(work.robot), Scene()
    kp, kd = holding_gains(model)
    held = work.how != "falling"
    return Simulation(
        model, work.batch, DT[work.robot], "implicit", "abia", q=put_down(model, scene, model.neutral()) if held else q,
        kp=kp if held else 0 * kp, kd=kd if held else 0 * kd, scene=None if work.how == "plain" else scene,
        device="cuda", dtype=work.dtype, timed=False,
    )  # fmt: skip


def fallen(name: str, batch: int) -> Array:
    """States (batch, nq) of robots in random postures, turned at random, above the ground; a few hundred differ."""
    rng, model, scene = np.random.default_rng(5), robot(name), Scene()
    few = np.array([put_down(model, scene, model.random(rng)) for _ in range(min(batch, 512))])
    few[:, 2] += HEIGHT
    return np.asarray(np.resize(few, (batch, model.nq)))


def _measured(work: ContactCase) -> dict[str, Any]:
    falls = work.how == "falling"
    q = fallen(work.robot, work.batch) if falls else None
    robots = simulation(work, q)
    if not falls:
        robots.v[:] = robots.array(0.05 * np.random.default_rng(5).standard_normal(robots.v.shape))
        robots.step(SETTLE)
        robots.check()
    times, residuals, numbers = [], np.zeros(work.batch), np.zeros(0)
    for _ in range(RUNS):
        if falls:
            robots.reset(q)
        clock.synchronize()
        times.append(clock.device_seconds(lambda: robots.step(STEPS)))
        if (found := robots.contacts) is not None:
            worst, numbers = (np.array(to_host(x), float) for x in (found.worst, found.number))
            residuals = np.maximum(residuals, worst)
    robots.check()
    step = float(np.median(times)) / STEPS
    row: dict[str, Any] = work._asdict() | {"us": step * 1e6, "rate": work.batch / step}
    if numbers.size:
        row |= {
            "contacts": float(numbers.mean()),
            "worst": float(residuals.max()),
            "robots lawful in all steps, %": 100 * float(np.mean(residuals <= LAWFUL[work.dtype])),
        }
    if work.dtype == "float32" and work.how != "plain":
        row["peer"] = or_missing(partial(_beside, work, q, row["rate"]))
    if (goal := GOALS.get(work.key)) and goal.quantity in (found := row | row.get("peer", {}) | {"rate": row["rate"]}):
        row["goal"] = goal.verdict(found)
    return row


def _beside(work: ContactCase, q: Array | None, ours: float) -> dict[str, Any]:
    model = robot(work.robot)
    kp, kd = holding_gains(model)
    held = work.how != "falling"
    path, mu = files.find_robot(work.robot), Scene().friction
    gains = (kp, kd) if held else (0 * kp, 0 * kd)
    peer = warp_contact.OnGround(path, *gains, DT[work.robot], mu, work.batch, model, q)
    rate = work.batch / peer.seconds(STEPS, RUNS)
    return {"rate": rate, "ratio": ours / rate, "how": warp_contact.HOW, "heights apart": peer.heights()}


def _alike() -> dict[str, Any]:
    """Robots of a batch of 8192 that are pushed, and the same alone: how many end in other bits, in either type."""
    differ = {}
    for dtype in LAWFUL:
        work = ContactCase("quadruped", "standing", BATCHES[0], dtype)
        push = 0.3 * np.random.default_rng(6).standard_normal((work.batch, robot(work.robot).nv))
        together = simulation(work)
        together.v[:] = together.array(push)
        together.step(ALIKE)
        end, places = to_host(together.q), range(0, work.batch, work.batch // 7)
        count = 0
        for place in places:
            alone = simulation(work._replace(batch=1))
            alone.v[:] = alone.array(push[place])
            alone.step(ALIKE)
            count += not np.array_equal(to_host(alone.q)[0], end[place])
        differ[dtype] = count
    return {"robots that differ": differ, "compared": len(places)}


def line(row: dict[str, Any]) -> str:
    """A row in words, as it is said once it is there."""
    if "failure" in row:
        return f"{row['key']}: failed: {row['failure']}"
    if "rate" not in row:
        return f"{row['key']}: robots that differ {row['robots that differ']} of {row['compared']}"
    reported = f"{row['rate'] / 1e6:,.1f} M steps/s, {row['us']:.4g} µs a step of all"
    if "worst" in row:
        share = row["robots lawful in all steps, %"]
        reported += f"; {row['contacts']:.3g} contacts, residual {row['worst']:.1e}, {share:.4g} % lawful in all steps"
    if peer := row.get("peer"):
        theirs = f"{peer['rate'] / 1e6:,.1f} M, ours {peer['ratio']:.3g} ×" if "rate" in peer else peer["missing"]
        reported += f"; MuJoCo Warp {theirs}"
    if goal := row.get("goal"):
        reported += f"; {goal['met']} met of {goal['quantity']} must {goal['must']:g}, aim {goal['aim']:g}"
    return f"{row['key']}: {reported}"
