"""A button in the picture that loads the controller that a session names, which opening the session does not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PyQt6.QtCore import QEvent, QObject
from PyQt6.QtWidgets import QPushButton

from app.features.controller_view import ControllerView
from app.features.window_type import Window

MARGIN = 16  # px from the viewport's lower edge
TIP = "{}: the controller of the session that was opened; it is Python code and runs with your user rights"


class OfferedController(QObject):
    """Shows the button until a controller is loaded, or another robot."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._path = window, ""
        self.button = QPushButton(window.viewport, objectName="note")
        self.button.clicked.connect(self._load)
        self.button.hide()
        window.viewport.installEventFilter(self)
        window.loaded.connect(lambda _: self._offer(""))
        window.refreshed.connect(self._refresh)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        viewport, size = self._window.viewport, self.button.sizeHint()
        self.button.resize(size)
        self.button.move((viewport.width() - size.width()) // 2, viewport.height() - size.height() - MARGIN)
        self.button.raise_()

    def _offer(self, path: str) -> None:
        self._path = path
        self.button.setText(f"Load {Path(path).name}")
        self.button.setToolTip(TIP.format(path))
        self.button.setVisible(bool(path))
        self._place()

    def _refresh(self) -> None:
        if self._path and self._window.workbench.controller.path:
            self._offer("")

    def _load(self) -> None:
        self._window.feature(ControllerView).load(self._path)
        self._offer("")
        self._window.viewport.setFocus()

    def kept(self) -> dict[str, Any]:
        """Return no entries: sessions name the controller that drives the robot themselves."""
        return {}

    def restore(self, session: dict[str, Any]) -> None:
        """Offer a session's controller if its file is there."""
        path = session.get("controller")
        self._offer(path if isinstance(path, str) and path and Path(path).is_file() else "")
