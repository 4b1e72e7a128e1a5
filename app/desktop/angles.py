"""The unit in which the window shows and takes angles: degrees or radians. Files have radians always. Free of Qt."""

from __future__ import annotations

import math


class AngleUnit:
    """The user's unit of angles, for the whole program, as the theme is."""

    def __init__(self) -> None:
        self.radians = False

    @property
    def name(self) -> str:
        return "rad" if self.radians else "°"

    @property
    def scale(self) -> float:
        """Displayed units per rad."""
        return 1.0 if self.radians else 180 / math.pi

    @property
    def more_digits(self) -> int:
        """Decimals that an angle needs beyond those in degrees."""
        return 2 if self.radians else 0

    def format(self, angle: float, sign: str = "") -> str:
        """Format an angle, rad, with its unit."""
        return f"{angle * self.scale:{sign}.{1 + self.more_digits}f} {self.name}"


ANGLES = AngleUnit()
