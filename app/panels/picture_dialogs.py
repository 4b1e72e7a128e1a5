"""The dialogs for the size of a picture or film, and for the part of the run that a film shows."""

from __future__ import annotations

from dataclasses import dataclass

from PyQt6.QtWidgets import QCheckBox, QComboBox, QDialog, QDialogButtonBox, QFormLayout, QLabel, QWidget

from app.desktop.layouts import NO_MARGINS, horizontal
from app.panels.number_box import DecimalBox, WholeBox

SIZES = ((1280, 720), (1920, 1080), (3840, 2160), (1080, 1080))
RATES = (24.0, 25.0, 30.0, 50.0, 60.0)  # frames per second
SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
FROM_HERE = (
    "Rendered from the current camera, with the overlays that are shown; "
    "the view can be changed while the video is written."
)
LARGE = "{0} × {1} pixels need about {2:.0f} GB of memory while they are drawn, and minutes without a graphics card."
BYTES = 60  # of memory for a pixel: four samples with their depths, and copies of the picture
MUCH = 2e9  # bytes of memory from which the dialog names them
EMPTY = "From and to leave nothing to show: set a start before the end."


class SizeChoice(QWidget):
    """Boxes for a width and a height in pixels, and a list of common sizes."""

    def __init__(self, size: tuple[int, int], largest: int):
        super().__init__()
        self.width_box, self.height_box, self.known = WholeBox(), WholeBox(), QComboBox()
        self.known.addItem(f"current view, {size[0]} × {size[1]}", size)
        for each in SIZES:
            self.known.addItem(f"{each[0]} × {each[1]}", each)
        self.known.setPlaceholderText("other size")
        for box in (self.width_box, self.height_box):
            box.setRange(16, largest)
            box.setSuffix(" px")
            box.valueChanged.connect(self._show_known)
        horizontal(self.width_box, self.height_box, self.known, of=self, margins=NO_MARGINS)
        self.known.activated.connect(lambda index: self.choose(self.known.itemData(index)))
        self.note = QLabel(wordWrap=True)
        self.choose(size)

    def choose(self, size: tuple[int, int]) -> None:
        """Set the size."""
        self.width_box.setValue(size[0])
        self.height_box.setValue(size[1])

    def _show_known(self) -> None:
        """Select the listed size that the boxes have; none if they have another."""
        sizes = [self.known.itemData(index) for index in range(self.known.count())]
        self.known.setCurrentIndex(sizes.index(self.size_asked) if self.size_asked in sizes else -1)
        width, height = self.size_asked
        needed = BYTES * width * height
        self.note.setText(LARGE.format(width, height, needed / 1e9) if needed >= MUCH else "")

    @property
    def size_asked(self) -> tuple[int, int]:
        return self.width_box.value(), self.height_box.value()


class PictureDialog(QDialog):
    """Asks for a picture's size, and whether its background is transparent."""

    def __init__(self, parent: QWidget, size: tuple[int, int], largest: int):
        super().__init__(parent)
        self.setWindowTitle("Picture")
        self.choice, self.transparent = SizeChoice(size, largest), QCheckBox("Transparent background")
        self.transparent.setToolTip("The robot and its overlays, without ground, shadow and background")
        form = QFormLayout(self)
        form.addRow("Size", self.choice)
        form.addRow("", self.transparent)
        form.addRow("", self.choice.note)
        form.addRow(_buttons(self))


@dataclass(frozen=True)
class FilmOrder:
    """The settings of a film: `start` and `end` in s of the run, `speed` in recorded seconds per second."""

    size: tuple[int, int]
    rate: float
    speed: float
    start: float
    end: float


class FilmDialog(QDialog):
    """Asks for a film's size, frame rate, speed, and part of the run; `span` and `loop` from and to in s.

    With a `loop`, that span alone can be shown.
    """

    def __init__(
        self, parent: QWidget, size: tuple[int, int], largest: int, span: tuple[float, float],
        loop: tuple[float, float] | None = None,
    ):  # fmt: skip
        super().__init__(parent)
        self.setWindowTitle("Video of the run")
        width, height = (side - side % 2 for side in size)  # an odd row or column is left out of a video
        self.choice, self.rate, self.speed = SizeChoice((width, height), largest), QComboBox(), QComboBox()
        for rate in RATES:
            self.rate.addItem(f"{rate:g} fps", rate)
        self.rate.setCurrentIndex(RATES.index(30.0))
        for speed in SPEEDS:
            self.speed.addItem(f"{speed:g} ×", speed)
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.start, self.end = DecimalBox(), DecimalBox()
        for box, value in ((self.start, span[0]), (self.end, span[1])):
            box.setDecimals(3)
            box.setRange(*span)
            box.setSuffix(" s")
            box.setValue(value)
        part = QWidget()
        horizontal(self.start, QLabel("to"), self.end, 1, of=part, margins=NO_MARGINS)
        form = QFormLayout(self)
        for name, widget in (
            ("Size", self.choice), ("Frame rate", self.rate), ("Speed", self.speed), ("From", part),
        ):  # fmt: skip
            form.addRow(name, widget)
        self.loop = QCheckBox(self)
        self.loop.setVisible(loop is not None)
        if loop is not None:
            self.loop.setText(f"Only the loop, {loop[0]:.3f} to {loop[1]:.3f} s")
            self.loop.toggled.connect(lambda alone: self._take_span(loop if alone else span, alone))
            form.addRow("", self.loop)
        form.addRow("", self.choice.note)
        self.note = QLabel(wordWrap=True)
        form.addRow("", self.note)
        self.buttons = _buttons(self)
        form.addRow(self.buttons)
        for box in (self.start, self.end):
            box.valueChanged.connect(self._judge)
        self._judge()

    def _judge(self) -> None:
        """Offer to save only a part of the run that has a length."""
        lasts = self.start.value() < self.end.value()
        self.buttons.button(QDialogButtonBox.StandardButton.Save).setEnabled(lasts)
        self.note.setText(FROM_HERE if lasts else EMPTY)

    def _take_span(self, span: tuple[float, float], fixed: bool) -> None:
        """Set the part of the run; a `fixed` one cannot be edited."""
        for box, value in ((self.start, span[0]), (self.end, span[1])):
            box.setValue(value)
            box.setDisabled(fixed)

    @property
    def order(self) -> FilmOrder:
        """The requested film."""
        start, end = self.start.value(), self.end.value()
        return FilmOrder(self.choice.size_asked, self.rate.currentData(), self.speed.currentData(), start, end)


def _buttons(dialog: QDialog) -> QDialogButtonBox:
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
    box.button(QDialogButtonBox.StandardButton.Save).setText("Save…")
    box.accepted.connect(dialog.accept)
    box.rejected.connect(dialog.reject)
    return box
