"""While Play waits, the reason is shown over the picture."""

import threading
from itertools import combinations

import numpy as np
import pytest
from test_scene_view import settled
from windows import wait, wait_loaded

import engine
from app.features.attaching import GroundView, SceneView, Status
from app.features.waiting import Waiting, waits_for
from engine.scene import mesh_reader

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.fixture
def compiled(monkeypatch):
    """Simulate code that is compiled on demand: the fixture is a list, empty until then."""
    there: list[bool] = []
    monkeypatch.setattr(engine.Compilation, "needed", property(lambda _: not there))
    monkeypatch.setattr(engine.Compilation, "running", property(lambda _: not there))
    monkeypatch.setattr(engine.Compilation, "seconds", 9.0)
    monkeypatch.setattr(engine.Compilation, "start", lambda *_: None)
    monkeypatch.setattr(engine.Compilation, "wait", lambda *_: bool(there))
    return there


def test_what_play_waits_for_is_said_over_the_picture_until_the_robot_moves(qtbot, window, compiled):
    window.open(engine.find_robot("quadruped"))
    bench, waiting = window.workbench, window.features[Waiting]
    wait(qtbot, lambda: bench.robot.model is not None and bench.computation.compiling > 0)
    assert not waiting.note.isVisible()
    window.run.play.trigger()
    wait(qtbot, waiting.note.isVisible)
    assert waiting.note.text().startswith("Compiling for this robot and scene, once on this computer: about ")
    shown = waiting.note.geometry()
    assert window.viewport.rect().contains(shown)
    window.resize(1000, 650)
    wait(qtbot, lambda: window.viewport.rect().contains(waiting.note.geometry()))
    window.run.play.trigger()
    assert not waiting.note.isVisible()
    window.run.play.trigger()
    wait(qtbot, waiting.note.isVisible)
    compiled.append(True)
    wait(qtbot, lambda: bench.robot.time > 0)
    wait(qtbot, lambda: not waiting.note.isVisible())


def test_a_first_step_that_takes_long_is_said_whatever_it_waits_for(qtbot, window, compiled):
    compiled.append(True)
    window.open(engine.find_robot("quadruped"))
    bench, waiting, go = window.workbench, window.features[Waiting], threading.Event()
    wait_loaded(qtbot, window)
    bench.probe.change(lambda _: go.wait(60))
    window.run.play.trigger()
    wait(qtbot, waiting.note.isVisible)
    assert waiting.note.text() == "The first step is being computed. The simulation then starts."
    go.set()
    wait(qtbot, lambda: bench.robot.time > 0 and not waiting.note.isVisible())


def test_the_seconds_that_are_left_are_counted():
    assert "about 8 s left" in waits_for(9.0, 8.3)
    assert "almost ready" in waits_for(9.0, -3.0)
    assert "GPU" in waits_for(0.0, 0.0)


def test_the_robot_moves_on_until_there_is_code_for_the_terrain_that_was_chosen(qtbot, window, compiled):
    compiled.append(True)
    window.open(engine.find_robot("quadruped"))
    bench, view = window.workbench, window.features[GroundView]
    wait(qtbot, lambda: bench.robot.model is not None and not bench.opening.loading)
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    compiled.clear()
    view.shapes[2].trigger()
    wait(qtbot, view.note.isVisible)
    assert view.note.text().startswith("Rough: compiling once on this computer, about ")
    assert view.note.text().endswith("The robot stays on the present terrain until then.")
    assert view.shapes[0].isChecked()
    now = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > now + 0.2)
    assert isinstance(bench.robot.settings.scene.ground, engine.Plane)
    view.shapes[3].trigger()  # chosen instead
    wait(qtbot, lambda: view.note.text().startswith("Stairs"))
    compiled.append(True)
    wait(qtbot, lambda: len(bench.robot.settings.scene.obstacles) == 5)
    assert not view.note.isVisible()
    assert view.shapes[3].isChecked()
    wait(qtbot, lambda: 0 < bench.robot.time < now)
    assert bench.robot.playing


def test_the_collision_mesh_that_is_read_is_named_while_a_robot_loads(qtbot, window, monkeypatch, tmp_path):
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    shape = '<collision><geometry><mesh filename="{}.obj"/></geometry></collision>'
    for name in ("upper", "lower"):
        corners = "".join("v {} {} {}\n".format(*at) for at in np.random.default_rng(0).normal(size=(9, 3)))
        text = corners + "".join("f {} {} {}\n".format(*of) for of in combinations(range(1, 10), 3))
        (tmp_path / f"{name}.obj").write_text(text)
    joint = '<joint name="j" type="revolute"><parent link="base"/><child link="{}"/><axis xyz="0 1 0"/></joint>'
    links = "".join(f'<link name="{name}">{body}{shape.format(name)}</link>' for name in ("upper", "lower"))
    joints = joint.format("upper") + joint.format("lower").replace('"j"', '"k"')
    (tmp_path / "two.urdf").write_text(f'<robot name="two"><link name="base"/>{links}{joints}</robot>')
    go, answer = threading.Event(), mesh_reader.MeshReader._request

    def answer_later(*arguments):
        assert go.wait(60)
        return answer(*arguments)

    monkeypatch.setattr(mesh_reader.MeshReader, "_request", answer_later)
    window.open(tmp_path / "two.urdf")
    label = window.feature(Status).loading_label
    wait(qtbot, lambda: label.text() == "Loading two.urdf … convex hull of upper.obj, 1 of 2")
    window.statusBar().showMessage("another message")
    assert label.isVisible()
    go.set()
    wait(qtbot, lambda: window.workbench.robot.model is not None and window.workbench.robot.model.name == "two")
    wait_loaded(qtbot, window)
    assert engine.mesh_being_read() is None


def test_what_is_loading_stays_in_a_narrow_status_bar_without_a_message(qtbot, arm):
    """Also where it is wider than what is left beside the lists."""
    arm.resize(960, 600)
    label = arm.feature(Status).loading_label
    label.setText(f"Loading so101.urdf … convex hull of {5 * 'motor_holder_'}so101_base_v1.stl, 5 of 13")
    wait(qtbot, lambda: arm.width() == 960 and label.width() > arm.bar.width() / 3)
    qtbot.wait(50)
    assert label.isVisible()
    arm.bar.showMessage("a message that is read first")
    wait(qtbot, label.isHidden)
    arm.bar.clearMessage()
    wait(qtbot, label.isVisible)


def test_what_is_done_to_objects_is_said_while_the_robot_is_loaded_again(qtbot, arm):
    """It said that the robot's file was loading, as if the click had been lost."""
    label, scene = arm.feature(Status).loading_label, arm.feature(SceneView)
    scene.add("sphere", True)
    assert label.text() == "Add ball …"
    settled(qtbot, scene)
    assert label.text() == ""
    scene.remove(0)
    assert label.text() == "Remove ball …"
    settled(qtbot, scene)
    arm.open(engine.find_robot("pendulum"))
    assert label.text() == "Loading pendulum.urdf …"
    wait_loaded(qtbot, arm)
