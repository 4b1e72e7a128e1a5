"""File dialogs, questions, and the window's initial position on the screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from mimetypes import MimeTypes
from pathlib import Path

from PyQt6.QtCore import QBuffer, QDir, QFileInfo, QIODevice, QRect, QSize, Qt
from PyQt6.QtGui import QIcon, QPixmap
from PyQt6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFileIconProvider,
    QHeaderView,
    QInputDialog,
    QLabel,
    QListWidget,
    QMessageBox,
    QSpinBox,
    QToolButton,
    QTreeView,
    QWidget,
)

import engine
from app.desktop import theme
from app.desktop.layouts import vertical
from app.reasons import reason

ROBOTS = "Robots, runs and sessions (*.urdf *.xacro *.xml *.npz *.catena *.zip);;All files (*)"
SIZE = QSize(1440, 900)
MAX_SCREEN_SHARE = 0.94  # of the screen, at most, for a new window
NAME_WIDTH = 300  # px
MAX_NAME = 60  # characters; a menu is as wide as the longest in it
WRITTEN = {
    ".png": "a picture", ".mp4": "a video", ".csv": "a table",
    ".npz": "a run", ".catena": "a session", ".urdf": "a robot", ".zip": "a session with its robot",
}  # fmt: skip
"""What the program writes under names with these endings, and under no others of them."""
NAMELESS = "a {} needs a name; type at least one letter"
OTHER = "{} would be {}; the name of {} ends in {}"


def file_dialog(parent: QWidget, title: str, folder: str = "", kinds: str = "") -> QFileDialog:
    """Return a dialog for one file, sized for its columns; "" means the folder used last.

    The home folder replaces the folder of the robots that ship, since users should not save there.
    """
    dialog = QFileDialog(parent, title, folder, kinds)
    dialog.setIconProvider(_icons())
    if not folder and Path(dialog.directory().absolutePath()) == engine.ROBOTS:
        dialog.setDirectory(QDir.homePath())
    for view in dialog.findChildren(QTreeView):
        header = view.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        header.resizeSection(0, NAME_WIDTH)
    for button in dialog.findChildren(QToolButton):
        if button.objectName() == "newFolderButton":
            button.setIcon(theme.icon("folder_new"))
        elif button.objectName() in ("listModeButton", "detailModeButton"):
            button.hide()
    available = parent.screen().availableGeometry()
    dialog.resize(min(940, available.width() - 40), min(580, available.height() - 60))
    return dialog


def ask_number(parent: QWidget, title: str, text: str, box: QSpinBox | QDoubleSpinBox) -> float | None:
    """Return the number that the user types into a box, which ends with its dialog; None if cancelled."""
    choices = QDialogButtonBox.StandardButton
    dialog, buttons = QDialog(parent, windowTitle=title), QDialogButtonBox(choices.Ok | choices.Cancel)
    buttons.accepted.connect(dialog.accept)
    buttons.rejected.connect(dialog.reject)
    vertical(QLabel(text, textFormat=Qt.TextFormat.PlainText), box, buttons, of=dialog)
    box.setFocus()
    box.selectAll()
    return box.value() if dialog.exec() == QDialog.DialogCode.Accepted else None


def ask_name(
    parent: QWidget, title: str, what: str, name: str = "", refuse: Callable[[str], str] = lambda _: ""
) -> str | None:
    """Return the name of a `what` that the user types, without spaces around it; None if the dialog is left.

    It asks again after an empty name, and while `refuse` returns why it cannot be; the dialog then begins with that.
    """
    label = asked = f"Name of the {what}:"
    while True:
        name, accepted = QInputDialog.getText(parent, title, label, text=name)
        taken = name.strip()[:MAX_NAME]
        why = refuse(taken) if taken else NAMELESS.format(what)
        if not accepted or not why:
            return taken if accepted else None
        label = f"{why[0].upper()}{why[1:]}.\n{asked}"


def ask_one(parent: QWidget, title: str, text: str, names: Sequence[str]) -> str:
    """Return which of some names the user selects in a list; empty if cancelled."""
    choices = QDialogButtonBox.StandardButton
    dialog, buttons = QDialog(parent, windowTitle=title), QDialogButtonBox(choices.Open | choices.Cancel)
    shown = QListWidget()
    shown.addItems(names)
    shown.setCurrentRow(0)
    shown.itemActivated.connect(dialog.accept)  # by a double click or Return
    buttons.accepted.connect(dialog.accept)
    buttons.rejected.connect(dialog.reject)
    vertical(QLabel(text), shown, buttons, of=dialog)
    return shown.currentItem().text() if dialog.exec() == QDialog.DialogCode.Accepted else ""


def ask(
    parent: QWidget, text: str, choices: Mapping[str, Callable[[], object]], note: str = "", default: str = ""
) -> QMessageBox:
    """Ask without blocking: a button for each of `choices` calls its function, beside Cancel; `default` names one."""
    box = QMessageBox(QMessageBox.Icon.Question, "Catena", "", parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)  # names of files may look like HTML
    box.setText(text)
    box.setInformativeText(note)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    for name, act in choices.items():
        button = box.addButton(name, QMessageBox.ButtonRole.AcceptRole)
        button.clicked.connect(lambda _, act=act: act())
        if name == default:
            box.setDefaultButton(button)
    box.open()
    return box


class _FileIcons(QFileIconProvider):
    """Icons of files and folders in the theme's style; those of the desktop may be absent or out of style."""

    def icon(self, of: QFileIconProvider.IconType | QFileInfo) -> QIcon:
        kinds = QFileIconProvider.IconType
        folder = of.isDir() or of.isRoot() if isinstance(of, QFileInfo) else of != kinds.File
        return theme.icon("folder" if folder else "file")


