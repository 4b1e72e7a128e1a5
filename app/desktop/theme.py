"""The theme: dark and light palettes, the style sheet with its colours and font sizes by name, and the icons.

Painting code calls `color` each time it paints, and so follows the palette; code that stores a colour updates it on
`signals.changed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from PyQt6.QtCore import QByteArray, QLocale, QObject, QRect, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPalette, QPixmap, QPixmapCache
from PyQt6.QtSvg import QSvgRenderer
from PyQt6.QtWidgets import QApplication, QWidget

from app.desktop import type_scale
from app.desktop.wheel import Style

UNSTYLED = "unstyled"  # a property of the application while `unstyled` is in force
RESOURCES = Path(__file__).resolve().parents[2] / "resources"

DARK = {
    "ground": "#171a20",
    "panel": "#1d2129",
    "raised": "#272c36",
    "edge": "#343a46",
    "handle": "#667085",
    "chosen": "#2c4366",
    "text": "#d5dbe6",
    "faint": "#8b95a7",
    "accent": "#5aa2f5",
    "error": "#ec6a71",
    "warning": "#e8b45a",
    "good": "#7fb86a",
}
LIGHT = {
    "ground": "#ffffff",
    "panel": "#f3f5f8",
    "raised": "#e6eaf0",
    "edge": "#c2cad6",
    "handle": "#808c9f",
    "chosen": "#cbdffa",
    "text": "#1b2028",
    "faint": "#566070",
    "accent": "#0a5fbf",
    "error": "#b3261e",
    "warning": "#855000",
    "good": "#2a661c",
}
COLORS = dict(DARK)
"""The current palette; both palettes have these names."""

_DARK_CURVES = ("#70aeff", "#f16e05", "#51ffef", "#f037a1", "#ffff9f", "#54824a", "#705dff", "#fa9b98")
_LIGHT_CURVES = ("#0b68ff", "#d91600", "#1da257", "#fc2ac0", "#055d78", "#82002d", "#2301ff", "#090052")
CURVE_COUNT = len(_DARK_CURVES)
LEAST_CONTRAST = 3.0  # between a mark and its background, WCAG 2.1, 1.4.11
_MARKS = re.compile(r"^.*::(?:indicator|menu-indicator|\w+-arrow|\w+-button).*$", re.MULTILINE)
_LENGTHS = re.compile(r"(?:width|height|radius|margin|icon-size): [^;]*")
"""The rules of the style sheet, a line each, for marks beside text, and their lengths, which are as large as it."""


class Signals(QObject):
    """Signals of the theme."""

    changed = pyqtSignal()
    """Emitted after the palette changed."""


signals = Signals()

PHASE_COLORS = {
    "kinematics": "#5aa2f5", "bias": "#4cc3b5", "inertia recursion": "#e8b45a", "acceleration": "#dd7fa8",
    "integration": "#9d8cf0", "chunks": "#c98a62", "joins": "#d9d36c", "mass matrix": "#e8b45a",
    "factorisation": "#c98a62", "solve": "#dd7fa8", "assembly": "#e8b45a", "elimination": "#c98a62",
    "refinement": "#dd7fa8", "constraints": "#4fa56f", "collision": "#a6cf57", "contact": "#e2574f",
}  # fmt: skip
"""Colours of the phases of a step, distinct within one algorithm."""


def is_dark() -> bool:
    """Return whether the dark palette is current."""
    return COLORS["ground"] == DARK["ground"]


def color(name: str) -> QColor:
    """Return a palette colour by its name in `COLORS`."""
    return QColor(COLORS[name])


@contextmanager
def palette(colors: Mapping[str, str]) -> Iterator[None]:
    """Override colours temporarily for painting into a file; the screen does not change."""
    before = dict(COLORS)
    COLORS.update(colors)
    try:
        yield
    finally:
        COLORS.update(before)


def curve_color(number: int) -> str:
    """Return a curve's colour; all differ for normal and for colour-deficient vision."""
    return (_DARK_CURVES if is_dark() else _LIGHT_CURVES)[number % CURVE_COUNT]


def contrast(one: str, other: str) -> float:
    """Return the WCAG 2.1 contrast ratio of two colours, 1 … 21."""

    def luminance(name: str) -> float:
        parts = (int(name[k : k + 2], 16) / 255 for k in (1, 3, 5))
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def legible(name: str) -> str:
    """Darken or lighten a colour of the dark palette until it is visible on the current background."""
    return _legible(name, COLORS["ground"], is_dark())


