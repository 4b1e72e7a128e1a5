"""Measure for the automatic selection while the window is idle: at low priority, until any user input."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from PyQt6.QtCore import QEvent, QObject, QTimer
from PyQt6.QtGui import QAction, QDropEvent, QInputEvent
from PyQt6.QtWidgets import QApplication, QLabel

import engine
from app.desktop.settings import setting
from app.features.compare_view import CompareView
from app.features.window_type import Window
from app.jobs.measuring import Measure, Measuring

REST = 120.0  # s without input or work before it begins; by then most robots' idle compilation has finished
POLL_INTERVAL = 1000  # ms between two checks
NICE = 19  # the operating system's lowest priority
MESSAGE = 10_000  # ms that the final message is shown
LOAD = 0.25  # load average per core above which it does not begin
KEY = "measure_at_rest"  # the settings' key
BATTERIES = Path("/sys/class/power_supply")
TOUCHES = {getattr(QEvent.Type, name) for name in ("KeyPress", "ShortcutOverride", "MouseButtonPress", "Wheel", "Drop")}
ACTION_TIP = "Once, while the program is idle: measure which algorithm is fastest on this machine"
LABEL_TIP = "Low priority, once per machine; any key or click stops it. Simulation › Measure when idle turns it off"
DONE = "measured: the automatic choice now takes the fastest algorithm on this machine"


def measure_quietly(progress: Callable[[int, int], None], *, stop: Callable[[], bool]) -> object | None:
    """Run `engine.measure_algorithms` at the lowest priority."""
    return engine.measure_algorithms(progress, stop=stop, nice=NICE)


def is_disturbed() -> bool:
    """Return whether the processor is busy or runs on battery, as far as the system reports it."""
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > LOAD * (os.cpu_count() or 1):
        return True
    with suppress(OSError):
        return any(path.read_text("utf-8").strip() == "Discharging" for path in BATTERIES.glob("*/status"))
    return False


class IdleMeasuring(QObject):
    """Starts a measurement on an unmeasured machine once it is idle, and stops it on any activity.

    `action` turns measuring on and off, which is remembered; `label`, in the status bar, shows the progress.
    """

    def __init__(self, window: Window, measure: Measure = measure_quietly):
        super().__init__(window)
        self.measuring = Measuring(measure)
        self._window, self._bar, settings = window, window.bar, window.settings
        self._since, self._requested = time.monotonic(), False
        self.label = QLabel(toolTip=LABEL_TIP)
        self._bar.addWidget(self.label)
        self.action = QAction("&Measure when idle", window, checkable=True, toolTip=ACTION_TIP)
        self.action.setChecked(setting(settings, KEY, True))
        self.action.toggled.connect(lambda on: settings.setValue(KEY, on))
        window.menus.simulation.addAction(self.action)
        window.closing.connect(self._close)
        self._timer = QTimer(self, timeout=self.poll)
        self._timer.start(POLL_INTERVAL)

    def eventFilter(self, _receiver: QObject, event: QEvent) -> bool:
        # All of the program's events pass here; a type check is cheap.
        if isinstance(event, (QInputEvent, QDropEvent)) and event.type() in TOUCHES:
            self._since = time.monotonic()
            if self.measuring.running:
                self.poll()
        return False

    def poll(self) -> None:
        """Start, continue or stop, depending on activity."""
        now, running = time.monotonic(), self.measuring.running
        wanted = self.action.isChecked() and (running or not (self._requested or engine.measured()))
        self._watch(wanted)
        if self._busy() or not wanted:
            self._since = now
        rested = now - self._since >= REST
        if running:
            self._show_progress(rested)
        elif rested and not is_disturbed():
            self.measuring.start()
            self._say(0.0)

    def _busy(self) -> bool:
        bench, compares = self._window.workbench, self._window.feature(CompareView).panel.running
        waiting = bench.opening.loading or bench.computation.compiling or bench.computation.preparing
        return bool(bench.robot.playing or waiting or compares or self._window.run.measuring)

    def _watch(self, wanted: bool) -> None:
        """Filter events only while needed: Qt calls filters for every event, thousands for a window."""
        application = QApplication.instance()
        if wanted:
            application.installEventFilter(self)
        else:
            application.removeEventFilter(self)

    def _show_progress(self, rested: bool) -> None:
        if not rested:
            self.measuring.stop()
        progress = self.measuring.poll()
        if progress is None:
            return
        if not progress.over:
            self._say(progress.done)
            return
        self.label.clear()
        if not progress.stopped:
            self._requested = True  # an error would recur
            self._bar.showMessage(progress.problem or DONE, MESSAGE)
            self._window.refresh()

    def _say(self, done: float) -> None:
        self.label.setText(f"idle: measuring algorithms, {done:.0%}")

    def _close(self) -> None:
        """Stop measuring, and wait for the thread."""
        self._timer.stop()
        QApplication.instance().removeEventFilter(self)
        self.measuring.close()
