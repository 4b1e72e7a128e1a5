"""The Diagnostics panel: whole sentences, however narrow it is."""

import re

import pytest
from PyQt6.QtCore import QRect, Qt
from PyQt6.QtWidgets import QApplication, QTreeWidget
from windows import wait

import engine
from app.features.diagnostics_view import DiagnosticsView
from app.jobs.expanding import expander
from app.panels.diagnostics import ELEMENT, LINE, PROBLEM, DiagnosticsPanel

BOX = '<visual><geometry><box size="1,1,1"/></geometry></visual>'


def shown_in_full(tree: QTreeWidget) -> bool:
    """Whether every cell is wide and high enough for all its words."""
    for row in range(tree.topLevelItemCount()):
        item = tree.topLevelItem(row)
        for column in range(tree.columnCount()):
            cell = tree.visualItemRect(item)
            width = tree.columnWidth(column) - 12
            words = tree.fontMetrics().boundingRect(
                QRect(0, 0, width, 9999), Qt.TextFlag.TextWordWrap, item.text(column)
            )
            if words.height() > cell.height() or (column and words.width() > width):
                return False
    return True


def test_faults_and_cures_are_read_in_full_however_narrow(qtbot):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    fault = "mesh package://a_package_of_a_long_name/meshes/visual/left_hand/finger_tip_simplified.dae is not found"
    fix = "add the folder of a_package_of_a_long_name in File › Package folders, or by --package-dir"
    panel.show_file("arm.urdf", "arm.urdf", [engine.Diagnostic("warning", 27, "<mesh> of link 'tip'", fault, fix)])
    panel.show()
    item = panel.list.topLevelItem(0)
    for width in (1200, 700, 520):
        panel.resize(width, 300)
        wait(qtbot, lambda: shown_in_full(panel.list))
    assert panel.list.visualItemRect(item).height() > 3 * panel.list.fontMetrics().height()
    assert item.toolTip(2) == fault
    panel.copy()
    assert fault in QApplication.clipboard().text()


def test_the_number_of_a_line_is_read_in_full(qtbot):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    panel.resize(900, 300)
    panel.show()
    for line in (7, 1234, 987654):
        panel.show_file("arm.urdf", "arm.urdf", [engine.Diagnostic("warning", line, "<mass>", "it is 0", "none")])
        wait(qtbot, lambda: panel.list.sizeHintForColumn(LINE) <= panel.list.columnWidth(LINE) < 100)


def test_numbers_are_not_broken_over_lines(qtbot):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    fault = "the principal moments are -2.41e-35, 0, 12.5, .5 kg m² in meshes/hand.v2.dae of x=5.2"
    panel.show_file("arm.urdf", "arm.urdf", [engine.Diagnostic("warning", 27, "<inertia> of link 'a.2_b'", fault, "")])
    item, places = panel.list.topLevelItem(0), "[\u200b ]"
    numbers = ["-2.41e-35,", "0,", "12.5,", ".5\xa0kg\xa0m²", "in", "meshes/", "hand.", "v2.", "dae", "of", "x=", "5.2"]
    assert re.split(places, item.text(PROBLEM))[4:] == numbers
    assert re.split(places, item.text(ELEMENT)) == ["<inertia>", "of", "link", "'a.", "2_", "b'"]


def test_the_mark_of_a_fault_stands_beside_its_first_line(qtbot):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    fault = "a fault that takes many words to be told " * 8
    panel.show_file("arm.urdf", "arm.urdf", [engine.Diagnostic("error", 27, "<mass> of link 'tip'", fault, "cure")])
    panel.resize(520, 300)
    panel.show()
    tree = panel.list
    wait(qtbot, lambda: tree.visualItemRect(tree.topLevelItem(0)).height() > 5 * tree.fontMetrics().height())
    tree.setCurrentItem(None)
    row, width = tree.visualItemRect(tree.topLevelItem(0)), tree.columnWidth(0)
    image = tree.viewport().grab(QRect(0, row.top(), width, row.height())).toImage()
    red = [
        y
        for y in range(image.height())
        for x in range(image.width())
        if image.pixelColor(x, y).red() > image.pixelColor(x, y).green() + 60
    ]
    assert len(red) > 20
    assert max(red) < 2 * tree.fontMetrics().height()


