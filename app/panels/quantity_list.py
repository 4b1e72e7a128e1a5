"""A searchable list of all quantities, with a tick at each plotted one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PyQt6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QFontMetrics, QKeyEvent
from PyQt6.QtWidgets import QLabel, QLineEdit, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.acting.coordinates import label_of
from app.desktop import theme, type_scale
from app.desktop.layouts import vertical
from app.plotting.catalogue import Catalogue
from app.plotting.quantities import Quantity

Role = Qt.ItemDataRole
HINT = "Search, e.g. elbow torque"
TIP = "Search by joint, link, quantity or unit; Return plots the first match"
ROW_HEIGHT = 22  # px
TICK_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_MEANINGS = {
    "": "logged by the controller or the script",
    "acceleration": "finite difference of the velocity between samples",
    "torque": "effort of the drive, with its gains, within the limit",
    "force": "effort of the drive, with its gains, within the limit",
    "power": "effort of the drive times the joint's velocity; negative while it brakes",
    "position setpoint": "of the position drive; empty without one",
    "error": "setpoint − position; empty without a position drive",
    "energy drift": "total energy minus its value at the curve's start; drives, friction and impacts change it too",
    "angular momentum": "about the world's origin",
    "contact force": "sum of all contacts",
    "contact residual": "relative residual of the contact solver",
    "support margin": "distance of the centre of mass, seen along gravity, from the edge of the support polygon",
}


class QuantityModel(QAbstractListModel):
    """A model of the quantities found, with a tick at each plotted one."""

    toggled = pyqtSignal(object, bool)
    """A `Quantity`, and whether to plot it."""

    def __init__(self) -> None:
        super().__init__()
        self.quantities = Catalogue()
        self.shown: Sequence[Quantity] = ()
        self.tints: Mapping[Quantity, str] = {}
        """The curve colours of the plotted quantities."""

    def show(self, text: str) -> None:
        """List the quantities that contain all words of a text."""
        self.beginResetModel()
        self.shown = self.quantities.found(text)
        self.endResetModel()

    def set_tints(self, tints: Mapping[Quantity, str]) -> None:
        self.tints = dict(tints)
        self.dataChanged.emit(self.index(0), self.index(len(self.shown) - 1))

    def rowCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.shown)

    def data(self, index: QModelIndex, role: int = Role.DisplayRole) -> object:
        quantity = self.shown[index.row()]
        if role == Role.DisplayRole:
            return quantity.label
        if role == Role.CheckStateRole:
            return Qt.CheckState.Checked if quantity in self.tints else Qt.CheckState.Unchecked
        if role == Role.ForegroundRole and quantity in self.tints:
            return QColor(self.tints[quantity])
        if role == Role.ToolTipRole:
            unit = f" ({quantity.unit.label})" if quantity.unit.label else ""
            meaning = _MEANINGS.get(quantity.kind, "")
            return f"{quantity.label}{unit}{': ' if meaning else ''}{meaning}"
        if role == Role.SizeHintRole:
            return QSize(60, type_scale.row(ROW_HEIGHT))
        return None

    def toggle(self, index: QModelIndex) -> None:
        """Request to plot a quantity, or to remove it."""
        quantity = self.shown[index.row()]
        self.toggled.emit(quantity, quantity not in self.tints)


class Names(QStyledItemDelegate):
    """Elides the names of joints and links where a row is narrow: what is plotted of them stays."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        model, view = index.model(), option.widget
        if isinstance(model, QuantityModel) and isinstance(view, QWidget):
            style, part = view.style(), QStyle.SubElement.SE_ItemViewItemText
            margin = style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, view) + 1
            room = style.subElementRect(part, option, view).width() - 2 * margin
            option.text = fitted(model.shown[index.row()], option.fontMetrics, room)


def fitted(quantity: Quantity, metrics: QFontMetrics, room: int) -> str:
    """Return a quantity's label, with the name of its owner elided if it is wider than `room`, px."""
    label, name = quantity.label, label_of(quantity.name)
    if not name or metrics.horizontalAdvance(label) <= room:
        return label
    kind = label.removeprefix(name)
    left = max(room - metrics.horizontalAdvance(kind), metrics.horizontalAdvance("…"))
    return metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, left) + kind


class QuantityList(QWidget):
    """A search field above the list. The keys Down and Up move between them, Return and Space toggle ticks.

    Escape clears the search, after which keys are the window's shortcuts.

    After a tick by mouse, Space is the window's shortcut again, until a key moves the selection in the list.
    """

    def __init__(self) -> None:
        super().__init__()
        self.model = QuantityModel()
        self.search, self.view, self.count = QLineEdit(), QListView(), QLabel(wordWrap=True)
        self.search.setPlaceholderText(HINT)
        self.search.setToolTip(TIP)
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("search quantities")
        self.view.setModel(self.model)
        self.view.setItemDelegate(Names(self.view))
        self.view.setUniformItemSizes(True)
        self.view.setAccessibleName("quantities")
        self.view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        vertical(self.search, self.view, self.count, of=self, margins=(6, 6, 0, 4), spacing=4)
        self.search.textChanged.connect(self._search)
        self.search.returnPressed.connect(self._plot_first)
        self.view.clicked.connect(self.model.toggle)
        self.search.installEventFilter(self)
        self.view.installEventFilter(self)
        theme.tint(self.count, "faint")

    def set_quantities(self, quantities: Catalogue) -> None:
        """Set the quantities to select from."""
        self.model.quantities = quantities
        self._search(self.search.text())

    def _search(self, text: str) -> None:
        self.model.show(text)
        shown, all_ = len(self.model.shown), len(self.model.quantities)
        some = f"{shown:,} of {all_:,}" if shown else f"none of {all_:,} has these words"
        self.count.setText(some if shown < all_ else f"{all_:,} quantities")

    def _plot_first(self) -> None:
        if self.model.shown:
            self.model.toggle(self.model.index(0))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        key, current = event.key(), self.view.currentIndex()
        if watched is self.search and key == Qt.Key.Key_Escape:
            self.search.clear()
            self.search.clearFocus()
            return True
        if watched is self.search and key == Qt.Key.Key_Down and self.model.shown:
            self.view.setFocus()
            self.view.setCurrentIndex(self.model.index(max(current.row(), 0)))
            return True
        if watched is self.view and key == Qt.Key.Key_Up and current.row() <= 0:
            self.search.setFocus()
            return True
        if watched is self.view and key in TICK_KEYS and current.isValid():
            self.model.toggle(current)
            return True
        return super().eventFilter(watched, event)
