"""The direction of least penetration of two overlapping convex shapes (EPA).

Source: G. van den Bergen, "Proximity queries and penetration depth computation on 3D game objects" (2001): a polytope
inside the shapes' Minkowski difference grows where its surface is nearest to the origin.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.collision.support import farthest
from engine.kernels.spatial import cross, dot, load3, load6, scale, store3, store6, sub

_TOLERANCE = 1e-6  # relative to the smaller shape: the tolerance of the depth
_VISIBLE = 1e-12  # relative to the summands
_FOLDED = 1e-8  # relative to them: above the origin's distance outside where shapes just touch
_THIN = 1e-10  # relative: a degenerate length, area or volume
_DEGENERATE = 1e300


@inline
def _new_vertex(a, b, shapes, rotation, d, e, slot, ws):
    """Put the support point of the difference along e into a vertex."""
    w, x = farthest(a, b, shapes, rotation, d, e, ws)
    store3(ws.vertex[slot], w)
    store3(ws.vertex[slot], x, 3)
    return w


@inline
def _put_triangle(ws, slot, i, j, k):
    """Put a triangle with its outward normal and offset; a degenerate one is never the nearest."""
    a = load3(ws.vertex[i])
    ab, ac = sub(load3(ws.vertex[j]), a), sub(load3(ws.vertex[k]), a)
    n = cross(ab, ac)
    area = dot(n, n)
    row = ws.triangle[slot]
    if area > _THIN * _THIN * _THIN * dot(ab, ab) * dot(ac, ac):
        n = scale(1.0 / np.sqrt(area), n)
        store3(row, n)
        row[3] = dot(n, a)
    else:
        store3(row, (0.0, 0.0, 0.0))
        row[3] = _DEGENERATE
    ws.triangle_vertices[slot, 0], ws.triangle_vertices[slot, 1], ws.triangle_vertices[slot, 2] = i, j, k


@kernel
def _add_vertex_along(a, b, shapes, rotation, d, e, count, size, ws):
    """Add a vertex along e or −e, if it is off the point, line or plane of the vertices so far; return their number."""
    for side in range(2):
        w = _new_vertex(a, b, shapes, rotation, d, e if side == 0 else scale(-1.0, e), count, ws)
        if abs(dot(sub(w, load3(ws.vertex[0])), e)) > _THIN * size * np.sqrt(dot(e, e)):
            return count + 1
    return count


@inline
def _perpendicular(x, which):
    """A vector perpendicular to x, one of two."""
    x_smallest = abs(x[0]) <= abs(x[1]) and abs(x[0]) <= abs(x[2])
    e = (1.0, 0.0, 0.0) if x_smallest else ((0.0, 1.0, 0.0) if abs(x[1]) <= abs(x[2]) else (0.0, 0.0, 1.0))
    y = cross(x, e)
    return y if which == 0 else cross(x, y)


@kernel
def _first_vertices(a, b, shapes, rotation, d, count, size, ws):
    """Find four vertices that span a volume, beginning with the simplex; return their number."""
    for k in range(count):
        store6(ws.vertex[k], load6(ws.simplex[k]))
    if count == 1:
        for axis in range(3):
            if count == 1:
                e = (1.0 if axis == 0 else 0.0), (1.0 if axis == 1 else 0.0), (1.0 if axis == 2 else 0.0)
                count = _add_vertex_along(a, b, shapes, rotation, d, e, count, size, ws)
    if count == 2:
        along = sub(load3(ws.vertex[1]), load3(ws.vertex[0]))
        for which in range(2):
            if count == 2:
                count = _add_vertex_along(a, b, shapes, rotation, d, _perpendicular(along, which), count, size, ws)
    if count == 3:
        p = load3(ws.vertex[0])
        n = cross(sub(load3(ws.vertex[1]), p), sub(load3(ws.vertex[2]), p))
        count = _add_vertex_along(a, b, shapes, rotation, d, n, count, size, ws)
    return count


@inline
def _toggle_rim_edge(ws, edges, i, j):
    """Add an edge of the rim, or remove it if it is there in the other direction; return their number.

    Where rounding has torn the surface into many holes, edges beyond the room for them are dropped.
    """
    for k in range(edges):
        if ws.rim[k, 0] == j and ws.rim[k, 1] == i:
            ws.rim[k, 0], ws.rim[k, 1] = ws.rim[edges - 1, 0], ws.rim[edges - 1, 1]
            return edges - 1
    if edges == ws.rim.shape[0]:
        return edges
    ws.rim[edges, 0], ws.rim[edges, 1] = i, j
    return edges + 1


@inline
def _remove_visible(ws, triangles, nearest, w, margin):
    """Remove the triangles visible from w; return the number of the remaining triangles and of the edges of the hole's
    rim."""
    edges, k = 0, triangles - 1
    while k >= 0:
        if k == nearest or dot(load3(ws.triangle[k]), w) - ws.triangle[k, 3] > margin:
            for c in range(3):
                edges = _toggle_rim_edge(ws, edges, ws.triangle_vertices[k, c], ws.triangle_vertices[k, (c + 1) % 3])
            triangles -= 1
            for c in range(3):
                ws.triangle_vertices[k, c] = ws.triangle_vertices[triangles, c]
            for c in range(4):
                ws.triangle[k, c] = ws.triangle[triangles, c]
        k -= 1
    return triangles, edges


@inline
def _first_triangles(ws):
    """Put the faces of the tetrahedron of the first four vertices."""
    p = load3(ws.vertex[0])
    n = cross(sub(load3(ws.vertex[1]), p), sub(load3(ws.vertex[2]), p))
    above = dot(n, sub(load3(ws.vertex[3]), p)) > 0.0
    i, j = (2 if above else 1), (1 if above else 2)
    _put_triangle(ws, 0, 0, i, j)
    _put_triangle(ws, 1, 0, 3, i)
    _put_triangle(ws, 2, i, 3, j)
    _put_triangle(ws, 3, j, 3, 0)


@inline
def _nearest(ws, triangles):
    best = 0
    for k in range(1, triangles):
        if ws.triangle[k, 3] < ws.triangle[best, 3]:
            best = k
    return best


@kernel
def penetration_direction(a, b, shapes, rotation, d, count, ws):
    """Compute the penetration direction, a unit vector from the second shape to the first, into `axis`.

    The first shape is at d, the other at 0, without radii. `simplex` holds `count` points of the difference whose hull
    contains the origin.
    """
    small, large = shapes.bound[a, 3], shapes.bound[b, 3]
    small, large = min(small, large), max(small, large)
    size = small + large + np.sqrt(dot(d, d))
    store3(ws.axis, (0.0, 0.0, 1.0))
    if _first_vertices(a, b, shapes, rotation, d, count, small + large, ws) < 4:
        return
    _first_triangles(ws)
    vertices, triangles = 4, 4
    best, direction = _nearest(ws, triangles), (0.0, 0.0, 1.0)
    offset = ws.triangle[best, 3]
    while vertices < ws.vertex.shape[0] and triangles + vertices + 2 <= ws.triangle_vertices.shape[0]:
        if ws.triangle[best, 3] < offset - _FOLDED * size:
            break  # a growing polytope's depth cannot decrease: rounding has folded it
        n, offset = load3(ws.triangle[best]), ws.triangle[best, 3]
        direction = scale(-1.0, n)
        w = _new_vertex(a, b, shapes, rotation, d, n, vertices, ws)
        if dot(n, w) - offset <= _TOLERANCE * small + _VISIBLE * size:
            break
        triangles, edges = _remove_visible(ws, triangles, best, w, _VISIBLE * size)
        if triangles + edges > ws.triangle_vertices.shape[0]:
            break  # several holes, from rounding
        for k in range(edges):
            _put_triangle(ws, triangles + k, ws.rim[k, 0], ws.rim[k, 1], vertices)
        triangles += edges
        vertices += 1
        best = _nearest(ws, triangles)
    store3(ws.axis, direction)
