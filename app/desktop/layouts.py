"""Widgets in a column, in a row or in a form."""

from __future__ import annotations

from typing import TypeVar

from PyQt6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

Part = QWidget | QLayout | int | tuple[QWidget | QLayout, int]
"""A widget or a layout, alone or with its stretch factor, or the stretch factor of an empty space."""
Margins = tuple[int, int, int, int]
NO_MARGINS = (0, 0, 0, 0)
FORM_COLUMNS, FORM_GAP = 3, 6  # columns of a form, and px between them

Box = TypeVar("Box", bound=QBoxLayout)


def vertical(
    *parts: Part, of: QWidget | None = None, margins: Margins | None = None, spacing: int | None = None
) -> QVBoxLayout:
    """Return a column of these parts, the layout `of` a widget if one is given; px, by default those of the style."""
    return _fill(QVBoxLayout(of) if of is not None else QVBoxLayout(), parts, margins, spacing)


def horizontal(
    *parts: Part, of: QWidget | None = None, margins: Margins | None = None, spacing: int | None = None
) -> QHBoxLayout:
    """Return a row of these parts, like `vertical`."""
    return _fill(QHBoxLayout(of) if of is not None else QHBoxLayout(), parts, margins, spacing)


def form(of: QWidget | None = None) -> QGridLayout:
    """Return a grid of `FORM_COLUMNS` columns of one width, so that forms below each other align."""
    grid = QGridLayout(of)
    grid.setContentsMargins(*NO_MARGINS)
    grid.setHorizontalSpacing(FORM_GAP)
    grid.setVerticalSpacing(FORM_GAP // 2)
    for column in range(FORM_COLUMNS):
        grid.setColumnStretch(column, 1)
    return grid


def _fill(box: Box, parts: tuple[Part, ...], margins: Margins | None, spacing: int | None) -> Box:
    if margins is not None:
        box.setContentsMargins(*margins)
    if spacing is not None:
        box.setSpacing(spacing)
    for part in parts:
        what, stretch = part if isinstance(part, tuple) else (part, 0)
        if isinstance(what, int):
            box.addStretch(what)
        elif isinstance(what, QWidget):
            box.addWidget(what, stretch)
        else:
            box.addLayout(what, stretch)
    return box
