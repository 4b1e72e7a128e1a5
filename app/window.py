"""The main window, which mirrors a `Workbench`.

Run controls and file actions reach the workbench through `RunControls` and `RobotFiles`. All that is attached to the
window besides is listed in `features.attaching`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
from PyQt6.QtCore import QByteArray, QEvent, QObject, QSettings, QSize, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QCloseEvent, QDragEnterEvent, QDragLeaveEvent, QDropEvent, QKeyEvent, QResizeEvent, QShowEvent
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
from app.desktop import about, dialogs, theme, type_scale
from app.desktop.actions import MESSAGE, make_action, make_link
from app.desktop.docks import NARROW_WIDTH, RIGHT, Dock, Docks
from app.desktop.menus import Menus
from app.desktop.message_bar import MessageBar
from app.desktop.settings import setting
from app.features.attaching import FEATURES
from app.features.robot_files import RECENT_FILES, RobotFiles
from app.features.run_controls import RunControls
from app.features.selection import NONE, Selection
from app.features.view_controls import ViewControls
from app.panels.joint_column import JointColumn
from app.panels.joints import JointPanel
from app.panels.number_box import DecimalBox, WholeBox, is_for_window
from app.panels.speed import SpeedControl
from app.picture.note import PictureNote
from app.picture.pictures import renderer_name
from app.picture.viewport import Viewport
from app.simulation.messages import Configured, EffortsCut, Event, LimitsReached, Loaded, Snapshot
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
    waiting = pyqtSignal()
    """Emitted at each poll while a file is being loaded."""
    refreshed = pyqtSignal()
    """Emitted after `refresh`, for features to update their widgets."""
    asked_to_close = pyqtSignal(object)
    """`QCloseEvent`: a receiver that ignores it keeps the window open to ask the user."""
    closing = pyqtSignal()
    """The window is closing: threads have to stop."""

    def __init__(self, settings: QSettings, package_dirs: Iterable[str] = ()):
        super().__init__()
        self.settings = settings
        application = cast(QApplication, QApplication.instance())
        with theme.unstyled(application):
            self._build(package_dirs)
        self._tools_width = self.toolbar.sizeHint().width()
        self._connect()
        self._speed_due, self._asks = 0.0, True
        self._restore_place()
        self._share_out()
        self._restore_layout()
        self.viewport.setFocus()  # else the speed slider has it, and takes the arrow keys
        self.refresh()
        self._timer = QTimer(self, timeout=self._poll)
        self._timer.start(TICK)
        application.focusChanged.connect(self._see_focus)

    def feature(self, kind: type[Kind]) -> Kind:
        """Return the feature of a class."""
        return cast(Kind, self.features[kind])

    # Building.

    def _build(self, package_dirs: Iterable[str]) -> None:
        settings = self.settings
        self.workbench = Workbench(setting(settings, RECENT_FILES, []))
        self.viewport, self.selection = Viewport(), Selection(self)
        self.joints, self.speed, self.bar = JointPanel(), SpeedControl(), MessageBar(self)
        self.joint_column = JointColumn(self.joints)
        self.setStatusBar(self.bar)  # before Qt creates a default one
        self.setCentralWidget(self.viewport)
        self.setAcceptDrops(True)
        self._drop_note = PictureNote(self.viewport)
        self.menus = Menus(self)
        self.files = RobotFiles(self, self.workbench, self.menus, settings, package_dirs, self.refresh)
        self.run = RunControls(self)
        self._fill_menus()
        self.view_controls = ViewControls(self)
        self._make_toolbar()
        self.docks = Docks(self, self.menus.panels)
        self.docks.add(Dock("Joints", self.joint_column, RIGHT, least=NARROW_WIDTH, sideways=False))
        self.features: dict[Callable[[Window], object], object] = {}
        for kind in FEATURES:
            self.features[kind] = kind(self)

    def _fill_menus(self) -> None:
        run, menu = self.run, self.menus.simulation
        menu.put(run.play, run.step, run.reset)
        menu.put(run.hold, run.gravity, run.ground, run.floating, apart=True)
        self.about_action = make_action(self, "&About Catena", lambda: about.show(self, renderer_name()))
        self.menus.help.put(self.about_action)
        if documents := about.documents():
            self.documents = self.menus.help.addMenu("&Documents")
            for title, path in documents:
                make_link(self.documents, title, path, self.statusBar().showMessage)

    def _make_toolbar(self) -> None:
        bar = self.toolbar = QToolBar("Tools")
        bar.setObjectName("tools")
        bar.setMovable(False)
        bar.setIconSize(QSize(type_scale.scaled(20), type_scale.scaled(20)))
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

    def _share_out(self) -> None:
        """Set the docks' sizes; after the features, which may change the style and so the layout."""
        self.docks.share(Qt.Orientation.Horizontal, {"Joints": 430})
        self.docks["Joints"].raise_()

    def _connect(self) -> None:
        self.run.changed.connect(self.refresh)
        self.joints.moved.connect(self._move_joint)
        self.joints.released.connect(self.workbench.joints.release)
        self.speed.changed.connect(self.workbench.set_speed)

    def _restore_place(self) -> None:
        restored = self.restoreGeometry(setting(self.settings, "geometry", QByteArray()))
        available = self.screen().availableGeometry()
        self.setGeometry(dialogs.place(self.geometry(), available) if restored else dialogs.first_place(available))

    def _restore_layout(self) -> None:
        self.docks["Diagnostics"].hide()  # beside the docks on the right it takes more room than some screens have
        first = self.saveState()
        tip = "All panels and their sizes as at the first start"
        layout = make_action(self, "Reset layout", lambda: self._reset_layout(first), tip=tip)
        self.menus.view.put(self.menus.panels, layout)
        self.docks.restore(setting(self.settings, "layout", QByteArray()), setting(self.settings, "dock_heights", ""))
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowFullScreen)
        self.docks["Diagnostics"].hide()

    def _reset_layout(self, first: QByteArray) -> None:
        self.docks.fold(False)
        self.docks.restore(first, dragged="")
        self._share_out()
        self.docks.fold(self.workbench.robot.model is None)

    # From the simulation to the window.

    def _poll(self) -> None:
        """Process the simulation's events, and show the newest state."""
        events = self.workbench.poll()
        if self.workbench.opening.loading:
            self.waiting.emit()
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
                self._show_pose(event.model)
                return
            case Configured(refusal=refusal) if refusal:
                self.bar.showMessage(refusal, MESSAGE)
            case LimitsReached(time, names):
                which = names[0] if len(names) == 1 else f"{len(names)} joints"
                self.bar.mention(f"{which} reached a position limit at {time:.3f} s")
            case EffortsCut(time, (name,), (asked,), (limit,)):
                self.bar.mention(f"{name}: effort {asked:.4g} asked, its limit {limit:.4g} acts since {time:.3f} s")
            case EffortsCut(time, names):
                self.bar.mention(f"{len(names)} joints: larger efforts asked than their limits, since {time:.3f} s")
        self.happened.emit(event)

    def _show_robot(self, event: Loaded) -> None:
        self.viewport.set_model(event.model, event.start)
        self.joints.set_rows(self.workbench.robot.coordinates, self.workbench.robot.initial)
        self.bar.clearMessage()

    def _show_pose(self, model: engine.Model) -> None:
        """Show a new robot in the pose that it begins in, or has been given, before its simulation's first frame."""
        robot, unknown = self.workbench.robot, np.zeros(0)
        if robot.model is model:  # and not one that was opened right after it
            self.viewport.set_poses(engine.link_poses(model, robot.q))
            self.joints.show_state(robot.q, unknown, unknown)

    def _show_frame(self, frame: Snapshot) -> None:
        # If the processor cannot keep up, simulation takes priority over drawing.
        self.viewport.modest = frame.factor < IN_REAL_TIME * self.workbench.speed
        self.joints.show_state(frame.q, frame.target, frame.tau)
        if not self.workbench.robot.playing or time.perf_counter() > self._speed_due:
            self._speed_due = time.perf_counter() + SPEED_REFRESH
            self.speed.show_achieved(frame.factor)
        self.framed.emit(frame)

    def refresh(self) -> None:
        """Update all texts, buttons and menus from the workbench."""
        robot = self.workbench.robot
        self.docks.fold(robot.model is None)
        self.setWindowTitle(f"{robot.model.name} — Catena" if robot.model else "Catena")
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
            self.bar.showMessage(str(refusal), MESSAGE)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._drop_note.say(self.files.offer(event))

    def dragLeaveEvent(self, _: QDragLeaveEvent) -> None:
        self._drop_note.say("")

    def dropEvent(self, event: QDropEvent) -> None:
        self._drop_note.say("")
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
        self.settings.setValue("dock_heights", self.docks.dragged)
        self.hide()  # a file being loaded may hold the thread a little longer
        self.closing.emit()
        self.workbench.close()
        self.viewport.close()
        super().closeEvent(event)


def _toggle_check(view: QAbstractItemView) -> None:
    """Toggle the check box of the current row, if it has one."""
    index, role = view.currentIndex(), Qt.ItemDataRole.CheckStateRole
    if index.data(role) is not None and index.flags() & Qt.ItemFlag.ItemIsUserCheckable:
        on = index.data(role) in (Qt.CheckState.Checked, Qt.CheckState.Checked.value)
        view.model().setData(index, Qt.CheckState.Unchecked if on else Qt.CheckState.Checked, role)
