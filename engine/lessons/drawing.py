"""Pictures of a lesson's stage as SVG: block matrix, scan tree, time over processors, and the robot as lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from engine.lessons.sheet import LIT, SHOWN, WIDTH, Palette, Sheet
from engine.lessons.trace import SWEEPS, Stage, Trace
from engine.lie import Array

NOTHING, TOUCHED, KNOWN, NOW = range(4)
"""The state of a link after a stage: unknown, in a run that is being joined, known before, known since this stage."""
IN_WORK = ("blocks", "eliminate", "right-hand side", "substitute")
"""Stages that only change the links' rows of the system: no link is known after them."""
PARTS = {
    "beyond": "what lies beyond", "ends": "accelerations", "moved": "accelerations", "bias": "velocity terms",
    "joints": "joints: U = I S",
}  # fmt: skip
"""The captions of parts whose names in the algorithms' texts are too short."""
PROCESSORS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
ROUNDING = 1e-14
"""What is rounding, relative to the largest number of a run."""
ROW = 22
SIZES = {True: 56, False: 120}
"""The height of the magnitudes and their caption, px, by whether there are levels above them."""
MATRIX = 240  # px along a side of the matrix


class Marks(NamedTuple):
    """Further marks: whether a pull has changed each place of each stage, and the first and last link of a part."""

    changed: tuple[tuple[bool, ...], ...] = ()
    part: tuple[int, int] | None = None


NO_MARKS = Marks()


def lights(trace: Trace, index: int, links: int, marks: Marks = NO_MARKS) -> Array:
    """Return the state of each link (links,), `NOTHING` … `NOW`, after stage `index`.

    With a part marked, only its links are `NOW`; with a pull, links that it has changed are `TOUCHED`.
    """
    lit, now = np.full(links, NOTHING), trace.stages[index]
    if marks.part:
        lit[marks.part[0] : marks.part[1] + 1] = NOW
        return lit
    if now.name in IN_WORK:
        lit[list(now.links)] = TOUCHED
        return lit
    for stage in trace.stages[: index + 1]:
        if stage.part == now.part and stage.name not in ("join", "reduce", "maps"):
            for first, last in stage.runs:
                lit[first : last + 1] = NOW if stage is now else KNOWN
    if marks.changed:
        return _pulled(trace, index, lit, marks)
    if now.name in ("join", "reduce", "maps"):
        done = sum(stage.name == now.name == "reduce" for stage in trace.stages[: index + 1] if stage.part == now.part)
        rest = now.width - done if done else 0  # of a chunk, links that wait to be put before the others
        for first, last in ((first + rest, last) for first, last in now.runs):
            lit[first : last + 1] = np.where(lit[first : last + 1] == NOTHING, TOUCHED, lit[first : last + 1])
    return lit


def _pulled(trace: Trace, index: int, lit: Array, marks: Marks) -> Array:
    """Return the states with known links, and links of runs being joined, `TOUCHED` if a pull has changed them."""
    now = trace.stages[index]
    for stage, changed in zip(trace.stages[: index + 1], marks.changed, strict=False):
        if stage.part == now.part and (stage is now or stage.name not in ("join", "reduce", "maps")):
            for (first, last), mark in zip(stage.runs, changed, strict=True):
                if mark:
                    lit[first : last + 1] = TOUCHED
    return lit


