"""The file that a session is saved to again."""

from __future__ import annotations

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QFileDialog
from test_sessions import saved  # noqa: F401 - a fixture
from windows import wait


def test_an_opened_session_is_saved_where_it_was(qtbot, request, make_window, monkeypatch):
    path = request.getfixturevalue("saved")
    window = make_window()
    window.open(path)
    wait(qtbot, lambda: window.workbench.model is not None and not window.workbench.loading)
    before, asked = path.stat().st_mtime_ns, []
    monkeypatch.setattr(
        QFileDialog, "exec", lambda dialog: asked.extend(dialog.selectedFiles()) or QFileDialog.DialogCode.Accepted
    )
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert asked == [str(path)]
    wait(qtbot, lambda: path.stat().st_mtime_ns != before)
