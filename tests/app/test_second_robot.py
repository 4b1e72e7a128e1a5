"""A second robot: opened, simulated as if alone, clicked, closed; the first one is unaffected."""

from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from windows import PATIENCE, in_simulation, play_for, second_state, wait

import engine
from app.features.attaching import GroundView, LogView, Reloading, RunExports, SimulationChoices
from app.features.ghost_view import HIDDEN, GhostView
from app.features.second_robot_view import CROWDED, UNBEGUN, UNRECORDED, UNTOUCHED, SecondRobotView
from app.gl.picking import corners_at
from app.panels.second_robot import ROWS
from app.simulation.batch_spread import BatchSpread
from app.simulation.running import gains_of
from app.simulation.second_robot import touched_part

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


def test_it_is_opened_by_the_menu_and_simulated_as_one_alone_is(qtbot, second, monkeypatch):
    window, _ = second
    view = window.features[SecondRobotView]
    window.run.hold.trigger()
    monkeypatch.setattr("app.desktop.dialogs.ask_file", lambda *_: str(engine.find_robot("double_pendulum")))
    view.open_action.trigger()
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    play_for(qtbot, window, 0.3)
    seen = []
    window.framed.connect(lambda frame: seen.append((frame.time, frame.second_robot.q.copy())))
    window.workbench.step()
    wait(qtbot, lambda: len(seen) > 0 and not window.workbench.robot.playing)
    time, q = seen[-1]
    model, settings = view.model, window.workbench.robot.settings
    alone = engine.Simulation(model, dt=settings.dt, integrator=settings.integrator, device="cpu")
    alone.reset(model.neutral()[None])
    alone.step(round(time / settings.dt))
    np.testing.assert_array_equal(q, alone.q[0])
    assert np.abs(q - model.neutral()).max() > 1e-3


def test_the_empty_panel_opens_one(qtbot, second, monkeypatch):
    window, _ = second
    view = window.features[SecondRobotView]
    window.docks.show_in_front("Second robot")
    monkeypatch.setattr("app.desktop.dialogs.ask_file", lambda *_: str(engine.find_robot("double_pendulum")))
    qtbot.mouseClick(view.panel.open_button, LEFT)
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    assert not view.panel.open_button.isVisible()
    qtbot.mouseClick(view.panel.close_button, LEFT)
    wait(qtbot, lambda: not view.panel.open_button.isHidden())


def test_both_stand_apart_are_in_view_and_named(qtbot, second):
    window, put = second
    before = window.viewport.camera.distance
    view = put("humanoid")
    drawn, poses = window.viewport.overlays.second_robot
    lower, upper = drawn.bounds(poses)
    own = window.viewport.robot_bounds
    right = window.viewport.camera.axes()[0]
    assert max(corner @ right for corner in own) < (lower + upper) / 2 @ right
    assert window.viewport.camera.distance > before
    assert [view.panel.table.horizontalHeaderItem(k).text() for k in (0, 1)] == ["arm7", "humanoid"]
    assert view.panel.table.item(1, 1).text() == str(view.model.nv)
    assert view.panel.isVisible()
    # It stands on the ground where it is drawn.
    play_for(qtbot, window, 0.3)
    z = second_state(window).q[2]
    assert abs(z - view.model.neutral()[2]) < 0.02


def test_stairs_are_brought_into_view_with_both(qtbot, second):
    window, put = second
    put("snake50")
    viewport = window.viewport
    qtbot.waitUntil(lambda: window.workbench.robot.newest is not None and viewport.reading is None, timeout=PATIENCE)
    before = viewport.camera
    window.features[GroundView].choose("Stairs")
    wait(qtbot, lambda: viewport.camera is not before)
    drawn, poses = viewport.overlays.second_robot
    size = viewport.width(), viewport.height()
    corners = corners_at(viewport.camera, size, *drawn.bounds(poses))
    assert np.all((corners >= 0) & (corners <= size))


def pick_entry(qtbot, box, name: str) -> None:
    """Choose the entry with that data in the opened list, as a user does."""
    box.showPopup()
    entry = box.model().index(box.findData(name), 0)
    wait(qtbot, lambda: box.view().isVisible())
    qtbot.mouseClick(box.view().viewport(), LEFT, pos=box.view().visualRect(entry).center())
    assert box.currentData() == name


