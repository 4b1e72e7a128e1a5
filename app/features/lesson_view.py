"""Help › Lessons: an algorithm of the papers on the open robot, with its links highlighted."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from PyQt6.QtCore import QObject, QTimer
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QMenu

import engine
from app.desktop import theme
from app.desktop.actions import make_action
from app.desktop.docks import RIGHT, Dock
from app.features import session_text
from app.features.window_type import Window
from app.jobs.lesson_opening import LessonOpening
from app.panels.lesson import CHOOSE, LessonPanel
from app.simulation.messages import Loaded, Snapshot

ROBOT = "arm7"
"""The robot of a lesson that is opened in an empty window."""
COMPUTING = "Computing the lesson: {} …"
POLL_INTERVAL = 30  # ms between two checks whether a lesson is ready
PRESENTED = 0.6  # of the window's width, in presentation size
STRENGTH = 1.0
"""The opacity of a highlight over a link's own colour, of which no hue remains: chains have blue links."""


class LessonView(QObject):
    """The menu of lessons, and the dock of the current one."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._viewport = window, window.workbench, window.viewport
        self.panel, self._opening = LessonPanel(), LessonOpening()
        self._wanted: tuple[str, int] | None = None  # the lesson and the step, from 0, waiting for a robot
        self._refused: tuple[str, int] | None = None  # those that the open robot was refused for
        self._state: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._robot: engine.Model | None = None  # of the lesson, which may have another gravity
        dock = Dock("Lesson", self.panel, RIGHT, beside="Joints", icon="lesson", tip="Lesson", high=True)
        self.action = window.docks.add(dock)
        self._dock = window.docks["Lesson"]
        self.menu = QMenu("&Lessons", window)
        for name in engine.Lesson.names():
            action = self.menu.addAction(engine.Lesson.title_of(name))
            action.setData(name)
            action.triggered.connect(partial(self.open, name))
        window.menus.help.put(self.menu)
        for words, slot, key in (
            ("&Next step", self.panel.show_next, "Alt+Right"),
            ("&Previous step", self.panel.show_previous, "Alt+Left"),
            ("P&lay or pause", self.panel.toggle, "Alt+Down"),
        ):
            self.menu.addAction(make_action(window, words, slot, key))
        words = "For a lecture: larger type, and more of the window for the lesson"
        self.large = make_action(window, "P&resentation size", self._present, tip=words, checkable=True)
        self.menu.addAction(self.large)
        self.menu.insertSeparator(self.menu.actions()[len(engine.Lesson.names())])
        self._timer = QTimer(self, interval=POLL_INTERVAL, timeout=self._poll)
        self.panel.shown.connect(self._light)
        self.panel.again.connect(self._open_again)
        self.panel.requested.connect(self.open)
        self.panel.robot_requested.connect(lambda name: window.open(engine.find_robot(name)))
        window.selection.changed.connect(self._pick)
        self._beside = 0  # px, the width to which the dock returns from presentation size; 0 while it has its own
        self._in_sight = False  # Qt also reports a dock behind another tab as visible
        self._dock.visibilityChanged.connect(self._on_visible)
        theme.signals.changed.connect(self._apply_theme)
        window.framed.connect(self._keep)
        window.loaded.connect(self._on_loaded)
        window.closing.connect(self._close)

    def open(self, name: str, step: int = 0) -> None:
        """Show a lesson from a step, from 0, on the open robot, or on one that ships.

        Raises ValueError for an unknown name.
        """
        title = engine.Lesson.title_of(name)
        self._wanted, self._refused = (name, step), None
        if self.panel.lesson is None:
            self.panel.show_none(COMPUTING.format(title))
        self._window.docks.show_in_front("Lesson")
        if self._bench.robot.model is None and not self._bench.opening.loading:
            self._window.open(engine.find_robot(ROBOT))
        elif self._bench.robot.model is not None and not self._bench.opening.loading:
            self._bench.pause()
            self._window.refresh()
            self._start()

    def kept(self) -> dict[str, Any]:
        """Return the lesson that is shown, for a session; empty if none is."""
        if self.panel.lesson is None or self._dock.isHidden():
            return {"lesson": {}}
        return {"lesson": {"name": self.panel.lesson.name, "step": self.panel.number}}

    def restore(self, session: dict[str, Any]) -> None:
        """Show a session's lesson from its step, once the state of its robot is known."""
        lesson = session_text.lesson(session)
        self._wanted, self._refused = lesson, None
        if lesson is not None and self.panel.lesson is None:
            self.panel.show_none(COMPUTING.format(engine.Lesson.title_of(lesson[0])))

    def _present(self, on: bool) -> None:
        self.panel.present(on)
        if on:
            self._window.docks.show_in_front("Lesson")
        self._share_width()

    def _share_width(self) -> None:
        """Widen the dock for a presentation while it is in front of the others, which keep the user's width."""
        wide = self.large.isChecked() and self._in_sight
        if wide == bool(self._beside):
            return
        back, self._beside = self._beside, self._dock.width() if wide else 0
        width = round(PRESENTED * self._window.width()) if wide else back
        self._window.docks.set_column_width("Lesson", width)

    def _open_again(self) -> None:
        if self.panel.lesson is not None:
            self.open(self.panel.lesson.name, self.panel.number)

    def _keep(self, frame: Snapshot) -> None:
        self._state = frame.q.copy(), frame.v.copy(), frame.tau.copy()
        self._start()

    def _on_loaded(self, _: Loaded) -> None:
        """Restart the lesson, also a refused one, with a new robot once its state is known."""
        self._state, refused, self._refused = None, self._refused, None
        again = refused if self.panel.lesson is None else (self.panel.lesson.name, 0)
        if self._wanted is None and again is not None:
            if not self._dock.isHidden():
                self._wanted = again
            self.panel.show_none(CHOOSE, self._suited())

    def _suited(self) -> list[str]:
        """The names of the lessons that support the open robot; of all if none is open."""
        robot = self._bench.robot.model
        return [name for name in engine.Lesson.names() if robot is None or not engine.Lesson.refusal(name, robot)]

    def _start(self) -> None:
        if self._wanted is None or self._state is None or self._opening.running or self._bench.robot.model is None:
            return
        self._robot = self._bench.robot.model
        self._opening.start(self._wanted[0], self._bench.shown_model, self._state)
        self._timer.start()

    def _poll(self) -> None:
        if (found := self._opening.poll()) is None:
            return
        if found.over:
            self._timer.stop()
        if found.lesson is not None and found.lesson is self.panel.lesson:
            self.panel.refresh()  # its measurement is complete
            self._start()
            return
        if self._wanted is None:
            return
        name, step = self._wanted
        lesson = found.lesson
        if lesson is not None and (lesson.name != name or self._robot is not self._bench.robot.model):
            self._start()  # another lesson was requested or another robot opened meanwhile
            return
        self._wanted = None
        if lesson is None:
            self._refused = name, step
            self.panel.show_none(found.problem[:1].upper() + found.problem[1:] + ".", self._suited(), ROBOT)
        else:
            self.panel.show_lesson(lesson, step)

    def _pick(self, link: int) -> None:
        """Select the part of the chain that contains a selected link."""
        if self._in_sight:
            self.panel.pick_of(link)

    def _on_visible(self, seen: bool) -> None:
        self._in_sight = seen
        QTimer.singleShot(0, self._share_width)  # once the tab in front is known
        self._light(self.panel.step)

    def _apply_theme(self) -> None:
        self._light(self.panel.step)

    def _light(self, step: engine.LessonStep | None) -> None:
        """Colour links by their state in the step; restore their own colours if no lesson is visible."""
        overlays = self._viewport.overlays
        if step is None or not self._in_sight or self._robot is not self._bench.robot.model:
            overlays.light(None)
            return
        lit = step.lights(self.panel.marks)
        tints = np.zeros((len(lit), 4), np.float32)
        for state, name in enumerate(step.COLORS):
            color = theme.COLORS[name if state else "handle"]
            tints[lit == state] = (*QColor(color).getRgbF()[:3], STRENGTH)
        overlays.light(tints if lit.any() else None)

    def _close(self) -> None:
        self._timer.stop()
        self._opening.close()
