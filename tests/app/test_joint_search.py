"""The joint of a selected link is marked in the Joints dock, which has a search where a robot has many joints."""

import os
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication
from windows import wait

import engine
from app.acting.coordinates import coordinates, rows_of
from app.features.drive_view import DriveView
from app.panels.joint_column import NOTHING
from app.panels.joints import NAME, SLIDER

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
FINGERS = f"""<robot name="fingers"><link name="palm"/><link name="one">{BODY}</link><link name="other">{BODY}</link>
<joint name="first" type="revolute"><parent link="palm"/><child link="one"/><axis xyz="0 1 0"/>
<limit lower="0" upper="1" effort="1" velocity="1"/></joint>
<joint name="second" type="revolute"><parent link="one"/><child link="other"/><axis xyz="0 1 0"/>
<limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="first"/></joint></robot>"""


def hidden(window) -> list[int]:
    return [k for k in range(len(window.joints.table.rows)) if window.joints.isRowHidden(k)]


def is_in_sight(window, row: int) -> bool:
    table = window.joints
    return table.viewport().rect().contains(table.visualRect(table.table.index(row, NAME)))


def marked(window) -> set[int]:
    table = window.joints.table
    rows = range(len(table.rows))
    return {k for k in rows if table.data(table.index(k, SLIDER), Qt.ItemDataRole.BackgroundRole) is not None}


@pytest.mark.parametrize("robot_dock", [False, True])
def test_a_link_that_is_selected_has_its_joint_marked_and_in_sight(qtbot, opened, robot_dock):
    window = opened(engine.chain(80, 3))
    window.resize(1280, 800)
    if robot_dock:
        window.docks.show_in_front("Robot")
    joints = window.workbench.robot.coordinates
    for number in (70, 5, 79):
        link = window.workbench.robot.model.link_names.index(f"link{number}")
        row = next(k for k, each in enumerate(joints) if each.name == f"joint{number}")
        window.selection.choose(link)
        wait(qtbot, lambda row=row: is_in_sight(window, row))
        qtbot.wait(50)  # the facts of the link below take some of the height
        assert is_in_sight(window, row)
        assert marked(window) == {row}
    if folder := os.environ.get("CATENA_PICTURES"):
        window.grab().save(str(Path(folder) / f"joint_search_{robot_dock}.png"))
    window.selection.choose(-1)
    assert marked(window) == set()


@pytest.mark.parametrize("name", ["quadruped", "fingers", "humanoid"])
def test_the_rows_of_a_link_are_those_of_the_joint_that_moves_it(name, tmp_path):
    path = tmp_path / "fingers.urdf"
    path.write_text(FINGERS)
    model = engine.load(path if name == "fingers" else engine.find_robot(name))
    rows = coordinates(model)
    for joint in model.joints:
        own = [rows[k] for k in sorted(rows_of(model, joint))]
        assert own
        assert all(row.name.startswith(joint.name) for row in own)
        assert {row.leader for row in own} == {joint.leader}
    assert sum(len(rows_of(model, joint)) for joint in model.joints) == len(rows)


def test_a_search_leaves_the_joints_whose_names_have_the_letters(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    search, table = window.joint_column.search, window.joints
    assert not search.isVisible()  # seven joints need none
    opened(engine.chain(80, 3))
    wait(qtbot, search.isVisible)
    window.feature(DriveView).choose(3)
    search.setFocus()
    qtbot.keyClicks(search, "NT7")
    shown = [row.name for k, row in enumerate(table.table.rows) if k not in hidden(window)]
    assert shown == ["joint7", *(f"joint{k}" for k in range(70, 80))]
    assert not window.feature(DriveView).form.isVisible()
    search.setText("7 NT joint")
    assert [row.name for k, row in enumerate(table.table.rows) if k not in hidden(window)] == [
        *(f"joint{k}" for k in (7, 17, 27, 37, 47, 57, 67)),
        *(f"joint{k}" for k in range(70, 80)),
    ]
    search.setText("NT7")
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert QApplication.focusWidget() is table
    assert table.currentIndex() == table.table.index(6, SLIDER)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert table.currentIndex().row() == 69
    search.setText("elbow")
    assert len(hidden(window)) == 80
    assert table.nothing == NOTHING
    words = table.fontMetrics().boundingRect(NOTHING)
    wait(qtbot, lambda: table.viewport().height() > 0 and not window.joint_column.opening.isVisible())
    assert table.viewport().height() >= words.height()
    window.selection.choose(window.workbench.robot.model.link_names.index("link20"))
    assert (search.text(), hidden(window), table.nothing) == ("", [], "")
    wait(qtbot, lambda: is_in_sight(window, 19))


def test_a_search_stays_for_a_robot_in_which_it_finds_a_joint_and_for_no_other(opened):
    window = opened(engine.chain(80, 3))
    search = window.joint_column.search
    search.setText("joint7")
    opened(engine.chain(40, 3))
    assert search.text() == "joint7"
    assert len(hidden(window)) == 39
    search.setText("joint30")
    opened(engine.chain(25, 3))
    assert (search.text(), hidden(window)) == ("", [])
    search.setText("joint2")
    opened(engine.find_robot("arm7"))
    assert (search.text(), hidden(window)) == ("", [])
    assert marked(window) == set()
