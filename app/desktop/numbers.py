"""Format numbers for display: three digits and a unit with its prefix."""

from __future__ import annotations

import math
import re

PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
_POWERS = {"s": 0, "ms": -3, "us": -6, "µs": -6}
_TYPED = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*(s|ms|us|µs)")
SECONDS = (("ns", 1e9), ("µs", 1e6), ("ms", 1e3), ("s", 1.0))
"""Units of time, and their number per second."""


def si_text(value: float, unit: str, digits: int = 3) -> str:
    """Format a number with a prefixed unit: 0.000396 of "m" is "396 µm"; no prefix beyond those in `PREFIXES`."""
    return span(value, value, unit, digits).partition(" … ")[2]


def span(low: float, high: float, unit: str, digits: int = 3) -> str:
    """Format a range of two numbers with a common unit, prefixed for the greater magnitude."""
    greater = float(f"{max(abs(low), abs(high)):.{digits}g}")
    power = 3 * math.floor(math.log10(greater) / 3) if math.isfinite(greater) and greater > 0 else 0
    power = power if power in PREFIXES else 0
    first, last = (f"{float(f'{value / 10.0**power:.{digits}g}'):g}" for value in (low, high))
    return f"{first} … {last} {PREFIXES[power]}{unit}"


def time_unit(seconds: float) -> tuple[str, float]:
    """Return the largest unit in which a time has at most three digits before its point, and the number per second."""
    return next((unit, scale) for unit, scale in SECONDS if seconds * scale < 999.5 or unit == "s")


def duration(seconds: float) -> str:
    """Format a duration to three digits with its unit; a dash if it is not finite."""
    if not math.isfinite(seconds):
        return "–"
    unit, scale = time_unit(seconds)
    number = seconds * scale
    return f"{number:.{0 if number >= 99.95 else 1 if number >= 9.995 else 2}f} {unit}"


def seconds_of(text: str, least: float, most: float) -> float:
    """Return a duration, s, typed with its unit, such as "0.4 ms" or "250 us". Raises ValueError with a sentence."""
    match = _TYPED.fullmatch(text.strip().replace(",", ".").replace("\u03bc", "µ"))
    if match is None:
        raise ValueError(f"{text.strip()[:20]!r} is no time with its unit; type a number and s, ms or µs, as in 0.4 ms")
    mantissa, _, power = match[1].lower().partition("e")
    seconds = float(f"{mantissa}e{int(power or 0) + _POWERS[match[2]]}")  # 0.4 ms is 0.0004 to the last bit
    if not least <= seconds <= most:
        raise ValueError(f"{match[0]} is outside {duration(least)} to {duration(most)}; type a time between them")
    return seconds


def round_length(length: float) -> float:
    """Round a length, m, to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(length, 1e-6)))
    return power * min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(digit - length / power))
