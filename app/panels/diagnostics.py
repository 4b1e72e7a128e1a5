"""The diagnostics panel: the problems of a file, their lines, and how to fix them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import cast

from PyQt6.QtCore import QModelIndex, QRect, QSize, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QGuiApplication, QTextCursor
from PyQt6.QtWidgets import (
    QHeaderView,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

import engine
from app.desktop import theme, type_scale
from app.desktop.actions import open_outside
from app.desktop.breaks import breakable
from app.desktop.dialogs import ask_path
from app.desktop.layouts import NO_MARGINS, horizontal, vertical
from app.jobs.expanding import Expanded, Expanding
from app.jobs.repairing import Repaired, Repairing

LEAST_HEIGHT = 40  # px
COLUMNS = ("line", "element", "problem", "fix")
LINE, ELEMENT, PROBLEM, FIX = range(4)
ELEMENT_WIDTH = 240  # px, its largest width
PAD = 10  # px beside the text of a cell
POLL = 50  # ms between polls of the copy being written
TRUST_TIP = (
    "The file may run any Python code with your user rights: open it\n"
    "only if you trust its source. You are asked each time."
)
EXCERPT = 2  # lines of the file before and after the one with the problem
LEAST_DOCK = 150  # px
WHOLE = 720  # px, the width in which most problems and fixes take two lines
MANY = 40  # rows that do not fit on any screen
ALIKE = 5  # warnings of one kind that are folded into one row
NUMBER = Qt.ItemDataRole.UserRole
"""A row's data in column `LINE`: its diagnostic's number, in the row of folded ones the first's."""
AROUND = 7  # lines of text: the height of titles, buttons and the header
OUTDATED = "{} has changed since, and F5 reads it: this list is of the file as it was"


