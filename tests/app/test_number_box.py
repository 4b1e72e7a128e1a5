"""Numbers are accepted in any common notation, whatever the system's language."""

import pytest
from PyQt6.QtCore import QEvent, QLocale, QPoint, Qt
from PyQt6.QtGui import QHelpEvent
from PyQt6.QtWidgets import (
    QApplication,
    QDialog,
    QDoubleSpinBox,
    QLineEdit,
    QMainWindow,
    QSpinBox,
    QToolTip,
    QVBoxLayout,
    QWidget,
)  # fmt: skip
from windows import press, wait

import engine
from app.acting.coordinates import coordinates
from app.acting.drives import Drive
from app.desktop.layouts import vertical
from app.features.attaching import BatchView, Generating
from app.features.drive_view import DriveView
from app.features.scene_view import SceneView
from app.features.wrench_view import WrenchView
from app.panels.joint_form import JointForm
from app.panels.number_box import DecimalBox, NumberBox, WholeBox
from app.panels.picture_dialogs import PictureDialog
from app.simulation.batch_spread import OwnJoint

LOCALES = ("C", "en_US", "de_DE", "fr_FR", "de_CH")


def typed(qtbot, box: QDoubleSpinBox | QSpinBox, text: str) -> float:
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


def test_terms_are_computed_when_they_are_typed_to_their_end(qtbot):
    box = NumberBox(-10.0, 10.0, 4)
    box.setSuffix(" m")
    qtbot.addWidget(box)
    box.show()
    terms = {"pi/2": 1.5708, "-pi": -3.1416, "3*(1+0,5)": 4.5, "1/4 - 1": -0.75, "2*-1e-1": -0.2, "100/3": 10.0}
    for text, number in terms.items():
        assert typed(qtbot, box, text) == number, text
    before = box.value()
    for text in ("1/0", "pi/", "(1", "2**9", "pipe", "1(2)"):
        assert typed(qtbot, box, text) == before, text
    assert typed(qtbot, box, "x2") == 2.0  # other letters are not taken


def test_a_term_without_a_value_is_refused_and_the_number_kept(qtbot):
    """Without a word 1/0 left the number before, as if it had been taken."""
    window, messages, box = QMainWindow(), [], WholeBox()
    qtbot.addWidget(window)
    box.setSuffix(" px")
    box.setKeyboardTracking(False)
    window.setCentralWidget(box)
    window.show()
    window.statusBar().messageChanged.connect(messages.append)
    assert typed(qtbot, box, "=64/2") == 32
    assert messages == []
    for text in ("=1/0", "3*", "(2"):
        assert typed(qtbot, box, text) == 32
    term = "has no value; type a number, or a term such as 2*pi/3; 32 px is kept"
    assert messages == [f"1/0 {term}", f"3* {term}", f"(2 {term}"]
    assert typed(qtbot, box, "2.7") == 3
    assert messages[-1] == "2.7 px is not a whole number; 3 px is set instead"


def test_a_unit_may_be_typed_where_one_of_its_kind_is_shown(qtbot):
    typed_in = {
        " °": {
            "pi/4": 45.0,
            "-pi/3": -60.0,
            "90 deg": 90.0,
            "45°": 45.0,
            "pi/2 rad": 90.0,
            "1,5708rad": 90.0,
            "1e1 deg": 10.0,
            "7 °": 7.0,
        },
        " mm": {"2 cm": 20.0, "0.02 m": 20.0, "5 mm": 5.0, "12": 12.0, "-1 m": -100.0},
        " rad": {"90 deg": 1.571, "1 rad": 1.0},
        " s": {"250 ms": 0.25, "2 s": 2.0, "7000 us": 0.007},
        " kg": {"500 g": 0.5, "3 kg": 3.0},
    }
    for suffix, texts in typed_in.items():
        box = NumberBox(-100.0, 100.0, 3)
        box.setSuffix(suffix)
        qtbot.addWidget(box)
        box.show()
        for text, number in texts.items():
            assert typed(qtbot, box, text) == number, (suffix, text)


def test_a_unit_that_is_half_typed_changes_nothing(qtbot):
    box, came = DecimalBox(), []
    box.setSuffix(" mm")
    box.setRange(-1e4, 1e4)
    qtbot.addWidget(box)
    box.show()
    box.valueChanged.connect(came.append)
    assert typed(qtbot, box, "5 mm") == 5.0  # and not 5 m, once the first letter is there
    assert set(came) == {5.0}
    assert typed(qtbot, box, "7 c") == 7.0