def test_it_goes_on_by_an_algorithm_of_its_own(qtbot, second):
    window, put = second
    view, box = put("arm7"), window.features[SecondRobotView].panel.algorithm
    menu = {action.text().split("\t")[0] for action in window.feature(SimulationChoices).algorithm_menu.actions()}
    assert {box.itemText(row) for row in range(box.count())} <= menu
    window.run.hold.trigger()
    wait(qtbot, lambda: second_state(window) is not None)
    play_for(qtbot, window, 0.2)
    time = in_simulation(window.workbench, lambda running: running.time)
    wait(qtbot, lambda: window.workbench.robot.newest.time == time)
    first, there = window.workbench.computation.algorithm, second_state(window)
    assert "cfa" not in (first, there.algorithm)
    pick_entry(qtbot, box, "cfa")
    wait(qtbot, lambda: second_state(window) is not None and second_state(window).algorithm == "cfa")
    wait(qtbot, lambda: not view.panel.note.text())
    assert second_state(window).time == there.time
    np.testing.assert_array_equal(second_state(window).q, there.q)
    np.testing.assert_array_equal(second_state(window).v, there.v)
    row = ROWS.index("algorithm")
    wait(qtbot, lambda: view.panel.table.item(row, 1).text() == "CFA")
    assert (window.workbench.robot.settings.algorithm, window.workbench.computation.algorithm) == ("auto", first)
    window.workbench.step()
    wait(qtbot, lambda: second_state(window).time > there.time)
    settings, now = window.workbench.robot.settings, second_state(window)
    alone = engine.Simulation(
        view.model, dt=settings.dt, device="cpu", algorithm="cfa", integrator=settings.integrator, scene=now.scene
    )
    alone.reset(there.q[None], there.v[None])
    alone.step(round((now.time - there.time) / alone.dt))
    np.testing.assert_array_equal(now.q, alone.q[0])


def test_an_algorithm_that_cannot_simulate_it_says_why(second):
    window, put = second
    box = put("humanoid").panel.algorithm
    refused = box.model().item(box.findData("cfa"))
    model = window.features[SecondRobotView].model
    assert not refused.isEnabled()
    assert refused.toolTip() == engine.simulation_refusal("cfa", model, "cpu", window.workbench.robot.settings.scene)
    assert box.model().item(box.findData("jsiia")).isEnabled()
    assert box.currentText() == "auto"


def test_a_drag_that_would_pull_or_pose_it_says_why_it_cannot(qtbot, second):
    window, put = second
    put("double_pendulum")
    viewport, said = window.viewport, []
    drawn, poses = viewport.overlays.second_robot
    at = viewport.place(drawn.of_links(poses, [1]).mean((0, 1))).toPoint()
    window.statusBar().messageChanged.connect(said.append)
    for keys, button in ((Qt.KeyboardModifier.NoModifier, RIGHT), (Qt.KeyboardModifier.ControlModifier, LEFT)):
        said.clear()
        qtbot.mousePress(viewport, button, keys, at)
        qtbot.mouseMove(viewport, at + QPoint(30, 10))
        qtbot.mouseMove(viewport, at + QPoint(60, 20))
        qtbot.mouseRelease(viewport, button, keys, at + QPoint(60, 20))
        assert said == [UNTOUCHED.format("double_pendulum")]
        window.statusBar().clearMessage()


def test_a_reset_brings_both_back(qtbot, second):
    window, put = second
    put("double_pendulum")
    start = second_state(window).q.copy()
    window.run.hold.trigger()
    wait(qtbot, lambda: second_state(window) is not None)  # it is made again, without gains
    play_for(qtbot, window, 0.3)
    assert np.abs(second_state(window).q - start).max() > 1e-3
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: second_state(window) is not None and np.array_equal(second_state(window).q, start))


def test_the_table_has_the_time_of_each(qtbot, second):
    window, put = second
    play_for(qtbot, window, 0.2)
    view = put("double_pendulum")
    row = ROWS.index("time")
    own, other = (view.panel.table.item(row, column) for column in (0, 1))
    wait(qtbot, lambda: other.text() == "0.000 s")
    assert own.text() == f"{window.workbench.robot.time:.3f} s" != "0.000 s"
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: own.text() == "0.000 s")
    play_for(qtbot, window, 0.1)
    wait(qtbot, lambda: own.text() == other.text() == f"{window.workbench.robot.time:.3f} s")
    assert own.text() != "0.000 s"


