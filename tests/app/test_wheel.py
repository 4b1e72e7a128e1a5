"""The wheel over boxes: it scrolls what is around them until they have the focus."""

import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QWheelEvent
from PyQt6.QtWidgets import QApplication, QWidget
from test_drives import choose
from windows import wait

import engine


def scroll(widget: QWidget | None) -> None:
    """Turn the wheel over a widget; Qt passes on only the system's own events to the widgets around."""
    while widget is not None:
        center, nothing = widget.rect().center(), Qt.KeyboardModifier.NoModifier
        event = QWheelEvent(
            QPointF(center), QPointF(widget.mapToGlobal(center)), QPoint(), QPoint(0, -120),
            Qt.MouseButton.NoButton, nothing, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        taken = QApplication.sendEvent(widget, event) and event.isAccepted()
        stays = taken or widget.isWindow() or widget.testAttribute(Qt.WidgetAttribute.WA_NoMousePropagation)
        widget = None if stays else widget.parentWidget()


@pytest.mark.parametrize("which", ["mode", "wave", "value", "kp", "weight", "quantity", "motion"])
def test_the_wheel_over_a_joints_form_scrolls_the_list_and_drives_nothing(qtbot, opened, which):
    window = opened(engine.find_robot("quadruped"))
    window.resize(1000, 650)
    form, bar = choose(qtbot, window, 7), window.joints.verticalScrollBar()
    wait(qtbot, lambda: bar.maximum() > 100)
    bar.setValue(50)
    before, policy = window.workbench.robot.drive_of(7), getattr(form, which).focusPolicy()
    scroll(getattr(form, which))
    assert bar.value() > 50
    assert policy != Qt.FocusPolicy.WheelFocus, "the system would focus it before it gets the wheel"
    assert window.workbench.robot.drive_of(7) == before
    assert form.mode.currentData() == before.mode


def test_the_wheel_changes_a_box_that_has_the_focus(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    form = choose(qtbot, window, 7)
    window.activateWindow()
    form.wave.setFocus()
    wait(qtbot, form.wave.hasFocus)
    scroll(form.wave)
    assert form.wave.currentData() == "sine"
