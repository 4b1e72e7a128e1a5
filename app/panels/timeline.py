"""The timeline below the viewport: a scrubbing track, playback buttons, and labels for its state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PyQt6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QAction, QMouseEvent, QPainter, QPaintEvent, QPolygonF, QResizeEvent
from PyQt6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QStyleOptionComboBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.desktop import theme, type_scale
from app.desktop.layouts import vertical

AROUND = 2  # px between the timeline's edge and its content
HEIGHT, MARGIN = 30, 10  # px: the track's height, and the margin at its ends
LINE = 12.0  # px, from the top to the bar
TIMES = 13  # px, the height of the times
APART = 72  # px, the least distance between two time labels
LOOP_OPACITY = 0.3
HANDLE = 6.0  # px
HIDDEN, WHOLE, CUT = -1, 0, len("Run 1")
"""Whether and with how many characters of their names the runs are shown."""
STEPS = (1.0, 2.0, 5.0)  # s between time labels, times powers of ten


class Track(QWidget):
    """The track from a run's oldest to its newest frame; pressing and dragging seeks."""

    seek_requested = pyqtSignal(float)
    """A time of the run, s."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(HEIGHT - TIMES + type_scale.scaled(TIMES))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip("Drag to scrub through the recording")
        self.start = self.end = 0.0
        """The ends of the run that is shown, s."""
        self._at = 0.0
        self._live = True
        self._marks: tuple[float, ...] = ()
        self._left: float | None = None
        self._loop: tuple[float, float] | None = None

    def show_span(self, start: float, end: float, at: float, left: float | None) -> None:
        """Show the recorded span, the current time, and where the run branched off another, all in s."""
        if (start, end, at, left) != (self.start, self.end, self._at, self._left):
            self.start, self.end, self._at, self._left = start, end, at, left
            self.update()

    def show_live(self, live: bool) -> None:
        """Set whether the current time is the present."""
        if live != self._live:
            self._live = live
            self.update()

    def show_marks(self, times: Sequence[float]) -> None:
        """Show keyframes at these times, s."""
        if tuple(times) != self._marks:
            self._marks = tuple(times)
            self.update()

    def show_loop(self, loop: tuple[float, float] | None) -> None:
        """Show the start and end, s, of a loop; None for no loop."""
        if loop != self._loop:
            self._loop = loop
            self.update()

    def place(self, seconds: float) -> float:
        """Return the position of a time, px."""
        span = self.end - self.start
        share = (seconds - self.start) / span if span > 0 else 1.0
        return MARGIN + min(max(share, 0.0), 1.0) * (self.width() - 2 * MARGIN)

    def seconds(self, x: float) -> float:
        """Return the time at a position, s."""
        share = (x - MARGIN) / max(1, self.width() - 2 * MARGIN)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._seek(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._seek(event)

    def _seek(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self.end > self.start:
            self.seek_requested.emit(self.seconds(event.position().x()))

    def paintEvent(self, _: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("edge"))
        painter.drawRoundedRect(QRectF(MARGIN, LINE - 2, self.width() - 2 * MARGIN, 4), 2, 2)
        if self.end <= self.start:
            return
        here = self.place(self._at)
        painter.setBrush(theme.color("faint" if self._live else "accent"))
        painter.drawRoundedRect(QRectF(MARGIN, LINE - 2, here - MARGIN, 4), 2, 2)
        if self._loop is not None:
            left, right = map(self.place, self._loop)
            band = theme.color("accent")
            band.setAlphaF(LOOP_OPACITY)
            painter.setBrush(band)
            painter.drawRoundedRect(QRectF(left, LINE - 7, max(right - left, 2), 14), 3, 3)
        self._paint_times(painter)
        painter.setPen(Qt.PenStyle.NoPen)
        if self._left is not None and self.start < self._left < self.end:
            painter.setBrush(theme.color("accent"))
            painter.drawRect(QRectF(self.place(self._left) - 1, LINE - 6, 2, 12))
        painter.setBrush(theme.color("warning"))
        for time in self._marks:
            if self.start <= time <= self.end:
                x = self.place(time)
                around = ((0, -11), (4, -6), (0, -1), (-4, -6))
                painter.drawPolygon(QPolygonF([QPointF(x + dx, LINE + dy) for dx, dy in around]))
        painter.setBrush(theme.color("good" if self._live else "accent"))
        painter.drawEllipse(QPointF(here, LINE), HANDLE, HANDLE)

    def _paint_times(self, painter: QPainter) -> None:
        painter.setPen(theme.color("faint"))
        painter.setFont(type_scale.font("small"))
        step = spacing(self.end - self.start, max(1, (self.width() - 2 * MARGIN) // APART))
        first = int(-(-self.start // step))
        for k in range(first, int(self.end // step) + 1):
            x = self.place(k * step)
            painter.drawLine(QPointF(x, LINE + 4), QPointF(x, LINE + 7))
            box = QRectF(x - APART / 2, LINE + 6, APART, type_scale.scaled(TIMES))
            if box.left() >= 0 and box.right() <= self.width():
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, f"{k * step:g}")


def spacing(span: float, most: int) -> float:
    """Return a round number of seconds that fits into a span at most `most` times."""
    power = 1e-4
    while True:
        for step in STEPS:
            if span / (step * power) <= most:
                return step * power
        power *= 10


class _Runs(QComboBox):
    """Shows a run's name up to a comma where there is no room for all of it."""

    def initStyleOption(self, option: QStyleOptionComboBox | None) -> None:
        super().initStyleOption(option)
        if option is not None and self.sizeAdjustPolicy() != QComboBox.SizeAdjustPolicy.AdjustToContents:
            option.currentText = option.currentText.partition(",")[0]


