"""A study's results in a folder: a manifest and Parquet parts, each written whole or not at all.

In come `Batch`es, out go columns: `sample`, what varies, `diverged`, `diverged_at` in s, and what is kept, null for a
robot that diverged. What is in a folder is never mixed with another study's, and a sample is in one part alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import files
from engine.reals import shown
from engine.rollout import Trajectory, save
from engine.study.batch import Batch
from engine.study.description import Description
from engine.study.plan import Group

MANIFEST, PARTS, FORMAT = "study.json", "part-*.parquet", 1
DECIDED = "decided"


def parquet() -> Any:
    """pyarrow.parquet. Raises ValueError with one sentence where it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError(
            "a study's results are Parquet files, for which pyarrow is missing; install it with pip install pyarrow"
        ) from None
    return pyarrow.parquet


class Results:
    """The results of one study in its folder, to which parts are added; `done` (count,) says whose are there.

    Raises ValueError, with nothing changed, where the folder has results of another study, or another program is
    adding to it.
    """

    def __init__(self, folder: Path, study: Description, manifest: Mapping[str, Any]):
        self.folder, self._study = folder, study
        self._manifest = {"format": FORMAT, **json.loads(json.dumps(manifest))}
        parquet()
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"{str(folder)!r} cannot be a folder of results ({error.strerror}); name another"
            ) from None
        self._there: dict[str, Any] = {}
        self._lock = self._locked()
        try:
            self._open()
            self.done = self._found()
        except BaseException:
            self.close()
            raise

    def _locked(self) -> int:
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        if files.locked(handle) is False:
            os.close(handle)
            raise ValueError(f"another program is adding to {str(self.folder)!r}; wait for it, or name another folder")
        return handle

    def _open(self) -> None:
        path = self.folder / MANIFEST
        if path.exists():
            self._there = read_manifest(self.folder)
            told = {key: value for key, value in self._there.items() if key != DECIDED}
            for key, (old, new) in _differences(told, self._manifest):
                raise ValueError(
                    f"{str(self.folder)!r} holds results of another study ({key}: {old} there, {new} here); what is "
                    "there stays: name another folder, or make the study as that one was"
                )
        elif any(self.folder.glob(PARTS)):
            raise ValueError(f"{str(self.folder)!r} has parts and no {MANIFEST}; name another folder")

    def decided(self, decide: Callable[[], dict[str, list[str]]]) -> dict[str, list[str]]:
        """By what algorithms and on what devices the study steps: as it began to, else as is decided now, and kept."""
        known = self._there.get(DECIDED)
        if isinstance(known, dict):
            return known
        found = decide()
        with files.replacing(self.folder / MANIFEST, "w") as file:
            json.dump(self._manifest | {DECIDED: found}, file, indent=1)
        return found

    def _found(self) -> NDArray[np.bool_]:
        done = np.zeros(self._study.count, bool)
        for part in sorted(self.folder.glob(PARTS)):
            samples = _table(part, ["sample"])["sample"].to_numpy()
            if len(samples) and (samples.min() < 0 or samples.max() >= len(done) or np.any(done[samples])):
                raise ValueError(f"{str(part)!r} has samples that other parts have, or none has; delete it, and go on")
            done[samples] = True
        return done

    def add(self, group: Group, batch: Batch) -> None:
        """Write a part, whole and on the disk once this returns; before it the trajectories of its samples."""
        samples = batch.task.samples
        for sample, (time, q, v) in batch.trajectories.items():
            path = self.folder / f"trajectory-{sample:010d}.npz"
            said = {"robot": group.model.source or group.settings.robot, "sample": sample, "study": self._study.title}
            tau = np.zeros((len(time), group.model.nv))
            save(path, group.model, Trajectory(time, q, v, tau), said | group.settings._asdict())
        import pyarrow

        lost = batch.diverged
        columns = {"sample": samples, **batch.task.values, "diverged": lost}
        arrays = {name: pyarrow.array(x) for name, x in columns.items()}
        arrays["diverged_at"] = pyarrow.array(batch.diverged_at, mask=~lost)
        arrays |= {name: pyarrow.array(x, mask=lost) for name, x in batch.columns.items()}
        with files.replacing(self.folder / f"part-{int(samples[0]):010d}.parquet") as file:
            parquet().write_table(pyarrow.table(arrays), file)
        self.done[samples] = True

    def close(self) -> None:
        """Let others add to the folder."""
        with suppress(OSError):
            os.close(self._lock)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a folder's manifest says. Raises ValueError where it is damaged, or of a later version."""
    path = folder / MANIFEST
    try:
        found = files.read_json(path)
    except FileNotFoundError:
        raise ValueError(f"there are no results of a study in {str(folder)!r}; run the study first") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} is damaged ({error}); name another folder, and run the study anew") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"{str(path)!r} is of another format than {FORMAT}; read it with the Catena that wrote it")
    return found


def read(folder: Path, names: list[str] | None = None) -> dict[str, NDArray[Any]]:
    """The columns of all parts, or those of these names, sorted by sample; null is NaN, and false of a predicate.

    Raises ValueError where there are none, or one is damaged.
    """
    read_manifest(folder)
    import pyarrow

    wanted = None if names is None else list(dict.fromkeys(["sample", *names]))
    tables = [_table(part, wanted) for part in sorted(folder.glob(PARTS))]
    if not tables:
        raise ValueError(f"no part of the results is in {str(folder)!r} yet; run the study first")
    table = pyarrow.concat_tables(tables).sort_by("sample")
    return {name: _plain(table[name]) for name in table.column_names}


def _plain(column: Any) -> NDArray[Any]:
    import pyarrow

    found: NDArray[Any] = column.fill_null(False).to_numpy() if column.type == pyarrow.bool_() else column.to_numpy()
    return found


def _table(part: Path, names: list[str] | None) -> Any:
    import pyarrow

    try:
        with files.regular(part) as file:
            return parquet().read_table(file, columns=names)
    except (OSError, ValueError, KeyError, pyarrow.ArrowException) as error:
        said = str(error).partition("\n")[0][:200]
        raise ValueError(
            f"{str(part)!r} is damaged ({said}); delete it and run the study again, which fills it"
        ) from None


def _differences(there: Any, here: Any, key: str = "") -> Iterator[tuple[str, tuple[str, str]]]:
    """The places at which two contents of JSON differ, with what each has there."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in dict.fromkeys((*here, *there)):
            yield from _differences(there.get(name), here.get(name), f"{key}.{name}" if key else name)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for k, pair in enumerate(zip(there, here, strict=True)):
            yield from _differences(*pair, f"{key}.{k + 1}")
    elif there != here:
        yield key, (shown(there), shown(here))
