"""Contact on the CPU compared with its goals: residuals, sticking, sliding, rebounds, and times."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine import files
from engine.bench import timer
from engine.bench.peers.peer import or_missing
from engine.bench.results import NONE, Rows
from engine.holding import holding_gains
from engine.scene import Scene
from tests.bench import contact_bodies as bodies
from tests.bench import contact_cases as cases
from tests.bench import contact_scenes as scenes
from tests.bench import mujoco_contact

RESIDUALS = tuple((robot, how) for robot in ("quadruped", "humanoid") for how in ("standing", "pushed", "falling"))
RAMPS = (("box", 0.8), ("quadruped", 0.3))


class Must(NamedTuple):
    """The required upper or lower bound of a figure, and the more ambitious aim, if any."""

    bound: float
    aim: float | None = None
    least: bool = False

    def met(self, found: float) -> str:
        """Return the goal that `found` meets: "aim", "must" or "nothing"."""
        sign = -1 if self.least else 1
        if self.aim is not None and sign * found <= sign * self.aim:
            return "aim"
        return "must" if sign * found <= sign * self.bound else "nothing"

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.bound:g}"


_LAW = {"share ≤ 1e-8, %": Must(99.9, 100.0, True), "worst": Must(1e-4, 1e-9)}
_RAMP = {"drift in 60 s, m": Must(1e-7, 1e-9), "acceleration, % off": Must(0.5, 0.1)}
MUSTS: Mapping[str, Mapping[str, Must]] = {
    **{f"residuals-{robot}-{how}": _LAW for robot, how in RESIDUALS},
    "residuals-rods": {"worst": Must(1e-8)},
    "residuals-snake": {"worst": Must(1e-3, 1e-6)},
    **{f"ramp-{name}": _RAMP for name, _ in RAMPS},
    "stopping": {"% off at 1 ms": Must(0.5), "spread at 1 ms, relative": Must(1e-6)},
    "bounces": {f"e {e:g} at {dt} ms, %": Must(1.0) for dt in ("1", "0.1") for e in (0.0, 0.5, 1.0)},
    "impacts": {f"energy gained at e {e:g}": Must(1e-9) for e in (0.5, 1.0)},
    "scenes": {case.name: Must(1.0 if case.name.endswith("%") else 1e-7) for case in scenes.CASES},
    "held-humanoid": {"drift in 60 s, m": Must(1e-4, 1e-6)},
    "stack": {"drift in 60 s, m": Must(1e-4), "worst": Must(1e-4, 1e-6)},
    "pinch": {"creep, m/s": Must(1e-8, 1e-12), "worst": Must(1e-4, 1e-9)},
    "wedge": {"worst": Must(1e-4, 1e-8)},
    "corners": {"worst": Must(1e-4, 1e-8)},
    "pushed": {"force, % off": Must(0.1), "speed, % off": Must(0.1)},
    "strikes": {f"energy gained at e {e:g}": Must(1e-9) for e in (0.5, 1.0)},
    "alike": {"robots that differ": Must(0)},
    "speed": {"quadruped, µs a step": Must(8, 5)},
}
"""The goal of each figure."""
TITLES: Mapping[str, str] = {
    **{f"residuals-{robot}-{how}": f"{robot}, {how}" for robot, how in RESIDUALS},
    "residuals-rods": "200 rods sliding, μ = 2", "residuals-snake": "two limp snakes of 50 links",
    **{f"ramp-{name}": f"{name} on a ramp, μ = {mu}" for name, mu in RAMPS},
    "stopping": "flat box pushed off in 16 directions", "bounces": "ball that falls by 0.5 m",
    "impacts": "10⁵ random impacts", "scenes": "off its closed form", "held-humanoid": "humanoid held by gains",
    "stack": "box on a box, 1 to 1000 times as heavy", "pinch": "capsule pinched with 20 times what holds it",
    "wedge": "wedge of 20° between two walls", "corners": "50 bodies on eight corners, pushed",
    "pushed": "box pushed by the ball of a slide", "strikes": "10⁴ heaps of four bodies that strike",
    "alike": "quadrupeds alone, in a batch of 256, and again", "speed": "standing, on one core",
}  # fmt: skip
"""Rows in words."""


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each case not finished: its `figures`, and under `musts` what was asked of them and what is met.

    `peers` holds MuJoCo's figures of the same, or why they are missing. `seconds` are those of the timed row.
    """
    for key, measure in _parts(seconds):
        if key in finished:
            yield finished[key]
            continue
        figures, wanted = measure(), MUSTS.get(key, {})
        row = {"key": key, "figures": figures}
        row["musts"] = {name: {"must": str(m), "aim": m.aim, "met": m.met(figures[name])} for name, m in wanted.items()}
        if key in PEERS:
            row["peers"] = {"mujoco": or_missing(partial(PEERS[key], seconds))}
        yield row


