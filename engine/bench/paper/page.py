"""The folder of the papers' experiments: a page of text, figures, and the data as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from engine import figures, files
from engine.bench.paper import pictures
from engine.bench.paper.claims import NAMES, UNTIMED, Claim, Measured, claims, further_findings
from engine.bench.paper.experiments import DTYPE, EXPERIMENTS, INPUTS, MAX_CALL, MEMORY, PROCESSORS, Experiment
from engine.selection import capabilities
from engine.selection.choice import in_words

PAGE, DATA, TABLE = "README.md", "data.json", "data.csv"
COLUMNS = (
    "experiment", "links", "batch", "algorithm", "device", "threads", "call_us", "device_us", "captured", "first_s",
    "residual", "calls", *UNTIMED,
)  # fmt: skip
PAPERS = """\
- **[Y]** Y. Yang, Y. Wu, J. Pan, *A Novel GPU-based Parallel Implementation Scheme and Performance Analysis of Robot
  Forward Dynamics Algorithms* (2016), section V.
- **[B]** K. Bhalerao, J. Critchley, K. Anderson, *An efficient parallel dynamics algorithm for simulation of large
  articulated robotic systems* (2012)."""


def write(folder: Path, measured: Measured, machine: dict[str, Any]) -> dict[str, Any]:
    """Plot and write everything from the rows; return the content of the JSON file."""
    verdicts, more = claims(measured), further_findings(measured)
    data: dict[str, Any] = {
        "machine": machine,
        "plan": measured.plan._asdict(),
        "claims": [claim._asdict() for claim in verdicts],
        "beside": more,
        "rows": measured.rows,
    }
    where = wording(measured, machine)
    for experiment in EXPERIMENTS:
        draw = pictures.speedup if experiment is PROCESSORS else pictures.times
        figure = draw(measured, experiment, where)
        for ending in (".svg", ".png"):
            figures.save(figure, folder / f"{experiment.key}{ending}")
    for name, text in (
        (DATA, json.dumps(data, allow_nan=False) + "\n"),
        (TABLE, _csv(measured)),
        (PAGE, page(measured, machine, verdicts, more)),
    ):
        with files.replacing(folder / name, "w") as file:
            file.write(text)
    return data


def wording(measured: Measured, machine: dict[str, Any]) -> str:
    """Describe the machine in a line."""
    cpu = f"{machine['processor']}, {machine['cores']} cores"
    return f"{machine['gpu']['name']}; {cpu}" if measured.plan.device == "cuda" else cpu


def page(measured: Measured, machine: dict[str, Any], verdicts: list[Claim], more: list[str]) -> str:
    """Return the page, as Markdown."""
    plan = measured.plan
    lines = [
        f"# The papers' experiments on {wording(measured, machine)}", "", PAPERS, "",
        *_where_it_ran(measured, machine), "",
        "## The papers' conclusions on this machine", "",
        "| | says | where | here |", "| ---: | --- | --- | --- |",
        *(f"| {i} | {x.says} | {x.source} | **{x.verdict}** |" for i, x in enumerate(verdicts, 1)), "",
    ]  # fmt: skip
    for i, claim in enumerate(verdicts, 1):
        lines += [f"**{i}. {claim.says}** {claim.verdict.capitalize()}. {claim.found}", ""]
    lines += ["Further findings:", "", *(f"- {sentence}" for sentence in more), ""]
    for experiment in EXPERIMENTS:
        lines += _section(measured, experiment)
    lines += ["## Measurement", "", *_how(plan.short), "", "## Repetition", ""]
    lines += [
        "```sh",
        f"main.py paper --out FOLDER --device {plan.device} --seed {plan.seed}{' --short' * plan.short}",
        "```",
    ]
    return "\n".join([*lines, ""])


def _where_it_ran(measured: Measured, machine: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines = [f"{machine['processor']}, {machine['cores']} cores; Python {machine['python']}, NumPy {machine['numpy']}"]
    lines[0] += f", {versions}; commit {machine['commit'] or 'unknown'}; {machine['date']}."
    if measured.plan.device == "cuda":
        gpu = machine["gpu"]
        lines.append(
            f"GPU: {gpu['name']}, {gpu['memory'] >> 30} GiB, driver {gpu['driver_version']}, CUDA {gpu['cuda']}."
        )
    else:
        why = f": {machine['why_no_gpu']}" if machine["why_no_gpu"] else ""
        texts = " and ".join(
            NAMES[name] for name, row in capabilities.ALGORITHMS.items() if row.devices["cpu"] == "text"
        )
        lines += [
            "",
            f"""\
**No GPU was used**{why}. [Y]'s figures show the CPU, and its claims, which are about a GPU, are not tested.
The CPU runs {texts} as NumPy reference code, which is not optimised.""",
        ]
    return lines


def _section(measured: Measured, experiment: Experiment) -> list[str]:
    lines = [f"## {experiment.source}: {experiment.title}", "", f"![{experiment.title}]({experiment.key}.svg)", ""]
    clocks = [("a call, until its result is available", "call_us"), ("on the GPU, by its own clock", "device_us")]
    candidates = measured.plan.candidates(experiment)
    sizes = sorted({size for x in candidates for size in measured.facts(experiment, x)})
    for title, clock in clocks:
        curves = {pictures.label(measured, experiment, x): measured.curve(experiment, x, clock) for x in candidates}
        if any(curves.values()):
            unit = "links" if experiment.axis == "links" else "robots"
            lines += [f"| {title}; {unit} | {' | '.join(map(str, sizes))} |", "| --- |" + " ---: |" * len(sizes)]
            for name, curve in ((name, curve) for name, curve in curves.items() if curve):
                cells = (in_words(1e-6 * curve[size]) if size in curve else "–" for size in sizes)
                lines.append(f"| {name} | {' | '.join(cells)} |")
            lines.append("")
    missing: dict[tuple[str, str], list[int]] = {}
    for candidate in candidates:
        for size, facts in measured.facts(experiment, candidate).items():
            for kind in UNTIMED:
                if kind in facts:
                    name = pictures.label(measured, experiment, candidate)
                    missing.setdefault((name, f"{kind.replace('_', ' ')}: {facts[kind]}"), []).append(size)
    lines += [f"- {name} at {', '.join(map(str, at))}, {why}." for (name, why), at in missing.items()]
    return [*lines, ""] if missing else lines


def _how(short: bool) -> list[str]:
    lines = [
        f"""\
Serial chains with random twists and inertias, {DTYPE}; the calls cycle through up to {INPUTS} random inputs. [Y]
averages a thousand calls. Here all candidates of a point take turns in rounds and each round's mean is stored. A time
is the median over the rounds, and which candidate is faster is decided by the ratios within rounds, if their 99.9 %
interval excludes equality. Each first result is checked by inverse dynamics; a wrong one gets no time.

Like the papers, it times a call until its result is available. On a GPU inputs and results stay in its memory, and the
time by its own clock is given too: of a captured graph of calls, which the host cannot delay, or of queued calls if the
host takes part, as in the hybrid. The paper's sizes are shaded; a band is an interval.

A candidate that would take more than {MAX_CALL:g} s a call, extrapolated from the previous size, or more than
{MEMORY >> 30} GiB on the host, is skipped and listed."""
    ]
    return [*lines, "", "This is the short version: fewer sizes, fewer calls."] if short else lines


def _csv(measured: Measured) -> str:
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for row in measured.rows:
        for facts in row["candidates"]:
            table.writerow({**row, **facts})
    return text.getvalue()
