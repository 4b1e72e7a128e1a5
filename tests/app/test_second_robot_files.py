"""The files of a second robot: sessions, files that fail, meshes, and the pose that they name."""

import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh
from PyQt6.QtCore import Qt
from test_time import play
from windows import PATIENCE, boxed, play_for, second_state, settle, wait

import engine
from app.features.diagnostics_view import DiagnosticsView
from app.features.run_exports import RunExports
from app.features.scene_view import SceneView
from app.features.second_robot_view import IN_THE_AIR, WAITS, SecondRobotView
from app.features.sessions import Sessions
from app.features.status import Status
from app.gl.scene import Scene
from app.simulation import second_robot
from app.simulation.messages import Stopped
from app.simulation.second_robot import SavedSecondRobot
from app.simulation.starting import first_pose


def test_it_is_in_the_session_as_it_stood(qtbot, opened, make_window, tmp_path):
    window = opened(engine.find_robot("arm7"))
    window.features[SecondRobotView].open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    window.run.hold.trigger()
    window.features[SecondRobotView].set_algorithm("jsiia")
    wait(qtbot, lambda: second_state(window) is not None and second_state(window).algorithm == "jsiia")
    play_for(qtbot, window, 0.3)
    kept, sessions = window.features[SecondRobotView].kept()["beside"], window.features[Sessions]
    assert sessions.save(str(tmp_path / "two.catena"))
    wait(qtbot, lambda: not window.features[RunExports].writing.running)
    again = make_window()
    again.features[Sessions].open(str(tmp_path / "two.catena"))
    wait(qtbot, lambda: again.viewport.overlays.second_robot is not None)
    view = again.features[SecondRobotView]
    wait(qtbot, lambda: view.kept()["beside"]["q"] == kept["q"])
    assert (view.kept()["beside"], view.model.name) == (kept, "double_pendulum")
    assert (view.panel.algorithm.currentData(), second_state(again).algorithm) == ("jsiia", "jsiia")
    again.run.reset.trigger()
    wait(qtbot, lambda: view.kept()["beside"]["q"] == [0.0, 0.0])

    session = json.loads((tmp_path / "two.catena").read_text())
    gone = {**session["beside"], "path": "gone.urdf"}
    for message, words in ((gone, "the file of the second robot is missing"), ({}, "")):
        (tmp_path / "two.catena").write_text(json.dumps({**session, "beside": message}))
        again.features[Sessions].open(str(tmp_path / "two.catena"))
        wait(qtbot, lambda: view.model is None)
        assert words in again.statusBar().currentMessage()


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_an_exported_run_has_a_file_of_it(qtbot, opened, tmp_path, kind):
    window = opened(engine.find_robot("arm7"))
    window.features[SecondRobotView].open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    window.run.hold.trigger()
    play_for(qtbot, window, 0.3)
    settle(qtbot, window)
    last, exports = second_state(window), window.features[RunExports]
    exports.write(str(tmp_path / f"run.{kind}"), kind)
    wait(qtbot, lambda: not exports.writing.running and "rows written" in window.statusBar().currentMessage())
    assert f"; the second robot to run-second.{kind}" in window.statusBar().currentMessage()
    if kind == "npz":
        with np.load(tmp_path / "run-second.npz") as kept:
            time, q, v = kept["time"], kept["q"], kept["v"]
            assert tuple(kept["coordinate_names"]) == last.model.coordinate_names
    else:
        table = np.genfromtxt(tmp_path / "run-second.csv", delimiter=",", names=True, deletechars="")
        assert table.dtype.names == ("time_[s]", *(f"q:{name}_[rad]" for name in last.model.coordinate_names),
                                     *(f"v:{name}_[rad/s]" for name in last.model.coordinate_names))  # fmt: skip
        time, q, v = np.split(np.array(table.tolist()), [1, 3], axis=1)
    assert len(time) > 3
    assert time[-1] == pytest.approx(window.workbench.robot.time)
    np.testing.assert_array_equal(q[-1], last.q)
    np.testing.assert_array_equal(v[-1], last.v)


