"""The Robot panel: its tree, its inspector, and the link that is chosen there or in the picture."""

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, QRect, Qt
from PyQt6.QtGui import QGuiApplication
from test_collision_shapes import pixels
from windows import press, wait

import engine
from app.features.attaching import AngleUnits, RobotView, TimeView
from app.panels.inspection import Row, Section
from app.panels.robot import LEAST_JOINT, Inspector, RobotPanel
from app.panels.robot_tree import DEEPEST, entries

ARM = engine.ROBOTS / "arm7.urdf"


@pytest.fixture
def arm(qtbot, arm):
    press(qtbot, arm, arm.features[RobotView].action)
    assert arm.features[RobotView].panel.isVisible()
    return arm


def on_screen(window, link: int) -> QPoint:
    """Return the viewport position of the middle of a drawn link."""
    view = window.viewport.view()
    instances = view.content.instances
    hull = view.content.hulls[instances.link == link].reshape(-1, 3)
    point = view.poses[link] @ np.append((hull.min(0) + hull.max(0)) / 2, 1.0)
    x, y, _, w = view.camera.projection(view.size[0] / view.size[1]) @ view.camera.view() @ point
    return QPoint(
        round((0.5 + 0.5 * x / w) * window.viewport.width()), round((0.5 - 0.5 * y / w) * window.viewport.height())
    )


def click_row(qtbot, tree, link: int) -> None:
    index = tree._shown.mapFromSource(tree._of_link[link].index())
    tree.scrollTo(index)
    qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=tree.visualRect(index).center())


def values(panel) -> dict[str, str]:
    lines = (line.split("\t") for line in panel.inspector.text().splitlines())
    return {line[0]: line[1] for line in lines if len(line) == 2}


