"""A ball joint in the window: three sliders for its rotation vector, an effort about each axis, no targets."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_worker import opened, until

import engine
from app.acting.coordinates import coordinates
from app.acting.drives import Drive
from app.gl import skeleton
from app.panels.joint_form import JointForm
from app.panels.joints import DRIVE, EFFORT, NAME, SLIDER, SLIDER_FAIR, SLIDER_LEAST, VELOCITY, JointPanel
from app.simulation.batch_spread import OwnJoint

MODEL = engine.tree(4, seed=2, spherical=0.5)
NUMBERS = DRIVE, VELOCITY, EFFORT


def test_a_ball_joint_has_three_rows_that_turn_it(rng):
    model = engine.chain(1, spherical=1.0)
    rows, q = coordinates(model), model.random(rng)
    assert [row.name for row in rows] == ["joint1.x", "joint1.y", "joint1.z"]
    assert [(row.driveable, row.holdable, row.effort_v) for row in rows] == [(True, False, k) for k in range(3)]
    for row, value in zip(rows, (0.5, -1.0, 2.0), strict=True):
        row.put(q, 0.0)
        row.put(q, value)
    assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose([row.value(q) for row in rows], (0.5, -1.0, 2.0), atol=1e-12)
    R, _ = engine.lie.exp([0.5, -1.0, 2.0, 0, 0, 0])
    home = model.home_rotation[0]
    np.testing.assert_allclose(engine.link_poses(model, q)[1, :3, :3], home @ R, atol=1e-12)
    rows[0].put(q, math.pi)  # together with the others more than half a turn
    assert np.linalg.norm([row.value(q) for row in rows]) == pytest.approx(math.pi, abs=1e-8)
    assert rows[1].value(-q) == pytest.approx(rows[1].value(q))


def test_a_body_that_was_added_elsewhere_has_its_pose_in_the_world(rng):
    home = np.eye(4)
    home[:3, :3], home[:3, 3] = engine.rotation_from_rpy([0.3, -0.4, 2.0]), (0.5, -0.2, 0.7)
    arm, cube = engine.load(engine.find_robot("arm7")), engine.free_body("box", (0.1, 0.1, 0.1), 1.0, "body")
    model = engine.compose(engine.Part(arm, prefix=""), engine.Part(cube, home, "cube/"))
    free = [row for row in coordinates(model) if row.name.startswith("cube/")]
    assert not any(row.direct for row in free)
    for _ in range(20):
        q, wanted = model.random(rng), rng.uniform((-2, -2, -2, -3, -1.5, -3), (2, 2, 2, 3, 1.5, 3))
        for row, value in zip(free, wanted, strict=True):
            row.put(q, float(value))
        np.testing.assert_allclose([row.value(q) for row in free], wanted, atol=1e-9)
        pose = engine.link_poses(model, q)[model.link_names.index("cube/body")]
        np.testing.assert_allclose(pose[:3, 3], wanted[:3], atol=1e-12)
        np.testing.assert_allclose(pose[:3, :3], engine.rotation_from_rpy(wanted[3:]), atol=1e-9)


def test_a_ball_joint_is_placed_by_hand_and_driven_by_efforts(bench):
    opened(bench, MODEL)
    index = next(k for k, row in enumerate(bench.robot.coordinates) if row.component == 1)
    row = bench.robot.coordinates[index]
    bench.joints.set_coordinate(index, 0.4)
    until(lambda: (frame := bench.frame()) and abs(row.value(frame.q) - 0.4) < 1e-9)
    assert row.value(bench.robot.initial) == pytest.approx(0.4)
    assert index not in bench.robot.drives_now.held_rows
    bench.joints.set_drive(index, 0.25)
    bench.play()
    with pytest.raises(ValueError, match="pause to set it"):
        bench.joints.set_coordinate(index, 0.1)
    until(lambda: (frame := bench.frame()) and frame.time > 0.05 and abs(frame.v[row.effort_v]) > 0)
    bench.pause()


def test_a_free_base_has_rows_of_its_place_and_of_roll_pitch_and_yaw(rng, quadruped):
    """As `engine.rpy_from_rotation` has them; what is put comes back, and the two others stay."""
    rows, base = coordinates(quadruped), quadruped.joint("floating_base")
    free = [row for row in rows if row.name.startswith("floating_base.")]
    assert [row.name.partition(".")[2] for row in free] == ["x", "y", "z", "roll", "pitch", "yaw"]
    assert not any(row.driveable for row in free)
    for _ in range(50):
        q = quadruped.random(rng)
        turn = engine.lie.rotation_from_quaternion(q[base.q][3:])
        np.testing.assert_allclose([row.value(q) for row in free[3:]], engine.rpy_from_rotation(turn), atol=1e-12)
        wanted, place = rng.uniform((-3, -1.5, -3), (3, 1.5, 3)), q[base.q][:3].copy()
        for row, angle in zip(free[3:], wanted, strict=True):
            row.put(q, float(angle))
        np.testing.assert_allclose([row.value(q) for row in free[3:]], wanted, atol=1e-9)
        np.testing.assert_array_equal(q[base.q][:3], place)
        turn = engine.lie.rotation_from_quaternion(q[base.q][3:])
        np.testing.assert_allclose(turn, engine.rotation_from_rpy(wanted), atol=1e-12)


def test_at_a_pitch_of_a_quarter_turn_roll_and_yaw_stay_what_was_typed(quadruped):
    rows, q = {row.name: row for row in coordinates(quadruped)}, quadruped.neutral()
    for name, degrees in (("pitch", 90.0), ("roll", 20.0), ("yaw", -50.0), ("pitch", 300.0)):
        rows[f"floating_base.{name}"].put(q, math.radians(degrees))
    shown = [math.degrees(rows[f"floating_base.{name}"].value(q)) for name in ("roll", "pitch", "yaw")]
    np.testing.assert_allclose(shown, [20.0, 90.0, -50.0], atol=1e-3)


def test_a_free_base_is_turned_in_numbers_and_back_by_undo(bench):
    opened(bench, engine.load(engine.find_robot("quadruped")))
    actions = []
    bench.actions.done = actions.append
    index = next(k for k, row in enumerate(bench.robot.coordinates) if row.name == "floating_base.yaw")
    base, row = bench.robot.model.joint("floating_base"), bench.robot.coordinates[index]
    bench.joints.set_coordinate(index, 0.5)
    until(lambda: (frame := bench.frame()) and abs(row.value(frame.q) - 0.5) < 1e-12)
    np.testing.assert_allclose(bench.robot.newest.q[base.q][3:], [0, 0, math.sin(0.25), math.cos(0.25)], atol=1e-12)
    assert row.value(bench.robot.initial) == pytest.approx(0.5)
    assert row.value(actions[-1].before.q) == 0.0
    assert row.value(actions[-1].after.q) == pytest.approx(0.5)


def test_its_skeleton_has_a_bar_across_it():
    bars = {visual.link for visual in skeleton.visuals(engine.chain(2, spherical=1.0)) if visual.shape == "cylinder"}
    assert bars >= {0, 1}


def test_a_long_chain_is_looked_at_once(qtbot, monkeypatch):
    """Its rows are worked out once for all who want them, and each name and sort of number is measured once."""
    model, measured = engine.chain(1000), []
    rows = coordinates(model)
    assert coordinates(model) is rows
    panel = JointPanel()
    qtbot.addWidget(panel)
    metrics = panel.fontMetrics()

    class Counted:
        def horizontalAdvance(self, text: str) -> int:
            measured.append(text)
            return metrics.horizontalAdvance(text)

    monkeypatch.setattr(panel, "fontMetrics", Counted)
    panel.set_rows(rows, model.neutral())
    assert len(measured) < len(rows) + 10
    assert set(measured) >= {"joint1000", "-180.0 °", "-000.0 N m"}
    assert panel._names[2][0] == max(metrics.horizontalAdvance(row.name) for row in rows)


def test_drives_give_way_to_names_and_sliders(qtbot):
    """Of rows that a search hides, neither names nor numbers count."""
    model, panel = engine.chain(3), JointPanel()
    qtbot.addWidget(panel)
    panel.show()
    names = ("arm0_joint_with_a_long_name", "arm1_joint_with_a_long_name", "hip")
    panel.set_rows(
        rows := [replace(row, name=name) for row, name in zip(coordinates(model), names, strict=True)], model.neutral()
    )

    def columns(width: int) -> list[bool]:
        panel.resize(width, 600)
        qtbot.waitUntil(lambda: panel.viewport().width() > width - 40)
        assert panel.columnWidth(SLIDER) >= SLIDER_FAIR
        shown = [panel.table.index(k, NAME).data() for k in range(len(rows))]
        assert [shown[k] for k in range(len(rows)) if not panel.isRowHidden(k)] == [
            name for k, name in enumerate(names) if not panel.isRowHidden(k)
        ]
        return [not panel.isColumnHidden(column) for column in (DRIVE, VELOCITY, EFFORT)]

    def heading() -> str:
        return panel.table.headerData(SLIDER, Qt.Orientation.Horizontal)

    assert columns(380) == [False, False, False]
    assert heading() == "position (+ drive, velocity, effort)"
    assert columns(460) == [True, False, False]
    assert columns(560) == [True, False, False]
    assert heading() == "position (+ velocity, effort)"
    assert columns(660) == [True, True, True]
    assert heading() == "position"
    for k in (0, 1):
        panel.setRowHidden(k, True)
    panel.show_units()
    assert columns(380) == [True, False, False]
    assert columns(560) == [True, True, True]


def test_long_names_of_followers_take_no_room_from_names_and_sliders(qtbot):
    """Nor does a name lose an ending for which its column has room."""
    model, panel = engine.load(engine.find_robot("arm7")), JointPanel()
    qtbot.addWidget(panel)
    panel.show()
    first, *rows = coordinates(model)
    names = [*(f"arm_left_{k}_joint" for k in range(1, 6)), "gripper_left_inner_finger_joint"]
    rows = [replace(row, name=name) for row, name in zip(rows, names, strict=True)]
    rows.append(replace(first, name="gripper_left_fingertip_left_joint", leader="gripper_left_inner_finger_joint"))
    for width, whole in ((430, 5), (360, 0), (700, 7)):
        panel.set_rows(rows, model.neutral())
        panel.resize(width, 600)
        qtbot.waitUntil(lambda width=width: panel.viewport().width() > width - 40)
        assert panel.columnWidth(SLIDER) >= SLIDER_FAIR
        shown = [panel.table.index(k, NAME).data() for k in range(7)]
        assert shown[:whole] == [row.label for row in rows[:whole]], width
        assert panel.fontMetrics().horizontalAdvance(shown[0]) <= panel.columnWidth(NAME) - 10, width


def test_names_are_whole_where_there_is_room_and_those_of_a_base_before_a_common_ending(qtbot, quadruped):
    panel, humanoid = JointPanel(), engine.load(engine.find_robot("humanoid"))
    qtbot.addWidget(panel)
    panel.show()

    def names(model: engine.Model, width: int) -> list[str]:
        panel.set_rows(coordinates(model), model.neutral())
        panel.resize(width, 600)
        qtbot.waitUntil(lambda: panel.viewport().width() > width - 40)
        assert panel.columnWidth(SLIDER) >= SLIDER_LEAST
        return [panel.table.index(k, NAME).data() for k in (0, 7)]

    assert names(quadruped, 430) == ["floating_base.x", "FL_thigh_joint"]
    assert names(humanoid, 430) == ["floating_base.x", "left_hip_roll_joint"]
    assert names(quadruped, 360) == ["…base.x", "FL_thigh…"]


@pytest.mark.parametrize(("width", "columns"), [(360, ()), (430, (DRIVE,)), (800, NUMBERS)])
def test_a_name_is_not_cut_twice_beside_columns_of_numbers(qtbot, width, columns):
    """It lost its ending, and was elided again, where a column of drives took the room."""
    panel, humanoid = JointPanel(), engine.load(engine.find_robot("humanoid"))
    qtbot.addWidget(panel)
    panel.show()
    panel.resize(width, 600)
    panel.set_rows(coordinates(humanoid), humanoid.neutral())
    qtbot.waitUntil(lambda: panel.viewport().width() > width - 40)
    names = [panel.table.index(k, NAME).data() for k in range(panel.table.rowCount())]
    assert max(map(panel.fontMetrics().horizontalAdvance, names)) <= panel.columnWidth(NAME) - 10
    assert tuple(each for each in NUMBERS if not panel.isColumnHidden(each)) == columns


def test_columns_that_no_row_fills_are_hidden(qtbot):
    panel, model = JointPanel(), engine.load(engine.find_robot("pendulum"), floating=True)
    qtbot.addWidget(panel)
    panel.resize(800, 600)
    panel.show()
    rows = coordinates(model)
    for driven, shown in ((True, NUMBERS), (False, ())):
        panel.set_rows([row for row in rows if driven or not row.driveable], model.neutral())
        assert tuple(each for each in NUMBERS if not panel.isColumnHidden(each)) == shown


def test_a_joint_that_is_put_where_it_is_leaves_nothing_to_undo(bench):
    opened(bench, engine.chain(2))
    actions = []
    bench.actions.done = actions.append
    bench.joints.set_coordinate(0, 0.3)
    bench.joints.set_coordinate(0, 0.3)
    assert [action.text for action in actions] == ["Move joint1 to 17.2 °"]


def test_a_large_limit_is_written_with_plain_digits(qtbot, tmp_path):
    """A motor of 1000 rad/s has a velocity limit of 57296 °/s."""
    text = engine.find_robot("arm7").read_text("utf-8")
    path = tmp_path / "fast.urdf"
    path.write_text(re.sub('velocity="[^"]*"', 'velocity="1000"', text), "utf-8")
    row = coordinates(engine.load(path))[0]
    form = JointForm()
    qtbot.addWidget(form)
    form.show_joint(row, Drive("velocity"), (0.0, 0.0), OwnJoint(0, row.effort, 0.0, 0.0))
    form.show_motion(1.0, math.nan)
    assert form.motion.text() == "57.3 of 57296 °/s"
    assert form.value.toolTip() == "In °/s, from -57296 to 57296"
