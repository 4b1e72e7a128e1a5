"""The window's docks: each is one entry of a list, or one call of `Docks.add` by the feature whose panel it holds."""

from __future__ import annotations

from dataclasses import dataclass

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QDockWidget, QMainWindow, QWidget

from app.desktop.actions import dock_action
from app.desktop.menus import TopMenu

RIGHT, BOTTOM, LEFT = (
    Qt.DockWidgetArea.RightDockWidgetArea,
    Qt.DockWidgetArea.BottomDockWidgetArea,
    Qt.DockWidgetArea.LeftDockWidgetArea,
)
SIDE_WIDTH, LEFT_WIDTH = 360, 240  # px that the panels on the right have at least, and those on the left


@dataclass(frozen=True)
class Dock:
    """A panel and its place. One with an `icon` is hidden at first, and shown by an action with that `key` and `tip`.

    `beside` is the title of the dock with which it shares its place, as tabs.
    """

    title: str
    panel: QWidget
    area: Qt.DockWidgetArea
    beside: str = ""
    icon: str = ""
    key: Qt.Key | str = ""
    tip: str = ""


class Docks:
    """Adds docks to a window, and the entries that show them to its View menu."""

    def __init__(self, window: QMainWindow, menu: TopMenu):
        self._window, self._menu = window, menu
        self._docks: dict[str, QDockWidget] = {}  # by their titles
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
        if dock.icon:
            dock_action(widget, dock.icon, dock.key, dock.tip)
        if dock.beside:  # hidden by now, else its tab would stay in sight
            self._window.tabifyDockWidget(self._docks[dock.beside], widget)
        return widget.toggleViewAction()

    def let_reach_right(self, whole: bool) -> None:
        """Whether the docks at the bottom have the window's whole width, or leave the right to those there."""
        self._window.setCorner(Qt.Corner.BottomRightCorner, BOTTOM if whole else RIGHT)

    def share(self, orientation: Qt.Orientation, sizes: dict[str, int]) -> None:
        """Give docks these sizes, px, along one direction."""
        self._window.resizeDocks([self._docks[title] for title in sizes], list(sizes.values()), orientation)
