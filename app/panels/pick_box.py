"""A box that names what is ticked of a list, and opens the list over the window, however little room its panel has."""

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
    QVBoxLayout,
    QWidget,
)

Role = Qt.ItemDataRole.UserRole
Checked, Unchecked = Qt.CheckState.Checked, Qt.CheckState.Unchecked
EDGE = 30  # px of an entry beside its text


class Ticks(QStyledItemDelegate):
    """A click anywhere on an entry checks it or not, as one on its box does."""

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
    """Closes by Escape or Return, or by a click beside it."""

    def __init__(self, parent: QWidget):
        super().__init__(parent, Qt.WindowType.Popup, objectName="popup")
        self.setAttribute(Qt.WidgetAttribute.WA_NoMouseReplay)  # else a click on the box would open it again

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.hide()
        else:
            super().keyPressEvent(event)


class PickBox(QComboBox):
    """The ticked entries of `list`, joined by commas; `kind` is what they are called where all are or none is.

    `footer` stands below the list.
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
        layout = QVBoxLayout(self.popup)
        layout.setContentsMargins(4, 4, 4, 4)
        layout.addWidget(self.list)
        if footer is not None:
            layout.addWidget(footer)

    def add(self, text: str, what: object, checked: bool = False) -> QListWidgetItem:
        """Add an entry that stands for `what`."""
        item = QListWidgetItem(text, self.list)
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
        item.setData(Role, what)
        item.setCheckState(Checked if checked else Unchecked)
        return item

    @property
    def entries(self) -> list[QListWidgetItem]:
        """Those that can be seen."""
        return [item for row in range(self.list.count()) if not (item := self.list.item(row)).isHidden()]

    @property
    def ticked(self) -> list[QListWidgetItem]:
        return [item for item in self.entries if item.checkState() == Checked]

    @property
    def text(self) -> str:
        """What the box says."""
        ticked, entries = self.ticked, self.entries
        if 1 < len(ticked) == len(entries):
            return f"all {len(ticked)} {self._kind}"
        return ", ".join(item.text() for item in ticked) or f"no {self._kind}"

    def refresh(self) -> None:
        """Say what is ticked now."""
        self.setToolTip(self.text)
        self.update()

    def showPopup(self) -> None:
        """Below the box, or above it where the screen ends."""
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
        option.currentText = self.fontMetrics().elidedText(self.text, Qt.TextElideMode.ElideRight, room)
        painter.drawComplexControl(style, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
