"""The study panel: columns and chart type, a summary of the results, and the selected sample."""

from __future__ import annotations

import numpy as np
from PyQt6.QtCore import QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtWidgets import QComboBox, QGridLayout, QLabel, QPushButton, QWidget

import engine
from app.desktop import theme, type_scale
from app.desktop.layouts import NO_MARGINS, horizontal, vertical
from app.desktop.panel_scroller import scroller
from app.desktop.side_by_side import SideBySide
from app.panels.number_box import WholeBox
from app.panels.study_chart import StudyChart
from app.panels.study_kind import Wanted
from app.panels.study_kinds import KINDS

MAX_LINES = 8  # success-rate lines that the window colours automatically
NONE = "(none)"
WIDTH, BAR = 250, 10  # px, of the column beside the chart, and of its scroll bar, as in theme.qss


class StudyPanel(QWidget):
    """Shows the results of one study."""

    requested = pyqtSignal(int)
    """The number of the sample whose run to show."""
    export_asked = pyqtSignal()
    run_asked = pyqtSignal()
    """Run, continue or cancel the study."""

    def __init__(self) -> None:
        super().__init__()
        self.results: engine.StudyResults | None = None
        self.title, self.summary, self.note = (
            QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText) for _ in range(3)
        )
        self.title.setFont(type_scale.font("heading", bold=True))
        self.summary.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        theme.tint(self.note, "faint")
        self.kind_box, self.x_box, self.y_box, self.color_box = (QComboBox() for _ in range(4))
        self.kind_box.addItems(KINDS)
        self.chart, self.sample = StudyChart(), WholeBox()
        self.work, self.start = QLabel(), QPushButton()
        self.open_run, self.export = QPushButton("Open &run"), QPushButton("E&xport…")
        self._set_tips()
        self._arrange()
        for box in (self.kind_box, self.x_box, self.y_box, self.color_box):
            box.currentIndexChanged.connect(self._draw)
        self.chart.chosen.connect(self._take_click)
        self.chart.moved.connect(lambda step: self.sample.setValue(self.sample.value() + step))
        self.sample.valueChanged.connect(self._mark)
        self.open_run.clicked.connect(lambda: self.requested.emit(self.sample.value()))
        self.export.clicked.connect(self.export_asked)
        self.start.clicked.connect(self.run_asked)
        self.show_none("")

    def _set_tips(self) -> None:
        """Set the tooltips, and the accessible names for screen readers."""
        for widget, tip in (
            (self.kind_box, "Chart"),
            (self.x_box, "Horizontal axis"),
            (self.y_box, "Vertical axis; of a success rate the predicate"),
            (self.color_box, "Colour; of a success rate a line for each value"),
            (self.sample, "Number of the sample"),
            (self.open_run, "Compute this sample's run again, to the same bits, and show it with its timeline"),
            (self.export, "Write the results as one table, .csv or .parquet"),
        ):
            widget.setToolTip(tip)
            widget.setAccessibleName(tip.partition(";")[0])

    def _arrange(self) -> None:
        form = QGridLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setColumnStretch(1, 1)
        rows = ("&Chart", self.kind_box), ("&X", self.x_box), ("&Y", self.y_box), ("C&olour", self.color_box)
        self._labels = {}
        for row, (name, box) in enumerate(rows):
            label = QLabel(name)
            label.setBuddy(box)
            box.setMinimumWidth(60)
            self._labels[box] = label
            form.addWidget(label, row, 0)
            form.addWidget(box, row, 1)
        label = QLabel("&Sample")
        label.setBuddy(self.sample)
        beside, run = QWidget(), horizontal(label, (self.sample, 1), self.open_run)
        beside.setFixedWidth(WIDTH)
        parts = self.title, form, self.summary, self.note, 1, run, self.export
        vertical(*parts, of=beside, margins=NO_MARGINS, spacing=6)
        column = scroller(beside, sideways=False)
        column.setFixedWidth(WIDTH + BAR)
        self.sides = SideBySide(("Columns", "Chart"), (column, self.chart), spacing=10, margins=(10, 8, 10, 8))
        self._working = QWidget()
        horizontal((self.work, 1), self.start, of=self._working, margins=(10, 0, 10, 6))
        vertical((self.sides, 1), self._working, of=self, margins=NO_MARGINS, spacing=0)
        self.show_work("", "")

    def show_work(self, text: str, button: str) -> None:
        """Show how far the study is, in the row below, with a button of that text; without either no row."""
        self.work.setText(text)
        self.start.setText(button)
        self.start.setVisible(bool(button))
        self._working.setVisible(bool(text))

    def show_none(self, message: str) -> None:
        """Clear the panel; the message says why there are no results."""
        self.results = None
        self.title.setText("")
        self.summary.setText(message)
        self.note.setText("")
        self.sides.show_part(1, alone=not message)  # without one there is nothing to choose
        self.chart.show_kind(None, message)
        for widget in (self.kind_box, self.x_box, self.y_box, self.color_box, self.sample, self.open_run, self.export):
            widget.setEnabled(False)

    def show_results(self, results: engine.StudyResults) -> None:
        """Show a study's results, in a chart with suitable columns, or with those chosen if it is the one shown."""
        before, sample = self.results, self.sample.value()
        self.results = None  # so that nothing is drawn meanwhile
        if before is None or before.folder != results.folder or list(before.columns) != list(results.columns):
            self._choose_columns(results)
            sample = int(results.columns["sample"][0])
        for widget in (self.kind_box, self.x_box, self.y_box, self.color_box, self.sample, self.export):
            widget.setEnabled(True)
        samples = results.columns["sample"]
        with QSignalBlocker(self.sample):
            self.sample.setRange(int(samples[0]), int(samples[-1]))
            self.sample.setValue(sample)
        self.open_run.setEnabled(results.study is not None)
        if before is None:
            self.sides.show_part(1)
        self.title.setText(results.title)
        self.summary.setText(summary(results))
        row = None if before is None else self.chart.row
        marked = before is not None and row is not None and before.folder == results.folder
        self.chart.choose(None)
        self.results = results
        self._draw()
        if marked:
            self._mark()

    def _choose_columns(self, results: engine.StudyResults) -> None:
        columns = [*results.varied, *results.kept, "sample", "diverged"]
        predicates = [name for name in results.kept if results.columns[name].dtype.kind == "b"]
        numbers = [name for name in results.kept if name not in predicates]
        x = (results.varied or ("sample",))[0]
        y = next(name for name in (*results.varied[1:], *numbers, *predicates, "diverged") if name != x)
        color = next((name for name in (*predicates, *numbers) if name not in (x, y)), "")
        for box, value in ((self.x_box, x), (self.y_box, y), (self.color_box, color or NONE)):
            with QSignalBlocker(box):
                box.clear()
                box.addItems(columns + ([NONE] if box is self.color_box else []))
                box.setCurrentText(value)

    @property
    def wanted(self) -> Wanted:
        """The selected columns."""
        color = self.color_box.currentText()
        return Wanted(self.x_box.currentText(), self.y_box.currentText(), "" if color == NONE else color)

    def _draw(self) -> None:
        if self.results is None:
            return
        kind, wanted = KINDS[self.kind_box.currentText()], self.wanted
        for box in (self.y_box, self._labels[self.y_box]):
            box.setEnabled(kind.uses_y)
        is_rate = self.kind_box.currentText() == "Success rate"
        if is_rate and self.results.columns[wanted.y].dtype.kind != "b":
            predicates = [
                name for name in (*self.results.kept, "diverged") if self.results.columns[name].dtype.kind == "b"
            ]
            self.y_box.setCurrentText(predicates[0])  # which draws
            return
        if is_rate and wanted.color == wanted.y:
            wanted = wanted._replace(color=self._few(wanted))
            with QSignalBlocker(self.color_box):
                self.color_box.setCurrentText(wanted.color or NONE)
        self.chart.show_kind(None)  # else its memory would be held besides the next chart's
        made = kind(self.results, wanted)
        wording = [self.results.refusal and f"Runs cannot be shown: {self.results.refusal}.", made.note]
        self.note.setText("\n".join(filter(None, wording)))
        self.chart.show_kind(made)

    def _few(self, wanted: Wanted) -> str:
        """Return a varied column with few values, so that its lines can be distinguished; "" if there is none."""
        assert self.results is not None
        counts = {name: len(np.unique(self.results.columns[name])) for name in self.results.varied if name != wanted.x}
        return next((name for name, count in counts.items() if 1 < count <= MAX_LINES), "")

    def _take_click(self, row: int) -> None:
        if self.results is None:
            return
        self.sample.setValue(int(self.results.columns["sample"][row]))
        self._mark()
        if self.results.study is not None:
            self.requested.emit(self.sample.value())

    def _mark(self) -> None:
        if self.results is None:
            return
        samples = self.results.columns["sample"]
        row = int(np.searchsorted(samples, self.sample.value()))
        there = row < len(samples) and int(samples[row]) == self.sample.value()
        self.chart.choose(row if there else None)
        self.open_run.setEnabled(there and self.results.study is not None)


def summary(results: engine.StudyResults) -> str:
    """Summarise the samples, how many diverged, and the share of each predicate with its interval."""
    diverged, done = results.columns["diverged"], len(results.columns["sample"])
    total = results.study.count if results.study is not None else done
    lines = [f"{done:,} samples" if total == done else f"{done:,} of {total:,} samples"]
    lines[0] += f", {np.count_nonzero(diverged):,} diverged" if np.any(diverged) else ""
    for name in results.kept:
        if results.columns[name].dtype.kind == "b" and not np.all(diverged):
            own = results.columns[name][~diverged]
            (line,) = results.shares(np.zeros(len(own)), own, None, "", 1)
            low, share, high = (100 * float(x[0]) for x in (line.low, line.share, line.high))
            left = f", of the {len(own):,} that did not diverge" if len(own) < done else ""
            lines.append(f"{name}: {share:.1f} % ({low:.1f} to {high:.1f} %){left}")
    return "\n".join(lines)
