"""The glyphs of what a robot rests on: the edges of its support, the projected centre of mass, centres of pressure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.gl.contact_marks import along
from app.gl.extras import Copies
from app.gl.glyphs import PRISMATIC_COLOR, REVOLUTE_COLOR, WHOLE, X, join_copies

Floats = NDArray[np.floating]

EDGE, PLUMB, CENTER, PRESSED, HIGH = 0.004, 0.003, 0.02, 0.011, 0.05
"""The radii of the edges, of the line from the centre of mass to its projection, of this, and of the peg through a
centre of pressure, whose length is `HIGH`, in robot sizes."""


def shapes(
    corners: Floats, center: Floats, below: Floats, pressed: Floats, tips: bool, size: float
) -> dict[str, Copies]:
    """Return the glyphs, by mesh, for corners (K, 3), a centre of mass (3,) with its projection (3,), and centres of
    pressure (L, 3), m, of a robot of that size, m; the edges and the projection of one that `tips` are red."""
    edge, middle = (X, X) if tips else (PRISMATIC_COLOR, WHOLE)
    made: dict[str, list[tuple[Floats, Floats]]] = {"rod": [], "ball": []}
    ends = np.roll(corners, -1, axis=0) if len(corners) > 2 else corners[1:]
    for start, end, radius, color in (
        (corners[: len(ends)], ends, EDGE, edge),
        (center[None], below[None], PLUMB, middle),
    ):
        step = end - start
        length = np.linalg.norm(step, axis=1)
        long = length > 1e-9
        start, step, length = start[long], step[long], length[long]
        rods = along(start + step / 2, step / length[:, None], length, np.full(len(length), radius * size))
        made["rod"].append((rods, _same(color, len(rods))))
    upright, every = np.tile([0.0, 0.0, 1.0], (len(pressed), 1)), np.full(len(pressed), size)
    pegs = along(pressed, upright, HIGH * every, PRESSED * every)
    made["rod"].append((pegs, _same(REVOLUTE_COLOR, len(pegs))))
    ball = np.diag([CENTER * size] * 3 + [1.0])
    ball[:3, 3] = below
    made["ball"].append((ball[None], _same(middle, 1)))
    return join_copies(made)


def _same(color: tuple[float, ...], count: int) -> Floats:
    return np.tile(np.array(color, np.float32), (count, 1))
