"""The robot panel: a tree of links and joints, and below it facts about the selected one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PyQt6.QtCore import QItemSelectionModel, QModelIndex, QPoint, QRect, QSize, QSortFilterProxyModel, Qt, pyqtSignal
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
    QTreeView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

import engine
from app.desktop import theme
from app.desktop.breaks import breakable, unbroken
from app.desktop.layouts import NO_MARGINS, vertical
from app.panels.inspection import Section
from app.panels.robot_tree import Entry, entries

LINK = Qt.ItemDataRole.UserRole
HEADINGS = ["Link", "Joint", ""]
EYE, EYE_WIDTH = 2, 28  # the column of the eyes, px
LEAST_JOINT = 48  # px, of the column of joints
NOTHING = "No link or joint has these letters"
SELECT = "Select a link to see its properties"
INDENT, PADDING, PAD = 10, 20, 4  # px of the inspector's rows: of their labels, beside a text, above and below it
TALLEST = 10_000  # px, of a wrapped text
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


class Inspector(QTreeWidget):
    """Sections of labels and values that Ctrl+C and the context menu copy.

    Texts without room in their column wrap there, and labels as far as values need the room. Columns and rows keep
    their sizes until the width or the labels change, since numbers vary.
    """

    visibility_changed = pyqtSignal()
    """It is visible again, when its content may be of a previous robot, or no longer."""

    def __init__(self) -> None:
        super().__init__()
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(INDENT)
        self.setWordWrap(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._offer)
        self.header().setMinimumSectionSize(0)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.header().setStretchLastSection(False)
        self._labels: tuple[tuple[str, ...], ...] = ()
        self._widest = 0  # px, of the values since the width or the labels changed last
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
            self._labels, self._widest = labels, 0
        for line, row in zip(self._lines(), (row for section in sections for row in section.rows), strict=True):
            if line.text(1) != (text := breakable(row.text)):
                line.setText(1, text)
                line.setForeground(1, theme.color("warning") if row.warns else QBrush())
                line.setToolTip(1, f"{row.text}\n{row.tip}" if row.tip else row.text)
        self._wrap()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._widest = 0
            for line in self._lines():
                line.setSizeHint(1, QSize())
            self._wrap()

    def _lines(self) -> list[QTreeWidgetItem]:
        sections = map(self.topLevelItem, range(self.topLevelItemCount()))
        return [section.child(number) for section in sections for number in range(section.childCount())]

    def _wrap(self) -> None:
        """Share the width between labels and values, and make rows as high as their texts."""
        room, lines, metrics = self.viewport().width(), self._lines(), self.fontMetrics()
        label, value = (max((metrics.horizontalAdvance(each.text(k)) for each in lines), default=0) for k in (0, 1))
        self._widest = max(self._widest, value + PADDING)
        label = min(label + INDENT + PADDING, max(room // 2, room - self._widest))
        self.setColumnWidth(0, label)
        self.setColumnWidth(1, room - label)
        widths, wraps = (label - INDENT - PADDING, room - label - PADDING), Qt.TextFlag.TextWordWrap
        for line in lines:
            areas = [QRect(0, 0, max(width, 1), TALLEST) for width in widths]
            high = max(metrics.boundingRect(area, wraps, line.text(k)).height() for k, area in enumerate(areas))
            if line.sizeHint(1).height() < high + PAD:
                line.setSizeHint(1, QSize(0, high + PAD))

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
                for column in (0, 1):
                    line.setTextAlignment(column, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)

    def text(self, selected: bool = False) -> str:
        """Return all lines, or the selected ones, with tabs between label and value."""
        lines: list[QTreeWidgetItem] = []
        for place in range(self.topLevelItemCount()):
            item = self.topLevelItem(place)
            every = (item, *(item.child(number) for number in range(item.childCount())))
            lines += [line for line in every if line.isSelected() or not selected]
        return unbroken("\n".join("\t".join(filter(None, (line.text(0), line.text(1)))) for line in lines))

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
