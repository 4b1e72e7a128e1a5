"""Read the results of a study, and recompute runs of its samples, in the background."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import engine
from app.jobs.background import Background
from app.reasons import reason, unreadable

MANIFEST = "study.json"


@dataclass(frozen=True)
class Opened:
    """The results, or the reason why they could not be read; `grows` where a run of the study may add to them.

    `diagnostics` are all problems of a study's file, with their lines; `study` is that of a file without results.
    """

    results: engine.StudyResults | None = None
    problem: str = ""
    diagnostics: tuple[engine.Diagnostic, ...] = ()
    grows: bool = False
    over: bool = True
    study: engine.Study | None = None


@dataclass(frozen=True)
class Computed:
    """A sample's run: its file or the reason for failure; `differs` lists the columns with different values."""

    sample: int = -1
    path: str = ""
    differs: tuple[str, ...] = ()
    problem: str = ""
    over: bool = True


class StudyOpening(Background[Opened]):
    """Reads the results of one study at a time."""

    def __init__(self) -> None:
        super().__init__("study", lambda problem: Opened(problem=problem))

    def start(self, path: str) -> None:
        """Read results by study file, results folder or manifest; does nothing while others are being read."""
        self.run(partial(_read, path))


class SampleRun(Background[Computed]):
    """Computes the run of one sample at a time."""

    def __init__(self) -> None:
        super().__init__("sample", lambda problem: Computed(problem=problem))

    def start(self, results: engine.StudyResults, sample: int, folder: Path) -> None:
        """Write the sample's run to a file in the folder; does nothing while another is computed."""
        self.run(partial(_compute, results, sample, folder))


def folder_of(path: str) -> Path:
    """Return the results folder of a study file, of that folder itself or of a file in it."""
    place = Path(path)
    if place.is_dir():
        return place
    return place.with_suffix(".results") if place.suffix == ".toml" else place.parent


def _read(path: str, _: threading.Event) -> Opened:
    folder = folder_of(path)
    begun = (folder / MANIFEST).exists()
    try:
        if Path(path).suffix == ".toml" and not begun:
            study = engine.Study.read(path)  # which raises what is wrong with it
            what = f"{Path(path).name} has no results yet; run it here, or by main.py study {path}"
            return Opened(problem=what, grows=True, study=study)
        results = engine.StudyResults(folder)
        return Opened(results, grows=results.study is not None and len(results.columns["sample"]) < results.study.count)
    except engine.StudyError as error:
        first, *others = str(error).splitlines()
        more = f" (and {len(others)} more, listed in Diagnostics)" if others else ""
        return Opened(problem=first + more, diagnostics=error.diagnostics)
    except (OSError, ValueError, MemoryError) as error:
        return Opened(problem=unreadable(path, error), grows=begun and not engine.StudyResults.parts(folder))


def _compute(results: engine.StudyResults, sample: int, folder: Path, _: threading.Event) -> Computed:
    assert results.study is not None
    path = folder / f"sample-{sample}.npz"
    try:
        again, there = results.study.save_run(sample, path), results.row(sample)
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        return Computed(sample, problem=reason(error))
    computed = {name: x for name, x in again.items() if name not in results.study.measured}
    differs = tuple(name for name, x in computed.items() if not _same(there[name], x))
    return Computed(sample, str(path), differs)


def _same(one: Any, other: Any) -> bool:
    """Return whether two numbers are equal; NaN equals NaN."""
    return bool(np.array_equal(np.array(one, float), np.array(other, float), equal_nan=True))
