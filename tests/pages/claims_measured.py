"""Figures that a run of the bench printed: the pages state those of measured.json, with command, machine and date."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import page_text
from page_text import ROOT

from tests.bench import contact, real_robots

MEASURED, ALGORITHMS, CONTACT = "docs/measured.md", "docs/measured_algorithms.md", "docs/measured_contact.md"
SHAPES = {
    "binary": "balanced binary tree", "random": "random tree", "snake": "floating snake", "star": "star",
    "caterpillar": "caterpillar", "comb": "comb", "legs": "eight legs",
}  # fmt: skip


@cache
def runs() -> dict[str, dict[str, Any]]:
    """Return the measurements by run: command, machine, date, and the rows that pages state."""
    text = (ROOT / "tests" / "pages" / "measured.json").read_text("utf-8")
    return dict(json.loads(text))


def rows(name: str) -> dict[str, Any]:
    """The rows of a run, by their keys."""
    return dict(runs()[name]["rows"])


def listed(name: str) -> list[dict[str, Any]]:
    """The rows of a run as the bench prints them, with their keys."""
    return [{"key": key} | row for key, row in rows(name).items()]


def made_by(name: str) -> str:
    """Return a page's statement of its figures' source."""
    run = runs()[name]
    return f"`{run['command']}`, {run['machine']}, {run['date']}"


MADE_BY = {
    MEASURED: ("threads-16-cores", "batches-16-cores", "gpu-h200", "steps-h200", "window-2-cores"),
    ALGORITHMS: ("trees-h200", "tree-threads-16-cores", "growth-h200", "step-growth-h200"),
    CONTACT: ("contact-2-cores", "contact-h200", "real-robots-2-cores", "real-robots-h100"),
    "docs/papers.md": ("papers-h200",),
}
"""The runs whose figures a page has."""


def _made_by(page: str) -> page_text.Claims:
    def made() -> Iterator[str]:
        yield from map(made_by, MADE_BY[page])

    return made


for _page in MADE_BY:
    page_text.of(_page)(_made_by(_page))


def about(x: float, digits: int = 2) -> str:
    """Round x to `digits` significant digits, as pages write it: 0.12, 4.1, 13 100."""
    rounded = float(f"{x:.{digits - 1}e}")
    whole = f"{rounded:.0f}"
    if abs(rounded) >= 10 ** (digits - 1):
        return f"{rounded:,.0f}".replace(",", " ") if len(whole) > 4 else whole
    return f"{rounded:.{max(0, digits - 1 - _power(rounded))}f}"


def _power(x: float) -> int:
    return int(f"{x:e}".partition("e")[2])


def cells(*texts: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(texts)} |".replace("|  |", "| |")


@page_text.of(MEASURED)
def threads() -> Iterator[str]:
    """DCA-ABA on threads."""
    for links in (500, 2000, 8000):
        speedup = rows("threads-16-cores")[str(links)]["speedup"]
        yield f"| {links} | " + " | ".join(f"{about(speedup[n][1])} ×" for n in ("1", "2", "4", "8", "16")) + " |"


@page_text.of(MEASURED)
def batches() -> Iterator[str]:
    """Batches on cores."""
    told = {
        "arm7-512": "512 7-axis arms", "arm7-4096": "4096 7-axis arms", "humanoid-4096": "4096 humanoids",
        "chain10-32768": "32768 chains of 10 links", "rollout of 4096 arms, 100 steps": "rollout of 4096 "
        "arms, 100 steps",
    }  # fmt: skip
    for key, name in told.items():
        row = rows("batches-16-cores")[key]
        peer = next(iter(row["peers"].values()))
        who = "`mujoco.rollout`, 16 threads" if key.startswith("rollout") else "Pinocchio"
        digits = [2 if us < 100 else 3 for us in (row["us"][n] for n in ("1", "4", "16"))]
        ours = [about(row["us"][n], many) for n, many in zip(("1", "4", "16"), digits, strict=True)]
        yield cells(name, *ours, f"{who}: {about(peer['us'], 2 if peer['us'] < 100 else 3)} ({about(peer['ratio'])} ×)")


@page_text.of(MEASURED)
def on_a_gpu() -> Iterator[str]:
    """Forward dynamics on an H200."""
    found = rows("gpu-h200")
    rate = {key: f"{about(row['rate'] / 1e9)} G/s" for key, row in found.items() if "rate" in row}
    ours = {key: f"{about(row['device_us'])} µs" for key, row in found.items() if "device_us" in row}

    def peer(key: str, name: str) -> tuple[float, str]:
        row = found[key]["peers"][name]
        return row["us"], f"({about(row['ratio'])} ×)"

    key = "chains-10x262144-float32"
    us, ratio = peer(key, "mujoco-warp")
    beside = f"MuJoCo Warp, captured graph, no constraints: {about(2**18 / us)} M/s {ratio}"
    yield cells("10 links, 2¹⁸ robots, float32", rate[key], beside)
    key = "chains-10x1048576-float64"
    us, ratio = peer(key, "pinocchio, all cores")
    yield cells("10 links, 2²⁰ robots, float64", rate[key], f"Pinocchio on 16 cores: {about(2**20 / us)} M/s {ratio}")
    for links in (1000, 4000):
        yield f"| one chain of {links} links | {ours[f'chains-{links}x1-float64']} |"
    for key, name, on, who in (
        ("chains-200x1-float64", "one chain of 200 links", "pinocchio", "one core"),
        ("chains-200x100-float64", "100 robots of 200 links", "pinocchio, all cores", "16 cores"),
        ("chains-10x1000-float64", "1000 robots of 10 links", "pinocchio, all cores", "16 cores"),
    ):
        us, ratio = peer(key, on)
        warp = found[key]["peers"]["mujoco-warp"]["us"]
        warp_time = f"{about(warp / 1e3)} ms" if warp > 1e3 else f"{int(warp)} µs"
        yield cells(name, ours[key], f"Pinocchio on {who}: {about(us)} µs {ratio}; MuJoCo Warp: {warp_time}")
    race, arms, first = found["race"], found["simulation"], found["first-answer"]
    assert race["links_call"] is None
    yield cells(
        "links from which one chain is faster than by Pinocchio on one core", str(race["links_device"]),
        f"{race['links_queued']} for calls from Python one after the other",
    )  # fmt: skip
    warp = arms["peers"]["mujoco-warp"]
    assert arms["robots"] == 10**5
    yield cells(
        f"{arms['steps']} steps of 10⁵ arms of 7 joints, {arms['dtype']}, without friction and limits",
        f"{arms['device_s'] * 1e3:.0f} ms", f"MuJoCo Warp: {warp['device_s']:.2f} s ({warp['ratio']:.0f} ×)",
    )  # fmt: skip
    other = first["peers"]["mujoco-warp"]
    yield (
        f"| {first['cold_s']:.1f} s; {first['warm_s']:.1f} s | MuJoCo Warp: {other['cold_s']:.0f} s; "
        f"{other['warm_s']:.1f} s |"
    )


SIZES = (50, 200, 1000, 4000)


def step_times(of: str, held: bool = False) -> list[float | None]:
    """µs of a step of one chain, by its links."""
    found = rows("steps-h200")
    return [found[f"steps-{n}x1{'-held' * held}"]["us"].get(of) for n in SIZES]


def microseconds(us: float | None) -> str:
    """Format a time like the table of steps."""
    return "" if us is None else f"{us:.0f} µs" if us < 1000 else f"{about(us, 3)} µs"


@page_text.of(MEASURED)
def steps() -> Iterator[str]:
    """Steps of one chain."""
    yield cells("one chain", f"{SIZES[0]} links", *map(str, SIZES[1:]))
    calls = [rows("gpu-h200")[f"chains-{n}x1-float64"]["device_us"] for n in SIZES[1:]]
    yield cells("a call, forward dynamics by DCA-ABA", "", *map(microseconds, calls))
    for name, of, held in (
        ("a step by DCA-ABA", "dca on cuda", False),
        ("a step with limits and friction on every joint", "dca on cuda", True),
        ("a step by JSIIA", "jsiia on cuda", False),
        ("a step by CFA", "cfa on cuda", False),
        ("a step by ABIA, one thread", "abia on cuda", False),
    ):
        yield cells(name, *map(microseconds, step_times(of, held)))
    free, held = (step_times("abia on cpu", held) for held in (False, True))
    yield cells(
        "a step by ABIA on one core of the host, without and with limits and friction",
        f"{free[0]:.1f}, {held[0]:.1f} µs", f"{free[1]:.0f}, {held[1]:.0f} µs",
        f"{free[2]:.0f}, {about(held[2] or 0)} µs", f"{free[3]:.0f} µs, {(held[3] or 0) / 1e3:.0f} ms",
    )  # fmt: skip
    found = rows("steps-h200")
    peer = [found[f"steps-{n}x1"]["peers"]["mujoco"]["us"] for n in SIZES[:3]]
    yield cells("MuJoCo's `mj_step` on one core", *map(microseconds, peer[:2]), f"{peer[2] / 1e3:.0f} ms", "")
    warp = rows("steps-warp-h200")
    name = "MuJoCo Warp's step of ten in a captured graph, float32"
    yield cells(name, microseconds(warp["50x1"]), microseconds(warp["200x1"]), "", "")


@page_text.of(MEASURED)
def drawn() -> Iterator[str]:
    """Frames per second without a graphics card."""
    rate = rows("window-2-cores")
    arm, talos = rate["arm7 plays"], rate["Talos with meshes plays"]
    yield f"the 7-axis arm {arm:.0f} times a second on two cores, Talos {talos:.0f} times"
    assert rate["arm7's divisor of the resolution"] == rate["Talos with meshes's divisor of the resolution"] == 2
    yield "Mesa draws a moving robot at half the resolution"


@page_text.of(MEASURED)
def not_reached() -> Iterator[str]:
    """Goals, and what was measured."""
    gain = rows("steps-h200")["threads-2000"]["speedup"]
    one, two, four = (gain[f"dca, {threads}"] for threads in (1, 2, 4))
    yield f"2, 3 and 4.5 times as fast as by ABIA on one | {one:.1f}, {two:.1f} and {four:.1f} times |"
    calls = [rows("gpu-h200")[f"chains-{n}x1-float64"]["device_us"] for n in SIZES[1:]]
    yield "12, 16 and 32 µs | {:.0f}, {:.0f} and {:.0f} µs, bound by latency |".format(*calls)
    figures = {key: row["figures"] for key, row in rows("contact-2-cores").items()}
    robots = [figures[f"residuals-{name}-{how}"] for name, how in contact.RESIDUALS]
    above = sum(sum(list(found["histogram"].values())[1:]) for found in robots)
    worst = page_text.e(max(found["worst"] for found in robots))
    steps = sum(found["steps"] for found in robots)
    yield f"a residual below 1e-9 | {above} of {steps} are above it, with {worst} at most |"
    snake = figures["residuals-snake"]
    above = sum(list(snake["histogram"].values())[3:])
    yield f"leave residuals below 1e-6 | {above} of {snake['steps']} are above it |"
    aim = contact.MUSTS["speed"]["quadruped, µs a step"].aim
    yield f"a standing quadruped in {aim:g} µs | {figures['speed']['quadruped, µs a step']:.1f} µs |"
    on_a_gpu = rows("contact-h200")
    yield f"as fast as MuJoCo Warp | {about(_ratio(on_a_gpu['humanoid-standing-65536-float32']), 3)} times |"
    goals = [(row["goal"], row) for row in on_a_gpu.values() if "goal" in row]
    met = sum((row["rate"] if goal["quantity"] == "rate" else _ratio(row)) >= goal["aim"] for goal, row in goals)
    yield f"(measured_contact.md#on-a-gpu) | {met} of {len(goals)} is reached |"
    found = rows("real-robots-h100").values()
    short = sum(row["ratio"] < 3 for row in found)
    yield f"3 times as fast as MuJoCo Warp | less in {short} of {len(found)} rows |"


def _rate(row: dict[str, Any]) -> float:
    return float(row.get("rate", 0)) / 1e6


def _peer(row: dict[str, Any]) -> float:
    return float(row.get("peer", {}).get("rate", 0)) / 1e6


def _ratio(row: dict[str, Any]) -> float:
    return float(row.get("peer", {}).get("ratio", 0))


@page_text.of(CONTACT)
def beside_warp() -> Iterator[str]:
    """The robots that ship, beside MuJoCo Warp."""
    for key, row in rows("contact-h200").items():
        robot, how, batch, dtype = key.split("-")
        if dtype != "float32":
            continue
        now, warp, ratio = _rate(row), _peer(row), _ratio(row)
        shown = about(ratio, 3) if ratio < 4.1 else about(ratio)
        goal = row["goal"]
        asked = [f"{goal[x] / 1e6:g}" if goal["quantity"] == "rate" else f"{goal[x]:g} ×" for x in ("must", "aim")]
        rate = f"{now:.0f}" if now > 100 else f"{now:.1f}"
        yield cells(f"{batch} {robot}s, {how}", rate, f"{warp:.1f}", shown, *asked)


@page_text.of(CONTACT)
def robots_of_others() -> Iterator[str]:
    """The table beside MuJoCo, and the runs with the largest residuals."""
    found = rows("real-robots-2-cores")
    mujoco = runs()["real-robots-2-cores"]["version"]
    yield f"MuJoCo {mujoco.rpartition('.')[0]} takes pyramidal cones, Newton and implicitfast."

    def cell(row: dict[str, Any]) -> str:
        peer = "MuJoCo diverged" if row["blown"] else f"{row['ratio']:.2f}"
        return f"{row['us']:.1f}{', diverged' if row['diverged'] else ''} ({peer})"

    for name in real_robots.ROBOTS:
        yield cells(name, *(cell(found[f"{name}, {way}"]) for way in real_robots.WAYS))
    assert all(row["ratio"] >= real_robots.MUST for row in found.values() if not row["blown"])
    yield f"MuJoCo takes stands in brackets: {real_robots.MUST:g} or more in every row."
    over = [row for row in found.values() if row["worst"] > real_robots.LAWFUL]
    steps = real_robots.STEPS // real_robots.TOGETHER
    told_over = (
        f"{row['key'].replace(',', '')} ({row['worst']:.0e}, in {row['over'] * steps:.0f} of {steps})" for row in over
    )
    beyond = f"above {real_robots.LAWFUL:.0e} in {page_text.word(len(over))} runs"
    worst = f"The worst residual of {real_robots.TOGETHER} steps is {beyond}, "
    yield f"{worst}{' and '.join(told_over)}.".replace("e-0", "e-")


@page_text.of(CONTACT)
def robots_of_others_on_a_gpu() -> Iterator[str]:
    """The table beside MuJoCo Warp."""
    found = rows("real-robots-h100")

    def cell(key: str) -> str:
        return f"{found[key]['rate'] / 1e6:.3g} ({found[key]['ratio']:.2f})" if key in found else "–"

    columns = "standing, 8192 | walking | falling | standing, 65536 | walking | falling"
    yield f"| M steps/s, and times MuJoCo Warp | {columns} |"
    for name in dict.fromkeys(key.split(",")[0] for key in found):
        keys = [f"{name}, {way}, {batch}" for batch in (8192, 65536) for way in real_robots.WAYS]
        yield cells(name, *map(cell, keys))


@page_text.of(ALGORITHMS)
def trees_beside() -> Iterator[str]:
    """Trees on an H200, with the rounds that they take."""
    lines = (
        ("binary", 255, "balanced binary tree, 255 bodies"), ("binary", 1023, "1023"), ("binary", 4096, "4096"),
        ("random", 256, "random tree, 256 bodies"), ("random", 1024, "1024"), ("random", 4096, "4096"),
        ("snake", 200, "floating snake, 200 bodies"), ("snake", 1000, "1000"), ("snake", 4096, "4096"),
        ("star", 4096, "star, 4096 bodies"), ("caterpillar", 4096, "caterpillar, 4096"), ("comb", 4096, "comb, 4096"),
        ("legs", 4096, "eight legs, 4096"),
    )  # fmt: skip
    table = page_text.page_text(ALGORITHMS)
    for shape, n, name in lines:
        row = rows("trees-h200")[f"{shape}-{n}x1-float64"]
        times = [row["dca"]["device_us"], row["dca"]["call_us"], row["cpu_us"]]
        thread = about(row["abia"]["device_us"], 3)
        end = " | ".join([*(f"{us:.0f}" for us in times), thread])
        (rounds,) = set(re.findall(rf"\| {name} \| (\d+) \| {re.escape(end)} \|", table)) or {"?"}
        yield cells(name, rounds, end)


@page_text.of(ALGORITHMS)
def tree_threads() -> Iterator[str]:
    """Trees on the CPU's threads."""
    found = rows("tree-threads-16-cores")
    for shape in SHAPES:
        for n in (256, 1024, 4096):
            row = found[f"{shape}-{n}"]
            yield f"| {n} | {row['aba_us']:.0f} | " + " | ".join(
                f"{row['dca_us'][k]:.0f}" for k in ("1", "2", "4", "16")
            )


