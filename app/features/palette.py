"""Help › Command palette: find any action of the window by typing part of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PyQt6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PyQt6.QtGui import QAction, QIcon, QKeyEvent, QPixmap
from PyQt6.QtWidgets import QDialog, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem

from app.desktop import theme
from app.desktop.actions import MESSAGE, is_offered, make_action, reason_of
from app.desktop.layouts import vertical
from app.features.shortcuts_sheet import keys_of, of_menus
from app.features.window_type import Window

WIDTH, HEIGHT, ABOVE, ICON = 560, 380, 90, 16  # px
ALSO = {
    "Picture (.png)": "screenshot image",
    "Video of the run (.mp4)": "record movie film",
    "Fit": "reset camera zoom",
    "Dark": "mode",
    "Light": "mode",
    "Joints": "slider drive stiffness gains",
    "Timing": "fps frame rate performance",
    "Forces": "torque wrench",
    "Scene": "friction restitution bounce mass color",
    "Self-collision": "collide",
    "Pose a link": "ik inverse kinematics",
}
"""Words of other programs for commands, by their names without menus."""
NOTHING = "No command has these words"
LAST = 5
"""The number of recent commands, listed first while no text is entered."""


class Command(NamedTuple):
    """An action; its name includes the menus that lead to it."""

    name: str
    action: QAction
    more: str = ""
    """Other words by which it is found: its tooltip's, and those of other programs."""


class Palette(QDialog):
    """A search field above the commands that match all its words, the best match first.

    It keeps names only, and calls `find` for the actions: menus that are filled again delete theirs.
    """

    def __init__(self, window: Window, find: Callable[[], list[Command]], last: Sequence[str]):
        super().__init__(window, Qt.WindowType.Popup)
        self._window, self._find, self._last = window, find, list(last)
        self.line, self.list = QLineEdit(placeholderText="Type a command"), QTreeWidget()
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.list.setIconSize(QSize(ICON, ICON))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        vertical(self.line, self.list, of=self, margins=(8, 8, 8, 8))
        self.line.textChanged.connect(self._fill)
        self.line.returnPressed.connect(self._run)
        self.list.itemClicked.connect(self._run)
        self.line.installEventFilter(self)
        self._fill("")
        self.resize(min(WIDTH, window.width() - 40), min(HEIGHT, window.height() - ABOVE - 20))
        self.move(window.mapToGlobal(QPoint((window.width() - self.width()) // 2, ABOVE)))

    def _fill(self, text: str) -> None:
        self.list.clear()
        blank = QPixmap(ICON, ICON)
        blank.fill(Qt.GlobalColor.transparent)
        for command in rank_commands(self._find(), text, self._last):
            action = command.action
            on = "  ✓" if action.isCheckable() and action.isChecked() else ""
            reason = reason_of(action)
            item = QTreeWidgetItem(self.list, [command.name + on, reason.split(";")[0] or keys_of(action)])
            item.setIcon(0, QIcon(blank) if action.icon().isNull() else action.icon())
            item.setToolTip(0, reason or action.toolTip())
            item.setData(0, Qt.ItemDataRole.UserRole, command.name)
            item.setForeground(1, theme.color("faint"))
            item.setDisabled(not is_offered(action))
        if not self.list.topLevelItemCount():
            QTreeWidgetItem(self.list, [NOTHING]).setDisabled(True)
        self.list.setCurrentItem(None)
        self._step(1)

    def _step(self, by: int) -> None:
        """Select the next enabled command."""
        row = self.list.indexOfTopLevelItem(self.list.currentItem())
        rows = [k for k in range(self.list.topLevelItemCount()) if not self.list.topLevelItem(k).isDisabled()]
        after = [k for k in rows if (k > row if by > 0 else k < row)]
        if after:
            self.list.setCurrentItem(self.list.topLevelItem(after[0] if by > 0 else after[-1]))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys move in the list while typing."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            by = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if by is not None:
                self._step(by)
                return True
        return super().eventFilter(watched, event)

    def _run(self) -> None:
        item = self.list.currentItem() or self.list.topLevelItem(0)
        name = None if item is None else item.data(0, Qt.ItemDataRole.UserRole)
        command = next((each for each in self._find() if each.name == name), None)
        if command is None:
            self._fill(self.line.text())
        elif is_offered(command.action):
            self.close()
            self._last[:] = [command.name, *(name for name in self._last if name != command.name)][:LAST]
            command.action.trigger()
        elif reason := reason_of(command.action):
            own = command.name.rpartition("› ")[2].partition("\t")[0]
            self._window.statusBar().showMessage(f"{own}: {reason}", MESSAGE)

    @property
    def last(self) -> list[str]:
        """The names of the commands used last."""
        return self._last


class PaletteView:
    """Adds the menu entry, and makes a new palette for each request."""

    def __init__(self, window: Window):
        self._window = window
        tip = "Find any command by its name"
        self.action = make_action(window, "&Command palette…", self.show, "Ctrl+Shift+P", tip=tip)
        window.menus.help.put(self.action)
        self.palette: Palette | None = None

    def show(self) -> None:
        """Open the palette, and focus its search field."""
        last = [] if self.palette is None else self.palette.last
        self.palette = Palette(self._window, self._find, last)
        self.palette.show()
        self.palette.line.setFocus()

    def _find(self) -> list[Command]:
        return [
            Command(
                f"{menu} › {name}", action, f"{action.toolTip()} {ALSO.get(name.rpartition('› ')[2], '')}".casefold()
            )
            for menu, name, action in of_menus(self._window)
            if action is not self.action
        ]


def rank_commands(commands: Sequence[Command], text: str, last: Sequence[str]) -> list[Command]:
    """Return commands with all words of a text: enabled ones first, then those of just this name, then those whose
    name begins with it, then those with words that begin with its words, then in menu order.

    If there are none, return those with these words in name, tooltip or `ALSO`, else those whose own name contains
    the letters in that order.
    """
    words = text.casefold().split()
    found = [each for each in commands if all(word in each.name.casefold() for word in words)]
    found = found or [each for each in commands if all(word in f"{each.name.casefold()} {each.more}" for word in words)]
    found = found or [each for each in commands if _in_order("".join(words), _own(each))]
    if not words:
        return sorted(found, key=lambda each: last.index(each.name) if each.name in last else len(last))

    sought = " ".join(words)

    def rank(command: Command) -> tuple[bool, bool, bool, int, bool]:
        name = _own(command)
        exact = name == sought or f"› {command.name.casefold()}".endswith(f"› {sought}")
        begins = sum(any(part.startswith(word) for part in name.split()) for word in words)
        return (
            not is_offered(command.action),
            not exact,
            not name.startswith(sought),
            -begins,
            not name.startswith(words[0]),
        )

    return sorted(found, key=rank)


def _own(command: Command) -> str:
    """Return a command's name without the menus, in lower case."""
    return command.name.casefold().rpartition("› ")[2]


def _in_order(letters: str, name: str) -> bool:
    rest = iter(name)
    return all(letter in rest for letter in letters)
