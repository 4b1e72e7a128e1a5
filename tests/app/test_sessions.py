"""Sessions: saved state, and its restoration."""

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from windows import case, in_simulation, name_file, wait

import engine
import main
from app.acting.drives import Drive
from app.features import session_scene
from app.features.attaching import Appearance, CameraViews, DiagnosticsView, GroundView, PlotsView, RunExports, Sessions
from app.features.session_text import VERSION, NoSession, read
from app.jobs import background
from app.panels.plots import PlotsPanel
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Configured


def plots(window) -> PlotsPanel:
    return window.features[PlotsView].panel


@pytest.fixture
def saved(qtbot, opened, tmp_path, monkeypatch):
    """A session of an arm that was posed and looked at, saved by a key; its window is closed."""
    robot = shutil.copy(engine.find_robot("arm7"), tmp_path / "own.urdf")
    window = opened(robot)
    bench = window.workbench
    qtbot.keyClick(window, Qt.Key.Key_P)
    plots(window).plot_group("robot", ("energy drift",))
    bench.configuring.set_gravity(False)
    bench.configuring.set_dt(2e-3)
    bench.joints.drive(2, by_effort=True)
    bench.configuring.take_settings(replace(bench.robot.settings, by_velocity=frozenset({3}), gains=((4, 20.0, 1.5),)))
    window.features[CameraViews].parallel.trigger()
    window.speed.set_speed(0.5)
    bench.joints.set_coordinate(1, 0.4)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[1] == 0.4)
    window.viewport.camera.orbit(0.7, 0.2)
    path = tmp_path / "mine.catena"
    name_file(monkeypatch, tmp_path / "mine")
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, path.is_file)
    window.close()
    return path


def test_an_opened_session_restores_settings_view_and_docks(qtbot, saved, make_window, monkeypatch):
    window = make_window()
    window.settings.clear()
    kept = json.loads(saved.read_text())
    window.docks["Plots"].hide()
    name_file(monkeypatch, saved)
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window, Qt.Key.Key_O, modifiers)
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.model is not None)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[1] == 0.4)
    settings = bench.robot.settings
    assert (settings.gravity, settings.dt, settings.automatic) == (False, 2e-3, False)
    assert settings.driven == {2}
    assert settings.by_velocity == {3}
    assert settings.gains == ((4, 20.0, 1.5),)
    assert window.viewport.camera.parallel
    assert window.features[CameraViews].parallel.isChecked()
    assert bench.speed == pytest.approx(0.5, rel=0.02)
    camera = window.viewport.camera
    assert [camera.azimuth, camera.elevation] == [kept["camera"]["azimuth"], kept["camera"]["elevation"]]
    np.testing.assert_allclose(camera.target, kept["camera"]["target"])
    assert plots(window).layout_keys == [["robot//energy drift/"]]
    assert plots(window).isVisible()
    assert window.features[Appearance].choice == "system"


def test_the_command_line_opens_a_session(saved, make_window, qtbot, monkeypatch, capsys):
    requested = []
    monkeypatch.setattr("app.no_screen", lambda: False)
    monkeypatch.setattr("app.show_window", lambda *words: requested.append(words[0]) or 0)
    assert main.main([str(saved)]) == 0
    window = make_window()
    window.open(requested[0])
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[1] == 0.4)
    assert bench.robot.settings.dt == 2e-3
    assert not window.feature(DiagnosticsView).panel.diagnostics
    with pytest.raises(SystemExit):
        main.main(["--help"])
    assert "SESSION.catena" in capsys.readouterr().out


def test_open_takes_a_session(saved, make_window, qtbot, monkeypatch):
    window = make_window()
    monkeypatch.setattr("app.desktop.dialogs.ask_file", lambda *_: str(saved))
    window.files.open_action.trigger()
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[1] == 0.4)