@page_text.of(ALGORITHMS)
def growth() -> Iterator[str]:
    """Growth of calls and steps."""
    at = rows("growth-h200")["links from which"]
    names = {"dca": "DCA-ABA", "abia-hybrid": "hybrid ABIA", "cfa": "CFA"}
    for key, name in names.items():
        than = (at.get(f"{key} is faster than {other}") for other in ("abia", "jsiia", "abia-hybrid", "pinocchio"))
        yield cells(name, *("" if links is None else f"{links:.0f}" for links in than))
    chain, many = rows("step-growth-h200")["cuda over cpu"]
    yield f"from {chain['from']:.0f} links on, {chain['at last']:.1f} times at 10⁴;"
    yield f"many chains of ten links from {many['from']:.0f} on, {many['at last']:.0f} times at 2²⁰."
    call, step = rows("growth-h200")["slopes"], rows("step-growth-h200")["slopes"]
    for name, slopes, on in (
        ("the links, a call on the GPU", call["links"], ""),
        ("the links, a step on the GPU", step["links"], " on cuda"),
        ("the links, a step on the CPU", step["links"], " on cpu"),
        ("the number of robots, a step on the GPU", step["batch"], " on cuda"),
        ("the number of robots, a step on the CPU", step["batch"], " on cpu"),
    ):
        powers = (slopes.get(each + on) for each in ("abia", "dca", "jsiia", "cfa", "abia-hybrid"))
        yield cells(name, *("" if power is None else f"{power:.2f}" for power in powers))


@page_text.of("docs/papers.md")
def papers() -> Iterator[str]:
    """The results of the full run."""
    found = rows("papers-h200")
    yield f"holds: from {found['cfa fastest from']} links on |"
    low, high = found["hybrid fastest"]
    yield f"does not hold: it is from {low} to {high} links, for one robot |"
    scan, threads = found["scan over recursion"], found["four threads"]
    yield f"it is {scan['1000']:.0f} × as fast at 1000 links, {scan['4096']:.0f} × at 4096 |"
    yield (
        f"[B]: on four processors DCA-ABA is {found['four threads, at least']} times as fast as the ABA | holds from "
        f"{found['four threads from']} links on: {threads['500']:.1f} × there, {threads['2000']:.1f} × at 2000 |"
    )
