"""The dialog that asks for a robot's file, and where the window opens on the screen."""

from __future__ import annotations

from PyQt6.QtCore import QRect, QSize
from PyQt6.QtGui import QIcon, QPixmap
from PyQt6.QtWidgets import QFileDialog, QHeaderView, QToolButton, QTreeView, QWidget

from app.desktop import theme

FILES = "Robots, runs and sessions (*.urdf *.xacro *.xml *.npz *.catena);;All files (*)"
SIZE = QSize(1440, 900)
SHARE = 0.94  # of the screen, that a new window takes at most
NAME_WIDTH = 300  # px


def file_dialog(parent: QWidget, folder: str) -> QFileDialog:
    """A dialog for one robot's file, with room for its columns and icons that can be seen on a dark ground."""
    dialog = QFileDialog(parent, "Open a robot", folder, FILES)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    for button in dialog.findChildren(QToolButton):
        own = button.objectName() == "toParentButton"  # the theme's, which is light in the dark
        if theme.is_dark() and not own and not button.icon().isNull():
            button.setIcon(_light(button.icon(), button.iconSize()))
    for view in dialog.findChildren(QTreeView):
        header = view.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        header.resizeSection(0, NAME_WIDTH)
    available = parent.screen().availableGeometry()
    dialog.resize(min(940, available.width() - 40), min(580, available.height() - 60))
    return dialog


def ask_file(parent: QWidget, folder: str) -> str:
    """The file that the user chooses; empty if none."""
    dialog = file_dialog(parent, folder)
    chosen = dialog.selectedFiles() if dialog.exec() else []
    dialog.deleteLater()
    return chosen[0] if chosen else ""


def _light(icon: QIcon, size: QSize) -> QIcon:
    """The same picture with dark and light exchanged."""
    image = icon.pixmap(size).toImage()
    image.invertPixels()
    return QIcon(QPixmap.fromImage(image))


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