def test_a_robot_without_a_file_says_why_it_has_no_session(qtbot, window, monkeypatch):
    window.workbench.open(engine.chain(3))
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    monkeypatch.setattr("app.features.sessions.ask_path", lambda *_: pytest.fail("a file was asked for"))
    wait(qtbot, window.features[Sessions].save_action.isEnabled)
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert "a generated robot has no file that a session could name" in window.statusBar().currentMessage()


def test_a_session_that_is_not_there_is_told(window, tmp_path):
    window.open(tmp_path / "gone.catena")
    assert window.statusBar().currentMessage() == f"{tmp_path / 'gone.catena'}: No such file or directory"


def test_a_session_that_names_a_session_as_its_robot_is_refused(saved, make_window, qtbot):
    session = json.loads(saved.read_text())
    session["robot"]["path"] = str(saved)
    saved.write_text(json.dumps(session))
    window = make_window()
    window.open(saved)
    wait(qtbot, lambda: len(window.feature(DiagnosticsView).panel.diagnostics) > 0)


def test_what_a_file_lacks_and_what_it_has_besides_does_no_harm(qtbot, saved, make_window):
    session = json.loads(saved.read_text())
    for name in ("camera", "plots", "layout", "settings"):
        del session[name]
    session["pose"] = {"joint1": [0.25], "joint2": [1.0, 2.0], "gone": [3.0]}
    session["of a later version"] = {"x": 1}
    saved.write_text(json.dumps(session))
    window = make_window()
    window.features[Sessions].open(str(saved))
    wait(qtbot, lambda: window.workbench.robot.newest is not None and window.workbench.robot.newest.q[0] == 0.25)
    assert window.workbench.robot.newest.q[1] == 0.0


def test_a_part_that_cannot_be_read_is_told(qtbot, saved, make_window):
    session = json.loads(saved.read_text())
    session["settings"]["dt"] = "soon"
    saved.write_text(json.dumps(session))
    window = make_window()
    window.features[Sessions].open(str(saved))
    wait(qtbot, lambda: "part of the session cannot be read" in window.statusBar().currentMessage())
    assert window.workbench.robot.model.name == "arm7"
    assert "dt came as 'soon'; expected a number" in window.statusBar().currentMessage()
    wait(qtbot, lambda: window.workbench.robot.newest is not None and window.workbench.robot.newest.q[1] == 0.4)
    assert plots(window).layout_keys == [["robot//energy drift/"]]


def test_a_robot_that_diverged_is_saved_where_it_began(qtbot, opened, tmp_path):
    window = opened()
    wait(qtbot, lambda: window.workbench.robot.newest is not None)
    window.workbench.robot.newest.q[:] = np.nan
    window.features[Sessions].save(str(tmp_path / "x.catena"))
    assert all(np.isfinite(values).all() for values in read(str(tmp_path / "x.catena"))["pose"].values())


def test_a_controller_is_named_and_does_not_run(qtbot, saved, make_window):
    session = json.loads(saved.read_text())
    session["controller"] = str(saved.with_name("evil.py"))
    saved.write_text(json.dumps(session))
    window = make_window()
    window.features[Sessions].open(str(saved))
    configured = []
    window.happened.connect(lambda event: configured.append(event) if isinstance(event, Configured) else None)
    wait(qtbot, lambda: bool(configured))
    assert configured[-1].settings.dt == 2e-3
    assert "evil.py" in window.statusBar().currentMessage()
    assert window.workbench.controller.path == ""


def save(qtbot, window, path) -> None:
    """A session with its recording, and the window closed."""
    window.features[Sessions].save(str(path))
    wait(qtbot, lambda: not window.features[RunExports].writing.running)
    assert "rows written" in window.statusBar().currentMessage()
    window.close()


@pytest.fixture
def held(monkeypatch):
    """An event until which the writing of runs is held up."""
    go_on, write = threading.Event(), engine.save_run

    def save_run(*arguments):
        assert go_on.wait(60)
        return write(*arguments)

    monkeypatch.setattr(engine, "save_run", save_run)
    yield go_on
    go_on.set()


