"""The look: one calm dark palette, the style sheet that uses it by name, and the icons."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from PyQt6.QtGui import QColor, QFont, QFontDatabase, QIcon, QPalette
from PyQt6.QtWidgets import QApplication

RESOURCES = Path(__file__).resolve().parent.parent / "resources"

COLORS = {
    "ground": "#171a20",
    "panel": "#1d2129",
    "raised": "#272c36",
    "edge": "#343a46",
    "chosen": "#2c4366",
    "text": "#d5dbe6",
    "faint": "#8b95a7",
    "accent": "#5aa2f5",
    "error": "#ec6a71",
    "warning": "#e8b45a",
    "good": "#7fb86a",
}

PHASE_COLORS = {
    "kinematics": "#5aa2f5", "bias": "#4cc3b5", "inertia recursion": "#e8b45a", "acceleration": "#dd7fa8",
    "integration": "#9d8cf0", "chunks": "#c98a62", "joins": "#d9d36c", "mass matrix": "#e8b45a",
    "factorisation": "#c98a62", "solve": "#dd7fa8", "assembly": "#e8b45a", "elimination": "#c98a62",
    "refinement": "#dd7fa8", "constraints": "#7fb86a", "collision": "#d9d36c", "contact": "#ef8354",
}  # fmt: skip
"""For the phases of a step; those of one algorithm differ."""

CURVE_COLORS = ("#5aa2f5", "#f0b04c", "#46c7a8", "#f27d84", "#b79cff", "#9bc95c", "#ee8fd0", "#d8dde6")
"""For the curves of a plot, told apart by who sees all colours and by who does not."""


def color(name: str) -> QColor:
    """A colour of the palette by its name in `COLORS`."""
    return QColor(COLORS[name])


@cache
def icon(name: str) -> QIcon:
    """An icon of ``resources/icons``. FileNotFoundError where there is none of that name."""
    path = RESOURCES / "icons" / f"{name}.svg"
    if not path.is_file():
        raise FileNotFoundError(f"no icon {name!r}: {path} is missing")
    return QIcon(str(path))


def figures() -> QFont:
    """A fixed-width font for columns of numbers and for source text."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF())
    return font


def apply(application: QApplication) -> None:
    """Dress the whole application."""
    application.setStyle("Fusion")
    application.setPalette(_palette())
    sheet = (RESOURCES / "theme.qss").read_text(encoding="utf-8")
    names = {**COLORS, "icons": (RESOURCES / "icons").as_posix()}
    application.setStyleSheet(re.sub(r"@(\w+)", lambda match: names[match[1]], sheet))
    application.setWindowIcon(icon("catena"))


def _palette() -> QPalette:
    palette, role, disabled = QPalette(), QPalette.ColorRole, QPalette.ColorGroup.Disabled
    for roles, name in (
        ((role.Window, role.Button), "panel"),
        ((role.Base,), "ground"),
        ((role.AlternateBase,), "panel"),
        ((role.ToolTipBase,), "raised"),
        ((role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.HighlightedText), "text"),
        ((role.PlaceholderText,), "faint"),
        ((role.Highlight,), "chosen"),
        ((role.Link, role.BrightText), "accent"),
    ):
        for each in roles:
            palette.setColor(each, color(name))
    for each in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(disabled, each, color("faint"))
    return palette
