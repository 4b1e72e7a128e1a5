"""File › Generate: robots that are shown while their numbers are chosen, and saved."""

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtTest import QTest
from windows import name_file, wait

import engine
from app.features.generating import CHAIN, MAX_LINKS, TREE, Generating, Generator


@pytest.fixture
def dialog(qtbot, window) -> Generator:
    qtbot.keyClick(window, Qt.Key.Key_G, Qt.KeyboardModifier.ControlModifier)
    dialog = window.features[Generating].dialog
    assert dialog.isVisible()
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    return dialog


def shown(dialog):
    return dialog.parentWidget().workbench.robot.model


def test_the_preview_follows_the_form(qtbot, dialog):
    assert shown(dialog).name == "chain12"
    dialog.links.selectAll()
    QTest.keyClicks(dialog.links, "30")
    wait(qtbot, lambda: shown(dialog).name == "chain30")
    dialog.kind.setCurrentText(TREE)
    dialog.branching.setValue(80)
    wait(qtbot, lambda: shown(dialog).name == "tree30")
    wait(qtbot, lambda: np.bincount(shown(dialog).parent + 1).max() > 2)
    assert "30 joints" in dialog.note.text()


def test_the_dialog_does_not_stand_before_what_it_makes(window, dialog):
    picture = window.viewport.rect().translated(window.viewport.mapToGlobal(QPoint()))
    assert not picture.intersects(dialog.frameGeometry())
    assert dialog.frameGeometry().right() < window.frameGeometry().right()


def test_joints_are_mixed_as_asked_for(qtbot, dialog):
    dialog.links.setValue(60)
    dialog.prismatic.setValue(60)
    dialog.spherical.setValue(70)  # more than is left
    assert dialog.spherical.value() == 40
    wait(qtbot, lambda: {joint.kind for joint in shown(dialog).joints} == {"prismatic", "spherical"})
    assert "prismatic" in dialog.note.text()
    before = shown(dialog)
    QTest.mouseClick(dialog.other, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: shown(dialog) is not before)
    assert dialog.seed.value() == 1


def test_the_slider_reaches_every_length(dialog):
    for key, links in ((Qt.Key.Key_End, MAX_LINKS), (Qt.Key.Key_Home, 1)):
        QTest.keyClick(dialog.slider, key)
        assert dialog.links.value() == pytest.approx(links, rel=0.01)


def test_only_what_counts_can_be_chosen(dialog):
    assert dialog.straight.isEnabled()
    assert not dialog.branching.isEnabled()
    dialog.kind.setCurrentText(TREE)
    assert dialog.branching.isEnabled()
    assert dialog.floating.isEnabled()
    assert not dialog.straight.isEnabled()
    dialog.kind.setCurrentText(CHAIN)


def test_what_is_shown_is_saved_and_opened(qtbot, dialog, tmp_path, monkeypatch):
    dialog.kind.setCurrentText(TREE)
    dialog.floating.setChecked(True)
    dialog.links.setValue(7)
    name_file(monkeypatch, tmp_path / "mine")
    QTest.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: shown(dialog).source is not None)
    again, made = engine.load(tmp_path / "mine.urdf"), engine.tree(7, 0, 0.3, floating=True)
    assert [joint.kind for joint in again.joints] == [joint.kind for joint in made.joints]
    np.testing.assert_allclose(again.mass, made.mass)
    name_file(monkeypatch, tmp_path / "nowhere" / "x.urdf")
    QTest.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
    assert "was not written" in dialog.note.text()


def test_every_control_is_named_and_explained(dialog):
    for control in (dialog.kind, dialog.links, dialog.slider, dialog.branching, dialog.prismatic, dialog.spherical):
        assert control.toolTip()
        assert control.accessibleName()


def test_a_base_is_set_free_of_a_robot_that_has_a_file(qtbot, window, dialog, tmp_path, monkeypatch):
    """The file is reloaded; a generated robot has none."""
    assert not window.run.floating.isEnabled()
    name_file(monkeypatch, tmp_path / "mine.urdf")
    QTest.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
    wait(qtbot, window.run.floating.isEnabled)


def test_a_robot_that_is_open_stays_until_another_is_asked_for(qtbot, arm):
    before = arm.workbench.robot.model
    arm.features[Generating].action.trigger()
    dialog = arm.features[Generating].dialog
    assert dialog.note.text() == "arm7 stays open until a setting is changed or Generate is pressed"
    qtbot.wait(300)
    assert arm.workbench.robot.model is before
    QTest.mouseClick(dialog.generate, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: arm.workbench.robot.model is not before)
    assert arm.workbench.robot.model.name == "chain12"
