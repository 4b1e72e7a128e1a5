"""Names of files to be written: typed text, added suffixes, and the question before a file is replaced."""

from pathlib import Path

import pytest
from PyQt6.QtCore import QTimer
from PyQt6.QtWidgets import QApplication, QFileDialog, QLineEdit, QMessageBox, QWidget

from app.desktop.dialogs import ask_path, file_dialog


@pytest.fixture
def parent(qtbot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


def answer(name: str, requested: list[str], over: QMessageBox.StandardButton, *then: str) -> QTimer:
    """Type a name and press Save; after a question and its answer the next name, or close the dialog."""
    typed = [name, *then]

    def look() -> None:
        match QApplication.activeModalWidget():
            case QMessageBox() as question:
                typed[:1] = []
                requested.append(question.text())
                question.button(over).click()
            case QFileDialog() as dialog if not typed:
                dialog.reject()
            case QFileDialog() as dialog:
                dialog.findChild(QLineEdit, "fileNameEdit").setText(typed[0])
                QTimer.singleShot(0, dialog.accept)

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(50)
    return timer


def ask(parent: QWidget) -> str:
    return ask_path(parent, "Export the run", "arm7.npz", "Trajectories (*.npz)", "npz")


def test_the_file_that_would_be_replaced_is_asked_about(parent, tmp_path):
    (tmp_path / "foo.npz").write_bytes(b"old")
    requested: list[str] = []
    timer = answer(str(tmp_path / "foo"), requested, QMessageBox.StandardButton.No)
    assert ask(parent) == ""
    timer.stop()
    assert len(requested) == 1
    assert "foo.npz" in requested[0]


def test_the_next_dialog_begins_in_the_folder_used_last(parent, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    timer = answer(str(folder / "foo"), [], QMessageBox.StandardButton.Ok)
    assert ask(parent) == str(folder / "foo.npz")
    timer.stop()
    dialog = file_dialog(parent, "Open")
    assert Path(dialog.directory().absolutePath()) == folder
    dialog.deleteLater()


def test_a_name_of_another_kind_of_file_is_refused(parent, tmp_path):
    requested: list[str] = []
    timer = answer(str(tmp_path / "foo.PNG"), requested, QMessageBox.StandardButton.Ok, str(tmp_path / "bar"))
    assert ask(parent) == str(tmp_path / "bar.npz")
    timer.stop()
    assert requested == ["foo.PNG would be a picture; the name of a run ends in .npz"]


@pytest.mark.parametrize("ending", ["jpg", "webp", "PDF", "txt"])
def test_a_picture_is_not_written_under_the_name_of_another_format(parent, tmp_path, ending):
    requested: list[str] = []
    timer = answer(str(tmp_path / f"foo.{ending}"), requested, QMessageBox.StandardButton.Ok, str(tmp_path / "foo"))
    assert ask_path(parent, "Export", "arm7.png", "Pictures (*.png)", "png") == str(tmp_path / "foo.png")
    timer.stop()
    assert requested == [f"foo.{ending} would be a .{ending.lower()} file; the name of a picture ends in .png"]


def test_a_suffix_is_added_where_none_is_typed(parent, tmp_path):
    for typed, path in (("foo", "foo.npz"), ("run 0.5", "run 0.5.npz")):
        timer = answer(str(tmp_path / typed), [], QMessageBox.StandardButton.Yes)
        assert ask(parent) == str(tmp_path / path)
        timer.stop()
