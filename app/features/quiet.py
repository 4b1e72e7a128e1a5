"""Measuring for the automatic choice while the window rests: at low priority, and ended by the first touch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from PyQt6.QtCore import QEvent, QObject, QSettings, QTimer, pyqtSignal
from PyQt6.QtGui import QAction, QDropEvent, QInputEvent
from PyQt6.QtWidgets import QApplication, QLabel, QMainWindow

import engine
from app.desktop.settings import kept
from app.jobs.measuring import Measure, Measuring

REST = 120.0  # s without input or work before it begins: by then what is compiled at rest is, for most robots
LOOK = 1000  # ms between two looks
NICE = 19  # the operating system's lowest priority
MESSAGE = 10_000  # ms that the last word stays
LOAD = 0.25  # processes that others keep busy, for each core, above which it does not begin
KEY = "measure_at_rest"  # the settings' key
BATTERIES = Path("/sys/class/power_supply")
TOUCHES = {getattr(QEvent.Type, name) for name in ("KeyPress", "ShortcutOverride", "MouseButtonPress", "Wheel", "Drop")}
ACTION_TIP = "Once, while the program is idle: measure which algorithm is fastest on this machine"
LABEL_TIP = "Low priority, once per machine; any key or click stops it. Simulation › Measure when idle turns it off"
DONE = "measured: the automatic choice now takes the fastest algorithm on this machine"


def measure_quietly(progress: Callable[[int, int], None], *, stop: Callable[[], bool]) -> object | None:
    """`engine.measure_algorithms` that stands back for everything else."""
    return engine.measure_algorithms(progress, stop=stop, nice=NICE)


def disturbed() -> bool:
    """Whether others keep the processor busy, or a battery is what it runs on, as far as the system tells."""
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > LOAD * (os.cpu_count() or 1):
        return True
    with suppress(OSError):
        return any(path.read_text("utf-8").strip() == "Discharging" for path in BATTERIES.glob("*/status"))
    return False


class QuietMeasuring(QObject):
    """Begins a measurement once a machine that was never measured has rested, and ends it as soon as it does not.

    `busy` tells whether the window is at work. `action` turns it on and off, which lasts; `label`, in the status bar,
    says how far it is.
    """

    over = pyqtSignal()
    """The measurement is done, or has failed; one that was ended begins anew after another rest."""

    def __init__(
        self, window: QMainWindow, settings: QSettings, busy: Callable[[], bool], measure: Measure = measure_quietly
    ):
        super().__init__(window)
        self.measuring = Measuring(measure)
        self._bar, self._busy = window.statusBar(), busy
        self._since, self._asked = time.monotonic(), False
        self.label = QLabel()
        self.label.setToolTip(LABEL_TIP)
        self._bar.addWidget(self.label)
        self.action = QAction("&Measure when idle", window, checkable=True)
        self.action.setToolTip(ACTION_TIP)
        self.action.setChecked(kept(settings, KEY, True))
        self.action.toggled.connect(lambda on: settings.setValue(KEY, on))
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.look)
        self._timer.start(LOOK)

    def eventFilter(self, _receiver: QObject, event: QEvent) -> bool:
        # All of the program's events come by here; to ask of what class they are is cheap.
        if isinstance(event, (QInputEvent, QDropEvent)) and event.type() in TOUCHES:
            self._since = time.monotonic()
            if self.measuring.running:
                self.look()
        return False

    def look(self) -> None:
        """Begin, go on or end, as the window is at work or at rest."""
        now, running = time.monotonic(), self.measuring.running
        wanted = self.action.isChecked() and (running or not (self._asked or engine.measured()))
        self._watch(wanted)
        if self._busy() or not wanted:
            self._since = now
        rested = now - self._since >= REST
        if running:
            self._go_on(rested)
        elif rested and not disturbed():
            self.measuring.start()
            self._say(0.0)

    def _watch(self, wanted: bool) -> None:
        """See touches only while they matter: Qt asks who sees them at each of its events, thousands for a window."""
        application = QApplication.instance()
        if wanted:
            application.installEventFilter(self)
        else:
            application.removeEventFilter(self)

    def _go_on(self, rested: bool) -> None:
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
            self._asked = True  # a fault would come again
            self._bar.showMessage(progress.fault or DONE, MESSAGE)
            self.over.emit()

    def _say(self, done: float) -> None:
        self.label.setText(f"idle: measuring algorithms, {done:.0%}")

    def close(self) -> None:
        """End it, and wait until it has ended."""
        self._timer.stop()
        QApplication.instance().removeEventFilter(self)
        self.measuring.close()
