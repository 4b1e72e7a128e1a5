"""Files dropped onto a window that shows a robot: meshes, controllers, several robots."""

import shutil

import numpy as np
import pytest
from PyQt6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PyQt6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PyQt6.QtWidgets import QApplication, QDialog, QListWidget
from test_scene_view import far_mesh, settled
from test_window import drop
from windows import number_typed, wait

import engine
from app.features.controller_view import DROPPED
from app.features.ground_view import NO_GROUND_TIP
from app.features.robot_files import NO_KIND
from app.features.scene_view import LEFT_ONE, SceneView
from app.picture.note import PictureNote

__all__ = ["far_mesh"]
ARM6, SCARA = engine.find_robot("arm6"), engine.find_robot("scara")


def test_a_dropped_mesh_is_an_obstacle_beside_the_robot(qtbot, arm, far_mesh):
    scene, upper = arm.features[SceneView], far_mesh.with_name("UPPER.OBJ")
    upper.write_bytes(far_mesh.read_bytes())
    assert drop(arm, far_mesh, upper)
    wait(qtbot, lambda: len(scene.obstacles) == 2)
    settled(qtbot, scene)
    assert {each.mesh for each in scene.obstacles} == {str(far_mesh), str(upper)}
    assert arm.workbench.robot.model.name == "arm7"
    assert not np.array_equal(*(each.pose for each in scene.obstacles))


def dragged(window, *paths, of=QDragEnterEvent):
    """Drag files, which their program would rather move, over the window or let go of them; return the event."""
    data, actions = QMimeData(), Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    place = QPointF(200, 200) if of is QDropEvent else QPoint(200, 200)
    event = of(place, actions, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)
    assert event.proposedAction() == Qt.DropAction.MoveAction
    QApplication.sendEvent(window, event)
    return event


def test_dropped_files_are_copied_and_what_will_be_done_is_said_before(qtbot, arm, far_mesh):
    def notes():
        return [each.text() for each in arm.viewport.findChildren(PictureNote) if each.isVisible()]

    assert dragged(arm, far_mesh).dropAction() == Qt.DropAction.CopyAction
    assert notes() == ["Release to add far.obj"]
    dragged(arm, far_mesh, ARM6, SCARA)
    assert notes() == ["Release to open arm6.urdf"]
    QApplication.sendEvent(arm, QDragLeaveEvent())
    assert notes() == []
    dragged(arm, ARM6)
    assert dragged(arm, ARM6, of=QDropEvent).dropAction() == Qt.DropAction.CopyAction
    assert "Release to open arm6.urdf" not in notes()
    wait(qtbot, lambda: arm.workbench.robot.model.name == "arm6")


def test_of_a_dropped_folder_the_robot_opens(qtbot, arm, tmp_path):
    (tmp_path / "urdf").mkdir()
    (tmp_path / "urdf" / "macros.xacro").write_text("")
    copy = shutil.copy(ARM6, tmp_path / "urdf")
    assert drop(arm, tmp_path)
    wait(qtbot, lambda: arm.workbench.robot.model.name == "arm6")
    assert arm.workbench.path == copy


def test_of_a_dropped_folder_of_several_robots_the_user_selects_one(qtbot, arm, tmp_path, monkeypatch):
    for path in (ARM6, SCARA):
        shutil.copy(path, tmp_path)
    listed = []

    def select(dialog):
        view = dialog.findChild(QListWidget)
        listed.extend(view.model().index(k, 0).data() for k in range(view.model().rowCount()))
        view.setCurrentIndex(view.model().index(1, 0))
        return answers.pop()

    answers = [QDialog.DialogCode.Accepted, QDialog.DialogCode.Rejected]
    monkeypatch.setattr(QDialog, "exec", select)
    assert drop(arm, tmp_path)
    wait(qtbot, lambda: len(listed) == 2)
    assert (arm.workbench.robot.model.name, arm.workbench.opening.loading) == ("arm7", "")
    assert drop(arm, tmp_path)
    wait(qtbot, lambda: arm.workbench.robot.model.name == "scara")
    assert listed == ["arm6.urdf", "scara.urdf"] * 2


def test_a_mesh_dropped_without_a_robot_is_told_to_be_one(qtbot, window, far_mesh):
    assert drop(window, far_mesh)
    wait(qtbot, lambda: window.workbench.findings is not None)
    assert any("the file is a mesh" in str(each) for each in window.workbench.findings.diagnostics)


