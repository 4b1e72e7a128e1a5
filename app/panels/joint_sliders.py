"""Paints the sliders of the joint table, and gives its numbers boxes to be typed in."""

from __future__ import annotations

from typing import cast

from PyQt6.QtCore import QModelIndex, QPointF, QRect, QRectF, Qt
from PyQt6.QtGui import QPainter, QPen
from PyQt6.QtWidgets import QDoubleSpinBox, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.acting.coordinates import Coordinate
from app.desktop import theme, type_scale
from app.panels.joint_table import DRIVE, SLIDER, JointTable
from app.panels.number_box import DecimalBox

HANDLE = 6.0  # px, the radius of a slider's handle
ROW_HEIGHT = 26  # px
MAX_EFFORT = 1e5  # N m or N, the largest effort to type if a joint has no effort limit


def _table(index: QModelIndex) -> JointTable:
    return cast(JointTable, index.model())


class Painter(QStyledItemDelegate):
    """Paints the slider of a row; numbers are typed into a spin box in the row's unit."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        option.rect.setHeight(row_height())  # only the first line of an opened row

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        super().paint(painter, option, index)
        if index.column() != SLIDER:
            return
        table = _table(index)
        row, groove = table.rows[index.row()], groove_of(option.rect)
        at_rest = min(max(0.0, row.lower), row.upper)
        start, end = (handle_place(row, value, groove) for value in (at_rest, row.value(table.q)))
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver) and row.leader is None
        tint = theme.color("faint" if row.leader else "warning" if row.at_limit(table.q) else "accent")
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("edge"))
        painter.drawRoundedRect(groove, 2, 2)
        painter.setBrush(tint)
        painter.drawRoundedRect(
            QRectF(QPointF(min(start, end), groove.top()), QPointF(max(start, end), groove.bottom())), 2, 2
        )
        if row.leader is None:
            painter.setBrush(theme.color("text") if hovered else tint.lighter(125))
            painter.drawEllipse(QPointF(end, groove.center().y()), HANDLE, HANDLE)
            if option.state & QStyle.StateFlag.State_HasFocus:
                painter.setPen(QPen(theme.color("text"), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawEllipse(QPointF(end, groove.center().y()), HANDLE + 2.5, HANDLE + 2.5)
                painter.setPen(Qt.PenStyle.NoPen)
        if index.row() in table.held and row.effort_v < len(table.target):
            place = handle_place(row, float(table.target[row.effort_v]), groove)
            painter.setBrush(theme.color("text"))
            painter.drawRect(QRectF(place - 1.0, groove.center().y() - 9.0, 2.0, 18.0))
        painter.restore()

    def createEditor(self, parent: QWidget, _option: QStyleOptionViewItem, index: QModelIndex) -> QWidget:
        row, unit = _table(index).rows[index.row()], _table(index).unit(index.row(), index.column())
        box = DecimalBox(parent)
        box.setAccessibleName(row.label)
        box.setSuffix(f" {unit}")
        box.setDecimals(2 + row.more_digits)
        box.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        reach = (row.lower, row.upper) if row.limited else (-1e4, 1e4)
        box.setRange(reach[0] * row.scale, reach[1] * row.scale)
        mode = _table(index).mode(index.row())
        if index.column() == DRIVE and mode != "target":
            most = min(row.effort if mode == "effort" else row.velocity * row.scale, MAX_EFFORT)
            box.setRange(-most, most)
        return box


def row_height() -> int:
    """Return the height of a row, px, without what is opened below it."""
    return type_scale.row(ROW_HEIGHT)


def groove_of(cell: QRect) -> QRectF:
    """Return the rectangle of a slider's groove in its cell."""
    margin = HANDLE + 4
    return QRectF(cell.left() + margin, cell.top() + row_height() // 2 - 2.5, max(cell.width() - 2 * margin, 1.0), 4.0)


def handle_place(row: Coordinate, value: float, groove: QRectF) -> float:
    """Return where on the groove, in px, a value of a row is."""
    share = (value - row.lower) / (row.upper - row.lower) if row.upper > row.lower else 0.5
    return groove.left() + min(max(share, 0.0), 1.0) * groove.width()
