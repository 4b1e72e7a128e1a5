"""Angles in degrees or radians: one preference for every angle that the window shows and takes."""

import math

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_scene_view import entry, settled
from windows import type_in, wait

from app.acting.drives import Drive
from app.desktop.angles import ANGLES
from app.features.attaching import AngleUnits, BatchView, DriveView, PlotsView, Preferences, SceneView
from app.features.hand_posing import left_text
from app.panels.inspection import live_facts
from app.panels.joint_table import DRIVE, VALUE, VELOCITY
from app.panels.terrain import TerrainForm
from app.plotting.quantities import ANGLE, LENGTH, TORQUE
from app.simulation.grounds import SLOPE, Terrain


@pytest.fixture(autouse=True)
def degrees_again():
    yield
    ANGLES.radians = False


def cell(window, column, row=0):
    return window.joints.table.index(row, column)


def test_rows_and_fields_change_their_unit_and_take_it(qtbot, opened):
    window = opened()
    bench, action = window.workbench, window.features[AngleUnits].action
    bench.joints.set_held(True)
    window.refresh()
    window.joints.moved.emit(0, 0.5)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[0] == 0.5)
    assert cell(window, VALUE).data() == "28.6 °"
    action.trigger()
    assert cell(window, VALUE).data() == "0.500 rad"
    wait(qtbot, lambda: cell(window, DRIVE).data() == "→ 0.500 rad")
    wait(qtbot, lambda: len(window.joints.table.v) > 0)
    assert cell(window, VELOCITY).data() == "0.000 rad/s"
    editor = window.joints.itemDelegate().createEditor(window, None, cell(window, VALUE))
    assert (editor.suffix(), editor.decimals()) == (" rad", 4)
    window.joints.table.setData(cell(window, VALUE), 1.25)
    wait(qtbot, lambda: bench.robot.newest.q[0] == 1.25)
    action.trigger()
    assert cell(window, VALUE).data() == "71.6 °"
    window.joints.table.setData(cell(window, VALUE), 90.0)
    wait(qtbot, lambda: bench.robot.newest.q[0] == pytest.approx(math.pi / 2))


def test_the_form_of_a_joint_has_the_unit(qtbot, opened):
    window = opened()
    window.features[AngleUnits].action.trigger()
    view = window.features[DriveView]
    view.choose(0)
    window.workbench.joints.set_joint_drive(0, Drive("target", 0.25, "sine", 0.125))
    window.refresh()
    form = view.form
    wait(qtbot, lambda: form.value.value() == 0.25)
    assert (form.value.suffix(), form.amplitude.value()) == (" rad", 0.125)
    form.amplitude.setValue(0.2)
    assert window.workbench.robot.drive_of(0).amplitude == 0.2
    window.features[AngleUnits].action.trigger()
    assert form.value.suffix() == " °"
    assert form.amplitude.value() == pytest.approx(math.degrees(0.2), abs=0.01)


def test_the_poses_of_a_batch_are_asked_for_in_the_unit_and_stay_exact(qtbot, opened):
    window = opened()
    panel, bench, action = window.feature(BatchView).panel, window.workbench, window.features[AngleUnits].action
    qtbot.keyClick(window, Qt.Key.Key_B)
    panel.robots.setValue(4)
    type_in(qtbot, panel.pose, 30)
    wait(qtbot, lambda: bench.robot.settings.spread.pose == pytest.approx(math.pi / 6, rel=1e-15))
    assert panel.pose.text() == "30.0 °"
    assert panel.pose.toolTip().endswith("of a prismatic one 0.524 m")
    action.trigger()
    assert panel.pose.text() == "0.524 rad"
    type_in(qtbot, panel.seed, 7)
    wait(qtbot, lambda: bench.robot.settings.spread.seed == 7)
    pose = bench.robot.settings.spread.pose
    assert pose == pytest.approx(math.pi / 6, rel=1e-15), "not the number that the box shows"
    type_in(qtbot, panel.pose, 0.25)
    wait(qtbot, lambda: bench.robot.settings.spread.pose == 0.25)
    action.trigger()
    assert panel.pose.text() == "14.3 °"
    assert bench.robot.settings.spread.pose == panel.spread.pose == 0.25