def test_numbers_of_the_one_before_are_not_left_to_another(second):
    _, put = second
    table = put("arm7").panel.table
    cells = [table.item(row, 1) for row in range(table.rowCount())]
    view = put("arm6")
    view.panel.show_column(1, ["9 links", "6"])  # until it is prepared
    assert [each.text() for each in cells] == ["9 links", "6", *([""] * (table.rowCount() - 2))]


def test_a_reset_brings_back_one_that_diverged(qtbot, second):
    window, put = second
    view = put("double_pendulum")
    start = second_state(window).q.copy()
    window.workbench.second_robot._attached._simulation.q[:] = np.nan
    play_for(qtbot, window, 0.05)
    wait(qtbot, lambda: second_state(window) is None and "diverged" in view.panel.note.text())
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: second_state(window) is not None and np.array_equal(second_state(window).q, start))
    wait(qtbot, lambda: view.panel.note.text() == "")


def test_the_camera_stays_where_one_that_was_seen_comes_again(qtbot, second):
    window, put = second
    put("double_pendulum")
    window.viewport.camera.distance *= 3.0
    distance = window.viewport.camera.distance
    frame, there = window.workbench.robot.newest, second_state(window)
    for frame.second_robot in (None, there):  # as while it is made again
        window.framed.emit(frame)
        assert (window.viewport.overlays.second_robot is None) == (frame.second_robot is None)
    assert window.viewport.camera.distance == distance
    with qtbot.waitSignal(window.loaded, timeout=PATIENCE):
        window.features[Reloading].reload()
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    assert window.viewport.camera.distance == distance
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "pendulum")
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    drawn, poses = window.viewport.overlays.second_robot
    assert window.viewport.camera.distance != distance
    for corner in drawn.bounds(poses):
        place = window.viewport.place(corner)
        assert 0 <= place.x() <= window.viewport.width()
        assert 0 <= place.y() <= window.viewport.height()


def test_the_first_robot_takes_the_steps_that_it_takes_alone(qtbot, second):
    window, put = second
    put("double_pendulum")
    bench = window.workbench
    play_for(qtbot, window, 0.2)
    seen = []
    window.framed.connect(lambda frame: seen.append((frame.time, frame.q.copy())))
    bench.step()
    wait(qtbot, lambda: len(seen) > 0)
    time, q = seen[-1]
    kp, kd = gains_of(bench.robot.model, bench.robot.settings)
    alone = engine.Simulation(
        bench.robot.model, dt=bench.robot.settings.dt, integrator=bench.robot.settings.integrator, device="cpu",
        algorithm=bench.computation.algorithm, kp=kp, kd=kd,
    )  # fmt: skip
    alone.reset(bench.robot.initial[None])
    alone.target[:] = bench.robot.initial
    alone.step(round(time / bench.robot.settings.dt))
    np.testing.assert_array_equal(q, alone.q[0])


def test_a_click_tells_of_its_link(qtbot, second):
    window, put = second
    view = put("humanoid")
    content, poses = window.viewport.overlays.second_robot
    link = view.model.link_names.index("head") if "head" in view.model.link_names else len(view.model.link_names) // 2
    shapes = np.flatnonzero(content.instances.link == link)
    center = (poses[link] @ content.instances.local[shapes[0]])[:3, 3]
    place = window.viewport.place(center).toPoint()
    qtbot.mouseClick(window.viewport, LEFT, pos=place)
    assert view.panel.link.text().startswith("humanoid, ")
    assert " kg, at (" in view.panel.link.text()
    assert window.selection.link == -1
    qtbot.mouseClick(window.viewport, LEFT, pos=window.viewport.rect().topLeft())
    assert window.viewport.view().extras.appearance.chosen == -1


def test_a_film_shows_the_first_one_alone(second):
    window, put = second
    view = put("double_pendulum")
    links = len(window.workbench.robot.model.link_names)
    frame, size, overlays = window.workbench.robot.newest, (160, 120), window.viewport.overlays
    both = window.viewport.view_of(size)
    assert len(both.poses) == links + len(view.model.link_names)
    overlays.choose_second_link(0)
    overlays.set_ghost(frame.link_poses, np.ones((links, 4)))
    film = window.viewport.shot.view_of(frame, size)
    np.testing.assert_array_equal(film.poses, frame.link_poses)
    look = film.extras.appearance
    assert (look.chosen, look.tints, look.ghost) == (-1, None, 1.0)
    assert film.content is window.viewport.shot.content