def test_in_a_session_play_waits_for_it_and_its_clock_goes_on(qtbot, opened, make_window, tmp_path, monkeypatch):
    window = opened(engine.find_robot("arm7"))
    view, sessions = window.features[SecondRobotView], window.features[Sessions]
    play_for(qtbot, window, 0.1)
    view.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    play(qtbot, window, 0.3)
    own, other = window.workbench.robot.newest.time, second_state(window).time
    assert sessions.save(str(tmp_path / "two.catena"))
    wait(qtbot, lambda: not window.features[RunExports].writing.running)
    go_on, make = threading.Event(), second_robot.make_simulation
    monkeypatch.setattr("app.simulation.second_robot.make_simulation", lambda *how: (go_on.wait(60), make(*how))[1])
    again = make_window()
    bench = again.workbench
    again.features[Sessions].open(str(tmp_path / "two.catena"))
    wait(
        qtbot,
        lambda: bench.robot.newest is not None and bench.robot.newest.time == own and not bench.computation.compiling,
    )
    wait(qtbot, lambda: bench.second_robot.expected)
    qtbot.keyClick(again, Qt.Key.Key_Space)
    assert again.statusBar().currentMessage() == WAITS
    qtbot.wait(300)
    assert bench.robot.newest.time == own
    go_on.set()
    wait(qtbot, lambda: bench.robot.newest.time > own + 0.2)
    frame = bench.robot.newest
    assert frame.second_robot.time - frame.time == pytest.approx(other - own, abs=1e-9)
    again.features[SecondRobotView].close()
    before = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > before + 0.1)


def test_play_waits_for_one_that_is_opened_while_paused_and_not_if_it_plays(qtbot, opened, monkeypatch):
    """It began some seconds after the first one, and stayed so far behind."""
    window, go_on, make = opened(engine.find_robot("arm7")), threading.Event(), second_robot.make_simulation
    bench, view, bar = window.workbench, window.features[SecondRobotView], window.statusBar()
    wait(qtbot, lambda: bench.robot.newest is not None and not bench.computation.compiling)
    monkeypatch.setattr("app.simulation.second_robot.make_simulation", lambda *how: (go_on.wait(60), make(*how))[1])
    view.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: view.model is not None)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: bar.currentMessage() == WAITS)
    qtbot.wait(300)
    assert bench.robot.newest.time == 0
    go_on.set()
    wait(qtbot, lambda: bench.robot.newest.time > 0.1)
    assert bench.robot.newest.second_robot.time == pytest.approx(bench.robot.newest.time, abs=1e-9)
    assert bar.currentMessage() != WAITS
    go_on.clear()
    before = bench.robot.newest.time
    view.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: view.model is not None and view.model.name == "pendulum")
    wait(qtbot, lambda: bench.robot.newest.time > before + 0.5)
    go_on.set()
    wait(qtbot, lambda: second_state(window) is not None)


def test_play_waits_no_longer_for_one_that_is_refused(qtbot, opened, make_window, tmp_path, monkeypatch):
    def refuse(*_):
        raise ValueError("no such steps")

    window = opened(engine.find_robot("arm7"))
    window.features[SecondRobotView].open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: window.viewport.overlays.second_robot is not None)
    window.features[Sessions].save(str(tmp_path / "two.catena"))
    monkeypatch.setattr("app.simulation.second_robot.make_simulation", refuse)
    again = make_window()
    again.features[Sessions].open(str(tmp_path / "two.catena"))
    wait(qtbot, lambda: "no such steps" in again.features[SecondRobotView].panel.note.text())
    play_for(qtbot, again, 0.1)


SPIDER = """<robot name="spider"><link name="body"><inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>{}</robot>"""
LEG = """<link name="leg{0}"><inertial><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
</inertial><collision><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="hip{0}" type="revolute"><parent link="body"/><child link="leg{0}"/><origin xyz="{1} {2} 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="100" velocity="9"/></joint>"""


