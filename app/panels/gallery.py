"""The gallery: the robots that ship, each with a picture, a name and a line, opened by a click or a key."""

from __future__ import annotations

from pathlib import Path

from PyQt6.QtCore import QModelIndex, QRect, QSize, Qt, pyqtSignal
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
CARD = QSize(172, 158)
PICTURE = QSize(128, 96)
GAP = 8  # px
COLUMNS = 4
BACKGROUND_OPACITY, EDGE = 0.8, 14  # opacity of the ground over the frame behind, and px around its content
PATH, LINE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1


class Card(QStyledItemDelegate):
    """Paints a robot's card: picture, name and description."""

    def sizeHint(self, _: QStyleOptionViewItem, __: QModelIndex) -> QSize:
        return CARD + QSize(GAP, GAP)

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
        place = QRect(box.center().x() - PICTURE.width() // 2, box.top() + 8, PICTURE.width(), PICTURE.height())
        if isinstance(picture, QPixmap) and not picture.isNull():
            painter.drawPixmap(place, picture)
        words = box.adjusted(6, PICTURE.height() + 10, -6, -4)
        painter.setFont(type_scale.font(bold=True))
        painter.setPen(theme.color("text"))
        top = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        painter.drawText(words, top, index.data(Qt.ItemDataRole.DisplayRole))
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
        self.cards.setItemDelegate(Card(self.cards))
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
        layout = vertical(title, words, of=self._column, margins=NO_MARGINS, spacing=10)
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
        """Centre the cards in a rectangle, with as many columns as fit."""
        self.setGeometry(rect)
        step, bars = CARD.width() + GAP, 2 * self._bar
        columns = max(1, min(COLUMNS, (rect.width() - bars) // step))
        rows = -(-self.cards.count() // columns)
        width = columns * step + bars
        wording = sum(label.heightForWidth(width) if label.hasHeightForWidth() else label.sizeHint().height()
                   for label in self._words)  # fmt: skip
        wanted = wording + 4 * self._column.layout().spacing() + rows * (CARD.height() + GAP) + GAP
        height = min(wanted, rect.height())
        self._column.setGeometry((rect.width() - width) // 2, (rect.height() - height) // 2, width, height)


def _shipped() -> list[Path]:
    """Return the files of the robots that ship, those of `LINES` first."""
    order = list(LINES)
    paths = sorted(engine.ROBOTS.glob("*.urdf"))
    return sorted(paths, key=lambda path: order.index(path.stem) if path.stem in order else len(order))
