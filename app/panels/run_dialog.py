"""`RunDialog`: asks for the times at which a run is exported."""

from __future__ import annotations

from PyQt6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from app.panels.number_box import DecimalBox

STEPS, INTERVAL, RECORDED = range(3)
SAMPLED = "The run has states at these times alone: what acted between them is not known, and so it has no other rows."
NEAREST = "at the steps nearest to it, about {:,} rows"
MB, GB = 1e6, 1e9  # bytes


class RunDialog(QDialog):
    """Offers each step, an interval, or the recorded frames; `duration` and `dt` in s.

    The first `left_out` s of the run are not exported, since the number of robots was different then.
    With a `loop`, from and to in s, that span alone can be exported. Of a run that is `sampled`, by a file, see
    `Recording.is_sampled`, or by a script's link, only the frames can be. `note` is said in addition, and with
    `row_size`, bytes, about how large the file becomes.
    """

    def __init__(
        self, parent: QWidget, title: str, duration: float, dt: float, frames: int, left_out: float = 0.0,
        loop: tuple[float, float] | None = None, sampled: bool = False, note: str = "", row_size: int = 0,
    ):  # fmt: skip
        super().__init__(parent)
        self.setWindowTitle(title)
        self.choices = QButtonGroup(self)
        self.interval = DecimalBox()
        self.interval.setDecimals(2)
        self.interval.setRange(max(1e3 * dt, 0.01), max(1e3 * duration, 1.0))
        self.interval.setValue(10.0)
        self.interval.setSuffix(" ms")
        self.nearest, self.total, self._duration = QLabel(), QLabel(), duration
        steps = round(duration / dt) + 1
        self._counts, self._dt, self._row_size = {STEPS: steps, RECORDED: frames}, dt, row_size
        spaced = "one for each step" if frames == steps else "at the times of its frames"
        texts = (
            f"Every step: {dt * 1e3:g} ms, {steps:,} rows",
            "Every",
            f"As recorded: {frames:,} rows, {spaced}, without simulating again",
        )
        self._sampled = sampled
        layout = QVBoxLayout(self)
        for choice, text in enumerate(texts):
            button, row = QRadioButton(text), QHBoxLayout()
            self.choices.addButton(button, choice)
            row.addWidget(button)
            if choice == INTERVAL:
                row.addWidget(self.interval)
                row.addWidget(self.nearest)
            for widget in (button, self.interval, self.nearest):
                widget.setDisabled(sampled)
            row.addStretch(1)
            layout.addLayout(row)
        self.choices.button(RECORDED if sampled else STEPS).setChecked(True)
        self.choices.button(RECORDED).setEnabled(True)
        self.interval.valueChanged.connect(self._take_interval)
        self.nearest.setText(NEAREST.format(self._rows))
        self.loop, self._loop = QCheckBox(self), loop
        self.loop.setVisible(loop is not None)
        if loop is not None:
            steps = round((loop[1] - loop[0]) / dt)
            self.loop.setText(f"Only the loop, {loop[0]:.3f} to {loop[1]:.3f} s: {steps:,} steps")
            self.loop.toggled.connect(self._take_loop)
            layout.addWidget(self.loop)
        if left_out > 0.0:
            layout.addWidget(QLabel(f"Without the first {left_out:.3g} s, in which the batch had another size."))
        for text in filter(None, (SAMPLED if sampled else "", note)):
            said = QLabel(text)
            said.setWordWrap(True)
            layout.addWidget(said)
        efforts = QLabel(
            "Position, velocity and effort of each joint; external wrenches on the links that have any. "
            "Efforts are those of the drives, with gravity compensation, gains and controllers, within the limits."
        )
        efforts.setWordWrap(True)
        layout.addWidget(efforts)
        layout.addWidget(self.total)
        self.total.setVisible(row_size > 0)
        for signal in (self.choices.idClicked, self.interval.valueChanged, self.loop.toggled):
            signal.connect(self._show_size)
        self._show_size()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        buttons.button(QDialogButtonBox.StandardButton.Save).setText("Save…")
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)

    @property
    def _rows(self) -> int:
        """The number of rows of the whole run at the interval."""
        return round(self._duration / (1e-3 * self.interval.value())) + 1

    def _show_size(self) -> None:
        """Show about how large the file becomes."""
        duration = self._duration if self.span is None else self.span[1] - self.span[0]
        rows = self._counts.get(self.choices.checkedId(), self._rows) * duration / max(self._duration, self._dt)
        size = rows * self._row_size
        about = f"{size / GB:.2g} GB" if size >= GB else f"{max(size / MB, 1):.0f} MB"
        self.total.setText(f"About {about} before compression.")

    def _take_interval(self) -> None:
        self.choices.button(INTERVAL).setChecked(True)
        self.nearest.setText(NEAREST.format(self._rows))

    def _take_loop(self, alone: bool) -> None:
        """The recorded frames are exported as a whole only, unless the file has no others."""
        if self._sampled:
            return
        recorded = self.choices.button(RECORDED)
        if alone and recorded.isChecked():
            self.choices.button(STEPS).setChecked(True)
        recorded.setDisabled(alone)

    @property
    def span(self) -> tuple[float, float] | None:
        """The times from which and to which the run is exported, s; None for all of it."""
        return self._loop if self.loop.isChecked() else None

    @property
    def seconds(self) -> float | None:
        """The interval, s: 0 for every step, or for every frame of a sampled run; None for the recorded frames."""
        if self.choices.checkedId() == RECORDED:
            return 0.0 if self.loop.isChecked() else None
        return 1e-3 * self.interval.value() if self.choices.checkedId() == INTERVAL else 0.0
