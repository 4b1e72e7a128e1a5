"""`Autosave`: save recordings to files while they grow, so that a run survives any end of the program.

The user is never asked whether to save. A simulator's window is closed many times a day, so users would dismiss such a
question unread, and a killed program cannot ask. As browsers and drawing programs do, the program saves the runs and
offers them at the next start. Old runs are deleted automatically: the newest `KEPT` remain, in at most `ROOM` bytes.

The runs of one robot are a folder: files of `engine.save_part` ordered by name, and a lock while they grow. Frames are
saved within about `PERIOD` seconds, so little remains to write when the window closes, however long the run is. The
folder takes no more space than the recording may in memory; beyond that its oldest parts are deleted.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from PyQt6.QtCore import QLockFile

import engine
from app.reasons import reason
from app.recording import run_files
from app.simulation.recorder import Controllers

KEPT, ROOM = 5, 2**30
PERIOD = 3.0  # s between two checks for new frames
MAX_SHARE = 0.1  # of the time, that writing may take at most
PARTING = 2.0  # s, at most, that `close` writes
MAX_BYTES = 8 * 2**20  # bytes of a part, approximately
FRAMES = 1000  # of a part
LOCKING = 1000  # ms that another window may hold the lock of a new folder while checking whether it grows
ATTEMPTS = 3  # to write frames while the oldest are being dropped
NAME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d)\.(\d\d)\.\d\d\.\d+ (.*)", re.DOTALL)
"""Matches folder names without suffix: day, hour and minute at which the runs began, and the robot's name."""
LOCK, CUT_SHORT = "lock", "cut short"
"""Files beside the parts: the lock, and a marker that the end of a run is missing."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The origin of a robot, as `Workbench` reports it."""

    model: engine.Model
    path: str
    floating: bool
    package_dirs: tuple[str, ...]
    folder: Path | None = None
    """The folder from which saved runs were opened, if any."""


@dataclass(frozen=True, eq=False)
class _Written:
    """The progress of writing a run: its last written frame, the start of the next part, and the last frame's q."""

    last: int
    following: int
    q: object


