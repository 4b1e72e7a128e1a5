"""Help › Command palette: find any action of the window by typing part of its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from PyQt6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PyQt6.QtGui import QAction, QIcon, QKeyEvent, QPixmap
from PyQt6.QtWidgets import QDialog, QDockWidget, QHeaderView, QLabel, QLineEdit, QTreeWidget, QTreeWidgetItem

from app.desktop import theme
from app.desktop.actions import MESSAGE, is_offered, make_action, reason_of
from app.desktop.layouts import vertical
from app.features.shortcuts_sheet import keys_of, of_menus
from app.features.window_type import Window

WIDTH, HEIGHT, ABOVE, ICON = 560, 380, 90, 16  # px
ALSO = {
    "Picture (.png)": "screenshot image snapshot",
    "Video of the run (.mp4)": "record movie film",
    "Run as table (.csv)": "data log",
    "Run as trajectory (.npz)": "data log save",
    "Fit": "reset camera zoom",
    "Dark": "mode",
    "Light": "mode",
    "Quit": "exit close",
    "Open": "load import urdf xacro model",
    "Connect to script": "live link attach engine.show python",
    "Preferences": "settings options font zoom scale projector",
    "Keyboard shortcuts": "hotkeys keybindings",
    "Log": "console terminal messages",
    "User guide": "manual help documentation",
    "Reset": "restart",
    "Step": "single advance",
    "Go to start": "rewind",
    "Joints": "slider drive stiffness gains pd setpoint target actuator motor control damping",
    "Hold": "pd position control",
    "Ghost": "precision float32 float64 single double",
    "Timing": "fps frame rate performance profile",
    "Compare": "benchmark profile",
    "Diagnostics": "errors warnings problems",
    "Batch": "parallel environments envs vectorized domain randomization",
    "Robot": "tree hierarchy inertia mass properties",
    "Forces": "torque wrench perturbation",
    "Pull a link": "perturbation mouse drag",
    "Plots": "graph chart curve scope",
    "Scene": "mass color environment",
    "Ground": "floor plane",
    "Height field": "hfield heightmap terrain",
    "Free body: cube": "box cuboid",
    "Free body: ball": "sphere",
    "Remove object": "delete",
    "Obstacle: box": "cube cuboid",
    "Obstacle: ball": "sphere",
    "Floating base": "fixed free joint weld unfix",
    "Friction and restitution": "bounce rebound coefficient mu",
    "Self-collision": "collide",
    "Pose a link": "ik inverse kinematics",
    "Collision shapes": "geoms geometry hulls",
    "Contacts": "grf reaction normal friction forces",
    "Link frames": "axes coordinates tf",
    "Centres of mass": "com cog gravity",
    "Transparent": "xray opacity alpha",
    "Trails": "trace path trajectory",
    "Other": "timestep dt custom",
    "Automatic": "timestep dt solver",
    "ABA": "featherstone forward dynamics solver",
    "CRBA": "mass matrix inertia forward dynamics solver",
    "semi-implicit": "explicit symplectic euler integrator",
    "implicit": "backward euler implicitfast integrator",
    "rk4": "runge kutta rk explicit integrator",
}
"""Words of other programs for commands, by their names without menus."""
REASON_AFTER = "\t"  # in a menu
NOTHING = "No command has these words"
MEANT = 0.4
"""The least share of a disabled command's name that a text has to be for the command to stand before enabled ones."""
SIMILAR = 0.75
"""The least similarity of a word with a typing error, as `difflib` measures it."""
LAST = 5
"""The number of recent commands, listed first while no text is entered."""


class Command(NamedTuple):
    """An action; its name includes the menus that lead to it."""

    name: str
    action: QAction
    also: str = ""
    """Its name on the command line, such as a lesson's, and the words of other programs for it."""
    tip: str = ""

    @property
    def words(self) -> str:
        return f"{self.name} {self.also}".casefold()


