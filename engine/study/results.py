"""A study's results in a folder: a manifest, and a folder with only Parquet files, each written atomically.

Inputs are `Batch`es, results are columns: `sample`, the variables, `diverged`, `diverged_at` in s, and the kept
quantities, null for a robot that diverged. A folder holds one study only, and each sample is in one file only.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from engine import __version__, files
from engine.real_numbers import excerpt
from engine.recording.robot_text import robot_as_text
from engine.recording.run_format import save_trajectory
from engine.rollout import Trajectory
from engine.study.batch import Batch
from engine.study.description import Description
from engine.study.plan import Group

MANIFEST, SAMPLES, FORMAT = "study.json", "samples", 1
DECIDED, ABOUT = "decided", "about"
"""Manifest keys that may differ between runs of a study: the choices of its first run, and information."""


def parquet() -> Any:
    """Return pyarrow.parquet. Raises ValueError with one sentence if it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError(
            "a study's results are Parquet files, for which pyarrow is missing; install it with pip install pyarrow"
        ) from None
    return pyarrow.parquet


def parts(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder of results; those of earlier versions lie beside the manifest."""
    return sorted(path for place in (folder, folder / SAMPLES) for path in place.glob("part-*.parquet"))


class Results:
    """The results of one study in its folder, to which parts are added; `done` (count,) marks existing samples.

    Raises ValueError, with nothing changed, if the folder has results of another study, or another program is adding to
    it.
    """

    def __init__(self, folder: Path, study: Description, manifest: Mapping[str, Any], about: Mapping[str, Any]):
        self.folder, self._study, self._about = folder, study, about
        self._manifest = {"format": FORMAT, **json.loads(json.dumps(manifest))}
        parquet()
        files.make_folder(folder)
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
        if files.try_lock(handle) is False:
            os.close(handle)
            raise ValueError(f"another program is adding to {str(self.folder)!r}; wait for it, or name another folder")
        return handle

    def _open(self) -> None:
        path = self.folder / MANIFEST
        if path.exists():
            self._there = read_manifest(self.folder)
            settings = {key: value for key, value in self._there.items() if key not in (DECIDED, ABOUT)}
            for key, (old, new) in _differences(settings, self._manifest):
                raise ValueError(
                    f"{str(self.folder)!r} contains results of another study ({key}: {old} there, {new} here); what is "
                    "there stays: name another folder (--out), delete this one, or make the study as that one was"
                )
        elif parts(self.folder):
            raise ValueError(f"{str(self.folder)!r} has parts and no {MANIFEST}; name another folder")

    def decided(self, decide: Callable[[], dict[str, list[Any]]]) -> dict[str, list[Any]]:
        """Return the study's algorithms and devices: those of its first run, else those from `decide`, which are
        stored.
        """
        stored = self._there.get(DECIDED)
        if isinstance(stored, dict):
            return stored
        decided = decide()
        with files.replacing(self.folder / MANIFEST, "w") as file:
            json.dump(self._manifest | {DECIDED: decided, ABOUT: self._about}, file, indent=1)
        return decided

    def _found(self) -> NDArray[np.bool_]:
        done = np.zeros(self._study.count, bool)
        for part in parts(self.folder):
            samples = _columns(part, ["sample"])["sample"].to_numpy()
            if len(samples) and (samples.min() < 0 or samples.max() >= len(done) or np.any(done[samples])):
                raise ValueError(f"{str(part)!r} has samples of other parts, or unknown ones; delete it and run again")
            done[samples] = True
        return done

    def add(self, group: Group, batch: Batch) -> None:
        """Write the samples' trajectories, then a part; on return it is completely on disk."""
        samples = batch.task.samples
        for sample in batch.trajectories:
            write_run(self.folder / f"trajectory-{sample:010d}.npz", group, batch, sample, self._study.title)
        import pyarrow

        lost = batch.diverged
        columns = {"sample": samples, **batch.task.values, "diverged": lost}
        arrays = {name: pyarrow.array(x) for name, x in columns.items()}
        arrays["diverged_at"] = pyarrow.array(batch.diverged_at, mask=~lost)
        arrays |= {name: pyarrow.array(x, mask=lost) for name, x in batch.columns.items()}
        files.make_folder(self.folder / SAMPLES)
        with files.replacing(self.folder / SAMPLES / f"part-{int(samples[0]):010d}.parquet") as file:
            words = [name for name, x in arrays.items() if x.type == pyarrow.string()]  # numbers rarely repeat
            parquet().write_table(pyarrow.table(arrays), file, use_dictionary=words or False)
        self.done[samples] = True

    def close(self) -> None:
        """Unlock the folder for other programs."""
        with suppress(OSError):
            os.close(self._lock)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def write_run(path: Path, group: Group, batch: Batch, sample: int, title: str) -> None:
    """Write a sample's run as a file that the window can play and continue from any frame."""
    model = group.model
    robot = robot_as_text(model) if model.source is None else {"robot": str(Path(model.source).resolve())}
    wording = group.settings._asdict() | robot | {"study": title, "sample": sample, "catena": __version__}
    wording |= {"floating": model.options.get("floating", False), "package_dir": model.options.get("package_dirs", [])}
    wording |= {} if group.program is None else {"controller": str(group.program.path)}
    save_trajectory(path, model, Trajectory(*batch.trajectories[sample]), wording, more=batch.made[sample])


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a folder's manifest. Raises ValueError if it is damaged, or of a later version."""
    path = folder / MANIFEST
    try:
        manifest = files.read_json(path)
    except FileNotFoundError:
        raise ValueError(f"there are no results of a study in {str(folder)!r}; run the study first") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} is damaged ({error}); name another folder, and run the study again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{str(path)!r} is of another format than {FORMAT}; read it with the Catena that wrote it")
    return manifest