def test_it_is_closed_again_and_makes_room_for_a_batch(qtbot, second):
    window, put = second
    view = put("scara")
    window.features[GhostView].panel.on.click()
    wait(qtbot, lambda: window.workbench.shown.ghost is not None)
    wait(qtbot, lambda: view.panel.table.item(ROWS.index("time"), 0).text() != "")
    window.workbench.configuring.set_spread(BatchSpread(3, 0.1))
    wait(qtbot, lambda: window.workbench.robot.newest.batch is not None)
    wait(qtbot, lambda: window.viewport.overlays.second_robot is None)
    assert view.panel.note.text() == CROWDED
    assert {CROWDED, HIDDEN} <= {entry.text for entry in window.features[LogView].entries}
    assert {view.panel.table.item(ROWS.index("time"), column).text() for column in (0, 1)} == {""}, "no old numbers"
    window.workbench.configuring.set_spread(BatchSpread())
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    assert not view.panel.note.text()
    view.close_action.trigger()
    assert window.viewport.overlays.second_robot is None
    wait(qtbot, lambda: second_state(window) is None)
    assert not view.close_action.isEnabled()
    assert not view.panel.table.isVisible()
    assert not window.docks["Second robot"].isVisible()
    wait(qtbot, lambda: not window.docks["Joints"].visibleRegion().isEmpty())  # which had the place before


def test_another_first_robot_keeps_it(qtbot, second):
    window, put = second
    view = put("scara")
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "pendulum")
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    assert view.panel.table.horizontalHeaderItem(0).text() == "pendulum"


def test_it_stands_on_the_ground_of_the_first(qtbot, opened, quadruped):
    window = opened(engine.find_robot("quadruped"))
    view = window.features[SecondRobotView]
    view.open(engine.find_robot("quadruped"))
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    play_for(qtbot, window, 0.1)
    marks, own, state = window.viewport.view().marks, window.workbench.robot.newest.contacts, second_state(window)
    assert len(own.point) > 0 < len(state.contacts.point)
    assert len(marks.state) == len(own.point) + len(state.contacts.point)
    np.testing.assert_allclose(marks.ends[0], np.concatenate([own.point, state.contacts.point]), atol=1e-6)
    feet = window.viewport.overlays.second_robot[1][state.contacts.link, :3, 3]
    assert np.abs(marks.ends[0][len(own.point) :] - feet).max() < 0.4
    window.viewport.show_contacts(False)
    assert window.viewport.view().marks is None
    window.viewport.show_contacts(True)
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: second_state(window).time == 0)
    level = window.workbench.robot.newest.second_robot.q
    slope = window.features[GroundView].shapes[1]
    slope.trigger()
    scene = window.workbench.robot.settings.scene
    assert scene.ground.normal[2] < 1
    wait(qtbot, lambda: not np.array_equal(getattr(second_state(window), "q", level), level))
    asked = quadruped.neutral()
    asked[:3] += view.kept()["beside"]["place"]
    np.testing.assert_allclose(second_state(window).q, engine.put_down(quadruped, scene, asked), atol=1e-12)
    assert abs(second_state(window).q[2] - level[2]) > 0.01
    window.run.ground.trigger()
    play_for(qtbot, window, 0.2)
    wait(qtbot, lambda: second_state(window) is not None and second_state(window).v[5] < -0.5)  # as the first it falls


HANGING = """<robot name="hanging"><link name="base"/><link name="leg">
<inertial><origin xyz="0 0 -0.5"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
</inertial>
<visual><origin xyz="0 0 -0.5"/><geometry><box size="0.1 0.1 1"/></geometry></visual></link>
<joint name="hip" type="continuous"><parent link="base"/><child link="leg"/><axis xyz="0 1 0"/></joint></robot>"""


def lowest(window) -> float:
    drawn, poses = window.viewport.overlays.second_robot
    return float(drawn.bounds(poses)[0][2])


def test_beside_a_robot_that_hangs_above_the_ground_it_stands_on_the_ground_that_is_drawn(qtbot, opened, tmp_path):
    """Fixed or free; and one that hangs itself is raised, so that none of it is below the ground."""
    hanging = tmp_path / "hanging.urdf"
    hanging.write_text(HANGING, encoding="utf-8")
    window = opened(hanging)
    view, overlays = window.features[SecondRobotView], window.viewport.overlays
    floor = window.viewport.floor
    assert floor == pytest.approx(-1.0)
    for name in ("arm7", "quadruped"):
        view.open(engine.find_robot(name))
        wait(
            qtbot,
            lambda name=name: view.model is not None and view.model.name == name and overlays.second_robot is not None,
        )
        assert lowest(window) == pytest.approx(floor, abs=0.02)
    window.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "arm7")
    view.open(hanging)
    wait(qtbot, lambda: view.model.name == "hanging" and overlays.second_robot is not None)
    assert lowest(window) == pytest.approx(window.viewport.floor, abs=1e-6)


