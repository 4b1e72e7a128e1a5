"""A combo box that names the ticked entries of a list, and opens that list over the window, however small its panel."""

from __future__ import annotations

from PyQt6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QPoint, Qt
from PyQt6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent
from PyQt6.QtWidgets import (
    QComboBox,
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QStylePainter,
    QWidget,
)

from app.desktop.layouts import vertical

Role = Qt.ItemDataRole.UserRole
Checked, Unchecked = Qt.CheckState.Checked, Qt.CheckState.Unchecked
EDGE = 30  # px beside an entry's text


class Ticks(QStyledItemDelegate):
    """Toggles an entry's check box on a click anywhere on the entry."""

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: QModelIndex
    ) -> bool:
        if not isinstance(event, QMouseEvent):
            return super().editorEvent(event, model, option, index)
        if event.type() == QEvent.Type.MouseButtonRelease and event.button() == Qt.MouseButton.LeftButton:
            checked = Qt.CheckState(index.data(Qt.ItemDataRole.CheckStateRole)) == Checked
            model.setData(index, (Unchecked if checked else Checked).value, Qt.ItemDataRole.CheckStateRole)
        return True


class _Popup(QFrame):
    """Closes on Escape, Return, or a click outside."""

    def __init__(self, parent: QWidget):
        super().__init__(parent, Qt.WindowType.Popup, objectName="popup")
        self.setAttribute(Qt.WidgetAttribute.WA_NoMouseReplay)  # else a click on the box would open it again

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.hide()
        else:
            super().keyPressEvent(event)


class PickBox(QComboBox):
    """The ticked entries of `list`, joined by commas; `kind` names them if all or none are ticked.

    `footer` is shown below the list.
    """

    def __init__(self, kind: str, footer: QWidget | None = None):
        super().__init__()
        self._kind = kind
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.popup, self.list = _Popup(self), QListWidget()
        self.list.setItemDelegate(Ticks(self.list))
        self.list.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemChanged.connect(self.refresh)
        layout = vertical(self.list, of=self.popup, margins=(4, 4, 4, 4))
        if footer is not None:
            layout.addWidget(footer)

    def add(self, text: str, what: object, checked: bool = False) -> QListWidgetItem:
        """Add an entry with the data `what`."""
        item = QListWidgetItem(text, self.list)
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
        item.setData(Role, what)
        item.setCheckState(Checked if checked else Unchecked)
        return item

    @property
    def entries(self) -> list[QListWidgetItem]:
        """The visible entries."""
        return [item for row in range(self.list.count()) if not (item := self.list.item(row)).isHidden()]

    @property
    def ticked(self) -> list[QListWidgetItem]:
        return [item for item in self.entries if item.checkState() == Checked]

    @property
    def text(self) -> str:
        """The text shown in the box."""
        ticked, entries = self.ticked, self.entries
        if 1 < len(ticked) == len(entries):
            return f"all {len(ticked)} {self._kind}"
        return ", ".join(item.text() for item in ticked) or f"no {self._kind}"

    def refresh(self) -> None:
        """Show the currently ticked entries."""
        self.setToolTip(self.text)
        self.update()

    def showPopup(self) -> None:
        """Open the list below the box, or above it if the screen has too little space below."""
        rows, area = len(self.entries), self.screen().availableGeometry()
        edges = 2 * self.list.frameWidth() + 2
        self.list.setFixedHeight(min(rows * self.list.sizeHintForRow(0) + edges, area.height() // 2))
        self.popup.setFixedWidth(max(self.width(), self.list.sizeHintForColumn(0) + EDGE))
        self.popup.adjustSize()
        below = self.mapToGlobal(QPoint(0, self.height()))
        fits = below.y() + self.popup.height() <= area.bottom()
        self.popup.move(below if fits else self.mapToGlobal(QPoint(0, -self.popup.height())))
        self.popup.show()
        self.list.setFocus(Qt.FocusReason.PopupFocusReason)
        current = self.list.currentItem()
        if current is None or current.isHidden():
            self.list.setCurrentItem(self.entries[0])

    def hidePopup(self) -> None:
        self.popup.hide()

    def paintEvent(self, _: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        style, control = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(style, option, control, self).width()
        count, text = len(self.ticked), self.text
        if count > 1 and self.fontMetrics().horizontalAdvance(text) > room:
            text = f"{count} {self._kind}"  # a tooltip has their names
        option.currentText = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
        painter.drawComplexControl(style, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