def test_a_session_is_saved_when_its_run_is_and_not_while_another_file_is_written(
    qtbot, opened, tmp_path, monkeypatch, held
):
    window = opened(engine.find_robot("double_pendulum"))
    play(qtbot, window, 0.1)
    path, other = tmp_path / "mine.catena", tmp_path / "other.catena"
    for each in (path, other):
        name_file(monkeypatch, each)
        qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
        message = window.statusBar().currentMessage()
        assert message == "writing mine.catena.npz …" if each is path else "another file is being written" in message
    assert not other.exists()
    held.set()
    wait(qtbot, lambda: not window.features[RunExports].writing.running)
    assert window.statusBar().currentMessage().startswith(f"Saved {path}; ")
    assert "recording" in read(str(path))


def test_closing_waits_for_the_run_of_a_session(qtbot, opened, tmp_path, held):
    window = opened(engine.find_robot("double_pendulum"))
    play(qtbot, window, 0.1)
    window.features[Sessions].save(str(tmp_path / "mine.catena"))
    threading.Timer(2 * background.PATIENCE, held.set).start()
    window.close()
    assert held.is_set()
    assert read(str(tmp_path / "mine.catena"))["recording"] == "mine.catena.npz"


def play(qtbot, window, seconds: float) -> None:
    until = window.workbench.robot.time + seconds
    window.workbench.play()
    wait(qtbot, lambda: window.workbench.robot.time >= until)
    window.workbench.pause()
    present(qtbot, window)


def present(qtbot, window) -> None:
    """Until the pause is obeyed, and the last frame shown."""
    bench = window.workbench
    in_simulation(bench, lambda _: None)
    wait(qtbot, lambda: bench.replay.recording.span(bench.replay.newest)[1] == bench.robot.time)


def test_a_session_goes_on_from_the_very_moment_at_which_it_was_saved(qtbot, opened, make_window, tmp_path):
    """Velocities, drives and what acts are there again: both take the same steps from there, bit for bit."""
    window = opened(engine.find_robot("arm7"))
    bench = window.workbench
    bench.joints.set_joint_drive(2, Drive("target", 0.2, "sine", 0.3, 1.5))
    bench.joints.drive(5, by_effort=True)
    bench.joints.set_joint_drive(5, Drive("effort", 0.7))
    play(qtbot, window, 0.4)
    at, q, v = bench.robot.time, bench.robot.newest.q.copy(), bench.robot.newest.v.copy()
    save(qtbot, window, tmp_path / "mine.catena")
    assert (tmp_path / "mine.catena.npz").is_file()

    again = make_window()
    again.open(tmp_path / "mine.catena")
    other = again.workbench
    wait(qtbot, lambda: other.robot.newest is not None and other.robot.time == at and not other.replay.active)
    np.testing.assert_array_equal(other.robot.newest.q, q)
    np.testing.assert_array_equal(other.robot.newest.v, v)
    assert not other.robot.playing
    assert other.path.endswith("arm7.urdf")
    assert other.recent[:2] == [str(tmp_path / "mine.catena"), other.path]
    assert other.robot.mode(5) == "effort"
    assert other.robot.drive_of(2) == Drive("target", 0.2, "sine", 0.3, 1.5)
    assert other.robot.drive_of(5).value == 0.7
    first, *_ = other.replay.runs
    assert other.replay.recording.span(first) == (0.0, at)  # which can be looked at
    play(qtbot, again, 0.3)
    follows = other.replay.recording.frame(other.replay.newest, other.replay.newest.last).checkpoint

    repeated = engine.load(engine.find_robot("arm7"))
    assert repeated.nq == 7
    resimulated = dict(other.replay.recording.resimulate(other.replay.newest, other.replay.newest.first))
    np.testing.assert_array_equal(list(resimulated.values())[-1].q, follows.q)


