"""What was measured on the machines that we have, scaled to this one: the choice's ground where nothing was measured.

Each file of ``resources/choice`` holds a machine's table (`timings`), and how long the probe took there
(`cpu.runtime.probe`). For a CPU the one with the most similar number of cores is taken, and its times stretched by the
ratio of the probes. For a GPU the clock's ratio stretches them, and a batch counts by robots for each multiprocessor.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine import files
from engine.cpu.runtime import probe
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import device as gpu
from engine.selection import timings
from engine.selection.timings import Measurements, Row

FOLDER = Path(__file__).resolve().parents[2] / "resources" / "choice"
_COLUMNS = ("shape", "links", "batch", "dtype", "algorithm", "seconds", "residual", "work")


@lru_cache(maxsize=2)
def table(device: str = "cpu") -> Measurements:
    """The shipped table for "cpu" or "cuda", scaled to this machine; without rows where none ships."""
    found = [_read(path) for path in sorted(FOLDER.glob(f"{device}-*.json"))]
    if not found:
        return Measurements(FOLDER, device=device)
    if device == "cpu":
        best = min(found, key=lambda entry: abs(math.log(entry["machine"]["cores"] / cores())))
        ratio, share = probe.seconds() / best["machine"]["probe"], 1.0
    else:
        best, here = found[0], gpu.describe()
        ratio = best["machine"]["clock"] / here["clock"]
        share = best["machine"]["multiprocessors"] / here["multiprocessors"]
    origin = f"on {best['machine']['name']} and scaled to this machine by {ratio:.2g}"
    return Measurements(FOLDER, best["rows"], device=device, origin=origin, machine=ratio, share=share)


def write(path: Path, measured: Measurements, where: dict[str, Any]) -> None:
    """A table to ship, of what was measured on a machine (`machine`)."""
    rows = [[getattr(row, name) for name in _COLUMNS] for row in measured.rows]
    lines = ",\n".join(json.dumps(row) for row in rows)
    with files.replacing(path, "w") as file:
        file.write(f'{{"machine": {json.dumps(where)},\n"columns": {json.dumps(_COLUMNS)},\n"rows": [\n{lines}\n]}}\n')


def machine(device: str, name: str) -> dict[str, Any]:
    """What there is to say of this machine in a table to ship."""
    if device == "cuda":
        return {"name": name} | {key: gpu.describe()[key] for key in ("multiprocessors", "clock")}
    return {"name": name, "processor": timings.processor(), "cores": cores(), "probe": probe.seconds()}


def _read(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text("utf-8"))
    rows = tuple(Row(**dict(zip(content["columns"], row, strict=True))) for row in content["rows"])
    return {"machine": content["machine"], "rows": rows}


def known(device: str = "cpu") -> Measurements:
    """What the choice rests on: the table measured here, else the one that ships."""
    here = timings.load(device)
    return here if here.rows else table(device)
