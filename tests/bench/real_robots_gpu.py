"""Batches of third-party robots on the ground on the GPU: steps per second and residuals, beside MuJoCo Warp's.

They stand, fall limp, or walk: their gains have new random setpoints every `TOGETHER` steps. Each side measures in a
process of its own, so that a crash costs one row only.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engine.bench.peers.peer import Missing
from engine.bench.results import NONE, Rows
from engine.child_process import Child, Ended, Silence
from engine.compile import finish_compiling
from engine.cuda.runtime import clock, device
from engine.device_arrays import to_host
from engine.robot_arguments import positive
from engine.scene import Scene
from engine.scene.contact_tolerances import ACCEPTED_RESIDUAL_SINGLE
from engine.simulation import Simulation
from tests.bench import prepared_robots, warp_robots
from tests.bench.real_robots import DT, FRICTION, ROBOTS, TOGETHER

NAME = "real-robots-gpu"
WAYS = ("standing", "falling", "walking")
BATCHES = (8192, 65536)
SETTLE, STEPS, WINDOWS = {"standing": 200, "falling": 100, "walking": 200}, 100, 3
"""Steps before what is timed: those that fall touch the ground after a hundred. Steps of a window; windows, of which
the median counts."""
SETS = 8
"""Sets of targets, which follow one another in a ring."""
LIMIT = 240.0
"""Seconds that one side may take for a row, compilation included."""
MAX_WORDS = 500
"""Characters of a row's failure."""
DTYPE = {"cuda": "float32", "cpu": "float64"}
OPTIONS = ("robots", "ways", "batches", "no_peers", "from_folder", "steps", "limit", "device")


class Plan(NamedTuple):
    """Which robots, ways and batches are measured, in which order, and how.

    `folder` holds prepared robots; None: they are those of `example-robot-data`. `limit` is in s. On the device "cpu",
    which shows that all works where there is no GPU, ours are in double precision.
    """

    robots: tuple[str, ...] = tuple(ROBOTS)
    ways: tuple[str, ...] = WAYS
    batches: tuple[int, ...] = BATCHES
    peers: bool = True
    folder: Path | None = None
    steps: int = STEPS
    limit: float = LIMIT
    device: str = "cuda"

    @property
    def works(self) -> list[RobotCase]:
        """The rows that there will be."""
        return [
            RobotCase(robot, way, batch, self.steps, self.device)
            for batch in self.batches
            for robot in self.robots
            for way in self.ways
        ]


class RobotCase(NamedTuple):
    """A batch of one robot, in windows of steps."""

    robot: str
    way: str
    batch: int
    steps: int
    device: str

    @property
    def key(self) -> str:
        """The row's."""
        return f"{self.robot}, {self.way}, {self.batch}"


