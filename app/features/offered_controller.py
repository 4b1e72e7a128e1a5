"""A button in the picture that loads the controller that a session names, which opening the session does not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.features.controller_view import ControllerView
from app.features.window_type import Window
from app.picture.note import PictureButton

TIP = "{}: the controller of the session that was opened; it is Python code and runs with your user rights"


class OfferedController:
    """Shows the button until a controller is loaded, or another robot."""

    def __init__(self, window: Window):
        self._window, self._path = window, ""
        self.button = PictureButton(window.viewport)
        self.button.clicked.connect(self._load)
        window.loaded.connect(lambda _: self._offer(""))
        window.refreshed.connect(self._refresh)

    def _offer(self, path: str) -> None:
        self._path = path
        self.button.setText(f"Load {Path(path).name}")
        self.button.setToolTip(TIP.format(path))
        self.button.setVisible(bool(path))
        self.button.place()

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