class Palette(QDialog):
    """A search field above the commands that match all its words, the best match first.

    It keeps names only, and calls `find` for the actions: menus that are filled again delete theirs.
    """

    def __init__(self, window: Window, find: Callable[[], list[Command]], last: Sequence[str]):
        super().__init__(window, Qt.WindowType.Popup)
        self._window, self._find, self._last = window, find, list(last)
        self.line, self.list = QLineEdit(placeholderText="Type a command"), QTreeWidget()
        self.why = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.why.hide()
        theme.tint(self.why, "warning")
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Fixed)
        self.list.setIconSize(QSize(ICON, ICON))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        vertical(self.line, self.why, self.list, of=self, margins=(8, 8, 8, 8))
        self.line.textChanged.connect(self.why.hide)
        self.line.textChanged.connect(self._fill)
        self.line.returnPressed.connect(self._run)
        self.list.itemClicked.connect(self._run)
        for each in (self.line, self.list.viewport()):
            each.installEventFilter(self)
        self._most = min(HEIGHT, window.height() - ABOVE - 20) - self.line.sizeHint().height() - 3 * 8
        self.resize(min(WIDTH, window.width() - 40), 0)
        self._fill("")
        self.move(window.mapToGlobal(QPoint((window.width() - self.width()) // 2, ABOVE)))

    def _fill(self, text: str) -> None:
        self.list.clear()
        blank = QPixmap(ICON, ICON)
        blank.fill(Qt.GlobalColor.transparent)
        for command in rank_commands(self._find(), text, self._last):
            action = command.action
            on = "  ✓" if action.isCheckable() and action.isChecked() else ""
            reason = reason_of(action)
            item = QTreeWidgetItem(self.list, [command.name + on, re.split("[:;]", reason)[0] or keys_of(action)])
            item.setFirstColumnSpanned(not item.text(1))  # a long name has the room of the keys
            item.setIcon(0, QIcon(blank) if action.icon().isNull() else action.icon())
            for column in range(2):
                item.setToolTip(column, reason or action.toolTip())
            item.setData(0, Qt.ItemDataRole.UserRole, command.name)
            item.setForeground(1, theme.color("faint"))
            item.setDisabled(not is_offered(action))
        if not self.list.topLevelItemCount():
            QTreeWidgetItem(self.list, [NOTHING]).setDisabled(True)
        self.list.setCurrentItem(None)
        rows = self.list.topLevelItemCount() * self.list.sizeHintForRow(0) + 2 * self.list.frameWidth()
        self.list.setFixedHeight(min(rows, self._most))
        self.setFixedHeight(self.layout().totalMinimumSize().height())
        self._share_room()
        if not self.list.topLevelItem(0).isDisabled():  # else Return says why
            self._step(1)

    def fill_again(self) -> None:
        """List what is offered now; the selected command stays selected."""
        selected = self.list.currentItem()
        name = None if selected is None else selected.data(0, Qt.ItemDataRole.UserRole)
        self._fill(self.line.text())
        for item in map(self.list.topLevelItem, range(self.list.topLevelItemCount())):
            if name is not None and item.data(0, Qt.ItemDataRole.UserRole) == name:
                self.list.setCurrentItem(item)

    def _share_room(self) -> None:
        """Give keys and reasons the room that names leave, and a third of it at least."""
        model, rows = self.list.model(), range(self.list.topLevelItemCount())
        widths = [[self.list.sizeHintForIndex(model.index(row, column)).width() for column in range(2)] for row in rows]
        beside = [width for row, width in zip(rows, widths, strict=True) if self.list.topLevelItem(row).text(1)]
        names, others = (max((width[column] for width in beside), default=0) for column in range(2))
        room = self.list.viewport().width()
        self.list.header().resizeSection(1, min(others, max(room - names, room // 3)))

    def _step(self, by: int) -> None:
        """Select the next enabled command."""
        row = self.list.indexOfTopLevelItem(self.list.currentItem())
        rows = [k for k in range(self.list.topLevelItemCount()) if not self.list.topLevelItem(k).isDisabled()]
        after = [k for k in rows if (k > row if by > 0 else k < row)]
        if after:
            self.list.setCurrentItem(self.list.topLevelItem(after[0] if by > 0 else after[-1]))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys move in the list while typing; share its width again when that changes."""
        if event.type() == QEvent.Type.Resize:
            self._share_room()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.keyCombination() == self._window.feature(PaletteView).action.shortcut()[0]:
                self.line.selectAll()
                return True
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
            dock, words = command.action.parent(), _words(self.line.text())
            if isinstance(dock, QDockWidget) and not all(word in command.name.casefold() for word in words):
                self._window.docks.show_in_front(dock.windowTitle())  # what was sought is in it
            else:
                command.action.trigger()
        elif reason := reason_of(command.action):
            said = f"{_last(command.name)}: {' '.join(reason.split())}"
            self._window.statusBar().showMessage(said, MESSAGE)
            self.why.setText(said)
            self.why.setFixedHeight(self.why.heightForWidth(self.line.width()))
            self.why.show()
            self.setFixedHeight(self.layout().totalMinimumSize().height())
            self.line.selectAll()  # for other words

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
        window.refreshed.connect(self._refresh)

    def show(self) -> None:
        """Open the palette, and focus its search field."""
        last = [] if self.palette is None else self.palette.last
        self.palette = Palette(self._window, self._find, last)
        self.palette.show()
        self.palette.line.setFocus()

    def _refresh(self) -> None:
        if self.palette is not None and self.palette.isVisible():
            self.palette.fill_again()

    def _find(self) -> list[Command]:
        return [
            Command(f"{menu} › {name.partition(REASON_AFTER)[0]}", action, _also(name, action), action.toolTip())
            for menu, name, action in of_menus(self._window)
            if action is not self.action and reason_of(action) != _last(name)  # as where a menu is empty
        ]


def _also(name: str, action: QAction) -> str:
    typed = action.data()
    return f"{ALSO.get(_last(name), '')} {typed if isinstance(typed, str) else ''}".strip()


def rank_commands(commands: Sequence[Command], text: str, last: Sequence[str]) -> list[Command]:
    """Return commands with all words of a text: enabled ones and those that it names first, then those of just this
    name, then those whose name begins with it, the shortest first, then those with words, also those of `ALSO`, that
    begin with its words, then those that show its words, then in menu order.

    A text names a command if it is its name, or begins it and is `MEANT` of it. If no command has all words, return
    those with these words in the tooltip, too, else those with words similar to these, else those whose own name
    contains the letters in that order.
    """
    words = _words(text)
    found = [each for each in commands if all(word in each.words for word in words)]
    found = found or [each for each in commands if all(word in f"{each.words} {each.tip.casefold()}" for word in words)]
    if not found:
        known = {word for each in commands for word in _words(each.words)}
        meant = [get_close_matches(word, known, cutoff=SIMILAR) for word in words]
        found = [each for each in commands if all(any(word in each.words for word in near) for near in meant)]
        words = [near[0] for near in meant] if found else words
    found = found or [each for each in commands if _in_order("".join(words), _own(each))]
    if not words:
        return sorted(found, key=lambda each: last.index(each.name) if each.name in last else len(last))

    query = " ".join(words)

    def rank(command: Command) -> tuple[bool, bool, bool, int, int, int, bool]:
        name = _own(command)
        menus = command.name.split("›")
        exact = any(words == _words("›".join(menus[k:])) for k in range(len(menus)))
        whole = name.startswith(query)
        named = exact or (whole and len(query) >= MEANT * len(name))
        begins = sum(any(part.startswith(word) for part in f"{name} {command.also}".split()) for word in words)
        return (
            not (named or is_offered(command.action)),
            not exact,
            not whole,
            len(name) if whole else 0,
            -begins,
            -sum(word in name for word in words),
            not name.startswith(words[0]),
        )

    return sorted(found, key=rank)


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, without what sets menus apart and the dots of a menu's entry."""
    return re.sub(r"[>›…]|\.\.\.", " ", text.casefold()).split()


def _own(command: Command) -> str:
    """Return a command's name without the menus, in lower case."""
    return _last(command.name).casefold()


def _last(name: str) -> str:
    """Return a name without the menus that lead to it, and without a reason beside it."""
    return name.rpartition("› ")[2].partition(REASON_AFTER)[0]


def _in_order(letters: str, name: str) -> bool:
    rest = iter(name)
    return all(letter in rest for letter in letters)
