"""Sessions: a JSON file with the robot, its pose, camera, layout, settings and plots, which later versions still open.

What a version does not know of it leaves out, and what a file lacks stays as it is. A controller is named in the file,
but nothing of it runs by opening a session.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from PyQt6.QtCore import QByteArray
from PyQt6.QtWidgets import QFileDialog

import engine
from app.desktop.actions import MESSAGE, make_action
from app.features.camera_views import CameraViews
from app.features.plots_view import PlotsView
from app.gl.camera import Camera
from app.panels.plots import PlotsPanel
from app.panels.save_dialog import ask_path
from app.simulation.messages import Event, Loaded, Refused, Settings

if TYPE_CHECKING:
    from app.window import Window

VERSION = 1
KIND = "Catena sessions (*.catena)"
SUFFIX = ".catena"
_KEPT = ("dt", "integrator", "gravity", "ground", "algorithm", "device", "automatic", "held")
"""Of `Settings`; `driven`, `by_velocity` and `gains` are kept by names of joints, `scene` and `spread` are not kept."""


class NoSession(ValueError):
    """A file that is no session, or one that cannot be opened, in a sentence."""


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
        q = bench.initial if bench.newest is None else bench.newest.q
        settings, camera = bench.settings, window.viewport.camera
        return {
            "catena session": VERSION,
            "robot": {"path": bench.path, "floating": bench.floating},
            "pose": {joint.name: q[joint.q].tolist() for joint in model.joints if joint.leader is None},
            "settings": {
                **{name: getattr(settings, name) for name in _KEPT},
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
        session = read(path)
        robot = session["robot"]
        self._opening = session
        self._bench.open(robot["path"], floating=bool(robot.get("floating", False)))
        self._window.refresh()

    def _take(self, event: Loaded) -> None:
        session, self._opening = self._opening, None
        if session is None or event.path != str(Path(session["robot"]["path"]).expanduser().resolve()):
            return
        try:
            self._restore(session, event)
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            self._window.statusBar().showMessage(f"part of the session cannot be read: {fault!r}", MESSAGE)

    def _restore(self, session: dict[str, Any], event: Loaded) -> None:
        model, window, bench = event.model, self._window, self._bench
        settings = session.get("settings", {})
        bench.take_settings(_settings(settings, event.settings, model))
        window.speed.set_speed(float(settings.get("speed", bench.speed)))
        bench.pose(_pose(session.get("pose", {}), model, event.start))
        if camera := session.get("camera"):
            known = {field.name for field in fields(Camera)} & set(camera)
            values = {name: camera[name] for name in known - {"target"}}
            window.viewport.see(replace(window.viewport.camera, target=np.array(camera["target"], float), **values))
            cast(CameraViews, window.features[CameraViews]).parallel.setChecked(window.viewport.camera.parallel)
        window.restoreState(QByteArray.fromBase64(session.get("layout", "").encode()))
        self._plots.set_plots(session.get("plots", []))
        window.refresh()
        if controller := session.get("controller"):
            text = f"the session had the controller {controller}; it runs once you load it, Simulation › Controller"
            window.statusBar().showMessage(text)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Refused):
            self._opening = None


def read(path: str) -> dict[str, Any]:
    """The session in a file. Raises OSError, and NoSession for what is none or is of a later kind."""
    try:
        session = json.loads(Path(path).read_text(encoding="utf-8"))
        version, robot = session["catena session"], session["robot"]["path"]
        there = Path(robot).is_file()
    except (ValueError, KeyError, TypeError) as fault:
        raise NoSession("it is no session of Catena; open a file that Save session has written") from fault
    if not isinstance(version, int) or version > VERSION:
        raise NoSession(f"it was saved by a later version ({version}; this one knows up to {VERSION}); update Catena")
    if not there:
        raise NoSession(f"its robot is not there: {robot}; put it back, or save the session anew")
    return dict(session)


def _settings(kept: dict[str, Any], settings: Settings, model: engine.Model) -> Settings:
    """The settings with those that were kept; joints are found by their names."""
    names = {name: v for v, name in enumerate(model.coordinate_names)}
    values = {name: type(getattr(settings, name))(kept[name]) for name in _KEPT if name in kept}
    driven, by_velocity = (
        frozenset(names[name] for name in kept.get(which, ()) if name in names) for which in ("driven", "by velocity")
    )
    gains = kept.get("gains", {}).items()
    own = tuple((names[name], float(kp), float(kd)) for name, (kp, kd) in gains if name in names)
    return replace(settings, **values, driven=driven, by_velocity=by_velocity, gains=own)


def _pose(kept: dict[str, list[float]], model: engine.Model, start: np.ndarray) -> np.ndarray:
    """(nq,): where the joints that were kept stood, by their names; others as in `start`."""
    pose = start.copy()
    for joint in model.joints:
        values = kept.get(joint.name, [])
        if joint.leader is None and len(values) == joint.q.stop - joint.q.start:
            pose[joint.q] = values
    return pose
