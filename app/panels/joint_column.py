"""The joint table, with a search above many rows; below it facts about the selected link or the robot.

Those of the robot are shown if space permits, or if they are opened.
"""

from __future__ import annotations

from PyQt6.QtCore import QRect, Qt, QTimer
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QFrame, QLineEdit, QSizePolicy, QToolButton, QWidget

from app.desktop.layouts import NO_MARGINS, vertical
from app.panels.joint_table import SLIDER
from app.panels.joints import JointPanel
from app.panels.robot import Inspector

STRETCH = 100  # stretch of the joints relative to the facts, up to their full height
UNBOUNDED = 16_777_215  # px, Qt's QWIDGETSIZE_MAX
MIN_HEIGHT = 150  # px, the least height of the facts; with less they are hidden
AROUND = 12  # px around a text in place of rows
MANY = 20  # rows; above more of them is a search
NOTHING = "No joint has these words in its name"
MAX_SHARE = 0.45  # largest share of the height for the facts of a selected link, if rows leave no space


class JointColumn(QWidget):
    """Divides its height between the table and the facts."""

    def __init__(self, joints: JointPanel):
        super().__init__()
        self._joints, self.facts, self._requested = joints, Inspector(), False
        self.facts.setProperty("padded", True)
        self.search = QLineEdit(placeholderText="Filter joints", clearButtonEnabled=True)
        self.search.textChanged.connect(self._filter)
        self.search.returnPressed.connect(self._enter)
        self._above = QWidget(visible=False)
        vertical(self.search, of=self._above, margins=(6, 6, 6, 6))
        self.opening = QToolButton(text="Model and state", checkable=True, autoRaise=True)
        self.opening.setToolTip("Energy, centre of mass, highest load and contact of the robot, below its joints")
        self.opening.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.opening.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.opening.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.opening.toggled.connect(self._share)
        self._line = QFrame()
        self._line.setFixedHeight(1)
        self._line.setProperty("rule", True)
        rows = self._above, (joints, STRETCH), self._line, self.opening, (self.facts, 1)
        vertical(*rows, of=self, margins=NO_MARGINS, spacing=0)
        self._later = QTimer(self, singleShot=True)  # opening a row or a robot changes many heights
        self._later.timeout.connect(self._share)
        joints.verticalHeader().sectionResized.connect(lambda *_: self._later.start(0))
        joints.table.modelReset.connect(self._show_rows)
        self._share()

    def mark(self, rows: frozenset[int]) -> None:
        """Mark rows and scroll to them; a search that hides one is cleared."""
        if any(map(self._joints.isRowHidden, rows)):
            self.search.clear()
        self._joints.mark(rows)

    def _show_rows(self) -> None:
        """Search among the rows of another robot, unless none is found there, or there are few."""
        many = len(self._joints.table.rows) > MANY
        self._above.setVisible(many)
        if not many or not self._filter(self.search.text()):
            self.search.clear()
        self._later.start(0)

    def _filter(self, text: str) -> bool:
        """Show only rows whose name contains all words of a text; return whether there are any."""
        table, rows, any_shown, words = self._joints, self._joints.table.rows, False, text.casefold().split()
        before = [*map(table.isRowHidden, range(len(rows)))]
        for k, row in enumerate(rows):
            hidden = not all(word in row.label.casefold() for word in words)
            any_shown |= not hidden
            if hidden and table.rowHeight(k) > table.verticalHeader().defaultSectionSize():
                table.close_row()
            if hidden != before[k]:
                table.setRowHidden(k, hidden)
        if before != [*map(table.isRowHidden, range(len(rows)))]:
            table.show_units()
        table.nothing = "" if any_shown else NOTHING if rows else table.nothing
        self._later.start(0)
        table.viewport().update()
        return any_shown

    def _enter(self) -> None:
        """Leave the search for the first slider that was found."""
        rows = range(len(self._joints.table.rows))
        if (row := next((k for k in rows if not self._joints.isRowHidden(k)), None)) is not None:
            self._joints.setCurrentIndex(self._joints.table.index(row, SLIDER))
            self._joints.setFocus()

    def ask(self, requested: bool) -> None:
        """Show the facts whatever the joints need, or only if space permits."""
        if requested is not self._requested:
            self._requested = requested
            self._share()

    def _share(self) -> None:
        table = self._joints
        needed = table.horizontalHeader().height() + table.verticalHeader().length() + 2 * table.frameWidth()
        if table.nothing:  # which is said in place of rows
            area, wraps = QRect(0, 0, table.viewport().width() - 2 * AROUND, 0), Qt.TextFlag.TextWordWrap
            needed += table.fontMetrics().boundingRect(area, wraps, table.nothing).height() + 2 * AROUND
        above = 0 if self._above.isHidden() else self._above.sizeHint().height()
        room = self.height() - above - needed >= MIN_HEIGHT
        shown = room or self._requested or self.opening.isChecked()
        self.opening.setVisible(not (room or self._requested))
        self.opening.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        for each in (self._line, self.facts):
            each.setVisible(shown)
        table.setMaximumHeight(needed if room else round((1 - MAX_SHARE) * self.height()) if shown else UNBOUNDED)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share()
