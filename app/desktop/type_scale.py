"""The window's type: one font, which ships with it, in four sizes; and a fixed-width one for source text.

Whatever is written is in one of these sizes. They are relative to the size of the system's own font, which people
choose to suit their eyes and their screens. Figures have one width, so columns and running numbers need no other font.
"""

from __future__ import annotations

from pathlib import Path

from PyQt6.QtGui import QFont, QFontDatabase
from PyQt6.QtWidgets import QApplication

FONTS = Path(__file__).resolve().parents[2] / "resources" / "fonts"
FAMILY = "Catena Sans"
SIZES = {"small": 0.9, "body": 1.0, "heading": 1.15, "title": 1.7}
"""Of marks at axes and heads of columns; of all else; of what heads a panel; of the empty window."""
FIGURE_SPACE = "\u2007"
"""As wide as a figure."""


def install(application: QApplication) -> None:
    """Have all that is written be in the font that ships; once is enough."""
    if QApplication.font().family() == FAMILY:
        return
    for path in sorted(FONTS.glob("*.otf")):
        if QFontDatabase.addApplicationFont(str(path)) < 0:
            return  # a Qt without these formats goes on with the system's
    application.setFont(font())


def points(size: str) -> float:
    """One of `SIZES` in points, a multiple of a quarter."""
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    return round(4 * SIZES[size] * system.pointSizeF()) / 4


def font(size: str = "body", bold: bool = False) -> QFont:
    """The font in one of `SIZES`."""
    made = QFont(FAMILY)
    made.setPointSizeF(points(size))
    made.setBold(bold)
    return made


def fixed() -> QFont:
    """A fixed-width font, for source text."""
    made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    made.setPointSizeF(points("body"))
    return made
