"""Rasterised samples of a study: dots, and lines across parallel axes, a million of them in a fraction of a second.

Inputs are positions in pixels or in 0 … 1 and numbers to be coloured, (N,), NaN for a diverged robot. Outputs are RGBA
pixels (height, width, 4), transparent where nothing is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.picture.crowd import DIVERGED, ramp

Floats = NDArray[np.floating]
Pixels = NDArray[np.uint8]
ROWS = 128
"""The number of positions along an axis to which the lines of many samples are rounded."""
FEW = 2000
"""The largest number of samples whose lines are drawn separately."""
FAINTEST = 0.45
"""The opacity of a single line in a picture where others overlap."""
PALETTE = 256  # number of colours
TOGETHER = 1 << 17  # samples whose pixels are computed at a time
RADII = ((300, 4), (3000, 3), (30_000, 2), (200_000, 1))  # px: a dot's radius for up to that many samples


def radius(samples: int) -> int:
    """Return the radius of dots, px, which shrinks as their number grows."""
    return next((px for most, px in RADII if samples <= most), 0)


def colors_of(value: Floats) -> Pixels:
    """Return RGBA colours (…, 4) of numbers in 0 … 1; numbers that are not finite get the colour of diverged robots."""
    palette = np.concatenate([ramp(np.linspace(0, 1, PALETTE)), [DIVERGED]])
    place = np.where(np.isfinite(value), np.clip(np.nan_to_num(value), 0, 1) * (PALETTE - 1), PALETTE).astype(np.int64)
    rgb = np.round(255 * palette).astype(np.uint8)[place]
    return np.concatenate([rgb, np.full((*rgb.shape[:-1], 1), 255, np.uint8)], -1)


def dots(x: Floats, y: Floats, value: Floats, shape: tuple[int, int], reach: int) -> Pixels:
    """Draw dots of radius `reach` px at x and y, px from the upper left; overlapping dots show their numbers' mean.

    Dots of diverged robots are on top. `shape` is (height, width).
    """
    height, width = shape
    picture = np.zeros((height, width, 4), np.uint8)
    inside = np.isfinite(x) & np.isfinite(y)
    lost = ~np.isfinite(value)
    for kind in (inside & ~lost, inside & lost):
        if not np.any(kind):
            continue
        count, total = np.zeros((2, height * width))
        for first in range(0, len(x), TOGETHER):  # a million at once take 50 MB
            part = slice(first, first + TOGETHER)
            column = np.clip(x[part][kind[part]].astype(np.int64), 0, width - 1)
            flat = np.clip(y[part][kind[part]].astype(np.int64), 0, height - 1) * width + column
            count += np.bincount(flat, minlength=height * width)
            total += np.bincount(flat, value[part][kind[part]], height * width)
        there = np.flatnonzero(count)
        mean = total[there] / count[there]
        colors, rows, columns = colors_of(mean), there // width, there % width
        for down in range(-reach, reach + 1):
            for right in range(-reach, reach + 1):
                if down * down + right * right > reach * (reach + 0.5):
                    continue
                r, c = rows + down, columns + right
                seen = (r >= 0) & (r < height) & (c >= 0) & (c < width)
                picture[r[seen], c[seen]] = colors[seen]
    return picture


def lines(places: Floats, value: Floats, shape: tuple[int, int]) -> Pixels:
    """Draw a line for each sample across equally spaced axes; `places` (axes, N) are in 0 … 1 from the lower end.

    A sample without a position on one of two neighbouring axes has no line between them.
    """
    height, width = shape
    total, count = np.zeros((2, height, width))
    gaps = len(places) - 1
    for k in range(gaps):
        left, right = (round(each * width / gaps) for each in (k, k + 1))
        there = np.isfinite(places[k]) & np.isfinite(places[k + 1]) & np.isfinite(value)
        begin, end, number, mean = _bundled(places[k][there], places[k + 1][there], value[there])
        share = np.linspace(0, 1, right - left + 1)
        y = np.rint((1 - (begin[:, None] + (end - begin)[:, None] * share)) * (height - 1)).astype(np.int64)
        _add(count[:, left:right], y, number)
        _add(total[:, left:right], y, number * mean)
    picture = colors_of(total / np.maximum(count, 1e-300))
    dense = np.log1p(np.maximum(count, 0)) / np.log1p(max(count.max(), 1.0))
    picture[..., 3] = np.where(count > 0.5, np.round(255 * (FAINTEST + (1 - FAINTEST) * dense)), 0)
    return picture


def _bundled(begin: Floats, end: Floats, value: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return lines by begin and end, with their numbers of samples and mean values; many lines are merged."""
    if len(begin) <= FEW:
        return begin, end, np.ones(len(begin)), value
    flat = np.rint(begin * (ROWS - 1)).astype(np.int64) * ROWS + np.rint(end * (ROWS - 1)).astype(np.int64)
    count = np.bincount(flat, minlength=ROWS * ROWS)
    there = np.flatnonzero(count)
    mean = np.bincount(flat, value, ROWS * ROWS)[there] / count[there]
    return (there // ROWS) / (ROWS - 1), (there % ROWS) / (ROWS - 1), count[there].astype(float), mean


def _add(picture: Floats, y: NDArray[np.int64], weight: Floats) -> None:
    """Add lines to a picture, by their rows y (lines, columns + 1) at column edges and a `weight` for each."""
    height, width = picture.shape
    low, high = np.minimum(y[:, :-1], y[:, 1:]), np.maximum(y[:, :-1], y[:, 1:]) + 1
    column = np.arange(width)
    weights = np.repeat(weight, width)
    steps = np.bincount((low * width + column).ravel(), weights, (height + 1) * width)
    steps -= np.bincount((high * width + column).ravel(), weights, (height + 1) * width)
    picture += np.cumsum(steps.reshape(height + 1, width), 0)[:height]
