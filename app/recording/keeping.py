"""`Keeper`: writes what is recorded to files while it goes on, so that no end of the program loses a run.

Nobody is asked whether to save. A simulation's window is closed many times a day, and a question at each time would be
answered without being read; nor could it be asked when the program is killed. As browsers and drawing programs do, the
program keeps what was made, and offers it at the next start. What nobody wants goes by itself: the newest `KEPT` are
kept, in at most `ROOM` bytes.

The runs of one robot are a folder: files of `engine.save_part` in the order of their names, and a lock while they grow.
What is recorded is on the disk `PERIOD` seconds later; so there is little to write when the window closes, however long
the run is. The folder takes no more room than the recording may in memory: then its oldest parts go.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from PyQt6.QtCore import QLockFile

import engine
from app.desktop.reasons import reason
from app.recording import run_files

KEPT, ROOM = 5, 2**30
PERIOD = 3.0  # s between two looks at what was recorded
SHARE = 0.1  # of the time, that writing may take
PARTING = 2.0  # s that `close` writes at most
LARGEST = 8 * 2**20  # bytes of a part, about
FRAMES = 1000  # of a part
LOCKING = 1000  # ms that another window may hold the lock of a new folder, to see whether it grows
ATTEMPTS = 3  # to write frames while the oldest go
NAME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d)\.(\d\d)\.\d\d\.\d+ (.*)", re.DOTALL)
"""Of a folder, without its suffix: day, hour and minute at which its runs began, and the robot's name."""
LOCK, CUT_SHORT = "lock", "cut short"
"""Files beside the parts: the lock, and what tells that the end of a run is missing."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a robot came from, as `Workbench` tells it."""

    model: engine.Model
    path: str
    floating: bool
    package_dirs: tuple[str, ...]
    folder: Path | None = None
    """That of the kept runs that were opened."""


@dataclass(frozen=True, eq=False)
class _Written:
    """How far a run is written: the last frame, the one from which the next part goes on, and that last one's q."""

    last: int
    following: int
    q: object


