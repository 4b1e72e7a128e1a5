"""`show`: the simulation of a script in a window, while the script steps it."""

from __future__ import annotations

import atexit
import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from time import perf_counter, sleep, thread_time
from typing import Any

from engine import files, validation
from engine.copies import NotCopied
from engine.live import places, windows
from engine.live.records import Writer, record_of
from engine.recording import Recording
from engine.recording.files import save_run
from engine.recording.robot_text import robot_as_text
from engine.simulation import Simulation

PERIOD = 1 / 60
"""Seconds from one frame to the next, of the clock or simulated, whichever come first."""
SHARE, DENSE = 0.018, 0.005
"""Of the script's time that frames take at most, and those between which less than `PERIOD` passes on the clock."""
LOOKED_AT = 16
"""Frames over which the time of one is averaged, about."""
REST = 0.05  # s without a step after which a script rests, at least
MAIN = Path(__file__).resolve().parents[2] / "main.py"


class LiveLink(NotCopied):
    """What `show` returns: while it is open, the steps of its simulation reach windows. `close` ends it."""

    instead = "call engine.show for the copy of the simulation"

    def __init__(self, simulation: Simulation, robot: int):
        self.simulation = simulation
        self.fault = ""
        """Why no frames are written any more, in a sentence; empty while they are."""
        self.frames, self.seconds = 0, 0.0
        """How many were written, and the processor time that this took, s."""
        self.folder, lock = places.make()
        """What a window reads, see `engine.live`."""
        self._process, self._writing = os.getpid(), threading.Lock()
        self._run, self._mean = 0, 0.0
        self._due = self._due_early = 0.0  # when the next frame is due, and from when on after `_due_steps` steps
        self._due_steps = 0
        self._written = self._seen = -1, -1  # run and steps of the last frame, and of the last look of `_keep_up`
        self._writer = Writer(self.folder)
        self._release = weakref.finalize(self, _released, self._writer, lock)
        self._release.atexit = False  # after the last state
        _describe(self.folder, simulation, robot)
        simulation.watch(self._look)
        _OPEN.add(self)
        threading.Thread(target=_keep_up, args=(weakref.ref(self),), name="live link", daemon=True).start()

    @property
    def _at(self) -> tuple[int, int]:
        return self._run, self.simulation.steps

    def _look(self, begins: bool) -> None:
        """Write a frame if one is due: steps were taken, or the simulation `begins` anew from another state."""
        if begins:
            self._run, self._due_steps = self._run + 1, 0
        now = perf_counter()
        if now >= self._due or (now >= self._due_early and self.simulation.steps >= self._due_steps):
            self.send()

    def send(self) -> None:
        """Write the present state at once, as after it was set by hand; else steps do that."""
        if self._process == os.getpid() and self._writing.acquire(blocking=False):  # a fork is another script
            try:
                self._write(self._at)
            finally:
                self._writing.release()

    def _write(self, at: tuple[int, int]) -> None:
        """The present state, unless it is another than `at` before it is read, as where a thread steps meanwhile."""
        began = thread_time()
        record = record_of(self.simulation, self._run)
        if self.fault or self.simulation.busy or self._at != at or not self._release.alive:
            return
        try:
            self._writer.add(record)
        except OSError as error:
            self.fault = f"frames no longer reach the window: {error}"
            print(self.fault, file=sys.stderr)
            return
        took = thread_time() - began
        if self.frames:  # the first is of cold code
            self._mean += (took - self._mean) / min(self.frames, LOOKED_AT)
        self.frames, self.seconds, self._written = self.frames + 1, self.seconds + took, at
        now, period = perf_counter(), max(PERIOD, self._mean / SHARE)
        begins = self._due if now < self._due + period else now  # else steps that end a little later would add up
        self._due, self._due_early = begins + period, now + self._mean / DENSE
        self._due_steps = at[1] + max(1, round(PERIOD / self.simulation.dt))

    def keep_up(self) -> bool:
        """Write the state in which the script rests, if it is not written; whether there is anything to do later."""
        at = self._at
        if at == self._seen != self._written and not self.simulation.busy:
            self.send()
        self._seen = at
        return self._release.alive

    def close(self) -> None:
        """Write the last state, and leave the window with what it has seen. The simulation goes on unwatched."""
        if not self._release.alive:
            return
        self.simulation.watch(None)
        with self._writing:
            if self._at != self._written and self._process == os.getpid():
                self._write(self._at)
            self._release()


