"""Points of a height field nearest to points and spheres, in closed form.

A point without a radius is compared with the plane of the triangle below it. A sphere touches the ground at each local
minimum of the distance to its centre: on triangles, edges and corners, within its reach.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.operations import is_single
from engine.kernels.collision.surfaces import BLOCK, CELL, HIGHEST, X, Y
from engine.kernels.spatial import add, dot, load3, scale, store3, sub
from engine.scene.points import KEPT

NORMAL, PLACE, GAP, NEAREST = 0, 3, 6, 7
"""Columns of the places nearest to a sphere, and their number."""
NONE = 1e30
"""m: the gap of a point that touches nothing."""
_MAX_INDEX = 1e9  # cells: beyond it numbers are not finite
_MAX_REACH = 4.0  # cells: the maximum search radius of a sphere
_MANY = 1000  # blocks in which no largest height is searched for


@inline
def _probe_distance(x):
    """Cells from a place to the triangles around it, in the number type of x."""
    return 1e-3 if is_single(x) else 1e-6


@inline
def _least_slope(x):
    """The slope that counts as zero."""
    return 1e-3 if is_single(x) else 1e-6


@inline
def _coincidence_distance(x):
    """Cells between places that count as one."""
    return 1e-3 if is_single(x) else 1e-5


@inline
def _height(field, i, j):
    """The height at row i and column j, clamped to the border."""
    heights = field.heights
    return heights[max(0, min(i, heights.shape[0] - 1)), max(0, min(j, heights.shape[1] - 1))]


@inline
def _cell(field, x, y):
    """The row and column of the cell at (x, y), and the fractions along x and y within it."""
    s = max(-_MAX_INDEX, min(_MAX_INDEX, (x - field.grid[X]) / field.grid[CELL]))
    t = max(-_MAX_INDEX, min(_MAX_INDEX, (y - field.grid[Y]) / field.grid[CELL]))
    column, row = int(s), int(t)
    column = column - 1 if column > s else column
    row = row - 1 if row > t else row
    return row, column, s - column, t - row


@inline
def _triangle(field, i, j, upper):
    """A triangle of a cell, the `upper` one with the greater y or the lower one: the first corner's height, the slopes
    along x, y."""
    a, d, side = _height(field, i, j), _height(field, i + 1, j + 1), field.grid[CELL]
    other = _height(field, i + 1, j) if upper else _height(field, i, j + 1)
    return a, (d - other if upper else other - a) / side, (other - a if upper else d - other) / side


@inline
def under(field, x):
    """The normal of the triangle below x, and the distance of x from its plane."""
    i, j, s, t = _cell(field, x[0], x[1])
    a, along_x, along_y = _triangle(field, i, j, t > s)
    upwards = 1.0 / np.sqrt(1.0 + along_x * along_x + along_y * along_y)
    above = x[2] - (a + field.grid[CELL] * (s * along_x + t * along_y))
    return (-along_x * upwards, -along_y * upwards, upwards), upwards * above


@inline
def highest_around(field, x, radius):
    """A height that the ground does not exceed within a horizontal distance of x, m."""
    i, j, _, _ = _cell(field, x[0] - radius, x[1] - radius)
    k, m, _, _ = _cell(field, x[0] + radius, x[1] + radius)
    rows, columns = field.tops.shape
    first, last = max(0, min(i // BLOCK, rows - 1)), max(0, min(k // BLOCK, rows - 1))
    left, right = max(0, min(j // BLOCK, columns - 1)), max(0, min(m // BLOCK, columns - 1))
    if (last - first + 1) * (right - left + 1) > _MANY:
        return field.grid[HIGHEST]
    top = field.tops[first, left]
    for row in range(first, last + 1):
        for column in range(left, right + 1):
            top = max(top, field.tops[row, column])
    return top


@inline
def _put(nearest, k, n, point, gap):
    """Store the normal, place and gap of one of a sphere's points."""
    row = nearest[k]
    store3(row, n, NORMAL)
    store3(row, point, PLACE)
    row[GAP] = gap


@inline
def _corner(field, i, j):
    return field.grid[X] + j * field.grid[CELL], field.grid[Y] + i * field.grid[CELL], _height(field, i, j)


