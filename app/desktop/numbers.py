"""Format numbers for display: three digits and a unit with its prefix."""

from __future__ import annotations

import math

PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
SECONDS = (("ns", 1e9), ("µs", 1e6), ("ms", 1e3), ("s", 1.0))
"""Units of time, and their number per second."""


def prefixed(value: float, unit: str, digits: int = 3) -> str:
    """Format a number with a prefixed unit: 0.000396 of "m" is "396 µm"; no prefix beyond those in `PREFIXES`."""
    return span(value, value, unit, digits).partition(" … ")[2]


def span(low: float, high: float, unit: str, digits: int = 3) -> str:
    """Format a range of two numbers with a common unit, prefixed for the greater magnitude."""
    greater = float(f"{max(abs(low), abs(high)):.{digits}g}")
    power = 3 * math.floor(math.log10(greater) / 3) if math.isfinite(greater) and greater > 0 else 0
    power = power if power in PREFIXES else 0
    first, last = (f"{float(f'{value / 10.0**power:.{digits}g}'):g}" for value in (low, high))
    return f"{first} … {last} {PREFIXES[power]}{unit}"


def duration(seconds: float) -> str:
    """Format a duration to three digits with its unit; a dash if it is not finite."""
    if not math.isfinite(seconds):
        return "–"
    unit, scale = next((unit, scale) for unit, scale in SECONDS if seconds * scale < 999.5 or unit == "s")
    number = seconds * scale
    return f"{number:.{0 if number >= 99.95 else 1 if number >= 9.995 else 2}f} {unit}"


def round_length(length: float) -> float:
    """Round a length, m, to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(length, 1e-6)))
    return power * min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(digit - length / power))