class _RobotsRuns:
    """The runs of one robot, and what of them is written. Belongs to the keeper's thread, but for its making."""

    def __init__(
        self, root: Path, recording: engine.Recording, model: engine.Model | None, opened: tuple[engine.Run, ...]
    ):
        self.recording, self.model = recording, model
        self.origin: Origin | None = None
        self.named: tuple[tuple[int, float, str], ...] = ()
        """Moments that have names, see `run_files.Moment`."""
        self._named: dict[Path, tuple[tuple[int, float, str], ...]] = {}  # as they are written, in each folder
        self._known: tuple[tuple[int, float, str], ...] = ()  # of runs from a file, as the file has them
        self._root, self._opened = root, opened
        self._folder: Path | None = None
        self._lock: QLockFile | None = None
        self._written: dict[engine.Run, _Written] = {}
        self._parts: deque[tuple[Path, int]] = deque()  # and their bytes
        self._count = 0
        self.whole = False
        """Whether all was written when it was last tried."""

    def begin(self, origin: Origin) -> None:
        """Where the robot came from; the moments of kept runs that were opened have their names by now."""
        self._known = self.named
        if origin.folder is not None:
            self._named[origin.folder] = self.named
        self.origin = origin

    def attempt(self, keeper: Keeper) -> str:
        """Write what is new; why that cannot be, in a sentence, else empty."""
        self.whole, fault = False, ""
        for _ in range(ATTEMPTS):
            try:
                self.whole = self._write(keeper)
            except IndexError as error:  # the oldest frames may go meanwhile
                fault = f"runs are not kept: {error}"
            except (OSError, ValueError, MemoryError) as error:
                return f"runs are not kept: {reason(error)}"
            except Exception as error:  # else the thread would end, and nobody would hear of it
                return f"runs are not kept: {type(error).__name__}: {error}"
            else:
                return ""
        return fault

    def _write(self, keeper: Keeper) -> bool:
        """Write what is new; whether there was time for all of it. Raises OSError and ValueError."""
        if self.origin is None or self.origin.model is not self.model:
            return True
        for run in self._wanted():
            end, begin = run.last, self._due(run)
            while begin is not None:
                if keeper.time_is_up:
                    return False
                written = self._write_part(run, begin)
                begin = written.following if written.last < end else None
        self._write_names(self._folder or self.origin.folder)
        return True

    def _write_names(self, folder: Path | None) -> None:
        """Write the names of moments, into the folder that was opened where nothing was stepped since."""
        named = self.named
        if folder is None or named == self._named.get(folder, ()) or not folder.is_dir():
            return
        with engine.replacing(folder / run_files.MOMENTS, "w") as file:
            json.dump(named, file)
        self._named[folder] = named

    def end(self) -> None:
        """Nothing is written any more."""
        if self._lock is None:
            return
        with suppress(OSError):  # somebody has taken the folder away
            if not self.whole:
                (self._folder / CUT_SHORT).touch()
        self._lock.unlock()
        with suppress(OSError):
            prune(self._root)

    def _wanted(self) -> list[engine.Run]:
        """The runs in which steps were taken or moments named here, and those that they left, from files too."""
        runs = self.recording.runs
        wanted = {run.number for run in runs if run not in self._opened and self._is_stepped(run)}
        if wanted or self.origin.folder is None:  # else the names go into the folder that was opened
            wanted |= {number for number, *_ in set(self.named) - set(self._known)}
        for run in reversed(runs):
            if run.number in wanted and run.left is not None:
                wanted.add(run.left[0])
        return [run for run in runs if run.number in wanted]

    def _is_stepped(self, run: engine.Run) -> bool:
        start, end = self.recording.span(run)
        return end > (run.left[1] if run.left else start)

    def _due(self, run: engine.Run) -> int | None:
        """The frame from which it is to be written; None where nothing is new."""
        if run.last < run.own:  # a branch in which no step was taken
            return None
        written = self._written.get(run)
        if written is None:
            return 0
        if run.last <= written.last and self.recording.frame(run, run.last).checkpoint.q is written.q:
            return None
        return written.following

    def _write_part(self, run: engine.Run, begin: int) -> _Written:
        folder, origin = self._made_folder(), self.origin
        newest = self.recording.frame(run, run.last)
        at = newest.checkpoint
        most = min(max(LARGEST // (at.q.nbytes + 3 * at.v.nbytes), 1), FRAMES)
        robot = str(folder / run_files.ROBOT) if (folder / run_files.ROBOT).exists() else origin.path
        told = run_files.facts(newest.setup, robot, origin.floating, origin.package_dirs)
        path = folder / f"{self._count:06d}{run_files.SUFFIX}"
        last, following = engine.save_part(path, self.recording, run, told, run_files.describe, begin, most)
        self._written[run] = written = _Written(last, following, at.q if last == newest.index else None)
        self._count += 1
        self._parts.append((path, path.stat().st_size))
        while len(self._parts) > 1 and sum(size for _, size in self._parts) > self.recording.budget:
            self._parts.popleft()[0].unlink(missing_ok=True)
        return written

    def _made_folder(self) -> Path:
        if self._folder is None:
            self._root.mkdir(parents=True, exist_ok=True)
            name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in self.origin.model.name)[:60]
            stem = f"{datetime.now().astimezone():%Y-%m-%d %H.%M.%S.%f} {name}"
            folder = self._root / f"{stem}{run_files.KEPT_SUFFIX}"
            folder.mkdir()
            try:
                self._lock = self._fill(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._folder = folder
            prune(self._root)
        return self._folder

    def _fill(self, folder: Path) -> QLockFile:
        """Lock a new folder, which is answered, and put the robot there where it has no file that lasts."""
        lock = QLockFile(str(folder / LOCK))
        lock.setStaleLockTime(0)
        if not lock.tryLock(LOCKING):  # else another window might take it for whole, or for empty
            raise OSError(f"{folder} cannot be locked")
        source = self.origin.model.source
        if source is None:
            text = engine.robot_as_text(self.origin.model)
            if "urdf" in text:
                (folder / run_files.ROBOT).write_text(text["urdf"], "utf-8")
            (folder / run_files.ROBOT_TEXT).write_text(json.dumps(text), "utf-8")
        elif Path(source).parent.parent == self._root:  # which may go
            shutil.copyfile(source, folder / run_files.ROBOT)
            with suppress(FileNotFoundError):  # which older versions did not write
                shutil.copyfile(Path(source).with_name(run_files.ROBOT_TEXT), folder / run_files.ROBOT_TEXT)
        return lock


class Keeper:
    """Keeps the runs of a recording, and of those that are handed over, in a thread of its own."""

    def __init__(self, root: Path, recording: engine.Recording):
        self.root, self.fault = root, ""
        """`fault`: why runs are not kept, in a sentence; else empty."""
        self._recording, self._present = recording, _RobotsRuns(root, recording, None, ())
        self._before: deque[_RobotsRuns] = deque()
        self._until, self._complete = math.inf, False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="kept runs", daemon=True)
        self._thread.start()

    @property
    def time_is_up(self) -> bool:
        """Whether the program has to end."""
        return time.monotonic() > self._until

    def set_robot(self, origin: Origin) -> None:
        """Where the present robot came from; until this is told, nothing of it is written."""
        self._present.begin(origin)

    def name_moments(self, model: engine.Model, named: tuple[tuple[int, float, str], ...]) -> None:
        """These moments of runs of that robot have names."""
        if self._present.model is model:
            self._present.named = named

    def hand_over(self, left: engine.Recording, model: engine.Model, opened: tuple[engine.Run, ...]) -> None:
        """The runs of the robot before, which are whole, since there is another, with runs that were `opened`."""
        before, self._present = self._present, _RobotsRuns(self.root, self._recording, model, opened)
        before.recording = left
        self._before.append(before)
        self._wake.set()

    def close(self) -> bool:
        """Write what is left, in `PARTING` s at most; whether there was time for all of it."""
        self._until = time.monotonic() + PARTING
        self._wake.set()
        self._thread.join(PARTING + 1.0)
        return self._complete

    def _work(self) -> None:
        pause = PERIOD
        while math.isinf(self._until):
            self._wake.wait(pause)
            self._wake.clear()
            began = time.monotonic()
            self._write()
            pause = max(PERIOD, (time.monotonic() - began) / SHARE)
        self._write()
        left = (*self._before, self._present)
        for runs in left:
            runs.end()
        self._complete = all(runs.whole for runs in left)

    def _write(self) -> None:
        """Write what is new of each robot, of one whatever became of another."""
        before, faults = list(self._before), []
        for runs in before:
            faults.append(runs.attempt(self))
            if runs.whole:
                self._before.remove(runs)
                runs.end()
        while len(self._before) > KEPT:  # the others are tried again
            self._before.popleft().end()
        faults.append(self._present.attempt(self))
        self.fault = next(filter(None, faults), "")


def parts(folder: Path) -> list[Path]:
    """Its files, in their order."""
    return sorted(folder.glob(f"*{run_files.SUFFIX}"))


def is_growing(folder: Path) -> bool:
    """Whether a window that is open writes to it."""
    lock = QLockFile(str(folder / LOCK))
    lock.setStaleLockTime(0)
    if not lock.tryLock(0):
        return (folder / LOCK).exists()  # without a lock the folder cannot be written to at all
    lock.unlock()
    return False


def kept(root: Path) -> list[Path]:
    """The folders of runs to which no window writes, the newest first; not what others have put or renamed there."""
    named = (each for each in root.glob(f"*{run_files.KEPT_SUFFIX}") if NAME.fullmatch(each.stem))
    return [each for each in sorted(named, reverse=True) if not is_growing(each)]


def words(folder: Path) -> str:
    """Whose runs they are, of a folder in `kept`, and since when."""
    day, hour, minute, robot = NAME.fullmatch(folder.stem).groups()
    return f"{robot}, of {day} {hour}:{minute}"


def prune(root: Path) -> None:
    """Let all but the newest go, and those that are empty."""
    room = ROOM
    for number, folder in enumerate(kept(root)):
        size = sum(path.stat().st_size for path in parts(folder))
        room -= size
        if number >= KEPT or room < 0 < number or not size:
            shutil.rmtree(folder, ignore_errors=True)
