"""The About dialog, and the documents that ship with the program."""

from __future__ import annotations

from html import escape
from importlib import metadata
from pathlib import Path

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QMessageBox, QWidget

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (
    ("&User guide", "README.md"),
    ("&Algorithms and papers", "docs/scheme.md"),
    ("&Contact", "docs/contact.md"),
    ("A &step of the simulation", "docs/step.md"),
    ("Example: &controller", "docs/controller.py"),
    ("Example: &own algorithm", "docs/own_algorithm.py"),
    ("C&hanges", "CHANGELOG.md"),
    ("&Licence", "LICENSE"),
)
"""Entries of Help › Documents, and their files below `ROOT`; an installed program may lack them."""
PAPERS = (
    "Y. Yang, Y. Wu, J. Pan: A Novel GPU-based Parallel Implementation Scheme and Performance Analysis of Robot "
    "Forward Dynamics Algorithms, 2016",
    "K. Bhalerao, J. Critchley, K. Anderson: An efficient parallel dynamics algorithm for simulation of large "
    "articulated robotic systems, 2012",
)


def show(parent: QWidget, renderer: str) -> QMessageBox:
    """Show the version, licence, papers and `renderer` (OpenGL's name for it; empty without OpenGL)."""
    box = QMessageBox(parent, windowTitle="About Catena")
    box.setTextFormat(Qt.TextFormat.RichText)
    box.setText(
        f"<h3>Catena {_version()}</h3>"
        "<p>A simulator for articulated robots with parallel forward dynamics.</p>"
        "<p>Licence: Apache 2.0. Font: from Inter, SIL Open Font License 1.1.<br>"
        f"Renderer: {escape(renderer) or 'none (no OpenGL)'}.</p>"
        f"<p>Algorithms:</p><ul>{''.join(f'<li>{each}</li>' for each in PAPERS)}</ul>"
        "<p>Keyboard shortcuts and the mouse: F1. Documents: Help › Documents.</p>"
    )
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
    return box


def documents() -> list[tuple[str, Path]]:
    """Return the titles and paths of the documents that exist."""
    return [(title, ROOT / name) for title, name in DOCUMENTS if (ROOT / name).is_file()]


def _version() -> str:
    try:
        return metadata.version("catena")
    except metadata.PackageNotFoundError:
        return "(from its source, not installed)"
