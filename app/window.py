"""The main window, which mirrors a `Workbench`.

Run controls and file actions reach the workbench through `RunControls` and `RobotFiles`. All other features attach
themselves, see `features`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar, cast

from PyQt6.QtCore import QByteArray, QEvent, QObject, QSettings, QSize, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QResizeEvent, QShowEvent
from PyQt6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QMainWindow,
    QScrollArea,
    QToolBar,
    QWidget,
)

import engine
from app.desktop import about, dialogs
from app.desktop.actions import MESSAGE, make_action, make_link
from app.desktop.docks import BOTTOM, RIGHT, Dock, Docks
from app.desktop.menus import Menus
from app.desktop.message_bar import MessageBar
from app.desktop.settings import setting
from app.features.attaching import FEATURES
from app.features.batch_view import BatchView
from app.features.diagnostics_view import DiagnosticsView
from app.features.idle_measuring import IdleMeasuring
from app.features.robot_files import RECENT_FILES, RobotFiles, dropped_files
from app.features.run_controls import RunControls
from app.features.selection import NONE, Selection
from app.features.simulation_choices import SimulationChoices
from app.features.status import Status
from app.features.view_controls import ViewControls
from app.panels.batch import BatchPanel
from app.panels.compare import ComparePanel
from app.panels.diagnostics import DiagnosticsPanel
from app.panels.joint_column import JointColumn
from app.panels.joints import JointPanel
from app.panels.number_box import DecimalBox, WholeBox, is_for_window
from app.panels.panel_scroller import scroller
from app.panels.speed import SpeedControl
from app.panels.timing import TimingPanel
from app.picture.pictures import renderer_name
from app.picture.viewport import Viewport
from app.simulation.messages import Configured, Event, LimitsReached, Loaded, Refused, Snapshot, Stopped
from app.simulation.pace import IN_REAL_TIME
from app.workbench import Workbench

TICK = 16  # ms between polls of the simulation
SPEED_REFRESH = 0.1  # s between updates of the achieved speed

Kind = TypeVar("Kind")


class Window(QMainWindow):
    """The main window: menus, toolbar, viewport and docks."""

    loaded = pyqtSignal(object)
    """`Loaded`: another robot has been loaded and is shown."""
    framed = pyqtSignal(object)
    """`Snapshot`: the newest state, valid until the next; it is already shown."""
    happened = pyqtSignal(object)
    """`Event`: any other event from the simulation."""
    refreshed = pyqtSignal()
    """Emitted after `refresh`, for features to update their widgets."""
    asked_to_close = pyqtSignal(object)
    """`QCloseEvent`: a receiver that ignores it keeps the window open to ask the user."""
    closing = pyqtSignal()
    """The window is closing: threads have to stop."""

    def __init__(self, settings: QSettings, package_dirs: Iterable[str] = ()):
        super().__init__()
        self.settings = settings
        self.workbench = Workbench(setting(settings, RECENT_FILES, []))
        self._play_after: engine.Model | None = None  # the robot that plays on after the measurement
        self.viewport, self.selection = Viewport(), Selection(self)
        self.joints, self.timing, self.diagnostics = JointPanel(), TimingPanel(), DiagnosticsPanel()
        self.compare, self.speed, self.batch = ComparePanel(), SpeedControl(), BatchPanel()
        self._bar = MessageBar(self)
        self.setStatusBar(self._bar)  # before Qt creates a default one
        self.setCentralWidget(self.viewport)
        self.setAcceptDrops(True)
        self.menus = Menus(self)
        self.files = RobotFiles(self, self.workbench, self.menus, settings, package_dirs, self.refresh)
        self.run = RunControls(self, self.workbench)
        self.simulation_choices = SimulationChoices(self, self.workbench)
        self.idle_measuring = IdleMeasuring(self, settings, self._at_work)
        self.idle_measuring.over.connect(self.refresh)
        self._fill_menus()
        self.view_controls = ViewControls(self)
        self._make_toolbar()
        self._make_docks()
        self._make_status_bar()
        self.features = {kind: kind(self) for kind in FEATURES}
        self._tools_width = self.toolbar.sizeHint().width()
        self._connect()
        self._speed_due, self._asks = 0.0, True
        self._restore_place()
        self._share_out()
        self._restore_layout()
        self.viewport.setFocus()  # else the speed slider has it, and takes the arrow keys
        self.refresh()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._poll)
        self._timer.start(TICK)
        cast(QApplication, QApplication.instance()).focusChanged.connect(self._see_focus)

    def feature(self, kind: type[Kind]) -> Kind:
        """Return the feature of a class."""
        return cast(Kind, self.features[kind])

    # Building.

    def _fill_menus(self) -> None:
        run, menu = self.run, self.menus.simulation
        menu.put(run.play, run.step, run.reset)
        menu.put(run.hold, run.gravity, run.ground, run.floating, apart=True)
        self.algorithm_menu, self.device_menu = menu.addMenu("&Algorithm"), menu.addMenu("&Device")
        self.algorithm_menu.addActions(self.simulation_choices.algorithms.actions())
        self.device_menu.addActions(self.simulation_choices.devices.actions())
        for each in (self.algorithm_menu, self.device_menu):
            each.setToolTipsVisible(True)
        self.step_menu = menu.addMenu("&Time step and integrator")
        self.simulation_choices.fill_steps(self.step_menu)
        menu.addAction(self.idle_measuring.action)
        self.about_action = make_action(self, "&About Catena", lambda: about.show(self, renderer_name()))
        self.menus.help.put(self.about_action)
        if found := about.documents():
            self.documents = self.menus.help.addMenu("&Documents")
            for title, path in found:
                make_link(self.documents, title, path)

    def _make_toolbar(self) -> None:
        bar = self.toolbar = QToolBar("Tools")
        bar.setObjectName("tools")
        bar.setMovable(False)
        bar.setIconSize(QSize(20, 20))
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        bar.addAction(self.files.open_action)
        bar.addSeparator()
        bar.addActions([self.run.play, self.run.step, self.run.reset])
        bar.addWidget(self.speed)
        bar.addSeparator()
        bar.addActions([self.run.hold, self.run.gravity, self.view_controls.fit, self.view_controls.follow])
        bar.addSeparator()
        self.addToolBar(bar)
        bar.toggleViewAction().setVisible(False)  # else a right click could hide it

    def _make_docks(self) -> None:
        self.docks, self.joint_column = Docks(self, self.menus.view), JointColumn(self.joints)
        key = Qt.Key
        for dock in (
            Dock("Joints", self.joint_column, RIGHT),
            Dock("Timing", self.timing, RIGHT, beside="Joints"),
            Dock("Compare", scroller(self.compare), BOTTOM, "", "compare", key.Key_C, "Compare algorithms (C)"),
            Dock("Diagnostics", self.diagnostics, BOTTOM, beside="Compare", height=260),
            Dock("Batch", scroller(self.batch), RIGHT, "Timing", "batch", key.Key_B, "Many robots at once (B)"),
        ):
            self.docks.add(dock)
        self.batch_view = BatchView(self.batch, self.viewport, self.workbench, self.refresh)
        self.findings = DiagnosticsView(self.diagnostics, self.docks["Diagnostics"], self.workbench, self._bar)
        compare = self.docks["Compare"].toggleViewAction()
        compare.triggered.connect(self._show_compare)
        self.toolbar.addActions([compare, self.docks["Batch"].toggleViewAction()])

    def _share_out(self) -> None:
        """Set the docks' sizes; after the features, which may change the style and so the layout."""
        self.docks.share(Qt.Orientation.Horizontal, {"Joints": 430})
        self.docks["Joints"].raise_()

    def _show_compare(self, shown: bool) -> None:
        """Extend the comparison to the window's full width if it would be cut off beside the right docks."""
        beside = self.width() - self.docks["Joints"].width() >= self.compare.minimumSizeHint().width()
        self.docks.let_reach_right(shown and not beside)

    def _make_status_bar(self) -> None:
        self.status = Status(self._bar, self.step_menu, self.algorithm_menu, self.device_menu)
        self.status.findings_button.clicked.connect(self.docks["Diagnostics"].toggleViewAction().trigger)
        self.loading_label = self.status.loading_label

    def _connect(self) -> None:
        self.run.changed.connect(self.refresh)
        self.run.begun.connect(self.findings.forget_stop)
        self.joints.moved.connect(self._move_joint)
        self.joints.released.connect(self.workbench.joints.release)
        self.speed.changed.connect(self.workbench.set_speed)
        self.viewport.diagnostics.connect(self._add_diagnostics)
        self.viewport.drawn.connect(self._drawn)
        self.viewport.read_on.connect(self._show_busy)
        self.diagnostics.open_copy.connect(self.files.open)
        self.diagnostics.trusted.connect(self.files.trust)
        self.timing.measure_asked.connect(self._measure)
        self.timing.measured.connect(self._measured)
        self.compare.message.connect(lambda text: self.statusBar().showMessage(text, MESSAGE))

    def _restore_place(self) -> None:
        restored = self.restoreGeometry(setting(self.settings, "geometry", QByteArray()))
        available = self.screen().availableGeometry()
        self.setGeometry(dialogs.place(self.geometry(), available) if restored else dialogs.first_place(available))

    def _restore_layout(self) -> None:
        self.docks["Diagnostics"].hide()  # beside the docks on the right it takes more room than some screens have
        first = self.saveState()
        tip = "All panels and their sizes as at the first start"
        self.menus.view.put(make_action(self, "Reset layout", lambda: self._reset_layout(first), tip=tip))
        self.docks.restore(setting(self.settings, "layout", QByteArray()))
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowFullScreen)
        self.docks["Diagnostics"].hide()

    def _reset_layout(self, first: QByteArray) -> None:
        self.docks.fold(False)
        self.docks.restore(first)
        self._share_out()
        self.docks.fold(self.workbench.model is None)

    # From the simulation to the window.

    def _poll(self) -> None:
        """Process the simulation's events, and show the newest state."""
        events = self.workbench.poll()
        if self.workbench.loading:
            self._show_busy()
        for event in events:
            self._react(event)
        if events:
            self.refresh()
        if Loaded in map(type, events):
            return  # a new robot is enough work for one tick
        if (frame := self.workbench.frame(seen=not self.isMinimized())) is not None:
            self._show_frame(frame)

    def _react(self, event: Event) -> None:
        match event:
            case Loaded():
                self._show_robot(event)
                self.loaded.emit(event)
                return
            case Refused():
                self.findings.show_file(raised=True)
            case Stopped(message, detail):
                self.findings.show_stop(message, detail)
            case Configured(_, _, algorithm, device, _, refusal):
                if (algorithm, device) == self.timing.taken_by:
                    self.timing.clear()
                if refusal:
                    self.statusBar().showMessage(refusal, MESSAGE)
            case LimitsReached(time, names):
                which = names[0] if len(names) == 1 else f"{len(names)} joints"
                self.statusBar().showMessage(f"{which} reached a position limit at {time:.3f} s", MESSAGE)
        self.happened.emit(event)

    def _show_robot(self, event: Loaded) -> None:
        self.viewport.set_model(event.model)
        self.joints.set_rows(self.workbench.coordinates, self.workbench.initial)
        self.timing.clear_all()
        self.batch_view.set_model(event.model)
        self.compare.set_loaded(event.model, self.workbench.floating)
        self.findings.show_file(raised=False)
        self.statusBar().clearMessage()

    def _show_frame(self, frame: Snapshot) -> None:
        # If the processor cannot keep up, simulation takes priority over drawing.
        self.viewport.modest = frame.factor < IN_REAL_TIME * self.workbench.speed
        self.batch_view.show(frame)
        self.joints.show_state(frame.q, frame.target, frame.tau)
        if not self.workbench.playing or time.perf_counter() > self._speed_due:
            self._speed_due = time.perf_counter() + SPEED_REFRESH
            self.speed.show_achieved(frame.factor)
        if frame.phases and not frame.recorded:  # replayed frames were counted when simulated
            self.timing.add_step(frame.phases, self.workbench.speed)
        self.timing.add_spent(frame.spent)
        self.framed.emit(frame)

    def _drawn(self, seconds: float) -> None:
        self.batch_view.drawn(seconds)
        self.timing.add_frame(self.viewport.upload_seconds, seconds - self.viewport.upload_seconds)

    def _add_diagnostics(self, diagnostics: list[engine.Diagnostic]) -> None:
        """Add the problems that the viewport found in meshes."""
        self.findings.add_of_meshes(diagnostics)
        self.refresh()

    def _show_busy(self) -> None:
        self.status.show_busy(self.workbench, self.viewport.reading)

    def refresh(self) -> None:
        """Update all texts, buttons and menus from the workbench."""
        bench, model = self.workbench, self.workbench.model
        self.docks.fold(model is None)
        self.run.refresh(self.timing.measuring)
        self.compare.setEnabled(not self.timing.measuring)
        self.batch_view.show_settings(bench.settings)
        self.simulation_choices.show()
        self.status.show(bench)
        self._show_busy()
        self.status.show_findings([each.severity for each in self.diagnostics.diagnostics])
        self.setWindowTitle(f"{model.name} — Catena" if model else "Catena")
        self.timing.show_algorithm(bench.algorithm, bench.device, bench.settings, bench.why, bench.unmeasured)
        for menu in (self.algorithm_menu, self.device_menu):
            menu.setEnabled(model is not None)
        self.refreshed.emit()

    # From the user to the workbench.

    def open(self, path: str | Path, trust_xacro: bool = False) -> None:
        """Load a robot's file without blocking the window. `trust_xacro` lets a xacro file run any Python."""
        self.files.open(path, trust_xacro=trust_xacro)

    def _move_joint(self, index: int, value: float) -> None:
        try:
            self.workbench.joints.set_coordinate(index, value)
        except ValueError as refusal:
            self.joints.put_back()
            self.statusBar().showMessage(str(refusal), MESSAGE)

    def _measure(self) -> None:
        """Measure for the automatic choice; pause the simulation meanwhile."""
        if self.compare.running:
            self.timing.refuse_to_measure("a comparison is running; stop it or wait until it ends")
            return
        self._play_after = self.workbench.model if self.workbench.playing else None
        self.workbench.pause()
        self.timing.start_measuring()
        self.refresh()

    def _measured(self) -> None:
        self.workbench.configuring.choose_algorithm_again()
        if self._play_after is self.workbench.model and not self.workbench.loading:
            self.workbench.play()

    def _at_work(self) -> bool:
        bench = self.workbench
        waiting = bench.loading or bench.compiling or bench.preparing
        return bool(bench.playing or waiting or self.compare.running or self.timing.measuring)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.files.drop(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass shortcut keys that are no part of a number from a number box to the window."""
        if is_for_window(watched, event):
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _see_focus(self, _: QWidget | None, now: QWidget | None) -> None:
        edits = now is not None and isinstance(now.parent().parent() if now.parent() else None, QAbstractItemView)
        if isinstance(now, DecimalBox | WholeBox) and not edits and self.isAncestorOf(now):
            now.installEventFilter(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the focused control on Return, since Space plays; on Escape leave full screen or deselect."""
        focused = QApplication.focusWidget()
        if event.key() == Qt.Key.Key_Escape:
            if self.isFullScreen():
                self.setWindowState(self.windowState() & ~Qt.WindowState.WindowFullScreen)
            else:
                self.selection.choose(NONE)
        elif event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif isinstance(focused, QAbstractButton):
            focused.click()
        elif isinstance(focused, QComboBox):
            focused.showPopup()
        elif isinstance(focused, QAbstractItemView):
            _toggle_check(focused)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Skip widgets in a dock behind another: such docks and their tabs lie outside the window."""
        passed = None
        while super().focusNextPrevChild(forward):
            child = now = QApplication.focusWidget()
            while child is not None and child.parentWidget() is not self:
                child = child.parentWidget()
                if isinstance(child, QScrollArea):  # it scrolls by itself only if the focus moves within it
                    child.ensureWidgetVisible(now)
            if child is None or now is passed or self.rect().intersects(child.geometry()):
                return True
            passed = passed or now
        return False

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the window to a small screen: its minimum size was larger before all widgets had their style."""
        super().showEvent(event)
        available = self.screen().availableGeometry()
        if not available.contains(self.geometry()) and not self.isFullScreen() and not self.isMaximized():
            self.layout().activate()
            self.setGeometry(dialogs.place(self.geometry(), available))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the toolbar's icons alone if the window is too narrow."""
        super().resizeEvent(event)
        style, roomy = Qt.ToolButtonStyle, event.size().width() >= self._tools_width
        wanted = style.ToolButtonTextUnderIcon if roomy else style.ToolButtonIconOnly
        if wanted != self.toolbar.toolButtonStyle():
            self.toolbar.setToolButtonStyle(wanted)
            self.toolbar.setStyleSheet("" if roomy else "QToolButton { min-width: 22px; }")

    def end(self) -> None:
        """Close without asking the user."""
        self._asks = False
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Save the layout and stop all threads, unless a receiver of `asked_to_close` ignores the event."""
        if self._asks:
            self.asked_to_close.emit(event)
        if not event.isAccepted():
            return
        self._timer.stop()
        self.docks.fold(False)
        self.settings.setValue("geometry", self.saveGeometry())
        self.settings.setValue("layout", self.saveState())
        self.hide()  # a file being loaded may hold the thread a little longer
        self.closing.emit()
        self.idle_measuring.close()
        self.compare.close_thread()
        self.timing.close_thread()
        self.diagnostics.close_thread()
        self.workbench.close()
        self.viewport.close()
        super().closeEvent(event)


def _toggle_check(view: QAbstractItemView) -> None:
    """Toggle the check box of the current row, if it has one."""
    index, role = view.currentIndex(), Qt.ItemDataRole.CheckStateRole
    if index.data(role) is not None and index.flags() & Qt.ItemFlag.ItemIsUserCheckable:
        on = index.data(role) in (Qt.CheckState.Checked, Qt.CheckState.Checked.value)
        view.model().setData(index, Qt.CheckState.Unchecked if on else Qt.CheckState.Checked, role)
