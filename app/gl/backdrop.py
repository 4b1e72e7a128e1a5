"""`Backdrop`: the dark or light surroundings of a robot: sky, floor, grid lines and shadows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KNEE = 0.45
"""The radiance above which light is compressed below white; as in light.glsl."""


@dataclass(frozen=True)
class Backdrop:
    """Colours are sRGB as displayed; `soil` is a height field's reflectance, linear."""

    zenith: str
    horizon: str
    floor: str
    line: str
    strength: float
    """The strength of the grid lines, relative to the dark backdrop's."""
    shadow: float
    """The share of the floor's light that a shadow removes."""
    glow: tuple[float, float, float]
    """The radiance added to the floor near the robot."""
    soil: tuple[float, float, float]
    sheen: float
    """The share of light that robots mirror besides, most along their outlines, so that dark ones are seen."""
    ink: float
    """The factor for colours of overlays on robots, for contrast."""

    @property
    def colors(self) -> NDArray[np.float32]:
        """(6, 4): zenith and sheen, horizon and floor as radiance; line and strength; glow and shadow; soil."""
        rows = [(*radiance(self.zenith), self.sheen), (*radiance(self.horizon), 0.0), (*radiance(self.floor), 0.0)]
        rows += [(*srgb(self.line), self.strength), (*self.glow, self.shadow), (*self.soil, 0.0)]
        return np.array(rows, np.float32)

    def inked(self, colors: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the colours (n, 4) of overlays on robots, adjusted for contrast."""
        return colors * np.array([self.ink, self.ink, self.ink, 1.0], np.float32)


def srgb(name: str) -> tuple[float, float, float]:
    """Return the components of a colour #rrggbb in 0…1."""
    red, green, blue = (int(name[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def radiance(name: str) -> tuple[float, float, float]:
    """Return the light that is displayed as that colour: the inverse of `to_screen` in light.glsl."""

    def one(part: float) -> float:
        shown = part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        if shown <= KNEE:
            return shown
        over = (shown - KNEE) / (1 - KNEE)
        return KNEE + (1 - KNEE) * over / (1 - min(over, 0.99))

    red, green, blue = map(one, srgb(name))
    return red, green, blue


DARK = Backdrop(
    "#171a20", "#353a44", "#1d2128", "#b8c7db", 1.0, 0.55, (0.026, 0.030, 0.037), (0.050, 0.057, 0.068), 1.0, 1.0
)
LIGHT = Backdrop("#c8d3e0", "#e6ebf1", "#cdd6e0", "#33404f", 1.5, 0.40, (0.0, 0.0, 0.0), (0.40, 0.42, 0.45), 0.0, 0.52)
