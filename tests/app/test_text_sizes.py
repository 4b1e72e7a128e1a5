"""Larger text, as for a projector: rows, icons and axes are as high as it needs, and the window stays usable."""

from collections.abc import Iterator

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QFontMetrics
from PyQt6.QtWidgets import QApplication, QStyle
from windows import play_for, wait

import engine
from app.desktop import theme, type_scale
from app.features.attaching import PlotsView, TimeView
from app.features.wrench_view import WrenchView
from app.window import Window


@pytest.fixture(params=[1.5, 2.0])
def large(request, qapp: QApplication) -> Iterator[float]:
    """All text is so many times as large, as from the start of the program."""
    qapp.setProperty(type_scale.SCALE, request.param)
    qapp.setFont(type_scale.font())
    theme.apply(qapp, dark=False)
    yield request.param
    qapp.setProperty(type_scale.SCALE, None)
    qapp.setFont(type_scale.font())
    theme.apply(qapp)


def test_rows_axes_and_icons_are_as_high_as_the_text(qtbot, large, opened):
    window: Window = opened(engine.find_robot("arm7"))
    theme.apply(QApplication.instance(), dark=False)
    body, small = (QFontMetrics(type_scale.font(size)) for size in ("body", "small"))
    window.resize(1000, 650)  # where what stands below the picture is hidden one by one
    qtbot.keyClick(window, Qt.Key.Key_P)
    panel, bar = window.features[PlotsView].panel, window.features[TimeView].bar
    wait(qtbot, panel.isVisible)
    panel.plot(panel.list.model.shown[0])
    play_for(qtbot, window, 0.3)
    assert panel.list.view.sizeHintForRow(0) >= body.height()
    assert window.joints.rowHeight(0) >= body.height()
    assert panel.axis.height() >= small.height()
    assert bar.track.height() >= 18 + small.ascent()  # below the line
    assert window.toolbar.iconSize().height() == round(20 * large)
    assert panel.list.width() >= 150 * large
    box = window.features[WrenchView].panel.act
    assert box.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorHeight, None, box) >= 12 * large
