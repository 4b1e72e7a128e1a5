"""The times of a comparison: a row per algorithm, below a heading per model and number type with its own axis.

Times are bars that start at zero. Where they differ much the axis is logarithmic and has no zero: there they are dots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QPointF, QRectF, Qt
from PyQt6.QtGui import QColor, QPainter, QPen, QPixmap, QResizeEvent
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

import engine
from app.desktop import theme, type_scale
from app.desktop.actions import algorithm_name, device_name
from app.desktop.numbers import time_unit
from app.panels.axes import ticks

COLUMNS = ("algorithm", "one call", "median", "slowdown", "on the GPU", "residual")
NAME, BAR, MEDIAN, RATIO, DEVICE, RESIDUAL = range(len(COLUMNS))
ROW_HEIGHT, HEADING_HEIGHT = 24, 28  # px
LABEL_WIDTH = 76  # px, of a number on the axis and its margin
WIDE = 20  # ratio of slowest to fastest above which the axis shows multiples of the fastest
BARS = 130  # px, the least width of the bars; below it the residuals are hidden
DOT = 5.0  # px, the radius of a dot
NAMES = 0.26  # largest share of the view's width for names
PICTURE_WIDTH, PICTURE_SCALE = 980, 2
BADGES = {"wrong": "error", "failed": "error", "refused": "faint", "waiting": "faint"}
"""Colours of the verdicts that have no time."""

Role = Qt.ItemDataRole
Right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def duration(seconds: float) -> str:
    """Return a time with its unit, in at most three digits."""
    unit, scale = time_unit(seconds)
    return f"{seconds * scale:.3g} {unit}"


@dataclass(frozen=True)
class DurationAxis:
    """An axis of times from zero on, or, where they differ by more than `WIDE`, of their logarithms."""

    least: float
    """The smallest median or bound of one, s."""
    first: float
    """The fastest's median, s."""
    last: float
    """The largest median or bound of one, s."""

    @classmethod
    def of(cls, rows: list[engine.AlgorithmResult]) -> DurationAxis | None:
        """Return an axis that holds all medians and intervals; None if there are no medians."""
        medians = [row.host for row in rows if row.host]
        if not medians:
            return None
        bounds = [
            bound for row in rows if row.host_interval for bound in (row.host_interval.low, row.host_interval.high)
        ]
        return cls(min(medians + bounds), min(medians), max(medians + bounds))

    @property
    def multiples(self) -> bool:
        return self.last > WIDE * self.first

    def place(self, seconds: float) -> float:
        """Return a time's position: 0 at the left end, 1 at the right end."""
        if self.multiples:
            return math.log(seconds / self.least) / math.log(self.last / self.least)
        return seconds / self.last

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most `most` ticks: their positions and labels."""
        if self.multiples:
            decades = int(math.log10(self.last / self.first))
            stride = max(1, math.ceil((decades + 1) / most))
            powers = [10**power for power in range(0, decades + 1, stride)]
            return [
                (self.place(self.first * power), f"{power:,} ×" if power > 1 else "1 × fastest") for power in powers
            ]
        return [(self.place(time), duration(time) if time else "0") for time in ticks(0.0, self.last, most - 1)]


@dataclass(frozen=True)
class Heading:
    """The heading of a group of rows: their model, number type and axis."""

    model: str
    text: str
    axis: DurationAxis | None


@dataclass(frozen=True)
class Finding:
    """A sentence about the rows above it."""

    text: str


Line = Heading | Finding | engine.AlgorithmResult


class BarTable(QAbstractTableModel):
    """A table model: for each robot and number type a heading, the results and the findings about them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Line] = []
        self.axes: list[DurationAxis | None] = []
        """The axis of each row."""

    def show_results(self, results: Sequence[engine.AlgorithmResult], findings: Sequence[str] = ()) -> bool:
        """Show results and findings, which begin with robot and number type; return whether the set of rows changed."""
        groups: dict[tuple[str, str], list[engine.AlgorithmResult]] = {}
        for result in results:
            groups.setdefault((result.model, result.dtype), []).append(result)
        rows: list[Line] = []
        axes: list[DurationAxis | None] = []
        for (model, dtype), group in groups.items():
            axis, batch = DurationAxis.of(group), group[0].batch
            robots = f"  ·  batch of {batch:,}" if batch > 1 else ""
            about = f"{model}, {dtype}: "
            group_findings = [Finding(each.removeprefix(about)) for each in findings if each.startswith(about)]
            rows += [Heading(model, f"{dtype}{robots}", axis), *group, *group_findings]
            axes += [axis] * (1 + len(group) + len(group_findings))
        rebuilt = list(map(_key, rows)) != list(map(_key, self.rows))
        if rebuilt:
            self.beginResetModel()
        self.rows, self.axes = rows, axes
        if rebuilt:
            self.endResetModel()
        elif rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(COLUMNS) - 1))
        return rebuilt

    def rowCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Role.DisplayRole:
            return COLUMNS[section]
        if role == Role.ToolTipRole:
            return HINTS[section]
        if role == Role.TextAlignmentRole:
            return Right if section > BAR else Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: QModelIndex, role: int = Role.DisplayRole) -> object:
        row, column = self.rows[index.row()], index.column()
        if isinstance(row, Heading):
            if role == Role.DisplayRole:
                return {NAME: row.model, MEDIAN: row.text}.get(column)
            if role == Role.FontRole and column == NAME:
                return type_scale.font(bold=True)
            if role == Role.TextAlignmentRole and column == MEDIAN:
                return Right
            return theme.color("faint") if role == Role.ForegroundRole and column == MEDIAN else None
        if isinstance(row, Finding):
            if role == Role.FontRole:
                return type_scale.font("small")
            return row.text if role in (Role.DisplayRole, Role.ToolTipRole) and column == NAME else None
        if role == Role.DisplayRole:
            return cell(row, column)
        if role == Role.ToolTipRole:
            return hover(row)
        if role == Role.TextAlignmentRole and column > BAR:
            return Right
        if role == Role.ForegroundRole:
            return _tint(row, column)
        if role == Role.FontRole and row.winner and column in (NAME, RATIO):
            return type_scale.font(bold=True)
        return None


