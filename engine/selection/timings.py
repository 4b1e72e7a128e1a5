"""The table of each algorithm's time on this machine: measured once, stored on disk and interpolated.

The file is in the user's cache folder. Its name depends on the device, the library versions and the kernel sources, so
that a change of any requires new measurements. It is written atomically. An unreadable file counts as missing, with a
message. Without a file, reference timings are used (`selection.shipped`).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from engine import files
from engine.cpu.rigid_body.aba_batch import LOOP_UP_TO
from engine.cpu.rigid_body.workspace import EIGHT
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import device as gpu

Shape = Literal["chain", "tree"]
Work = Literal["call", "step"]
"""One call of forward dynamics, or one step of a simulation, for the whole batch."""


@dataclass(frozen=True)
class Row:
    """The timing of one algorithm on a batch of generated robots."""

    shape: Shape
    links: int
    batch: int
    dtype: str
    algorithm: str
    seconds: float
    residual: float
    """Median over the batch of ‖ID(q̈) − τ‖ / ‖τ_δ‖; the median, because τ_δ may happen to vanish."""
    work: Work = "call"


class Case(NamedTuple):
    """A query: tree shape, number of bodies, batch size, number type, and kind of work."""

    shape: Shape
    links: int
    batch: int
    dtype: str
    work: Work = "call"


@dataclass(frozen=True)
class Measurements:
    """The rows of a table, and its path. `damage` is the problem of a file that could not be read.

    `origin` names the measured machine. Times are multiplied by `machine` to give this machine's. A batch here
    corresponds to `share` times as many robots there, as on a GPU with fewer multiprocessors.
    """

    path: Path
    rows: tuple[Row, ...] = ()
    damage: str | None = field(default=None, compare=False)
    device: str = "cpu"
    origin: str = "on this machine"
    machine: float = 1.0
    share: float = 1.0

    @cached_property
    def _curves(self) -> dict[tuple[str, str, str, str], dict[int, list[Row]]]:
        """The rows by (algorithm, shape, dtype, work) and batch, sorted by number of links."""
        curves: dict[tuple[str, str, str, str], dict[int, list[Row]]] = {}
        for row in sorted(self.rows, key=lambda row: (row.batch, row.links)):
            curves.setdefault((row.algorithm, row.shape, row.dtype, row.work), {}).setdefault(row.batch, []).append(row)
        return curves

    @cached_property
    def _reach(self) -> dict[tuple[str, str, str], dict[int, int]]:
        """The largest number of links measured, by (shape, dtype, work) and batch, sorted."""
        reach: dict[tuple[str, str, str], dict[int, int]] = {}
        for row in sorted(self.rows, key=lambda row: (row.batch, row.links)):
            reach.setdefault((row.shape, row.dtype, row.work), {})[row.batch] = row.links
        return reach

    def seconds(self, algorithm: str, case: Case) -> float | None:
        """Return the interpolated time of one call; None if the algorithm lacks measurements that others have there.

        Between measured points, and beyond the last, time is a power law of links and of batch size (linear
        interpolation of logarithms). Beyond the largest batch the time per robot is constant. Robots in vector lanes
        count as whole blocks.
        """
        by_batch = self._curves.get((algorithm, case.shape, case.dtype, case.work), {})
        reach = self._reach.get((case.shape, case.dtype, case.work), {})
        robots, points = self._robots(algorithm, case.batch), []
        for batch in _around(list(reach), robots):
            rows = by_batch.get(batch, [])
            if not rows or rows[-1].links < min(case.links, reach[batch]):
                return None
            points.append((batch, self.machine * _power([(row.links, row.seconds) for row in rows], case.links)))
        if not points:
            return None
        last, most = points[-1]
        return most * robots / last if robots >= last else _power(points, robots)

    def _robots(self, algorithm: str, batch: int) -> float:
        """Return the batch size on the measured machine that takes as long as this batch."""
        if self.device == "cpu" and algorithm == "abia" and batch > LOOP_UP_TO:
            batch = len(EIGHT) * -(-batch // len(EIGHT))
        return max(1.0, batch * self.share) if batch > 1 else 1.0

    def residual(self, algorithm: str, case: Case) -> float | None:
        """Return the relative residual at that length, interpolated between the largest batches; None without data."""
        by_batch = self._curves.get((algorithm, case.shape, case.dtype, case.work), {})
        points = {row.links: max(row.residual, sys.float_info.epsilon) for rows in by_batch.values() for row in rows}
        return _power(sorted(points.items()), case.links) if points else None

    def basis(self, algorithm: str, case: Case) -> str:
        """Describe the measurements that `seconds` uses, in words."""
        by_batch = self._curves[algorithm, case.shape, case.dtype, case.work]
        robots = self._robots(algorithm, case.batch)
        batches = _around(list(by_batch), robots)
        lengths = _around([row.links for row in by_batch[batches[-1]]], case.links)
        if batches == [robots] and lengths == [case.links]:
            return f"measured for {case.links}-link {case.shape}s {self.origin}"
        inside = lengths[0] <= case.links <= lengths[-1] and batches[0] <= robots <= batches[-1]
        links, among = (" and ".join(map(str, ends)) for ends in (lengths, batches))
        among = f" in batches of {among}" if batches != [1] else ""
        way = "interpolated" if inside else "extrapolated"
        return f"{way} from {case.shape}s of {links} links{among} measured {self.origin}"

    def longest(self, shape: Shape, dtype: str) -> int:
        """Return the largest number of links measured; 0 without measurements."""
        return max((row.links for row in self.rows if (row.shape, row.dtype) == (shape, dtype)), default=0)

    def save(self) -> None:
        """Write the table atomically. Raises OSError."""
        content = {"key": machine_key(self.device), "rows": [asdict(row) for row in self.rows]}
        with files.keeping(self.path, "w") as file:
            json.dump(content, file, indent=1)


def _around(measured: list[int], x: float) -> list[int]:
    """Return the sorted numbers on both sides of x; x itself if it is among them; the last if x is beyond."""
    below, above = [y for y in measured if y <= x], [y for y in measured if y >= x]
    return sorted({*below[-1:], *above[:1]})


def _power(points: Iterable[tuple[float, float]], x: float) -> float:
    """Evaluate the piecewise power law through the points (x, y) at x; the end segments are extrapolated."""
    line = list(points)
    if len(line) == 1:
        return line[0][1]
    (x0, y0), (x1, y1) = next((pair for pair in pairwise(line) if x <= pair[1][0]), (line[-2], line[-1]))
    slope = math.log(y1 / y0) / math.log(x1 / x0)
    return float(y0 * (x / x0) ** slope)


def table_path(device: str = "cpu") -> Path:
    """Return the path of this machine's table for "cpu" or "cuda"."""
    digest = hashlib.sha256(json.dumps(machine_key(device)).encode()).hexdigest()
    return files.cache_folder() / f"choice-{device}-{digest[:16]}.json"