ALL = Plan()
MAX_ROWS = len(ALL.works)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this suite."""
    group = parser.add_argument_group(f"of --suite {NAME}")
    group.add_argument("--robots", type=_robots, metavar="go2,g1", help="those robots alone")
    group.add_argument("--ways", type=_ways, metavar="standing,falling", help="those ways alone, in this order")
    group.add_argument("--batches", type=_batches, metavar="8192,65536", help="the numbers of robots")
    group.add_argument("--no-peers", action="store_true", default=None, help="without MuJoCo Warp")
    group.add_argument(
        "--from", type=Path, dest="from_folder", metavar="FOLDER", help="take robots that --prepare wrote there"
    )
    group.add_argument(
        "--prepare", type=Path, metavar="FOLDER", help="write the robots there, for machines without example-robot-data"
    )
    group.add_argument("--steps", type=_steps, help=f"steps of a window, a multiple of {TOGETHER} (default {STEPS})")
    group.add_argument("--limit", type=positive, help=f"seconds that one side may take for a row (default {LIMIT:g})")
    group.add_argument(
        "--device", choices=("cuda", "cpu"), help="cpu: only to try the suite out where there is no GPU, --batches 4"
    )


def _robots(text: str) -> tuple[str, ...]:
    try:
        return prepared_robots.named(text.split(","))
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None


def _ways(text: str) -> tuple[str, ...]:
    ways = tuple(text.split(","))
    if not set(ways) <= set(WAYS):
        raise argparse.ArgumentTypeError(f"{text} names other ways than {', '.join(WAYS)}")
    return ways


def _batches(text: str) -> tuple[int, ...]:
    batches = tuple(map(int, text.split(",")))
    if min(batches) < 1:
        raise argparse.ArgumentTypeError(f"{text} holds a number below 1")
    return batches


def _steps(text: str) -> int:
    steps = int(text)
    if steps < TOGETHER or steps % TOGETHER:
        raise argparse.ArgumentTypeError(f"{text} is no multiple of {TOGETHER}")
    return steps


def plan(args: argparse.Namespace) -> Plan:
    """Parse the command line."""
    given = {name: getattr(args, name) for name in OPTIONS if getattr(args, name) is not None}
    if "from_folder" in given:
        given["folder"] = given.pop("from_folder")
    return Plan(peers=not given.pop("no_peers", False), **given)


def prepare(folder: Path, robots: tuple[str, ...]) -> None:
    """Write robots for machines without `example-robot-data`."""
    for name in robots:
        prepared_robots.prepare(name, folder)


def run(_seconds: float, finished: Rows = NONE, plan: Plan = ALL) -> Iterator[dict[str, Any]]:
    """A row for each robot, way and batch: the `rate` of all robots by the GPU's clock, residuals, and Warp's rate.

    A row that fails holds `failure` in words. Raises `device.NoGpu` where there is none.
    """
    if plan.device == "cuda":
        device.require()
    with ExitStack() as stack:
        folder = plan.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sides = [stack.enter_context(_Side(plan.limit)) for _ in range(2)]
        prepared = cache(lambda name: plan.folder or prepared_robots.prepare(name, folder))
        for work in plan.works:
            if work.key in finished:
                yield finished[work.key]
                continue
            row: dict[str, Any] = {"key": work.key, **work._asdict()}
            try:
                prepared(work.robot)
                row |= sides[0].answer(ours, work, folder)
            except (ValueError, RuntimeError, Ended) as fault:
                row["failure"] = _reason(fault)
            if plan.peers:
                row["peer"] = _beside(sides[1], work, folder)
                if "rate" in row and "rate" in row["peer"]:
                    row["ratio"] = row["rate"] / row["peer"]["rate"]
            yield row


class _Side:
    """A process that measures ours or the peer; if it fails, ends or times out, the next work gets a new one.

    A failure on a GPU may leave the process unusable.
    """

    def __init__(self, limit: float):
        self._limit = limit
        self._child: Child | None = None

    def __enter__(self) -> _Side:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the process, if there is one."""
        if self._child is not None:
            self._child.end()
        self._child = None

    def answer(self, function: Any, *arguments: Any) -> dict[str, Any]:
        """Return the first item of the function there. Raises RuntimeError if it fails, or Ended."""
        self._child = self._child or Child()
        until = perf_counter() + self._limit
        try:
            found = list(self._child.work(function, *arguments, stop=lambda: perf_counter() > until))
        except (Ended, RuntimeError):
            self.end()
            raise
        answers = [answer for answer in found if not isinstance(answer, Silence)]
        if not answers:
            self.end()
            raise RuntimeError(f"it took more than {self._limit:g} s")
        return dict(answers[0])


def _reason(fault: BaseException) -> str:
    """Return an exception's message; of a traceback the end, from the line that names the exception."""
    lines = str(fault).strip().splitlines() or [type(fault).__name__]
    named = [place for place, text in enumerate(lines) if re.match(r"[A-Za-z_][\w.]*: ", text)]
    return " ".join(" ".join(lines[named[-1] if named else 0 :]).split())[:MAX_WORDS]


def ours(work: RobotCase, folder: Path) -> Iterator[dict[str, Any]]:
    """Our rate and what the robots did, of one work."""
    robot = prepared_robots.read(work.robot, folder)
    kp, kd = prepared_robots.gains(robot, work.way)
    q = prepared_robots.starts(robot, work.way, work.batch)
    began = perf_counter()
    robots = Simulation(
        robot.model, work.batch, DT, "implicit", q=q, kp=kp, kd=kd, device=work.device, dtype=DTYPE[work.device],
        timed=False, on_divergence="freeze", scene=Scene(friction=FRICTION),
    )  # fmt: skip
    robots.step(1)
    robots.check()
    first = perf_counter() - began
    finish_compiling()
    robots.reset(q)
    sets = prepared_robots.targets(robot, work.way, work.batch, SETS)
    walk = _Walk(robots, [robots.array(np.broadcast_to(x, (work.batch, robot.model.nv))) for x in sets])
    walk.step(SETTLE[work.way])
    walk.looks.clear()
    times = [walk.seconds(work.steps) for _ in range(WINDOWS)]
    heights, diverged = to_host(robots.q)[:, 2], float(np.mean(to_host(robots.diverged)))
    yield {
        **_rate(work, times), "first": first, "algorithm": robots.algorithm, **walk.seen(), "diverged": diverged,
        "heights": [float(heights.min()), float(heights.max())],
    }  # fmt: skip


