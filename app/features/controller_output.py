"""Help › Controller output: the lines that a controller prints, with the simulated time of the call."""

from __future__ import annotations

from collections import deque

from PyQt6.QtCore import QTimer

from app.desktop.actions import make_action, offer
from app.desktop.text_window import TextWindow
from app.features.controller_view import ControllerView
from app.features.window_type import Window
from app.simulation.messages import ControllerChanged, Event

KEPT = 2000  # lines
POLL_INTERVAL = 200  # ms between two looks for new lines
TIP = "The lines that the controller has printed, with the simulated time of the call"
NOTHING = "no controller has printed anything"


class ControllerOutput:
    """Keeps the newest lines of all controllers, and shows them."""

    def __init__(self, window: Window):
        self._window, self._controller = window, window.workbench.controller
        self.lines: deque[str] = deque(maxlen=KEPT)
        """The lines as they are shown."""
        self.action = make_action(window, "Controller o&utput…", self.show, tip=TIP)
        window.menus.help.put(self.action)
        self.dialog: TextWindow | None = None
        self._timer = QTimer(window, interval=POLL_INTERVAL, timeout=self._take)
        window.happened.connect(self._react)
        window.refreshed.connect(self._refresh)
        window.feature(ControllerView).clicked.connect(self.action.trigger)

    def _react(self, event: Event) -> None:
        if isinstance(event, ControllerChanged):
            self._take()
            if event.path:
                self._timer.start()
            else:
                self._timer.stop()

    def _take(self) -> None:
        new = self._controller.printed()
        for time, text in new:
            line = f"{'loading' if time is None else f'{time:.3f} s':>10}  {text}"
            self.lines.append(line)
            if self.dialog is not None:
                self.dialog.add(line)
        if new:
            self._refresh()

    def _refresh(self) -> None:
        offer(self.action, (bool(self.lines), NOTHING))

    def show(self) -> None:
        """Open the lines, or bring them to the front."""
        if self.dialog is None:
            self.dialog = TextWindow(
                self._window, "Controller output", KEPT, lambda: "\n".join(self.lines), self.lines.clear
            )
        self.dialog.open_whole()