@inline
def _on_triangle(x, a, b, c):
    """The point of a triangle nearest to x.

    Source: C. Ericson, "Real-Time Collision Detection" (2005), section 5.1.5.
    """
    ab, ac, ax, bx, cx = sub(b, a), sub(c, a), sub(x, a), sub(x, b), sub(x, c)
    d1, d2, d3, d4, d5, d6 = dot(ab, ax), dot(ac, ax), dot(ab, bx), dot(ac, bx), dot(ab, cx), dot(ac, cx)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    if d1 <= 0.0 and d2 <= 0.0:
        return a
    if d3 >= 0.0 and d4 <= d3:
        return b
    if d6 >= 0.0 and d5 <= d6:
        return c
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return add(a, scale(d1 / (d1 - d3), ab))
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return add(a, scale(d2 / (d2 - d6), ac))
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        return add(b, scale((d4 - d3) / ((d4 - d3) + (d5 - d6)), sub(c, b)))
    reciprocal = 1.0 / (va + vb + vc)
    return add(a, add(scale(vb * reciprocal, ab), scale(vc * reciprocal, ac)))


@kernel
def _is_local_minimum(field, p, d):
    """Whether p is the point of the ground around it that is nearest to p + d.

    The ground is flat in each sector between the six edge directions, so these suffice.
    """
    threshold = _least_slope(d[0]) * np.sqrt(dot(d, d))
    for k in range(6):
        sign = 1.0 if k < 3 else -1.0
        ex, ey = 0.0 if k % 3 == 1 else sign, 0.0 if k % 3 == 0 else sign
        probe = _probe_distance(d[0]) * field.grid[CELL]
        i, j, s, t = _cell(field, p[0] + probe * ex, p[1] + probe * ey)
        _, along_x, along_y = _triangle(field, i, j, t > s)
        if d[0] * ex + d[1] * ey + d[2] * (ex * along_x + ey * along_y) > threshold:
            return False
    return True


@kernel
def _add_point(field, count, x, radius, point, nearest):
    """Keep a place among the sphere's points, if it is new; return their number."""
    d = sub(x, point)
    distance = np.sqrt(dot(d, d))
    limit = _coincidence_distance(radius) * field.grid[CELL]
    slot, worst = count, distance - radius
    for m in range(count):
        row = nearest[m]
        n = load3(row, NORMAL)
        offset = sub(sub(x, scale(row[GAP] + radius, n)), point)
        if dot(offset, offset) < limit * limit:
            return count
        if count == KEPT and row[GAP] > worst:
            slot, worst = m, row[GAP]
    if slot < KEPT and distance > 0.0 and _is_local_minimum(field, point, d):
        n = scale(1.0 / distance, d)
        _put(nearest, slot, n, sub(x, scale(radius, n)), distance - radius)
        return max(count, slot + 1)
    return count


@kernel
def near_sphere(field, x, radius, margin, nearest):
    """Find where a sphere about x touches the ground, or is nearer than `margin`, into `nearest` (KEPT, NEAREST)."""
    for m in range(KEPT):
        nearest[m, GAP] = NONE
    n, height = under(field, x)
    if height <= 0.0:
        _put(nearest, 0, n, sub(x, scale(radius, n)), height - radius)
        return
    reach = radius + min(_MAX_REACH * field.grid[CELL], margin)
    low, high = _cell(field, x[0] - reach, x[1] - reach), _cell(field, x[0] + reach, x[1] + reach)
    count, best, closest = 0, NONE, n
    for i in range(low[0], high[0] + 1):
        for j in range(low[1], high[1] + 1):
            a, b = _corner(field, i, j), _corner(field, i, j + 1)
            c, d = _corner(field, i + 1, j), _corner(field, i + 1, j + 1)
            if max(max(a[2], b[2]), max(c[2], d[2])) < x[2] - reach:
                continue
            for upper in range(2):
                point = _on_triangle(x, a, b, d) if upper == 0 else _on_triangle(x, a, d, c)
                offset = sub(x, point)
                distance = dot(offset, offset)
                if distance > reach * reach:
                    continue
                count = _add_point(field, count, x, radius, point, nearest)
                if distance < best:
                    best, closest = distance, point
    if count == 0 and 0.0 < best < NONE:
        n = scale(1.0 / np.sqrt(best), sub(x, closest))
        _put(nearest, 0, n, sub(x, scale(radius, n)), np.sqrt(best) - radius)
