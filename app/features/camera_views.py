"""Camera views: standard, saved by name, orthographic and full screen."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QMenu

from app.desktop.actions import MESSAGE, check, make_action, say_empty
from app.desktop.dialogs import ask_name
from app.desktop.settings import setting
from app.features import session_text
from app.features.undo_view import UndoView
from app.features.window_type import Window
from app.gl.camera import Camera

Views = dict[str, list[float]]
KEY = "views"  # the settings' key
QUARTER = np.pi / 2
STANDARD = (
    ("&Front", "1", 0.0, 0.0),
    ("&Back", "Ctrl+1", np.pi, 0.0),
    ("&Right", "3", -QUARTER, 0.0),
    ("&Left", "Ctrl+3", QUARTER, 0.0),
    ("&Top", "7", -QUARTER, QUARTER),
    ("B&ottom", "Ctrl+7", -QUARTER, -QUARTER),
    ("&Isometric", "0", np.pi / 4, float(np.arctan(np.sqrt(0.5)))),
)
"""Names, keys, and the camera's azimuth and elevation, rad; a robot faces along x."""


class CameraViews:
    """The View menu's entries that move the camera."""

    def __init__(self, window: Window):
        self._window, self._viewport, self._settings = window, window.viewport, window.settings
        self._saved = read_views(setting(self._settings, KEY, "{}"))
        menu = QMenu("Standard &views", window, toolTipsVisible=True)
        self.standard = [
            make_action(window, text, partial(self._turn, azimuth, elevation), key)
            for text, key, azimuth, elevation in STANDARD
        ]
        menu.addActions(self.standard)
        tip = "Parallel lines stay parallel"
        self.parallel = make_action(window, "&Orthographic", self._set_parallel, "5", tip=tip, checkable=True)
        self.save = make_action(
            window, "&Save view…", self._ask_name, "Ctrl+Shift+V", tip="Save this view under a name"
        )
        self.menu = QMenu("Saved v&iews", window, toolTipsVisible=True, aboutToShow=self._fill)
        tip = "Full screen on or off"
        self.full_screen = make_action(window, "F&ull screen", self._turn_full, "F11", tip=tip, checkable=True)
        window.menus.view.put(menu, self.parallel, self.menu, self.full_screen)
        window.menus.view.aboutToShow.connect(self._show_full)

    def _turn(self, azimuth: float, elevation: float, *_: object) -> None:
        self._viewport.see(replace(self._viewport.camera, azimuth=azimuth, elevation=elevation))

    def kept(self) -> dict[str, Any]:
        """Return the camera, for a session."""
        camera = self._viewport.camera
        numbers = {name: getattr(camera, name) for name in ("distance", "azimuth", "elevation", "parallel")}
        return {"camera": {"target": camera.target.tolist(), **numbers}}

    def restore(self, session: dict[str, Any]) -> None:
        """Look as a session's camera does."""
        camera = session_text.camera(session, self._viewport.camera)
        self._viewport.see(camera)
        self.parallel.setChecked(camera.parallel)

    def _set_parallel(self, on: bool) -> None:
        self._viewport.see(replace(self._viewport.camera, parallel=on))

    def _turn_full(self) -> None:
        """Toggle full screen, restoring the previous state, also maximised; the desktop has keys for this too."""
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowFullScreen)
        self._show_full()

    def _show_full(self) -> None:
        check(self.full_screen, self._window.isFullScreen())

    # Saved views.

    def _fill(self) -> None:
        self.menu.clear()
        self.menu.addAction(self.save)
        self.menu.addSeparator()
        for name in self._saved:
            self._add(self.menu, name, self._go_to)
        if not self._saved:
            say_empty(self.menu, "No views yet")
            return
        for text, slot in (("&Rename", self._ask_to_rename), ("&Forget", self._forget)):
            menu = self.menu.addMenu(text)
            for name in self._saved:
                self._add(menu, name, slot)

    def _add(self, menu: QMenu, name: str, slot: Callable[[str], None]) -> None:
        action = menu.addAction(name.replace("&", "&&"))
        action.triggered.connect(lambda: slot(name))

    def _ask_name(self) -> None:
        if (name := ask_name(self._window, "Save this view", "view")) is not None:
            self.keep(name)

    def keep(self, name: str) -> None:
        """Save the camera under a name, replacing any view of that name."""
        at, done = self._viewport.camera, "replaced" if name in self._saved else "saved"
        view = [*at.target.tolist(), at.distance, at.azimuth, at.elevation, float(at.parallel)]
        self._change(self._saved | {name: view}, f"Save view {name}")
        self._window.statusBar().showMessage(f"view {done}: View › Saved views › {name}", MESSAGE)

    def _ask_to_rename(self, name: str) -> None:
        def refuse(new: str) -> str:
            taken = new != name and new in self._saved
            return f"there is a view {new!r} already; type another name, or forget it first" if taken else ""

        new = ask_name(self._window, "Rename a view", "view", name, refuse)
        if new in (None, name):
            return
        views = {new if each == name else each: view for each, view in self._saved.items()}
        self._change(views, f"Rename view {name} to {new}")
        self._window.statusBar().showMessage(f"view renamed: View › Saved views › {new}", MESSAGE)

    def _forget(self, name: str) -> None:
        self._change({each: view for each, view in self._saved.items() if each != name}, f"Forget view {name}")
        self._window.statusBar().showMessage(f"view forgotten: {name}; Undo brings it back", MESSAGE)

    def _change(self, views: Views, text: str) -> None:
        """Save other views than before; `text` is the undo text."""
        before = self._saved
        self._store(views)
        self._window.feature(UndoView).add(text, partial(self._store, before), partial(self._store, views))

    def _store(self, views: Views) -> bool:
        self._saved = views
        self._settings.setValue(KEY, json.dumps(views))
        return True

    def _go_to(self, name: str) -> None:
        x, y, z, distance, azimuth, elevation, parallel = self._saved[name]
        self.parallel.setChecked(bool(parallel))
        self._viewport.see(Camera(np.array([x, y, z]), distance, azimuth, elevation, parallel=bool(parallel)))


def read_views(text: str) -> Views:
    """Parse the saved views by name; return none if they are damaged."""
    try:
        views = {str(name): [float(x) for x in view] for name, view in json.loads(text).items() if len(view) == 7}
        return {name: view for name, view in views.items() if all(map(math.isfinite, view))}
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
