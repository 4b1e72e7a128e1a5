"""A robot's file that changes while open: what is reloaded, and what is preserved."""

import os
import shutil
import threading
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh
from PyQt6.QtCore import Qt
from windows import wait, wait_loaded

import engine
from app.acting.drives import Drive
from app.features.attaching import DiagnosticsView, TimeView
from app.features.reloading import LASTING, Reloading
from app.features.state_transfer import transfer_pose
from app.simulation import changeover
from app.simulation.changeover import running_of
from tests.engine.xacro_arm import ARM, PART


@pytest.fixture(autouse=True)
def looked_at_often(monkeypatch):
    monkeypatch.setattr("app.features.reloading.POLL_INTERVAL", 20)


@pytest.fixture
def file(tmp_path):
    """A robot's file of the user's own."""
    return shutil.copy(engine.find_robot("arm7"), tmp_path / "own.urdf")


def change(file, old, new, since=[0]):  # noqa: B006, so that each change has a time of its own
    file.write_text(file.read_text().replace(old, new))
    since[0] += 1
    os.utime(file, ns=(10**18 + since[0], 10**18 + since[0]))


def test_a_change_is_read_and_pose_camera_and_settings_stay(qtbot, opened, file):
    window = opened(file)
    bench, camera = window.workbench, window.viewport.camera
    before = bench.robot.model
    wait(qtbot, lambda: bench.robot.newest is not None)
    bench.configuring.set_gravity(False)
    bench.configuring.set_dt(5e-4)
    bench.joints.set_coordinate(1, 0.4)
    bench.joints.set_coordinate(3, -0.5)
    wait(qtbot, lambda: bench.robot.newest.q[1] == 0.4 and bench.robot.newest.q[3] == -0.5)
    camera.orbit(0.7, 0.2)
    seen = camera.azimuth, camera.elevation, camera.distance
    change(file, 'name="joint7"', 'name="wrist"')
    wait(qtbot, lambda: bench.robot.model is not before)
    assert bench.robot.model.joint_names[-1] == "wrist"
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[1] == 0.4)
    assert bench.robot.newest.q[3] == -0.5
    assert bench.robot.initial[1] == 0.4
    assert not bench.robot.settings.gravity
    assert bench.robot.settings.dt == 5e-4
    camera = window.viewport.camera
    assert (camera.azimuth, camera.elevation, camera.distance) == pytest.approx(seen)
    assert not bench.robot.playing
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    np.testing.assert_allclose(bench.robot.newest.q[1], 0.4, atol=1e-3)  # it is held where it was put


def test_a_file_that_is_deleted_once_it_has_been_read_is_reloaded_when_it_returns(qtbot, opened, file, monkeypatch):
    window = opened(file)
    bench = window.workbench

    def vanish(model, settings):
        file.unlink(missing_ok=True)
        return running_of(model, settings)

    monkeypatch.setattr(changeover, "running_of", vanish)
    window.features[Reloading].reload()
    wait(qtbot, lambda: not file.exists() and not bench.opening.loading)
    monkeypatch.undo()
    file.write_text(engine.find_robot("arm7").read_text().replace('name="joint7"', 'name="wrist"'))
    wait(qtbot, lambda: bench.robot.model.joint_names[-1] == "wrist")


