"""The gallery: the robots that ship, each with a picture, a name and a line, opened by a click or a key."""

from __future__ import annotations

from pathlib import Path

from PyQt6.QtCore import QModelIndex, QPoint, QRect, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPixmap
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

import engine
from app.desktop import theme, type_scale
from app.desktop.layouts import NO_MARGINS, vertical

PICTURES = theme.RESOURCES / "pictures" / "robots"
LINES = {
    "pendulum": "A rod and a disc on one bearing",
    "double_pendulum": "Two bars, two joints: chaos",
    "arm6": "A six-axis arm on a pedestal",
    "arm7": "A seven-axis arm with a hand",
    "scara": "A four-axis assembly arm",
    "quadruped": "Four legs, stands on the ground",
    "humanoid": "As tall as a person, 30 joints",
    "snake50": "Fifty modules hang from a column",
}
"""A description of each robot, in display order; other robots follow."""
TITLE = "Open a robot"
LESSONS = 'Or see how forward dynamics runs in parallel: <a href="lessons">lessons</a>.'
WORDS = "Drop a URDF here, open one with Ctrl+O, or start with an example:"
CARD, LOW_CARD = QSize(172, 158), QSize(172, 56)
PICTURE, LOW_PICTURE = QSize(128, 96), QSize(64, 48)
GAP = 8  # px
SPACING, LOW_SPACING = 10, 4  # px between the cards and the lines around them
COLUMNS = 4
BACKGROUND_OPACITY, EDGE = 0.8, 14  # opacity of the ground over the frame behind, and px around its content
PATH, LINE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1


