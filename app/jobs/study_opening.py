"""Results of a study read, and runs of its samples computed again, in the background."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import engine
from app.desktop.reasons import reason
from app.jobs.background import Background

MANIFEST = "study.json"


@dataclass(frozen=True)
class Opened:
    """The results, or why there are none."""

    results: engine.StudyResults | None = None
    fault: str = ""
    over: bool = True


@dataclass(frozen=True)
class Computed:
    """The run of a sample: the file that has it, or why there is none; `differs`: the columns with other numbers."""

    sample: int = -1
    path: str = ""
    differs: tuple[str, ...] = ()
    fault: str = ""
    over: bool = True


class StudyOpening(Background[Opened]):
    """Reads the results of one study at a time."""

    def __init__(self) -> None:
        super().__init__("study", lambda fault: Opened(fault=fault))

    def start(self, path: str) -> None:
        """Read the results of a study's file, folder of results or manifest; nothing happens while others are read."""
        self.run(partial(_read, path))


class SampleRun(Background[Computed]):
    """Computes the run of one sample at a time."""

    def __init__(self) -> None:
        super().__init__("sample", lambda fault: Computed(fault=fault))

    def start(self, results: engine.StudyResults, sample: int, folder: Path) -> None:
        """Write the sample's run to a file in the folder; nothing happens while another is computed."""
        self.run(partial(_compute, results, sample, folder))


def folder_of(path: str) -> Path:
    """The folder of results that a study's file, that folder or a file in it is of."""
    place = Path(path)
    if place.is_dir():
        return place
    return place.with_suffix(".results") if place.suffix == ".toml" else place.parent


def _read(path: str, _: threading.Event) -> Opened:
    folder = folder_of(path)
    if Path(path).suffix == ".toml" and not (folder / MANIFEST).exists():
        return Opened(fault=f"{Path(path).name} has no results yet; run it first: main.py study {path}")
    try:
        return Opened(engine.StudyResults(folder))
    except (OSError, ValueError, MemoryError) as fault:
        return Opened(fault=reason(fault))


def _compute(results: engine.StudyResults, sample: int, folder: Path, _: threading.Event) -> Computed:
    assert results.study is not None
    path = folder / f"sample-{sample}.npz"
    try:
        again, there = results.study.save_run(sample, path), results.row(sample)
    except (OSError, ValueError, RuntimeError, MemoryError) as fault:
        return Computed(sample, fault=reason(fault))
    differs = tuple(name for name, x in again.items() if not _same(there[name], x))
    return Computed(sample, str(path), differs)


def _same(one: Any, other: Any) -> bool:
    """Whether two numbers have the same bits; what is none equals what is none."""
    return bool(np.array_equal(np.array(one, float), np.array(other, float), equal_nan=True))