def test_a_file_that_is_included_and_a_mesh_are_watched_like_the_robot_s(qtbot, opened, tmp_path):
    pytest.importorskip("xacrodoc")
    part, mesh, path = (tmp_path / name for name in ("part.xacro", "box.stl", "arm.xacro"))
    part.write_text(PART, "utf-8")
    trimesh.creation.box((0.1, 0.1, 0.2)).export(mesh)
    path.write_text(ARM.replace('<box size="0.05 0.05 0.2"/>', f'<mesh filename="{mesh.as_uri()}"/>'), "utf-8")
    window = opened(path)
    bench, bar = window.workbench, window.statusBar()
    before = bench.robot.model
    change(part, "1.5", "2.5")
    wait(qtbot, lambda: bench.robot.model is not before)
    assert bench.robot.model.mass.tolist() == [2.5, 2.5]
    wait(qtbot, lambda: bar.currentMessage() == "arm.xacro was reloaded")
    before = bench.robot.model
    change(part, "2.5", "${wrong}")
    wait(qtbot, lambda: bench.findings.refused)
    assert bench.robot.model is before
    change(part, "${wrong}", "3.5")
    wait(qtbot, lambda: bench.robot.model is not before)
    before = bench.robot.model
    trimesh.creation.box((0.1, 0.1, 0.4)).export(mesh)
    wait(qtbot, lambda: bench.robot.model is not before)
    wait(qtbot, lambda: not bench.opening.loading)
    window.feature(TimeView).keyframe.trigger()
    change(part, "3.5", "4.5")
    wait(qtbot, lambda: "part.xacro has changed; F5 reloads the robot, and discards" in bar.currentMessage())


def test_gains_and_drives_stay_with_their_joints(qtbot, opened, file):
    window = opened(file)
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None)
    bench.joints.set_gains(0, (11.0, 1.0))
    bench.joints.set_gains(6, (77.0, 7.0))
    bench.joints.set_joint_drive(5, Drive("velocity", 0.1))
    wait(qtbot, lambda: bench.robot.mode(5) == "velocity")
    text = file.read_text()
    robot = ElementTree.fromstring(text)
    (first,) = (joint for joint in robot.iter("joint") if joint.get("name") == "joint1")
    first.set("type", "fixed")
    before = bench.robot.model
    change(file, text, ElementTree.tostring(robot, "unicode"))
    wait(qtbot, lambda: bench.robot.model is not before)
    assert bench.robot.model.joint_names[0] == "joint2"
    assert bench.robot.settings.gains == ((5, 77.0, 7.0),)
    assert bench.robot.mode(4) == "velocity"
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.05 or not bench.robot.playing)
    assert bench.robot.playing


def test_setpoints_and_drives_stay_when_a_held_robot_has_sunk(qtbot, opened, file):
    window = opened(file)
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None)
    bench.joints.set_coordinate(1, 0.4)
    bench.joints.set_gains(1, (100.0, 10.0))  # too soft for its load
    bench.joints.set_joint_drive(5, Drive("velocity", 0.1, wave="sine", amplitude=0.2))
    for _ in range(2):
        window.run.play.trigger()
        wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[1] > 0.45)
        window.run.play.trigger()
        before = bench.robot.model
        qtbot.keyClick(window, Qt.Key.Key_F5)
        wait(qtbot, lambda before=before: bench.robot.model is not before and bench.robot.newest is not None)
        wait(qtbot, lambda: bench.robot.newest.q[1] > 0.45)  # the pose stays as well
        assert bench.robot.drive_of(1) == Drive(value=0.4)
        assert bench.robot.drive_of(5) == Drive("velocity", 0.1, wave="sine", amplitude=0.2)
    file.write_text(
        file.read_text().replace('<joint name="joint2" type="revolute"', '<joint name="joint2" type="prismatic"')
    )
    before = bench.robot.model
    qtbot.keyClick(window, Qt.Key.Key_F5)
    wait(qtbot, lambda: bench.robot.model is not before and bench.robot.newest is not None)
    assert bench.robot.drive_of(1) == Drive(value=0.0)  # 0.4 rad is no setpoint of a joint in metres


def test_a_reload_during_play_goes_on_playing(qtbot, opened, file):
    window = opened(file)
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > 0.05)
    before = window.workbench.robot.model
    change(file, 'name="joint7"', 'name="wrist"')
    wait(qtbot, lambda: window.workbench.robot.model is not before)
    assert window.workbench.robot.playing
    wait(qtbot, lambda: window.workbench.robot.time > 0.05)