class _Walk:
    """Robots whose gains follow a cycle of setpoints, and their contact statistics."""

    def __init__(self, robots: Simulation, targets: list[Any]):
        self._robots, self._targets, self._rounds = robots, targets, 0
        self.looks: list[tuple[Any, ...]] = []

    def step(self, steps: int) -> None:
        """Steps, with a look at the contacts after each `TOGETHER`; nothing waits for the GPU."""
        robots = self._robots
        for _ in range(steps // TOGETHER):
            robots.target[:] = self._targets[self._rounds % len(self._targets)]
            self._rounds += 1
            robots.step(TOGETHER)
            touches = robots.contacts
            assert touches is not None
            over = (~(x <= ACCEPTED_RESIDUAL_SINGLE) for x in (touches.residual, touches.worst))
            self.looks.append((*(x.mean() for x in over), touches.number.mean(), touches.worst.max()))

    def seconds(self, steps: int) -> float:
        """Return their seconds, by the GPU's clock if there is one."""
        if self._robots.device == "cuda":
            clock.synchronize()
            return clock.device_seconds(lambda: self.step(steps))
        began = perf_counter()
        self.step(steps)
        return perf_counter() - began

    def seen(self) -> dict[str, float]:
        """Shares of residuals over what is bearable, of the steps looked at and of all robots' `TOGETHER` steps."""
        looks = np.array([[float(x) for x in look] for look in self.looks])
        over, over_together, contacts, _ = looks.mean(0)
        return {"over": over, "over_together": over_together, "contacts": contacts, "worst": looks[:, 3].max()}


def _rate(work: RobotCase, times: list[float]) -> dict[str, Any]:
    step = float(np.median(times)) / work.steps
    rates = [work.batch * work.steps / seconds for seconds in times]
    return {"rate": work.batch / step, "us": step * 1e6, "rates": rates}


def theirs(work: RobotCase, folder: Path) -> Iterator[dict[str, Any]]:
    """Return MuJoCo Warp's rate and its robots' states, for one work. Raises Missing if it is not installed."""
    robot = prepared_robots.read(work.robot, folder)
    kp, kd = prepared_robots.gains(robot, work.way)
    q = prepared_robots.starts(robot, work.way, work.batch)
    sets = prepared_robots.targets(robot, work.way, work.batch, SETS)
    setup = warp_robots.Setup(robot.path, robot.model, kp, kd, DT, FRICTION, q, sets, TOGETHER)
    found = warp_robots.measured(setup, SETTLE[work.way], work.steps, WINDOWS)
    rest = {name: value for name, value in found._asdict().items() if name != "times"}
    yield {**_rate(work, found.times), **rest, "how": warp_robots.HOW}


def _beside(side: _Side, work: RobotCase, folder: Path) -> dict[str, Any]:
    """Return MuJoCo Warp's part of a row; its failures do not affect our figures."""
    try:
        return side.answer(theirs, work, folder)
    except (ValueError, RuntimeError, Ended) as fault:
        return {"missing": _reason(fault).removeprefix(f"{Missing.__module__}.{Missing.__name__}: ")}


def line(row: dict[str, Any]) -> str:
    """A row in words, as it is said once it is there."""
    if "failure" in row:
        reported = f"failed: {row['failure']}"
    else:
        reported = f"{row['rate'] / 1e6:.3g} M steps/s, {row['contacts']:.3g} contacts, residual at most {_worst(row)}"
        reported += (
            f", {row['over']:.2%} of steps above {ACCEPTED_RESIDUAL_SINGLE:g}, first step after {row['first']:.1f} s"
        )
        reported += f"; {row['diverged']:.2%} DIVERGED" if row["diverged"] else ""
    if peer := row.get("peer"):
        reported += f"; MuJoCo Warp {_of_peer(peer)}"
    if "ratio" in row:
        reported += f", ours {row['ratio']:.3g} ×"
    return f"{row['key']}: {reported}"


def _worst(row: dict[str, Any]) -> str:
    return "not finite" if row["worst"] is None else f"{row['worst']:.1e}"


def _of_peer(peer: dict[str, Any]) -> str:
    if "missing" in peer:
        return str(peer["missing"])
    blown = f", {peer['blown']:.2%} blew up" if peer["blown"] else ""
    return f"{peer['rate'] / 1e6:.3g} M{blown}{', contacts lost' if peer['overflow'] else ''}"
