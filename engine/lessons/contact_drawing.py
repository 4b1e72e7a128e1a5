"""Figures of the lesson on contact as SVG: impulse and velocity with their cones, and the path of a box."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from engine.lessons.sheet import WIDTH, Palette, Sheet
from engine.lessons.trace import Stage, Trace
from engine.lie import Array

TOUCHES = ("stick", "slip", "relaxed")
PANEL, FOOT = 200.0, 190.0  # px: the width of each half, and the height of the ground
SPARE = 0.85  # of a panel's size, the length of the longest arrow


def cone(trace: Trace, index: int, palette: Palette) -> str:
    """Draw the impulse of stage `index` in the friction cone, and the velocity after it, in the plane of n and t₁."""
    stages, now = trace.of(*TOUCHES), trace.stages[index]
    impulse, u, stopping, mu = (now.values[0], now.values[1], now.values[2], float(now.values[3]))
    sheet = Sheet(palette, FOOT + 96)
    unit = SPARE * (FOOT - 30) / max(float(np.abs(x).max()) for stage in stages for x in (stage.values[0], stopping))
    _panel(sheet, 100, "impulse, N s", mu)
    _arrow(sheet, 100, unit * stopping, "faint", 5.0)
    _arrow(sheet, 100, unit * impulse, "accent", 3.0)
    largest = max(float(np.abs(stage.values[1]).max()) for stage in stages)
    unit = SPARE * 0.5 * PANEL / largest
    _panel(sheet, 340, "velocity after it, m/s", 1 / mu if now.name == "relaxed" else 0.0)
    _arrow(sheet, 340, unit * u if float(np.abs(u).max()) > 1e-9 * largest else 0 * u, "good", 3.0)
    for x, name, value in ((0, "λ", impulse), (240, "u", u)):
        parts = f"{_number(value[0])} up, {_number(value[1])} aside"
        sheet.text(x, FOOT + 44, f"{name}: {parts}", "text")
    for k, (color, words) in enumerate((("accent", "what the contact gives"), ("faint", "what would stop the point"))):
        sheet.box(240 * k, FOOT + 64, 10, 10, color)
        sheet.text(240 * k + 15, FOOT + 73, words)
    sheet.box(0, FOOT + 83, 10, 10, "warning", 0.3)
    ends = "cones of the relaxed law: it wants u within its own" if now.name == "relaxed" else "the friction cone"
    sheet.text(15, FOOT + 92, ends)
    return sheet.svg(f"the impulse of a contact and the velocity after it, {now.name}")


def _panel(sheet: Sheet, x: float, words: str, mu: float) -> None:
    """Draw the ground, the normal, and a cone of half-width μ, if any, about x."""
    sheet.text(x - PANEL / 2, 14, words, "text")
    if mu > 0:
        rise = min(FOOT - 24, PANEL / 2 / mu)
        sheet.area([(x, FOOT), (x - mu * rise, FOOT - rise), (x + mu * rise, FOOT - rise)], "warning", 0.22)
        for side in (-1, 1):
            sheet.line(x, FOOT, x + side * mu * rise, FOOT - rise, "warning", 1.2)
    sheet.line(x - PANEL / 2, FOOT, x + PANEL / 2, FOOT, "edge", 2.0)
    sheet.line(x, FOOT, x, 24, "edge", 1.0)
    sheet.text(x + 6, 34, "n")
    sheet.text(x + PANEL / 2, FOOT + 16, "t₁", anchor="end")


def _arrow(sheet: Sheet, x: float, value: Array, color: str, width: float) -> None:
    sheet.arrow(x, FOOT, x + float(value[1]), FOOT - float(value[0]), color, width)


def _number(x: float) -> str:
    return f"{x if abs(x) > 1e-9 else 0.0:.2f}".replace("-", "−")


def heights(trace: Trace, index: int, palette: Palette) -> str:
    """Plot the box's height over its distance at stage `index`, with earlier stages; ten times of it."""
    stages = trace.of("exact box", "relaxed box")
    sheet, left, foot, top = Sheet(palette, 270), 48.0, 200.0, 34.0
    far, high = (max(float(stage.values[0][:, k].max()) for stage in stages) for k in (0, 1))
    sheet.text(0, 14, "height of its underside, mm, over its way, m", "text")
    for height in (0.0, high / 2, high):
        y = foot - (foot - top) * height / high
        sheet.line(left, y, WIDTH - 8, y, "edge", 0.8)
        sheet.text(left - 14, y + 4, f"{1000 * height:.0f}", anchor="end")
    for k in range(4):
        x = left + (WIDTH - 40 - left) * k / 3
        sheet.text(x, foot + 34, f"{far * k / 3:.2f}", anchor="middle")
    shown = [stage for stage in trace.stages[: index + 1] if stage in stages]
    for stage, color in zip(shown, ("good", "warning"), strict=False):
        _way(sheet, stage, color, (left, foot), ((WIDTH - 40 - left) / far, (foot - top) / high))
    for k, (stage, color) in enumerate(zip(shown, ("good", "warning"), strict=False)):
        sheet.box(left + 190 * k, foot + 50, 10, 10, color)
        sheet.text(left + 15 + 190 * k, foot + 59, f"the {stage.name.removesuffix(' box')} law")
    return sheet.svg("the way of a box that slides")


def _way(sheet: Sheet, stage: Stage, color: str, origin: tuple[float, float], unit: tuple[float, float]) -> None:
    points = stage.values[0] * np.array([unit[0], -unit[1]]) + origin
    some = points[:: max(len(points) // 90, 1)]
    for (x1, y1), (x2, y2) in pairwise(some):
        sheet.line(x1, y1, x2, y2, color, 2.0)
    for x, y in points[:: max(len(points) // 9, 1)]:
        sheet.box(x - 9, y - 9, 18, 9, color, 0.5)
