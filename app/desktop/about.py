"""What the program says of itself."""

from __future__ import annotations

from importlib import metadata

from PyQt6.QtWidgets import QMessageBox, QWidget


def show(parent: QWidget) -> None:
    """The version, and the drags that the window knows."""
    QMessageBox.about(
        parent,
        "About Catena",
        f"<h3>Catena {_version()}</h3>"
        "<p>A simulator for articulated robots, built on parallel forward dynamics.</p>"
        "<p>All keys are in Help › Keyboard shortcuts (F1).</p>"
        "<p>A click selects a link.</p>"
        "<p>Drag rotates the view, Shift+drag or the middle button pans, the wheel zooms. While the robot "
        "plays, a drag with the right button, or with Ctrl, pulls at a link.</p>",
    )


def _version() -> str:
    try:
        return metadata.version("catena")
    except metadata.PackageNotFoundError:
        return "(from its source, not installed)"
