"""The joint table, and below it facts about the robot, if space permits or they are opened, or the selected link."""

from __future__ import annotations

from PyQt6.QtCore import Qt, QTimer
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QFrame, QSizePolicy, QToolButton, QWidget

from app.desktop.layouts import NO_MARGINS, vertical
from app.panels.joints import JointPanel
from app.panels.robot import Inspector

MOST = 100  # stretch of the joints relative to the facts, up to their full height
UNBOUNDED = 16_777_215  # px, Qt's QWIDGETSIZE_MAX
LEAST = 150  # px, the least height of the facts; with less they are hidden
SHARE = 0.45  # largest share of the height for the facts of a selected link, if rows leave no space


class JointColumn(QWidget):
    """Divides its height between the table and the facts."""

    def __init__(self, joints: JointPanel):
        super().__init__()
        self._joints, self.facts, self._requested = joints, Inspector(), False
        self.facts.setProperty("padded", True)
        self.opening = QToolButton(text="Model and state", checkable=True, autoRaise=True)
        self.opening.setToolTip("Energy, centre of mass, highest load and contact of the robot, below its joints")
        self.opening.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.opening.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.opening.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.opening.toggled.connect(self._share)
        self._line = QFrame()
        self._line.setFixedHeight(1)
        self._line.setProperty("rule", True)
        rows = (joints, MOST), self._line, self.opening, (self.facts, 1)
        vertical(*rows, of=self, margins=NO_MARGINS, spacing=0)
        self._later = QTimer(self, singleShot=True)  # opening a row or a robot changes many heights
        self._later.timeout.connect(self._share)
        joints.verticalHeader().sectionResized.connect(lambda *_: self._later.start(0))
        joints.table.modelReset.connect(lambda: self._later.start(0))
        self._share()

    def ask(self, requested: bool) -> None:
        """Show the facts whatever the joints need, or only if space permits."""
        if requested is not self._requested:
            self._requested = requested
            self._share()

    def _share(self) -> None:
        table = self._joints
        needed = table.horizontalHeader().height() + table.verticalHeader().length() + 2 * table.frameWidth()
        room = self.height() - needed >= LEAST
        shown = room or self._requested or self.opening.isChecked()
        self.opening.setVisible(not (room or self._requested))
        self.opening.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        for each in (self._line, self.facts):
            each.setVisible(shown)
        table.setMaximumHeight(needed if room else round((1 - SHARE) * self.height()) if shown else UNBOUNDED)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share()