def test_a_fixed_robot_beside_touches_itself_where_the_first_may():
    arm, quadruped = (engine.load(engine.find_robot(name)) for name in ("snake50", "quadruped"))
    scene = engine.Scene(friction=0.3, self_collision=True)
    assert touched_part(arm, scene) == scene  # it stands on the ground, too
    assert touched_part(arm, engine.Scene()) == engine.Scene()
    assert touched_part(quadruped, scene) == scene
    assert touched_part(quadruped, None) is None
    gone = replace(arm, collisions=(replace(arm.collisions[0], shape="mesh", mesh="gone.stl"), *arm.collisions[1:]))
    assert touched_part(gone, scene) is None


def test_a_recorded_frame_shows_both_as_they_were_and_a_branch_continues_both(qtbot, second):
    window, put = second
    window.run.hold.trigger()
    assert not window.workbench.robot.settings.held
    view, replay = put("arm7"), window.workbench.replay
    assert [view.panel.table.horizontalHeaderItem(k).text() for k in (0, 1)] == ["arm7, first", "arm7, second"]
    play_for(qtbot, window, 0.6)
    end = second_state(window)
    replay.seek(0.3)
    wait(qtbot, lambda: window.workbench.shown.recorded)
    assert not view.panel.note.text()
    then, row = window.workbench.shown.second_robot, ROWS.index("time")
    assert then.time == pytest.approx(replay.frame.time, abs=1e-9)
    assert np.abs(then.q - end.q).max() > 1e-3
    texts = [view.panel.table.item(row, column).text() for column in (0, 1)]
    assert texts == [f"{replay.frame.time:.3f} s"] * 2
    alone = engine.Simulation(view.model, dt=window.workbench.robot.settings.dt, integrator="implicit", device="cpu")
    alone.step(round(then.time / alone.dt))
    np.testing.assert_allclose(then.q, alone.q[0], atol=1e-9)
    drawn = window.viewport.overlays.second_robot[1]
    assert np.abs(drawn[:, :3, :3] - then.link_poses[:, :3, :3]).max() < 1e-9
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not replay.active and second_state(window) is not None and second_state(window).time < 0.5)
    np.testing.assert_array_equal(second_state(window).q, then.q)
    qtbot.keyClick(window, Qt.Key.Key_S)
    wait(qtbot, lambda: window.workbench.robot.newest.time > then.time)
    assert second_state(window).time == pytest.approx(window.workbench.robot.newest.time)


def test_a_recorded_frame_before_it_came_says_so(qtbot, second):
    window, put = second
    play_for(qtbot, window, 0.2)
    view = put("scara")
    play_for(qtbot, window, 0.2)
    assert view.panel.note.text() != UNRECORDED
    window.workbench.replay.seek(0.1)
    wait(qtbot, lambda: view.panel.note.text() == UNRECORDED and view.panel.note.isVisible())
    qtbot.keyClick(window, Qt.Key.Key_End)
    wait(qtbot, lambda: not view.panel.note.text())


def test_beside_a_recorded_run_the_dock_says_why_it_is_not_drawn(qtbot, opened, make_window, tmp_path):
    first = opened(engine.find_robot("pendulum"))
    play_for(qtbot, first, 0.1)
    first.features[RunExports].write(str(tmp_path / "run.npz"), "npz")
    wait(qtbot, lambda: (tmp_path / "run.npz").exists() and not first.features[RunExports].writing.running)
    window = make_window()
    window.open(tmp_path / "run.npz")
    wait(qtbot, lambda: window.workbench.shown is not None and window.workbench.shown.recorded)
    view = window.features[SecondRobotView]
    view.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: view.model is not None and view.panel.note.isVisible())
    wait(qtbot, lambda: view.panel.note.text() == UNBEGUN)
    assert window.viewport.overlays.second_robot is None
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    wait(qtbot, lambda: view.panel.note.text() != UNBEGUN)
