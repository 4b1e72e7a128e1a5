"""The file that a session is saved to again."""

import json
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QFileDialog
from windows import name_file, wait

import engine
from app.features.sessions import Sessions


@pytest.fixture
def session(opened, make_window, qtbot, tmp_path):
    """A window that has opened a session, and the session's file."""
    path = tmp_path / "mine.catena"
    first = opened(engine.find_robot("pendulum"))
    first.features[Sessions].save(str(path))
    first.close()
    window = make_window()
    window.open(path)
    wait(qtbot, lambda: window.workbench.robot.model is not None and not window.workbench.loading)
    return window, path


def save(qtbot, window) -> None:
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)


def test_an_opened_session_is_saved_to_its_file(qtbot, session, monkeypatch):
    window, path = session
    monkeypatch.setattr(QFileDialog, "exec", lambda _: pytest.fail("it asked"))
    window.workbench.configuring.set_dt(2e-3)
    save(qtbot, window)
    assert json.loads(path.read_text())["settings"]["dt"] == 2e-3


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
