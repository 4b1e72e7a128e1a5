"""The main window: it mirrors a `Workbench`, and turns what the user presses into its methods."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from PyQt6.QtCore import QByteArray, QEvent, QSettings, QSize, Qt, QTimer
from PyQt6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QKeySequence
from PyQt6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QMainWindow,
    QMenu,
    QToolBar,
    QWidget,
)

import engine
from app import about, dialogs, theme
from app.actions import Choices, check, dock_action, make_action
from app.batch_view import BatchView
from app.contact_view import ContactView
from app.findings import FindingsView
from app.menus import PackageMenu, RecentMenu
from app.messages import Configured, Event, LimitsReached, Loaded, Refused, Snapshot, Stopped
from app.panel_scroller import scrolled
from app.panels.batch import BatchPanel
from app.panels.compare import ComparePanel
from app.panels.diagnostics import DiagnosticsPanel
from app.panels.joints import JointPanel
from app.panels.speed import SpeedControl
from app.panels.timing import TimingPanel
from app.quiet import QuietMeasuring
from app.status import Status, too_heavy
from app.viewport import Viewport
from app.workbench import Workbench

TICK = 16  # ms between two looks at the simulation
TIME_REFRESH = 0.1  # s between two updates of the shown time while it plays
IN_REAL_TIME = 0.95  # of the speed that was asked for: a simulation below it lacks time
MESSAGE = 6000  # ms that a passing message stays
COMPARE_SHARE = 0.62  # of the window, that the Compare panel has at most until the user gives it more
SPACE_USERS = (QAbstractButton, QAbstractItemView, QAbstractSpinBox, QComboBox)  # besides what takes text
SIDE_WIDTH = 360  # px that the panels on the right have at least


class Window(QMainWindow):
    """Menus, tools, the viewport and the panels around it."""

    def __init__(self, settings: QSettings, package_dirs: Iterable[str] = ()):
        super().__init__()
        self._settings = settings
        self.workbench = Workbench(settings.value("recent", [], list))
        self.recent_menu = RecentMenu(self, lambda: self.workbench.recent)
        self.package_menu = PackageMenu(self, settings, package_dirs)
        self.workbench.package_dirs = self.package_menu.folders
        self._play_after: engine.Model | None = None  # the robot that goes on when the measurement is over
        self.viewport = Viewport()
        self.joints, self.timing, self.diagnostics = JointPanel(), TimingPanel(), DiagnosticsPanel()
        self.compare, self.speed, self.batch = ComparePanel(), SpeedControl(), BatchPanel()
        self.setCentralWidget(self.viewport)
        self.setAcceptDrops(True)
        self._make_actions()
        self.choices = Choices(self, self.workbench)
        self.quiet = QuietMeasuring(self, settings, self._at_work)
        self.quiet.over.connect(self._refresh)
        self._make_menus()
        self._make_toolbar()
        self._make_docks()
        self._make_status_bar()
        self.joints.moved.connect(self._move_joint)
        self.joints.released.connect(self.workbench.release)
        self.joints.driven.connect(self.workbench.set_drive)
        self.joints.mode_asked.connect(self.workbench.drive)
        self.speed.changed.connect(self.workbench.set_speed)
        self.viewport.diagnostics.connect(self._add_diagnostics)
        self.diagnostics.open_copy.connect(self.open)
        self.diagnostics.trusted.connect(
            lambda path: self.open(path, self.workbench.opening_floating, trust_xacro=True)
        )
        self.viewport.drawn.connect(self._drawn)
        self.recent_menu.chosen.connect(self.open)
        self.package_menu.changed.connect(self._set_package_dirs)
        self.timing.measure_asked.connect(self._measure)
        self.timing.measured.connect(self._measured)
        self.compare.message.connect(lambda text: self.statusBar().showMessage(text, MESSAGE))
        self._time_due = 0.0
        self._fit_before = 0.0  # simulated s, from which a reset goes back
        restored = self.restoreGeometry(settings.value("geometry", QByteArray()))
        available = self.screen().availableGeometry()
        self.setGeometry(dialogs.place(self.geometry(), available) if restored else dialogs.first_place(available))
        self.restoreState(settings.value("layout", QByteArray()))
        self.diagnostics_dock.hide()
        self._refresh()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._tick)
        self._timer.start(TICK)

    # Building.

    def _make_actions(self) -> None:
        make, key = partial(make_action, self), Qt.Key
        self.open_action = make(
            "&Open…", self._ask_file, QKeySequence.StandardKey.Open, icon="open", tip="Open a robot"
        )
        self.quit_action = make("&Quit", self.close, QKeySequence.StandardKey.Quit)
        self.play_action = make("&Play", self._toggle, key.Key_Space, icon="play", tip="Play or pause")
        self.step_action = make(
            "&Step", self._step, key.Key_S, key.Key_Right, icon="step", tip="Pause, and advance one time step"
        )
        self.hold_action = make(
            "&Hold", self._set_held, key.Key_H, icon="hold", tip="Hold joints as they stand, or let go", checkable=True
        )
        self.reset_action = make(
            "&Reset", self._reset, key.Key_R, icon="reset", tip="To where the run began; again: to the neutral pose"
        )
        self.gravity_action = make(
            "&Gravity", self.workbench.set_gravity, key.Key_G, icon="gravity", tip="Gravity on or off", checkable=True
        )
        self.ground_action = make("G&round", self.workbench.set_ground, tip="Ground to stand on", checkable=True)
        self.floating_action = make(
            "&Floating base", self._set_floating, tip="Set the root link free of the world", checkable=True
        )
        self.fit_action = make("&Fit", self.viewport.fit, key.Key_F, icon="fit", tip="Bring the whole robot into view")
        self.follow_action = make(
            "F&ollow", self._set_follow, icon="follow", tip="The camera follows the robot's root link", checkable=True
        )
        self.follow_action.setChecked(bool(self.viewport.follow))
        self.collisions_action = make(
            "Collision &shapes", self.viewport.show_collisions, tip="Show what may touch others", checkable=True
        )
        self.contacts = ContactView(self, self._settings, self.viewport)
        self.about_action = make("&About Catena", lambda: about.show(self))

    def _make_menus(self) -> None:
        bar = self.menuBar()
        files = bar.addMenu("&File")
        files.addAction(self.open_action)
        files.addMenu(self.recent_menu)
        self.robots_menu = files.addMenu("Ro&bots")
        self._fill_robots(self.robots_menu)
        files.addMenu(self.package_menu)
        files.addSeparator()
        files.addAction(self.quit_action)
        simulation = bar.addMenu("&Simulation")
        simulation.addActions([self.play_action, self.step_action, self.reset_action])
        simulation.addSeparator()
        simulation.addActions([self.hold_action, self.gravity_action, self.ground_action, self.floating_action])
        simulation.addSeparator()
        self.algorithm_menu = simulation.addMenu("&Algorithm")
        self.algorithm_menu.addActions(self.choices.algorithms.actions())
        self.device_menu = simulation.addMenu("&Device")
        self.device_menu.addActions(self.choices.devices.actions())
        for menu in (self.algorithm_menu, self.device_menu):
            menu.setToolTipsVisible(True)
        self.timing.set_menus(self.algorithm_menu, self.device_menu)
        self.step_menu = simulation.addMenu("&Time step and integrator")
        self.choices.fill_steps(self.step_menu)
        simulation.addAction(self.quiet.action)
        self.view_menu = bar.addMenu("&View")
        self.view_menu.addActions([self.fit_action, self.follow_action, self.contacts.action, self.collisions_action])
        self.view_menu.addSeparator()
        bar.addMenu("&Help").addAction(self.about_action)

    def _make_toolbar(self) -> None:
        bar = self.toolbar = QToolBar("Tools")
        bar.setObjectName("tools")
        bar.setMovable(False)
        bar.setIconSize(QSize(20, 20))
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        bar.addAction(self.open_action)
        bar.addSeparator()
        bar.addActions([self.play_action, self.step_action, self.reset_action])
        bar.addWidget(self.speed)
        bar.addSeparator()
        bar.addActions([self.hold_action, self.gravity_action, self.fit_action, self.follow_action])
        self.addToolBar(bar)
        bar.toggleViewAction().setVisible(False)  # else a right click could lose it

    def _make_docks(self) -> None:
        area = Qt.DockWidgetArea
        self.setCorner(Qt.Corner.BottomRightCorner, area.RightDockWidgetArea)
        self.joints_dock = self._dock("Joints", self.joints, area.RightDockWidgetArea)
        self.timing_dock = self._dock("Timing", self.timing, area.RightDockWidgetArea)
        self.compare_dock = self._dock("Compare", scrolled(self.compare), area.BottomDockWidgetArea)
        self.diagnostics_dock = self._dock("Diagnostics", self.diagnostics, area.BottomDockWidgetArea)
        self.batch_dock = self._dock("Batch", scrolled(self.batch), area.RightDockWidgetArea)
        self.batch_view = BatchView(self.batch, self.viewport, self.workbench, self._refresh)
        self.findings = FindingsView(self.diagnostics, self.diagnostics_dock, self.workbench)
        self.tabifyDockWidget(self.compare_dock, self.diagnostics_dock)
        self.compare_action = dock_action(self.compare_dock, "compare", Qt.Key.Key_C, "Compare algorithms (C)")
        self.compare_action.triggered.connect(self._show_compare)
        self.batch_action = dock_action(self.batch_dock, "batch", Qt.Key.Key_B, "Many robots at once (B)")
        self.tabifyDockWidget(self.timing_dock, self.batch_dock)  # hidden by now, else its tab would stay in sight
        self.toolbar.addSeparator()
        self.toolbar.addActions([self.compare_action, self.batch_action])
        right = [self.joints_dock, self.timing_dock, self.batch_dock]
        for dock in right:
            dock.setMinimumWidth(SIDE_WIDTH)
        self.resizeDocks(right[:2], [430, 430], Qt.Orientation.Horizontal)
        self.resizeDocks(right[:2], [330, 550], Qt.Orientation.Vertical)
        self.resizeDocks([self.diagnostics_dock], [260], Qt.Orientation.Vertical)

    def _show_compare(self, shown: bool) -> None:
        if shown and not self._settings.contains("layout"):
            asked = self.compare.sizeHint().height() + 2 * self.toolbar.iconSize().height()  # and its title
            self.resizeDocks(
                [self.compare_dock], [min(asked, int(COMPARE_SHARE * self.height()))], Qt.Orientation.Vertical
            )

    def _dock(self, title: str, panel: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title)
        dock.setObjectName(title.lower())
        dock.setWidget(panel)
        self.addDockWidget(area, dock)
        self.view_menu.addAction(dock.toggleViewAction())
        return dock

    def _make_status_bar(self) -> None:
        self.status = Status(self.statusBar(), self.step_menu, self.algorithm_menu, self.device_menu)
        self.status.findings_button.clicked.connect(self.diagnostics_dock.toggleViewAction().trigger)
        self.loading_label, self.time_label = self.status.loading_label, self.status.time_label

    # From the simulation to the window.

    def _tick(self) -> None:
        """Take in what has happened, and show the newest state."""
        events = self.workbench.poll()
        for event in events:
            self._react(event)
        if events:
            self._refresh()
        if Loaded in map(type, events):
            return  # a new robot is enough for one answer to the user
        if (frame := self.workbench.frame(seen=not self.isMinimized())) is not None:
            self._show_frame(frame)

    def _react(self, event: Event) -> None:
        match event:
            case Loaded():
                self._show_robot(event)
            case Refused():
                self.findings.show_file(raised=True)
            case Stopped(message, detail):
                self.statusBar().showMessage(message)
                self.findings.show_stop(message, detail)
            case Configured(_, _, algorithm, device, _, refusal):
                if (algorithm, device) == self.timing.taken_by:
                    self.timing.clear()
                self.statusBar().showMessage(refusal, MESSAGE)
            case LimitsReached(time, names):
                which = names[0] if len(names) == 1 else f"{len(names)} joints"
                self.statusBar().showMessage(f"{which} reached a position limit at {time:.3f} s", MESSAGE)

    def _show_robot(self, event: Loaded) -> None:
        self.viewport.set_model(event.model)
        self.joints.set_rows(self.workbench.coordinates, self.workbench.initial)
        self.timing.clear_all()
        self.batch_view.set_model(event.model)
        self.compare.set_loaded(event.model, self.workbench.floating)
        self.findings.show_file(raised=False)
        self.statusBar().clearMessage()

    def _show_frame(self, frame: Snapshot) -> None:
        # Where the processor cannot keep up, the simulation comes before the picture.
        self.viewport.modest = frame.factor < IN_REAL_TIME * self.workbench.speed
        self.batch_view.show(frame)
        self.contacts.show(frame)
        if frame.time < self._fit_before:
            self._fit_before = 0.0
            self.viewport.fit()
        self.joints.show_state(frame.q, frame.target, frame.tau)
        if not self.workbench.playing or time.perf_counter() > self._time_due:
            self._time_due = time.perf_counter() + TIME_REFRESH
            self.time_label.setText(f"{frame.time:9.3f} s")
            self.speed.show_achieved(frame.factor)
        if frame.phases:
            self.timing.add_step(frame.phases, self.workbench.speed)
        self.timing.add_spent(frame.spent)

    def _drawn(self, seconds: float) -> None:
        self.batch_view.drawn(seconds)
        self.timing.add_frame(self.viewport.upload_seconds, seconds - self.viewport.upload_seconds)

    def _add_diagnostics(self, diagnostics: list[engine.Diagnostic]) -> None:
        """What the viewport found while it read the meshes."""
        self.findings.add_of_meshes(diagnostics)
        self._refresh()

    def _forget_the_stop(self) -> None:
        if self.findings.forget_stop():
            self.statusBar().clearMessage()

    def _refresh(self) -> None:
        """Bring every word, button and menu to the workbench's state."""
        bench, model = self.workbench, self.workbench.model
        measuring = self.timing.measuring
        for action in (self.reset_action, self.gravity_action, self.fit_action, self.hold_action):
            action.setEnabled(model is not None)
        self.collisions_action.setEnabled(model is not None and len(model.collisions) > 0)
        for action in (self.play_action, self.step_action):
            action.setEnabled(model is not None and not measuring)
        self.compare.setEnabled(not measuring)
        self.play_action.setIcon(theme.icon("pause" if bench.playing else "play"))
        self.play_action.setText("&Pause" if bench.playing else "&Play")
        check(self.gravity_action, bench.settings.gravity)
        check(self.hold_action, bench.settings.held)
        check(self.ground_action, bench.settings.ground)
        self.ground_action.setEnabled(bench.stands)
        self.joints.show_held(bench.held_rows)
        self.batch_view.show_settings(bench.settings)
        check(self.floating_action, bench.floating)
        self.choices.show()
        self.floating_action.setEnabled(bool(bench.path) and (bench.floating or not bench.floats))
        self.status.show(bench)
        self.viewport.show_hint(model is None and not bench.loading)
        self.status.show_findings([each.severity for each in self.diagnostics.diagnostics])
        self.setWindowTitle(f"{model.name} — Catena" if model else "Catena")
        self.timing.show_algorithm(bench.algorithm, bench.device, bench.settings, bench.why, bench.unmeasured)
        for menu in (self.algorithm_menu, self.device_menu):
            menu.setEnabled(model is not None)

    # From the user to the workbench.

    def open(self, path: str | Path, floating: bool = False, trust_xacro: bool = False) -> None:
        """Load a robot's file; the window stays usable meanwhile. `trust_xacro` lets a xacro file run any Python."""
        self.workbench.open(path, floating, trust_xacro)
        self._refresh()

    def _ask_file(self) -> None:
        folder = str(Path(self.workbench.path).parent) if self.workbench.path else str(engine.ROBOTS)
        if path := dialogs.ask_file(self, folder):
            self.open(path)

    def _set_package_dirs(self) -> None:
        self.workbench.set_package_dirs(self.package_menu.folders)
        self._refresh()

    def _fill_robots(self, menu: QMenu) -> None:
        for path in sorted(engine.ROBOTS.glob("*.urdf")):
            menu.addAction(path.stem.replace("_", " ")).triggered.connect(lambda _, path=path: self.open(path))

    def _toggle(self) -> None:
        self._forget_the_stop()
        self.workbench.toggle()
        if self.workbench.playing and self.workbench.overloaded:
            self.statusBar().showMessage(too_heavy(self.workbench.overloaded), MESSAGE)
        self._refresh()

    def _step(self) -> None:
        self._forget_the_stop()
        self.workbench.step()
        self._refresh()

    def _reset(self) -> None:
        self._forget_the_stop()
        if self.workbench.floats and self.viewport.follow:
            self._fit_before = self.workbench.time
        self.workbench.reset()
        self._refresh()

    def _move_joint(self, index: int, value: float) -> None:
        try:
            self.workbench.set_coordinate(index, value)
        except ValueError as refusal:
            self.statusBar().showMessage(str(refusal), MESSAGE)

    def _set_held(self, on: bool) -> None:
        self.workbench.set_held(on)
        self._refresh()

    def _set_floating(self, on: bool) -> None:
        self.open(self.workbench.path, floating=on, trust_xacro=self.workbench.trusted)

    def _measure(self) -> None:
        """Measure for the automatic choice; what would disturb it rests meanwhile."""
        if self.compare.running:
            self.timing.refuse_to_measure(
                "a comparison is running, which would disturb this: wait for its end or stop it"
            )
            return
        self._play_after = self.workbench.model if self.workbench.playing else None
        self.workbench.pause()
        self.timing.start_measuring()
        self._refresh()

    def _measured(self) -> None:
        self.workbench.choose_algorithm_again()
        if self._play_after is self.workbench.model and not self.workbench.loading:
            self.workbench.play()

    def _at_work(self) -> bool:
        bench = self.workbench
        waiting = bench.loading or bench.compiling or bench.preparing
        return bool(bench.playing or waiting or self.compare.running or self.timing.measuring)

    def _set_follow(self, on: bool) -> None:
        self.viewport.follow = on

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        first, *others = _dropped_files(event)
        event.acceptProposedAction()
        self.open(first)
        if others:
            names = ", ".join(Path(path).name for path in others)
            self.statusBar().showMessage(f"one robot at a time: {Path(first).name} opens, {names} did not", MESSAGE)

    def event(self, event: QEvent) -> bool:
        """Leave Space to a focused control that has a use for it."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and event.key() == Qt.Key.Key_Space
        ):
            focused = QApplication.focusWidget()
            if isinstance(focused, SPACE_USERS) and focused is not self.joints:
                event.accept()
                return True
        return super().event(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the layout, and end every thread."""
        self._timer.stop()
        self._settings.setValue("recent", self.workbench.recent)
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("layout", self.saveState())
        self.hide()  # a file being loaded may hold the thread for a moment longer
        self.quiet.close()
        self.compare.close_thread()
        self.timing.close_thread()
        self.diagnostics.close_thread()
        self.workbench.close()
        self.viewport.close()
        super().closeEvent(event)


def _dropped_files(event: QDropEvent) -> list[str]:
    """The local files of a drop."""
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
