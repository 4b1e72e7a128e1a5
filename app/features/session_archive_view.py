"""File › Save session with its robot: one .zip with all files of a session; Open takes it."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PyQt6.QtCore import QTimer

import engine
from app.desktop.actions import MESSAGE, NO_ROBOT, make_action, offer
from app.desktop.dialogs import ask_path, file_name
from app.features.diagnostics_view import DiagnosticsView
from app.features.run_exports import RunExports
from app.features.sessions import GENERATED, PASSING, Sessions
from app.features.window_type import Window
from app.jobs.background import Background
from app.reasons import reason
from app.recording import run_files, session_archives
from app.recording.session_archives import SESSION, SUFFIX, RobotFile
from app.simulation.messages import Refused

KIND = "Sessions with their robots (*.zip)"
TIP = "Save the session, its run and all files of its robot in one .zip, for another machine"
POLL_INTERVAL = 50  # ms between two looks whether an archive is unpacked


@dataclass(frozen=True)
class Unpacked:
    """The session of an archive, or why there is none."""

    archive: str
    session: str = ""
    error: OSError | ValueError | None = None
    over: bool = True


class SessionArchiveView:
    """Writes archives in the thread of exports, and unpacks them in one of its own."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        self.action = make_action(window, "Save session with its &robot…", self._ask, tip=TIP)
        window.menus.file.put(self.action)
        window.files.others[SUFFIX] = self._open
        self._unpacking: Background[Unpacked] = Background(
            "unpacking", lambda problem: Unpacked("", error=ValueError(problem))
        )
        self._timer = QTimer(window, interval=POLL_INTERVAL, timeout=self._poll)
        window.refreshed.connect(self._refresh)
        window.closing.connect(self._unpacking.close)

    def _refresh(self) -> None:
        offer(self.action, (self._bench.robot.model is not None, NO_ROBOT))

    def _ask(self) -> None:
        source = self._bench.source
        if source is None or run_files.is_passing(source):
            self._window.statusBar().showMessage(GENERATED if source is None else PASSING, MESSAGE)
            return
        name = file_name(self._bench.robot.model.name, SUFFIX)
        if path := ask_path(self._window, "Save the session with its robot", name, KIND, SUFFIX):
            self.save(path)

    def save(self, path: str) -> None:
        """Write the session, its run and the files of its robots to a .zip, in a thread."""
        exports, opening, replay = self._window.feature(RunExports), self._bench.opening, self._bench.replay
        try:
            exports.require_turn()
        except OSError as error:
            self._window.statusBar().showMessage(f"{path}: {reason(error)}", MESSAGE)
            return
        session, run, file = self._window.feature(Sessions).session(), replay.chosen, self._bench.path
        robot = RobotFile(
            file, opening.package_dirs, opening.trusted, opening.xacro_args(file),
            self._bench.robot.model.options.get("srdf"),
        )  # fmt: skip
        has_run = run is not None and len(run) > 1 and bool(np.ptp(replay.recording.span(run)))
        if has_run and replay.active and not replay.at_present and replay.frame is not None:
            session["moment"] = replay.frame.time
        folder = tempfile.TemporaryDirectory(prefix="catena-")
        recording = str(Path(folder.name) / "run.npz") if has_run else ""
        write_run = exports.writer(recording, "npz") if has_run else None

        def work(stop: threading.Event) -> str:
            with folder:
                try:
                    if write_run is not None:
                        write_run(stop)
                    left_out = session_archives.pack(path, session, robot, recording)
                except (OSError, RuntimeError, ValueError, MemoryError, engine.ModelError) as error:
                    return f"{path} was not saved: {reason(error)}"
            return f"Saved {path}{left_out}"

        exports.save(work, f"writing {Path(path).name} …")

    def _open(self, path: str) -> None:
        def work(_: threading.Event) -> Unpacked:
            try:
                return Unpacked(path, session_archives.unpack(path))
            except (OSError, ValueError) as error:
                return Unpacked(path, error=error)

        self._window.statusBar().showMessage(f"unpacking {Path(path).name} …", MESSAGE)
        self._unpacking.run(work)
        self._timer.start()

    def _poll(self) -> None:
        """Open the session that was unpacked."""
        if (done := self._unpacking.poll()) is None:
            return
        self._timer.stop()
        if done.error is not None:
            self._window.statusBar().showMessage(f"{done.archive}: {reason(done.error)}", MESSAGE)
            self._window.feature(DiagnosticsView).show_refused(Refused.because(done.archive, done.error))
        else:
            self._window.files.others[SESSION](done.session)
