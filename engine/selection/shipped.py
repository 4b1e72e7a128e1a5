"""Timings of reference machines, scaled to this one, for the choice on a machine that was not measured.

``resources/choice.json`` has one table per machine (`timings`), and the duration of the probe on it
(`cpu.runtime.core_speed`). For a CPU, the machine with the closest number of cores is used, and its times are scaled by
the ratio of the probes. For a GPU, times are scaled by the ratio of the clocks, and batch sizes by that of the
multiprocessors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine import files
from engine.cpu.runtime import core_speed
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import device as gpu
from engine.selection import timings
from engine.selection.timings import Measurements, Row

FILE = Path(__file__).resolve().parents[2] / "resources" / "choice.json"
_SERIES = ("shape", "batch", "dtype", "algorithm", "work")
_POINT = {"links": 0, "seconds": 4, "residual": 2}
"""The quantities per number of links, with their numbers of digits."""


@lru_cache(maxsize=2)
def table(device: str = "cpu") -> Measurements:
    """Return the reference table for "cpu" or "cuda", scaled to this machine; without rows if there is none."""
    tables = [machine for machine in machines() if machine["machine"]["device"] == device]
    if not tables:
        return Measurements(FILE, device=device)
    if device == "cpu":
        best = min(tables, key=lambda entry: abs(math.log(entry["machine"]["cores"] / cores())))
        ratio, share = core_speed.seconds() / best["machine"]["probe"], 1.0
    else:
        best, here = tables[0], gpu.describe()
        ratio = best["machine"]["clock"] / here["clock"]
        share = best["machine"]["multiprocessors"] / here["multiprocessors"]
    origin = f"on {best['machine']['name']} and scaled to this machine by {ratio:.2g}"
    return Measurements(FILE, best["rows"], device=device, origin=origin, machine=ratio, share=share)


def write(measured: Measurements, description: dict[str, Any]) -> None:
    """Add a machine's measurements, by its description (`machine`), to the reference tables, replacing older ones."""
    same = ("device", "name")
    others = [entry for entry in machines() if any(entry["machine"][key] != description[key] for key in same)]
    tables = ",\n".join(_text(table) for table in (*others, {"machine": description, "rows": measured.rows}))
    with files.replacing(FILE, "w") as file:
        file.write(f"[\n{tables}\n]\n")


def machine(device: str, name: str) -> dict[str, Any]:
    """Return this machine's description for a reference table."""
    description = {"device": device, "name": name}
    if device == "cuda":
        return description | {key: gpu.describe()[key] for key in ("multiprocessors", "clock")}
    return description | {"processor": timings.processor(), "cores": cores(), "probe": core_speed.seconds()}


def machines() -> list[dict[str, Any]]:
    """Return the reference tables, each with its "machine" and "rows"."""
    if not FILE.exists():
        return []
    return [
        {"machine": table["machine"], "rows": tuple(row for line in table["rows"] for row in _rows(*line))}
        for table in json.loads(FILE.read_text("utf-8"))
    ]


def _text(table: dict[str, Any]) -> str:
    """Format a table with one line per series over the links."""
    series: dict[tuple[Any, ...], list[list[float]]] = {}
    for row in table["rows"]:
        point = [getattr(row, name) for name in _POINT]
        short = [
            float(f"{x:.{digits - 1}e}") if digits else x for x, digits in zip(point, _POINT.values(), strict=True)
        ]
        series.setdefault(tuple(getattr(row, name) for name in _SERIES), []).append(short)
    lines = ",\n".join(json.dumps([*key, points], separators=(",", ":")) for key, points in series.items())
    return f'{{"machine": {json.dumps(table["machine"])}, "rows": [\n{lines}\n]}}'


def _rows(*line: Any) -> Iterator[Row]:
    *key, points = line
    for point in points:
        yield Row(**dict(zip(_SERIES, key, strict=True)), **dict(zip(_POINT, point, strict=True)))


def table_in_use(device: str = "cpu") -> Measurements:
    """Return the table that the choice uses: the one measured here, else the reference table."""
    here = timings.load(device)
    return here if here.rows else table(device)