def test_a_file_that_is_broken_for_a_moment_keeps_the_robot_and_is_read_when_it_is_whole(qtbot, opened, file):
    window = opened(file)
    bench, before, whole = window.workbench, window.workbench.robot.model, file.read_text()
    wait(qtbot, lambda: bench.robot.newest is not None)
    change(file, "</robot>", "")
    wait(qtbot, lambda: bench.findings.refused)
    assert bench.robot.model is before
    file.write_text(whole)
    change(file, 'name="joint7"', 'name="wrist"')
    wait(qtbot, lambda: bench.robot.model is not before)
    assert bench.robot.model.joint_names[-1] == "wrist"


@pytest.mark.parametrize("key", [False, True])
def test_a_file_that_was_refused_is_opened_once_it_is_repaired(qtbot, opened, tmp_path, file, key):
    """Dropped with an error beside a robot that stays meanwhile, and whose own file is watched as before."""
    other = tmp_path / "other.urdf"
    shutil.copy(engine.find_robot("scara"), other)
    window = opened(other)
    bench, reloading, whole = window.workbench, window.features[Reloading], file.read_text()
    change(file, "</robot>", "")
    window.open(file)
    wait(qtbot, lambda: "own.urdf was not loaded" in message(window))
    if key:
        reloading.watching.trigger()
    else:
        change(other, 'name="scara"', 'name="changed"')
        wait(qtbot, lambda: bench.robot.model.name == "changed")
        window.open(file)
        wait(qtbot, lambda: "own.urdf was not loaded" in message(window))
    file.write_text(whole)
    if key:
        qtbot.keyClick(window, Qt.Key.Key_F5)
    wait(qtbot, lambda: bench.robot.model.name == "arm7")
    wait(qtbot, lambda: not window.docks["Diagnostics"].isVisible())


def test_the_newest_message_is_the_only_one_and_names_its_file(qtbot, opened, file):
    window = opened(file)
    bench, reloading, before = window.workbench, window.features[Reloading], window.workbench.robot.model
    whole = file.read_text()
    wait(qtbot, lambda: bench.robot.newest is not None)
    reloading._timer.stop()
    change(file, 'name="joint7"', 'name="wrist"')
    reloading.action.trigger()
    wait(qtbot, lambda: message(window) == "own.urdf was reloaded")
    wait(qtbot, lambda: bench.robot.newest is not None)
    change(file, "</robot>", "")
    reloading.action.trigger()
    assert not message(window), "it is being read again"
    wait(qtbot, lambda: bench.findings.refused)
    wait(qtbot, lambda: message(window).startswith("own.urdf was not loaded: "))
    assert window.feature(DiagnosticsView).panel.diagnostics[0].problem in message(window)
    assert bench.robot.model is not before
    file.write_text(whole)
    reloading.action.trigger()
    wait(qtbot, lambda: message(window) == "own.urdf was reloaded")
    assert window.docks["Diagnostics"].isHidden()


def test_it_waits_until_the_file_rests(opened, file, monkeypatch):
    window = opened(file)
    reloading, requested = window.features[Reloading], []
    reloading._timer.stop()
    monkeypatch.setattr(reloading, "reload", lambda: requested.append(True))
    change(file, "arm7", "arm8")
    reloading.poll()
    change(file, "arm8", "arm9")
    reloading.poll()
    assert not requested
    reloading.poll()
    assert requested
    file.unlink()
    requested.clear()
    for _ in range(3):
        reloading.poll()
    assert not requested


def message(window) -> str:
    return window.statusBar().currentMessage()