HINTS = (
    "The algorithm, and the device it runs on",
    "Time of one call for the whole batch, until its result is there: bars from 0, or where the times differ much dots "
    "on a logarithmic axis, relative to the fastest; the thin line is the range expected in a repeated comparison",
    "Median time of one call on the host, until its result is there",
    "Time relative to the fastest, with its confidence interval: measured in turns, compared turn by turn",
    "The time between two events on the GPU",
    "Relative residual of inverse dynamics in double precision: ‖ID(q̈) − τ‖ / ‖τ_δ‖",
)


def cell(row: engine.AlgorithmResult, column: int) -> str:
    """Return the text of a row's column."""
    if column == NAME:
        return f"{algorithm_name(row.algorithm)}  ·  {device_name(row.device)}"
    if column == RESIDUAL:
        return "" if row.residual is None else f"{row.residual:.0e}"
    if row.host is None or column == BAR:
        return ""
    if column == MEDIAN:
        return duration(row.host)
    if column == DEVICE:
        return duration(row.on_device) if row.on_device is not None else "–"
    if row.ratio is None:
        return "…"
    low, middle, high = row.ratio
    if low == middle == high:
        return "fastest" if row.winner else "1"
    return f"{_digits(middle)} ({_digits(low)}–{_digits(high)})"


def _digits(ratio: float) -> str:
    if ratio < 999.5:
        return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"
    return f"{ratio / 1000:.3g}k"


def hover(row: engine.AlgorithmResult) -> str:
    """Return a tooltip with all numbers of a row."""
    lines = [
        f"{algorithm_name(row.algorithm)} on {device_name(row.device)}, {row.dtype}, {row.model}, batch {row.batch:,}"
    ]
    if row.reason:
        lines.append(f"{row.verdict}: {row.reason}")
    if row.host is not None:
        lines.append(f"one call: {duration(row.host)}, the middle of {row.turns} turns")
        if row.batch > 1:
            lines.append(f"one robot: {duration(row.host / row.batch)}")
    if row.host_interval is not None:
        low, _, high = map(duration, row.host_interval)
        lines.append(f"expected in a repeated comparison: {low} to {high}")
    if len(row.host_runs) > 1:
        least, most = duration(min(row.host_runs)), duration(max(row.host_runs))
        lines.append(f"medians of the {len(row.host_runs)} processes: {least} to {most}")
    if row.on_device is not None:
        lines.append(f"on the GPU: {duration(row.on_device)}")
    if row.ratio is not None and row.ratio.low != row.ratio.high:
        least_ratio, middle, most_ratio = row.ratio
        remark = f", {row.remark}" if row.remark else ""
        lines.append(f"{middle:.3f} times the fastest's time ({least_ratio:.3f} to {most_ratio:.3f}){remark}")
        if len(row.ratio_runs) > 1:
            lines.append(f"by process {min(row.ratio_runs):.3f} to {max(row.ratio_runs):.3f} times")
    if row.residual is not None:
        lines.append(f"residual: {row.residual:.2g}")
    if row.first is not None:
        lines.append(f"first result after {duration(row.first)}")
    return "\n".join(lines)


