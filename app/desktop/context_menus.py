"""Context menus, by what was clicked. A feature offers entries: `window.menus.context.offer("act", put, LINK)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PyQt6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PyQt6.QtWidgets import QAbstractItemView, QApplication, QMenu, QWidget

LINK, JOINT, OBJECT, PLOT, TIME, SPACE = "link", "joint", "object of the scene", "plot", "moment", "empty space"
SECOND, COPY = "link of the second robot", "robot of a batch"
GROUPS = "first", "act", "plot", "view", "measure", "hide", "drive", "copy", "change"
BY_KEY = QContextMenuEvent.Reason.Keyboard
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
Selected = Callable[[], tuple[Clicked | None, QPoint]]


class ContextMenus(QObject):
    """Makes each menu on request, of what features offer; the last one is `shown`."""

    def __init__(self, window: QWidget):
        super().__init__(window)
        self._window, self.shown = window, QMenu(window)
        self._offers: list[tuple[int, tuple[str, ...], Put]] = []
        self._finds: dict[QObject, Find] = {}
        self._selected: dict[QObject, Selected] = {}
        self._dragged: set[QObject] = set()
        self._pressed: QPointF | None = None
        window.installEventFilter(self)

    def offer(self, group: str, put: Put, *kinds: str) -> None:
        """Let `put` add entries to the menus of these kinds of subjects, in the order of `GROUPS`."""
        self._offers.append((GROUPS.index(group), kinds, put))
        self._offers.sort(key=lambda each: each[0])

    def watch(self, widget: QWidget, find: Find, drags: bool = False, selected: Selected | None = None) -> None:
        """Show menus for right clicks on a widget, where `find` returns what was clicked; `drags` show none.

        For the menu key `selected` returns the subject, and where its menu opens; of a list or tree it is the current
        row, which Qt would miss by the height of the header.
        """
        self._finds[widget] = find
        if selected is not None:
            self._selected[widget] = selected
        elif isinstance(widget, QAbstractItemView):
            self._selected[widget] = partial(self._current, widget)
        if drags or widget in self._selected:
            widget.installEventFilter(self)
        if drags:
            self._dragged.add(widget)
        else:
            widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            widget.customContextMenuRequested.connect(partial(self._show, widget))

    def eventFilter(self, widget: QObject, event: QEvent) -> bool:
        """Show a menu for the menu key or Shift+F10, or for a right click without a drag."""
        if not isinstance(widget, QWidget):
            return False
        if isinstance(event, QContextMenuEvent) and event.reason() == BY_KEY and widget in self._selected:
            subject, at = self._selected[widget]()
            self._open(None if subject is None else self.of(subject), widget.mapToGlobal(at))
            return True
        if isinstance(event, QKeyEvent) and widget is self._window and _is_shift_f10(event):
            focused = QApplication.focusWidget() or widget
            at = focused.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center()
            QApplication.sendEvent(focused, QContextMenuEvent(BY_KEY, at, focused.mapToGlobal(at)))
            return True
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.RightButton and widget in self._dragged:
            if event.type() == QEvent.Type.MouseButtonPress:
                self._pressed = event.position()
            elif event.type() == QEvent.Type.MouseButtonRelease and self._pressed is not None:
                begin, self._pressed = self._pressed, None
                if (event.position() - begin).manhattanLength() <= CLICK:
                    self._show(widget, begin.toPoint())
        return super().eventFilter(widget, event)

    def _current(self, view: QAbstractItemView) -> tuple[Clicked | None, QPoint]:
        view.scrollTo(view.currentIndex())
        at = view.visualRect(view.currentIndex()).center()
        return self._finds[view](at), view.viewport().mapTo(view, at)

    def _show(self, widget: QWidget, at: QPoint) -> None:
        self._open(self.at(widget, at), widget.mapToGlobal(at))

    def _open(self, menu: QMenu | None, at: QPoint) -> None:
        if menu is not None and not menu.isEmpty():
            menu.popup(at)

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


def _is_shift_f10(event: QKeyEvent) -> bool:
    """Whether a key is pressed that opens a context menu, as the menu key, which Qt turns into an event by itself."""
    pressed = event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_F10
    return pressed and event.modifiers() == Qt.KeyboardModifier.ShiftModifier
