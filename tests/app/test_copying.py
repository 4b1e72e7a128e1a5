"""q and v copied as numbers that Python reads, and q pasted."""

import ast

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QGuiApplication
from test_time import play
from windows import wait

import engine
from app.acting.q_text import read_q
from app.features.copying import PAUSE, Copying
from app.features.undo_view import UndoView


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


def test_q_is_copied_pasted_and_undone(qtbot, opened):
    window = opened()
    bench, feature = window.workbench, window.features[Copying]
    window.joints.moved.emit(0, 0.1 + 0.2)
    feature.copy.trigger()
    assert ast.literal_eval(clipboard()) == [0.1 + 0.2, 0.0]
    QGuiApplication.clipboard().setText("q = np.array([-0.5, 0.25])")
    feature.paste.trigger()
    assert window.statusBar().currentMessage() == "pasted q: 2 numbers"
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q.tolist() == [-0.5, 0.25])
    assert window.features[UndoView].undo.text() == "&Undo Paste q"
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: bench.robot.newest.q.tolist() == [0.1 + 0.2, 0.0])


def test_both_are_those_of_the_frame_shown(qtbot, opened):
    window = opened()
    bench, feature = window.workbench, window.features[Copying]
    bench.joints.set_held(False)
    window.joints.moved.emit(0, 1.0)
    play(qtbot, window, 0.3)
    bench.replay.show(10)
    feature.copy_both.trigger()
    values: dict = {}
    exec(clipboard(), values)
    checkpoint = bench.replay.frame.checkpoint
    assert values["q"] == checkpoint.q[0].tolist()
    assert values["v"] == checkpoint.v[0].tolist()
    assert any(values["v"])
    feature.paste.trigger()
    assert window.statusBar().currentMessage().startswith("a recorded frame is shown; to paste q press Branch here")


def test_pasting_the_present_q_is_no_step_of_undo(opened):
    window = opened()
    window.features[Copying].copy.trigger()
    window.features[Copying].paste.trigger()
    assert window.statusBar().currentMessage() == "pasted q: 2 numbers"
    assert not window.features[UndoView].undo.isEnabled()


def test_what_cannot_be_pasted_is_told_in_a_sentence(opened):
    window = opened()
    feature = window.features[Copying]
    before = window.workbench.actions.state.q
    for text, reported in (
        ("[1, 2, 3]", "the clipboard has 3 numbers; q of double_pendulum has 2"),
        ("[1]", "the clipboard has 1 number; q of double_pendulum has 2"),
        ("Monday", "the clipboard has 'Monday', which is not a list of numbers such as [0.1, 0.2]"),
        ("[0.1, nan]", "q[1] is not finite; q needs finite numbers"),
    ):
        QGuiApplication.clipboard().setText(text)
        feature.paste.trigger()
        assert window.statusBar().currentMessage() == reported
    np.testing.assert_array_equal(window.workbench.actions.state.q, before)
    window.workbench.play()
    feature.paste.trigger()
    assert window.statusBar().currentMessage() == PAUSE


@pytest.mark.parametrize(
    "text",
    ["[0.5, -1]", " [0.5,\n -1.0 ] ", "array([ 0.5, -1.])", "q = [0.5, -1.0]\nv = [3, 4]\n", "0.5 -1", "[0.5 -1]"],
)
def test_lists_of_python_and_numpy_are_read(text):
    np.testing.assert_array_equal(read_q(text, engine.chain(2)), [0.5, -1.0])


def test_limits_and_rotations_are_checked():
    arm = engine.load(engine.find_robot("arm7"))
    q = arm.neutral()
    q[0] = 100.0
    with pytest.raises(ValueError, match=r"^q cannot be taken: .* is outside its limits, .* to .* rad$"):
        read_q(repr(q.tolist()), arm)
    free = engine.load(engine.find_robot("quadruped"))
    q = free.neutral()
    quaternion = free.quaternions[0][1]
    q[quaternion] *= 2
    np.testing.assert_allclose(read_q(repr(q.tolist()), free), free.neutral())
    q[quaternion] = 0
    with pytest.raises(ValueError, match=r"^the quaternion of .* is zero, which is not a rotation$"):
        read_q(repr(q.tolist()), free)


def test_the_entries_are_in_a_joints_menu(opened):
    window = opened()
    names = [each.text() for each in window.joints.row_menu(0).actions()]
    assert {"Copy &q", "Copy q and &v", "&Paste q"} <= set(names)