def test_an_unknown_unit_is_refused_and_the_number_kept(qtbot):
    """Its letters were not taken: 5 ft became 5 m, and 50 cm in a field without a unit 50."""
    window, messages = QMainWindow(), []
    qtbot.addWidget(window)
    window.statusBar().messageChanged.connect(messages.append)
    for box, suffix, texts in (
        (NumberBox(-100.0, 100.0, 3), " m", ("5 ft", "5 in", "5 kg", "5ft", "5 m/s", "5 pipe")),
        (NumberBox(-100.0, 100.0, 3), "", ("50 cm", "5m")),
        (WholeBox(), " px", ("12 mm",)),
    ):
        box.setSuffix(suffix)
        box.setKeyboardTracking(False)
        box.setAccessibleName("width")
        window.setCentralWidget(box)
        window.show()
        box.setValue(2)
        for text in texts:
            assert typed(qtbot, box, text) == 2, text
            kept = f"2{suffix} is kept"
            assert messages[-1].startswith(f"width: {text.lstrip('0123456789 ')} is not a unit of this number; type ")
            assert messages[-1].endswith(kept)
            assert box.text() == f"2{suffix}"
    assert messages[0] == "width: ft is not a unit of this number; type mm or cm or m; 2 m is kept"
    assert messages[-1] == "width: mm is not a unit of this number; type px; 2 px is kept"
    assert len(messages) == 9


def test_a_shown_number_with_a_decimal_comma_is_read_back(qtbot):
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


def test_a_number_beyond_the_limits_is_said_to_be(qtbot):
    """Once, in the status bar, with what came and what is set; one within says nothing."""
    window, messages = QMainWindow(), []
    qtbot.addWidget(window)
    box = NumberBox(-10.0, 146.0, 2)
    box.setSuffix(" °")
    window.setCentralWidget(box)
    window.show()
    window.statusBar().messageChanged.connect(messages.append)
    for text in ("30", "900", "-11", "145.5"):
        typed(qtbot, box, text)
    box.setAccessibleName("joint2")
    typed(qtbot, box, "1e3")
    assert messages == [
        "900 ° is above the maximum; 146 ° is set instead",
        "-11 ° is below the minimum; -10 ° is set instead",
        "",  # it would contradict the next number
        "joint2: 1000 ° is above the maximum; 146 ° is set instead",
    ]


def test_what_is_no_number_is_said_to_be_refused(qtbot):
    """Beside the box in a dialog, which would hide the status bar."""
    window, box = QMainWindow(), NumberBox(0.0, 10.0, 2, "Friction: of the ground")
    qtbot.addWidget(window)
    window.setCentralWidget(box)
    window.show()
    box.setValue(5.0)
    words = "Friction: only a number can be typed here, or a term such as 2*pi/3"
    for text in ("nan", "Inf", "abc"):
        assert typed(qtbot, box, text) == 5.0
        assert window.statusBar().currentMessage() == words
    assert typed(qtbot, box, "7") == 7.0
    assert window.statusBar().currentMessage() == ""
    dialog = QDialog(window)
    vertical(inside := NumberBox(0.0, 10.0, 2), of=dialog)
    dialog.open()
    typed(qtbot, inside, "11")
    assert QToolTip.text() == "11 is above the maximum; 10 is set instead"
    typed(qtbot, inside, "b")
    assert QToolTip.text() == words.removeprefix("Friction: ")


def test_the_form_of_a_joint_takes_no_value_beyond_its_limits(qtbot):
    row = next(row for row in coordinates(engine.load(engine.find_robot("arm7"))) if row.name == "joint2")
    form, own = JointForm(), OwnJoint(row.effort_v, row.effort, 0.5, 1.0)
    qtbot.addWidget(form)
    form.show()
    for mode, most in (("target", row.upper), ("velocity", row.velocity), ("effort", row.effort)):
        form.show_joint(row, Drive(mode, 0.0), (1.0, 1.0), own)
        scale = 1.0 if mode == "effort" else row.scale
        assert typed(qtbot, form.value, "1e5") == pytest.approx(most * scale, abs=0.01)
        assert typed(qtbot, form.value, "-1e5") == pytest.approx(row.reach(mode)[0] * scale, abs=0.01)
    form.show_joint(row, Drive("target", 0.1, "sine", 0.2), (1.0, 1.0), own)
    assert typed(qtbot, form.amplitude, "1e4") == pytest.approx((row.upper - row.lower) * row.scale, abs=0.01)


