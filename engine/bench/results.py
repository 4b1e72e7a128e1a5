"""Rows of measurements in a file, one line each, written as they arrive, so that an interrupted run keeps its rows.

The first line is the header: the plan and the machine. A later run with the same plan and machine continues the file;
any other run, or a damaged file, is refused and the file is unchanged.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from engine import files

Row = dict[str, Any]
Rows = Mapping[str, Row]
"""By their "key"."""
NONE: Rows = {}
Part = tuple[str, Callable[[], Row]]
"""A row's key, and what measures it."""
SAME = ("processor", "cores", "python", "numpy", "packages", "commit", "gpu")
"""The `facts.collect` that must be equal for all rows of a file."""


def measured_rows(parts: Iterable[Part], finished: Rows) -> Iterator[Row]:
    """Yield the rows in their order, finished ones unchanged; a failed one holds `failure`, and the others follow."""
    for key, measure in parts:
        if key in finished:
            yield finished[key]
            continue
        try:
            row = measure()
        except Exception as error:
            row = {"failure": f"{type(error).__name__}: {error}"}
        yield {"key": key, **row}


class Results:
    """The rows of one plan, by their "key"; stored in a file if there is a path.

    Raises ValueError, with nothing changed, for a file that is damaged or has another plan's or machine's rows, and
    OSError for one that cannot be written. A truncated last line is dropped.
    """

    def __init__(self, path: Path | None, plan: Mapping[str, Any], machine: Mapping[str, Any]):
        self.rows: dict[str, Row] = {}
        self.header: dict[str, Any] = {"machine": finite(machine), "plan": finite(plan)}
        self.path = path
        self._file: IO[bytes] | None = None
        if path is None:
            return
        content = b""
        if path.exists() and path.stat().st_size:
            content, header, self.rows = _parsed(path)
            _require_same(path, "plan", header["plan"], self.header["plan"], tuple(self.header["plan"]))
            _require_same(path, "machine", header["machine"], self.header["machine"], SAME)
        self._file = path.open("ab")
        self._file.truncate(len(content))
        if not content:
            self._write(self.header)
        elif not content.endswith(b"\n"):
            self._file.write(b"\n")

    def add(self, row: Mapping[str, Any]) -> Row:
        """Store a row, on disk on return; return it as in the file, with null for numbers that are not finite."""
        stored: Row = finite(row)
        if stored["key"] in self.rows:
            raise ValueError(f"there is a row {stored['key']!r} already")
        self.rows[stored["key"]] = stored
        if self._file is not None:
            self._write(stored)
        return stored

    def _write(self, content: Row) -> None:
        assert self._file is not None
        line = json.dumps(content, allow_nan=False).encode() + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            what = (
                f"{str(self.path)!r} cannot be written on; the rows before are kept, and the same call continues there"
            )
            raise files.Unwritten(error, what) from None

    def __enter__(self) -> Results:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            with suppress(OSError):  # the failed write was reported already
                self._file.close()


def read(path: Path) -> tuple[dict[str, Any], dict[str, Row]]:
    """Read a file's header and rows, by key. Raises ValueError for a damaged one, with the line and the fix."""
    _, header, rows = _parsed(path)
    return header, rows


def _parsed(path: Path) -> tuple[bytes, dict[str, Any], dict[str, Row]]:
    """Return the intact part of the file, the header, and the rows."""
    content = files.content(path, pipes=True)
    whole, end, rest = content.rpartition(b"\n")
    if not _is_json(rest):
        content = whole + end
    header: dict[str, Any] = {}
    rows: dict[str, Row] = {}
    if not content:
        raise _damage(path, 1, "it is not a header")
    for number, line in enumerate(content.splitlines(), 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _damage(path, number, str(error)) from None
        complete = isinstance(record, dict) and ({"plan", "machine"} if number == 1 else {"key"}) <= record.keys()
        if not complete or (number > 1 and not isinstance(record["key"], str)):
            raise _damage(path, number, "it is not a header" if number == 1 else "it is not a row")
        if number == 1:
            header = record
        elif record["key"] in rows:
            raise _damage(path, number, f"row {record['key']!r} is there twice")
        else:
            rows[record["key"]] = record
    return content, header, rows


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _damage(path: Path, number: int, what: str) -> ValueError:
    return ValueError(
        f"{path} is damaged at line {number} ({what}) and was left as it is; mend it, move it, or name another file"
    )


def _require_same(path: Path, of: str, there: Any, here: Mapping[str, Any], names: tuple[str, ...]) -> None:
    stored = there if isinstance(there, dict) else {}
    for name in dict.fromkeys((*names, *(stored if of == "plan" else ()))):
        if stored.get(name) != here.get(name):
            raise ValueError(
                f"{path} contains rows of another {of} ({name}: {stored.get(name)!r} there, {here.get(name)!r} here); "
                "name another file, or measure as that one was"
            )


def finite(value: Any) -> Any:
    """Convert a value for JSON, without tuples; null replaces numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