class Wrapped(QStyledItemDelegate):
    """Makes tree rows as high as their wrapped text; by default a row has one line."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        size = super().sizeHint(option, index)
        tree = cast(QTreeWidget, self.parent())
        icon = tree.iconSize().width() + PAD if index.column() == 0 else 0
        room = QRect(0, 0, max(40, tree.columnWidth(index.column()) - 2 * PAD - icon), 10_000)
        words = tree.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, index.data() or "")
        return QSize(size.width(), max(size.height(), words.height() + PAD))

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        option.decorationAlignment = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter  # as the text beside it


class DiagnosticsPanel(QWidget):
    """A row per diagnostic of one file, or per kind of many warnings; below them the lines around the selected one."""

    open_copy = pyqtSignal(str)
    """The path of a repaired copy to open."""
    trusted = pyqtSignal(str)
    """The path of a xacro file that the user trusts for this one opening."""

    def __init__(self) -> None:
        super().__init__()
        self._path = self._title = ""
        self._package_dirs: tuple[str, ...] = ()
        self._copied = ""
        self._repairing = Repairing()
        self._timer = QTimer(self, interval=POLL, timeout=self._poll)
        self._source: list[str] = []
        self._expand: Callable[[], bytes] | None = None  # for lines of the expanded text
        self._expanding, self._expanded = Expanding(), Expanded("")
        self._expansion = QTimer(self, interval=POLL, timeout=self._poll_expansion)
        self.diagnostics: list[engine.Diagnostic] = []
        """The diagnostics shown, in their order."""
        self._alike: dict[tuple[str, str], list[QTreeWidgetItem]] = {}  # the rows of warnings, by their `_kind`
        self.summary, self.outcome = (QLabel(textFormat=Qt.TextFormat.PlainText) for _ in range(2))
        self.summary.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.outcome.setWordWrap(True)
        self.outcome.setContentsMargins(10, 0, 8, 5)
        self.outcome.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.repair_button = QPushButton("Write repaired copy…")
        self.repair_button.setToolTip(
            "Write a copy of the file with every repair made explicit; comments and layout are kept"
        )
        self.repair_button.clicked.connect(self._ask)
        self.open_button = QPushButton("Open the copy", toolTip="Load the repaired copy in place of the file")
        self.open_button.clicked.connect(lambda: self.open_copy.emit(self._copied))
        self.trust_button = QPushButton("Trust this file and open it", toolTip=TRUST_TIP)
        self.trust_button.clicked.connect(lambda: self.trusted.emit(self._path))
        self._copy = QPushButton("Copy", toolTip="Copy the selected diagnostics, or all of them, as text")
        self._copy.clicked.connect(self.copy)
        self._open = QPushButton("Open file", toolTip="Open the file in your editor", clicked=self._open_file)
        self.list = self._make_list()
        self.excerpt = QPlainTextEdit(readOnly=True)
        self.excerpt.setFont(type_scale.fixed_font())
        self.excerpt.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.excerpt.setMaximumHeight((2 * EXCERPT + 3) * self.excerpt.fontMetrics().lineSpacing())  # and a scroll bar
        self._arrange()

    def _make_list(self) -> QTreeWidget:
        view = QTreeWidget()
        view.setHeaderLabels(COLUMNS)
        view.setRootIsDecorated(False)
        view.setWordWrap(True)
        view.setItemDelegate(Wrapped(view))
        view.setAllColumnsShowFocus(True)
        view.setSelectionMode(QTreeWidget.SelectionMode.ExtendedSelection)
        header = view.header()
        header.setSectionResizeMode(LINE, QHeaderView.ResizeMode.ResizeToContents)
        for column in (PROBLEM, FIX):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        header.sectionResized.connect(lambda *_: view.scheduleDelayedItemsLayout())  # row heights depend on wrapping
        view.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        view.currentItemChanged.connect(lambda item: self._show_excerpt(item))
        theme.signals.changed.connect(self._apply_theme)
        return view

    def _arrange(self) -> None:
        buttons = self.trust_button, self.open_button, self.repair_button, self._copy, self._open
        bar = horizontal((self.summary, 1), *buttons, margins=(10, 5, 8, 5), spacing=6)
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.addWidget(self.list)
        parts.addWidget(self.excerpt)
        for each in (self.list, self.excerpt):
            each.setMinimumHeight(LEAST_HEIGHT)
        parts.setStretchFactor(0, 3)
        parts.setStretchFactor(1, 2)
        vertical(bar, self.outcome, (parts, 1), of=self, margins=NO_MARGINS, spacing=0)

    def height_needed(self) -> int:
        """Return the height of a dock, px, in which all rows are seen as they wrap now, and the lines of the file."""
        index, columns = self.list.model().index, range(len(COLUMNS))
        hint = self.list.sizeHintForIndex
        count = min(self.list.topLevelItemCount(), MANY)
        rows = sum(max(hint(index(k, column)).height() for column in columns) for k in range(count))
        excerpt = self.excerpt.maximumHeight() if not self.excerpt.isHidden() else 0
        return max(LEAST_DOCK, rows + excerpt + AROUND * self.fontMetrics().lineSpacing())

    @property
    def count(self) -> int:
        return len(self.diagnostics)

    def show_file(
        self,
        path: str,
        title: str,
        diagnostics: Iterable[engine.Diagnostic],
        package_dirs: Iterable[str] = (),
        expand: Callable[[], bytes] | None = None,
    ) -> None:
        """Show the diagnostics of another file, with their count after the title.

        `package_dirs` are the folders that were searched for the file's packages; `expand` returns the expanded text of
        a xacro file, and raises for one that cannot be expanded.
        """
        self._path, self._title, self.diagnostics = path, title, []
        self._expand, self._expanded = expand, Expanded("")
        self._package_dirs = tuple(package_dirs)
        self._show_outcome("")
        self.show_trust_button(False)
        self._source = _lines(path)
        self._open.setEnabled(bool(self._source))
        self.list.clear()
        self.list.setRootIsDecorated(False)
        self._alike.clear()
        self.excerpt.clear()
        self.add(diagnostics)
        if self.diagnostics:  # an error, which is why the file was not loaded, is the first to be read
            rows = [*map(self.list.topLevelItem, range(self.list.topLevelItemCount()))]
            self.list.setCurrentItem(next((row for row in rows if self._of(row)[0].severity == "error"), rows[0]))

    def show_outdated(self, file: str, changed: str) -> None:
        """Say that the list is of a file as it was before `changed`, the file or one beside it, was written."""
        if file == self._path:
            self._show_outcome(OUTDATED.format(Path(changed).name))

    def show_trust_button(self, on: bool) -> None:
        """Show or hide the button for a file that was refused for what only a trusted xacro file may do."""
        self.trust_button.setVisible(on)

    def add(self, diagnostics: Iterable[engine.Diagnostic]) -> None:
        """Append later diagnostics, for instance of a mesh that could not be read."""
        for each in diagnostics:
            item = _row(each, len(self.diagnostics), str(each.line or ""), each.element)
            self.diagnostics.append(each)
            self.list.addTopLevelItem(item)
            if each.severity == "warning":
                self._fold(item, each)
        elements = (each.element for each in self.diagnostics)
        words = max(map(self.fontMetrics().horizontalAdvance, (COLUMNS[ELEMENT], *elements)))
        self.list.setColumnWidth(ELEMENT, min(words + 2 * PAD, ELEMENT_WIDTH))
        self.repair_button.setVisible(any(each.repair for each in self.diagnostics))
        self.summary.setText(f"{self._title}: {_counts(self.diagnostics) or 'no problems'}")
        self.excerpt.setVisible(any(each.line for each in self.diagnostics) and bool(self._source))

    def _fold(self, item: QTreeWidgetItem, warning: engine.Diagnostic) -> None:
        """Put the row of a warning below one for all of its kind, once there are `ALIKE`."""
        alike = self._alike.setdefault(_kind(warning), [])
        alike.append(item)
        if len(alike) < ALIKE:
            return
        if (whole := alike[0].parent()) is None:
            first = int(alike[0].data(LINE, NUMBER))
            whole = _row(self.diagnostics[first], first, "", "")
            self.list.insertTopLevelItem(self.list.indexOfTopLevelItem(alike[0]), whole)
            self.list.setRootIsDecorated(True)
        for row in alike if len(alike) == ALIKE else [item]:
            self.list.takeTopLevelItem(self.list.indexOfTopLevelItem(row))
            whole.addChild(row)
        whole.setText(ELEMENT, f"{len(alike)} alike, first {breakable(self._of(whole)[0].element)}")
        whole.setToolTip(ELEMENT, "Unfold the row to read each")

    def _of(self, row: QTreeWidgetItem) -> list[engine.Diagnostic]:
        """Return the diagnostics of a row, several of a folded one."""
        rows = [*map(row.child, range(row.childCount()))] or [row]
        return [self.diagnostics[each.data(LINE, NUMBER)] for each in rows]

    def copy(self) -> None:
        """Copy the selected diagnostics to the clipboard, or all if at most one is selected."""
        selected = [each for row in self.list.selectedItems() for each in self._of(row)]
        copied = [each for each in self.diagnostics if each in selected] if len(selected) > 1 else self.diagnostics
        QGuiApplication.clipboard().setText("\n".join(f"{self._path}: {each}" for each in copied))

    def _ask(self) -> None:
        source = Path(self._path)
        name = str(source.with_name(f"{source.stem}-repaired{source.suffix}"))
        if copy := ask_path(self, "Write a repaired copy", name, "Robots (*.urdf)", "urdf"):
            self.repair(copy)

    def repair(self, copy: str) -> None:
        """Write a repaired copy of the file, replacing an existing one; the result is shown in this panel."""
        self.repair_button.setEnabled(False)
        self._show_outcome(f"Writing {copy} …")
        self._repairing.start(self._path, copy, self._package_dirs)
        self._timer.start()

    def _poll(self) -> None:
        done = self._repairing.poll()
        if done is None:
            return
        self._timer.stop()
        self.repair_button.setEnabled(True)
        self._copied = done.path
        self._show_outcome(done.problem or _outcome(done), written=not done.problem)

    def _show_outcome(self, outcome: str, written: bool = False) -> None:
        """Show the result of writing the copy."""
        self.outcome.setText(outcome)
        self.outcome.setVisible(bool(outcome))
        self.open_button.setVisible(written)

    def close_thread(self) -> None:
        """Wait briefly for a copy that is being written; an incomplete one never replaces its target."""
        self._timer.stop()
        self._expansion.stop()
        self._repairing.close()
        self._expanding.close()

    def _open_file(self) -> None:
        if problem := open_outside(self._path):
            self._show_outcome(problem)

    def _apply_theme(self) -> None:
        self._show_excerpt(self.list.currentItem())

    def _show_excerpt(self, item: QTreeWidgetItem | None) -> None:
        shown = self._of(item)[0] if item else None
        self.excerpt.clear()
        if shown is None or (line := shown.line) is None:
            return
        source = self._lines_of_expansion() if shown.of_expanded_text else self._source
        first, last = max(1, line - EXCERPT), min(len(source), line + EXCERPT)
        if shown.of_expanded_text and source:
            faint, name = theme.COLORS["faint"], escape(Path(self._path).name)
            self.excerpt.appendHtml(f'<span style="color:{faint}">in the expanded text of {name}:</span>')
        for number in range(first, last + 1):
            tint = theme.COLORS["error" if number == line else "faint"]
            text = escape(source[number - 1].expandtabs(2)).replace(" ", "&nbsp;")
            mark = "▸" if number == line else "&nbsp;"
            self.excerpt.appendHtml(f'<span style="color:{tint}">{mark}{number:5d}&nbsp;&nbsp;{text}</span>')
        self.excerpt.moveCursor(QTextCursor.MoveOperation.Start)  # else a resize would scroll to the cursor

    def _lines_of_expansion(self) -> Sequence[str]:
        """Return the lines of the expanded text; none as long as it is being expanded, or cannot be."""
        if self._expanded.path != self._path and self._expand is not None:
            self._expanding.start(self._path, self._expand)
            self._expansion.start()
            self.excerpt.setPlainText(f"Expanding {Path(self._path).name} …")
        elif self._expanded.problem:
            self.excerpt.setPlainText(f"The expanded text cannot be shown: {self._expanded.problem}")
        return self._expanded.lines

    def _poll_expansion(self) -> None:
        if (done := self._expanding.poll()) is None:
            return
        self._expansion.stop()
        if done.path in ("", self._path):
            self._expanded = replace(done, path=self._path)
        self._show_excerpt(self.list.currentItem())


def _row(diagnostic: engine.Diagnostic, number: int, line: str, element: str) -> QTreeWidgetItem:
    """Return the row of a diagnostic with that number."""
    row = QTreeWidgetItem([line, *map(breakable, (element, diagnostic.problem, diagnostic.fix))])
    row.setIcon(LINE, theme.icon(diagnostic.severity))
    row.setData(LINE, NUMBER, number)
    for column, text in enumerate((diagnostic.severity, element, diagnostic.problem, diagnostic.fix)):
        row.setToolTip(column, text)
        row.setTextAlignment(column, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
    return row


def _kind(diagnostic: engine.Diagnostic) -> tuple[str, str]:
    """Return problem and fix without the names and numbers that differ between elements."""
    problem, fix = (re.sub(r"'[^']*'|\d+(\.\d+)?", "…", text) for text in (diagnostic.problem, diagnostic.fix))
    return problem, fix


def _counts(diagnostics: Iterable[engine.Diagnostic]) -> str:
    """Return a summary such as "2 errors, 1 warning"; "" if there are none."""
    parts = []
    for severity in ("error", "warning"):
        count = sum(each.severity == severity for each in diagnostics)
        if count:
            parts.append(f"{count} {severity}{'s' if count > 1 else ''}")
    return ", ".join(parts)


def _outcome(done: Repaired) -> str:
    """Return such as "Written: arm-repaired.urdf, with 3 repairs. 1 warning is left, to be fixed by hand."."""
    written = f"Written: {done.path}, with {done.count} repair{'s' * (done.count != 1)}."
    if not done.left:
        return f"{written} No problems remain."
    are = "is" if len(done.left) == 1 else "are"
    return f"{written} {_counts(done.left)} {are} left, to be fixed by hand."


def _lines(path: str) -> list[str]:
    """Return the lines of a text file; none of binary data, nor if it cannot be read, as a pipe without a writer."""
    try:
        content = engine.file_content(path)
        return [] if b"\0" in content else content.decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):  # the ValueError of an invalid file name
        return []