def test_a_second_robot_is_freed_from_the_world_to_stand_on_the_ground(qtbot, opened, make_window, tmp_path):
    path = tmp_path / "spider.urdf"
    feet = [(0.3, 0.3), (0.3, -0.3), (-0.3, 0.3), (-0.3, -0.3)]
    path.write_text(SPIDER.format("".join(LEG.format(k, *foot) for k, foot in enumerate(feet))))
    window = opened(engine.find_robot("quadruped"))
    view, box = window.features[SecondRobotView], window.features[SecondRobotView].panel.floating
    view.open(path)
    state = lambda window: window.workbench.robot.newest.second_robot  # noqa: E731
    wait(qtbot, lambda: window.workbench.robot.newest is not None and state(window) is not None)
    assert window.statusBar().currentMessage() == IN_THE_AIR.format("spider")
    assert (box.isEnabled(), box.isChecked(), state(window).model.nv) == (True, False, 4)
    box.click()
    wait(qtbot, lambda: state(window) is not None and state(window).model.nv == 10)
    wait(qtbot, lambda: state(window).link_poses[0, 2, 3] == pytest.approx(0.4, abs=1e-3))
    assert box.isChecked()
    window.features[Sessions].save(str(tmp_path / "two.catena"))
    again = make_window()
    again.features[Sessions].open(str(tmp_path / "two.catena"))
    wait(qtbot, lambda: again.workbench.robot.newest is not None and state(again) is not None)
    assert state(again).model.nv == 10
    assert again.features[SecondRobotView].panel.floating.isChecked()
    box.click()
    wait(qtbot, lambda: state(window) is not None and state(window).model.nv == 4)
    view.open(engine.find_robot("quadruped"))
    wait(qtbot, lambda: state(window) is not None and state(window).model.nv > 10)
    assert (box.isEnabled(), box.isChecked()) == (False, True)


def test_of_two_files_the_one_opened_last_is_shown(qtbot, arm, monkeypatch):
    view, load, go_on = arm.features[SecondRobotView], engine.load, threading.Event()
    scara, pendulum, humanoid = map(engine.find_robot, ("scara", "pendulum", "humanoid"))

    def slow(path, *rest, **named):
        if path == str(humanoid):
            go_on.wait(60)
        return load(path, *rest, **named)

    monkeypatch.setattr(engine, "load", slow)
    view.open(humanoid)
    assert view.kept()["beside"] == {"path": str(humanoid), "place": [], "q": None, "v": None, "algorithm": "auto",
                                     "time": 0.0, "floating": False}  # fmt: skip
    view.open(scara, kept=SavedSecondRobot((1.0, 2.0, 0.0), (0.1,) * 4, (0.0,) * 4))
    message = {"path": str(scara), "place": [1.0, 2.0, 0.0], "q": [0.1] * 4, "v": [0.0] * 4, "algorithm": "auto"}
    message |= {"time": 0.0, "floating": False}
    assert view.kept()["beside"] == message
    wait(qtbot, lambda: view.model is not None)
    assert view.kept()["beside"] == message
    go_on.set()
    wait(qtbot, lambda: arm.viewport.overlays.second_robot is not None)
    assert (view.model.name, view.kept()["beside"]) == ("scara", message)
    view.open(pendulum)
    view.close()
    assert view.kept()["beside"] == {}
    qtbot.wait(200)
    assert view.model is None


def test_a_file_that_is_no_robot_is_told(qtbot, second, tmp_path):
    window, _ = second
    bad = tmp_path / "bad.urdf"
    bad.write_text("<robot name='bad'>")
    view = window.features[SecondRobotView]
    view.open(bad)
    wait(qtbot, lambda: "the second robot was not loaded" in window.statusBar().currentMessage())
    assert "bad.urdf" in window.statusBar().currentMessage()
    assert view.model is None


def test_without_a_first_robot_its_keys_ask_for_no_file(qtbot, window):
    action = window.features[SecondRobotView].open_action
    assert not action.isEnabled()
    window.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: not window.workbench.opening.loading and window.workbench.robot.model is not None)
    wait(qtbot, action.isEnabled)