def _key(row: Line) -> object:
    if isinstance(row, Finding):
        return row.text
    if isinstance(row, Heading):
        return row.model, row.text
    return row.model, row.algorithm, row.device, row.dtype, row.verdict in BADGES


def _tint(row: engine.AlgorithmResult, column: int) -> QColor | None:
    if row.verdict in BADGES:
        return theme.color("error" if column == RESIDUAL and row.verdict == "wrong" else "faint")
    if column in (DEVICE, RESIDUAL):
        return theme.color("faint")
    return theme.color("good") if column == RATIO and row.level else None


class Painter(QStyledItemDelegate):
    """Paints bars, dots, axes and badges."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        table = cast(BarTable, index.model())
        row, axis = table.rows[index.row()], table.axes[index.row()]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, Heading):
            painter.fillRect(option.rect, theme.color("panel"))
        super().paint(painter, option, index)
        if index.column() == BAR and not isinstance(row, Finding):
            track = QRectF(option.rect).adjusted(4 + DOT, 0, -24, 0)
            if isinstance(row, Heading):
                _paint_axis(painter, track, axis)
            elif row.verdict in BADGES:
                _paint_badge(painter, QRectF(option.rect).adjusted(4, 0, -4, 0), row)
            else:
                _paint_time(painter, track, axis, row)
        painter.restore()


def _paint_axis(painter: QPainter, track: QRectF, axis: DurationAxis | None) -> None:
    painter.setPen(theme.color("faint"))
    if axis is None or track.width() < 2 * LABEL_WIDTH:
        return
    for place, words in axis.ticks(int(track.width() / LABEL_WIDTH)):
        x = track.left() + place * track.width()
        box = QRectF(x - 40, track.top(), 80, track.height() - 3)
        side = Qt.AlignmentFlag.AlignHCenter
        if x - track.left() < 40:
            box, side = QRectF(x, box.top(), 80, box.height()), Qt.AlignmentFlag.AlignLeft
        painter.drawText(box, side | Qt.AlignmentFlag.AlignBottom, words)


def _paint_time(painter: QPainter, track: QRectF, axis: DurationAxis | None, row: engine.AlgorithmResult) -> None:
    if axis is None:
        return
    painter.setPen(theme.color("raised"))
    for place, _ in axis.ticks(max(2, int(track.width() / LABEL_WIDTH))):
        x = track.left() + place * track.width()
        painter.drawLine(round(x), round(track.top()), round(x), round(track.bottom()))
    if row.host is None:
        return
    end, middle = track.left() + axis.place(row.host) * track.width(), track.center().y()
    tint = QColor(theme.legible(engine.algorithm_color(row.algorithm)))
    if axis.multiples:  # lines from the names to the dots
        painter.drawLine(QPointF(track.left(), middle), QPointF(track.right(), middle))
        _paint_interval(painter, track, axis, row)
        painter.setPen(QPen(theme.color("ground"), 1.5))
        painter.setBrush(tint)
        painter.drawEllipse(QPointF(end, middle), DOT, DOT)
    else:
        painter.fillRect(QRectF(track.left(), track.top() + 5, end - track.left(), track.height() - 10), tint)
        _paint_interval(painter, track, axis, row)


def _paint_interval(painter: QPainter, track: QRectF, axis: DurationAxis, row: engine.AlgorithmResult) -> None:
    if row.host_interval is None:
        return
    low, _, high = row.host_interval
    left, right = (track.left() + axis.place(x) * track.width() for x in (low, high))
    middle = track.center().y()
    painter.setPen(theme.color("text"))
    painter.drawLine(QPointF(left, middle), QPointF(right, middle))
    for x in (left, right):
        painter.drawLine(QPointF(x, middle - 4), QPointF(x, middle + 4))


def _paint_badge(painter: QPainter, box: QRectF, row: engine.AlgorithmResult) -> None:
    tint = theme.color(BADGES[row.verdict])
    text = QRectF(box)
    if row.verdict != "waiting":
        width = painter.fontMetrics().horizontalAdvance(row.verdict) + 14
        badge = QRectF(box.left(), box.top() + 4, width, box.height() - 8)
        painter.setPen(tint)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(badge, 4, 4)
        painter.drawText(badge, Qt.AlignmentFlag.AlignCenter, row.verdict)
        text.setLeft(badge.right() + 8)
    painter.setPen(theme.color("faint" if row.verdict != "failed" else "text"))
    wording = painter.fontMetrics().elidedText(
        row.reason or "waiting for its turn", Qt.TextElideMode.ElideRight, round(text.width())
    )
    painter.drawText(text, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, wording)


class BarView(QTableView):
    """The table's view, which can also render all rows as a picture."""

    def __init__(self) -> None:
        super().__init__()
        self.table = BarTable()
        self.setModel(self.table)
        self.setItemDelegate(Painter(self))
        self.setShowGrid(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._longest, self._findings = 0, cast(Sequence[str], ())
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(20)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(BAR, QHeaderView.ResizeMode.Stretch)
        advance = self.fontMetrics().horizontalAdvance
        for column, widest in (
            (MEDIAN, "88.88 ms"), (RATIO, "8.88k (8.88k–8.88k)"), (DEVICE, "on the GPU"), (RESIDUAL, "residual")
        ):  # fmt: skip
            self.setColumnWidth(column, advance(widest) + 22)

    def show_results(self, results: Sequence[engine.AlgorithmResult], findings: Sequence[str] = ()) -> None:
        """Show results and findings; long names widen their column."""
        self._findings = findings
        self.setColumnHidden(DEVICE, all(row.on_device is None for row in results))
        if not self.table.show_results(results, findings):
            return
        self.clearSpans()
        self._longest = 0
        for number, row in enumerate(self.table.rows):
            self.setRowHeight(number, type_scale.row(HEADING_HEIGHT if isinstance(row, Heading) else ROW_HEIGHT))
            if isinstance(row, Finding):
                self.setSpan(number, NAME, 1, len(COLUMNS))
                continue
            name = row.model if isinstance(row, Heading) else cell(row, NAME)
            self._longest = max(self._longest, self.fontMetrics().horizontalAdvance(name))
            if isinstance(row, Heading):
                self.setSpan(number, MEDIAN, 1, len(COLUMNS) - MEDIAN)
            elif row.verdict in BADGES:
                last = RESIDUAL if row.verdict == "wrong" else RESIDUAL + 1
                self.setSpan(number, BAR, 1, last - BAR)
        self._fit()

    def _fit(self) -> None:
        """Give the names the width they need and the bars most of the rest; hide the residuals where space is short."""
        names, width = min(max(self._longest + 24, 120), int(NAMES * self.width())), self.viewport().width()
        self.setColumnWidth(NAME, names)
        numbers = sum(self.columnWidth(column) for column in (MEDIAN, RATIO, DEVICE) if not self.isColumnHidden(column))
        residual = self.fontMetrics().horizontalAdvance(COLUMNS[RESIDUAL]) + 22
        self.setColumnHidden(RESIDUAL, names + BARS + numbers + residual > width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def picture(self) -> QPixmap:
        """Return a picture of all rows, including those scrolled out of view."""
        view = BarView()
        view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.show_results([row for row in self.table.rows if isinstance(row, engine.AlgorithmResult)], self._findings)
        height = view.horizontalHeader().sizeHint().height() + view.verticalHeader().length()
        view.resize(PICTURE_WIDTH, height + 2)
        pixmap = QPixmap(view.size() * PICTURE_SCALE)
        pixmap.setDevicePixelRatio(PICTURE_SCALE)
        view.render(pixmap)
        return pixmap
