"""The entries of File that open and export runs, and that make pictures of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PyQt6.QtCore import QTimer
from PyQt6.QtWidgets import QMenu

import engine
from app.desktop.actions import MESSAGE, make_action
from app.desktop.dialogs import ask_path, file_name
from app.desktop.reasons import reason
from app.features.picture_exports import PictureExports
from app.features.time_view import TimeView
from app.jobs.background import Background
from app.recording import run_files

if TYPE_CHECKING:
    from app.simulation.messages import Loaded, Snapshot
    from app.window import Window

LOOK = 50  # ms between two looks at whether a file is written
WRITING = 30.0  # s that closing waits for a file which is being written


@dataclass(frozen=True)
class Written:
    """What became of a file."""

    message: str
    over: bool = True


class RunExports:
    """Writes the run that the timeline shows, in a thread, and plays what was opened."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        make = partial(make_action, window)
        self.trajectory = make(
            "Run as &trajectory (.npz)…", partial(self._ask, "npz"), "Ctrl+E",
            tip="All of the run that is shown, a branch with what led to it; it opens again here and in NumPy",
        )  # fmt: skip
        self.table = make("Run as ta&ble (.csv)…", partial(self._ask, "csv"), tip="Time, q, v and tau of every frame")
        self.menu = QMenu("&Export", window)
        self.menu.setToolTipsVisible(True)
        self.pictures = PictureExports(window, self)
        self.stop = make("&Stop exporting", self._stop, tip="Give up the video that is being drawn")
        self.menu.addActions([self.pictures.picture, self.pictures.film, self.trajectory, self.table])
        self.menu.addSeparator()
        self.menu.addAction(self.stop)
        self._finish: Callable[[], None] = lambda: None
        self._stoppable = False
        window.menus.file.put(self.menu, apart=True)
        self.writing: Background[Written] = Background("export", lambda fault: Written(f"nothing was written: {fault}"))
        self._timer = QTimer(window)
        self._timer.timeout.connect(self._look)
        window.refreshed.connect(self._refresh)
        window.framed.connect(self._follow)
        window.loaded.connect(self._play_opened)
        window.closing.connect(self._close)

    def _refresh(self) -> None:
        run = self._bench.replay.chosen
        there = run is not None and len(run) > 1 and not self.writing.running
        for action in (self.trajectory, self.table):
            action.setEnabled(there)
        self.stop.setEnabled(self.writing.running and self._stoppable)
        self.pictures.refresh(self.writing.running)

    def _follow(self, _: Snapshot) -> None:
        """A run that has just begun can be exported while it goes on."""
        if not self.trajectory.isEnabled():
            self._refresh()

    def _ask(self, kind: str) -> None:
        name = file_name(self._bench.model.name, f".{kind}")
        filters = {"npz": "Trajectories (*.npz)", "csv": "Tables (*.csv)"}[kind]
        replay = self._bench.replay
        title = f"Export {run_files.which(replay.chosen, replay.runs)}"
        if path := ask_path(self._window, title, name, filters, kind):
            self.write(path, kind)

    def write(self, path: str, kind: str) -> None:
        """Write the run that is shown, as "npz" or "csv", whatever the file's name."""
        if self._bench.replay.chosen is not None and not self.writing.running:
            self.begin(self.writer(path, kind), f"writing {Path(path).name} …")

    def writer(self, path: str, kind: str) -> Callable[[threading.Event], str]:
        """What writes the run that is shown now, in a thread, and answers what has become of it."""
        bench, recording, run = self._bench, self._bench.replay.recording, self._bench.replay.chosen
        model = bench.model
        robot, floating, folders = bench.path, bench.floating, bench.package_dirs
        seen = cast(TimeView, self._window.features[TimeView]).keyframes.seen_in(run, bench.replay.runs)
        named = [[run.number, each.frame.time, each.name] for each in seen]
        looked_at, which = bench.replay.robot, run_files.which(run, bench.replay.runs)

        def work(_: threading.Event) -> str:
            frame = recording.frame(run, run.last)
            if kind == "csv":
                written = engine.recorded_trajectory(recording, run)
                engine.save_csv(path, frame.setup.model, written, looked_at)
            else:
                told = run_files.facts(frame.setup, robot, floating, folders) | run_files.lasting(model, robot)
                told |= {run_files.KEYFRAMES: named} if named else {}
                written = engine.save_run(path, recording, run, told, run_files.describe)
            return f"{len(written.time)} frames written to {Path(path).name}: {which}, {run_files.extent(run, written)}"

        return work

    def begin(
        self,
        work: Callable[[threading.Event], str],
        message: str,
        finish: Callable[[], None] = lambda: None,
        stoppable: bool = False,
    ) -> None:
        """Do that in a thread, which answers what has become of it, and `finish` here; all of it is told.

        Work that is `stoppable` looks at the event it is given.
        """

        def told(stop: threading.Event) -> Written:
            try:
                return Written(work(stop))
            except (OSError, RuntimeError, ValueError, MemoryError) as fault:
                return Written(f"nothing was written: {reason(fault)}")

        self._finish, self._stoppable = finish, stoppable
        self.writing.run(told)
        self._window.statusBar().showMessage(message)
        self._timer.start(LOOK)
        self._refresh()

    def tell(self, message: str) -> None:
        """How far the work is, from its thread."""
        self.writing.tell(Written(message, over=False))

    def _stop(self) -> None:
        self.writing.stop()

    def _close(self) -> None:
        """Have a run's file written to its end, and a film, which takes long, given up.

        Either way the thread is waited for: one that draws while the program ends crashes it.
        """
        self.writing.close(patience=WRITING)

    def _look(self) -> None:
        if (report := self.writing.poll()) is None:
            return
        self._window.statusBar().showMessage(report.message, MESSAGE if report.over else 0)
        if report.over:
            self._timer.stop()
            self._finish()
            self._refresh()

    def _play_opened(self, event: Loaded) -> None:
        """Play a run that was opened from a file; runs that were kept are shown as they were left."""
        replay = self._bench.replay
        if replay.opened:
            run = replay.runs[-1]
            if event.path.endswith(run_files.KEPT_SUFFIX):
                replay.show(run.last, run)
            else:
                replay.show(run.first, run)
                replay.toggle()
            self._window.refresh()
