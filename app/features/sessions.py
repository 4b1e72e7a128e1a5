"""Sessions: the window's state in a JSON file that later versions can open, with the recording in a file beside it.

The recording is the timeline's run, as `main.py view` plays it. A session continues from its last frame, or shows the
recorded frame that was shown. Unknown data in a file is ignored, and missing data leaves the state unchanged. The file
names a controller, but opening a session does not run it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from PyQt6.QtCore import QByteArray
from PyQt6.QtWidgets import QMessageBox

import engine
from app.desktop.actions import MESSAGE, NO_ROBOT, make_action, offer
from app.desktop.dialogs import ask, ask_file, ask_path, file_name
from app.features import session_scene, session_text
from app.features.diagnostics_view import DiagnosticsView
from app.features.run_exports import RunExports
from app.features.session_text import KEPT, VERSION, NoRobot, NoSession
from app.features.window_type import Window
from app.file_signature import NO_FILE, signature
from app.reasons import reason
from app.recording import run_files
from app.simulation.messages import Event, Loaded, Refused

KIND = "Catena sessions (*.catena)"
SUFFIX = ".catena"
GENERATED = "a generated robot has no file that a session could name: save it as URDF first, File › Generate"
PASSING = "the robot of this run has a temporary file only, which no session can name"


class Sessions:
    """Adds the entries to the File menu, and saves and opens sessions."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        tip = "Save what is open: robots, pose, drives, ground, batch, camera, layout, lesson, plots, the run shown"
        self.save_action = make_action(window, "&Save session", self._save_again, "Ctrl+S", tip=tip)
        tip = "Save what is open to another file"
        self.save_as = make_action(window, "Save session &as…", self._ask_save, "Ctrl+Shift+S", tip=tip)
        tip = "Open a saved session"
        self.open_action = make_action(window, "Open sess&ion…", self._ask_open, "Ctrl+Shift+O", tip=tip)
        window.menus.file.put(self.save_action, self.save_as, self.open_action, apart=True)
        self._opening: Opening | None = None
        self._file: tuple[str | None, str] = None, ""  # a robot's file, and that of its session
        self._known: dict[str, tuple[int, int]] = {}  # signatures of sessions, as last read or written here
        self.question: QMessageBox | None = None
        window.files.others[SUFFIX] = self._try_open
        window.loaded.connect(self._on_loaded)
        window.happened.connect(self._on_event)
        window.refreshed.connect(self._refresh)

    def _refresh(self) -> None:
        for action in (self.save_action, self.save_as):
            offer(action, (self._bench.robot.model is not None, NO_ROBOT))

    @property
    def path(self) -> str:
        """The file of the session that is open; empty if none is."""
        robot, path = self._file
        return path if robot is not None and robot == self._bench.source else ""

    def _save_again(self) -> None:
        """Save to the file of the session that is open, else ask for one."""
        if not (path := self.path):
            self._ask_save()
        elif signature(path) in (NO_FILE, self._known.get(path)):
            self._show_result(self._save, path)
        else:
            text = f"{Path(path).name} was written by another window or program since. Replace what it holds now?"
            choices = {"&Replace": lambda: self._show_result(self._save, path), "Save &as…": self._ask_save}
            self.question = ask(self._window, text, choices, note=path)

    def _ask_save(self) -> None:
        if self._bench.source is None:
            self._window.statusBar().showMessage(GENERATED, MESSAGE)
            return
        if run_files.is_passing(self._bench.source):
            self._window.statusBar().showMessage(PASSING, MESSAGE)
            return
        name = file_name(self._bench.robot.model.name, SUFFIX)
        if path := ask_path(self._window, "Save the session", name, KIND, SUFFIX):
            self._show_result(self._save, path)

    def _ask_open(self) -> None:
        if path := ask_file(self._window, "Open a session", kinds=KIND):
            self._window.files.start(partial(self._try_open, path))

    def _try_open(self, path: str) -> None:
        if (error := self._show_result(self._start, path)) is not None:
            self._window.feature(DiagnosticsView).show_refused(Refused.because(path, error))
        if isinstance(error, NoRobot):
            choices = {"&Locate the file…": partial(self._locate, path)}
            text = f"The robot's file of {Path(path).name} is missing. Where is it now?"
            self.question = ask(self._window, text, choices, note=str(error).partition("; ")[0])

    def _locate(self, path: str) -> None:
        """Ask for the robot's file, and open the session with it."""
        if robot := ask_file(self._window, f"The robot of {Path(path).name}", str(Path(path).parent)):
            self._show_result(partial(self._start, robot=robot), path)

    def _save(self, path: str) -> str:
        with_run = self.save(path)
        self._file = self._bench.source, path
        self._bench.note_recent(path)
        self._window.refresh()
        if with_run:
            return ""
        lost = "" if session_scene.fits(self._bench.robot.settings.scene) else " without its ground, which is too large"
        return f"Saved {path}{lost}"

    def _start(self, path: str, robot: str = "") -> str:
        self.open(path, robot)
        return f"Opening {path}"

    def _show_result(self, act: Callable[[str], str], path: str) -> OSError | NoSession | None:
        """Call `act` on a file and show its message; show and return an error."""
        try:
            done = act(path)
        except (OSError, NoSession) as error:
            self._window.statusBar().showMessage(f"{path}: {reason(error)}", MESSAGE)
            return error
        if done:
            self._window.statusBar().showMessage(done, MESSAGE)
        return None

    def save(self, path: str) -> bool:
        """Write the session, then in a thread its recording; return whether that thread was started.

        Raises OSError, also while another recording is being written.
        """
        exports, replay = self._window.feature(RunExports), self._bench.replay
        exports.require_turn()
        session, run = self.session(), replay.chosen
        session["robot"]["relative"] = session_text.relative(self._bench.path, path)
        self._write(path, session)
        if run is None or len(run) < 2 or np.ptp(replay.recording.span(run)) == 0:
            return False
        beside = Path(f"{path}{run_files.SUFFIX}")
        session["recording"] = beside.name
        if replay.active and not replay.at_present and replay.frame is not None:
            session["moment"] = replay.frame.time
        write_run = exports.writer(str(beside), "npz")

        def work(stop: threading.Event) -> str:
            try:
                reported = write_run(stop)
            except (OSError, RuntimeError, ValueError, MemoryError) as error:
                return f"Saved {path} without its recording: {reason(error)}"
            self._write(path, session)
            return f"Saved {path}; {reported}"

        exports.save(work, f"writing {beside.name} …")
        return True

    def _write(self, path: str, session: dict[str, Any]) -> None:
        with engine.replacing(path) as file:
            file.write(json.dumps(session, indent=1).encode())
        self._known[path] = signature(path)

    def session(self) -> dict[str, Any]:
        """Return the window's state as JSON data."""
        bench, robot, window = self._bench, self._bench.robot, self._window
        model, settings = robot.model, robot.settings
        there = robot.newest is not None and np.all(np.isfinite(robot.newest.q))  # not finite if the robot diverged
        q, given = robot.newest.q if there else robot.initial, bench.opening.xacro_args(bench.path)
        return {
            "catena session": VERSION,
            "robot": {"path": bench.path, "floating": robot.floating, "xacro args": given},
            "parts": engine.robot_as_text(model)["parts"][1:] if model.parts else [],
            "pose": {joint.name: q[joint.q].tolist() for joint in model.joints if joint.leader is None},
            "settings": {
                **{name: getattr(settings, name) for name in KEPT},
                "gravity vector": list(settings.gravity_vector or ()),
                "driven": sorted(model.coordinate_names[v] for v in settings.driven),
                "by velocity": sorted(model.coordinate_names[v] for v in settings.by_velocity),
                "gains": {model.coordinate_names[v]: [kp, kd] for v, kp, kd in settings.gains},
                "speed": bench.speed,
            },
            "scene": session_scene.write(settings.scene),
            "batch": asdict(settings.spread),
            "drives": {
                row.name: asdict(robot.set_drive(k)) for k, row in enumerate(robot.coordinates) if row.driveable
            },
            "layout": bytes(window.saveState().toBase64().data()).decode(),
            "controller": bench.controller.path,
            **{name: entry for each in _keeping(window) for name, entry in each.kept().items()},
        }

    def open(self, path: str, robot: str = "") -> None:
        """Load the session's robot, then restore the rest; the robot is that in the file `robot`, if given.

        Raises OSError and NoSession.
        """
        found = signature(path)
        session = session_text.read(path, robot)
        self._known[str(Path(path).absolute())] = found
        problem, recording, parts = "", "", list[Any]()
        try:
            recording, parts = session_text.recording(session, path), session_text.parts(session)
        except ValueError as error:
            problem = str(error)
        if recording and not Path(recording).is_file():
            recording, problem = "", f"its recording is missing: {recording}"
        self._open(Opening(str(Path(path).absolute()), session, recording, problem, parts))

    def _open(self, opening: Opening) -> None:
        self._opening, robot = opening, opening.session["robot"]
        if opening.recording and not opening.parts:  # otherwise the recording contains them with the robot
            self._bench.opening.set_robot_of_run(opening.recording, robot["path"])
        self._bench.opening.set_xacro_args(robot["path"], session_text.xacro_args(opening.session))
        floating, reported = bool(robot.get("floating", False)), opening.parts
        self._bench.open(
            opening.file,
            floating,
            parts=lambda load: engine.parts_of_text(reported, "the session", load) if reported else (),
        )
        self._window.refresh()

    def _on_loaded(self, event: Loaded) -> None:
        opening, self._opening = self._opening, None
        if opening is None or event.path != str(Path(opening.file).expanduser().resolve()):
            return
        window, bench, session = self._window, self._bench, opening.session
        state: tuple[Callable[[], object], ...] = (
            lambda: bench.configuring.take_settings(session_text.settings(session, event.settings, event.model)),
            lambda: bench.posing.pose(session_text.pose(session, event.model, event.start)),
            lambda: self._drive(session),
        )
        restored: tuple[Callable[[], object], ...] = (
            *((lambda: self._continue(session),) if opening.recording else state),
            lambda: window.speed.set_speed(session_text.speed(session, bench.speed)),
            lambda: window.docks.restore(QByteArray.fromBase64(session_text.layout(session).encode())),
            *(partial(each.restore, session) for each in _keeping(window)),
        )
        with bench.actions.unnoted():
            problems = [problem for problem in (opening.problem, *map(_problem, restored)) if problem]
        # A session that was read in part is not overwritten by what was read.
        self._file = (None, "") if problems else (bench.source, opening.path)
        bench.note_recent(opening.path)
        window.refresh()
        controller = session.get("controller")
        if problems:
            window.statusBar().showMessage(f"part of the session cannot be read: {'; '.join(problems)}", MESSAGE)
        elif controller:
            text = f"the session had the controller {controller}; load it with Simulation › Controller"
            window.statusBar().showMessage(text)

    def _drive(self, session: dict[str, Any]) -> None:
        rows = {row.name: k for k, row in enumerate(self._bench.robot.coordinates) if row.driveable}
        for name, drive in session_text.drives(session).items():
            if name in rows:
                self._bench.joints.set_joint_drive(rows[name], drive)

    def _continue(self, session: dict[str, Any]) -> None:
        """Continue from the last recorded frame, and restore waves, which it lacks; or show the saved frame."""
        bench, replay = self._bench, self._bench.replay
        bench.recent = [bench.path, *(path for path in bench.recent[1:] if path != bench.path)]
        replay.to_last()
        frame_time = session_text.frame_time(session)
        if frame_time is not None:
            replay.seek(frame_time)
            return
        bench.branch()
        rows = {row.name: row.effort_v for row in bench.robot.coordinates if row.driveable}
        for name, drive in session_text.drives(session).items():
            if name in rows and not drive.plain:  # plain drives are in the frame
                bench.drives.set(rows[name], drive)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Refused) and (opening := self._opening) is not None:
            self._opening = None
            if opening.recording:  # the robot may load without it
                why = event.diagnostics[0].problem if event.diagnostics else "it cannot be read"
                self._open(opening._replace(recording="", problem=f"its recording: {why}"))
            elif opening.parts:
                why = event.diagnostics[0].problem if event.diagnostics else "they cannot be read"
                self._open(opening._replace(parts=[], problem=f"the objects of the scene: {why}"))


@runtime_checkable
class Kept(Protocol):
    """A feature whose state sessions contain."""

    def kept(self) -> dict[str, Any]:
        """Return its entries of a session, as JSON data."""
        ...

    def restore(self, session: dict[str, Any]) -> None:
        """Restore its state. Raises ValueError, with a few words that name an entry that is invalid."""
        ...


def _keeping(window: Window) -> list[Kept]:
    return [each for each in window.features.values() if isinstance(each, Kept)]


class Opening(NamedTuple):
    """A session being opened: its path, that of its recording, the error so far, and the parts beside the robot."""

    path: str
    session: dict[str, Any]
    recording: str
    problem: str
    parts: list[Any]

    @property
    def file(self) -> str:
        """The file that the workbench opens."""
        return self.recording or str(self.session["robot"]["path"])


def _problem(part: Callable[[], object]) -> str:
    """Restore one part of a session; return the error, empty if none."""
    try:
        part()
    except ValueError as error:
        return str(error)
    return ""
