"""The window's typography: one bundled font in four sizes, and a fixed-width one for source text.

All text has one of these sizes. They are relative to the size of the system font, which users choose to suit their
eyes and screens, times the property `SCALE` of the application. Digits have one width, so columns and changing numbers
need no other font.
"""

from __future__ import annotations

from pathlib import Path

from PyQt6.QtGui import QFont, QFontDatabase, QFontMetrics
from PyQt6.QtWidgets import QApplication

FONTS = Path(__file__).resolve().parents[2] / "resources" / "fonts"
FAMILY = "Catena Sans"
SIZES = {"small": 0.9, "body": 1.0, "heading": 1.15, "title": 1.7}
"""Scale factors: axis labels and column headers; other text; panel headings; the empty window's title."""
SCALE = "type_scale"
"""A property of the application: by how much all text is larger than the system's."""
AROUND = 6  # px above and below the text of a row, together
FIGURE_SPACE, MINUS = "\u2007", "\u2212"
"""A space and a sign as wide as a digit."""


def install(application: QApplication) -> None:
    """Set the bundled font for the application; repeated calls do nothing."""
    if QApplication.font().family() == FAMILY:
        return
    for path in sorted(FONTS.glob("*.otf")):
        if QFontDatabase.addApplicationFont(str(path)) < 0:
            return  # a Qt without these formats keeps the system font
    application.setFont(font())


def points(size: str) -> float:
    """Return one of `SIZES` in points, a multiple of 0.25."""
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    return round(4 * SIZES[size] * _scale() * system.pointSizeF()) / 4


def _scale() -> float:
    application = QApplication.instance()
    return float((application.property(SCALE) if application is not None else None) or 1.0)


def scaled(pixels: int) -> int:
    """Return a length, px, of what stands beside text, such as an icon, for larger text; never a smaller one."""
    return round(pixels * max(_scale(), 1.0))


def row(least: int) -> int:
    """Return the height, px, of a row of body text: `least`, or what larger text needs."""
    return max(least, QFontMetrics(font()).height() + AROUND)


def font(size: str = "body", bold: bool = False) -> QFont:
    """Return the font in one of `SIZES`."""
    made = QFont(FAMILY)
    made.setPointSizeF(points(size))
    made.setBold(bold)
    return made


def fixed_font() -> QFont:
    """Return a fixed-width font for source text."""
    made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    made.setPointSizeF(points("body"))
    return made
