"""The dialogs that ask for a file, and where the window opens on the screen."""

from __future__ import annotations

import re
from pathlib import Path

from PyQt6.QtCore import QDir, QRect, QSize
from PyQt6.QtWidgets import QDialog, QFileDialog, QHeaderView, QTreeView, QWidget

import engine

ROBOTS = "Robots, runs and sessions (*.urdf *.xacro *.xml *.npz *.catena);;All files (*)"
SIZE = QSize(1440, 900)
SHARE = 0.94  # of the screen, that a new window takes at most
NAME_WIDTH = 300  # px


def file_dialog(parent: QWidget, title: str, folder: str = "", kinds: str = "") -> QFileDialog:
    """A dialog for one file, with room for its columns; "" is the folder of the file before.

    Unless that is where the robots that ship are, which is no place for a user's own files.
    """
    dialog = QFileDialog(parent, title, folder, kinds)
    if not folder and Path(dialog.directory().absolutePath()) == engine.ROBOTS:
        dialog.setDirectory(QDir.homePath())
    for view in dialog.findChildren(QTreeView):
        header = view.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        header.resizeSection(0, NAME_WIDTH)
    available = parent.screen().availableGeometry()
    dialog.resize(min(940, available.width() - 40), min(580, available.height() - 60))
    return dialog


def ask_file(parent: QWidget, title: str, folder: str = "", kinds: str = ROBOTS) -> str:
    """The file that the user chooses; empty if none."""
    dialog = file_dialog(parent, title, folder, kinds)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return _answer(dialog)


def ask_path(parent: QWidget, title: str, name: str, kinds: str, suffix: str) -> str:
    """The path chosen of a file that is to be written, empty where none is; `suffix` is added where none is typed.

    The dialog adds it itself: so it is the file which will be written that it asks about before one is replaced.
    """
    dialog = file_dialog(parent, title, kinds=kinds)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setDefaultSuffix(suffix)
    dialog.selectFile(name)
    return _answer(dialog)


def file_name(robot: str, suffix: str) -> str:
    """What a robot's file is called where nobody has said so yet; a robot may be called what no file can be."""
    return re.sub(r'[/\\:*?"<>|]', "_", robot) + suffix


def _answer(dialog: QFileDialog) -> str:
    accepted = dialog.exec() == QDialog.DialogCode.Accepted
    path = dialog.selectedFiles()[0] if accepted else ""
    dialog.deleteLater()
    return path


def place(wanted: QRect, available: QRect) -> QRect:
    """A window's rectangle, moved and shrunk until it lies on the screen's available part."""
    size = wanted.size().boundedTo(available.size())
    left = min(max(wanted.left(), available.left()), available.right() + 1 - size.width())
    top = min(max(wanted.top(), available.top()), available.bottom() + 1 - size.height())
    return QRect(left, top, size.width(), size.height())


def first_place(available: QRect) -> QRect:
    """Where a window opens that was never placed: in the middle, and no larger than fits."""
    size = SIZE.boundedTo(QSize(int(SHARE * available.width()), int(SHARE * available.height())))
    rect = QRect(0, 0, size.width(), size.height())
    rect.moveCenter(available.center())
    return rect