class _RobotsRuns:
    """The runs of one robot, and how far they are written. Used by the thread of `Autosave` only, once it is made."""

    def __init__(
        self, root: Path, recording: engine.Recording, model: engine.Model | None, opened: tuple[engine.Run, ...]
    ):
        self.recording, self.model = recording, model
        self.origin: Origin | None = None
        self.named: tuple[tuple[int, float, str], ...] = ()
        """Named keyframes, see `run_files.NamedKeyframe`."""
        self._named: dict[Path, tuple[tuple[int, float, str], ...]] = {}  # as written in each folder
        self._known: tuple[tuple[int, float, str], ...] = ()  # of runs from a file, as in that file
        self._root, self._opened = root, opened
        self.folder: Path | None = None
        """Where they are written, once there are any."""
        self._lock: QLockFile | None = None
        self._written: dict[engine.Run, _Written] = {}
        self._parts: deque[tuple[Path, int]] = deque()  # paths with their sizes in bytes
        self._count = 0
        self.whole = False
        """Whether the last attempt wrote everything."""

    def begin(self, origin: Origin) -> None:
        """Set the robot's origin; call it once the keyframes of opened runs are set."""
        self._known = self.named
        if origin.folder is not None:
            self._named[origin.folder] = self.named
        self.origin = origin

    def attempt(self, autosave: Autosave) -> str:
        """Write new frames; return an error sentence, empty on success."""
        self.whole, problem = False, ""
        for _ in range(ATTEMPTS):
            try:
                self.whole = self._write(autosave)
            except IndexError as error:  # the oldest frames may be dropped meanwhile
                problem = f"runs are not kept: {error}"
            except (OSError, ValueError, MemoryError) as error:
                return f"runs are not kept: {reason(error)}"
            except Exception as error:  # otherwise the thread would end unnoticed
                return f"runs are not kept: {type(error).__name__}: {error}"
            else:
                return ""
        return problem

    def _write(self, autosave: Autosave) -> bool:
        """Write new frames; return False if time ran out. Raises OSError and ValueError."""
        if self.origin is None or self.origin.model is not self.model:
            return True
        for run in self._wanted():
            end, begin = run.last, self._due(run)
            while begin is not None:
                if autosave.time_is_up:
                    return False
                written = self._write_part(run, begin, autosave.controllers_of(run))
                begin = written.following if written.last < end else None
        self._write_names(self.folder or self.origin.folder)
        return True

    def _write_names(self, folder: Path | None) -> None:
        """Write the keyframes' names; without new steps, into the folder that was opened."""
        named = self.named
        if folder is None or named == self._named.get(folder, ()) or not folder.is_dir():
            return
        with engine.replacing(folder / run_files.KEYFRAME_FILE, "w") as file:
            json.dump(named, file)
        self._named[folder] = named

    def end(self) -> None:
        """Stop writing, and release the lock."""
        if self._lock is None:
            return
        with suppress(OSError):  # the folder was deleted or moved
            if not self.whole:
                (self.folder / CUT_SHORT).touch()
        self._lock.unlock()
        with suppress(OSError):
            prune(self._root)

    def _wanted(self) -> list[engine.Run]:
        """Return the runs with new steps or keyframes, and the runs from which they branched, also from files."""
        runs = self.recording.runs
        wanted = {run.number for run in runs if run not in self._opened and self._is_stepped(run)}
        if wanted or self.origin.folder is None:  # otherwise the names go into the opened folder
            wanted |= {number for number, *_ in set(self.named) - set(self._known)}
        for run in reversed(runs):
            if run.number in wanted and run.left is not None:
                wanted.add(run.left[0])
        return [run for run in runs if run.number in wanted]

    def _is_stepped(self, run: engine.Run) -> bool:
        start, end = self.recording.span(run)
        return end > (run.left[1] if run.left else start)

    def _due(self, run: engine.Run) -> int | None:
        """Return the frame at which writing continues; None if nothing is new."""
        if run.last < run.own:  # a branch without steps
            return None
        written = self._written.get(run)
        if written is None:
            return 0
        if run.last <= written.last and self.recording.frame(run, run.last).checkpoint.q is written.q:
            return None
        return written.following

    def _write_part(self, run: engine.Run, begin: int, controllers: Controllers) -> _Written:
        folder, origin = self._made_folder(), self.origin
        newest = self.recording.frame(run, run.last)
        at = newest.checkpoint
        most = min(max(MAX_BYTES // max(at.q.nbytes + 3 * at.v.nbytes, 1), 1), FRAMES)
        robot = str(folder / run_files.ROBOT) if (folder / run_files.ROBOT).exists() else origin.path
        reported = run_files.facts(newest.setup, robot, origin.floating, origin.package_dirs)
        reported |= run_files.controllers(controllers)
        path = folder / f"{self._count:06d}{run_files.SUFFIX}"
        last, following = engine.save_part(path, self.recording, run, reported, run_files.describe, begin, most)
        self._written[run] = written = _Written(last, following, at.q if last == newest.index else None)
        self._count += 1
        self._parts.append((path, path.stat().st_size))
        while len(self._parts) > 1 and sum(size for _, size in self._parts) > self.recording.room:
            self._parts.popleft()[0].unlink(missing_ok=True)
        return written

    def _made_folder(self) -> Path:
        if self.folder is None:
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
            self.folder = folder
            prune(self._root)
        return self.folder

    def _fill(self, folder: Path) -> QLockFile:
        """Lock a new folder and copy the robot into it if it has no permanent file. Returns the lock."""
        lock = QLockFile(str(folder / LOCK))
        lock.setStaleLockTime(0)
        if not lock.tryLock(LOCKING):  # otherwise another window might take it for complete, or for empty
            raise OSError(f"{folder} cannot be locked")
        source = self.origin.model.source
        if source is None:
            text = engine.robot_as_text(self.origin.model)
            if "urdf" in text:
                (folder / run_files.ROBOT).write_text(text["urdf"], "utf-8")
            (folder / run_files.ROBOT_TEXT).write_text(json.dumps(text), "utf-8")
        elif Path(source).parent.parent == self._root:  # which may be deleted
            shutil.copyfile(source, folder / run_files.ROBOT)
            with suppress(FileNotFoundError):  # missing in folders of older versions
                shutil.copyfile(Path(source).with_name(run_files.ROBOT_TEXT), folder / run_files.ROBOT_TEXT)
        return lock


class Autosave:
    """Saves the runs of the current recording, and of earlier ones handed over, in a thread of its own."""

    def __init__(self, root: Path, recording: engine.Recording):
        self.root, self.problem = root, ""
        """`problem`: why runs are not saved, in a sentence; else empty."""
        self.controllers_of: Callable[[engine.Run], Controllers] = lambda _: ()
        self._recording, self._present = recording, _RobotsRuns(root, recording, None, ())
        self._before: deque[_RobotsRuns] = deque()
        self._until, self._complete = math.inf, False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="kept runs", daemon=True)
        self._thread.start()

    @property
    def folder(self) -> Path | None:
        """The folder of the current robot's runs, once there are any."""
        return self._present.folder

    @property
    def time_is_up(self) -> bool:
        """Whether the time for writing at program exit has run out."""
        return time.monotonic() > self._until

    def set_robot(self, origin: Origin) -> None:
        """Set the current robot's origin; nothing of it is written before."""
        self._present.begin(origin)

    def store_keyframes(self, model: engine.Model, named: tuple[tuple[int, float, str], ...]) -> None:
        """Set the named keyframes of that robot's runs."""
        if self._present.model is model:
            self._present.named = named

    def hand_over(self, left: engine.Recording, model: engine.Model, opened: tuple[engine.Run, ...]) -> None:
        """Hand over the complete runs of the previous robot; `opened` are runs of the new robot from a file."""
        before, self._present = self._present, _RobotsRuns(self.root, self._recording, model, opened)
        before.recording = left
        self._before.append(before)
        self._wake.set()

    def close(self) -> bool:
        """Write the rest, in at most `PARTING` s; return whether everything was written."""
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
            pause = max(PERIOD, (time.monotonic() - began) / MAX_SHARE)
        self._write()
        left = (*self._before, self._present)
        for runs in left:
            runs.end()
        self._complete = all(runs.whole for runs in left)

    def _write(self) -> None:
        """Write new frames of each robot, independently of errors in others."""
        before, problems = list(self._before), []
        for runs in before:
            problems.append(runs.attempt(self))
            if runs.whole:
                self._before.remove(runs)
                runs.end()
        while len(self._before) > KEPT:  # the others are retried
            self._before.popleft().end()
        problems.append(self._present.attempt(self))
        self.problem = next(filter(None, problems), "")


def parts(folder: Path) -> list[Path]:
    """Return the part files of a folder in order."""
    return sorted(folder.glob(f"*{run_files.SUFFIX}"))


def is_growing(folder: Path) -> bool:
    """Return whether an open window writes to the folder."""
    lock = QLockFile(str(folder / LOCK))
    lock.setStaleLockTime(0)
    if not lock.tryLock(0):
        return (folder / LOCK).exists()  # without a lock the folder cannot be written to at all
    lock.unlock()
    return False


def saved_runs(root: Path) -> list[Path]:
    """Return folders of saved runs to which no window writes, the last written first; others' files are ignored."""
    named = (each for each in root.glob(f"*{run_files.KEPT_SUFFIX}") if NAME.fullmatch(each.stem))
    ended = [(_written(each), each) for each in named if not is_growing(each)]
    return [each for _, each in sorted(ended, reverse=True)]


def _written(folder: Path) -> float:
    """Return when the last part was written, as a time stamp; 0 without parts."""
    with suppress(OSError):  # another window deletes them
        return max((path.stat().st_mtime for path in parts(folder)), default=0.0)
    return 0.0


def words(folder: Path) -> str:
    """Describe a folder of `saved_runs`: the robot, and when it was opened and when its last part was written."""
    day, hour, minute, robot = NAME.fullmatch(folder.stem).groups()
    written = _written(folder)
    ended = f"{datetime.fromtimestamp(written).astimezone():%H:%M}"
    begun = f"{hour}:{minute}"
    return f"{robot}, of {day} {begun}" + f" to {ended}" * (written > 0 and ended != begun)


def prune(root: Path) -> None:
    """Delete empty folders, and all but the newest."""
    room = ROOM
    for number, folder in enumerate(saved_runs(root)):
        size = sum(path.stat().st_size for path in parts(folder))
        room -= size
        if number >= KEPT or room < 0 < number or not size:
            shutil.rmtree(folder, ignore_errors=True)