def load(device: str = "cpu") -> Measurements:
    """Load a device's table; without rows if not measured, with `damage` if the file is broken.

    A file that others could have written is ignored.
    """
    path = table_path(device)
    try:
        content = files.cached_content(path)
    except OSError as error:
        unreadable = not isinstance(error, FileNotFoundError) and str(error.filename).endswith(path.name)
        return Measurements(path, damage=str(error) if unreadable else None, device=device)
    return _read(path, content, device)


def measured(device: str = "cpu") -> bool:
    """Whether there is a sound table of this machine for the automatic choice on `device`, "cpu" or "cuda"."""
    return bool(load(device).rows)


@lru_cache(maxsize=8)
def _read(path: Path, content: bytes, device: str) -> Measurements:
    try:
        rows = tuple(_checked(Row(**entry)) for entry in json.loads(content)["rows"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return Measurements(path, damage=f"{type(error).__name__}: {error}", device=device)
    if len({(row.shape, row.links, row.batch, row.dtype, row.algorithm, row.work) for row in rows}) < len(rows):
        return Measurements(path, damage="it holds a case twice", device=device)
    return Measurements(path, rows, device=device)


def _checked(row: Row) -> Row:
    names = (row.shape, row.dtype, row.algorithm, row.work)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"shape, dtype, algorithm and work are {names}; expected four names")
    counts, sizes = (row.links, row.batch), (row.seconds, row.residual)
    if not all(isinstance(count, int) and count >= 1 for count in counts):
        raise ValueError(f"links and batch are {counts}; expected whole numbers of 1 or more")
    if not (all(isinstance(size, float) and math.isfinite(size) for size in sizes) and row.seconds > 0 <= row.residual):
        raise ValueError(f"seconds and residual are {sizes}; expected a positive number and one not below zero")
    return row


@lru_cache(maxsize=2)
def machine_key(device: str = "cpu") -> dict[str, str | int]:
    """Return the key of a table's validity: device, libraries, kernel sources."""
    if device == "cuda":
        return {**gpu.describe(), "kernels": source_digest("cuda")}
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "llvmlite")}
    return {
        "device": processor(),
        "cores": cores(),
        "python": platform.python_version(),
        **versions,
        "kernels": source_digest("cpu"),
    }


def source_digest(folder: str) -> str:
    """Return a digest of the sources in a folder of the engine."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).parents[1] / folder).rglob("*.[pc]*")):
        if path.suffix not in (".py", ".cu", ".cuh"):
            continue
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def processor() -> str:
    """Return the processor's name, as far as the platform knows it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
