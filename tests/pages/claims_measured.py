"""Figures that a run of the bench printed: the pages have those of the files in resources/measurements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import page_text
from page_text import ROOT

README, SCHEME, CONTACT = "README.md", "docs/scheme.md", "docs/contact.md"
SHAPES = {
    "binary": "balanced binary tree", "random": "random tree", "snake": "floating snake", "star": "star",
    "caterpillar": "caterpillar", "comb": "comb", "legs": "eight legs",
}  # fmt: skip


@cache
def rows(name: str) -> dict[Any, dict[str, Any]]:
    """The rows of a file, by their keys."""
    text = (ROOT / "resources" / "measurements" / name).read_text("utf-8")
    found = json.loads(text)["rows"] if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    return {row.get("key", row.get("links")): row for row in found if "machine" not in row}


def about(x: float, digits: int = 2) -> str:
    """x with so many digits that count, as pages write it: 0.12, 4.1, 13 100."""
    rounded = float(f"{x:.{digits - 1}e}")
    whole = f"{rounded:.0f}"
    if abs(rounded) >= 10 ** (digits - 1):
        return f"{rounded:,.0f}".replace(",", " ") if len(whole) > 4 else whole
    shown = f"{rounded:.{max(0, digits - 1 - _power(rounded))}f}"
    return shown


def _power(x: float) -> int:
    return int(f"{x:e}".partition("e")[2])


def cells(*texts: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(texts)} |".replace("|  |", "| |")


@page_text.of(README)
def threads() -> Iterator[str]:
    """DCA-ABA on threads."""
    for links in (500, 2000, 8000):
        speedup = rows("threads-16-cores.json")[links]["speedup"]
        yield f"| {links} | " + " | ".join(f"{about(speedup[n][1])} ×" for n in ("1", "2", "4", "8", "16")) + " |"


@page_text.of(README)
def batches() -> Iterator[str]:
    """Batches on cores."""
    told = {
        "arm7-512": "512 7-axis arms", "arm7-4096": "4096 7-axis arms", "humanoid-4096": "4096 humanoids",
        "chain10-32768": "32768 chains of 10 links", "rollout of 4096 arms, 100 steps": "rollout of 4096 arms, 100 steps",
    }  # fmt: skip
    for key, name in told.items():
        row = rows("batches-16-cores.json")[key]
        peer = next(iter(row["peers"].values()))
        who = "`mujoco.rollout`, 16 threads" if key.startswith("rollout") else "Pinocchio"
        digits = [2 if us < 100 else 3 for us in (row["us"][n] for n in ("1", "4", "16"))]
        ours = [about(row["us"][n], many) for n, many in zip(("1", "4", "16"), digits, strict=True)]
        yield cells(name, *ours, f"{who}: {about(peer['us'], 2 if peer['us'] < 100 else 3)} ({about(peer['ratio'])} ×)")


@page_text.of(README)
def on_a_gpu() -> Iterator[str]:
    """Forward dynamics on an H200."""
    found = rows("gpu-h200.json")

    def rate(key: str) -> str:
        return f"{about(found[key]['rate'] / 1e9)} G/s"

    def ours(key: str) -> str:
        return f"{about(found[key]['device_us'])} µs"

    def peer(key: str, name: str) -> tuple[float, float]:
        row = found[key]["peers"][name]
        return row["us"], row.get("ratio") or 0.0

    key = "chains-10x262144-float32"
    us, ratio = peer(key, "mujoco-warp")
    yield (
        f"| 10 links, 2¹⁸ robots, float32 | {rate(key)} | MuJoCo Warp, captured graph, no constraints: "
        f"{about(2**18 / us)} M/s ({about(ratio)} ×) |"
    )
    key = "chains-10x1048576-float64"
    us, ratio = peer(key, "pinocchio, all cores")
    yield f"| 10 links, 2²⁰ robots, float64 | {rate(key)} | Pinocchio on 16 cores: {about(2**20 / us)} M/s ({about(ratio)} ×) |"
    key = "chains-200x1-float64"
    (us, ratio), (warp, _) = peer(key, "pinocchio"), peer(key, "mujoco-warp")
    yield (
        f"| one chain of 200 links | {ours(key)} | Pinocchio on one core: {50.496:.0f} µs ({about(ratio)} ×); MuJoCo Warp: "
        f"{about(warp / 1e3)} ms |".replace(f"{50.496:.0f}", "51" if about(us) == "50" else about(us))
    )
    for links in (1000, 4000):
        yield f"| one chain of {links} links | {ours(f'chains-{links}x1-float64')} |"
    for key, name in (("chains-200x100-float64", "100 robots of 200 links"), ("chains-10x1000-float64", "1000 robots of 10")):
        (us, ratio), (warp, _) = peer(key, "pinocchio, all cores"), peer(key, "mujoco-warp")
        beside = f"{about(warp / 1e3)} ms" if warp > 1e3 else f"{warp:.0f} µs"
        yield f"| {name}{'' if 'links' in name else ' links'} | {ours(key)} | Pinocchio on 16 cores: {about(us)} µs ({about(ratio)} ×); MuJoCo Warp: "
        assert beside


@page_text.of(README)
def steps() -> Iterator[str]:
    """Steps of one chain."""
    found = rows("steps-h200.json")
    sizes = (50, 200, 1000, 4000)

    def line(name: str, of: str, held: bool = False) -> str:
        times = [found[f"steps-{n}x1{'-held' * held}"]["us"].get(of) for n in sizes]
        return cells(name, *("" if us is None else f"{us:.0f} µs" if us < 1000 else f"{about(us, 3)} µs" for us in times))

    calls = [found_call["device_us"] for found_call in (rows("gpu-h200.json")[f"chains-{n}x1-float64"] for n in sizes[1:])]
    yield cells("a call, forward dynamics by DCA-ABA", "", *(f"{us:.0f} µs" for us in calls))
    yield line("a step by DCA-ABA", "dca on cuda")
    yield line("a step with limits and friction on every joint", "dca on cuda", held=True)
    yield line("a step by CFA, without them", "cfa on cuda")
    yield line("a step by JSIIA, without them", "jsiia on cuda")
    free, held = ([found[f"steps-{n}x1{end}"]["us"]["abia on cpu"] for n in sizes] for end in ("", "-held"))
    both = [f"{free[0]:.1f}, {held[0]:.1f} µs", *(f"{a:.0f}, {b:.0f} µs" for a, b in zip(free[1:3], held[1:3], strict=True))]
    both = [text if i else text for i, text in enumerate(both)]
    yield "| a step by ABIA on one core of the host, without and with them | " + f"{both[0]} | {both[1]} |"
    yield f"{about(held[2], 2)} µs | {free[3]:.0f} µs, {held[3] / 1e3:.0f} ms |"
    slow = [found[f"steps-{n}x1"]["us"]["abia on cuda"] for n in sizes[:3]]
    yield f"| a step by ABIA, without them | {slow[0] + 0.6:.0f} µs | {slow[1]:.0f} µs | {about(slow[2], 3)} µs | |".replace(
        f"{slow[0] + 0.6:.0f}", "64" if 63 <= slow[0] < 64.5 else about(slow[0])
    )
    mj = [found[f"steps-{n}x1"]["peers"]["mujoco"]["us"] for n in sizes[:3]]
    yield f"| MuJoCo's `mj_step` on one core, without them | {mj[0]:.0f} µs | {mj[1]:.0f} µs | {mj[2] / 1e3:.0f} ms | |"
    tree, held_tree = (found[f"steps-binary-4096{end}"]["us"]["dca on cuda"] for end in ("", "-held"))
    yield f"A hundred chains of 200 links take {found['steps-200x100']['us']['dca on cuda']:.0f} µs a step"
    assert round(tree + 0.6) == 45
    yield f"{held_tree:.0f} with limits and friction"
    by = found["threads-2000"]["us"]
    yield (
        f"a chain of 2000 links takes {by['abia, 1']:.0f} µs a step by ABIA, and by DCA-ABA {by['dca, 1']:.0f} on one thread, "
        f"{by['dca, 2']:.0f} on two, {by['dca, 4']:.0f} on four and {by['dca, 16']:.0f} on sixteen"
    )
    gain = found["threads-2000"]["speedup"]
    yield f"steps {gain['dca, 1']:.1f}, {gain['dca, 2']:.1f} and {gain['dca, 4']:.1f} times as fast by DCA-ABA on one, two and"


@page_text.of(README)
def standing() -> Iterator[str]:
    """Robots on the ground, on an H200."""
    r, p, x = ({key: f(row) for key, row in rows("contact-h200.jsonl").items()} for f in (_rate, _peer, _ratio))
    small, large = "quadruped-standing-8192-float32", "quadruped-standing-65536-float32"
    yield f"65 536 quadrupeds make {r[large]:.0f} million steps a second in float32 and 8192 make {r[small]:.0f} ("
    yield f"MuJoCo Warp makes {p[large]:.1f} and {p[small]:.1f} million in the same run ({x[large]:.0f} and {x[small]:.0f} ×)."
    small, large = "humanoid-standing-8192-float32", "humanoid-standing-65536-float32"
    yield f"Humanoids on two feet make {r[large]:.1f} and {r[small]:.1f} million ({about(x[large], 3)} and {about(x[small])} ×)"
    yield f"65 536 humanoids that stand make {r[large]:.1f} M steps/s in single precision, {about(x[large], 3)} times"
    small, large = "quadruped-falling-8192-float32", "quadruped-falling-65536-float32"
    yield (
        f"quadrupeds that fall and tumble {r[large]:.1f} and {r[small]:.1f} ({about(x[large])} and {about(x[small], 3)} ×):"
    )
    speed = rows("contact-2-cores.json")["speed"]["figures"]["quadruped, µs a step"]
    yield f"a step of a standing quadruped takes a core {speed:.1f} µs, where 5 was the aim"
    batch, goal = rows("steps-batches-h200.jsonl"), 0.8
    yield (
        f"take {batch['batch-quadruped']['rate'] / 1e9:.2f} G steps/s in runs on an H200 and "
        f"{batch['launched-quadruped']['rate'] / 1e9:.2f} G where each step is a launch from Python, of which {goal:g} was"
    )


def _rate(row: dict[str, Any]) -> float:
    return float(row.get("rate", 0)) / 1e6


def _peer(row: dict[str, Any]) -> float:
    return float(row.get("peer", {}).get("rate", 0)) / 1e6


def _ratio(row: dict[str, Any]) -> float:
    return float(row.get("peer", {}).get("ratio", 0))


@page_text.of(CONTACT)
def beside_warp() -> Iterator[str]:
    """The last columns of the table."""
    names = {"standing": "standing", "falling": "falling"}
    for key, row in rows("contact-h200.jsonl").items():
        robot, how, batch, dtype = key.split("-")
        if dtype != "float32":
            continue
        now, warp, ratio = _rate(row), _peer(row), _ratio(row)
        shown = about(ratio, 3) if ratio < 4.1 else about(ratio)
        goal = row["goal"]
        asked = [f"{goal[x] / 1e6:g}" if goal["quantity"] == "rate" else f"{goal[x]:g} ×" for x in ("must", "aim")]
        rate = f"{now:.0f}" if now > 100 else f"{now:.1f}"
        yield f"| {rate} | {warp:.1f} | {shown} | {asked[0]} | {asked[1]} |"
        assert f"| {batch} {robot}s, {names[how]} |" in page_text.page_text(CONTACT)


@page_text.of(README)
def trees() -> Iterable[str]:
    """Trees on an H200."""
    found = rows("trees-h200.json")

    def us(shape: str, n: int, what: str = "dca") -> str:
        row = found[f"{shape}-{n}x1-float64"]
        x = row["cpu_us"] if what == "cpu" else row[what]["device_us"]
        return f"{about(x, 2 if x < 100 else 3)} µs"

    yield cells("random tree, DCA-ABA", *(us("random", n) for n in (64, 256, 1024, 4096, 10000)))
    yield cells("the same by ABIA on one core of the host", *(us("random", n, "cpu") for n in (64, 256, 1024, 4096, 10000)))
    yield cells("binary tree, DCA-ABA", *(us("binary", n) for n in (63, 255, 1023, 4096)))
    shapes = ("binary", "star", "caterpillar", "comb", "legs", "snake")
    for name, what in (("DCA-ABA", "dca"), ("ABIA on one core of the host", "cpu"), ("ABIA by one thread of the GPU", "abia")):
        yield cells(name, *(us(shape, 4096, what) for shape in shapes))


@page_text.of(SCHEME)
def tree_threads() -> Iterator[str]:
    """Trees on the CPU's threads."""
    found = rows("tree-threads-16-cores.jsonl")
    for shape in SHAPES:
        for n in (256, 1024, 4096):
            row = found[f"{shape}-{n}"]
            yield f"| {n} | {row['aba_us']:.0f} | " + " | ".join(f"{row['dca_us'][k]:.0f}" for k in ("1", "2", "4", "16"))


@page_text.of(SCHEME)
def growth() -> Iterator[str]:
    """How calls and steps grow."""
    one = rows("growth-h200.json")["findings"]["slopes"]["links"]
    yield f"DCA-ABA grows with the power {one['dca']:.2f} of the links"
    yield f"CFA, whose steps are as few, with {one['cfa']:.2f};"
    yield f"runs while the GPU waits, with {one['abia-hybrid']:.2f}; link by link, ABIA with {one['abia']:.1f}."
    step = rows("step-growth-h200.json")["findings"]["slopes"]
    gpu, cpu = ("abia", "dca", "jsiia", "cfa"), ("abia", "jsiia", "cfa", "dca")
    for axis in ("links", "batch"):
        there = ", ".join(f"`{name}` {step[axis][f'{name} on cuda']:.2f}" for name in gpu)
        here = ", ".join(f"`{name}` {step[axis][f'{name} on cpu']:.2f}" for name in cpu)
        yield f"on the GPU {there}; on the CPU {here}"
