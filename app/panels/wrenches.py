"""The panel for external wrenches: a force and a moment on a link, in numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from PyQt6.QtCore import QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QLabel, QPushButton, QWidget

from app.acting.forces import SetWrench
from app.desktop import theme
from app.desktop.layouts import horizontal, vertical
from app.panels.number_box import PlainBox

MAX_WRENCH = 1e6  # N and N m
NARROW = 52  # px, the least width of a number's box
AXES = ("world", "link")
FORCE_TIP = "Force on the link along {}, N, at its frame's origin"
MOMENT_TIP = "Moment on the link about {}, N m"
AXES_TIP = "World: the wrench keeps its direction. Link: it rotates with the link"
ACT_TIP = "Apply this wrench to the link; changes take effect at once. Reset removes all but those for a limited time"
LIMITED_TIP = (
    "Apply it for a limited time only, as a push that can be repeated: it stays at a reset, for the next run. "
    "One whose time is over when it is applied acts at once"
)
BEGIN_TIP, LENGTH_TIP = "Start of the push: the simulated time, s", "Duration of the push, s"
MAX_TIME = 1e6  # s

NONE_APPLIED = "No wrench is applied."
NONE_MOVES = "No link can move. A root link that its file fixes to the world is freed by Simulation › Floating base."


class WrenchPanel(QWidget):
    """The wrenches on the links; one link's is shown and edited."""

    set = pyqtSignal(int, object, bool, float, float)
    """The fields of the `SetWrench` that is to be applied."""
    unset = pyqtSignal(int)
    """The link whose wrench is removed."""
    cleared = pyqtSignal()
    """All wrenches are removed."""
    link_chosen = pyqtSignal(int)
    """The link that the user selected."""

    def __init__(self) -> None:
        super().__init__()
        self.link, self.axes = QComboBox(), QComboBox()
        self.axes.addItems(AXES)
        self.force = [PlainBox(-MAX_WRENCH, MAX_WRENCH, 3, FORCE_TIP.format(axis), NARROW) for axis in "xyz"]
        self.moment = [PlainBox(-MAX_WRENCH, MAX_WRENCH, 3, MOMENT_TIP.format(axis), NARROW) for axis in "xyz"]
        self.limited = QCheckBox("Time, s")
        self.begin = PlainBox(0.0, MAX_TIME, 3, BEGIN_TIP, NARROW)
        self.length = PlainBox(1e-3, MAX_TIME, 3, LENGTH_TIP, NARROW)
        self.length.setValue(0.2)
        self.limited.setToolTip(LIMITED_TIP)
        self.act, self.clear = QCheckBox("Apply"), QPushButton("Clear all")
        self.acting = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.acting.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.link.setToolTip("The link; a click on one in the view selects it")
        self.axes.setToolTip(AXES_TIP)
        self.act.setToolTip(ACT_TIP)
        self.clear.setToolTip("Remove all wrenches")
        self._arrange()
        self._wrenches: Mapping[int, SetWrench] = {}
        self.link.activated.connect(self._turn)
        self.axes.activated.connect(self._change)
        for box in (*self.force, *self.moment, self.begin, self.length):
            box.valueChanged.connect(self._change)
        self.limited.toggled.connect(self._show_limited)
        self.limited.clicked.connect(self._change)
        self._show_limited(False)
        self.act.clicked.connect(self._toggle)
        self.clear.clicked.connect(self.cleared)
        self.set_links((), ())
        self.acting.clear()

    def _arrange(self) -> None:
        rows = QGridLayout()
        rows.setHorizontalSpacing(6)
        rows.setVerticalSpacing(5)
        rows.addWidget(QLabel("Link"), 0, 0)
        rows.addWidget(self.link, 0, 1, 1, 3)
        rows.addWidget(QLabel("Frame"), 1, 0)
        rows.addWidget(self.axes, 1, 1, 1, 3)
        for column, axis in enumerate("xyz", 1):
            title = QLabel(axis)
            title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            theme.tint(title, "faint")
            rows.addWidget(title, 2, column)
            rows.setColumnStretch(column, 1)
        for row, (name, boxes) in enumerate((("Force, N", self.force), ("Moment, N m", self.moment)), 3):
            rows.addWidget(QLabel(name), row, 0)
            for column, box in enumerate(boxes, 1):
                rows.addWidget(box, row, column)
        rows.addWidget(self.limited, 5, 0)
        self._from, self._for = QLabel("from"), QLabel("for")
        rows.addLayout(horizontal(self._from, (self.begin, 1), self._for, (self.length, 1), spacing=6), 5, 1, 1, 3)
        buttons = horizontal(self.act, 1, self.clear)
        vertical(rows, buttons, self.acting, 1, of=self, margins=(12, 10, 12, 10), spacing=8)

    def _show_limited(self, on: bool) -> None:
        for each in (self._from, self.begin, self._for, self.length):
            each.setEnabled(on)

    def set_links(self, links: Sequence[int], names: Sequence[str], chosen: int = -1) -> None:
        """Set another robot's movable links, their numbers and names, and the chosen one's number.

        With zeros, and without a time, unless they are the same as before.
        """
        same = tuple(names) == tuple(self.link.itemText(place) for place in range(self.link.count()))
        with QSignalBlocker(self.link):
            self.link.clear()
            for link, name in zip(links, names, strict=True):
                self.link.addItem(name, link)
            self.link.setCurrentIndex(self.link.findData(chosen))
        self.setEnabled(bool(links))
        self.show_wrenches({})
        if not same:
            self.limited.setChecked(False)
            self.begin.put(0.0)
            self._load_link()

    def show_wrenches(self, wrenches: Mapping[int, SetWrench]) -> None:
        """Show the applied wrenches, by link."""
        self._wrenches = wrenches
        self.clear.setEnabled(bool(wrenches))
        lines = [f"{self._name(link)}: {_reported(each)}" for link, each in sorted(wrenches.items())]
        self.acting.setText("\n".join(lines) or (NONE_APPLIED if self.link.count() else NONE_MOVES))
        self._load()

    def choose(self, link: int) -> None:
        """Select a link, if it can move."""
        place = self.link.findData(link)
        if place >= 0 and place != self.link.currentIndex():
            self.link.setCurrentIndex(place)
            self._load_link()

    def _name(self, link: int) -> str:
        return self.link.itemText(self.link.findData(link))

    def _load(self) -> None:
        """Show the link's wrench; if there is none, keep the numbers for reuse."""
        each = self._wrenches.get(self.link.currentData())
        self.act.setChecked(each is not None)
        if each is not None:
            boxes = (*self.moment, *self.force)
            for box, value in zip(boxes, each.wrench, strict=True):
                box.put(float(value))
            self.axes.setCurrentIndex(0 if each.world else 1)
            self.limited.setChecked(each.ends)
            if each.ends:
                self.begin.put(each.begin)
                self.length.put(each.end - each.begin)

    def _load_link(self) -> None:
        """Show another link's wrench, or zeros."""
        for box in (*self.force, *self.moment):
            box.put(0.0)
        self._load()

    def _turn(self) -> None:
        self._load_link()
        self.link_chosen.emit(self.link.currentData())

    def _change(self) -> None:
        if self.act.isChecked():
            self._emit()

    def _toggle(self, on: bool) -> None:
        if on:
            self._emit()
        else:
            self.unset.emit(self.link.currentData())

    def _emit(self) -> None:
        wrench = np.array([box.value() for box in (*self.moment, *self.force)])
        begin, end = 0.0, math.inf
        if self.limited.isChecked():
            begin = self.begin.value()
            end = begin + self.length.value()
        self.set.emit(self.link.currentData(), wrench, self.axes.currentIndex() == 0, begin, end)


def _reported(each: SetWrench) -> str:
    """Describe a wrench; a zero force or moment is left out."""
    moment, force = each.wrench[:3], each.wrench[3:]
    parts = [
        f"({', '.join(f'{value:g}' for value in half)}) {unit}"
        for half, unit in ((force, "N"), (moment, "N m"))
        if any(half)
    ]
    when = f", from {each.begin:.6g} to {each.end:.6g} s" if each.ends else ""
    return f"{' and '.join(parts) or 'zero'}, {AXES[0] if each.world else AXES[1]}{when}"