def test_a_dropped_controller_is_not_run_and_the_entry_that_does_is_named(arm, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("raise SystemExit")
    assert drop(arm, path)
    assert arm.statusBar().currentMessage() == DROPPED.format("mine.py")
    assert not arm.workbench.controller.path
    assert not arm.workbench.opening.loading


@pytest.mark.parametrize("first", [True, False])
def test_of_a_robot_and_a_mesh_the_robot_opens(qtbot, arm, far_mesh, first):
    assert drop(arm, *((ARM6, far_mesh) if first else (far_mesh, ARM6)))
    wait(qtbot, lambda: arm.workbench.robot.model.name == "arm6")
    text = "arm6.urdf opens, far.obj did not: drop it again beside the robot"
    wait(qtbot, lambda: arm.statusBar().currentMessage() == text)
    assert not arm.features[SceneView].obstacles


def test_meshes_are_taken_beside_a_file_that_can_be_no_robot(qtbot, arm, far_mesh, tmp_path):
    scene, notes, upper = arm.features[SceneView], tmp_path / "notes.txt", far_mesh.with_name("UPPER.OBJ")
    notes.write_text("not a robot")
    upper.write_bytes(far_mesh.read_bytes())
    assert drop(arm, far_mesh, notes, upper)
    assert arm.statusBar().currentMessage() == f"notes.txt was not taken: {NO_KIND}"
    wait(qtbot, lambda: len(scene.obstacles) == 2)
    settled(qtbot, scene)
    assert not arm.workbench.findings.refused
    assert arm.workbench.robot.model.name == "arm7"
    assert drop(arm, notes, ARM6)
    wait(qtbot, lambda: arm.workbench.robot.model.name == "arm6")
    assert drop(arm, notes)
    wait(qtbot, lambda: arm.workbench.findings.refused)


def test_a_dropped_height_field_is_the_ground(qtbot, opened, tmp_path):
    path, flat = tmp_path / "Hills.NPY", tmp_path / "row.npy"
    np.save(tmp_path / "h.npy", np.outer(np.arange(5.0), np.arange(4.0)) / 10)
    (tmp_path / "h.npy").rename(path)
    np.save(flat, np.arange(5.0))
    window = opened(engine.find_robot("quadruped"))
    ground = lambda: window.workbench.robot.settings.scene.ground  # noqa: E731
    with number_typed(0.25) as requested:
        assert drop(window, path)
        wait(qtbot, lambda: isinstance(ground(), engine.HeightField))
        assert (ground().cell, ground().heights.shape) == (0.25, (5, 4))
        assert "Hills.NPY" in requested[0]
        assert drop(window, flat)
        wait(qtbot, lambda: "row.npy: " in window.statusBar().currentMessage())
    assert len(requested) == 1
    window.run.ground.trigger()
    wait(qtbot, lambda: not window.workbench.robot.settings.ground)
    assert drop(window, path)
    assert window.statusBar().currentMessage() == f"Hills.NPY: {NO_GROUND_TIP}"


def test_a_robot_opens_with_the_height_field_that_is_dropped_with_it(qtbot, arm, tmp_path):
    path, mine = tmp_path / "hills.npy", tmp_path / "mine.py"
    np.save(path, np.outer(np.arange(5.0), np.arange(4.0)) / 10)
    mine.write_text("raise SystemExit")
    robot = arm.workbench.robot
    with number_typed(0.25) as requested:
        assert drop(arm, path, engine.find_robot("quadruped"), mine)
        wait(qtbot, lambda: robot.settings is not None and isinstance(robot.settings.scene.ground, engine.HeightField))
    assert (robot.model.name, len(requested)) == ("quadruped", 1)
    assert robot.settings.scene.ground.cell == 0.25
    text = "quadruped.urdf opens, mine.py did not: drop it again beside the robot"
    assert arm.statusBar().currentMessage() == text


def test_what_was_not_opened_is_said_beside_why_the_height_field_was_not_taken(qtbot, arm, tmp_path):
    path = tmp_path / "hills.npy"
    np.save(path, np.zeros(4))
    assert drop(arm, engine.find_robot("scara"), tmp_path, path)
    text = f"one at a time: scara.urdf opens, {tmp_path.name} did not; hills.npy: "
    wait(qtbot, lambda: arm.statusBar().currentMessage().startswith(text))


def test_a_height_field_does_not_wait_for_another_robot_than_that_it_was_dropped_with(qtbot, arm, tmp_path):
    path, broken = tmp_path / "hills.npy", tmp_path / "broken.urdf"
    np.save(path, np.zeros((5, 4)))
    broken.write_text("<robot")
    with number_typed(0.25) as requested:
        assert drop(arm, path, broken)
        wait(qtbot, lambda: arm.workbench.findings.refused)
        arm.open(engine.find_robot("quadruped"))
        wait(qtbot, lambda: arm.workbench.robot.model.name == "quadruped" and not arm.workbench.opening.loading)
    assert not requested


def test_of_several_files_that_cannot_be_opened_none_is_said_to_open(qtbot, arm, tmp_path):
    table, rows = tmp_path / "a.txt", tmp_path / "b.jsonl"
    table.write_text("time [s],q:joint1 [rad]\n")
    rows.write_text("{}\n")
    assert drop(arm, table, rows)
    wait(qtbot, lambda: "the table of a run" in arm.statusBar().currentMessage())
    assert arm.statusBar().currentMessage().startswith(f"b.jsonl was not taken: {NO_KIND}; a.txt was not loaded: ")


def test_what_was_not_opened_is_said_beside_what_opening_the_other_says(qtbot, arm):
    """As an SRDF's pose, or here that the objects around the previous robot are gone."""
    scene, bar = arm.features[SceneView], arm.statusBar()
    scene.add("box", False)
    settled(qtbot, scene)
    assert drop(arm, ARM6, SCARA)
    left = LEFT_ONE.format(robot="arm7")
    second = "scara.urdf did not: File › Open second robot (Ctrl+Alt+O) has one beside it"
    wait(qtbot, lambda: bar.currentMessage() == f"one robot at a time: arm6.urdf opens, {second}; {left}")
    drop(arm, SCARA)
    wait(qtbot, lambda: arm.workbench.robot.model.name == "scara" and not arm.workbench.opening.loading)
    assert "one robot" not in bar.currentMessage()
