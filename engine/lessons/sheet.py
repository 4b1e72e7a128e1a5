"""An SVG picture, assembled element by element.

Colours are named in a palette, so that window and page use their own. Qt reads SVG Tiny 1.2, so colours are in `style`
and there is no animation. All coordinates are in px of the picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

Palette = Mapping[str, str]
"""The colours `ground`, `panel`, `edge`, `text`, `faint`, `accent`, `good` and `warning`."""
LIT = ("edge", "warning", "good", "accent")
"""The colours of links that are unknown, being computed, known before, and newly known."""
WIDTH, TYPE = 440, 13
NOTHING = 1e-6
"""A number is shown as zero below this, relative to the largest in the picture."""
SHOWN = 64
"""The maximum number of links in a picture; of a longer chain the first are shown."""


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(power: int) -> str:
    """Return 10 with an exponent."""
    return f"10{str(power).translate(_RAISED)}"


def scientific(x: float, digits: int = 1) -> str:
    """Return a number ≥ 0 with `digits` digits after the first, small and large ones by a power of ten."""
    if x == 0 or not np.isfinite(x):
        return f"{x:g}"
    mantissa, _, power = f"{x:.{digits}e}".partition("e")
    if -2 <= int(power) <= digits:
        return f"{float(mantissa + 'e' + power):.{digits - int(power)}f}"
    return f"{mantissa}\u00a0×\u00a0{power_of_ten(int(power))}"


class Sheet:
    """A list of picture elements."""

    def __init__(self, palette: Palette, height: float):
        self._palette, self._height, self._parts = palette, height, list[str]()

    def box(self, x: float, y: float, w: float, h: float, fill: str, opacity: float = 1.0, edge: str = "") -> None:
        line = f"stroke:{self._palette[edge]};stroke-width:1.5" if edge else "stroke:none"
        inside = f"fill:{self._palette[fill]};fill-opacity:{opacity:.3f}" if fill else "fill:none"
        place = f'x="{x:.1f}" y="{y:.1f}" width="{max(w, 0.4):.1f}" height="{max(h, 0.4):.1f}"'
        self._parts.append(f'<rect {place} rx="1.5" style="{inside};{line}"/>')

    def dot(self, x: float, y: float, radius: float, fill: str) -> None:
        """Add a disc, with a rim if its colour is that of unknown links, which has little contrast."""
        rim = f";stroke:{self._palette['faint']};stroke-width:1" if fill == LIT[0] else ""
        style = f"fill:{self._palette[fill]}{rim}"
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" style="{style}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1.5) -> None:
        place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        style = f"stroke:{self._palette[color]};stroke-width:{width:.1f};stroke-linecap:round"
        self._parts.append(f'<line {place} style="{style}"/>')

    def curve(self, x1: float, x2: float, y: float, rise: float, color: str) -> None:
        """Add an arc from x1 to x2 above y, with an arrow head at its end."""
        bend = f"M{x1:.1f} {y:.1f} Q{(x1 + x2) / 2:.1f} {y - 2 * rise:.1f} {x2:.1f} {y - 2:.1f}"
        style = f"fill:none;stroke:{self._palette[color]};stroke-width:1.6"
        self._parts.append(f'<path d="{bend}" style="{style}"/>')
        head = f"{x2 - 3:.1f},{y - 7:.1f} {x2 + 3:.1f},{y - 7:.1f} {x2:.1f},{y - 1:.1f}"
        self._parts.append(f'<polygon points="{head}" style="fill:{self._palette[color]}"/>')

    def area(self, points: Sequence[tuple[float, float]], fill: str, opacity: float) -> None:
        style = f"fill:{self._palette[fill]};fill-opacity:{opacity:.2f}"
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polygon points="{corners}" style="{style}"/>')

    def arrow(self, x1: float, y1: float, x2: float, y2: float, color: str, width: float = 3.0) -> None:
        """Add an arrow; a dot if it is shorter than its head."""
        length = float(np.hypot(x2 - x1, y2 - y1))
        if length < 6:
            self.dot(x2, y2, 4, color)
            return
        x, y = (x2 - x1) / length, (y2 - y1) / length
        self.line(x1, y1, x2 - 8 * x, y2 - 8 * y, color, width)
        self.area([(x2, y2), *((x2 - 10 * x + k * y, y2 - 10 * y - k * x) for k in (5, -5))], color, 1.0)

    def text(self, x: float, y: float, words: str, color: str = "faint", anchor: str = "start") -> None:
        style = f"fill:{self._palette[color]};font-size:{TYPE}px"
        safe = words.replace("&", "&amp;").replace("<", "&lt;")
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-family="Catena Sans"'
        self._parts.append(f'<text {place} style="{style}">{safe}</text>')

    def svg(self, wording: str) -> str:
        """Return the picture; `wording` is the text alternative."""
        width, height = WIDTH, self._height
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
        return f"{head}<title>{wording}</title>{''.join(self._parts)}</svg>"