def test_a_whole_number_beyond_the_limits_is_said_to_be(qtbot):
    """And none of its digits is lost: 5000 is not taken as 500."""
    window, messages, box = QMainWindow(), [], WholeBox()
    qtbot.addWidget(window)
    box.setRange(2, 4096)
    box.setSuffix(" px")
    window.setCentralWidget(box)
    window.show()
    window.statusBar().messageChanged.connect(lambda text: text and messages.append(text))
    numbers = {"64": 64, "5000": 4096, "7": 7, "9" * 30: 4096, "1": 2, "-5": 2, "30 px": 30, "": 30, "x12": 12}
    numbers |= {"1e3": 1000, "2*16": 32, "1e9": 4096, "2,6": 3, "8e-1": 2}
    for text, number in numbers.items():
        assert typed(qtbot, box, text) == number, text
    box.setAccessibleName("width")
    box.selectAll()
    qtbot.keyClicks(box, "99999")
    assert box.text() == "99999 px"
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.value() == 4096
    assert messages == [
        "5000 px is above the maximum; 4096 px is set instead",
        "1e+30 px is above the maximum; 4096 px is set instead",
        "1 px is below the minimum; 2 px is set instead",
        "-5 px is below the minimum; 2 px is set instead",
        "only a number can be typed here, or a term such as 2*pi/3",  # x12
        "1000000000 px is above the maximum; 4096 px is set instead",
        "2.6 px is not a whole number; 3 px is set instead",
        "0.8 px is below the minimum; 2 px is set instead",
        "width: 99999 px is above the maximum; 4096 px is set instead",
    ]


def test_the_whole_numbers_of_the_window_say_their_limits(qtbot, opened):
    window = opened()
    window.features[Generating].show()
    dialog, picture = window.features[Generating].dialog, PictureDialog(window, (640, 480), 4096)
    picture.show()
    window.docks.show_in_front("Batch")
    every = [box for each in (window, dialog, picture) for box in each.findChildren(QSpinBox)]
    assert len(every) >= 7
    assert all(isinstance(box, WholeBox) for box in every)
    batch = window.feature(BatchView).panel
    for box, text, number, messages in (
        (batch.robots, "5000", 4096, "Robots of the batch: 5000 is above the maximum; 4096 is set instead"),
        (dialog.links, "20000", 2000, "links: 20000 is above the maximum; 2000 is set instead"),
        (picture.choice.width_box, "99999", 4096, "99999 px is above the maximum; 4096 px is set instead"),
    ):
        box.blockSignals(True)  # neither the batch nor the chain is wanted
        assert typed(qtbot, box, text) == number
        assert window.statusBar().currentMessage() == messages
    dialog.close()


@pytest.mark.parametrize("tracking", [True, False])
@pytest.mark.parametrize("make", [DecimalBox, WholeBox])
def test_escape_returns_to_the_number_before_and_is_the_windows_without_one_typed(qtbot, make, tracking):
    class Window(QMainWindow):
        escapes = 0

        def keyPressEvent(self, event):
            self.escapes += event.key() == Qt.Key.Key_Escape

    window, box, other = Window(), make(), QLineEdit()
    qtbot.addWidget(window)
    middle = QWidget()
    rows = QVBoxLayout(middle)
    rows.addWidget(box)
    rows.addWidget(other)
    window.setCentralWidget(middle)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    box.setKeyboardTracking(tracking)
    box.setValue(12)
    shown = box.text()
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "73")
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert (box.text(), box.value(), window.escapes) == (shown, 12, 0)
    other.setFocus()
    assert (box.text(), box.value()) == (shown, 12)
    assert typed(qtbot, box, "8") == 8
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert (box.value(), window.escapes) == (8, 1)


def type_slowly(qtbot, box: DecimalBox | WholeBox, text: str, between) -> str:
    """Type a number, with `between` after each key; return the text before it is entered."""
    box.setFocus()
    box.selectAll()
    for key in text:
        qtbot.keyClick(box, key)
        between()
    shown = box.text()
    qtbot.keyClick(box, Qt.Key.Key_Return)
    return shown


