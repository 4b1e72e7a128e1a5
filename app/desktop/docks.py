"""The window's docks; a feature adds each with one call of `Docks.add`."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import cast

from PyQt6.QtCore import QByteArray, QEvent, QObject, QPoint, QRect, Qt, QTimer
from PyQt6.QtGui import QAction, QMouseEvent, QResizeEvent
from PyQt6.QtWidgets import QApplication, QDockWidget, QMainWindow, QTabBar, QTabWidget, QWidget

from app.desktop.actions import dock_action
from app.desktop.menus import TopMenu
from app.desktop.panel_scroller import scroller

RIGHT, BOTTOM, LEFT = (
    Qt.DockWidgetArea.RightDockWidgetArea,
    Qt.DockWidgetArea.BottomDockWidgetArea,
    Qt.DockWidgetArea.LeftDockWidgetArea,
)
SIDE_WIDTH, LEFT_WIDTH = 360, 240  # px, minimum widths of the panels on the right and on the left, unless they have one
NARROW_WIDTH = 280  # px, the minimum width of those on the right that are there from the start
FLOATING, APART = 0.8, 48  # share of a docked panel's size that it has when it is torn off, and px by which it shifts
CLOSABLE = 54  # px of a tab with a button that closes it, beside its title
MIDDLE = 0.45  # of the window's width: where side docks leave less, those at both sides are narrowed
TALLEST = 10_000  # px, of a height in a settings file
HIGHEST = 0.45  # of the window's height, at most, for a bottom dock when it is shown
LOWER = 0.36  # of it, where docks at both sides narrow the picture
WIDTHS = ("left, narrowed", "right, narrowed", "left", "right")  # of the docks at a side, as named in a settings file
BESIDE = 540  # px, the least width of a bottom dock beside those that have the full height: on the left, or `high`


@dataclass(frozen=True)
class Dock:
    """A panel and its place. With an `icon`, it is hidden at first, and an action with `key` and `tip` shows it.

    `beside` is the title of the dock with which it is tabbed, so that side docks have the full height, and `least`
    their minimum width, px. A bottom dock opens `height` px high, or as high as this returns then, at most `HIGHEST` of
    the window; 0: that maximum. Where it would be less than `whole` px wide beside the docks on the right, it extends
    below them; where one of these that is seen is `high`, less than `BESIDE`.
    The panel scrolls where it has less space than it needs; unless `sideways`, the dock is as wide as it needs.
    """

    title: str
    panel: QWidget
    area: Qt.DockWidgetArea
    beside: str = ""
    icon: str = ""
    key: Qt.Key | str = ""
    tip: str = ""
    height: int | Callable[[], int] = 0
    least: int = 0
    sideways: bool = True
    whole: int = 0
    high: bool = False


class Docks(QObject):
    """Adds docks to a window, and the entries that show them to a menu of it."""

    def __init__(self, window: QMainWindow, menu: TopMenu):
        super().__init__(window)
        self._window, self._menu = window, menu
        self._docks: dict[str, QDockWidget] = {}  # by title
        self._heights: dict[str, int | Callable[[], int]] = {}  # of bottom docks when shown, as in `Dock`
        self._wholes: dict[str, int] = {}  # px, of bottom docks, as in `Dock`
        self._high = set[str]()  # titles of docks, as in `Dock`
        self._dragged: dict[str, int] = {}  # px, heights that the user has set instead
        self._restores = False  # whether an arrangement is being restored
        self._drags = False  # whether the edge of a dock is dragged
        self._as_restored: set[str] = set()
        self._grows: set[str] = set()  # titles of bottom docks in a window that has become higher
        self._folded: list[str] | None = None  # titles of the docks that `fold` hid; None if it is off
        self._in_sight: set[str] = set()  # titles
        self._behind: set[str] = set()  # titles of the open docks that are behind another's tab
        self._in_front: list[str] = []  # titles in the order in which they were last visible
        self._to_fit, self._fitting = dict[str, None](), QTimer(window, singleShot=True)  # an ordered set of titles
        self._fitting.timeout.connect(self._fit_all)
        self._naming = QTimer(window, singleShot=True, timeout=self._name_once)
        self._sharing = QTimer(window, singleShot=True, timeout=self._narrow)
        self._cornering = QTimer(window, singleShot=True, timeout=self._share_corner)
        self._widths, self._wanted = [0, 0], [0, 0]  # px, of the docks on each side as narrowed, and before
        window.installEventFilter(self)
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self._share_corner()

    def __getitem__(self, title: str) -> QDockWidget:
        return self._docks[title]

    def is_in_sight(self, title: str) -> bool:
        """Whether a dock is shown, and not behind another, where Qt takes it for visible too."""
        return title in self._in_sight

    def show_in_front(self, title: str) -> None:
        """Show a dock, in front of those that share its place."""
        self._docks[title].show()
        self._docks[title].raise_()

    def open_refilled(self, title: str) -> None:
        """Show a dock at the bottom that has other content, as high as it opens with that."""
        self.show_in_front(title)
        self._to_fit[title] = None
        self._fitting.start(0)

    def add(self, dock: Dock) -> QAction:
        """Add a dock to the window; return the action that shows and hides it."""
        widget = QDockWidget(dock.title, self._window)
        widget.setObjectName(dock.title.lower())
        widget.setWidget(scroller(dock.panel, dock.sideways))
        if dock.area in (LEFT, RIGHT):
            widget.setMinimumWidth(dock.least or (SIDE_WIDTH if dock.area is RIGHT else LEFT_WIDTH))
        self._window.addDockWidget(dock.area, widget)
        self._docks[dock.title] = widget
        self._menu.addAction(widget.toggleViewAction())
        widget.toggleViewAction().triggered.connect(widget.raise_)
        widget.visibilityChanged.connect(partial(self._seen, dock.title))
        widget.installEventFilter(self)
        widget.topLevelChanged.connect(lambda _: self._naming.start(0))
        widget.topLevelChanged.connect(partial(self._set_apart, widget))
        if dock.high:
            self._high.add(dock.title)
        if dock.area is BOTTOM:
            self._heights[dock.title], self._wholes[dock.title] = dock.height, dock.whole
        else:
            widget.toggleViewAction().toggled.connect(partial(self._opened, dock.title))
        if dock.icon:
            dock_action(widget, dock.icon, dock.key, dock.tip)
        if dock.beside:  # only once hidden, or its tab would stay visible
            self._window.tabifyDockWidget(self._docks[dock.beside], widget)
        return widget.toggleViewAction()

    @property
    def dragged(self) -> str:
        """The heights to which the user dragged docks, and the widths at the sides, as text for `restore`."""
        pairs = zip(WIDTHS, (*self._widths, *self._wanted), strict=True)
        return json.dumps(self._dragged | {name: width for name, width in pairs if width})

    def restore(self, state: QByteArray, dragged: str | None = None) -> None:
        """Restore an arrangement saved by `QMainWindow.saveState`, with what was `dragged`; None keeps that of now.

        Docks at the bottom that it left lower than they are by themselves, or were dragged, become as high as that.
        """
        if dragged is not None:
            self._dragged = _sizes_in(dragged)
            left, right, *wanted = (self._dragged.pop(name, 0) for name in WIDTHS)
            self._widths, self._wanted = [left, right], wanted
        self._restores = True
        restored, self._restores = self._window.restoreState(state), False
        if restored:
            self._as_restored = {title for title, dock in self._docks.items() if not dock.isHidden()}

    def eventFilter(self, dock: QObject, event: QEvent) -> bool:
        """Remember the height to which the user drags a dock; fit tabs to their bar, and docks to the window's size."""
        if dock is self._window and isinstance(event, QResizeEvent):
            self._fit_to_window(event)
        elif dock is self._window and event.type() == QEvent.Type.MouseButtonPress:
            at = cast(QMouseEvent, event).position().toPoint()
            self._drags = self._window.childAt(at) is None  # the edges of docks are the window's, and no widgets
        elif dock is self._window and event.type() == QEvent.Type.MouseButtonRelease:
            self._drags = False
        elif event.type() == QEvent.Type.Resize and isinstance(dock, QTabBar):
            self._naming.start(0)
        elif isinstance(event, QResizeEvent) and isinstance(dock, QDockWidget):
            self._cornering.start(0)
            higher = event.size().height() - event.oldSize().height()
            if dock.windowTitle() in self._heights and self._drags and QApplication.mouseButtons() and higher:
                self._dragged[dock.windowTitle()] = dock.height()
        return False

    def _fit_to_window(self, event: QResizeEvent) -> None:
        self._share_corner()
        if event.size().width() < event.oldSize().width() or any(self._widths):  # else they are as restored
            self._sharing.start(0)
        if event.size().height() > event.oldSize().height():
            low = [title for title in self._heights if title in self._in_sight]
            self._grows.update(low)
            self._to_fit |= dict.fromkeys(low)
            self._fitting.start(0)

    def _seen(self, title: str, seen: bool) -> None:
        """Handle a dock that appeared or disappeared; when one closes, raise the tab that was in front before it.

        Its action is checked while it can be seen, so that it brings a dock behind another forward, and else closes it.
        """
        self._naming.start(0)
        (self._in_sight.add if seen else self._in_sight.discard)(title)
        self._share_corner()
        self._docks[title].toggleViewAction().setChecked(seen)
        behind = not seen and not self._docks[title].isHidden()
        (self._behind.add if behind else self._behind.discard)(title)
        if seen:
            self._in_front = [each for each in self._in_front if each != title] + [title]
            if title in self._heights:
                self._to_fit[title] = None
                self._fitting.start(0)
            return
        if self._docks[title].isAncestorOf(QApplication.focusWidget()):  # behind another, where Qt leaves the focus
            self._window.centralWidget().setFocus()
        if self._docks[title].isHidden():
            if any(self._widths):
                self._sharing.start(0)
            beside = self._window.tabifiedDockWidgets(self._docks[title])
            before = [dock for each in self._in_front if (dock := self._docks[each]) in beside and not dock.isHidden()]
            if before:
                QTimer.singleShot(0, before[-1].raise_)

    def _opened(self, title: str, on: bool) -> None:
        """Handle a dock at a side that was opened or closed, and did not only come in front of others."""
        if self._window.dockWidgetArea(self._docks[title]) is LEFT and title not in self._behind:
            self._to_fit |= dict.fromkeys(each for each in self._heights if each in self._in_sight)
            self._fitting.start(0)
        if on and title not in self._behind:
            self._to_fit[title] = None
            self._fitting.start(0)

    def _name_once(self) -> None:
        """Hide the title bar of a tabbed dock; its tab floats it instead, and closes it where all tabs have room."""
        for dock in self._docks.values():
            beside = [each for each in self._window.tabifiedDockWidgets(dock) if not each.isHidden()]
            tabbed = bool(beside) and not dock.isFloating()
            if tabbed and dock.titleBarWidget() is None:
                dock.setTitleBarWidget(QWidget())
            elif not tabbed and (bare := dock.titleBarWidget()) is not None:
                dock.setTitleBarWidget(None)
                bare.deleteLater()
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            words = sum(bar.fontMetrics().horizontalAdvance(bar.tabText(k)) for k in range(bar.count()))
            bar.setTabsClosable(words + CLOSABLE * bar.count() <= bar.width())
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setDrawBase(False)
            bar.installEventFilter(self)
            for signal, slot in ((bar.tabCloseRequested, self._close), (bar.tabBarDoubleClicked, self._float)):
                with suppress(TypeError):  # Qt drops the connections of a bar that was empty meanwhile
                    signal.disconnect(slot)
                signal.connect(slot)

    def _close(self, tab: int) -> None:
        if (dock := self._docks.get(cast(QTabBar, self.sender()).tabText(tab))) is not None:
            dock.hide()

    def _float(self, tab: int) -> None:
        if (dock := self._docks.get(cast(QTabBar, self.sender()).tabText(tab))) is not None:
            dock.setFloating(True)
            self._shrink(dock)

    def _set_apart(self, dock: QDockWidget, floats: bool) -> None:
        """Set a dock that its button has torn off apart from its place, where it would look as if it were docked."""
        dock.style().unpolish(dock)  # a floating dock has a border
        dock.style().polish(dock)
        if floats and not self._restores and not QApplication.mouseButtons():  # else it is dragged
            self._shrink(dock)

    def _shrink(self, dock: QDockWidget) -> None:
        """Make a floating dock smaller, and shift it, within the window."""
        at, window = dock.geometry(), self._window.frameGeometry()
        size = (at.size() * FLOATING).expandedTo(dock.minimumSizeHint())
        place = QPoint(at.center().x() - size.width() // 2, at.top() - APART)
        dock.setGeometry(QRect(QPoint(place.x(), max(place.y(), window.top() + APART)), size))

    def _fit_all(self) -> None:
        while self._to_fit:
            title = self._to_fit.popitem()[0]
            fit = self._fit_height if title in self._heights else self._fit_widths
            fit(title)

    def _fit_widths(self, title: str) -> None:
        if title not in self._as_restored:
            self._narrow()
        self._as_restored.discard(title)

    def _narrow(self) -> None:
        """Narrow the docks at both sides, each by the same share of what it can spare, for the sake of the picture.

        They become as wide as they were once there is room again, unless the user has set their width meanwhile.
        """
        window = self._window
        shown = [dock for dock in self._docks.values() if dock.isVisible() and not dock.isFloating()]
        sides = [[dock for dock in shown if window.dockWidgetArea(dock) is area] for area in (LEFT, RIGHT)]
        # What is behind another's tab keeps its width.
        seen = [[dock for dock in side if not dock.visibleRegion().isEmpty()] for side in sides]
        widths = [max((dock.width() for dock in side), default=0) for side in seen]
        least = [max((_least_width(dock) for dock in side), default=0) for side in sides]
        for k, width in enumerate(widths):
            if width and abs(width - self._widths[k]) > 2:
                self._wanted[k] = width
        wanted = [most if width else 0 for width, most in zip(widths, self._wanted, strict=True)]
        middle = window.centralWidget().width() + sum(widths) - sum(wanted)
        least_middle = round(MIDDLE * window.width()) if all(widths) else 0  # one alone has the width that it was given
        lacking, spare = max(0, least_middle - middle), sum(wanted) - sum(least)
        share = min(1.0, lacking / spare) if spare > 0 else 0.0
        for k, side in enumerate(sides):
            size = wanted[k] - round(share * (wanted[k] - least[k]))
            if size != widths[k]:
                window.resizeDocks(side, [size] * len(side), Qt.Orientation.Horizontal)
                self._widths[k] = size

    def _fit_height(self, title: str) -> None:
        window, dock = self._window, self._docks[title]
        if not dock.isVisible() or dock.isFloating() or window.dockWidgetArea(dock) is not BOTTOM:
            return
        others = window.minimumSizeHint().height() - dock.minimumSizeHint().height()
        sides = {window.dockWidgetArea(each) for each in self._docks.values() if each.isVisible()}
        share = LOWER if {LEFT, RIGHT} <= sides else HIGHEST
        most = min(round(share * window.height()), window.height() - others)
        own = self._heights[title]
        height = self._dragged.get(title, own() if callable(own) else own) or most
        if title in self._as_restored:
            height = max(height, dock.height())
        self._as_restored.discard(title)
        bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        tabs = max((bar.height() for bar in bars), default=0) if window.tabifiedDockWidgets(dock) else 0
        if title not in self._grows or min(height + tabs, most) > dock.height() + tabs:
            window.resizeDocks([dock], [min(height + tabs, most)], Qt.Orientation.Vertical)
        self._grows.discard(title)

    def fold(self, on: bool) -> None:
        """Hide the docks at both sides while they have nothing to show, or restore them."""
        if on and self._folded is None:
            area = self._window.dockWidgetArea
            aside = [title for title, dock in self._docks.items() if area(dock) is not BOTTOM]
            self._folded = [each for each in aside if not self._docks[each].isHidden()]
            for title in self._folded:
                self._docks[title].hide()
        elif not on and self._folded is not None:
            back, self._folded = self._folded, None
            # In the order in which they were in front, so that one shown meanwhile stays there.
            shown = [each for each in self._in_front if each in back or not self._docks[each].isHidden()]
            for title in back:
                self._docks[title].show()
            for title in back[:1] + shown:
                self._docks[title].raise_()

    def _share_corner(self) -> None:
        """Let the docks at the bottom extend below those at a side where one would be too narrow beside them."""
        window = self._window
        shown = [dock for title, dock in self._docks.items() if title in self._in_sight and not dock.isFloating()]
        right, left = (
            max((dock.width() for dock in shown if window.dockWidgetArea(dock) is side), default=0)
            for side in (RIGHT, LEFT)
        )
        low = [self._wholes[dock.windowTitle()] for dock in shown if window.dockWidgetArea(dock) is BOTTOM]
        least, room = max(low, default=0), window.width()
        high = any(dock.windowTitle() in self._high for dock in shown)
        beside_right = (min(least, BESIDE) if high else least) <= room - right
        beside_left = max(least, BESIDE) <= room - left - (right if beside_right else 0)
        for corner, area in (
            (Qt.Corner.BottomRightCorner, RIGHT if beside_right else BOTTOM),
            (Qt.Corner.BottomLeftCorner, LEFT if beside_left else BOTTOM),
        ):
            if window.corner(corner) is not area:
                window.setCorner(corner, area)

    def set_column_width(self, title: str, width: int) -> None:
        """Set the width, px, of all docks at a dock's side of the window, also while that one is closed."""
        window, side = self._window, self._window.dockWidgetArea(self._docks[title])
        docks = [each for each in self._docks.values() if window.dockWidgetArea(each) is side]
        shown = [each for each in docks if each.isVisible() and not each.isFloating()]
        window.resizeDocks(shown, [width] * len(shown), Qt.Orientation.Horizontal)

    def share(self, orientation: Qt.Orientation, sizes: dict[str, int]) -> None:
        """Set the sizes of docks, px, along one direction."""
        self._window.resizeDocks([self._docks[title] for title in sizes], list(sizes.values()), orientation)


def _least_width(dock: QDockWidget) -> int:
    return max(dock.minimumWidth(), dock.minimumSizeHint().width())


def _sizes_in(text: str) -> dict[str, int]:
    """Return sizes by name from `Docks.dragged`; none where it is no such text."""
    try:
        sizes = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {k: v for k, v in sizes.items() if type(v) is int and 0 < v < TALLEST} if isinstance(sizes, dict) else {}
