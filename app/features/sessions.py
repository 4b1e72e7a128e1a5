"""Sessions: a JSON file with the robot, its pose, camera, layout, settings and plots, which later versions still open.

What a version does not know of it leaves out, and what a file lacks stays as it is. A controller is named in the file,
but nothing of it runs by opening a session.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from PyQt6.QtCore import QByteArray
from PyQt6.QtWidgets import QFileDialog

import engine
from app.desktop.actions import MESSAGE, make_action
from app.features import session_text
from app.features.camera_views import CameraViews
from app.features.plots_view import PlotsView
from app.features.session_text import KEPT, VERSION, NoSession
from app.gl.camera import Camera
from app.panels.plots import PlotsPanel
from app.panels.save_dialog import ask_path
from app.simulation.messages import Event, Loaded, Refused

if TYPE_CHECKING:
    from app.window import Window

KIND = "Catena sessions (*.catena)"
SUFFIX = ".catena"


class Sessions:
    """Makes the entries of File, saves sessions and opens them."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        tip = "Write robot, pose, camera, layout, settings and plots to a file"
        self.save_action = make_action(window, "&Save session…", self._ask_save, "Ctrl+S", tip=tip)
        tip = "Take up a session that was saved"
        self.open_action = make_action(window, "Open sess&ion…", self._ask_open, "Ctrl+Shift+O", tip=tip)
        window.menus.file.put(self.save_action, self.open_action, apart=True)
        self._opening: dict[str, Any] | None = None
        window.files.others[SUFFIX] = self._try_open
        window.loaded.connect(self._take)
        window.happened.connect(self._hear)
        window.refreshed.connect(self._refresh)

    @property
    def _plots(self) -> PlotsPanel:
        return cast(PlotsView, self._window.features[PlotsView]).panel

    def _refresh(self) -> None:
        self.save_action.setEnabled(self._bench.model is not None and bool(self._bench.model.source))

    def _ask_save(self) -> None:
        if path := ask_path(self._window, "Save the session", f"session{SUFFIX}", KIND, SUFFIX):
            self._tell(self.save, path, "Saved {}")

    def _ask_open(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._window, "Open a session", "", KIND)
        if path:
            self._try_open(path)

    def _try_open(self, path: str) -> None:
        self._tell(self.open, path, "Opening {}")

    def _tell(self, act: Any, path: str, done: str) -> None:
        try:
            act(path)
        except OSError as fault:
            self._window.statusBar().showMessage(f"{path}: {fault.strerror or fault}", MESSAGE)
        except NoSession as fault:
            self._window.statusBar().showMessage(f"{path}: {fault}", MESSAGE)
        else:
            self._window.statusBar().showMessage(done.format(path), MESSAGE)

    def save(self, path: str) -> None:
        """Write what is open. Raises OSError."""
        with engine.replacing(path) as file:
            file.write(json.dumps(self.session(), indent=1).encode())

    def session(self) -> dict[str, Any]:
        """What is open, as JSON has it."""
        bench, window, model = self._bench, self._window, self._bench.model
        there = bench.newest is not None and np.all(np.isfinite(bench.newest.q))  # which a robot that diverged is not
        q = bench.newest.q if there else bench.initial
        settings, camera = bench.settings, window.viewport.camera
        return {
            "catena session": VERSION,
            "robot": {"path": bench.path, "floating": bench.floating},
            "pose": {joint.name: q[joint.q].tolist() for joint in model.joints if joint.leader is None},
            "settings": {
                **{name: getattr(settings, name) for name in KEPT},
                "driven": sorted(model.coordinate_names[v] for v in settings.driven),
                "by velocity": sorted(model.coordinate_names[v] for v in settings.by_velocity),
                "gains": {model.coordinate_names[v]: [kp, kd] for v, kp, kd in settings.gains},
                "speed": bench.speed,
            },
            "camera": {
                "target": camera.target.tolist(), "distance": camera.distance, "azimuth": camera.azimuth,
                "elevation": camera.elevation, "parallel": camera.parallel,
            },
            "layout": bytes(window.saveState().toBase64().data()).decode(),
            "plots": self._plots.layout_keys,
            "controller": bench.controller.path,
        }  # fmt: skip

    def open(self, path: str) -> None:
        """Load the session's robot, and what else the file has once that is there. Raises OSError and NoSession."""
        session = session_text.read(path)
        robot = session["robot"]
        self._opening = session
        self._bench.open(robot["path"], floating=bool(robot.get("floating", False)))
        self._window.refresh()

    def _take(self, event: Loaded) -> None:
        session, self._opening = self._opening, None
        if session is None or event.path != str(Path(session["robot"]["path"]).expanduser().resolve()):
            return
        window, bench = self._window, self._bench
        restored = (
            lambda: bench.take_settings(session_text.settings(session, event.settings, event.model)),
            lambda: window.speed.set_speed(session_text.speed(session, bench.speed)),
            lambda: bench.pose(session_text.pose(session, event.model, event.start)),
            lambda: self._see(session_text.camera(session, window.viewport.camera)),
            lambda: window.restoreState(QByteArray.fromBase64(session_text.layout(session).encode())),
            lambda: self._plots.set_plots(session_text.plots(session)),
        )
        faults = [fault for part in restored if (fault := _fault(part))]
        window.refresh()
        controller = session.get("controller")
        if faults:
            window.statusBar().showMessage(f"part of the session cannot be read: {'; '.join(faults)}", MESSAGE)
        elif controller:
            text = f"the session had the controller {controller}; it runs once you load it, Simulation › Controller"
            window.statusBar().showMessage(text)

    def _see(self, camera: Camera) -> None:
        self._window.viewport.see(camera)
        cast(CameraViews, self._window.features[CameraViews]).parallel.setChecked(camera.parallel)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Refused):
            self._opening = None


def _fault(part: Callable[[], object]) -> str:
    """What is wrong with a part of a session that is taken up by calling this; nothing where it is."""
    try:
        part()
    except ValueError as fault:
        return str(fault)
    return ""