def test_a_file_that_is_no_session_is_told_of_with_the_diagnostics(qtbot, opened, tmp_path):
    """Like any refused file, it replaces the diagnostics of the previous one."""
    window = opened(engine.find_robot("pendulum"))
    path = tmp_path / "mine.catena"
    path.write_text("no session")
    window.open(path)
    (reported,) = window.feature(DiagnosticsView).panel.diagnostics
    assert (reported.element, reported.problem) == ("mine.catena", "it is not a Catena session")
    assert reported.fix == "open a file that File › Save session has written"
    wait(qtbot, window.docks["Diagnostics"].isVisible)
    assert window.statusBar().currentMessage() == f"{path}: {reported.problem}; {reported.fix}"
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert window.feature(DiagnosticsView).panel.diagnostics == []


def test_the_robot_plays_on_where_a_file_is_refused(qtbot, opened, tmp_path):
    window = opened(engine.find_robot("pendulum"))
    window.run.play.trigger()
    path = tmp_path / "scene.urdf"
    path.write_text("<mujoco/>")
    window.open(path)
    assert not window.workbench.robot.playing
    wait(qtbot, lambda: window.workbench.robot.playing)
    assert window.feature(DiagnosticsView).panel.diagnostics
    assert window.workbench.robot.model.name == "pendulum"


def test_of_binary_data_no_lines_are_seen(qtbot, tmp_path):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    path = tmp_path / "picture.urdf"
    path.write_bytes(b"RIFF\x10\0\0\0WEBP")
    panel.show_file(str(path), path.name, [engine.Diagnostic("error", 1, "XML", "the file is a picture", "cure")])
    assert panel.excerpt.isHidden()


def test_of_long_lines_the_beginning_is_seen(qtbot, tmp_path):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    path = tmp_path / "table.urdf"
    path.write_text("\n".join("a column, " * 80 for _ in range(3)))
    panel.resize(700, 200)
    panel.show_file(str(path), "table.urdf", [engine.Diagnostic("error", 1, "XML", "the file is text", "cure")])
    panel.show()
    panel.resize(520, 300)
    wait(qtbot, lambda: panel.excerpt.horizontalScrollBar().maximum() > 0)
    assert panel.excerpt.horizontalScrollBar().value() == 0


def test_many_warnings_of_one_kind_are_one_row_that_unfolds(qtbot):
    def alike(k: int) -> engine.Diagnostic:
        moved = f"nothing that link 'l{k}' moves has inertia"
        return engine.Diagnostic("warning", k + 1, f"joint 'j{k}'", moved, f"give link 'l{k}' mass")

    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    panel.resize(900, 300)
    panel.show()
    other = engine.Diagnostic("warning", 50, "<mass>", "the mass is 0", "give it in kilograms")
    panel.show_file(__file__, "arm.urdf", [alike(0), other, *map(alike, range(1, 4))])
    assert panel.list.topLevelItemCount() == 5  # so few are read one by one
    panel.show_file(__file__, "arm.urdf", [alike(0), other, *map(alike, range(1, 60))])
    panel.add([alike(60)])
    assert panel.summary.text() == "arm.urdf: 62 warnings"
    folded, single = map(panel.list.topLevelItem, range(panel.list.topLevelItemCount()))
    assert "61 alike" in folded.text(ELEMENT)
    assert (single.text(PROBLEM), folded.childCount()) == ("the mass is 0", 61)
    assert not folded.isExpanded()
    assert panel.excerpt.toPlainText().split()[:2] == ["▸", "1"]  # the first is selected
    panel.copy()
    lines = QApplication.clipboard().text().splitlines()
    assert len(lines) == 61
    folded.setExpanded(True)
    panel.list.clearSelection()
    panel.list.setCurrentItem(folded.child(7))
    assert "joint" in folded.child(7).text(ELEMENT)
    words = panel.excerpt.toPlainText().split()
    assert words[words.index("▸") + 1] == "8"
    panel.copy()
    assert len(QApplication.clipboard().text().splitlines()) == 62