def _parts(seconds: float) -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    return [
        *((f"residuals-{robot}-{how}", partial(cases.residuals, robot, how)) for robot, how in RESIDUALS),
        ("residuals-rods", cases.rods),
        ("residuals-snake", cases.snake),
        *((f"ramp-{name}", partial(cases.ramp, name, mu)) for name, mu in RAMPS),
        ("stopping", cases.stopping),
        ("bounces", cases.bounces),
        ("impacts", cases.impacts),
        ("scenes", partial(scenes.off, scenes.ours)),
        ("held-humanoid", cases.held),
        ("stack", bodies.stack),
        ("pinch", bodies.pinch),
        ("wedge", bodies.wedge),
        ("corners", bodies.corners),
        ("pushed", bodies.pushed),
        ("strikes", bodies.strikes),
        ("alike", cases.alike),
        ("speed", partial(cases.speed, seconds)),
    ]


MAX_ROWS = len(_parts(1.0))


def _box_beside(_seconds: float) -> dict[str, Any]:
    mu = dict(RAMPS)["box"]
    tilt = float(np.arctan(mu * (1 - cases.NEAR_SLIP)))
    return {"drift in 60 s, m": mujoco_contact.box_on_ramp(mu, tilt, cases.INERTIA, 10.0, cases.HELD)}


def _stopping_beside(_seconds: float) -> dict[str, Any]:
    mu, speed, angles = 0.5, 2.0, np.arange(16) * np.pi / 8
    ways = mujoco_contact.stopping(mu, speed, cases.INERTIA, 1e-3, angles)
    return {
        "% off at 1 ms": 100 * float(np.abs(ways / (speed**2 / (2 * mu * cases.G)) - 1).max()),
        "spread at 1 ms, relative": float(np.ptp(ways) / ways.mean()),
    }


def _scenes_beside(_seconds: float) -> dict[str, Any]:
    return scenes.off(scenes.mujoco)


def _speed_beside(seconds: float) -> dict[str, Any]:
    """The quadruped's µs a step, and ours in turns with it."""
    kp, kd = holding_gains(cases.robot("quadruped"))
    path = files.find_robot("quadruped")
    step, data = mujoco_contact.standing(path, kp, kd, cases.DT["quadruped"], Scene().friction)
    ours = cases.standing("quadruped", Scene(), threads=1)
    ours.step(1000)
    samples = timer.alternate([(step, 1), (ours.step, 1)], 2 * seconds)
    return {
        "quadruped, µs a step": float(np.median(samples[0])) * 1e6,
        "times ours, in turns": float(np.median(samples[0] / samples[1])),
        "contacts": int(data.ncon),
    }


PEERS: Mapping[str, Callable[[float], dict[str, Any]]] = {
    "ramp-box": _box_beside, "stopping": _stopping_beside, "scenes": _scenes_beside, "speed": _speed_beside,
}  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """A row in words, as it is said once it is there."""
    shown = "; ".join(f"{name} {_words(value)}" for name, value in row["figures"].items())
    missed = [name for name, wanted in row["musts"].items() if wanted["met"] == "nothing"]
    return f"{row['key']}: {shown}" + (f"; FALLS SHORT in {', '.join(missed)}" if missed else "")


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{count} {text}" for text, count in value.items() if count)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


_VERDICTS = {"nothing": "**no**", "must": "yes", "aim": "yes, and the aim"}
"""What the tables say of a figure, from the worst on."""


def markdown(rows: list[dict[str, Any]]) -> str:
    """Two tables: residuals by bins, steps by case; and every other figure with its must and MuJoCo's."""
    bins = list(cases.BINS)
    first = [
        f"| residuals | steps | {' | '.join(bins)} | worst | must | share ≤ 1e-8, must | met |",
        "| --- |" + " ---: |" * 9 + " --- |",
    ]
    second = ["| figure | found | must | met | MuJoCo |", "| --- | ---: | ---: | --- | ---: |"]
    for row in rows:
        figures, musts, title = row["figures"], row["musts"], TITLES[row["key"]]
        if "histogram" in figures:
            counts = (str(figures["histogram"][name]) for name in bins)
            share = next((f"{m['must'][2:]} %" for name, m in musts.items() if "share" in name), "")
            worst = f"{figures['worst']:.1e} | {musts['worst']['must']}"
            met = min((m["met"] for m in musts.values()), key=list(_VERDICTS).index)
            first.append(
                f"| {title} | {figures['steps']} | {' | '.join(counts)} | {worst} | {share} | {_VERDICTS[met]} |"
            )
            continue
        peer = row.get("peers", {}).get("mujoco", {})
        for name, value in figures.items():
            wanted, theirs = musts.get(name), peer.get(name)
            must, met = (wanted["must"], _VERDICTS[wanted["met"]]) if wanted else ("", "")
            beside = _words(theirs) if theirs is not None else peer.get("missing", "") if wanted else ""
            second.append(f"| {title}: {name} | {_words(value)} | {must} | {met} | {beside} |")
    return "\n".join([*first, "", *second, ""])
