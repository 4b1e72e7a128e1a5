"""The paths of a branching robot: facts about them, and a figure with one row of bodies per path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.algorithms.tree import Indices, Tree, paths
from engine.lessons.sheet import LIT, WIDTH, Palette, Sheet
from engine.lie import Array

ROW = 22.0
MANY = 1024
"""The number of bodies of a robot mentioned in the text."""


def facts(tree: Tree, *_: Array) -> dict[str, float | str]:
    """Return the number of paths, their length, and the number of levels."""
    parent = tree.model.parent.tolist()
    depth: list[int] = []
    for above in parent:
        depth.append(1 + (depth[above] if above >= 0 else 0))
    rows = [row for level in tree.levels for row in level.bodies]
    return {
        "paths": len(rows),
        "longest_path": max(int(np.sum(row >= 0)) for row in rows),
        "levels_of_paths": len(tree.levels),
        "deepest": max(depth),
        "levels_of_many_paths": (MANY - 1).bit_length() + 1,
    }


def picture(parent: Indices, lit: Array, words: Sequence[tuple[int, str]], palette: Palette) -> str:
    """Draw the paths of a tree, `parent` (bodies,), each body in its colour from `lit`, with `words` as legend."""
    levels = paths(parent)
    rows = sorted(tuple(int(i) for i in row if i >= 0) for level in levels for row in level.bodies)
    place: dict[int, tuple[int, int]] = {}
    deepest = 1
    for y, row in enumerate(rows):
        above = int(parent[row[0]])
        x = place[above][0] + 1 if above >= 0 else 0
        place.update({body: (x + k, y) for k, body in enumerate(row)})
        deepest = max(deepest, x + len(row))
    step, row_height = (WIDTH - 60) / deepest, min(ROW, 260 / len(rows))
    radius = min(step, row_height) / 3.2

    def at(body: int) -> tuple[float, float]:
        x, y = place[body]
        return 50 + (x + 0.5) * step, 34 + y * row_height

    sheet = Sheet(palette, 34 + row_height * len(rows) + 34)
    sheet.text(0, 14, "paths of bodies, each from the one that it hangs on", "text")
    for body in place:
        above = int(parent[body])
        x1, y1 = at(above) if above >= 0 else (36.0, 34.0)
        x2, y2 = at(body)
        sheet.line(x1, y1, x2, y2, "faint", 1.6)
    sheet.box(26, 28, 10, 12, "faint")
    for body in place:
        sheet.dot(*at(body), radius, LIT[int(lit[body])])
    for k, (state, wording) in enumerate(words):
        sheet.box(10 + 146 * k, 34 + row_height * len(rows) + 12, 10, 10, LIT[state])
        sheet.text(26 + 146 * k, 34 + row_height * len(rows) + 21, wording)
    return sheet.svg("the robot's paths, with the bodies that are known")
