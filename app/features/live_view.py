"""A script's simulation in the window while it runs, see `engine.show`: followed as it is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PyQt6.QtCore import QObject, QTimer

import engine
from app.desktop.actions import MESSAGE, make_action
from app.recording import run_files
from app.simulation.messages import Loaded

if TYPE_CHECKING:
    from app.window import Window

LOOK = 16  # ms between two looks at what the script has written


class LiveView(QObject):
    """Reads the link of one script into the window's recording, and follows it while its newest frame is shown."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench = window, window.workbench
        self.reader: engine.LiveReader | None = None
        """Of the script that is shown; None for none, or once it has ended."""
        self._run: engine.Run | None = None
        tip = "Watch the simulation of a Python script that called engine.show"
        self.action = make_action(window, "&Connect to script", self._connect, tip=tip)
        window.menus.file.insertAction(window.files.robots_menu.menuAction(), self.action)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)
        window.loaded.connect(self._take_robot)
        window.closing.connect(self._timer.stop)

    def _connect(self) -> None:
        """Show the script that called `engine.show` last."""
        try:
            scripts = engine.live_scripts()
            if not scripts:
                raise ValueError("no script runs that called engine.show(simulation, window=False)")
            self._window.open(engine.LiveReader(scripts[-1]).run_file)
        except (OSError, ValueError) as fault:
            self._tell(str(fault))

    def _take_robot(self, event: Loaded) -> None:
        self.reader, self._run = None, None
        self._timer.stop()
        if not run_files.is_live(event.path):
            return
        self.reader, self._run = engine.LiveReader(Path(event.path).parent), self._bench.replay.runs[-1]
        self._bench.look_at(self.reader.robot)
        self._tell(f"{self.reader.script} drives the robot")
        self._timer.start(LOOK)

    def _look(self) -> None:
        """Record what has been written, and show the newest frame where it was shown before."""
        reader, replay, before = self.reader, self._bench.replay, self._run
        if reader is None or before is None:
            return
        follows = replay.opened and replay.run is before and replay.at_end and not replay.playing
        try:
            self._run = run = reader.read_into(replay.recording, before)
        except (OSError, ValueError) as fault:
            self._end(f"{reader.script} is not shown any more: {fault}")
            return
        if follows and (run is not before or not replay.at_end):
            replay.show(run.last, run)
        if reader.ended:
            self._end(f"{reader.script} has ended; the timeline has its run")

    def _end(self, message: str) -> None:
        self.reader = None
        self._timer.stop()
        self._tell(message)
        self._window.refresh()

    def _tell(self, message: str) -> None:
        self._window.statusBar().showMessage(message, MESSAGE)