class Card(QStyledItemDelegate):
    """Paints a robot's card: picture, name and description; if `low`, the name is beside a small picture."""

    low = False

    @property
    def size(self) -> QSize:
        """The size of a card with the gap around it, px."""
        return (LOW_CARD if self.low else CARD) + QSize(GAP, GAP)

    def sizeHint(self, _: QStyleOptionViewItem, __: QModelIndex) -> QSize:
        return self.size

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        box = option.rect.adjusted(GAP // 2, GAP // 2, -GAP // 2, -GAP // 2)
        states = type(option.state)
        chosen = bool(option.state & states.State_Selected) and bool(option.state & states.State_HasFocus)
        over = bool(option.state & states.State_MouseOver)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.setPen(theme.color("accent" if chosen or over else "edge"))
        painter.setBrush(theme.color("chosen" if chosen else "raised" if over else "panel"))
        painter.drawRoundedRect(box, 8, 8)
        picture = index.data(Qt.ItemDataRole.DecorationRole)
        place = QRect(box.topLeft() + QPoint((CARD.width() - PICTURE.width()) // 2, 8), PICTURE)
        if self.low:
            place = QRect(box.topLeft() + QPoint(4, 4), LOW_PICTURE)
        if isinstance(picture, QPixmap) and not picture.isNull():
            painter.drawPixmap(place, picture)
        name, sides = index.data(Qt.ItemDataRole.DisplayRole), Qt.AlignmentFlag
        painter.setFont(type_scale.font(bold=True))
        painter.setPen(theme.color("text"))
        if self.low:
            words = box.adjusted(LOW_PICTURE.width() + 10, 0, -4, 0)
            painter.drawText(words, sides.AlignLeft | sides.AlignVCenter | Qt.TextFlag.TextWordWrap, name)
        else:
            words, top = box.adjusted(6, PICTURE.height() + 10, -6, -4), sides.AlignHCenter | sides.AlignTop
            painter.drawText(words, top, name)
            words.setTop(words.top() + painter.fontMetrics().height())
            painter.setFont(type_scale.font("small"))
            painter.setPen(theme.color("text" if chosen else "faint"))
            painter.drawText(words, top | Qt.TextFlag.TextWordWrap, index.data(LINE))
        painter.restore()


class Cards(QListWidget):
    """The robots in a grid; Space, Enter and a click open one."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        opens = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if opens and self.currentItem() is not None:
            self.itemClicked.emit(self.currentItem())
        else:
            super().keyPressEvent(event)


class Gallery(QWidget):
    """The content of an empty window."""

    chosen = pyqtSignal(str)
    """The path of the robot to open."""
    lessons_asked = pyqtSignal()
    """The user requested the lessons."""

    def __init__(self, parent: QWidget | None = None):
        super().__init__(parent)
        title, words, lessons = QLabel(TITLE), QLabel(WORDS, wordWrap=True), QLabel(LESSONS, wordWrap=True)
        title.setFont(type_scale.font("title", bold=True))
        lessons.linkActivated.connect(lambda _: self.lessons_asked.emit())
        for label in (title, words, lessons):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.cards = Cards()
        self._card = Card(self.cards)
        self.cards.setItemDelegate(self._card)
        self.cards.setViewMode(QListWidget.ViewMode.IconMode)
        self.cards.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.cards.setMovement(QListWidget.Movement.Static)
        self.cards.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.cards.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.cards.setMouseTracking(True)
        self.cards.setProperty("bare", True)
        self.cards.setAccessibleName("Example robots")
        self.cards.setCursor(Qt.CursorShape.PointingHandCursor)
        for path in _shipped():
            item = QListWidgetItem(path.stem.replace("_", " "), self.cards)
            item.setData(Qt.ItemDataRole.DecorationRole, QPixmap(str(PICTURES / f"{path.stem}.png")))
            item.setData(LINE, LINES.get(path.stem, ""))
            item.setData(PATH, str(path))
            item.setToolTip(f"Open {path.name}")
        self.cards.setCurrentRow(0)
        self.cards.itemClicked.connect(lambda item: self.chosen.emit(item.data(PATH)))
        theme.signals.changed.connect(self._apply_theme)
        self._column = QWidget(self)
        layout = vertical(title, words, of=self._column, margins=NO_MARGINS, spacing=SPACING)
        row = QHBoxLayout()  # as much space on the left as the cards leave for a scroll bar on the right
        row.addSpacing(self._bar)
        row.addWidget(self.cards)
        layout.addLayout(row, 1)
        layout.addWidget(lessons)
        self._words = title, words, lessons

    def _apply_theme(self) -> None:
        lessons = self._words[-1]
        lessons.clear()  # else the unchanged text would keep the link's colour
        lessons.setText(LESSONS)
        self.cards.viewport().update()

    def paintEvent(self, _: QPaintEvent) -> None:
        """Paint a translucent ground over the frame behind, so that its lines do not cross the text."""
        painter, background = QPainter(self), theme.color("panel")
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        background.setAlphaF(BACKGROUND_OPACITY)
        painter.setBrush(background)
        painter.drawRoundedRect(self._column.geometry().adjusted(-EDGE, -EDGE, EDGE, EDGE), 12, 12)

    @property
    def _bar(self) -> int:
        """The width that a scroll bar needs, px."""
        return self.cards.verticalScrollBar().sizeHint().width() + GAP

    def fit(self, rect: QRect) -> None:
        """Centre the cards in a rectangle, with as many columns as fit.

        Where there is no room for all, the title is left out, and then the cards are low.
        """
        self.setGeometry(rect)
        room = rect.height() - 2 * EDGE
        for self._card.low, titled in ((False, True), (False, False), (True, False)):
            self._words[0].setVisible(titled)
            self._column.layout().setSpacing(SPACING if titled else LOW_SPACING)
            width, wanted = self._wanted(rect.width())
            if wanted <= room:
                break
        height = min(wanted, room)
        self._column.setGeometry((rect.width() - width) // 2, (rect.height() - height) // 2, width, height)
        self.cards.scheduleDelayedItemsLayout()

    def _wanted(self, room: int) -> tuple[int, int]:
        """Return the width and height, px, of all cards and words in a width."""
        step, bars = self._card.size, 2 * self._bar
        columns = max(1, min(COLUMNS, (room - bars) // step.width()))
        width, rows = columns * step.width() + bars, -(-self.cards.count() // columns)
        words = [label for label in self._words if not label.isHidden()]
        wording = sum(label.heightForWidth(width) if label.hasHeightForWidth() else label.sizeHint().height()
                   for label in words)  # fmt: skip
        return width, wording + (len(words) + 1) * self._column.layout().spacing() + rows * step.height() + GAP


def _shipped() -> list[Path]:
    """Return the files of the robots that ship, those of `LINES` first."""
    order = list(LINES)
    paths = sorted(engine.ROBOTS.glob("*.urdf"))
    return sorted(paths, key=lambda path: order.index(path.stem) if path.stem in order else len(order))
