"""The file that a session is saved to again."""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QFileDialog
from windows import name_file, play_for, wait

import engine
from app.features.camera_views import CameraViews
from app.features.ghost_view import GhostView
from app.features.lesson_view import LessonView
from app.features.run_exports import RunExports
from app.features.sessions import Sessions
from app.features.study_view import StudyView
from app.simulation.ghost import GhostSettings


@pytest.fixture
def session(opened, make_window, qtbot, tmp_path):
    """A window that has opened a session, and the session's file."""
    path = tmp_path / "mine.catena"
    first = opened(engine.find_robot("pendulum"))
    first.features[Sessions].save(str(path))
    first.close()
    window = make_window()
    window.open(path)
    wait(qtbot, lambda: window.workbench.robot.model is not None and not window.workbench.opening.loading)
    return window, path


def save(qtbot, window) -> None:
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)


def test_ctrl_shift_s_saves_the_session_as_another_file(qtbot, session, monkeypatch, tmp_path):
    window, path = session
    other = tmp_path / "other.catena"
    name_file(monkeypatch, other)
    before = path.read_bytes()
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window, Qt.Key.Key_S, keys)
    wait(qtbot, other.exists)
    assert path.read_bytes() == before
    assert window.features[CameraViews].save.shortcut().toString() == "Ctrl+Shift+V"


def test_an_opened_session_is_saved_to_its_file(qtbot, session, monkeypatch):
    window, path = session
    monkeypatch.setattr(QFileDialog, "exec", lambda _: pytest.fail("it asked"))
    window.workbench.configuring.set_dt(2e-3)
    save(qtbot, window)
    assert json.loads(path.read_text())["settings"]["dt"] == 2e-3


def test_a_session_that_another_window_saved_meanwhile_is_not_replaced_unasked(qtbot, session):
    window, path = session
    path.write_text(path.read_text().replace("pendulum", "arm6"))
    saved = path.read_bytes()
    save(qtbot, window)
    question = window.features[Sessions].question
    assert "mine.catena was written by another window" in question.text()
    qtbot.keyClick(question, Qt.Key.Key_Return)  # Cancel
    assert not question.isVisible()
    assert path.read_bytes() == saved
    save(qtbot, window)
    press(window, "&Replace")
    assert json.loads(path.read_text())["robot"]["path"].endswith("pendulum.urdf")
    window.workbench.configuring.set_dt(2e-3)
    save(qtbot, window)  # now it is this window's
    assert json.loads(path.read_text())["settings"]["dt"] == 2e-3


def test_a_simulated_ghost_is_kept_with_its_settings(qtbot, session, make_window):
    window, path = session
    panel, wanted = window.features[GhostView].panel, GhostSettings("abia", "rk4", "float64", Fraction(4))
    panel.put(wanted)
    save(qtbot, window)
    window.close()
    again = make_window()
    again.open(path)
    wait(qtbot, lambda: again.features[GhostView].panel.settings == wanted)
    wait(qtbot, lambda: again.workbench.shown is not None and again.workbench.shown.ghost is not None)
    text = json.loads(path.read_text())
    path.write_text(json.dumps(text | {"simulated ghost": text["simulated ghost"] | {"step": "3"}}))
    again.open(path)
    told = "part of the session cannot be read: the step of the ghost is unknown: 3"
    wait(qtbot, lambda: again.statusBar().currentMessage() == told)


STUDY = """robot = "double_pendulum"\nseconds = 0.1\n[[vary]]\nwhat = "damping"\nof = "all"\nvalues = [0.0, 0.5]
[[keep]]\nquantity = "shoulder position"\n"""


def test_a_study_that_is_shown_is_kept(qtbot, session, make_window, tmp_path):
    """Else its panel is there again, empty, with the height of a chart."""
    window, path = session
    file, folder = tmp_path / "damped.toml", tmp_path / "damped.results"
    file.write_text(STUDY, "utf-8")
    engine.Study.read(file).run(folder, processes=0)
    window.open(file)
    wait(qtbot, lambda: window.features[StudyView].panel.results is not None)
    save(qtbot, window)
    window.close()
    again = make_window()
    again.open(path)
    view = again.features[StudyView]
    wait(qtbot, lambda: view.panel.results is not None)
    assert view.kept() == {"study": str(folder)}
    assert again.docks["Study"].isVisible()
    folder.rename(tmp_path / "gone")
    again.open(path)
    told = f"part of the session cannot be read: the results of the study are missing: {folder}"
    wait(qtbot, lambda: again.statusBar().currentMessage() == told)