def matrix(trace: Trace, index: int, palette: Palette) -> str:
    """Draw the block tri-diagonal system after stage `index`: magnitudes by depth of colour, fill-in, zeros."""
    past = trace.stages[: index + 1]
    now = past[-1]
    systems = [stage for stage in past if stage.name in ("blocks", "eliminate")]
    sheet = Sheet(palette, MATRIX + 41)
    if not systems:
        return sheet.svg("no system yet")
    D, U = systems[-1].values
    n = min(len(D), SHOWN)
    cell, step = MATRIX / n, 1 << (len(systems) - 1)
    scale = _of_system(trace)
    eliminating = now.name in ("blocks", "eliminate")
    for i in range(n):
        sheet.box(i * cell, i * cell, cell - 1, cell - 1, "accent" if eliminating else "good", _shade(D[i], scale))
    for i in range(n - step):
        for row, column in ((i, i + step), (i + step, i)):
            shade = _shade(U[i], scale)
            fresh = "warning" if eliminating and step > 1 else ""
            sheet.box(column * cell, row * cell, cell - 1, cell - 1, "warning", shade, fresh if cell > 8 else "")
    if now.name == "eliminate":
        for i in range(n - step // 2):
            for row, column in ((i, i + step // 2), (i + step // 2, i)):
                sheet.dot((column + 0.5) * cell - 0.5, (row + 0.5) * cell - 0.5, max(cell / 10, 0.8), "faint")
    sheet.box(0, 0, MATRIX - 1, MATRIX - 1, "", edge="edge")
    if now.name == "eliminate":
        _example(sheet, n, step // 2, cell)
    _columns(sheet, past, cell, n)
    _key(sheet, MATRIX + 18, now.name == "eliminate", step if step < len(D) else 0, "accent" if eliminating else "good")
    return sheet.svg(f"block matrix of {len(D)} rows, coupled over a distance of {step}")


def _example(sheet: Sheet, n: int, distance: int, cell: float) -> None:
    """Mark a row in the middle, and the two rows whose multiples are subtracted from it."""
    row = n // 2
    for side, words in ((-1, "− K × this row"), (1, "− E × this row")):
        if 0 <= (other := row + side * distance) < n:
            sheet.box(0, other * cell, MATRIX - 1, cell - 1, "", edge="faint")
            offset = side * max(distance * cell, 16)  # so that lines of words stand clear of each other
            sheet.text(MATRIX + 8, (row + 0.5) * cell + 4 + offset, words)
    sheet.box(0, row * cell, MATRIX - 1, cell - 1, "", edge="accent")
    sheet.text(MATRIX + 8, (row + 0.5) * cell + 4, f"row {row + 1}: changed", "accent")


_COLUMNS = {
    "right-hand side": ("right-hand", "side"), "substitute": ("right-hand", "side"),
    "solve": ("forces", "known"), "accelerate": ("accelerations", "known"),
}  # fmt: skip
"""The caption beside the matrix after a stage, in two lines."""


def _columns(sheet: Sheet, past: Sequence[Stage], cell: float, n: int) -> None:
    """Draw the right-hand side beside the matrix, or the unknowns once they are known."""
    columns = [stage for stage in past if stage.name in _COLUMNS]
    if not columns:
        return
    R = columns[-1]
    scale = _scale([stage.values[0] for stage in columns if _COLUMNS[stage.name] == _COLUMNS[R.name]])
    color = "accent" if _COLUMNS[R.name][1] == "side" else "good"
    x = MATRIX + 24
    for i in range(n):
        sheet.box(x, i * cell, 40, cell - 1, color, _shade(R.values[0][i], scale))
    for line, words in enumerate(_COLUMNS[R.name]):
        sheet.text(x + 48, 14 + 16 * line, words, "text")


def _key(sheet: Sheet, y: float, eliminates: bool, step: int, diagonal: str) -> None:
    x = 0.0
    entries = [(diagonal, "diagonal"), *([("warning", f"coupling over {step}")] if step else [])]
    for color, words in entries:
        sheet.box(x, y - 9, 10, 10, color, 0.9)
        sheet.text(x + 15, y, words)
        x += 126
    if eliminates:
        sheet.dot(x + 5, y - 4, 3, "faint")
        sheet.text(x + 15, y, "zero since this step")
    sheet.text(0, y + 18, "The stronger the colour, the larger the block (its logarithm).")


@lru_cache(maxsize=4)
def _of_system(trace: Trace) -> tuple[float, float]:
    return _scale([x for stage in trace.of("blocks", "eliminate") for x in stage.values])


def _scale(blocks: Sequence[Array]) -> tuple[float, float]:
    """Return the least and the largest logarithm of a block's norm; blocks are stacked along the first axis."""
    sizes = [float(np.linalg.norm(x)) for stack in blocks for x in stack]
    logs = np.log10([size for size in sizes if size > 0] or [1.0])
    return float(logs.min()), float(logs.max())


def _shade(block: Array, scale: tuple[float, float]) -> float:
    size, (low, high) = float(np.linalg.norm(block)), scale
    if size == 0:
        return 0.0
    return float(0.2 + 0.8 * np.clip((np.log10(size) - low) / max(high - low, 1e-9), 0, 1))


def tree(trace: Trace, index: int, palette: Palette, marks: Marks = NO_MARKS) -> str:
    """Draw the runs joined by the scan of stage `index`, the links and their states, and the magnitudes."""
    now, done = trace.stages[index], trace.stages[: index + 1]
    whole = [stage for stage in trace.stages if stage.part == now.part]
    rows = _rows(trace, now)
    links = trace.links
    n = min(links, SHOWN)
    top, high = 26 + ROW * len(rows) if rows else 30, SIZES[bool(rows)]
    sheet = Sheet(palette, top + 78 + high)
    below = ": each level joined from the one below" if len(rows) > 1 else ""
    sheet.text(0, 12, f"{PARTS.get(now.part, now.part)}{below}", "text")
    _levels(sheet, trace, rows, index, marks)
    lit, step, y = lights(trace, index, links, marks), (WIDTH - 20) / n, top + 20
    for i in range(n):
        sheet.dot(10 + (i + 0.5) * step - 1.5, y, min(step / 2.6, 6), LIT[lit[i]])
    for before, link in _sources(now, done):
        if max(before, link) < n:
            sheet.curve(10 + (before + 0.5) * step, 10 + (link + 0.5) * step, y - 6, 12, "accent")
    sheet.text(10, y + 24, "base")
    sheet.text(WIDTH - 10, y + 24, "tip" if n == links else f"link {n} of {links}", anchor="end")
    known = int((lights(trace, index, links) >= KNOWN).sum())
    colors = [LIT[each or KNOWN] for each in lights(trace, index, links, marks._replace(part=None))[:n]]
    _sizes(sheet, [stage for stage in done if stage in whole], colors, (y + 34, high), ROUNDING * trace.largest)
    _legend(sheet, y + 54 + high, "changed by the pull" if marks.changed else "in work")
    sheet.text(WIDTH / 2, y + 24, f"known: {known} of {links}", "text", "middle")
    return sheet.svg(f"{now.part} over {links} links, {known} known")


class _Row(NamedTuple):
    """A level of a tree: the stages that make its runs of links, and the first and last link of each run."""

    stages: tuple[Stage, ...]
    runs: tuple[tuple[int, int], ...]


def _rows(trace: Trace, now: Stage) -> list[_Row]:
    """Return the levels of the scan that a stage belongs to, from its inputs on; none if it belongs to no scan."""
    whole, n = [stage for stage in trace.stages if stage.part == now.part], trace.links
    if not any(stage.name in SWEEPS for stage in whole):
        return []
    made = tuple(stage for stage in whole if stage.name in ("reduce", "maps"))
    leaves = {(first, min(last, n - 1)) for stage in made for first, last in stage.runs}
    first = _Row(made, tuple(sorted(leaves or {(i, i) for i in range(n)})))
    joins = [stage for stage in whole if stage.name == "join"]
    return [first, *(_Row((stage,), tuple((a, min(b, n - 1)) for a, b in stage.runs)) for stage in joins)]


def _levels(sheet: Sheet, trace: Trace, rows: Sequence[_Row], index: int, marks: Marks) -> None:
    """Draw the runs of links, a row for each level, the scan's inputs lowest."""
    now, n = trace.stages[index], min(trace.links, SHOWN)
    step, done = (WIDTH - 20) / n, trace.stages[: index + 1]
    for level, row in enumerate(rows):
        makers: dict[int, list[Stage]] = {}  # of the run that begins with a link
        for stage in row.stages:
            for first in {run[0] for run in stage.runs}:
                makers.setdefault(first, []).append(stage)
        for first, last in ((first, min(last, n - 1)) for first, last in row.runs if first < n):
            x, y, width = 10 + first * step, _height(level, rows), (last - first + 1) * step - 3
            made = makers.get(first, [])
            color = "good" if all(stage in done for stage in made) else "edge"
            color = "accent" if now in made else color
            if marks.changed and color != "edge":
                color = "warning" if _changed(trace, made, done, first, marks) else "good"
            edge = "text" if marks.part == (first, last) else "faint" if color == "edge" else ""
            sheet.box(x, y, width, 14, color, 0.9 if color != "edge" else 0.5, edge)
            if level and width > 24:
                for part in (x + width / 4, x + 3 * width / 4):
                    sheet.line(part, y + ROW, x + width / 2, y + 15, "faint", 0.8)


def _height(level: int, rows: Sequence[_Row]) -> int:
    """Return the top of a level's row, px."""
    return 22 + (len(rows) - 1 - level) * ROW


def _changed(trace: Trace, made: Sequence[Stage], done: Sequence[Stage], first: int, marks: Marks) -> bool:
    """Return whether the pull has changed the run that begins at link `first`, in any of the stages that made it."""
    return any(
        marks.changed[trace.stages.index(stage)][[run[0] for run in stage.runs].index(first)]
        for stage in made
        if stage in done
    )


def run_at(trace: Trace, index: int, x: float, y: float) -> tuple[int, int] | None:
    """Return the first and the last link of the run at x, y, px, in the picture of `tree`; None if there is none."""
    rows, n = _rows(trace, trace.stages[index]), min(trace.links, SHOWN)
    level, link = len(rows) - 1 - int((y - 22) // ROW), int((x - 10) // ((WIDTH - 20) / n))
    if not 0 <= level < len(rows) or not 0 <= link < n:
        return None
    return next((run for run in rows[level].runs if run[0] <= link <= run[1]), None)


def _sources(now: Stage, done: Sequence[Stage]) -> list[tuple[int, int]]:
    """Return, for each link computed in this stage from another, that other link and the link."""
    if now.name == "apply":
        back = now.width * (now.places.step // 2 if abs(now.places.step) > 1 else now.places.step)
        return [(link - back, link) for link in now.links]
    before = [stage for stage in done[:-1] if stage.name == now.name not in SWEEPS]
    return [(before[-1].links[0], now.links[0])] if before and len(now.links) == 1 else []


def _legend(sheet: Sheet, y: float, touched: str = "in work") -> None:
    """Draw the legend of the links' colours at y."""
    for k, (state, wording) in enumerate(((TOUCHED, touched), (NOW, "known just now"), (KNOWN, "known before"))):
        sheet.box(10 + 146 * k, y - 9, 10, 10, LIT[state])
        sheet.text(26 + 146 * k, y, wording)


def _sizes(sheet: Sheet, done: Sequence[Stage], colors: Sequence[str], place: tuple[float, int], zero: float) -> None:
    """Draw the known magnitude of each link as a bar in the link's colour; `place` is the top and the height.

    Up to `zero` is rounding.
    """
    (y, high), n = place, len(colors)
    sizes = {
        link: float(np.linalg.norm(value))
        for stage in done
        if stage.name not in ("join", "reduce", "maps")
        for link, value in zip(stage.links, _of_links(stage), strict=True)
        if link < n
    }
    largest = max(sizes.values(), default=0.0)
    if largest <= zero:
        words = ["All are zero, but for rounding." if sizes else "No magnitude is known yet."]
        if sizes and largest == 0:
            words = ["All are zero: the robot is at rest.", "Let it move for a moment, then compute the lesson again."]
        for line, wording in enumerate(words):
            sheet.text(10, y + 26 + 18 * line, wording)
        return
    step = (WIDTH - 20) / n
    for link, size in sizes.items():
        height = size / largest * (high - 24)
        sheet.box(10 + link * step, y + high - 24 - height, step - 3, height, colors[link], 0.8)
    sheet.text(10, y + high - 8, f"magnitude, the largest {largest:.3g}")


def _of_links(stage: Stage) -> Array:
    """Return a stage's results by link, (tasks, …)."""
    value = stage.values[0]
    return value[None] if len(stage.links) == 1 and value.shape[:1] != (1,) else value


def clock(trace: Trace, index: int, serial: float, palette: Palette) -> str:
    """Draw the time on 1 to 1024 processors, up to stage `index`; a line marks the serial algorithm's on one."""
    row, left = 17.0, 44.0
    sheet = Sheet(palette, 22 + row * len(PROCESSORS) + 42)
    longest = max(trace.time(1), serial)
    unit = (WIDTH - left - 74) / longest
    sheet.text(0, 12, "processors", "text")
    sheet.text(WIDTH, 12, "time, in operations one after the other", "text", "end")
    for k, processors in enumerate(PROCESSORS):
        x, y = left, 22 + k * row
        sheet.text(left - 8, y + 11, str(processors), anchor="end")
        seconds = [stage.seconds(processors) for stage in trace.stages]
        done, here, total = sum(seconds[:index]) * unit, sum(seconds[index : index + 1]) * unit, sum(seconds)
        sheet.box(x, y, total * unit, row - 5, "edge", 0.9, "faint")
        sheet.box(x, y, done, row - 5, "good", 0.9)
        if here:
            sheet.box(x + done, y, max(here, 1.5), row - 5, "accent")
        sheet.text(WIDTH, y + 11, f"{total:,.0f}", anchor="end")
    foot = 22 + row * len(PROCESSORS) + 34
    for k, (color, words) in enumerate((("good", "done"), ("accent", "this step"), ("edge", "still to come"))):
        sheet.box(left + 110 * k, foot - 9, 10, 10, color, edge="faint" if color == "edge" else "")
        sheet.text(left + 15 + 110 * k, foot, words)
    x, end = left + serial * unit, 22 + row * len(PROCESSORS)
    if serial:
        sheet.line(x, 18, x, end, "warning", 1.5)
        sheet.text(x, end + 15, f"ABA: {serial:,.0f}", "warning", "middle")
    return sheet.svg("time on 1 to 1024 processors")


def skeleton(
    joints: Array, centers: Array, parent: Sequence[int], lit: Array, palette: Palette, words: bool = True
) -> str:
    """Draw a robot as lines, each link from its joint to its children's joints, or to its centre of mass.

    `joints` and `centers` (links, 3) are in m, `parent` (links,); `lit` is what `lights` returns.
    """
    n, turn, rise = len(lit), np.array([0.8, 0.6, 0.0]), np.array([0.21, -0.28, 0.937])
    points = np.concatenate([joints, centers])
    flat = np.stack([points @ turn, -(points @ rise)], 1)
    ends = [(i, [k for k in range(n) if parent[k] == i] or [n + i]) for i in range(n)]
    seen = flat[[*range(n), *(end for _, last in ends for end in last)]]
    size = float(np.ptp(seen, axis=0).max()) or 1.0
    flat = (flat - (seen.max(0) + seen.min(0)) / 2) * (190 / size) + np.array([WIDTH / 2, 112])
    sheet = Sheet(palette, 246 if words else 220)
    (x, y) = flat[0]
    sheet.box(x - 16, y + 2, 32, 6, "faint", 0.6)
    for link, last in ends:
        for end in last:
            (x1, y1), (x2, y2) = flat[link], flat[end]
            sheet.line(x1, y1, x2, y2, LIT[lit[link]], 9.0 if n < 20 else 5.0)
    for x, y in flat[:n]:
        sheet.dot(x, y, 3.2 if n < 20 else 1.6, "ground")
    if words:
        _legend(sheet, 241)
    return sheet.svg("the robot, with the links that are known")
