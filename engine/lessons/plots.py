"""Plots of a lesson's stage, as SVG: small matrices, errors, and times over links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from engine.lessons.sheet import NOTHING, SHOWN, TYPE, WIDTH, Palette, Sheet, power_of_ten, scientific
from engine.lessons.trace import Trace
from engine.lie import Array


def numbers(trace: Trace, index: int, palette: Palette, wording: str, key: str) -> str:
    """Show the first matrix of stage `index` as numbers, with large ones in a deep colour. `wording` is the title."""
    I = trace.stages[index].values[0]
    I = I[0] if I.ndim == 3 else I
    count = len(I)
    size, half = WIDTH / count, count // 2 if count == 6 else 1
    sheet = Sheet(palette, count * 34 + 50)
    largest = float(np.abs(I).max())
    sheet.text(0, 14, f"{wording}; the largest entry is {largest:.4g}", "text")
    for row in range(count):
        for column in range(count):
            x, y, share = column * size, 24 + row * 34, abs(float(I[row, column])) / largest
            color = "accent" if (row < half) == (column < half) else "warning"
            color, number = (color, I[row, column]) if share > NOTHING else ("edge", 0.0)
            sheet.box(x, y, size - 3, 31, color, 0.1 + 0.5 * share)
            sheet.text(x + size / 2 - 2, y + 20, f"{number:.3g}".replace("-", "−"), "text", "middle")
    sheet.text(0, 24 + count * 34 + 16, f"Rows and columns: {key}.")
    return sheet.svg(f"{wording}, as rows of numbers")


LOWEST, HIGHEST = -16, 4
"""Powers of ten between which errors are drawn, equal in all figures."""


def errors(trace: Trace, index: int, palette: Palette) -> str:
    """Plot each joint's relative error at stage `index`, and each block's, by powers of ten."""
    joint_errors, blocks, names, _ = trace.stages[index].values
    n, high, row = min(len(joint_errors), SHOWN), 110.0, 15.0
    sheet = Sheet(palette, high + 72 + row * max(len(blocks), 6))
    step = (WIDTH - 50) / n
    sheet.text(
        0, 12, f"error of each joint's acceleration, the largest {scientific(float(joint_errors.max()))}", "text"
    )
    for power in range(LOWEST, HIGHEST + 1, 4):
        y = 24 + high * (1 - _share(10.0**power))
        sheet.line(44, y, WIDTH, y, "edge", 0.8)
        sheet.text(38, y + 4, power_of_ten(power), anchor="end")
    for i in range(n):
        share = _share(float(joint_errors[i]))
        sheet.box(46 + i * step, 24 + high * (1 - share), step - 3, high * share, "warning", 0.9)
    sheet.text(46, 24 + high + 16, "base")
    sheet.text(
        WIDTH, 24 + high + 16, "tip" if n == len(joint_errors) else f"joint {n} of {len(joint_errors)}", anchor="end"
    )
    top = high + 62
    if len(blocks):
        sheet.text(0, top, "error of what each block finds, of the largest number in it", "text")
    for k, (name, error) in enumerate(zip(names.tolist(), blocks.tolist(), strict=True)):
        y = top + 8 + row * k
        sheet.text(134, y + 12, name, anchor="end")
        sheet.box(140, y + 2, (WIDTH - 210) * _share(error), row - 4, "accent", 0.9)
        sheet.text(WIDTH, y + 12, scientific(error, 0), anchor="end")
    return sheet.svg("the error of each joint, and of each block")


def _share(error: float) -> float:
    """Return an error's position between the lowest and the highest power of ten, 0 to 1."""
    return float(np.clip((np.log10(max(error, 1e-300)) - LOWEST) / (HIGHEST - LOWEST), 0, 1))


def growth(trace: Trace, index: int, palette: Palette, sizes: Sequence[int]) -> str:
    """Plot algorithms' counted times over the number of links, up to stage `index`, both by powers of two."""
    curves = [stage for stage in trace.stages if stage.name.split()[0] in CURVES]
    times = {stage.name.split()[0]: stage.values[0] for stage in curves}
    seen = {stage.name.split()[0] for stage in curves if stage in trace.stages[: index + 1]}
    return _over_links(palette, sizes, times, seen, "time, in operations one after the other", "links, and processors")


def measured(trace: Trace, index: int, palette: Palette, sizes: Sequence[int]) -> str:
    """Plot algorithms' measured times over the number of links, µs."""
    times = dict(zip(CURVES, 1e6 * trace.stages[index].values[0], strict=True))
    return _over_links(palette, sizes, times, set(CURVES), "time of a call of the engine, µs", "links")


CURVES = {"abia": "warning", "dca": "accent", "cfa": "good"}
"""The compared algorithms, and their colours."""


def _over_links(
    palette: Palette, sizes: Sequence[int], curves: Mapping[str, Array], seen: set[str], wording: str, below: str
) -> str:
    """Plot curves over links, both logarithmic; the axes fit all of `curves`, and those `seen` are drawn."""
    logs = {name: np.log2(times) for name, times in curves.items()}
    finite = np.concatenate([each[np.isfinite(each)] for each in logs.values()] or [np.zeros(1)])
    low, high = (float(finite.min()) - 0.3, float(finite.max()) + 0.3) if len(finite) else (0.0, 1.0)
    sheet, xs, bottom = Sheet(palette, 268), np.linspace(44, WIDTH - 96, len(sizes)), 222.0
    sheet.text(0, 12, wording, "text")
    for power in range(int(np.ceil(low * np.log10(2))), int(np.floor(high * np.log10(2))) + 1):
        y = bottom - (np.log2(10.0) * power - low) / (high - low) * (bottom - 24)
        sheet.line(30, y, xs[-1], y, "edge", 0.6)
        sheet.text(26, y + 4, power_of_ten(power), anchor="end")
    for x, size in zip(xs, sizes, strict=True):
        sheet.line(x, 24, x, bottom, "edge", 0.6)
        sheet.text(x, bottom + 16, str(size), anchor="middle")
    sheet.text((xs[0] + xs[-1]) / 2, bottom + 36, below, "text", "middle")
    labels = []
    for name in (name for name in CURVES if name in seen):
        points = [
            (x, bottom - (log - low) / (high - low) * (bottom - 24)) for x, log in zip(xs, logs[name], strict=True)
        ]
        points = [(x, y) for x, y in points if np.isfinite(y)]
        for (x1, y1), (x2, y2) in pairwise(points):
            sheet.line(x1, y1, x2, y2, CURVES[name], 2.0)
        for x, y in points:
            sheet.dot(x, y, 3, CURVES[name])
        if points:
            last = curves[name][len(points) - 1]
            labels.append((points[-1][1], f"{name.upper()} {last:,.0f}", CURVES[name], points[-1][0]))
    above = -TYPE
    for y, words, color, x in sorted(labels):  # keep labels apart
        above = max(y + 4, above + TYPE + 2)
        sheet.text(x + 8, above, words, color)
    return sheet.svg(f"{wording}, over links")