_OPEN: weakref.WeakSet[LiveLink] = weakref.WeakSet()


def _released(writer: Writer, lock: int) -> None:
    writer.close()
    os.close(lock)


def _keep_up(link: weakref.ref[LiveLink]) -> None:
    """Look every now and then whether the script rests."""
    while (there := link()) is not None and there.keep_up():
        del there
        sleep(REST)


@atexit.register
def _close_all() -> None:
    for link in tuple(_OPEN):
        link.close()


def show(simulation: Simulation, robot: int = 0, window: bool = True) -> LiveLink:
    """Have a window show a simulation of this script while it runs; the script goes on at once.

    It is a new window, or one that shows a script which has ended. Nothing more is to be called: steps write a frame
    for it every 1/60 s, of the clock or simulated, or seldomer, so that frames take less than 2 % of the script's time;
    on a GPU a frame waits for the steps before it. All robots of a batch are shown with their scene, `robot` is the one
    of which panels and plots tell. What is shown is a recording of the window, which stays when the script has ended.
    Times are the simulation's, s; a `reset` begins another run.

    The script never waits for the window, and goes on when that closes. Without a `window` none is opened: `main.py
    connect` opens one, or *File › Connect to script* has an open one show the script, at any time while it runs.

    Raises ValueError for a robot that the batch does not have, RuntimeError with one sentence where no window can be
    opened here, for want of a screen or of PyQt6, and OSError where there is no folder for the link.
    """
    robot = validation.whole("robot", robot, 0)
    if robot >= simulation.batch:
        raise ValueError(f"robot is {robot} and the batch {simulation.batch}; robots are numbered from 0")
    if window and (reason := _no_window()):
        raise RuntimeError(f"no window can be opened: {reason}; engine.show(simulation, window=False) goes without one")
    for link in tuple(_OPEN):
        if link.simulation is simulation:
            link.close()
    link = LiveLink(simulation, robot)
    if window and not windows.take_one(link.folder):
        _open_window(link.folder)
    return link


def _describe(folder: Path, simulation: Simulation, robot: int) -> None:
    """The run with the first frame, and then the description of the script, by which others find the link."""
    from engine import __version__

    model, first = simulation.model, Recording()
    first.begin(simulation)
    description: dict[str, Any] = robot_as_text(model)
    if model.source is not None and not model.parts:
        how = model.options
        description = {
            "robot": str(Path(model.source).absolute()), "floating": bool(how.get("floating")),
            "no_mimic": not how.get("mimic", True), "package_dir": list(how.get("package_dirs", ())),
        }  # fmt: skip
    run = first.runs[0]
    run._setups[:] = [dataclasses.replace(setup, watched=True) for setup in run.setups]
    save_run(folder / places.ROBOT, first, run, {**description, "catena": __version__})
    script = Path(sys.argv[0] or "Python").name
    about = {"catena": __version__, "script": script, "pid": os.getpid(), "robot": robot}
    with files.replacing(folder / places.ABOUT, "w") as file:
        json.dump(about, file)


def _no_window() -> str:
    """Why no window can be opened here; empty where one can."""
    if importlib.util.find_spec("PyQt6") is None:
        return "PyQt6 is not installed here"
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in names):
        return "there is no screen, neither DISPLAY nor WAYLAND_DISPLAY is set"
    return ""


def _open_window(folder: Path) -> None:
    """In a process that outlives this one, and does not hear its Ctrl-C."""
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    paths = os.pathsep.join(filter(None, (str(MAIN.parent), os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        [sys.executable, str(MAIN), "connect", str(folder)],
        stdin=subprocess.DEVNULL, env=files.environment() | {"PYTHONPATH": paths}, **options,
    )  # fmt: skip
    with suppress(AttributeError):
        process.returncode = 0  # it is not waited for, and Python need not warn that it runs still
