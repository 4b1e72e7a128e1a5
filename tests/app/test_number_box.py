"""Numbers are taken as they are written anywhere, whatever the system's language."""

from __future__ import annotations

import pytest
from PyQt6.QtCore import QLocale, Qt
from PyQt6.QtWidgets import QDoubleSpinBox, QLineEdit

from app.panels.joint_form import JointForm
from app.panels.number_box import DecimalBox, NumberBox

LOCALES = ("C", "en_US", "de_DE", "fr_FR", "de_CH")


def typed(qtbot, box: QDoubleSpinBox, text: str) -> float:
    box.lineEdit().selectAll()
    qtbot.keyClicks(box, text)
    qtbot.keyClick(box, Qt.Key.Key_Return)
    return box.value()


@pytest.mark.parametrize("locale", LOCALES)
def test_comma_and_point_are_one(qtbot, locale):
    for box in (NumberBox(-1e4, 1e4, 4), DecimalBox()):
        box.setLocale(QLocale(locale))
        box.setDecimals(4)
        box.setRange(-1e4, 1e4)
        box.setSuffix(" m")
        qtbot.addWidget(box)
        box.show()
        for text, number in {"12,5": 12.5, "12.5": 12.5, "0,3": 0.3, "-0.25": -0.25, "1e3": 1000.0, ".5": 0.5}.items():
            assert typed(qtbot, box, text) == number, text
        assert typed(qtbot, box, "1,234.5") == 1.2345  # the second separator is refused as it is typed
        assert typed(qtbot, box, "20000") == 1e4
        assert typed(qtbot, box, "-3e9") == -1e4
        assert typed(qtbot, box, "-") == -1e4


def test_what_is_shown_is_taken_as_it_stands(qtbot):
    box = NumberBox(-10.0, 10.0, 3)
    box.setLocale(QLocale("de_DE"))
    qtbot.addWidget(box)
    box.setValue(1.25)
    assert box.text() == "1,25"
    assert typed(qtbot, box, box.text()) == 1.25
    box.stepUp()
    assert box.value() > 1.25


def test_boxes_of_forms_take_a_comma(qtbot):
    form = JointForm()
    qtbot.addWidget(form)
    boxes = form.findChildren(QDoubleSpinBox)
    assert boxes
    assert all(isinstance(box, DecimalBox) for box in boxes)
    assert isinstance(boxes[0].lineEdit(), QLineEdit)
