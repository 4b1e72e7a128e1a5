"""The robot panel: a tree of links and joints, and below it facts about the selected one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from PyQt6.QtCore import QItemSelectionModel, QModelIndex, QPoint, QSize, QSortFilterProxyModel, Qt, pyqtSignal
from PyQt6.QtGui import (
    QBrush,
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QStandardItem,
    QStandardItemModel,
)
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QSplitter,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

import engine
from app.desktop import theme
from app.desktop.layouts import NO_MARGINS, vertical
from app.panels.inspection import Section
from app.panels.robot_tree import Entry, entries

LINK = Qt.ItemDataRole.UserRole
HEADINGS = ["Link", "Joint", ""]
EYE, EYE_WIDTH = 2, 28  # the column of the eyes, px
LEAST_JOINT = 48  # px, of the column of joints
NOTHING = "No link or joint has these letters"
SELECT = "Select a link to see its properties"
INDENT, PADDING, VALUE_INSET = 10, 2, 10  # px of the inspector's rows, as in `theme.qss`
OPEN = 60  # largest number of links at which the tree is expanded


class LinkTree(QTreeView):
    """The links and the joints that carry them, narrowed down by a filter text."""

    chosen = pyqtSignal(int)
    """The link selected by a click or a key; −1 for none."""
    eye_pressed = pyqtSignal(int)
    """The link whose eye was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self._items = QStandardItemModel(0, len(HEADINGS))
        self._items.setHorizontalHeaderLabels(HEADINGS)
        self._shown = QSortFilterProxyModel(recursiveFilteringEnabled=True)
        self._shown.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._shown.setFilterKeyColumn(-1)
        self._shown.setSourceModel(self._items)
        self._of_link: dict[int, QStandardItem] = {}
        self._hidden: frozenset[int] = frozenset()
        self.setModel(self._shown)
        self.setUniformRowHeights(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setIndentation(11)
        self.selectionModel().currentChanged.connect(self._emit_chosen)
        for changed in (self.expanded, self.collapsed, self.verticalScrollBar().valueChanged):
            changed.connect(lambda _: self._fit_columns())
        theme.signals.changed.connect(self._apply_theme)

    def _apply_theme(self) -> None:
        for link in self._of_link.values():
            self._items.itemFromIndex(link.index().siblingAtColumn(1)).setForeground(theme.color("faint"))
        self._show_eyes(self._hidden)

    def set_robot(self, model: engine.Model) -> None:
        """Show another robot's links, with none selected."""
        self._items, self._of_link = QStandardItemModel(0, len(HEADINGS)), {}
        self._items.setHorizontalHeaderLabels(HEADINGS)
        for entry in entries(model):
            above = self._items.invisibleRootItem() if entry.under < 0 else self._of_link[entry.under]
            above.appendRow(self._row(entry))
        self._show_eyes(self._hidden)
        blocked = self.selectionModel().blockSignals(True)
        self._shown.setSourceModel(self._items)  # filled beforehand, since views are notified of every added row
        self.selectionModel().blockSignals(blocked)
        self.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(EYE, QHeaderView.ResizeMode.Fixed)
        self.header().setMinimumSectionSize(EYE_WIDTH)
        self.header().resizeSection(EYE, EYE_WIDTH)
        if len(model.link_names) <= OPEN:
            self.expandAll()
        else:
            self.expandToDepth(0)
        self._fit_columns()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        """Give names of links the width that they need; leave out joints without room."""
        room, links, modes = self.viewport().width() - EYE_WIDTH, self.sizeHintForColumn(0), QHeaderView.ResizeMode
        alone = links + LEAST_JOINT > room
        self.header().setSectionResizeMode(0, modes.Stretch if alone and links <= room else modes.ResizeToContents)
        self.setColumnHidden(1, alone)

    def _row(self, entry: Entry) -> list[QStandardItem]:
        link = QStandardItem(entry.name)
        joint, eye = QStandardItem(entry.joint or entry.kind), QStandardItem(theme.icon("eye"), "")
        eye.setToolTip("Hide this link in the picture")
        for item in (link, joint, eye):
            item.setData(entry.link, LINK)
            item.setEditable(False)
        joint.setForeground(theme.color("faint"))
        joint.setToolTip(f"{entry.joint}: {entry.kind}" if entry.joint else entry.kind)
        self._of_link[entry.link] = link
        return [link, joint, eye]

    def show_hidden(self, links: frozenset[int]) -> None:
        """Mark these links as hidden, and all others as shown."""
        changed, self._hidden = links ^ self._hidden, links
        self._show_eyes(changed)

    def _show_eyes(self, links: Iterable[int]) -> None:
        """Draw the eyes and names of links as hidden or shown; the tree may not list them yet."""
        for link in links:
            if (item := self._of_link.get(link)) is not None:
                hidden = link in self._hidden
                item.setForeground(theme.color("faint" if hidden else "text"))
                eye = self._items.itemFromIndex(item.index().siblingAtColumn(EYE))
                eye.setIcon(theme.icon("eye_off" if hidden else "eye"))
                eye.setToolTip("Show this link in the picture" if hidden else "Hide this link in the picture")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Report a click on an eye; others select."""
        index = self.indexAt(event.position().toPoint())
        if index.column() == EYE and event.button() == Qt.MouseButton.LeftButton:
            self.eye_pressed.emit(index.data(LINK))
        else:
            super().mousePressEvent(event)

    def filter(self, text: str) -> None:
        """Show only links whose name or joint's name contains a text, with their ancestors."""
        self._shown.setFilterFixedString(text)
        if text:
            self.expandAll()
        self._reveal(self.currentIndex())

    def choose(self, link: int) -> None:
        """Select a link and scroll to it; −1 for none."""
        item = self._of_link.get(link)
        index = self._shown.mapFromSource(item.index()) if item is not None else QModelIndex()
        if index.row() == self.currentIndex().row() and index.parent() == self.currentIndex().parent():
            return
        blocked = self.selectionModel().blockSignals(True)
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.selectionModel().blockSignals(blocked)
        self.viewport().update()
        self._reveal(index)

    def _reveal(self, index: QModelIndex) -> None:
        if index.isValid():
            self.scrollTo(index)

    def _emit_chosen(self, current: QModelIndex) -> None:
        self.chosen.emit(current.data(LINK) if current.isValid() else -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Clear the selection on Escape; leave letters to the window's shortcuts instead of searching."""
        if event.key() == Qt.Key.Key_Escape:
            self.selectionModel().clear()
            self.chosen.emit(-1)
        elif event.text().isprintable() and event.text():
            event.ignore()
        else:
            super().keyPressEvent(event)


class ValueBelow(QStyledItemDelegate):
    """Paints the value of a spanned row on a line of its own, below the label."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        size = super().sizeHint(option, index)
        return size + QSize(0, option.fontMetrics.lineSpacing() if self._value(index) else 0)

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        if self._value(index):
            option.displayAlignment = Qt.AlignmentFlag.AlignTop

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        super().paint(painter, option, index)
        if value := self._value(index):
            tree = cast(QTreeWidget, self.parent())
            room = tree.style().subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, tree)
            painter.save()
            painter.setPen(theme.color("text"))
            room.adjust(VALUE_INSET, 0, 0, -PADDING)
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, value)
            painter.restore()

    def _value(self, index: QModelIndex) -> str:
        """Return the text of a row that is spanned; "" of others, and of titles, which have none."""
        tree = cast(QTreeWidget, self.parent())
        spanned = index.column() == 0 and tree.isFirstColumnSpanned(index.row(), index.parent())
        return str(index.siblingAtColumn(1).data() or "") if spanned else ""


class Inspector(QTreeWidget):
    """Sections of labels and values that Ctrl+C and the context menu copy.

    A value without room beside its label is below it until the width or the labels change, since numbers vary.
    """

    visibility_changed = pyqtSignal()
    """It is visible again, when its content may be of a previous robot, or no longer."""

    def __init__(self) -> None:
        super().__init__()
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(INDENT)
        self.setItemDelegate(ValueBelow(self))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._offer)
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        self.header().setSectionResizeMode(
            1, QHeaderView.ResizeMode.Stretch
        )  # a stretched last one has 100 px at least
        self.header().setStretchLastSection(False)
        self._labels: tuple[tuple[str, ...], ...] = ()
        theme.signals.changed.connect(self._apply_theme)

    def _apply_theme(self) -> None:
        for place in range(self.topLevelItemCount()):
            section = self.topLevelItem(place)
            section.setForeground(0, theme.color("accent"))
            for number in range(section.childCount()):
                line = section.child(number)
                line.setForeground(0, theme.color("faint"))
                if line.foreground(1).style() != Qt.BrushStyle.NoBrush:
                    line.setForeground(1, theme.color("warning"))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.visibility_changed.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.visibility_changed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._labels:
            painter = QPainter(self.viewport())
            painter.setPen(theme.color("faint"))
            painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, SELECT)

    def show_sections(self, sections: Sequence[Section]) -> None:
        """Show sections; where labels are unchanged only the values change, and the selection stays."""
        labels = tuple((section.title, *(row.label for row in section.rows)) for section in sections)
        if labels != self._labels:
            self._build(sections)
            self._labels = labels
        for place, section in enumerate(sections):
            item = self.topLevelItem(place)
            for number, row in enumerate(section.rows):
                line = item.child(number)
                if line.text(1) != row.text:
                    line.setText(1, row.text)
                    line.setForeground(1, theme.color("warning") if row.warns else QBrush())
                    line.setToolTip(1, f"{row.text}\n{row.tip}" if row.tip else row.text)
        self._put_below()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            for line in self._lines():
                line.setFirstColumnSpanned(False)
            self.scheduleDelayedItemsLayout()
            self._put_below()

    def _lines(self) -> list[QTreeWidgetItem]:
        sections = map(self.topLevelItem, range(self.topLevelItemCount()))
        return [section.child(number) for section in sections for number in range(section.childCount())]

    def _put_below(self) -> None:
        """Put values below their labels that have no room beside them, nor beside the labels of the others."""
        room = self.viewport().width() - INDENT
        lines = [line for line in self._lines() if not line.isFirstColumnSpanned()]
        hint, cell = self.sizeHintForIndex, self.indexFromItem
        beside = [(line, hint(cell(line, 0)).width(), hint(cell(line, 1)).width()) for line in lines]
        while beside:
            labels = max(label for _, label, _ in beside)
            wide = [row for row in beside if row[1] + row[2] > room]
            wide = wide or [row for row in beside if labels + row[2] > room]
            if not wide:
                return
            for line, *_ in wide:
                line.setFirstColumnSpanned(True)
            beside = [row for row in beside if not row[0].isFirstColumnSpanned()]
            self.scheduleDelayedItemsLayout()  # for their heights

    def _build(self, sections: Sequence[Section]) -> None:
        self.clear()
        for section in sections:
            item = QTreeWidgetItem(self, [section.title])
            item.setFirstColumnSpanned(True)
            item.setForeground(0, theme.color("accent"))
            item.setExpanded(True)
            for row in section.rows:
                line = QTreeWidgetItem(item, [row.label, ""])
                line.setForeground(0, theme.color("faint"))
                line.setToolTip(0, row.tip)

    def text(self, selected: bool = False) -> str:
        """Return all lines, or the selected ones, with tabs between label and value."""
        lines: list[QTreeWidgetItem] = []
        for place in range(self.topLevelItemCount()):
            item = self.topLevelItem(place)
            every = (item, *(item.child(number) for number in range(item.childCount())))
            lines += [line for line in every if line.isSelected() or not selected]
        return "\n".join("\t".join(filter(None, (line.text(0), line.text(1)))) for line in lines)

    def copy(self, selected: bool) -> None:
        QGuiApplication.clipboard().setText(self.text(selected))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy(selected=bool(self.selectedItems()))
        elif event.text().isprintable() and event.text():
            event.ignore()
        else:
            super().keyPressEvent(event)

    def _offer(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction("&Copy", lambda: self.copy(selected=True)).setEnabled(bool(self.selectedItems()))
        menu.addAction("Copy &all", lambda: self.copy(selected=False))
        menu.exec(self.viewport().mapToGlobal(place))


class RobotPanel(QWidget):
    """The filter, the tree and the inspector."""

    def __init__(self) -> None:
        super().__init__()
        self.tree, self.inspector = LinkTree(), Inspector()
        self.search = QLineEdit(placeholderText="Filter links and joints", clearButtonEnabled=True)
        self.search.textChanged.connect(self._filter)
        self.nothing, upper = QLabel(NOTHING, wordWrap=True, visible=False), QWidget()
        theme.tint(self.nothing, "faint")
        above = vertical(self.search, self.nothing, margins=(6, 6, 6, 6))
        vertical(above, self.tree, of=upper, margins=NO_MARGINS, spacing=0)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.addWidget(upper)
        self.splitter.addWidget(self.inspector)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setSizes([300, 330])
        vertical(self.splitter, of=self, margins=NO_MARGINS)

    def _filter(self, text: str) -> None:
        self.tree.filter(text)
        self.nothing.setVisible(bool(text) and not self.tree.model().rowCount())

    def set_robot(self, model: engine.Model) -> None:
        """Show another robot."""
        self.search.clear()
        self.tree.set_robot(model)
        self.inspector.show_sections(())
