"""File › Open second robot: simulate a second robot beside the first for comparison."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QPointF, pyqtSignal
from PyQt6.QtGui import QMouseEvent
from PyQt6.QtWidgets import QMenu

import engine
from app.acting.loaded_robot import alone
from app.desktop import dialogs
from app.desktop.actions import MESSAGE, NO_ROBOT, algorithm_name, make_action, offer
from app.desktop.context_menus import SECOND
from app.desktop.docks import RIGHT, Dock
from app.desktop.numbers import prefix_for
from app.features import session_text
from app.features.diagnostics_view import DiagnosticsView
from app.features.dragging import is_pull
from app.features.file_reader import FileReader
from app.features.window_type import Window
from app.gl.batch import Box
from app.gl.picking import Hit, pick, ray
from app.gl.scene import Scene
from app.panels.second_robot import ALGORITHMS, EMPTY, SecondRobotPanel
from app.plotting.quantities import own_energy, typical_work
from app.simulation.contacts import Contacts
from app.simulation.messages import Loaded, Snapshot
from app.simulation.second_robot import SavedSecondRobot, SecondRobotRequest, is_free
from app.simulation.starting import first_pose, has_limbs

REFRESH = 0.1  # s between two updates of the numbers while it plays
UNRECORDED = "The second robot was not there in this frame: it stays at its last live state"
UNBEGUN = "A recording has no second robot: press Branch here (Ctrl+B), and both are simulated from this frame"
WAITS = "Play waits for the second robot, which is being prepared"
UNTOUCHED = "{} is simulated for comparison only: to pull or pose it, open it first, or add it to the scene (O)"
CROWDED = "The second robot is hidden while a batch is shown"
NOWHERE = np.zeros(3)
GAP = 0.12  # of the larger robot's size
IN_THE_AIR = (
    "the file of {} fixes its root link to the world: Floating base, in its dock, frees it to stand on the ground"
)
TIP = "Load a second robot and simulate both side by side"


class SecondRobotView(QObject):
    """Loads the second robot, simulates it, and shows it in the viewport and in its dock."""

    changed = pyqtSignal()
    """`model` has changed."""
    _reported = pyqtSignal(str)
    _mesh_read = pyqtSignal()

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._viewport = window, window.workbench, window.viewport
        self.model: engine.Model | None = None
        """The second robot; None if there is none."""
        self.path = ""
        """The second robot's file."""
        self._requested: SecondRobotRequest | None = None  # its position and initial state
        self._kept: SavedSecondRobot | None = None  # its data in a session, until it is placed
        self._opening: tuple[str, SavedSecondRobot | None] | None = None
        """The file being read, and its data in a session."""
        self._algorithm, self._floating = "auto", False
        self._note = EMPTY
        self._scene: Scene | None = None
        self._foot = 0.0  # m, the height that stands on the ground: below 0 where it hangs from its base
        self._poses: np.ndarray | None = None  # (links, 4, 4): in its last live state, if it is shown
        self._touching: tuple[Contacts | None, np.ndarray] = None, NOWHERE  # its contacts and place there
        self._placed = self._fit_due = False  # `_fit_due`: fit both robots in view once the second is drawn
        self._first = ""  # the first robot's file
        self._pressed, self._dragged, self._due, self._link = QPointF(), False, 0.0, -1
        self._reader = FileReader(window)
        self.panel = SecondRobotPanel()
        self.action = window.docks.add(Dock("Second robot", self.panel, RIGHT, "Timing", "robot", "Shift+B", TIP))
        self._make_menu()
        self._connect()

    def _make_menu(self) -> None:
        window = self._window
        self.menu = QMenu("Open &second robot", window, toolTipsVisible=True)
        self.open_action = make_action(window, "&File…", self._ask, "Ctrl+Alt+O", tip=TIP)
        self.close_action = make_action(
            window, "&Close second robot", self._dismiss, tip="The first robot stays loaded"
        )
        self.menu.addAction(self.open_action)
        for path in sorted(engine.ROBOTS.glob("*.urdf")):
            self.menu.addAction(path.stem.replace("_", " ")).triggered.connect(partial(self.open, path))
        self.menu.addSeparator()
        self.menu.addAction(self.close_action)
        window.menus.file.put(self.menu)
        window.menus.context.offer("change", lambda menu, _: menu.addAction(self.close_action), SECOND)

    def _connect(self) -> None:
        window = self._window
        self._bench.second_robot.listen(self._reported.emit)  # from other threads
        self._reported.connect(self._set_note)
        self._mesh_read.connect(self._take_meshes)
        self.panel.requested.connect(self.open_action.trigger)
        self.panel.closed.connect(self._dismiss)
        self.panel.algorithm_chosen.connect(self.set_algorithm)
        self.panel.floating_asked.connect(self.set_floating)
        self._viewport.installEventFilter(self)
        self._viewport.clicked.connect(self._click)
        self._viewport.read_on.connect(
            lambda: self._draw(self._poses, *self._touching)
        )  # the first's meshes may lower the ground
        window.loaded.connect(self._on_loaded)
        window.framed.connect(self._show)
        window.refreshed.connect(self._refresh)
        window.closing.connect(self._end)

    def _refresh(self) -> None:
        for entry in (self.menu, self.open_action):  # the action's keys work without the menu
            offer(entry, (self._bench.robot.model is not None, NO_ROBOT))
        self.panel.open_button.setEnabled(self._bench.robot.model is not None)
        offer(self.close_action, (self.model is not None, "no second robot is open"))
        if self._bench.robot.playing and self._bench.second_robot.expected:
            self._window.statusBar().showMessage(WAITS, MESSAGE)

    # Opening and closing.

    def _ask(self) -> None:
        if path := dialogs.ask_file(self._window, "Open a second robot", str(engine.ROBOTS)):
            self.open(path)

    def open(self, path: str | Path, *_: object, kept: SavedSecondRobot | None = None) -> None:
        """Load the second robot from a file in a thread; `kept` is its data in a session.

        Any file already being read is dropped. Play waits for the robot, unless the first one plays already.
        """
        if self._bench.robot.model is None:
            return
        self._drop_reading()
        self._opening = str(path), kept
        self._bench.second_robot.expect(kept is not None or not self._bench.robot.playing)
        reader = self._bench.opening.reader_of(path, kept is not None and kept.floating)
        self._reader.read(path, reader, partial(self._take, str(path), kept), self._refuse)

    def _refuse(self, problem: str) -> None:
        self._opening = None
        self._bench.second_robot.expect(False)
        self._window.statusBar().showMessage(f"the second robot was not loaded: {problem}", MESSAGE)
        self._show_base()

    def _take(self, path: str, kept: SavedSecondRobot | None, model: engine.Model) -> None:
        self._remove()
        self.model, self.path, self._kept = model, path, kept
        self._algorithm, self._floating = ("auto", False) if kept is None else (kept.algorithm, kept.floating)
        self._placed, self._fit_due = False, kept is None
        self._scene = Scene(self.model)
        self._set_note(f"{self.model.name} is being prepared …")
        self._window.docks.show_in_front("Second robot")
        self._scene.load(self._mesh_read.emit, apart=True, simplify=True)
        self._take_meshes()
        self.changed.emit()
        self._window.refresh()

    def _take_meshes(self) -> None:
        """Update the meshes, and place the robot once its size is known."""
        if self._scene is None:
            return
        self._scene.update()
        if self._window.feature(DiagnosticsView).set_of_second([*self.model.diagnostics, *self._scene.diagnostics]):
            self._window.refresh()
        if self._scene.ready and not self._placed:
            self._place()

    def _place(self) -> None:
        if self.model is None or self._scene is None or self._bench.robot.model is None:
            return
        self._placed = True
        poses = np.asarray(engine.link_poses(self.model, first_pose(self.model)))
        right = self._viewport.camera.axes()[0]  # horizontal, so that they are side by side on the screen
        bounds = self._scene.bounds(poses)
        place = shift_beyond(self._viewport.robot_bounds, bounds, right) * right
        self._foot = 0.0 if is_free(self.model) else min(0.0, float(bounds[0][2]))
        kept, self._kept = self._kept, None
        if kept is None and has_limbs(self.model) and not is_free(self.model) and self._foot < 0:
            self._window.statusBar().showMessage(IN_THE_AIR.format(self.model.name), MESSAGE)
        kept = kept or SavedSecondRobot((), None, None, self._algorithm)
        self._requested = kept.of(self.model, place)
        self.panel.show_names(self._bench.robot.model.name, self.model.name)
        self._show_algorithms(None)
        self._show_base()
        for column, model in enumerate((self._bench.robot.model, self.model)):
            self.panel.show_column(column, _facts(model))
        self._bench.second_robot.set(self._requested)

    def set_algorithm(self, name: str) -> None:
        """Have the second robot simulated by another algorithm; it continues from its state."""
        self._algorithm = name
        if self.model is not None and self._requested is not None:
            self._requested = replace(self._requested, algorithm=name)
            self._set_note(f"The code for {algorithm_name(name)} is being prepared …")
            self._bench.second_robot.set_algorithm(name)

    def set_floating(self, on: bool) -> None:
        """Load it again with its file's root link free of the world, or fixed to it."""
        self.open(self.path, kept=SavedSecondRobot((), None, None, self._algorithm, floating=on))

    def _show_base(self) -> None:
        if self.model is not None:
            self.panel.show_base(self._floating, is_free(self.model) and not self._floating)

    def close(self) -> None:
        """Remove the second robot, and cancel any reading."""
        self._bench.second_robot.expect(False)
        self._remove()

    def _remove(self) -> None:
        self._drop_reading()
        if self._scene is not None:
            self._scene.close(wait=False)
        self.model = self._scene = self._requested = self._kept = None
        self.path, self._link = "", -1
        self._bench.second_robot.set(None)
        self._viewport.overlays.choose_second_link(-1)
        self._draw(None)
        self.panel.show_names("", "")
        self._window.feature(DiagnosticsView).set_of_second([])
        self._set_note(EMPTY)
        self.changed.emit()
        self._window.refresh()

    def _dismiss(self) -> None:
        """Close the robot and hide its dock, on the user's command."""
        self._window.docks["Second robot"].hide()
        self.close()

    def _drop_reading(self) -> None:
        """Discard the file being read, if any."""
        self._opening = None
        self._reader.drop()

    def _set_note(self, note: str) -> None:
        self._note, bar = note, self._window.statusBar()
        self._show_note()
        if bar.currentMessage() == WAITS and not self._bench.second_robot.expected:
            bar.clearMessage()

    def _show_note(self) -> None:
        """Show why the second robot is not drawn or does not move, else the last note."""
        frame, hidden = self._bench.shown, ""
        if frame is not None and self.model is not None:
            undrawn = self._viewport.overlays.second_robot is None
            recorded = UNBEGUN if undrawn else UNRECORDED
            unknown = frame.recorded and not self._has_state(frame)
            hidden = CROWDED if frame.batch is not None else recorded if unknown else ""
        self.panel.show_note(hidden or self._note)

    def kept(self) -> dict[str, Any]:
        """Return its data for a session, also while it is being read; empty if there is none."""
        path, kept = self._opening or (self.path, self._kept)
        if not path:
            return {"beside": {}}
        kept = kept or SavedSecondRobot((), None, None)
        if self._opening is None and self._requested is not None:
            newest, requested = self._bench.robot.newest, self._requested
            state = None if newest is None else newest.second_robot
            there = state is not None and state.model is self.model and np.all(np.isfinite([*state.q, *state.v]))
            q_and_v = (state.q, state.v) if there else requested.state or ()
            q, v = (tuple(x.tolist()) for x in q_and_v) if q_and_v else (None, None)
            time_ = state.time if there else requested.time
            kept = SavedSecondRobot(tuple(requested.place.tolist()), q, v, requested.algorithm, time_, self._floating)
        values = {name: list(x) if isinstance(x, tuple) else x for name, x in asdict(kept).items()}
        return {"beside": {"path": str(Path(path).expanduser().resolve()), **values}}

    def restore(self, session: dict[str, Any]) -> None:
        """Load a session's second robot, if the session has that entry."""
        if "beside" in session:
            self.close()
            if (found := session_text.second_robot(session)) is not None:
                path, kept = found
                self.open(path, kept=kept)

    def _end(self) -> None:
        self._bench.second_robot.listen(lambda _: None)
        if self._scene is not None:
            self._scene.close()

    def _on_loaded(self, event: Loaded) -> None:
        """Place the second robot again beside a new first robot, and fit both in view.

        The camera stays if the same file was reloaded.
        """
        self._fit_due, self._first = self._fit_due or event.path != self._first, event.path
        self._draw(None)
        self._bench.second_robot.expect(self.model is not None or self._opening is not None)
        self._placed = False
        self._take_meshes()

    # Showing.

    def _has_state(self, frame: Snapshot) -> bool:
        return frame.second_robot is not None and frame.second_robot.model is self.model

    def _show(self, frame: Snapshot) -> None:
        state = frame.second_robot
        self._show_note()
        if frame.recorded and not self._has_state(frame):
            return
        if frame.batch is not None and self._poses is not None:
            self._window.statusBar().showMessage(CROWDED, MESSAGE)
            for column, model in enumerate((self._bench.robot.model, self.model)):
                self.panel.show_column(column, _facts(model))  # without numbers of the frame before
        if state is None or self._scene is None or state.model is not self.model or frame.batch is not None:
            self._draw(None)
            return
        if self._requested is not None and self._requested.state is not None and not frame.recorded:
            self._requested = replace(self._requested, state=None)  # the initial state has been applied
        self._draw(state.link_poses, state.contacts, state.place)
        if self._fit_due:
            self._fit_due = False
            self._viewport.fit()
        now = time.perf_counter()
        if self.panel.isVisible() and (now > self._due or not self._bench.robot.playing):
            self._due = now + REFRESH
            for column, (model, seconds, name, energy) in enumerate((
                (frame.model, frame.time, self._bench.computation.algorithm,
                 own_energy(frame.model, frame.q, frame.v, frame.link_poses)),
                (state.model, state.time, state.algorithm,
                 own_energy(state.simulated, state.q, state.v, state.link_poses)),
            )):  # fmt: skip
                prefix, per_joule = prefix_for(typical_work(float(alone(model).mass.sum())))
                energies = (f"{per_joule * each:.3f} {prefix}J" for each in energy)
                reported = [f"{seconds:.3f} s", *energies, algorithm_name(name)]
                self.panel.show_column(column, [*_facts(model), *reported])
            self._show_algorithms(state.scene)
            self._show_link_note()

    def _draw(self, poses: np.ndarray | None, contacts: Contacts | None = None, place: np.ndarray = NOWHERE) -> None:
        """Draw it at its links' poses (links, 4, 4) on the ground that is drawn, which may be below a fixed robot.

        Its contacts are moved by its place (3,), m, too.
        """
        overlays, self._poses, self._touching = self._viewport.overlays, poses, (contacts, place)
        if poses is not None and self._scene is not None:
            up = (self._viewport.floor if overlays.world is None else 0.0) - self._foot
            poses = poses.copy()
            poses[:, 2, 3] += up
            if contacts is not None:
                contacts = replace(contacts, point=contacts.point + place + (0.0, 0.0, up))
            overlays.set_second_robot(self._scene.content, poses, contacts)
        else:
            overlays.set_second_robot(None)

    def _show_algorithms(self, scene: engine.Scene | None) -> None:
        """Show the second robot's algorithm, and which ones can simulate it in that scene."""
        reasons = {name: engine.simulation_refusal(name, self.model, "cpu", scene) for name in ALGORITHMS}
        refusals = {name: reason for name, reason in reasons.items() if reason is not None}
        self.panel.show_algorithms(self._algorithm, refusals)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Remember where the mouse was released; say of a drag that would pull or pose a robot that it cannot here."""
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonRelease:
            self._pressed, self._dragged = event.position(), False
        elif isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonPress:
            self._dragged = is_pull(event) and self._is_in_front(event.position())
        elif self._dragged and event.type() == QEvent.Type.MouseMove:
            self._dragged = False
            self._window.statusBar().showMessage(UNTOUCHED.format(self.model.name), MESSAGE)
        return super().eventFilter(watched, event)

    def under(self, at: QPointF) -> Hit | None:
        """Return the hit on it at a position in the viewport; None if there is none."""
        drawn, size = self._viewport.overlays.second_robot, (self._viewport.width(), self._viewport.height())
        return None if drawn is None else pick(*drawn, *ray(self._viewport.camera, size, (at.x(), at.y())))

    def _is_in_front(self, at: QPointF) -> bool:
        """Whether it is at a position in the viewport, and no link of the first robot in front of it."""
        hit, first = self.under(at), self._viewport.under(at.x(), at.y())
        return hit is not None and (first is None or hit.distance <= first.distance)

    def _click(self, link: int) -> None:
        """Select the clicked link of the second robot, unless a link of the first is in front."""
        if self._viewport.overlays.second_robot is None:
            return
        hit = self.under(self._pressed) if link < 0 or self._is_in_front(self._pressed) else None
        self._link = -1 if hit is None else hit.link
        if hit is not None:
            self._window.selection.choose(-1)
        self._viewport.overlays.choose_second_link(self._link)
        self._show_link_note()

    def _show_link_note(self) -> None:
        model, link, drawn = self.model, self._link, self._viewport.overlays.second_robot
        if model is None or link < 0 or drawn is None:
            return
        body = int(model.link_body[link])
        mass = f"{model.mass[body]:.3f} kg" if body >= 0 else "fixed to the world"
        x, y, z = drawn[1][link, :3, 3]
        where = f"at ({x:.3f}, {y:.3f}, {z:.3f}) m"
        self.panel.link.setText(f"{model.name}, {model.link_names[link]}: {mass}, {where}")


def shift_beyond(one: Box, other: Box, axis: np.ndarray) -> float:
    """Return how far, m, to move the second box along a unit vector (3,) beyond the first, with a gap."""
    (_, end), (start, _) = (
        (float((np.minimum(lower * axis, upper * axis)).sum()), float(np.maximum(lower * axis, upper * axis).sum()))
        for lower, upper in (one, other)
    )
    return end - start + GAP * max(float((upper - lower).max()) for lower, upper in (one, other))


def _facts(model: engine.Model) -> list[str]:
    robot = alone(model)
    return [str(len(robot.link_names)), str(robot.nv), f"{float(robot.mass.sum()):.3f} kg"]
