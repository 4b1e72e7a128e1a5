"""`show`: display a script's simulation in a window while the script steps it."""

from __future__ import annotations

import atexit
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
from engine.child_process import own_session
from engine.live import places, windows
from engine.live.records import Writer, record_of
from engine.recording import Recording
from engine.recording.files import save_run
from engine.recording.robot_text import robot_as_text
from engine.simulation import Simulation
from engine.uncopyable import NotCopied

PERIOD = 1 / 60
"""Seconds between frames, in wall clock or simulated time, whichever passes first."""
MAX_SHARE, MAX_DENSE_SHARE = 0.018, 0.005
"""Maximum share of the script's time for all frames, and for frames closer than `PERIOD` in wall clock time."""
AVERAGED_FRAMES = 16
"""Approximate number of frames over which a frame's cost is averaged."""
REST = 0.05  # s without a step after which the script counts as idle
MAIN = Path(__file__).resolve().parents[2] / "main.py"


class LiveLink(NotCopied):
    """The result of `show`: until `close`, the steps of its simulation are sent to windows."""

    instead = "call engine.show for the copy of the simulation"

    def __init__(self, simulation: Simulation, robot: int):
        self.simulation = simulation
        self.problem = ""
        """Why frames are no longer written, in a sentence; empty while they are."""
        self.frames, self.seconds = 0, 0.0
        """Number of frames written, and the processor time spent on them, s."""
        self.folder, lock = places.make()
        """The link's folder; see `engine.live`."""
        self._process, self._writing = os.getpid(), threading.Lock()
        self._run, self._mean = 0, 0.0
        self._due = self._due_early = 0.0  # when the next frame is due, and from when after `_due_steps` steps
        self._due_steps = 0
        self._written = self._seen = -1, -1  # run and steps of the last frame, and at the last check of `_keep_up`
        self._writer = Writer(self.folder)
        self._release = weakref.finalize(self, _released, self._writer, lock)
        self._release.atexit = False  # `close` writes the last state first
        _describe(self.folder, simulation, robot)
        simulation.watch(self._write_if_due)
        _OPEN.add(self)
        threading.Thread(target=_keep_up, args=(weakref.ref(self),), name="live link", daemon=True).start()

    @property
    def _at(self) -> tuple[int, int]:
        return self._run, self.simulation.steps

    def _write_if_due(self, begins: bool) -> None:
        """Write a frame if one is due: after steps, or if the simulation `begins` again from another state."""
        if begins:
            self._run, self._due_steps = self._run + 1, 0
        now = perf_counter()
        if now >= self._due or (now >= self._due_early and self.simulation.steps >= self._due_steps):
            self.send()

    def send(self) -> None:
        """Write the current state now, for instance after setting it by hand; steps do so by themselves."""
        if self._process == os.getpid() and self._writing.acquire(blocking=False):  # a forked process is another script
            try:
                self._write(self._at)
            finally:
                self._writing.release()

    def _write(self, at: tuple[int, int]) -> None:
        """Write the current state, unless it no longer is `at`, because another thread has stepped."""
        began = thread_time()
        record = record_of(self.simulation, self._run)
        if self.problem or self.simulation.busy or self._at != at or not self._release.alive:
            return
        try:
            self._writer.add(record)
        except OSError as error:
            self.problem = f"frames no longer reach the window: {error}"
            print(self.problem, file=sys.stderr)
            return
        took = thread_time() - began
        if self.frames:  # the first frame includes warm-up
            self._mean += (took - self._mean) / min(self.frames, AVERAGED_FRAMES)
        self.frames, self.seconds, self._written = self.frames + 1, self.seconds + took, at
        now, period = perf_counter(), max(PERIOD, self._mean / MAX_SHARE)
        begins = self._due if now < self._due + period else now  # otherwise small delays would add up
        self._due, self._due_early = begins + period, now + self._mean / MAX_DENSE_SHARE
        self._due_steps = at[1] + max(1, round(PERIOD / self.simulation.dt))

    def keep_up(self) -> bool:
        """Write an idle script's state if not yet written; return whether to check again later."""
        at = self._at
        if at == self._seen != self._written and not self.simulation.busy:
            self.send()
        self._seen = at
        return self._release.alive

    def close(self) -> None:
        """Write the last state and end the link; the window keeps its recording, the simulation can continue."""
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
    """Check periodically whether the script is idle."""
    while (there := link()) is not None and there.keep_up():
        del there
        sleep(REST)


@atexit.register
def _close_all() -> None:
    for link in tuple(_OPEN):
        link.close()


def show(simulation: Simulation, robot: int = 0, window: bool = True) -> LiveLink:
    """Show a simulation of this script in a window while it runs; return at once.

    The window is a new one, or one whose script has ended. No further call is needed: steps write a frame every 1/60 s
    of wall clock or simulated time, or less often, so that frames take less than 2 % of the script's time; on a GPU a
    frame waits for the preceding steps. All robots of a batch are shown with their scene; panels and plots show
    `robot`. The window records the simulation and keeps the recording when the script has ended. Times are simulated,
    s; a `reset` begins a new run.

    The script never waits for the window, and continues when it closes. With `window=False` none is opened: `main.py
    connect` opens one, or *File › Connect to script* in an open one connects to the script, at any time while it runs.

    Raises ValueError for a robot index outside the batch, RuntimeError with one sentence if no window can be opened
    because a screen or PyQt6 is missing, and OSError if the link's folder cannot be created.
    """
    robot = validation.integer("robot", robot, 0)
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
    """Write the run with the first frame, and then the description by which others find the link."""
    from engine import __version__

    model, first = simulation.model, Recording()
    first.begin(simulation, watched=True)
    description: dict[str, Any] = robot_as_text(model)
    if model.source is not None and not model.parts:
        how = model.options
        description = {
            "robot": str(Path(model.source).absolute()), "floating": bool(how.get("floating")),
            "no_mimic": not how.get("mimic", True), "package_dir": list(how.get("package_dirs", ())),
        }  # fmt: skip
    save_run(folder / places.ROBOT, first, first.runs[0], {**description, "catena": __version__})
    script = Path(sys.argv[0] or "Python").name
    about = {"catena": __version__, "script": script, "pid": os.getpid(), "robot": robot}
    with files.replacing(folder / places.ABOUT, "w") as file:
        json.dump(about, file)


def _no_window() -> str:
    """Return why no window can be opened here; empty if one can."""
    if importlib.util.find_spec("PyQt6") is None:
        return "PyQt6 is not installed here"
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in names):
        return "there is no screen, neither DISPLAY nor WAYLAND_DISPLAY is set"
    return ""


def _open_window(folder: Path) -> None:
    """Open a window in a process that outlives this one and does not receive its Ctrl-C."""
    paths = os.pathsep.join(filter(None, (str(MAIN.parent), os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        [sys.executable, str(MAIN), "connect", str(folder)],
        stdin=subprocess.DEVNULL, env=files.environment() | {"PYTHONPATH": paths}, **own_session(),
    )  # fmt: skip
    with suppress(AttributeError):
        process.returncode = 0  # it is not waited for; suppresses Python's warning
