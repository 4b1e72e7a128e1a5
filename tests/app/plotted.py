"""A plot panel for tests: its selection, samples and picture."""

import numpy as np
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QColor, QImage, QWheelEvent
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication

import engine
from app.panels.plots import PlotsPanel
from app.plotting.catalogue import catalogue
from app.plotting.probe import Samples

Left = Qt.MouseButton.LeftButton


def make_panel(qtbot) -> PlotsPanel:
    """Return a panel with an arm's quantities, of its dock's size."""
    panel = PlotsPanel()
    qtbot.addWidget(panel)
    panel.set_quantities(catalogue(engine.load(engine.find_robot("arm7"))))
    panel.resize(900, 420)
    panel.show()
    return panel


def fill(panel, seconds=20.0, spacing=0.01):
    """Samples that oscillate between −1 and 1, each curve at a frequency of its own."""
    time = np.arange(0.0, seconds, spacing)
    wave = [np.sin((k + 1) * time) for k in range(len(panel.quantities))]
    panel.add([Samples(0, panel.quantities, time, np.stack(wave, 1))])
    panel.draw()


def tick(panel, text):
    """Search, and press the first that is found."""
    panel.list.search.clear()
    QTest.keyClicks(panel.list.search, text)
    index = panel.list.model.index(0)
    QTest.mouseClick(panel.list.view.viewport(), Left, pos=panel.list.view.visualRect(index).center())


def wheel(canvas, notches, modifiers=Qt.KeyboardModifier.NoModifier):
    """Turn the wheel over the middle of a plot."""
    place = canvas.area.center()
    event = QWheelEvent(
        place, QPointF(canvas.mapToGlobal(place.toPoint())), QPoint(), QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton, modifiers, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(canvas, event)


def colored(image: QImage, color: str) -> int:
    """Return the number of pixels close to a colour."""
    wanted = QColor(color)
    bits = image.convertToFormat(QImage.Format.Format_RGB32)
    data = bits.constBits()
    data.setsize(bits.sizeInBytes())
    pixels = np.frombuffer(data, np.uint8).reshape(bits.height(), -1, 4)[:, : bits.width(), :3].astype(int)
    apart = np.abs(pixels - [wanted.blue(), wanted.green(), wanted.red()]).max(2)
    return int((apart < 40).sum())
