"""Sessions: what is saved, and what is there again when they are opened."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QFileDialog
from windows import name_file, wait

import engine
import main
from app.features.appearance import Appearance
from app.features.camera_views import CameraViews
from app.features.plots_view import PlotsView
from app.features.session_text import VERSION, NoSession, read
from app.features.sessions import Sessions
from app.panels.plots import PlotsPanel
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
    bench.set_gravity(False)
    bench.set_dt(2e-3)
    bench.drive(2, by_effort=True)
    bench.take_settings(replace(bench.settings, by_velocity=frozenset({3}), gains=((4, 20.0, 1.5),)))
    window.features[CameraViews].parallel.trigger()
    window.speed.set_speed(0.5)
    bench.set_coordinate(1, 0.4)
    wait(qtbot, lambda: bench.newest is not None and bench.newest.q[1] == 0.4)
    window.viewport.camera.orbit(0.7, 0.2)
    path = tmp_path / "mine.catena"
    name_file(monkeypatch, tmp_path / "mine")
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, path.is_file)
    window.close()
    return path


def test_everything_is_there_again(qtbot, saved, make_window, monkeypatch):
    window = make_window()
    window.settings.clear()
    kept = json.loads(saved.read_text())
    window.docks["Plots"].hide()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(saved), ""))
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window, Qt.Key.Key_O, modifiers)
    bench = window.workbench
    wait(qtbot, lambda: bench.model is not None)
    wait(qtbot, lambda: bench.newest is not None and bench.newest.q[1] == 0.4)
    settings = bench.settings
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
    asked = []
    monkeypatch.setattr("app._no_screen", lambda: False)
    monkeypatch.setattr("app._show_window", lambda *words: asked.append(words[0]) or 0)
    assert main.main([str(saved)]) == 0
    window = make_window()
    window.open(asked[0])
    bench = window.workbench
    wait(qtbot, lambda: bench.newest is not None and bench.newest.q[1] == 0.4)
    assert bench.settings.dt == 2e-3
    assert not window.diagnostics.diagnostics
    with pytest.raises(SystemExit):
        main.main(["--help"])
    assert "SESSION.catena" in capsys.readouterr().out


def test_open_takes_a_session(saved, make_window, qtbot, monkeypatch):
    window = make_window()
    monkeypatch.setattr("app.desktop.dialogs.ask_file", lambda *_: str(saved))
    window.files.open_action.trigger()
    bench = window.workbench
    wait(qtbot, lambda: bench.newest is not None and bench.newest.q[1] == 0.4)


def test_a_session_that_is_not_there_is_told(window, tmp_path):
    window.open(tmp_path / "gone.catena")
    assert window.statusBar().currentMessage() == f"{tmp_path / 'gone.catena'}: No such file or directory"


def test_a_session_that_names_a_session_as_its_robot_is_refused(saved, make_window, qtbot):
    session = json.loads(saved.read_text())
    session["robot"]["path"] = str(saved)
    saved.write_text(json.dumps(session))
    window = make_window()
    window.open(saved)
    wait(qtbot, lambda: len(window.diagnostics.diagnostics) > 0)


def test_what_a_file_lacks_and_what_it_has_besides_does_no_harm(qtbot, saved, make_window):
    session = json.loads(saved.read_text())
    for name in ("camera", "plots", "layout", "settings"):
        del session[name]
    session["pose"] = {"joint1": [0.25], "joint2": [1.0, 2.0], "gone": [3.0]}
    session["of a later version"] = {"x": 1}
    saved.write_text(json.dumps(session))
    window = make_window()
    window.features[Sessions].open(str(saved))
    wait(qtbot, lambda: window.workbench.newest is not None and window.workbench.newest.q[0] == 0.25)
    assert window.workbench.newest.q[1] == 0.0


def test_a_part_that_cannot_be_read_is_told(qtbot, saved, make_window):
    session = json.loads(saved.read_text())
    session["settings"]["dt"] = "soon"
    saved.write_text(json.dumps(session))
    window = make_window()
    window.features[Sessions].open(str(saved))
    wait(qtbot, lambda: "part of the session cannot be read" in window.statusBar().currentMessage())
    assert window.workbench.model.name == "arm7"
    assert "dt came as 'soon'; expected a number" in window.statusBar().currentMessage()
    wait(qtbot, lambda: window.workbench.newest is not None and window.workbench.newest.q[1] == 0.4)
    assert plots(window).layout_keys == [["robot//energy drift/"]]


def test_a_robot_that_diverged_is_saved_where_it_began(qtbot, opened, tmp_path):
    window = opened()
    wait(qtbot, lambda: window.workbench.newest is not None)
    window.workbench.newest.q[:] = np.nan
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda session: session.update({"catena session": VERSION + 1}), "later version"),
        (lambda session: session["robot"].update(path="/nowhere/x.urdf"), "its robot is not there: /nowhere/x.urdf"),
        (lambda session: session.pop("robot"), "it is no session"),
        (lambda session: session["robot"].update(path=5.5), "it is no session"),
        (lambda session: session["robot"].update(path="x" * 9999), "its robot is not there: xxx"),
        (lambda session: session["settings"].update(dt=float("nan")), "it holds the number NaN, which is not finite"),
    ],
)
def test_what_cannot_be_opened_is_said_in_a_sentence(saved, change, words):
    session = json.loads(saved.read_text())
    change(session)
    saved.write_text(json.dumps(session))
    with pytest.raises(NoSession, match=words):
        read(str(saved))


def test_a_file_that_is_none_is_told_in_the_status_bar(window, tmp_path, monkeypatch):
    path = tmp_path / "x.catena"
    path.write_text("nothing")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    window.features[Sessions].open_action.trigger()
    assert "it is no session of Catena" in window.statusBar().currentMessage()
    assert not window.features[Sessions].save_action.isEnabled()
