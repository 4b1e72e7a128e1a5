"""What the program says of itself."""

from __future__ import annotations

from importlib import metadata

from PyQt6.QtWidgets import QMessageBox, QWidget


def show(parent: QWidget) -> None:
    """The version, and the keys and drags that the window knows."""
    QMessageBox.about(
        parent,
        "About Catena",
        f"<h3>Catena {_version()}</h3>"
        "<p>A simulator for articulated robots, built on parallel forward dynamics.</p>"
        "<p>Space: play or pause &nbsp; S: step &nbsp; R: reset &nbsp; ← →: recorded moments &nbsp; K: name one<br>"
        "H: hold or let go &nbsp; G: gravity &nbsp; F: fit &nbsp; C: compare &nbsp; Ctrl+O: open<br>"
        "1: front &nbsp; 3: right &nbsp; 7: top &nbsp; 0: isometric &nbsp; 5: orthographic &nbsp; F11: full screen</p>"
        "<p>A click chooses a link; L: the tree of links, and what is known of the chosen one.</p>"
        "<p>Drag turns the view, Shift-drag or the middle button shifts it, the wheel zooms.</p>",
    )


def _version() -> str:
    try:
        return metadata.version("catena")
    except metadata.PackageNotFoundError:
        return "(from its source, not installed)"
