"""Numbers as text: shown with three digits and a prefixed unit, and typed as a term with a unit. Free of Qt."""

from __future__ import annotations

import ast
import math
import operator
import re
from decimal import Decimal

PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
BEGUN = re.compile(r"[+-]?\d*(\.\d*)?([eE][+-]?\d*)?")
"""A number alone, or the beginning of one."""
TERM = re.compile(r"(?!.*\d\.\d*\.)[\d.eE+\-*/() πpi]*")
"""What a term is made of; no number has two points."""
_WITH_UNIT = re.compile(r"(.*(?:[\d.)π]|(?<![^\W\d_])pi(?![^\W\d_])))\s*((?:(?![eE])[^\W\d_]|[°%])\D*)")
_TURN = math.pi / 180
_UNITS = (
    {"rad": 1.0, "deg": _TURN, "°": _TURN},
    {"mm": 1e-3, "cm": 1e-2, "m": 1.0},
    {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6},
    {"kg": 1.0, "g": 1e-3},
)
"""Units that may be typed where one of the same kind is shown, in SI units."""
_SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
SECONDS = (("ns", 1e9), ("µs", 1e6), ("ms", 1e3), ("s", 1.0))
"""Units of time, and their number per second."""


def si_text(value: float, unit: str, digits: int = 3) -> str:
    """Format a number with a prefixed unit: 0.000396 of "m" is "396 µm"; no prefix beyond those in `PREFIXES`."""
    return span(value, value, unit, digits).partition(" … ")[2]


def plain(value: float) -> str:
    """Format a number with four digits, and with all before the point where there are more, up to seven: 57296."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def span(low: float, high: float, unit: str, digits: int = 3) -> str:
    """Format a range of two numbers with a common unit, prefixed for the greater magnitude."""
    greater = float(f"{max(abs(low), abs(high)):.{digits}g}")
    power = 3 * math.floor(math.log10(greater) / 3) if math.isfinite(greater) and greater > 0 else 0
    power = power if power in PREFIXES else 0
    first, last = (f"{float(f'{value / 10.0**power:.{digits}g}'):g}" for value in (low, high))
    return f"{first} … {last} {PREFIXES[power]}{unit}"


def prefix_for(typical: float) -> tuple[str, float]:
    """Return the prefix for changing numbers of a typical size, and their number per plain unit; none from 0.1 to 1e5.

    A prefix that followed the numbers themselves would flicker, and show the rounding of a robot at rest in pJ.
    """
    power = 0 if 0.1 <= typical < 1e5 or not 0 < typical < math.inf else 3 * math.floor(math.log10(typical) / 3)
    power = min(max(power, min(PREFIXES)), max(PREFIXES))
    return PREFIXES[power], 10.0**-power


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


def parted(text: str) -> tuple[str, str]:
    """Return the term and the unit of what was typed, a comma read as a point, and without the = of a spreadsheet."""
    plain = text.strip().removeprefix("=").replace(",", ".").replace("\N{MINUS SIGN}", "-").replace("\u03bc", "µ")
    found = _WITH_UNIT.fullmatch(plain)
    return (plain, "") if found is None else (found[1], found[2].strip())


def number_of(text: str, shown: str = "") -> float:
    """Return a typed number, such as "12,5", "3*pi/2" or "90 deg", in the unit `shown`, "" where there is none.

    A part of π is in radians, also where degrees are shown. Raises ValueError with a sentence. 0.4 ms are 0.0004 s to
    the last bit.
    """
    (plain, unit), units = parted(text), _units_of(shown)
    if not unit and "rad" in units and re.search("pi|π", plain):
        unit = "rad"
    if unit and unit not in units:
        known = f"type {' or '.join(units)}" if units else "type a number alone"
        raise ValueError(f"{unit[:20]} is not a unit of this number; {known}")
    scale = units[unit] / units[shown] if unit and unit != shown else 1.0
    try:
        if BEGUN.fullmatch(plain):
            return float(Decimal(plain) * Decimal(repr(scale)))
        return _value(ast.parse(plain, mode="eval").body) * scale
    except (ValueError, SyntaxError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{plain[:20]} has no value; type a number, or a term such as 2*pi/3") from error


def _units_of(shown: str) -> dict[str, float]:
    return next((units for units in _UNITS if shown in units), {shown: 1.0} if shown else {})


def _value(node: ast.expr) -> float:
    """Evaluate a term of numbers, π and + − · /; raises ValueError for any other."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id in ("pi", "π"):
        return math.pi
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        return (-1.0 if isinstance(node.op, ast.USub) else 1.0) * _value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        return float(_SIGNS[type(node.op)](_value(node.left), _value(node.right)))
    raise ValueError(ast.dump(node))


def seconds_of(text: str, least: float, most: float) -> float:
    """Return a duration, s, typed with its unit, such as "0.4 ms" or "250 us". Raises ValueError with a sentence."""
    typed = text.strip()
    try:
        seconds = number_of(typed, "s") if parted(typed)[1] else math.nan
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds):
        raise ValueError(f"{typed[:20]!r} is not a time with its unit; type a number and s, ms or µs, as in 0.4 ms")
    if not least <= seconds <= most:
        raise ValueError(f"{typed} is outside {duration(least)} to {duration(most)}; type a time between them")
    return seconds


def round_length(length: float) -> float:
    """Round a length, m, to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(length, 1e-6)))
    return power * min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(digit - length / power))