@cache
def _legible(name: str, ground: str, dark: bool) -> str:
    tint = QColor(name)
    while contrast(tint.name(), ground) < LEAST_CONTRAST:
        tint = tint.lighter(105) if dark else tint.darker(105)
    return tint.name()


def tint(widget: QWidget, name: str) -> None:
    """Set the palette colour of a widget's text; it follows palette changes."""
    if widget.property("tint") != name:
        widget.setProperty("tint", name)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class _ThemedIcon(QIconEngine):
    """An icon of ``resources/icons``, drawn for the dark palette and recoloured for the current one."""

    def __init__(self, name: str):
        super().__init__()
        self._name = name

    def clone(self) -> QIconEngine:
        return _ThemedIcon(self._name)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, _: QIcon.State) -> None:
        painter.save()
        if mode == QIcon.Mode.Disabled:
            painter.setOpacity(0.4)
        _drawing(self._name, is_dark()).render(painter, QRectF(rect))
        painter.restore()

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        key = f"{self._name} {is_dark()} {size.width()} {size.height()} {mode.value}"
        if (cached := QPixmapCache.find(key)) is not None:  # avoids rendering it at each paint
            return cached
        pixmap = QPixmap(size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        painter.end()
        QPixmapCache.insert(key, pixmap)
        return pixmap


@cache
def _drawing(name: str, dark: bool) -> QSvgRenderer:
    text = _icon_file(name).read_text(encoding="utf-8")
    if not dark:
        text = _recolored(text, dict(zip(DARK.values(), LIGHT.values(), strict=True)))
    return QSvgRenderer(QByteArray(text.encode()))


def _recolored(text: str, to: Mapping[str, str]) -> str:
    """Replace these colours of an SVG, and make all others legible."""
    return re.sub(r"#[0-9a-f]{6}", lambda match: to.get(match[0]) or legible(match[0]), text)


def _icon_file(name: str) -> Path:
    path = RESOURCES / "icons" / f"{name}.svg"
    if not path.is_file():
        raise FileNotFoundError(f"no icon {name!r}: {path} is missing")
    return path


@cache
def icon(name: str) -> QIcon:
    """Return an icon of ``resources/icons`` in the current colours. Raises FileNotFoundError if it is missing."""
    _icon_file(name)
    return QIcon(_ThemedIcon(name))


def apply(application: QApplication, dark: bool = True) -> None:
    """Apply the dark or light theme to the whole application."""
    changed = dark != is_dark()
    COLORS.update(DARK if dark else LIGHT)
    plain = QLocale.c()  # numbers with a point, as in files, whatever the language
    plain.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
    QLocale.setDefault(plain)
    application.setStyle(Style())
    type_scale.install(application)
    application.setPalette(_palette())
    if not application.property(UNSTYLED):
        application.setStyleSheet(_style_sheet())
    application.setWindowIcon(QIcon(str(_icon_file("catena"))))
    if changed:
        signals.changed.emit()


@contextmanager
def unstyled(application: QApplication) -> Iterator[None]:
    """Leave out the style sheet while many widgets are built: with it, each new parent styles again all below it."""
    styled = bool(application.styleSheet())
    application.setProperty(UNSTYLED, True)
    application.setStyleSheet("")
    try:
        yield
    finally:
        application.setProperty(UNSTYLED, False)
        application.setStyleSheet(_style_sheet() if styled else "")


def _style_sheet() -> str:
    """Return the style sheet with the current colours and sizes of type."""
    sheet = (RESOURCES / "theme.qss").read_text(encoding="utf-8")
    sizes = {size: f"{type_scale.points(size)}pt" for size in type_scale.SIZES}
    names = {**COLORS, **sizes, "icons": (RESOURCES / "icons" / ("." if is_dark() else "light")).as_posix()}
    sheet = re.sub(r"@(\w+)", lambda match: names[match[1]], sheet)
    return _MARKS.sub(lambda rule: _LENGTHS.sub(_scaled, rule[0]), sheet)


def _scaled(lengths: re.Match[str]) -> str:
    return re.sub(r"\d+(?=px)", lambda number: str(type_scale.scaled(int(number[0]))), lengths[0])


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
