"""Context menus, by what was clicked. A feature offers entries: `window.menus.context.offer("act", put, LINK)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PyQt6.QtGui import QMouseEvent
from PyQt6.QtWidgets import QMenu, QWidget

LINK, JOINT, OBJECT, PLOT, TIME, SPACE = "link", "joint", "object of the scene", "plot", "moment", "empty space"
GROUPS = "first", "act", "plot", "view", "measure", "hide", "drive", "copy", "change"
CLICK = 4  # px by which the mouse may move in a click


class Clicked(NamedTuple):
    """A subject: its kind, its title, and the number of a link, a chart, or a row of joints or of the scene's list."""

    kind: str
    title: str = ""
    number: int = -1
    seconds: float = 0.0
    point: np.ndarray | None = None
    """(3,), the clicked point in the world, if in the viewport."""


Find = Callable[[QPoint], Clicked | None]
Put = Callable[[QMenu, Clicked], object]


class ContextMenus(QObject):
    """Makes each menu on request, of what features offer; the last one is `shown`."""

    def __init__(self, window: QWidget):
        super().__init__(window)
        self._window, self.shown = window, QMenu(window)
        self._offers: list[tuple[int, tuple[str, ...], Put]] = []
        self._finds: dict[QObject, Find] = {}
        self._pressed: QPointF | None = None

    def offer(self, group: str, put: Put, *kinds: str) -> None:
        """Let `put` add entries to the menus of these kinds of subjects, in the order of `GROUPS`."""
        self._offers.append((GROUPS.index(group), kinds, put))
        self._offers.sort(key=lambda each: each[0])

    def watch(self, widget: QWidget, find: Find, drags: bool = False) -> None:
        """Show menus for right clicks on a widget, where `find` returns what was clicked; `drags` show none."""
        self._finds[widget] = find
        if drags:
            widget.installEventFilter(self)
        else:
            widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            widget.customContextMenuRequested.connect(partial(self._show, widget))

    def eventFilter(self, widget: QObject, event: QEvent) -> bool:
        """Show a menu for a right click without a drag."""
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.RightButton:
            if event.type() == QEvent.Type.MouseButtonPress:
                self._pressed = event.position()
            elif event.type() == QEvent.Type.MouseButtonRelease and self._pressed is not None:
                at, self._pressed = self._pressed, None
                if isinstance(widget, QWidget) and (event.position() - at).manhattanLength() <= CLICK:
                    self._show(widget, at.toPoint())
        return super().eventFilter(widget, event)

    def _show(self, widget: QWidget, at: QPoint) -> None:
        if (menu := self.at(widget, at)) is not None and not menu.isEmpty():
            menu.popup(widget.mapToGlobal(at))

    def at(self, widget: QWidget, place: QPoint) -> QMenu | None:
        """Return the menu of what is at a place of a watched widget; None if nothing is there."""
        return None if (clicked := self._finds[widget](place)) is None else self.of(clicked)

    def of(self, clicked: Clicked) -> QMenu:
        """Return the menu of a subject."""
        menu = QMenu(self._window)
        if clicked.title:
            menu.addAction(clicked.title.replace("&", "&&")).setEnabled(False)
            menu.addSeparator()
        self.fill(menu, clicked)
        return menu

    def fill(self, menu: QMenu, clicked: Clicked) -> None:
        """Add the entries of a subject to a menu."""
        self.shown.deleteLater()
        self.shown = menu
        for _, kinds, put in self._offers:
            if clicked.kind in kinds:
                put(menu, clicked)
