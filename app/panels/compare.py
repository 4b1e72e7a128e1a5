"""The compare panel: measurement settings on the left, results on the right, updated while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from PyQt6.QtCore import Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PyQt6.QtWidgets import (
    QFrame,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QWidget,
)

import engine
from app.desktop import theme
from app.desktop.actions import algorithm_name, algorithm_words
from app.desktop.dialogs import save_asked, write_png
from app.desktop.layouts import NO_MARGINS, horizontal, vertical
from app.desktop.side_by_side import SideBySide
from app.jobs.comparing import Comparing, Report
from app.panels.bars import BarView
from app.panels.compare_form import CompareForm
from app.panels.growth import GrowthView, crossing_text
from app.panels.vector_drawing import SUFFIXES

REFRESH = 100  # ms between two polls of the measurement
FORM_WIDTH = (325, 400)  # px, at least and at most
RESULT_WIDTH = 480  # px: for names, dots, medians and ratios
LEFT_OUT = "not measured, since all was stopped"
LISTED = 4  # number of errors, and of crossings, listed in text
EMPTY = (
    "Choose robots and algorithms on the left, then press Start.\n"
    "All run on the same states in turns; results are checked by inverse dynamics."
)


class Elided(QLabel):
    """A one-line label that ends in an ellipsis if its text is too long."""

    def paintEvent(self, _: QPaintEvent) -> None:
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width())
        QPainter(self).drawText(self.contentsRect(), Qt.AlignmentFlag.AlignVCenter, text)


class ComparePanel(QWidget):
    """Starts and stops a measurement, shows its results, and exports them as a command, a picture or a table."""

    message = pyqtSignal(str)
    """A short status message, such as the path of a written file."""

    def __init__(self) -> None:
        super().__init__()
        self.form, self.bars, self.growth = CompareForm(), BarView(), GrowthView()
        self.comparing = Comparing()
        self.report = Report()
        """The latest report."""
        self.start_button = self._button("Start", self.start, "Measure the selected algorithms")
        self.stop_button = self._button("Stop", self.stop, "Stop; the results so far are kept")
        self.start_button.setProperty("primary", True)
        self.export = QToolButton(text="Export", popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.export.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.export.setMenu(menu := QMenu(self))
        menu.setToolTipsVisible(True)
        self.copy_action = menu.addAction("Copy command", self.copy)
        self.picture_action = menu.addAction("Picture (.png)…", self._ask_picture)
        self.drawings = [
            menu.addAction(f"Drawing ({suffix})…", partial(self._ask_drawing, suffix)) for suffix in SUFFIXES
        ]
        """Of the growth alone: a comparison is a table."""
        self.csv_action = menu.addAction("Table (.csv)…", self._ask_csv)
        self.csv_action.setToolTip("Times in seconds")
        self.progress = QProgressBar(maximum=1000, textVisible=False)
        kept = self.progress.sizePolicy()
        kept.setRetainSizeWhenHidden(True)
        self.progress.setSizePolicy(kept)
        self.status, self.findings = (
            Elided(textFormat=Qt.TextFormat.PlainText),
            QLabel(textFormat=Qt.TextFormat.PlainText),
        )
        self.status.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.empty = QLabel(EMPTY, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        theme.tint(self.empty, "faint")
        self.pages = QStackedWidget()
        for page in (self.empty, self.bars, self.growth):
            self.pages.addWidget(page)
        self._arrange()
        self.form.changed.connect(self._show_report)
        self.form.changed.connect(self._refresh)
        self.form.failed.connect(self._show_error)
        self._timer = QTimer(self, timeout=self._poll)
        self._refresh()

    def _button(self, text: str, slot: Callable[[], None], tip: str) -> QPushButton:
        return QPushButton(text, toolTip=tip, focusPolicy=Qt.FocusPolicy.TabFocus, clicked=lambda: slot())

    def _arrange(self) -> None:
        # on top, so that it is visible also in a low panel
        left = vertical(self.start_button, self.stop_button, (self.form, 1), margins=(10, 8, 10, 8))
        side = QWidget()
        side.setMinimumWidth(FORM_WIDTH[0])
        side.setMaximumWidth(FORM_WIDTH[1])
        side.setLayout(left)
        line = QFrame()
        line.setFixedWidth(1)
        line.setProperty("rule", True)
        bar = horizontal((self.status, 1), self.export, margins=(10, 5, 8, 5), spacing=6)
        self.pages.setMinimumWidth(RESULT_WIDTH)
        self.findings.hide()
        self.findings.setWordWrap(True)
        self.findings.setContentsMargins(10, 5, 10, 6)
        self.findings.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        results = QWidget()
        found = vertical(bar, self.progress, (self.pages, 1), self.findings, spacing=0)
        horizontal(line, (found, 1), of=results, margins=NO_MARGINS, spacing=0)
        # the form grows to its maximum width first
        self.sides = SideBySide(("Settings", "Results"), (side, results), FORM_WIDTH[1])
        vertical((self.sides, 1), of=self, margins=NO_MARGINS, spacing=0)

    @property
    def running(self) -> bool:
        """Whether a measurement is running."""
        return self.comparing.running

    def set_loaded(self, model: engine.Model, floating: bool) -> None:
        """List the robot that the window shows; `floating` means that its root was set free."""
        self.form.set_loaded(model, floating)

    def start(self) -> None:
        """Start the measurement that the form describes."""
        self.report = Report()
        self.comparing.start(self.form.request())
        self._timer.start(REFRESH)
        self.progress.setValue(0)
        self._say("")
        self._show_status("preparing …")
        self._refresh()
        self.sides.show_part(1)

    def stop(self) -> None:
        """Stop the measurement as soon as possible."""
        self.comparing.stop()
        self.stop_button.setEnabled(False)
        self._show_status("stopping …")

    def close_thread(self) -> None:
        """Stop the measuring thread and wait until it has ended."""
        self._timer.stop()
        self.comparing.close()

    def copy(self) -> None:
        """Copy the command that repeats the measurement to the clipboard."""
        QGuiApplication.clipboard().setText(self.report.command)
        self.message.emit("Copied: " + self.report.command)

    def save_picture(self, path: str) -> None:
        """Write the visible results as a PNG. Raises OSError."""
        shown = self.growth if self.pages.currentWidget() is self.growth else self.bars
        write_png(shown.picture(), path)

    def save_csv(self, path: str) -> None:
        """Write the results as CSV, times in s. Raises OSError."""
        with engine.replacing(path) as file:
            file.write(self.report.found.csv().encode())

    def _ask_picture(self) -> None:
        self._ask("Save the picture", "comparison.png", "Pictures (*.png)", self.save_picture)

    def _save_drawing(self, path: str, suffix: str) -> None:
        with engine.replacing(path) as file:
            file.write(self.growth.drawing(suffix))

    def _ask_drawing(self, suffix: str) -> None:
        save = partial(self._save_drawing, suffix=suffix)
        self._ask("Save the drawing", f"comparison{suffix}", f"Drawings (*{suffix})", save)

    def _ask_csv(self) -> None:
        self._ask("Save the numbers", "comparison.csv", "Comma-separated values (*.csv)", self.save_csv)

    def _ask(self, title: str, name: str, kinds: str, save: Callable[[str], None]) -> None:
        path, refusal = save_asked(self, title, name, kinds, save)
        if refusal:
            self._show_error(refusal)
        elif path:
            self._show_report()
            self.message.emit(f"Written: {path}")

    def _poll(self) -> None:
        """Take and show the measuring thread's latest report."""
        report = self.comparing.poll()
        if report is None:
            return
        self.report = report
        found = report.found
        if isinstance(found, engine.ComparisonResult):
            rows = found.rows
            if report.over:  # nothing waits any more
                rows = tuple(replace(r, reason=r.reason or LEFT_OUT) if r.verdict == "waiting" else r for r in rows)
            self.bars.show_results(rows, list(map(algorithm_words, found.findings())) if report.over else ())
            self.pages.setCurrentWidget(self.bars)
        elif found is not None:
            self.growth.show_growth(found)
            self.pages.setCurrentWidget(self.growth)
        if found is not None:
            self.progress.setValue(round(1000 * found.done))
        self._show_report()
        if report.over:
            self._timer.stop()
            self._refresh()

    def _show_report(self) -> None:
        """Show the latest report in words, in place of an earlier one or an error message."""
        report = self.report
        found = report.found
        self._say("\n".join(_sentences(report)))
        if report.problem:
            self._show_error(report.problem)
        elif report.over:
            self._show_status("stopped; what was measured is shown" if report.stopped else "done")
        elif found is not None and not self.comparing.stopping:
            left = f", {found.left:.0f} s left" if found.left is not None and found.left >= 1 else ""
            self._show_status(f"{algorithm_words(found.doing)}{left}")
        elif not self.comparing.running:
            self._show_status("")

    def _say(self, text: str) -> None:
        self.findings.setText(text)
        self.findings.setVisible(bool(text))

    def _show_error(self, problem: str) -> None:
        self._show_status(problem, "error")
        self._say(problem)
        line = self.status.fontMetrics().horizontalAdvance(problem)
        self.findings.setHidden(line <= self.status.contentsRect().width())  # else the line is cut

    def _show_status(self, text: str, tint: str = "faint") -> None:
        self.status.setText(text)
        self.status.setToolTip(text)
        theme.tint(self.status, tint)

    def _refresh(self) -> None:
        running, found, problem = self.comparing.running, self.report.found is not None, self.form.problem()
        self.form.setEnabled(not running)
        self.progress.setVisible(running)
        self.start_button.setVisible(not running)
        self.stop_button.setVisible(running)
        self.start_button.setEnabled(not running and not problem)
        self.start_button.setToolTip(problem or "Measure the selected algorithms")
        self.stop_button.setEnabled(running and not self.comparing.stopping)
        self.copy_action.setEnabled(found and bool(self.report.command))
        self.copy_action.setToolTip(self.report.no_command or "Copy the shell command that measures the same again")
        for action in (self.picture_action, self.csv_action):
            action.setEnabled(found and not running)
        for action in self.drawings:
            action.setEnabled(found and not running and self.pages.currentWidget() is self.growth)
        self.export.setEnabled(any(action.isEnabled() for action in self.export.menu().actions()))


def _sentences(report: Report) -> list[str]:
    """Return the errors and, once a growth measurement is over, the crossings; a table shows its findings itself."""
    found = report.found
    if found is None:  # tested first, since `engine` imports its measuring code only when it is named
        return []
    if isinstance(found, engine.ComparisonResult):
        return _problems(found.rows)
    crossings = [crossing_text(crossing, found.axis) for crossing in found.crossings()[:LISTED]] if report.over else []
    return _problems(point.result for point in found.points) + crossings


def _problems(rows: Iterable[engine.AlgorithmResult]) -> list[str]:
    """Return the errors of failed and wrong algorithms, with the line number for a user's own function."""
    problems = (
        f"{algorithm_name(row.algorithm)} {row.verdict}: {row.reason}"
        for row in rows
        if row.verdict in ("failed", "wrong")
    )
    return list(dict.fromkeys(problems))[:LISTED]
