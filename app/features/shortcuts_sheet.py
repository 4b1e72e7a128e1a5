"""Help › Keyboard shortcuts: a sheet built from the actions each time it is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from PyQt6.QtCore import QSize, Qt
from PyQt6.QtGui import QAction, QKeySequence
from PyQt6.QtWidgets import QDialog, QLabel, QLineEdit, QMainWindow, QMenu, QTreeWidget, QTreeWidgetItem, QVBoxLayout

from app.desktop import theme, type_scale
from app.desktop.actions import make_action
from app.features.window_type import Window

OTHER, NOTHING = "Other", "No action with keys has these words; the command palette (Ctrl+Shift+P) has all actions"
SIZE, MAX_SHARE = (560, 640), 0.9  # px, and the maximum share of the window
MOUSE = (
    "Shortcuts work whatever has the focus, except while text is edited; Return presses, Up and Down change the "
    "focused control; Left and Right move the joint's slider that has the focus by 1° or 1 mm, Page Up and Page Down "
    "by ten times as much, Home and End to its ends. Drag rotates the view, Shift-drag or the middle button pans, "
    "the wheel zooms; a click selects a link, and Escape none; the menu key or Shift+F10 opens its menu. "
    "A drag with the right button, or with Ctrl, pulls a link while the simulation runs, and poses it while paused, "
    "as do the arrows and rings at the selected link. "
    "A click on a joint's name opens its drive, a Ctrl-click or Shift-click has the form edit several joints. "
    "In a plot Ctrl-drag goes to a time of the recording, Shift-drag zooms into a region, a double click follows again."
)


class Shortcut(NamedTuple):
    """A row of the sheet: the action's menu, name, tooltip and keys."""

    menu: str
    name: str
    tip: str
    keys: str


class ShortcutsSheet:
    """Adds the menu entry, and makes the sheet."""

    def __init__(self, window: Window):
        self._window = window
        tip = "All keyboard shortcuts"
        self.action = make_action(window, "&Keyboard shortcuts", self.show, "F1", tip=tip)
        window.menus.help.put(self.action)
        self.dialog: QDialog | None = None

    def show(self) -> None:
        """Open the sheet, replacing an open one."""
        if self.dialog is not None:
            self.dialog.close()
        dialog = self.dialog = QDialog(self._window)
        dialog.setWindowTitle("Keyboard shortcuts")
        dialog.resize(QSize(*SIZE).boundedTo(self._window.size() * MAX_SHARE))
        search, tree, mouse = QLineEdit(), QTreeWidget(), QLabel(MOUSE, wordWrap=True)
        search.setPlaceholderText("Search")
        search.setClearButtonEnabled(True)
        tree.setHeaderLabels(["action", "keys"])
        tree.setUniformRowHeights(True)
        tree.setRootIsDecorated(False)
        tree.setSelectionMode(QTreeWidget.SelectionMode.NoSelection)
        tree.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        theme.tint(mouse, "faint")
        layout = QVBoxLayout(dialog)
        for widget in (search, tree, mouse):
            layout.addWidget(widget)
        entries = list(shortcuts(self._window))

        def fill(text: str) -> None:
            tree.clear()
            words = text.casefold().split()
            for menu in dict.fromkeys(each.menu for each in entries):
                rows = [each for each in entries if each.menu == menu]
                rows = [each for each in rows if all(word in " ".join(each).casefold() for word in words)]
                if rows:
                    _add(tree, menu, rows)
            if not tree.topLevelItemCount():
                QTreeWidgetItem(tree, [NOTHING]).setDisabled(True)
                tree.topLevelItem(0).setFirstColumnSpanned(True)
            tree.expandAll()
            tree.resizeColumnToContents(0)

        search.textChanged.connect(fill)
        fill("")
        dialog.show()


def _add(tree: QTreeWidget, menu: str, rows: list[Shortcut]) -> None:
    head = QTreeWidgetItem(tree, [menu])
    head.setFont(0, type_scale.font(bold=True))
    for row in rows:
        item = QTreeWidgetItem(head, [row.name, row.keys])
        item.setToolTip(0, row.tip)


def shortcuts(window: QMainWindow) -> Iterator[Shortcut]:
    """Yield all actions of a window that have keys, in menu order; actions without a menu are last."""
    seen: set[QAction] = set()
    for menu, name, action in of_menus(window, QAction.iconText):
        if action.shortcuts() and action not in seen:
            seen.add(action)
            yield Shortcut(menu, name, action.toolTip(), keys_of(action))
    for action in window.findChildren(QAction):
        if action.shortcuts() and action not in seen:
            seen.add(action)
            yield Shortcut(OTHER, _plain(action.text()), action.toolTip(), keys_of(action))


def of_menus(window: QMainWindow, text: Callable[[QAction], str] = QAction.text) -> Iterator[tuple[str, str, QAction]]:
    """Yield all actions in a window's menus, each with its top menu and its name with any submenus.

    By `QAction.iconText` a name is constant: Undo, without what it would undo.
    """
    for top in window.menuBar().actions():
        if top.menu() is not None:
            for within, action in _in_menu(top.menu()):
                yield _plain(top.text()), within + _plain(text(action)), action


def keys_of(action: QAction) -> str:
    """Return an action's shortcuts in the system's notation."""
    return " or ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts())


def _in_menu(menu: QMenu, within: str = "") -> Iterator[tuple[str, QAction]]:
    """Yield the actions of a menu and its submenus, with the names of the submenus."""
    menu.aboutToShow.emit()  # some are filled only then
    for action in menu.actions():
        if action.menu() is not None:
            yield from _in_menu(action.menu(), f"{within}{_plain(action.text())} › ")
        elif not action.isSeparator():
            yield within, action


def _plain(text: str) -> str:
    """Return a menu's text without mnemonics and ellipsis."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")
