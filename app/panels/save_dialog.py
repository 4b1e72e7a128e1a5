"""Asking for the name of a file that is to be written."""

from __future__ import annotations

from PyQt6.QtWidgets import QDialog, QFileDialog, QWidget


def ask_path(parent: QWidget, title: str, name: str, kinds: str, suffix: str) -> str:
    """The path chosen, empty where none is; `suffix` is added where none is typed.

    The dialog adds it itself: so it is the file which will be written that it asks about before one is replaced.
    """
    dialog = QFileDialog(parent, title)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setNameFilter(kinds)
    dialog.setDefaultSuffix(suffix)
    dialog.selectFile(name)
    accepted = dialog.exec() == QDialog.DialogCode.Accepted
    path = dialog.selectedFiles()[0] if accepted else ""
    dialog.deleteLater()
    return path