def test_a_session_of_a_moment_that_was_looked_at_shows_it(qtbot, opened, make_window, tmp_path):
    window = opened(engine.find_robot("double_pendulum"))
    play(qtbot, window, 0.5)
    window.workbench.pause_for_replay()
    window.workbench.replay.seek(0.2)
    seen = window.workbench.replay.frame.time
    save(qtbot, window, tmp_path / "mine.catena")
    again = make_window()
    again.open(tmp_path / "mine.catena")
    replay = again.workbench.replay
    wait(qtbot, lambda: replay.active and replay.frame.time == seen)
    assert not replay.playing


@pytest.mark.parametrize("played", [False, True])
def test_ground_and_batch_are_there_again(qtbot, opened, make_window, tmp_path, played):
    window = opened(engine.find_robot("quadruped"))
    ground = window.features[GroundView]
    ground.shapes[2].trigger()
    wait(qtbot, lambda: isinstance(window.workbench.robot.settings.scene.ground, engine.HeightField))
    heights = window.workbench.robot.settings.scene.ground.heights
    spread = BatchSpread(3, 0.02, 0.1, 0.2, 5)
    window.workbench.configuring.set_spread(spread)
    wait(qtbot, lambda: window.workbench.robot.newest is not None and window.workbench.robot.newest.batch is not None)
    if played:
        play(qtbot, window, 0.02)
        save(qtbot, window, tmp_path / "mine.catena")
    else:
        window.features[Sessions].save(str(tmp_path / "mine.catena"))
        window.close()
    again = make_window()
    again.open(tmp_path / "mine.catena")
    bench = again.workbench
    robot, replay = bench.robot, bench.replay
    wait(qtbot, lambda: robot.newest is not None and robot.newest.batch is not None and not replay.active)
    assert robot.settings.spread == spread
    np.testing.assert_array_equal(robot.settings.scene.ground.heights, heights)
    wait(qtbot, lambda: again.features[GroundView].shapes[2].isChecked())
    assert again.viewport.overlays.backdrop  # and it is drawn
    assert len(bench.robot.newest.batch.diverged) == 3


@pytest.mark.parametrize("scene", [
    engine.Scene(ground=engine.slope(0.2), friction=0.3, restitution=0.1, self_collision=True),
    engine.Scene(ground=None, obstacles=(engine.Obstacle("cylinder", (0.1, 0.4), (1.0, 2.0, 3.0)),)),
    engine.Scene(ground=engine.HeightField(np.linspace(0, 1, 12).reshape(3, 4), 0.2, (1.0, 2.0, -0.1))),
])  # fmt: skip
def test_a_scene_is_the_same_after_json(scene):
    text = json.loads(json.dumps(session_scene.write(scene)))
    again = session_scene.read(text)
    assert session_scene.write(again) == session_scene.write(scene)
    assert (again.friction, again.restitution, again.self_collision) == (
        scene.friction, scene.restitution, scene.self_collision,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"ground": {"heights": "AAAA", "shape": [2, 2], "cell": 1.0, "origin": [0, 0, 0]}},
            "the scene cannot be read",
        ),
        ({"ground": {"heights": "", "shape": [9999, 9999], "cell": 1.0, "origin": [0, 0, 0]}}, "9999 × 9999 heights"),
        ({"ground": {"normal": [0, 0, 0], "offset": 0}}, "normal"),
        ({"obstacles": [{"shape": "tree"}]}, "shape is 'tree'"),
        ({"friction": -1}, "friction"),
    ],
)
def test_a_scene_that_cannot_be_is_refused_in_a_sentence(change, words):
    with pytest.raises(ValueError, match=words):
        session_scene.read({**session_scene.write(engine.Scene()), **change})


def test_a_height_field_that_is_too_large_is_left_out():
    assert session_scene.write(engine.Scene(ground=engine.HeightField(np.zeros((1001, 1000)), 0.1))) is None