class Timeline(QWidget):
    """The track above a row of tools; `actions` are its buttons, in order."""

    run_chosen = pyqtSignal(int)
    """The number of a run."""

    def __init__(self, actions: Sequence[QAction], apart: Sequence[QAction | QToolButton]):
        super().__init__()
        self.track = Track()
        self.time, self.memory, self.state = (QLabel(textFormat=Qt.TextFormat.PlainText) for _ in range(3))
        self.time.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.runs = _Runs(toolTip="The run that is shown; each reset and each branch starts a new one")
        self.runs.activated.connect(lambda index: self.run_chosen.emit(self.runs.itemData(index)))
        layout = vertical(self.track, of=self, margins=(AROUND, AROUND, AROUND, AROUND), spacing=0)
        row = QHBoxLayout()
        row.setContentsMargins(6, 0, 8, 2)
        row.setSpacing(2)
        self._moves = [_button(action, Qt.ToolButtonStyle.ToolButtonIconOnly) for action in actions]
        for button in self._moves:
            row.addWidget(button)
        row.addSpacing(8)
        row.addWidget(self.time)
        row.addSpacing(8)
        row.addWidget(self.state)
        row.addStretch(1)
        row.addWidget(self.runs)
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        self._named = [_button(each, style) if isinstance(each, QAction) else each for each in apart]
        for button in self._named:
            row.addWidget(button)
        self.left_out, self._runs_left_out = QMenu(self, aboutToShow=self._fill), QMenu("&Run", self)
        self._more = _button(QAction(theme.icon("more"), "More", self), Qt.ToolButtonStyle.ToolButtonIconOnly)
        self._more.setToolTip("Commands that have no room here")
        self._more.clicked.connect(lambda: self.left_out.popup(self._more.mapToGlobal(self._more.rect().bottomLeft())))
        self._more.setIconSize(QSize(10, 18))
        row.addWidget(self._more)
        row.addWidget(self.memory)
        layout.addLayout(row)
        self._row = row
        self._fitted = 0, 0  # px, the row's width when it was fitted last, and the room for it
        self._times, self._ends = ("", ""), True  # without and with the run's end, and which of them is shown
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():  # what is hidden may change the height, within `_fit`
            self._fit()

    def event(self, event: QEvent | None) -> bool:
        handled = super().event(event)
        if event is not None and event.type() == QEvent.Type.LayoutRequest:
            needed, room = now = self._row.sizeHint().width(), self.width() - 2 * AROUND
            if needed > room and now != self._fitted:  # a widget has become wider by itself, as a list does late
                self._fit()
        return handled

    def _fit(self) -> None:
        """Hide, where space is short, the recording's size, the run's end and the state, else the buttons' names, then
        the state too, then cut the name of the run; then hide the outermost buttons, or the runs, or both.

        A menu has those that are hidden.
        """
        named, plain = Qt.ToolButtonStyle.ToolButtonTextBesideIcon, Qt.ToolButtonStyle.ToolButtonIconOnly
        for style, words, memory, all_shown, outer, end, runs in (
            (named, True, True, True, 0, True, WHOLE),
            (named, True, False, True, 0, True, WHOLE),
            (named, True, False, True, 0, False, WHOLE),
            (named, False, False, True, 0, False, WHOLE),
            (plain, True, True, True, 0, True, WHOLE),
            (plain, False, False, True, 0, True, WHOLE),
            (plain, False, False, True, 0, True, CUT),
            (plain, False, False, True, 0, False, CUT),
            (plain, False, False, False, 0, True, CUT),
            (plain, False, False, False, 0, False, CUT),
            (plain, False, False, False, 1, False, CUT),
            (plain, False, False, False, 2, False, CUT),
            (plain, False, False, False, 0, True, HIDDEN),
            (plain, False, False, False, 0, False, HIDDEN),
            (plain, False, False, False, 1, True, HIDDEN),
            (plain, False, False, False, 1, False, HIDDEN),
            (plain, False, False, False, 2, True, HIDDEN),
            (plain, False, False, False, 2, False, HIDDEN),
        ):
            self._ends = end
            self.time.setText(self._times[end])
            self.runs.setMinimumContentsLength(runs)
            policy = QComboBox.SizeAdjustPolicy
            self.runs.setSizeAdjustPolicy(
                policy.AdjustToContents if runs == WHOLE else policy.AdjustToMinimumContentsLengthWithIcon
            )
            self.runs.setVisible(runs != HIDDEN and self.runs.count() > 1)
            for button in self._named:
                button.setToolButtonStyle(style)
                button.setVisible(all_shown)
            for place, button in enumerate(self._moves):
                button.setVisible(outer <= place < len(self._moves) - outer)
            self.state.setVisible(words)
            self.memory.setVisible(memory)
            self._more.setVisible(not all_shown)
            self._row.invalidate()  # else it would return the previous size hint
            self._fitted = needed, room = self._row.sizeHint().width(), self.width() - 2 * AROUND
            if needed <= room:
                return

    def _fill(self) -> None:
        """Put the hidden buttons' commands and menus into the menu."""
        self.left_out.clear()
        if self.runs.isHidden() and self.runs.count() > 1:
            self._runs_left_out.clear()
            self.left_out.addMenu(self._runs_left_out)
            for k in range(self.runs.count()):
                chosen = partial(self.run_chosen.emit, self.runs.itemData(k))
                action = self._runs_left_out.addAction(self.runs.itemText(k), chosen)
                action.setCheckable(True)
                action.setChecked(k == self.runs.currentIndex())
        for button in (*self._moves, *self._named):
            if button.isHidden() and button.menu() is not None:
                self.left_out.addMenu(button.menu())
            elif button.isHidden():
                self.left_out.addAction(button.defaultAction())

    def show_time(self, at: float, end: float, live: bool, script: str = "") -> None:
        """Show the current time and the run's end, s, and the script, if any, whose run is shown `live`."""
        self._times = f"{at:.3f} s", f"{at:.3f} s" if live else f"{at:.3f} / {end:.3f} s"
        self._write(self.time, self._times[self._ends])
        self._write(self.state, (f"live: {script}" if script else "") if live else "recorded")
        theme.tint(self.state, "accent")

    def _write(self, label: QLabel, text: str) -> None:
        """Set a label; if its text's length changed, fit the row again."""
        longer = len(text) != len(label.text())
        label.setText(text)
        if longer:
            self._fit()

    def show_memory(self, taken: int, budget: int, room: int) -> None:
        """Show the recording's size and limit, bytes."""
        self._write(self.memory, f"{taken / 2**20:.1f} MB")
        more = f", and {room / 2**20:.0f} MB with a run from a file" if room > budget else ""
        self.memory.setToolTip(
            f"Size of the recording; limit {budget / 2**20:.0f} MB{more}, beyond it the oldest frames are dropped\n"
            "Time › Recording limit changes it"
        )

    def show_runs(self, runs: Sequence[tuple[int, str]], chosen: int) -> None:
        """Show the runs by number and name, with one selected; hide the box if there is only one."""
        if [(self.runs.itemData(k), self.runs.itemText(k)) for k in range(self.runs.count())] != list(runs):
            self.runs.clear()
            for number, name in runs:
                self.runs.addItem(name, number)
            self.runs.view().setMinimumWidth(self.runs.view().sizeHintForColumn(0))  # also below a cut name
            self._fit()
        self.runs.setCurrentIndex(self.runs.findData(chosen))


def _button(action: QAction, style: Qt.ToolButtonStyle) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(action)
    button.setToolButtonStyle(style)
    button.setIconSize(QSize(type_scale.scaled(18), type_scale.scaled(18)))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAutoRaise(True)
    return button