@cache
def _icons() -> _FileIcons:
    """The provider, which dialogs do not own."""
    return _FileIcons()


def ask_file(parent: QWidget, title: str, folder: str = "", kinds: str = ROBOTS) -> str:
    """Return the file that the user selects; empty if cancelled."""
    dialog = file_dialog(parent, title, folder, kinds)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return _selected_path(dialog)


def ask_path(parent: QWidget, title: str, name: str, kinds: str, suffix: str) -> str:
    """Return the path to save to, empty if cancelled; `suffix` is appended if the user types none.

    The dialog appends it itself, so that it asks before overwriting the file that will really be written. It asks again
    after a name of another kind of file.
    """
    own = f".{suffix.removeprefix('.')}"
    while True:
        dialog = file_dialog(parent, title, kinds=kinds)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setDefaultSuffix(suffix)
        dialog.selectFile(name)
        path = Path(selected) if (selected := _selected_path(dialog)) else Path()
        if (ending := path.suffix.lower()) != own and (ending in WRITTEN or _is_picture(ending)):
            text = OTHER.format(path.name, WRITTEN.get(ending, f"a {ending} file"), WRITTEN[own], own)
            QMessageBox.warning(parent, title, text)
            name = path.with_suffix(own).name
        else:
            return selected


def _is_picture(ending: str) -> bool:
    """Return whether names with this ending are pictures or videos, or documents that others save pictures as."""
    known = [types.get(ending, "") for types in MimeTypes().types_map]
    return any(each.startswith(("image/", "video/", "application/pdf", "application/postscript")) for each in known)


def save_asked(parent: QWidget, title: str, name: str, kinds: str, save: Callable[[str], None]) -> tuple[str, str]:
    """Ask for a path, by default `name`, and save there; return it, empty if cancelled, and why nothing was written."""
    path = ask_path(parent, title, name, kinds, Path(name).suffix)
    try:
        if path:
            save(path)
    except OSError as error:
        return path, f"{path} was not written: {reason(error)}"
    return path, ""


def write_png(picture: QPixmap, path: str) -> None:
    """Write a picture, whole or not at all. Raises OSError."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")
    with engine.replacing(path) as file:
        file.write(buffer.data().data())


def file_name(robot: str, suffix: str) -> str:
    """Return a default file name for a robot; characters that file names cannot have become "_"."""
    return re.sub(r'[/\\:*?"<>|]', "_", robot) + suffix


def _selected_path(dialog: QFileDialog) -> str:
    accepted = dialog.exec() == QDialog.DialogCode.Accepted
    path = dialog.selectedFiles()[0] if accepted else ""
    if path:
        dialog.setDirectory(str(Path(path).parent))  # by which Qt knows the folder used last
    dialog.deleteLater()
    return path


def place(wanted: QRect, available: QRect) -> QRect:
    """Return a window's rectangle, moved and shrunk to fit the available part of the screen."""
    size = wanted.size().boundedTo(available.size())
    left = min(max(wanted.left(), available.left()), available.right() + 1 - size.width())
    top = min(max(wanted.top(), available.top()), available.bottom() + 1 - size.height())
    return QRect(left, top, size.width(), size.height())


def first_place(available: QRect) -> QRect:
    """Return the initial rectangle of a window without a saved position: centred, and no larger than fits."""
    size = SIZE.boundedTo(QSize(int(MAX_SCREEN_SHARE * available.width()), int(MAX_SCREEN_SHARE * available.height())))
    rect = QRect(0, 0, size.width(), size.height())
    rect.moveCenter(available.center())
    return rect
