"""Crash reports, and the session that a crashed run had open; the next run finds both. Free of Qt.

A report is written for an uncaught exception in the window's thread or any other, and by the interpreter itself for a
crash in machine code. The open session is noted in `session.json`, which is deleted when a run ends normally.
"""

from __future__ import annotations

import faulthandler
import json
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import engine

KEPT = 20  # reports
SESSION, FAULT, LOCK = "session.json", "fault.txt", "lock"
"""File names for the first program running; further programs append their number, see `Reports`."""


@dataclass(frozen=True)
class CrashedRun:
    """The session of a run that crashed, and its report if there is one."""

    session: dict[str, Any]
    report: Path | None

    @property
    def report_time(self) -> str:
        """When the report was written, which may be long before the end, of an error that the run survived."""
        if self.report is not None:
            with suppress(OSError):
                return f"{datetime.fromtimestamp(self.report.stat().st_mtime):%Y-%m-%d %H:%M}"
        return "unknown time"


class Reports:
    """The reports in a folder, and the session of this run."""

    def __init__(self, folder: Path, number: int = 1):
        """`number` distinguishes programs that share the folder. A folder that cannot be written to is tolerated."""
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._number = folder, number
        self._session, self._faults = (folder / numbered_name(name, number) for name in (SESSION, FAULT))
        self.log_text: Callable[[], str] = str
        """Returns the window's log so far."""
        self.on_report: Callable[[str, Path | None], None] = lambda _error, _report: None
        """Called from the failing thread with each error and its report's path, None if it could not be written."""
        self._fault: IO[str] | None = None
        self._installed = False
        self._written: dict[tuple[str, ...], Path] = {}  # by exception type and traceback

    def install(self) -> None:
        """Report uncaught exceptions from now on."""
        with suppress(OSError):
            self._fault = self._faults.open("w", encoding="utf-8")
            faulthandler.enable(self._fault)
        self._installed = True
        sys.excepthook = self._caught
        threading.excepthook = self._caught_in_thread

    def _caught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error, trace)
        if issubclass(kind, Exception):
            self.on_report(f"{kind.__name__}: {error}", self._try_to_write(error, "the window's thread"))

    def _caught_in_thread(self, args: threading.ExceptHookArgs) -> None:
        sys.__excepthook__(args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)
        if args.exc_value is not None and issubclass(args.exc_type, Exception):
            name = args.thread.name if args.thread is not None else "a thread"
            self.on_report(f"{args.exc_type.__name__}: {args.exc_value}", self._try_to_write(args.exc_value, name))

    def _try_to_write(self, error: BaseException, where: str) -> Path | None:
        """Call `write`; return None if the report cannot be written."""
        try:
            return self.write(error, where)
        except OSError:
            return None

    def write(self, error: BaseException, where: str) -> Path:
        """Write a report and return its path; an error of the same type and traceback is reported once."""
        place = type(error).__name__, *traceback.format_tb(error.__traceback__)
        if place in self._written:
            return self._written[place]
        now = datetime.now().astimezone()
        path = self._report(now)
        trace = "".join(traceback.format_exception(error))
        parts = (f"Catena {_version()}, {now:%Y-%m-%d %H:%M:%S %z}, in {where}", _machine(), trace, self.log_text())
        with engine.replacing(path) as file:
            file.write("\n\n".join(parts).encode())
        self._written[place] = path
        self._forget_the_oldest()
        return path

    def _forget_the_oldest(self) -> None:
        for path in self.reports()[:-KEPT]:
            path.unlink(missing_ok=True)

    def reports(self) -> list[Path]:
        """Return the paths of all reports, the oldest first."""
        return sorted(self.folder.glob("report-*.txt"))

    def remember(self, session: dict[str, Any]) -> None:
        """Save the open session. Raises OSError."""
        with engine.replacing(self._session) as file:
            file.write(json.dumps(session).encode())

    def _report(self, when: datetime) -> Path:
        return self.folder / numbered_name(f"report-{when:%Y%m%d-%H%M%S-%f}.txt", self._number)

    def _is_own(self, report: Path) -> bool:
        """Return whether a program with this number wrote the report."""
        return report.name == numbered_name("-".join(report.stem.split("-")[:4]) + ".txt", self._number)

    def saved_session(self) -> tuple[dict[str, Any], float] | None:
        """Return the saved session and its start time; None if it is missing or damaged."""
        try:
            session = json.loads(self._session.read_text(encoding="utf-8"))
            return session, float(session.get("begun", 0.0))
        except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return None

    def previous_crash(self) -> CrashedRun | None:
        """Return the session and report of the previous run if it crashed. Call this once, before `install`."""
        noted, fault = self.saved_session(), self._faults
        with suppress(OSError):  # a file that cannot be deleted is reported again
            self._session.unlink(missing_ok=True)
        if noted is None:
            return None
        session, since = noted
        with suppress(OSError):
            if fault.is_file() and fault.stat().st_size:
                now = datetime.fromtimestamp(fault.stat().st_mtime).astimezone()
                fault.replace(self._report(now))
        written = [each for each in self.reports() if self._is_own(each) and each.stat().st_mtime >= since]
        return CrashedRun(session, written[-1] if written else None)

    def end(self) -> None:
        """Mark this run as ended normally."""
        with suppress(OSError):
            self._session.unlink(missing_ok=True)
        if self._fault is not None:
            faulthandler.disable()
            self._fault.close()
            self._fault = None
            with suppress(OSError):
                self._faults.unlink(missing_ok=True)
        if self._installed:
            self._installed = False
            sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__


def numbered_name(name: str, number: int) -> str:
    """Return the file name for the program with this number."""
    return name if number == 1 else f"{Path(name).stem}-{number}{Path(name).suffix}"


def _machine() -> str:
    versions = []
    for name in ("numpy", "PyQt6", "PyQt6-Qt6", "PyOpenGL", "llvmlite"):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"{name} ?")
    return f"Python {platform.python_version()} on {platform.platform()}\n{', '.join(versions)}"


def _version() -> str:
    return str(engine.__version__)
