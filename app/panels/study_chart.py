"""The surface of a study's charts; a click or the arrow keys select a sample."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QFontMetrics, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPixmap
from PyQt6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.desktop import theme, type_scale
from app.panels import axes
from app.panels.moving_keys import keeps_key
from app.panels.study_kind import Kind
from app.panels.study_kinds import Parallel

BESIDE_LINES = 130  # px right of named lines
MARGIN = 12  # px beside a message
NAMED = 40  # px left of parallel axes, for half of the first axis's name
EMPTY = "File › Open study shows the results of a study here."
STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -10, Qt.Key.Key_PageDown: 10}


class StudyChart(QWidget):
    """Shows one `Kind` of chart; the rendered samples are kept until the chart or its size changes."""

    chosen = pyqtSignal(int)
    """The row of the results that was clicked."""
    moved = pyqtSignal(int)
    """A key moved the selection by this many samples."""

    def __init__(self) -> None:
        super().__init__()
        self.kind: Kind | None = None
        self.row: int | None = None
        """The selected sample's row."""
        self._picture: QPixmap | None = None
        self._message = EMPTY
        self._of: tuple[QSize, float, bool] | None = None
        self.setMinimumSize(200, 120)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("chart of the study's samples")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def sizeHint(self) -> QSize:
        return QSize(640, 300)

    def show_kind(self, kind: Kind | None, message: str = "") -> None:
        """Show another chart, or none: then a message in its place."""
        self.kind, self._picture, self._message = kind, None, message or EMPTY
        self.update()

    def choose(self, row: int | None) -> None:
        """Mark the selected sample."""
        self.row = row
        self.update()

    @property
    def area(self) -> QRectF:
        """The rectangle of the samples."""
        beside, left, bottom = axes.RIGHT, axes.LEFT, axes.BOTTOM
        if self.kind is not None:
            beside = axes.BESIDE if self.kind.scale is not None else beside
            if any(line.label for line in getattr(self.kind, "lines", ())):
                beside = BESIDE_LINES
            metrics = QFontMetrics(type_scale.font("small"))
            named = isinstance(self.kind, Parallel)
            marks = axes.marks_upwards(self.kind.y_axis, self.height() - axes.TOP - bottom)
            left = NAMED if named else axes.left_of(metrics, marks, self.width())
        size = self.width() - left - beside, self.height() - axes.TOP - bottom
        return QRectF(left, axes.TOP, max(size[0], 20), max(size[1], 20))

    def paintEvent(self, _: QPaintEvent | None) -> None:
        painter, area = QPainter(self), self.area
        if self.kind is None:
            painter.fillRect(self.rect(), theme.color("ground"))
            painter.setPen(theme.color("faint" if self._message == EMPTY else "text"))
            room, place = self.rect().adjusted(MARGIN, 0, -MARGIN, 0), Qt.AlignmentFlag.AlignCenter
            painter.drawText(room, place | Qt.TextFlag.TextWordWrap, self._message)
            return
        key = self.size(), self.devicePixelRatioF(), theme.is_dark()
        if self._picture is None or self._of != key:
            self._picture, self._of = self._drawn(self.kind, area), key
        painter.drawPixmap(0, 0, self._picture)
        if self.row is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self.kind.mark(painter, area, self.row)
        if self.hasFocus():
            painter.setPen(theme.color("accent"))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _drawn(self, kind: Kind, area: QRectF) -> QPixmap:
        ratio = self.devicePixelRatioF()
        found = QPixmap(self.size() * ratio)
        found.setDevicePixelRatio(ratio)
        found.fill(theme.color("ground"))
        painter = QPainter(found)
        painter.setFont(type_scale.font("small"))
        if not isinstance(kind, Parallel):
            axes.draw(painter, area, kind.x_axis, kind.y_axis)
        kind.paint(painter, area)
        painter.setFont(type_scale.font("small"))
        if kind.scale is not None:
            axes.draw_scale(painter, area, kind.scale)
        if kind.has_lost:
            axes.draw_lost(painter, area)
        painter.end()
        return found

    def _rows_at(self, place: QPointF) -> list[int]:
        """Return the rows at a position, first the one that a click selects: that on top, or after the selected one."""
        if self.kind is None or not self.area.adjusted(-6, -6, 6, 6).contains(place):
            return []
        rows: list[int] = self.kind.rows_at(place, self.area).tolist()
        at = rows.index(self.row) + 1 if self.row in rows else 0
        return rows[at:] + rows[:at]

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        rows = self._rows_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and rows:
            self.chosen.emit(rows[0])

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        """Take a double click as one, since each click selects another sample."""

    def event(self, event: QEvent | None) -> bool:
        if keeps_key(event):
            return True
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = QPointF(event.pos())
            rows = self._rows_at(place)
            if not rows or self.kind is None:
                QToolTip.hideText()
            else:
                wording = self.kind.description(rows[0], len(rows), place, self.area)
                QToolTip.showText(event.globalPos(), wording, self)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if (step := STEPS.get(Qt.Key(event.key()))) is not None:
            self.moved.emit(step)
        else:
            super().keyPressEvent(event)