@pytest.mark.parametrize("make", [DecimalBox, WholeBox])
@pytest.mark.parametrize("tracking", [True, False])
def test_what_is_typed_stays_until_it_is_entered_whatever_is_shown_meanwhile(qtbot, make, tracking):
    box, came = make(), []
    qtbot.addWidget(box)
    box.setRange(0, 500)
    box.setSuffix(" mm")
    box.setKeyboardTracking(tracking)
    with qtbot.waitActive(box):
        box.show()
        box.activateWindow()
    box.valueChanged.connect(came.append)

    def show() -> None:
        box.setSuffix(" mm")
        box.setRange(0, 500)
        if make is DecimalBox:
            box.setDecimals(2)
        box.put(300)

    show()
    assert (box.value(), came) == (300, [])
    assert type_slowly(qtbot, box, "20", show) == "20 mm"
    assert (box.value(), came[-1]) == (20, 20)
    show()  # as where the number is refused
    assert box.value() == 300


def test_every_field_beside_the_picture_keeps_what_is_typed_while_the_robot_plays(qtbot, arm):
    """Although the panels are filled again meanwhile."""
    drives, scene = arm.feature(DriveView), arm.feature(SceneView)
    scene.add("box", free=False)
    wait(qtbot, lambda: arm.workbench.robot.newest is not None and not arm.workbench.computation.compiling)
    arm.workbench.joints.set_joint_drive(3, Drive("target", 0.0, "sine", 5.0, 0.8))
    drives.choose(3)
    scene.panel.choose(0)
    arm.feature(WrenchView).panel.act.click()
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: arm.workbench.robot.playing)
    count = 0
    for title in ("Joints", "Scene", "Forces", "Batch"):
        arm.docks.show_in_front(title)
        for box in arm.docks[title].findChildren(QDoubleSpinBox) + arm.docks[title].findChildren(WholeBox):
            if box.isVisible() and box.isEnabled():
                box.setKeyboardTracking(False)
                box.setFocus()
                box.selectAll()
                for key in "1.5":
                    qtbot.keyClick(box, key)
                    arm.refresh()
                assert box.lineEdit().text().startswith("1.5"), (title, box.accessibleName())
                qtbot.keyClick(box, Qt.Key.Key_Escape)
                count += 1
    assert count > 20


def test_a_double_click_selects_the_whole_number(qtbot):
    box = NumberBox(-100.0, 100.0, 4)
    box.setSuffix(" m/s²")
    box.setValue(-9.81)
    qtbot.addWidget(box)
    box.show()
    line = box.lineEdit()
    line.setCursorPosition(len(box.text()))
    for place in (0, len("-9.8")):
        at = QPoint(line.fontMetrics().horizontalAdvance(box.text()[:place]) + 6, line.height() // 2)
        qtbot.mouseDClick(line, Qt.MouseButton.LeftButton, pos=at)
        assert line.selectedText() == "-9.81"
    qtbot.keyClicks(box, "7")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.value() == 7


def test_a_number_is_shown_by_as_many_digits_as_there_is_room_for(qtbot):
    holder, box, came = QWidget(), NumberBox(-1e9, 1e9, 6), []
    layout = QVBoxLayout(holder)
    layout.addWidget(box)
    qtbot.addWidget(holder)
    whole = box.minimumSizeHint()
    holder.show()
    box.setFixedWidth(70)
    box.valueChanged.connect(came.append)
    for value, start in ((1e9, "1e9"), (-123456.789012, "-1"), (0.533812, "0.53"), (1e-6, "1e-6"), (0.25, "0.25")):
        box.setValue(value)
        room = box.lineEdit().contentsRect().width() - 4
        assert box.text().startswith(start)
        assert float(box.text()) == pytest.approx(value, rel=0.06)
        assert box.fontMetrics().horizontalAdvance(box.text()) <= room
        qtbot.keyClick(box, Qt.Key.Key_Return)  # which reads what is shown, and loses no digit
        assert box.value() == value
    box.setValue(0.533812)
    del came[:]
    box.setFixedWidth(200)
    wait(qtbot, lambda: box.text() == "0.533812")
    box.setFixedWidth(70)
    wait(qtbot, lambda: box.text() != "0.533812")
    assert (box.value(), came, box.minimumSizeHint()) == (0.533812, [], whole)
    QApplication.sendEvent(box, QHelpEvent(QEvent.Type.ToolTip, QPoint(1, 1), box.mapToGlobal(QPoint(1, 1))))
    wait(qtbot, lambda: QToolTip.text().startswith("0.533812"))