def test_a_click_on_a_link_marks_it_in_the_picture_the_tree_and_the_inspector(qtbot, arm):
    panel, plain = arm.features[RobotView].panel, pixels(arm)
    link = arm.workbench.robot.model.link_names.index("link2")
    qtbot.mouseClick(arm.viewport, Qt.MouseButton.LeftButton, pos=on_screen(arm, link))
    assert arm.selection.link == link
    assert panel.tree.currentIndex().data() == "link2"
    shown = pixels(arm)
    place = on_screen(arm, link)
    bluer = (shown[..., 2::3] - shown[..., 0::3]) - (plain[..., 2::3] - plain[..., 0::3])
    assert bluer[place.y() - 3 : place.y() + 4, place.x() - 3 : place.x() + 4].min() > 15
    assert "Joint joint2" in panel.inspector.text()
    qtbot.mouseClick(arm.viewport, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    assert arm.selection.link == -1
    assert not panel.tree.currentIndex().isValid()
    assert panel.inspector.text() == ""  # the robot's facts stand below its joints
    image = panel.inspector.viewport().grab().toImage()
    assert len({image.pixel(x, image.height() // 2) for x in range(image.width())}) > 5, "a link can be selected"
    assert np.abs(pixels(arm) - plain).max() < 20


def test_a_drag_chooses_nothing(qtbot, arm):
    place = on_screen(arm, 3)
    qtbot.mousePress(arm.viewport, Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseMove(arm.viewport, place + QPoint(40, 0))
    qtbot.mouseRelease(arm.viewport, Qt.MouseButton.LeftButton, pos=place + QPoint(40, 0))
    assert arm.selection.link == -1


def test_in_a_narrow_panel_joints_give_way_to_links_and_eyes(qtbot):
    panel = RobotPanel()
    qtbot.addWidget(panel)
    panel.set_robot(engine.chain(9))
    panel.show()
    for width, joints in ((235, False), (420, True), (235, False)):
        panel.resize(width, 500)
        wait(qtbot, lambda joints=joints: panel.tree.isColumnHidden(1) != joints)
        for view in (panel.tree, panel.inspector):
            wait(qtbot, lambda view=view: not view.horizontalScrollBar().isVisible())
            assert view.header().length() == view.viewport().width()
        assert panel.tree.columnWidth(0) >= panel.tree.sizeHintForColumn(0)
        assert not joints or panel.tree.columnWidth(1) >= LEAST_JOINT


def test_a_click_in_the_tree_marks_the_link_in_the_picture(qtbot, arm):
    panel, plain = arm.features[RobotView].panel, pixels(arm)
    click_row(qtbot, panel.tree, 4)
    assert arm.selection.link == 4
    assert np.abs(pixels(arm) - plain).max() > 40
    names = [name for name, _, chosen, _ in arm.viewport.view().extras.labels if chosen]
    assert names == ["link4"]
    qtbot.keyClick(panel.tree, Qt.Key.Key_Down)
    assert arm.selection.link == 5
    qtbot.keyClick(panel.tree, Qt.Key.Key_Escape)
    assert arm.selection.link == -1


def test_the_filter_finds_links_by_their_joints_too(qtbot, arm):
    panel = arm.features[RobotView].panel
    qtbot.keyClicks(panel.search, "JOINT6")
    shown = panel.tree.model()
    index, way = shown.index(0, 0), []
    while index.isValid():
        way.append(index.data())
        index = shown.index(0, 0, index) if shown.rowCount(index) else shown.index(-1, 0)
    assert way == ["base", *(f"link{k}" for k in range(1, 7))]  # what leads there, and no link beyond
    panel.search.clear()
    assert panel.tree.model().rowCount(shown.index(0, 0)) == 1
    assert panel.nothing.isHidden()
    qtbot.keyClicks(panel.search, "no such link")
    assert not panel.nothing.isHidden()


def test_the_inspector_follows_while_it_plays_and_keeps_what_is_selected(qtbot, arm):
    panel = arm.features[RobotView].panel
    arm.run.hold.trigger()
    arm.selection.choose(2)
    before = values(panel)
    panel.inspector.topLevelItem(0).child(0).setSelected(True)
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: values(panel)["position"] != before["position"])
    press(qtbot, arm, arm.run.play)
    assert [item.text(0) for item in panel.inspector.selectedItems()] == ["position"]
    qtbot.keyClick(panel.inspector, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text()
    assert copied == f"position\t{values(panel)['position']}"
    assert copied.endswith("°")


def test_another_robot_has_nothing_chosen(arm, opened):
    arm.selection.choose(3)
    opened()
    assert arm.selection.link == -1
    assert arm.features[RobotView].panel.tree.model().index(0, 0).data() == arm.workbench.robot.model.link_names[0]


def test_letters_stay_shortcuts_while_the_tree_has_the_keyboard(qtbot, arm):
    panel = arm.features[RobotView].panel
    click_row(qtbot, panel.tree, 4)
    qtbot.keyClick(panel.tree, Qt.Key.Key_G)
    wait(qtbot, lambda: not arm.workbench.robot.settings.gravity)
    qtbot.keyClick(panel.tree, Qt.Key.Key_L)
    wait(qtbot, lambda: not panel.isVisible())


def test_a_long_chain_lies_flat_below_so_many_levels():
    model = engine.chain(300)
    depth = _depths([entry.under for entry in entries(model)])
    assert depth[:4] == [0, 1, 2, 3]
    assert max(depth) == DEEPEST
    assert [entry.name for entry in entries(model)] == list(model.link_names)


def test_each_link_stands_under_the_one_that_carries_it(quadruped):
    found = {entry.name: entry for entry in entries(quadruped)}
    above = {name: quadruped.link_names[entry.under] for name, entry in found.items() if entry.under >= 0}
    for leg in ("FL", "FR"):
        thigh = next(name for name in found if leg in name and "thigh" in name)
        shank = next(name for name in found if leg in name and "shank" in name)
        assert above[shank] == thigh
        assert "hip" in above[thigh]
    assert {entry.kind for entry in found.values()} >= {"revolute", "root"}


def _depths(under: list[int]) -> list[int]:
    depth: list[int] = []
    for above in under:
        depth.append(0 if above < 0 else depth[above] + 1)
    return depth


def test_the_drives_torque_of_a_held_arm_is_its_weight(qtbot, arm):
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: arm.workbench.robot.time > 0.5)
    press(qtbot, arm, arm.run.play)
    frame = arm.workbench.robot.newest
    loads = engine.static_loads(arm.workbench.robot.model, frame.q)
    np.testing.assert_allclose(frame.effort, loads, atol=0.05 * np.abs(loads).max())


def test_in_a_small_window_panel_picture_and_tools_have_their_room(qtbot, arm):
    arm.resize(1000, 650)
    wait(qtbot, lambda: (arm.width(), arm.height()) == (1000, 650))
    panel = arm.features[RobotView].panel
    assert panel.width() >= 240
    assert arm.viewport.width() >= 240
    last = arm.toolbar.widgetForAction(arm.toolbar.actions()[-1])
    wait(qtbot, lambda: last.isVisible() and last.geometry().right() < 1000)


def test_arrows_step_through_the_recording_whatever_has_the_focus(qtbot, arm):
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: arm.workbench.robot.time > 0.1)
    press(qtbot, arm, arm.run.play)
    tree, replay, first = arm.features[RobotView].panel.tree, arm.workbench.replay, arm.features[TimeView].first
    wait(qtbot, first.isEnabled)
    assert arm.viewport.hasFocus()  # until another has it
    tree.setFocus()
    tree.setCurrentIndex(tree.model().index(0, 0))
    qtbot.keyClick(tree, Qt.Key.Key_Left)
    assert replay.active
    assert tree.isExpanded(tree.currentIndex())
    qtbot.keyClick(tree, Qt.Key.Key_Down)
    assert tree.currentIndex() != tree.model().index(0, 0)
    qtbot.keyClick(tree, Qt.Key.Key_Home)
    assert replay.frame.time == 0


def test_numbers_beside_a_recorded_frame_are_its_own(qtbot, arm):
    panel, hand = arm.features[RobotView].panel, len(arm.workbench.robot.model.link_names) - 1
    arm.workbench.joints.set_held(False)
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: arm.workbench.robot.time > 0.3)
    press(qtbot, arm, arm.run.play)
    click_row(qtbot, panel.tree, hand)
    wait(qtbot, lambda: "position, mm" in values(panel))
    fallen = values(panel)["position, mm"]
    qtbot.keyClick(arm, Qt.Key.Key_Home)
    wait(qtbot, lambda: values(panel)["position, mm"] != fallen)
    first = values(panel)["position, mm"]
    click_row(qtbot, panel.tree, 1)
    click_row(qtbot, panel.tree, hand)
    assert values(panel)["position, mm"] == first
    arm.features[AngleUnits].action.trigger()
    assert values(panel)["position, mm"] == first
    arm.features[AngleUnits].action.trigger()


def test_a_hidden_panel_lists_a_robot_once_it_is_seen(qtbot, opened):
    window = opened(ARM)
    tree = window.features[RobotView].panel.tree
    assert tree.model().rowCount() == 0
    window.selection.choose(3)
    press(qtbot, window, window.features[RobotView].action)
    wait(qtbot, lambda: tree.model().rowCount() == 1)
    assert tree.currentIndex().data() == "link3"


def is_read_in_full(inspector: Inspector) -> bool:
    """Whether every text below the first section's title has room in its own cell, beside the row's other one."""
    section, room = inspector.topLevelItem(0), inspector.viewport().width()
    for k in range(section.childCount()):
        label, value = (inspector.visualRect(inspector.indexFromItem(section.child(k), column)) for column in (0, 1))
        assert label.top() == value.top()
        assert label.right() < value.left()
        assert value.right() < room
        for cell, text in ((label, section.child(k).text(0)), (value, section.child(k).text(1))):
            area = QRect(0, 0, cell.width() - 18, 9999)  # px, of the padding and the style's margin
            needed = inspector.fontMetrics().boundingRect(area, Qt.TextFlag.TextWordWrap, text)
            if needed.width() > area.width() or needed.height() > cell.height():
                return False
    return True


@pytest.mark.parametrize("width", [180, 240, 500])
def test_no_value_of_a_link_is_cut_off_or_leaves_its_column_however_narrow_its_panel(qtbot, width):
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.resize(width, 500)
    inspector.show()
    held = "with FL_hip_rotor, FR_hip_rotor, RL_hip_rotor, RR_hip_rotor, imu, radar"
    rows = [Row("of the body", held), Row("CoM, mm", "0"), Row("angular velocity, °/s", "0")]
    inspector.show_sections([Section("Link", tuple(rows))])
    inspector.grab()  # numbers become longer once rows have their heights
    wide = Row("CoM, mm", "-166.92 8.14 1063.55"), Row("angular velocity, °/s", "0.00 0.00")
    inspector.show_sections([Section("Link", (rows[0], *wide))])
    wait(qtbot, lambda: is_read_in_full(inspector))
    section = inspector.topLevelItem(0)
    heights = [inspector.visualItemRect(section.child(k)).height() for k in range(3)]
    inspector.show_sections([Section("Link", tuple(rows))])
    inspector.grab()
    assert heights == [inspector.visualItemRect(section.child(k)).height() for k in range(3)]  # numbers vary
    assert inspector.text().splitlines()[1] == f"of the body\t{held}"
    inspector.resize(900, 500)
    one = inspector.visualItemRect(section).height()
    wait(qtbot, lambda: {inspector.visualItemRect(section.child(k)).height() for k in range(3)} == {one})
