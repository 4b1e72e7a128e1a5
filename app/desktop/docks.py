"""The window's docks: each is one entry of a list, or one call of `Docks.add` by the feature whose panel it holds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import cast

from PyQt6.QtCore import QByteArray, QEvent, QObject, Qt, QTimer
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QApplication, QDockWidget, QMainWindow, QTabBar, QTabWidget, QWidget

from app.desktop.actions import dock_action
from app.desktop.menus import TopMenu

RIGHT, BOTTOM, LEFT = (
    Qt.DockWidgetArea.RightDockWidgetArea,
    Qt.DockWidgetArea.BottomDockWidgetArea,
    Qt.DockWidgetArea.LeftDockWidgetArea,
)
SIDE_WIDTH, LEFT_WIDTH = 360, 240  # px that the panels on the right have at least, and those on the left
HIGHEST = 0.45  # of the window, that a dock at the bottom takes as it is shown


@dataclass(frozen=True)
class Dock:
    """A panel and its place. One with an `icon` is hidden at first, and shown by an action with that `key` and `tip`.

    `beside` is the title of the dock with which it shares its place, as tabs; so docks at a side have its whole height.
    At the bottom it takes `height` px as it is shown, at most `HIGHEST` of the window, which is what 0 stands for.
    """

    title: str
    panel: QWidget
    area: Qt.DockWidgetArea
    beside: str = ""
    icon: str = ""
    key: Qt.Key | str = ""
    tip: str = ""
    height: int = 0


class Docks(QObject):
    """Adds docks to a window, and the entries that show them to its View menu."""

    def __init__(self, window: QMainWindow, menu: TopMenu):
        super().__init__(window)
        self._window, self._menu = window, menu
        self._docks: dict[str, QDockWidget] = {}  # by their titles
        self._heights: dict[str, int] = {}  # of those with heights of their own, when they are shown
        self._as_restored: set[str] = set()
        self._folded: list[str] | None = None  # the titles of those that `fold` hid; None where it is off
        self._in_front: list[str] = []  # the titles of those that were seen, the last one last
        self._to_fit, self._fitting = dict[str, None](), QTimer(window, singleShot=True)  # in the order of coming
        self._fitting.timeout.connect(self._fit_heights)
        self._naming = QTimer(window, singleShot=True)
        self._naming.timeout.connect(self._name_once)
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.let_reach_right(False)

    def __getitem__(self, title: str) -> QDockWidget:
        return self._docks[title]

    def add(self, dock: Dock) -> QAction:
        """Put it in its place; answers what shows and hides it."""
        widget = QDockWidget(dock.title, self._window)
        widget.setObjectName(dock.title.lower())
        widget.setWidget(dock.panel)
        if dock.area in (LEFT, RIGHT):
            widget.setMinimumWidth(SIDE_WIDTH if dock.area is RIGHT else LEFT_WIDTH)
        self._window.addDockWidget(dock.area, widget)
        self._docks[dock.title] = widget
        self._menu.addAction(widget.toggleViewAction())
        widget.toggleViewAction().triggered.connect(widget.raise_)
        widget.visibilityChanged.connect(partial(self._seen, dock.title))
        widget.topLevelChanged.connect(lambda _: self._naming.start(0))
        if dock.area is BOTTOM:
            self._heights[dock.title] = dock.height
            widget.installEventFilter(self)
        if dock.icon:
            dock_action(widget, dock.icon, dock.key, dock.tip)
        if dock.beside:  # hidden by now, else its tab would stay in sight
            self._window.tabifyDockWidget(self._docks[dock.beside], widget)
        return widget.toggleViewAction()

    def restore(self, state: QByteArray) -> None:
        """Arrange them as `QMainWindow.saveState` told."""
        if self._window.restoreState(state):
            self._as_restored = {title for title in self._heights if not self._docks[title].isHidden()}

    def eventFilter(self, dock: QObject, event: QEvent) -> bool:
        """A dock keeps the height that its user drags it to."""
        if event.type() == QEvent.Type.Resize and QApplication.mouseButtons() and isinstance(dock, QDockWidget):
            self._heights[dock.windowTitle()] = dock.height()
        return False

    def _seen(self, title: str, seen: bool) -> None:
        """A dock has come into sight, also as a tab, or has gone: then the tab is in front that was before it."""
        self._naming.start(0)
        if seen:
            self._in_front = [each for each in self._in_front if each != title] + [title]
            if title in self._heights:
                self._to_fit[title] = None
                self._fitting.start(0)
        elif self._docks[title].isHidden():
            beside = self._window.tabifiedDockWidgets(self._docks[title])
            before = [dock for each in self._in_front if (dock := self._docks[each]) in beside and not dock.isHidden()]
            if before:
                QTimer.singleShot(0, before[-1].raise_)

    def _name_once(self) -> None:
        """A dock that shares its place is named by its tab, which closes and floats it as a title does."""
        for dock in self._docks.values():
            beside = [each for each in self._window.tabifiedDockWidgets(dock) if not each.isHidden()]
            tabbed = bool(beside) and not dock.isFloating()
            if tabbed and dock.titleBarWidget() is None:
                dock.setTitleBarWidget(QWidget())
            elif not tabbed and (bare := dock.titleBarWidget()) is not None:
                dock.setTitleBarWidget(None)
                bare.deleteLater()
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.setTabsClosable(True)
            bar.setDrawBase(False)
            for signal, slot in ((bar.tabCloseRequested, self._close), (bar.tabBarDoubleClicked, self._float)):
                with suppress(TypeError):  # Qt ends connections of a bar that has had no tabs meanwhile
                    signal.disconnect(slot)
                signal.connect(slot)

    def _close(self, tab: int) -> None:
        if (dock := self._docks.get(cast(QTabBar, self.sender()).tabText(tab))) is not None:
            dock.hide()

    def _float(self, tab: int) -> None:
        if (dock := self._docks.get(cast(QTabBar, self.sender()).tabText(tab))) is not None:
            dock.setFloating(True)

    def _fit_heights(self) -> None:
        while self._to_fit:
            self._fit_height(self._to_fit.popitem()[0])

    def _fit_height(self, title: str) -> None:
        window, dock = self._window, self._docks[title]
        if not dock.isVisible() or dock.isFloating() or window.dockWidgetArea(dock) is not BOTTOM:
            return
        others = window.minimumSizeHint().height() - dock.minimumSizeHint().height()
        most = min(round(HIGHEST * window.height()), window.height() - others)
        height = dock.height() if title in self._as_restored else self._heights[title]
        self._as_restored.discard(title)
        bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        tabs = max((bar.height() for bar in bars), default=0) if window.tabifiedDockWidgets(dock) else 0
        window.resizeDocks([dock], [min(height + tabs if height else most, most)], Qt.Orientation.Vertical)

    def fold(self, on: bool) -> None:
        """Hide the docks at both sides, as long as there is nothing to show in them, or bring those back."""
        if on and self._folded is None:
            area = self._window.dockWidgetArea
            aside = [title for title, dock in self._docks.items() if area(dock) is not BOTTOM]
            self._folded = [each for each in aside if not self._docks[each].isHidden()]
            for title in self._folded:
                self._docks[title].hide()
        elif not on and self._folded is not None:
            back, self._folded = self._folded, None
            for title in back:
                self._docks[title].show()
            for title in [each for each in self._in_front if each in back][-1:] or back[:1]:
                self._docks[title].raise_()

    def let_reach_right(self, whole: bool) -> None:
        """Whether the docks at the bottom have the window's whole width, or leave the right to those there."""
        self._window.setCorner(Qt.Corner.BottomRightCorner, BOTTOM if whole else RIGHT)

    def share(self, orientation: Qt.Orientation, sizes: dict[str, int]) -> None:
        """Give docks these sizes, px, along one direction."""
        self._window.resizeDocks([self._docks[title] for title in sizes], list(sizes.values()), orientation)