@pytest.mark.parametrize("kept", ["keyframe", "moment", "recording"])
def test_what_was_recorded_goes_by_a_key_alone(qtbot, opened, file, monkeypatch, kept):
    window = opened(file)
    bench, reloading = window.workbench, window.features[Reloading]
    recording, before = bench.replay.recording, bench.robot.model
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    window.run.play.trigger()
    if kept == "keyframe":
        window.features[TimeView].keyframe.trigger()
    elif kept == "moment":
        bench.replay.show(1)
    else:
        monkeypatch.setattr(recording, "span", lambda _: (0.0, 1.1 * LASTING))
    (run,) = recording.runs
    reloading._timer.stop()
    change(file, 'name="joint7"', 'name="wrist"')
    for _ in range(3):
        reloading.poll()
    assert not bench.opening.loading
    assert message(window) == "own.urdf has changed; F5 reloads it, and discards the recording"
    outcome = window.feature(DiagnosticsView).panel.outcome
    assert outcome.text() == "own.urdf has changed since, and F5 reads it: this list is of the file as it was"
    assert recording.runs == (run,)
    window.statusBar().clearMessage()
    reloading.poll()
    assert not message(window), "it is reported once"
    monkeypatch.undo()
    qtbot.keyClick(window, Qt.Key.Key_F5)
    wait(qtbot, lambda: bench.robot.model is not before)
    assert bench.robot.model.joint_names[-1] == "wrist"
    assert run not in recording.runs
    assert outcome.text() == ""


def test_a_trusted_xacro_file_runs_again_by_a_key_alone(qtbot, window, tmp_path):
    path = tmp_path / "own.xacro"
    path.write_text(
        '<robot name="before" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        """<link name="a${len('%1000d' % 1)}"/></robot>"""
    )
    window.files.open(path, trust_xacro=True)
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: window.workbench.robot.newest is not None)
    reloading = window.features[Reloading]
    reloading._timer.stop()
    change(path, 'name="before"', 'name="after"')
    for _ in range(3):
        reloading.poll()
    assert not window.workbench.opening.loading
    assert message(window) == "own.xacro has changed; F5 reloads it, and lets it run any Python"
    qtbot.keyClick(window, Qt.Key.Key_F5)
    wait(qtbot, lambda: window.workbench.robot.model.name == "after")


def test_a_change_while_it_is_read_is_not_missed(qtbot, window, file, monkeypatch):
    bench, load, begun = window.workbench, engine.load, threading.Event()
    window.refreshed.connect(begun.set)  # the window knows the file as it was when it asked for it

    def slowly(path, **how):
        model = load(path, **how)
        assert begun.wait(60)
        if model.joint_names[-1] != "wrist":
            change(file, 'name="joint7"', 'name="wrist"')
        return model

    monkeypatch.setattr(bench._worker, "_load", slowly)
    window.open(file)
    wait(qtbot, lambda: bench.robot.model is not None)
    assert bench.robot.model.joint_names[-1] == "joint7"
    wait(qtbot, lambda: bench.robot.model.joint_names[-1] == "wrist")


def test_it_can_be_turned_off_and_asked_for_by_a_key(qtbot, opened, file):
    window = opened(file)
    before = window.workbench.robot.model
    wait(qtbot, lambda: window.workbench.robot.newest is not None)
    reloading = window.features[Reloading]
    reloading.watching.trigger()
    change(file, 'name="joint7"', 'name="wrist"')
    for _ in range(4):
        reloading.poll()
    assert not window.workbench.opening.loading
    qtbot.keyClick(window, Qt.Key.Key_F5)
    wait(qtbot, lambda: window.workbench.robot.model is not before)
    wait_loaded(qtbot, window)


def test_a_robot_without_a_file_cannot_be_read_again(window):
    assert not window.features[Reloading].action.isEnabled()


def test_poses_are_carried_by_the_names_of_joints(rng):
    quadruped, humanoid = (engine.load(engine.find_robot(name)) for name in ("quadruped", "humanoid"))
    q = quadruped.random(rng)
    carried = transfer_pose(quadruped, q, humanoid, humanoid.neutral())
    base = humanoid.joint("floating_base").q
    np.testing.assert_array_equal(carried[base], q[quadruped.joint("floating_base").q])
    np.testing.assert_array_equal(np.delete(carried, np.r_[base]), np.delete(humanoid.neutral(), np.r_[base]))