def test_a_file_of_many_problems_opens_high_enough_and_at_its_first_error(qtbot, arm, tmp_path):
    file, docks = tmp_path / "broken.urdf", arm.docks
    links = "".join(f'<link name="l{k}"><inertial><mass value="{k}kg"/></inertial></link>' for k in range(9))
    file.write_text(f'<robot name="x"><link name="b">{BOX}</link>\n{links}</robot>')
    arm.resize(1280, 1200)
    panel = arm.features[DiagnosticsView].panel
    arm.open(file)
    wait(qtbot, lambda: docks["Diagnostics"].isVisible())
    assert panel.count > 8
    assert panel.diagnostics[0].severity == "warning"
    assert panel.diagnostics[panel.list.indexOfTopLevelItem(panel.list.currentItem())].severity == "error"
    assert ">" in panel.excerpt.toPlainText()
    wait(qtbot, lambda: docks["Diagnostics"].height() > 400)
    wait(
        qtbot,
        lambda: panel.list.viewport().height() > 8 * panel.list.visualItemRect(panel.list.topLevelItem(1)).height(),
    )


XACRO = """<?xml version="1.0"?>
<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="kg" value="{}"/>
  <xacro:macro name="part" params="name"><link name="${{name}}"><inertial><mass value="${{kg}}"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></xacro:macro>
  <xacro:part name="a"/><xacro:part name="b"/>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 2"/></joint>
</robot>"""


def test_a_problem_of_expanded_text_is_shown_with_its_lines(qtbot, window, tmp_path):
    pytest.importorskip("xacrodoc")
    path, panel = tmp_path / "r.urdf.xacro", window.features[DiagnosticsView].panel
    for kg, word in (("-1", 'value="-1"'), ("2", 'xyz="0 0 2"')):  # an error, and a warning
        path.write_text(XACRO.format(kg), "utf-8")
        window.open(path)
        wait(
            qtbot,
            lambda: any(each.of_expanded_text for each in panel.diagnostics) and not window.workbench.opening.loading,
        )
        window.docks.open_refilled("Diagnostics")
        row = next(k for k, each in enumerate(panel.diagnostics) if each.of_expanded_text)
        panel.list.setCurrentItem(panel.list.topLevelItem(row))
        wait(qtbot, lambda word=word: word in panel.excerpt.toPlainText())
        marked = [line for line in panel.excerpt.toPlainText().splitlines() if line.startswith("▸")]
        assert len(marked) == 1
        assert int(marked[0].replace("▸", "").split()[0]) == panel.diagnostics[row].line
        assert word in marked[0]
        assert panel.excerpt.toPlainText().startswith("in the expanded text of r.urdf.xacro:")


def test_a_xacro_file_that_is_gone_says_why_no_lines_are_shown(qtbot, tmp_path):
    pytest.importorskip("xacrodoc")
    path = tmp_path / "r.urdf.xacro"
    path.write_text(XACRO.format(2), "utf-8")
    (problem, *_) = [each for each in engine.check(path) if each.of_expanded_text]
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    panel.show()
    panel.show_file(str(path), path.name, [problem], (), expander(str(path), (), {"no": "x" * 9}))
    path.unlink()
    panel.list.setCurrentItem(None)
    panel.show_file(str(path), path.name, [problem], (), expander(str(path), (), {}))
    wait(qtbot, lambda: "The expanded text cannot be shown: " in panel.excerpt.toPlainText())
    assert "No such file" in panel.excerpt.toPlainText()
    panel.close_thread()


def test_a_file_of_another_kind_is_not_expanded(tmp_path):
    assert expander(str(tmp_path / "r.urdf"), (), {}) is None