def press(window, name: str) -> None:
    buttons = window.features[Sessions].question.buttons()
    next(button for button in buttons if button.text() == name).click()


def test_a_session_with_its_run_is_saved_again_unasked(qtbot, opened, tmp_path, monkeypatch):
    window = opened(engine.find_robot("pendulum"))
    play_for(qtbot, window, 0.1)
    name_file(monkeypatch, tmp_path / "mine.catena")
    for _ in range(2):
        save(qtbot, window)
        wait(qtbot, lambda: not window.features[RunExports].writing.running)
    assert window.features[Sessions].question is None
    assert window.statusBar().currentMessage().startswith("Saved ")


def test_a_session_keeps_the_lesson_and_its_step(qtbot, opened, make_window, tmp_path):
    path, window = tmp_path / "taught.catena", opened(engine.find_robot("arm7"))
    window.features[LessonView].open("inverse")
    wait(qtbot, lambda: window.features[LessonView].panel.lesson is not None)
    window.features[LessonView].panel.go(3)
    window.features[Sessions].save(str(path))
    window.close()
    again = make_window()
    again.open(path)
    panel = again.features[LessonView].panel
    wait(qtbot, lambda: panel.lesson is not None)
    assert (panel.lesson.name, panel.number) == ("inverse", 3)
    assert panel.isVisible()
    panel.window().docks["Lesson"].close()
    assert again.features[LessonView].kept() == {"lesson": {}}
    saved = path.read_text()
    path.write_text(saved.replace('"inverse"', '"aba"'))  # as before "abia" was its name
    again.open(path)
    wait(qtbot, lambda: panel.lesson is not None and panel.lesson.name == "abia")
    path.write_text(saved.replace('"inverse"', '"nothing"'))
    again.open(path)
    wait(qtbot, lambda: "the lesson 'nothing' is unknown to this version" in again.statusBar().currentMessage())


def test_another_robot_does_not_overwrite_the_session(qtbot, session, tmp_path, monkeypatch):
    window, path = session
    before = path.read_bytes()
    window.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "double_pendulum")
    asked: list[QFileDialog] = []
    monkeypatch.setattr(QFileDialog, "exec", lambda dialog: asked.append(dialog) or QFileDialog.DialogCode.Rejected)
    save(qtbot, window)
    assert len(asked) == 1
    assert path.read_bytes() == before
    name_file(monkeypatch, Path(tmp_path / "other"))
    save(qtbot, window)
    assert (tmp_path / "other.catena").exists()
    assert path.read_bytes() == before


def test_a_session_that_was_moved_with_its_robot_opens_with_the_copy(qtbot, opened, make_window, tmp_path, monkeypatch):
    """Beside it or in another folder of the same tree; and where there is none, it asks for the file."""
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "robots").mkdir(parents=True)
    robot = here / "robots" / "arm.urdf"
    shutil.copy(engine.find_robot("double_pendulum"), robot)
    window = opened(robot)
    play_for(qtbot, window, 0.1)
    name_file(monkeypatch, here / "mine.catena")
    save(qtbot, window)
    wait(qtbot, lambda: not window.features[RunExports].writing.running)
    window.close()
    shutil.move(here, there)
    session, moved = there / "mine.catena", there / "robots" / "arm.urdf"
    first = make_window()
    first.open(session)
    wait(qtbot, lambda: first.workbench.source == str(moved))
    assert first.workbench.robot.time > 0.05
    beside = shutil.move(moved, there / "arm.urdf")
    second = make_window()
    second.open(session)
    wait(qtbot, lambda: second.workbench.source == str(beside))
    elsewhere = shutil.move(beside, tmp_path / "other.urdf")
    third = make_window()
    third.open(session)
    name_file(monkeypatch, elsewhere)
    assert "The robot's file of mine.catena is missing" in third.features[Sessions].question.text()
    press(third, "&Locate the file…")
    wait(qtbot, lambda: third.workbench.source == str(elsewhere))
    assert third.workbench.robot.time > 0.05