def read(folder: Path, names: list[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return all columns, or those named, sorted by sample; null becomes NaN, or false for a predicate.

    Raises ValueError if there are no results, or they are damaged.
    """
    import pyarrow

    read_manifest(folder)
    wanted = None if names is None else list(dict.fromkeys(["sample", *names]))
    paths = parts(folder)
    if not paths:
        raise ValueError(f"no result is in {str(folder)!r} yet; run the study, or wait until its run has ended a batch")
    columns: dict[str, NDArray[Any]] = {}
    rows = np.cumsum([0, *(_opened(path, lambda file: file.metadata.num_rows) for path in paths)]).tolist()
    for path, first, end in zip(paths, rows, rows[1:], strict=False):  # needs memory for the arrays and one part
        part = {name: _plain(column) for name, column in _columns(path, wanted).items()}
        if columns and list(columns) != list(part):
            raise ValueError(f"{str(path)!r} has other columns than the parts before it; delete it and run the study")
        for name, x in part.items():
            there = columns.get(name, np.empty(0, x.dtype))
            kind = np.promote_types(there.dtype, x.dtype)
            if name not in columns or there.dtype != kind:  # of longer words
                columns[name] = np.empty(rows[-1], kind)
                columns[name][:first] = there[:first]
            columns[name][first:end] = x
    sample = columns["sample"]
    if not np.all(sample[1:] > sample[:-1]):
        order = np.argsort(sample)
        for name in columns:  # one at a time: a million samples are 50 MB
            columns[name] = columns[name][order]
    pyarrow.default_memory_pool().release_unused()
    return columns


def _plain(column: Any) -> NDArray[Any]:
    import pyarrow

    if column.type == pyarrow.string():
        words = column.combine_chunks().dictionary_encode()
        named: NDArray[Any] = np.array(words.dictionary.to_pylist(), str)[words.indices.to_numpy()]
        return named
    column = column.fill_null(False) if column.type == pyarrow.bool_() else column
    values: NDArray[Any] = np.asarray(column.to_numpy())
    return values


def _columns(part: Path, names: list[str] | None) -> dict[str, Any]:
    """Return the columns of a part, or those named, as Arrow arrays."""
    table = _opened(part, lambda file: file.read(columns=names, use_threads=False))
    return {name: table[name] for name in table.column_names}


def _opened(part: Path, read: Callable[[Any], Any]) -> Any:
    """Read a part. Raises ValueError if it is damaged."""
    import pyarrow

    try:
        with files.regular(part) as file:
            # Arrow's own memory: its threads let go of a Python file late, and abort if Python has ended by then.
            content = pyarrow.allocate_buffer(os.fstat(file.fileno()).st_size)
            cast(io.BufferedReader, file).readinto(content)
        return read(parquet().ParquetFile(pyarrow.BufferReader(content)))
    except (OSError, ValueError, KeyError, pyarrow.ArrowException) as error:
        wording = str(error).partition("\n")[0][:200]
        raise ValueError(
            f"{str(part)!r} is damaged ({wording}); delete it and run the study again, which fills it"
        ) from None


def write_table(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns (N,) as one file, .csv or .parquet, with NaN as null. Raises ValueError for other suffixes."""
    if path.suffix == ".csv":
        write_csv(path, columns)
        return
    if path.suffix != ".parquet":
        raise ValueError(f"a table is written as .csv or .parquet, and not as {path.suffix or path.name!r}")
    import pyarrow

    arrays = {name: pyarrow.array(x, from_pandas=True) for name, x in columns.items()}
    with files.replacing(path) as file:
        parquet().write_table(pyarrow.table(arrays), file)


def write_csv(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns (N,) as CSV."""
    with files.replacing(path, "w") as file:
        file.writelines(_lines(columns))


def _lines(columns: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Yield CSV lines: the names, then one line per sample; NaN is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*(x.tolist() for x in columns.values()), strict=True):
        writer.writerow("" if isinstance(x, float) and math.isnan(x) else x for x in row)
        if text.tell() > 1 << 16:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _differences(there: Any, here: Any, key: str = "") -> Iterator[tuple[str, tuple[str, str]]]:
    """Return the places at which two JSON values differ, with both values."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in dict.fromkeys((*here, *there)):
            yield from _differences(there.get(name), here.get(name), f"{key}.{name}" if key else name)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for k, pair in enumerate(zip(there, here, strict=True)):
            yield from _differences(*pair, f"{key}.{k + 1}")
    elif there != here:
        yield key, (excerpt(there), excerpt(here))