def test_a_session_without_its_ground_says_so(opened, tmp_path, monkeypatch):
    window = opened(engine.find_robot("quadruped"))
    name_file(monkeypatch, tmp_path / "mine.catena")
    save_action = window.features[Sessions].save_action
    save_action.trigger()
    assert window.statusBar().currentMessage() == f"Saved {tmp_path / 'mine.catena'}"
    large = engine.Scene(ground=engine.HeightField(np.zeros((1001, 1000)), 0.1))
    monkeypatch.setattr(window.workbench.robot, "settings", replace(window.workbench.robot.settings, scene=large))
    save_action.trigger()
    assert window.statusBar().currentMessage().endswith("mine.catena without its ground, which is too large")


def test_a_recording_that_is_gone_is_told_and_the_rest_opens(qtbot, opened, make_window, tmp_path):
    window = opened(engine.find_robot("double_pendulum"))
    play(qtbot, window, 0.2)
    angles = window.workbench.robot.newest.q.copy()
    save(qtbot, window, tmp_path / "mine.catena")
    beside = tmp_path / "mine.catena.npz"
    for fault in ("none", "damaged"):
        beside.unlink() if fault == "none" else beside.write_bytes(b"nothing")
        again = make_window()
        again.open(tmp_path / "mine.catena")
        bench = again.workbench
        wait(qtbot, lambda bench=bench: bench.robot.newest is not None and np.array_equal(bench.robot.newest.q, angles))
        assert "its recording" in again.statusBar().currentMessage()
        again.close()


def test_a_session_of_the_first_version_still_opens(qtbot, make_window, tmp_path):
    text = (Path(__file__).parent / "data" / "session-1.catena").read_text()
    path = tmp_path / "old.catena"
    path.write_text(text.replace("ROBOT", engine.find_robot("arm7").as_posix()))
    window = make_window()
    window.open(path)
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[1] == 0.4)
    settings = bench.robot.settings
    assert (settings.dt, settings.gravity, settings.driven, settings.gains) == (2e-3, False, {2}, ((4, 20.0, 1.5),))
    assert settings.spread == BatchSpread()
    assert settings.scene == engine.Scene()
    assert plots(window).layout_keys == [["robot//energy drift/"]]
    assert window.viewport.camera.parallel


def test_what_cannot_be_opened_is_said_in_a_sentence(saved):
    text = saved.read_text()
    for change, words in (
        (lambda session: session.update({"catena session": VERSION + 1}), "later version"),
        (lambda session: session["robot"].update(path="/nowhere/x.urdf"), "its robot file is missing: /nowhere/x.urdf"),
        (lambda session: session.pop("robot"), "it is not a Catena session"),
        (lambda session: session["robot"].update(path=5.5), "it is not a Catena session"),
        (lambda session: session["robot"].update(path="x" * 9999), "its robot file is missing: xxx"),
        (lambda session: session.update({"catena session": "2.5"}), "later version"),
        (lambda session: session["settings"].update(dt=float("nan")), "it holds the number NaN, which is not finite"),
    ):
        session = json.loads(text)
        change(session)
        saved.write_text(json.dumps(session))
        with case(words), pytest.raises(NoSession, match=words):
            read(str(saved))


def test_a_file_that_is_none_is_told_in_the_status_bar(window, tmp_path, monkeypatch):
    path = tmp_path / "x.catena"
    path.write_text("nothing")
    name_file(monkeypatch, path)
    window.features[Sessions].open_action.trigger()
    assert "it is not a Catena session" in window.statusBar().currentMessage()
    assert not window.features[Sessions].save_action.isEnabled()


def test_a_session_is_named_after_its_robot_whatever_that_is_called(opened, tmp_path, monkeypatch):
    path, names = tmp_path / "own.urdf", []
    path.write_text('<robot name="left/arm: 2"><link name="base"/></robot>')
    window = opened(path)
    monkeypatch.setattr("app.features.sessions.ask_path", lambda _, __, name, *___: names.append(name))
    window.features[Sessions].save_action.trigger()
    assert names == ["left_arm_ 2.catena"]
