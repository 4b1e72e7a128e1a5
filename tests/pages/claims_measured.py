"""Figures that a run of the bench printed: the pages have those of measured.json, with command, machine and date.

A run with "columns" is a table, which its page has as written here; "row", of the run or of a row, is the template.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import page_text
from page_text import ROOT

from tests.bench import contact, real_robots

MEASURED, ALGORITHMS, CONTACT = "docs/measured.md", "docs/measured_algorithms.md", "docs/measured_contact.md"


class Figure(float):
    """A measured number; as "{:3/1e6}" in millions by three significant digits, as "{}" by two, above 100 by three."""

    def __format__(self, form: str) -> str:
        digits, _, unit = form.partition("/")
        x = float(self) / float(unit or 1)
        return f"{x:{digits}}" if digits[-1:].isalpha() else about(x, int(digits or 2 + (abs(x) >= 100)))


def about(x: float, digits: int) -> str:
    """Round x to `digits` significant digits, as pages write it: 0.12, 4.1, 13 100."""
    power = int(f"{x:.{digits - 1}e}".partition("e")[2])
    shown = f"{round(x, digits - 1 - power):,.{max(0, digits - 1 - power)}f}"
    return shown.replace(",", " " if power > 3 else "")


@cache
def runs() -> dict[str, dict[str, Any]]:
    """Return the measurements by run: command, machine, date, and the rows that pages state."""

    def numbered(found: dict[str, Any]) -> dict[Any, Any]:
        return {int(key) if key.isdigit() else key: value for key, value in found.items()}

    text = (ROOT / "tests" / "pages" / "measured.json").read_text("utf-8")
    return dict(json.loads(text, parse_float=Figure, object_hook=numbered))


def rows(name: str) -> dict[str, Any]:
    """The rows of a run, by their keys."""
    return dict(runs()[name]["rows"])


def listed(name: str) -> list[dict[str, Any]]:
    """The rows of a run as the bench prints them, with their keys."""
    return [{"key": key} | row for key, row in rows(name).items()]


def row(template: str, found: Mapping[str, Any], columns: Iterable[object] = (), gap: str = "") -> str:
    """A table's row: a cell with @ is there for each of `columns`, and `gap` where a cell's figure was not measured."""
    cells = []
    for cell in template.split(" | "):
        for column in columns if "@" in cell else ("",):
            try:
                cells.append(cell.replace("@", str(column)).format_map(found))
            except KeyError:
                cells.append(gap)
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def _stored(page: str) -> page_text.Claims:
    def stored() -> Iterator[str]:
        """The source of each run's figures, and the table whose rows are the run's."""
        for name, run in runs().items():
            if run.get("page") == page:
                yield f"`{run['command']}`, {run['machine']}, {run['date']}"
                if "columns" in run:
                    yield "\n".join(row((run | each)["row"], each, run["columns"]) for each in listed(name))

    return stored


for _page in sorted({run["page"] for run in runs().values() if "page" in run}):
    page_text.of(_page)(_stored(_page))


STEPS = (
    "a call, forward dynamics by DCA-ABA | {chains-@x1-float64[device_us]} µs",
    "a step by DCA-ABA | {steps-@x1[us][dca on cuda]} µs",
    "a step with limits and friction on every joint | {steps-@x1-held[us][dca on cuda]} µs",
    "a step by JSIIA | {steps-@x1[us][jsiia on cuda]} µs",
    "a step by CFA | {steps-@x1[us][cfa on cuda]} µs",
    "a step by ABIA, one thread | {steps-@x1[us][abia on cuda]} µs",
    "a step by ABIA on one core of the host, without and with limits and friction | {steps-@x1[us][abia on cpu]}, "
    "{steps-@x1-held[us][abia on cpu]} µs",
    "MuJoCo's `mj_step` on one core | {steps-@x1[peers][mujoco][us]} µs",
    "MuJoCo Warp's step of ten in a captured graph, float32 | {@x1} µs",
)


@page_text.of(MEASURED)
def steps() -> Iterator[str]:
    """Steps of one chain."""
    found, links = rows("gpu-h200") | rows("steps-h200") | rows("steps-warp-h200"), (50, 200, 1000, 4000)
    yield "| one chain | 50 links | 200 | 1000 | 4000 |"
    yield "\n".join(row(each, found, links) for each in STEPS)


@page_text.of(MEASURED)
def drawn() -> Iterator[str]:
    """Frames per second without a graphics card."""
    rate = rows("window-2-cores")
    yield f"the 7-axis arm {rate['arm7 plays']} times a second on two cores"
    yield f"Talos {rate['Talos with meshes plays']} times, in a window"
    assert rate["arm7's divisor of the resolution"] == rate["Talos with meshes's divisor of the resolution"] == 2
    yield "Mesa draws a moving robot at half the resolution"


@page_text.of(MEASURED)
def not_reached() -> Iterator[str]:
    """Goals, and what was measured."""
    gain = rows("steps-h200")["threads-2000"]["speedup"]
    yield "2, 3 and 4.5 times as fast as by ABIA on one | {dca, 1}, {dca, 2} and {dca, 4} times |".format_map(gain)
    calls = [rows("gpu-h200")[f"chains-{n}x1-float64"]["device_us"] for n in (200, 1000, 4000)]
    yield "12, 16 and 32 µs | {}, {} and {} µs, bound by latency |".format(*calls)
    figures = {key: row["figures"] for key, row in rows("contact-2-cores").items()}
    robots = [figures[f"residuals-{name}-{how}"] for name, how in contact.RESIDUALS]
    above = sum(sum(list(found["histogram"].values())[1:]) for found in robots)
    worst = page_text.e(max(found["worst"] for found in robots))
    yield f"a residual below 1e-9 | {above} of {sum(x['steps'] for x in robots)} are above it, with {worst} at most |"
    snake = figures["residuals-snake"]
    above = sum(list(snake["histogram"].values())[3:])
    yield f"leave residuals below 1e-6 | {above} of {snake['steps']} are above it |"
    aim = contact.MUSTS["speed"]["quadruped, µs a step"].aim
    yield f"a standing quadruped in {aim:g} µs | {figures['speed']['quadruped, µs a step']} µs |"
    on_a_gpu = rows("contact-h200")
    yield f"as fast as MuJoCo Warp | {on_a_gpu['humanoid-standing-65536-float32']['peer']['ratio']:3} times |"
    goals = [(row | row["peer"] | {"rate": row["rate"]}, row["goal"]) for row in on_a_gpu.values()]
    met = sum(found[goal["quantity"]] >= goal["aim"] for found, goal in goals)
    yield f"(measured_contact.md#on-a-gpu) | {met} of {len(goals)} is reached |"
    ratios = [row["ratio"] for row in rows("real-robots-h100").values()]
    yield f"3 times as fast as MuJoCo Warp | less in {sum(x < 3 for x in ratios)} of {len(ratios)} rows |"


@page_text.of(CONTACT)
def robots_of_others() -> Iterator[str]:
    """The tables beside MuJoCo and MuJoCo Warp, and the runs with the largest residuals."""
    found, on_a_gpu, ways = rows("real-robots-2-cores"), rows("real-robots-h100"), real_robots.WAYS
    assert not any(each["diverged"] or each["blown"] for each in found.values())
    reported = "{0} | {{{0}, @[us]:.1f}} ({{{0}, @[ratio]:.2f}})"
    yield "\n".join(row(reported.format(name), found, ways) for name in real_robots.ROBOTS)
    reported, names = "{0} | {{{0}, @[rate]:3/1e6}} ({{{0}, @[ratio]:.2f}})", {key.split(",")[0]: 0 for key in on_a_gpu}
    ways_on_a_gpu = [f"{way}, {batch}" for batch in (8192, 65536) for way in ways]
    yield "\n".join(row(reported.format(name), on_a_gpu, ways_on_a_gpu, gap="–") for name in names)
    yield "MuJoCo Warp | standing, 8192 | walking | falling | standing, 65536 | walking | falling |"
    mujoco = runs()["real-robots-2-cores"]["version"]
    yield f"MuJoCo {mujoco.rpartition('.')[0]} takes pyramidal cones, Newton and implicitfast."
    assert all(each["ratio"] >= real_robots.MUST for each in found.values())
    yield f"Brackets have MuJoCo's time divided by Catena's: {real_robots.MUST:g} or more in every row."
    over = [each for each in found.values() if each["worst"] > real_robots.LAWFUL]
    steps = real_robots.STEPS // real_robots.TOGETHER
    told_over = (
        f"{each['key'].replace(',', '')} ({each['worst']:.0e}, in {each['over'] * steps:.0f} of {steps})"
        for each in over
    )
    beyond = f"above {real_robots.LAWFUL:.0e} in {page_text.word(len(over))} run{'s' if len(over) > 1 else ''}"
    worst = f"The worst residual of {real_robots.TOGETHER} steps is {beyond}, "
    yield f"{worst}{' and '.join(told_over)}.".replace("e-0", "e-")


@page_text.of(ALGORITHMS)
def growth() -> Iterator[str]:
    """Growth of calls and steps."""
    calls, steps = rows("growth-h200"), rows("step-growth-h200")
    names = {"dca": "DCA-ABA", "abia-hybrid": "hybrid ABIA", "cfa": "CFA"}
    reported = "{1} | {{links from which[{0} is faster than @]:.0f}}"
    others = ("abia", "jsiia", "abia-hybrid", "pinocchio")
    yield "\n".join(row(reported.format(*each), calls, others) for each in names.items())
    chain, many = steps["cuda over cpu"]
    yield "from {from} links on, {at last} times at 10⁴;".format_map(chain)
    yield "many chains of ten links from {from} on, {at last} times at 2²⁰.".format_map(many)
    powers = (
        ("the links, a call on the GPU | {links[@]:.2f}", calls["slopes"]),
        ("the links, a step on the GPU | {links[@ on cuda]:.2f}", steps["slopes"]),
        ("the links, a step on the CPU | {links[@ on cpu]:.2f}", steps["slopes"]),
        ("the number of robots, a step on the GPU | {batch[@ on cuda]:.2f}", steps["slopes"]),
        ("the number of robots, a step on the CPU | {batch[@ on cpu]:.2f}", steps["slopes"]),
    )
    yield "\n".join(row(*each, ("abia", "dca", "jsiia", "cfa", "abia-hybrid")) for each in powers)


@page_text.of("docs/papers.md")
def papers() -> Iterator[str]:
    """The results of the full run."""
    for each in (
        "holds: from {cfa fastest from} links on |",
        "does not hold: it is from {hybrid fastest[0]} to {hybrid fastest[1]} links, for one robot |",
        "it is {scan over recursion[1000]} × as fast at 1000 links, {scan over recursion[4096]} × at 4096 |",
        "[B]: on four processors DCA-ABA is {four threads, at least:3} times as fast as the ABA | holds from "
        "{four threads from} links on: {four threads[500]} × there, {four threads[2000]} × at 2000 |",
    ):
        yield each.format_map(rows("papers-h200"))