def test_it_is_placed_anew_once_its_meshes_are_read(second, monkeypatch):
    window, put = second
    view = put("scara")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Scene, "ready", property(lambda _: False))
        view._on_loaded(SimpleNamespace(path=window.workbench.path))
        assert not view._placed
    view._take_meshes()
    assert view._placed


def test_through_a_link_its_meshes_are_found_as_those_of_the_first_are(qtbot, opened, tmp_path):
    """The package is above the file, and not above the link to its folder."""
    arm = tmp_path / "elsewhere" / "pkg" / "robots" / "arm"
    for folder in ("urdf", "meshes"):
        (arm / folder).mkdir(parents=True)
    (arm.parents[1] / "package.xml").write_text("<package/>")
    (tmp_path / "link").symlink_to(arm.parent)
    trimesh.creation.box((0.1, 0.1, 0.1)).export(arm / "meshes" / "box.stl")
    mesh = "<visual><geometry><mesh filename='package://pkg/robots/arm/meshes/box.stl'/></geometry></visual>"
    (arm / "urdf" / "arm.urdf").write_text(f"<robot name='arm'><link name='base'>{mesh}</link></robot>")
    path = tmp_path / "link" / "arm" / "urdf" / "arm.urdf"
    window = opened(path)
    assert not window.workbench.robot.model.diagnostics
    window.features[SceneView].add_robot(str(path), free=False)
    wait(qtbot, lambda: len(window.workbench.robot.parts) == 1)
    view = window.features[SecondRobotView]
    view.open(path)
    wait(qtbot, lambda: view.model is not None)
    for model in (window.workbench.robot.parts[0].model, view.model):
        assert not model.diagnostics
        assert model.visuals[0].mesh == window.workbench.robot.model.visuals[0].mesh == str(arm / "meshes" / "box.stl")


def test_what_is_wrong_with_its_meshes_is_in_the_diagnostics_until_it_is_closed(qtbot, second, tmp_path):
    window, _ = second
    view, found, button = map(window.feature, (SecondRobotView, DiagnosticsView, Status))
    panel, button = found.panel, button.findings_button
    (tmp_path / "broken.stl").write_text("solid nothing")
    meshes = (f"<visual><geometry><mesh filename='{name}.stl'/></geometry></visual>" for name in ("gone", "broken"))
    path = tmp_path / "arm.urdf"
    path.write_text("<robot name='arm'>\n<link name='base'>\n" + "\n".join(meshes) + "</link></robot>")
    view.open(path)
    wait(qtbot, lambda: panel.count == 2)
    gone, broken = panel.diagnostics
    assert gone.element.startswith("second robot: line 3, <mesh")
    assert "gone.stl is not found" in gone.problem
    assert broken.element == "second robot: mesh broken.stl"
    assert button.isVisible()
    window.happened.emit(Stopped("it diverged"))
    assert [each.problem for each in panel.diagnostics] == ["it diverged"]
    window.run.reset.trigger()
    assert panel.diagnostics == [gone, broken]
    with qtbot.waitSignal(window.loaded, timeout=PATIENCE):  # another first robot
        window.open(engine.find_robot("pendulum"))
    assert panel.diagnostics == [gone, broken]
    assert panel.summary.text().startswith("pendulum.urdf and second robot: ")
    view.close_action.trigger()
    assert panel.diagnostics == []
    assert not button.isVisible()


def test_it_begins_in_the_pose_in_which_the_first_would(qtbot, second, example_robots, tmp_path):
    window, put = second
    put(boxed(next(path for path in example_robots if path.stem == "panda"), tmp_path))
    model, at = second_state(window).model, second_state(window).model.q_of_v
    np.testing.assert_array_equal(second_state(window).q, first_pose(model))
    np.testing.assert_array_equal(second_state(window).q[at], model.pose("default")[at])
    assert np.all((second_state(window).q[at] >= model.lower) & (second_state(window).q[at] <= model.upper))
    play_for(qtbot, window, 0.3)  # held there by its gains
    np.testing.assert_allclose(second_state(window).q, first_pose(model), atol=0.02)
