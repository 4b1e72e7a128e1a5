"""File › Open recent: robots and sessions, kept at once, and distinguished by their names."""

import shutil
from pathlib import Path

from PyQt6.QtCore import QSettings
from windows import name_file, wait

from app.desktop.menus import short_names
from app.features.sessions import Sessions
from engine.files import ROBOTS


def test_they_outlive_a_program_that_is_killed(qtbot, opened, tmp_path):
    window = opened(ROBOTS / "pendulum.urdf")
    kept = Path(window.settings.fileName())

    def on_disk() -> object:
        if not kept.is_file():
            return None
        settings = QSettings(str(shutil.copy(kept, tmp_path / "copy.ini")), QSettings.Format.IniFormat)
        settings.sync()
        return settings.value("recent")

    wait(qtbot, lambda: on_disk() == [str(ROBOTS / "pendulum.urdf")])


def test_an_opened_or_saved_session_is_among_them(qtbot, opened, make_window, tmp_path, monkeypatch):
    session = tmp_path / "mine.catena"
    first = opened(ROBOTS / "pendulum.urdf")
    first.features[Sessions].save(str(session))
    first.close()
    window = make_window()
    window.open(session)
    wait(qtbot, lambda: str(session) in window.workbench.recent)
    name_file(monkeypatch, tmp_path / "another")
    window.features[Sessions].save_as.trigger()
    window.files.recent_menu.aboutToShow.emit()
    reported = [action.text() for action in window.files.recent_menu.actions()]
    assert reported == ["another.catena", "mine.catena", "pendulum.urdf"]


def test_those_of_one_name_are_told_apart_by_their_folders():
    assert short_names(["/a/x/icub.urdf", "/b/x/icub.urdf", "/a/x/arm.urdf", "/c/arm.urdf", "/d/talos.urdf"]) == {
        "/a/x/icub.urdf": "a/x/icub.urdf",
        "/b/x/icub.urdf": "b/x/icub.urdf",
        "/a/x/arm.urdf": "x/arm.urdf",
        "/c/arm.urdf": "c/arm.urdf",
        "/d/talos.urdf": "talos.urdf",
    }
    assert short_names(["/arm.urdf", "/a/arm.urdf"]) == {"/arm.urdf": "/arm.urdf", "/a/arm.urdf": "a/arm.urdf"}