def test_plots_have_the_unit_and_files_stay_in_radians(opened):
    window = opened()
    panel = window.features[PlotsView].panel
    quantity = panel.list.model.quantities.of_kinds("joint", ("position",))[0]
    panel.plot(quantity)
    panel._series[quantity].extend(np.array([0.0, 1.0]), np.array([0.5, 1.0]))
    panel.draw()
    assert panel.charts[0].canvas.curves[0].value == pytest.approx(np.degrees([0.5, 1.0]))
    window.features[AngleUnits].action.trigger()
    panel.draw()
    assert panel.charts[0].canvas.curves[0].value == pytest.approx([0.5, 1.0])
    assert panel.charts[0].canvas.wording(0.5).endswith(" rad")
    low, high = panel.charts[0].canvas.values
    assert -1 < low < 0.5 < 1.0 < high < 2
    assert (ANGLE.label, LENGTH.label, TORQUE.label, LENGTH.scale) == ("rad", "m", "N m", 1.0)


def test_the_inspected_link_and_messages_have_the_unit(shown):
    window = shown()
    model, frame = window.workbench.robot.model, window.workbench.robot.newest
    names = {row.label for section in live_facts(model, 1, frame) for row in section.rows}
    assert "angular velocity, °/s" in names
    window.features[AngleUnits].action.trigger()
    names = {row.label for section in live_facts(model, 1, frame) for row in section.rows}
    assert {"angular velocity, rad/s", "roll pitch yaw, rad"} <= names

    class Found:
        distance, angle = 0.0, 0.25

    assert left_text(Found()) == ", 0.250 rad out of reach"


def test_objects_of_the_scene_turn_by_radians(qtbot, opened):
    window = opened()
    scene = window.features[SceneView]
    scene.action.trigger()
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    scene.choose(0)
    window.features[AngleUnits].action.trigger()
    assert scene.panel.turn_name.text() == "Rotation x, y, z, rad"
    before = scene.panel._objects[0]
    requested = []
    scene.panel.changed.disconnect()
    scene.panel.changed.connect(lambda _, thing: requested.append(thing))
    scene.panel.turn[2].setValue(0.5)
    turned = requested[0].pose[:3, :3] @ before.pose[:3, :3].T
    assert math.atan2(turned[1, 0], turned[0, 0]) == pytest.approx(0.5)
    scene.panel.turn[2].setValue(5.0)
    assert scene.panel.turn[2].value() == pytest.approx(math.pi, abs=1e-4)


def test_a_slope_is_entered_in_radians(qtbot):
    form, requested = TerrainForm(), []
    qtbot.addWidget(form)
    form.changed.connect(requested.append)
    form.show_terrain(Terrain(SLOPE, (10.0, 180.0)))
    ANGLES.radians = True
    form.show_units()
    assert (form.boxes[0].value(), form.boxes[0].suffix()) == (0.175, " rad")
    form.boxes[0].setValue(0.2)
    assert requested[0].values == pytest.approx((math.degrees(0.2), 180.0))


def test_the_choice_is_kept_and_in_the_preferences(qtbot, make_window):
    first = make_window()
    preferences = first.features[Preferences]
    preferences.show()
    assert [box.text() for box in preferences.units] == ["Angles in radians"]
    qtbot.mouseClick(preferences.units[0], Qt.MouseButton.LeftButton, pos=preferences.units[0].rect().center() / 4)
    preferences.units[0].setChecked(True)
    assert ANGLES.radians
    second = make_window()
    assert second.features[AngleUnits].action.isChecked()
    preferences.dialog.restore()
    assert not ANGLES.radians
