"""The contact manifold: up to four contacts between the touching faces of two shapes.

Projected along the normal, faces share an area whose corners are corners of one face inside the other, and crossings of
edges. Each is a contact if it takes part in the step; of more than four, four are kept. Coinciding corners are merged,
and corners beside an edge are on it, so that resting shapes keep their contacts and features in spite of rounding.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.kernels.collision.contact_reduction import deepest_candidate, reduce_candidates
from engine.kernels.collision.frames import tangents
from engine.kernels.collision.spheres import CLOSEST
from engine.kernels.collision.touching_faces import touching_face
from engine.kernels.spatial import add, cross, dot, load3, mul, mul_t, store3
from engine.scene.points import KEPT

_COINCIDENT = 1e-5  # relative to the smaller shape: the distance of coinciding places
_DEPTH_TOLERANCE = 1e-10  # relative to the smaller shape, plus rounding of the larger one
_GAP_TOLERANCE = 1e-8  # as `_DEPTH_TOLERANCE`, for a gap found by iteration, which on round shapes is less accurate
_ROUNDING = 1e-13
_PARALLEL = 1e-6  # the sine of the angle below which edges do not cross
_STEEP = 1e-3  # the cosine below which a plane has no height along the normal
_OUT_OF_REACH = 1e30
_MAX_CORNERS = 1 << 15  # corners of a shape that features distinguish
_OF_FIRST, _OF_SECOND, _OF_EDGES = 1, 2, 3


@inline
def _edges(count):
    return count if count > 2 else count - 1


@inline
def _inside(side, count, x, y, tolerance, ws):
    """Whether a point, projected along the normal, is in a polygon or within `tolerance` of it."""
    if ws.face[side, 4] > 0.0 and count > 2:
        n, r = load3(ws.face[side]), ws.face[side, 4] + tolerance
        middle = ws.corner[side, 0]
        opposite = ws.corner[side, count // 2]
        dx, dy = x - 0.5 * (middle[0] + opposite[0]), y - 0.5 * (middle[1] + opposite[1])
        # On the disc's plane, dz above its centre.
        dz = -(n[0] * dx + n[1] * dy) / n[2]
        return dx * dx + dy * dy + dz * dz <= r * r
    if count <= 2:
        corner, edge = ws.corner[side, 0], ws.edge[side, 0]
        dx, dy = x - corner[0], y - corner[1]
        along = max(0.0, min(edge[2], dx * edge[0] + dy * edge[1])) if count == 2 else 0.0
        dx, dy = dx - along * edge[0], dy - along * edge[1]
        return dx * dx + dy * dy <= tolerance * tolerance
    sign = -1.0 if side == 0 else 1.0
    for c in range(count):
        corner, edge = ws.corner[side, c], ws.edge[side, c]
        if sign * (edge[0] * (y - corner[1]) - edge[1] * (x - corner[0])) < -tolerance:
            return False
    return True


@inline
def _height(side, count, x, y, ws):
    """The coordinate of a polygon along the normal at (x, y); out of reach where its plane is too steep."""
    corner = ws.corner[side, 0]
    if count == 1:
        return corner[2]
    if count == 2:
        edge = ws.edge[side, 0]
        along = (x - corner[0]) * edge[0] + (y - corner[1]) * edge[1]
        fraction = max(0.0, min(1.0, along / edge[2])) if edge[2] > 0.0 else 0.0
        return corner[2] + fraction * (ws.corner[side, 1, 2] - corner[2])
    n = load3(ws.face[side])
    if abs(n[2]) < _STEEP:
        return _OUT_OF_REACH if side == 0 else -_OUT_OF_REACH
    return (ws.face[side, 3] - n[0] * x - n[1] * y) / n[2]


@inline
def _add_candidate(ws, candidates, x, y, above, below, least, reach, feature):
    """Add a candidate with its gap, `least` or more, if it is within `reach`; return the number of candidates."""
    gap = max(above - below, least)
    if gap > reach or candidates >= ws.candidate_feature.size:
        return candidates
    row = ws.candidate[candidates]
    row[0], row[1], row[2], row[3] = x, y, 0.5 * (above + below), gap
    ws.candidate_feature[candidates] = feature
    return candidates + 1


@inline
def _corner_candidates(side, count, other_count, gap, reach, tolerance, candidates, ws):
    """Add the corners of one polygon inside the other to the candidates; return their number."""
    other = 1 - side
    for c in range(count):
        x, y, z = load3(ws.corner[side, c])
        if not _inside(other, other_count, x, y, tolerance, ws):
            continue
        duplicate = False
        if side == 1:
            for k in range(other_count):
                dx, dy = ws.corner[0, k, 0] - x, ws.corner[0, k, 1] - y
                duplicate |= dx * dx + dy * dy <= tolerance * tolerance
        if not duplicate:
            other_height = _height(other, other_count, x, y, ws)
            above, below = (z if side == 0 else other_height), (other_height if side == 0 else z)
            feature = (_OF_FIRST if side == 0 else _OF_SECOND) + 4 * (ws.number[side, c] % _MAX_CORNERS)
            candidates = _add_candidate(ws, candidates, x, y, above, below, gap, reach, feature)
    return candidates


@inline
def _edge_number(side, c, following, ws):
    """The number of an edge: the numbers of its corners, the smaller one first."""
    i, j = ws.number[side, c] % _MAX_CORNERS, ws.number[side, following] % _MAX_CORNERS
    return min(i, j) * _MAX_CORNERS + max(i, j)


@inline
def _crossing_candidates(first, second, gap, reach, tolerance, candidates, ws):
    """Add the crossings of the two polygons' edges to the candidates; return their number."""
    for i in range(_edges(first)):
        a, e = load3(ws.corner[0, i]), load3(ws.edge[0, i])
        i_next = (i + 1) % first
        for j in range(_edges(second)):
            b, f = load3(ws.corner[1, j]), load3(ws.edge[1, j])
            across = e[0] * f[1] - e[1] * f[0]
            if abs(across) < _PARALLEL:
                continue
            dx, dy = b[0] - a[0], b[1] - a[1]
            s, t = (dx * f[1] - dy * f[0]) / across, (dx * e[1] - dy * e[0]) / across
            if s > tolerance and s < e[2] - tolerance and t > tolerance and t < f[2] - tolerance:
                j_next = (j + 1) % second
                above = a[2] + s / e[2] * (ws.corner[0, i_next, 2] - a[2])
                below = b[2] + t / f[2] * (ws.corner[1, j_next, 2] - b[2])
                feature = _edge_number(0, i, i_next, ws) * (_MAX_CORNERS * _MAX_CORNERS) + _edge_number(
                    1, j, j_next, ws
                )
                point = a[0] + s * e[0], a[1] + s * e[1]
                candidates = _add_candidate(
                    ws, candidates, point[0], point[1], above, below, gap, reach, _OF_EDGES + 4 * feature
                )
    return candidates


@inline
def _active_candidates(ws, candidates, frame, o):
    """Remove the candidates that are not near now or within two steps; return the number of the others."""
    omega, v, count = load3(ws.approach), load3(ws.approach, 3), 0
    for k in range(candidates):
        x = add(o, mul_t(frame, load3(ws.candidate[k])))
        closing = -dot((frame[6], frame[7], frame[8]), add(v, cross(omega, x)))
        if ws.candidate[k, 3] <= ws.approach[6] + max(closing, 0.0):
            store3(ws.candidate[count], load3(ws.candidate[k]))
            ws.candidate[count, 3], ws.candidate_feature[count] = ws.candidate[k, 3], ws.candidate_feature[k]
            count += 1
    return count


@kernel
def manifold(a, b, shapes, rotation, d, o, n, gap, closest, exact, reach, contacts):
    """Find the contacts of shapes at o + d and o whose distance along n is the gap; return their number.

    `closest`, relative to o, is where they are closest; it is a contact unless another is as near. Returns −1 if it is
    not `exact` and there is no other.
    """
    ws = contacts.workspace
    t1, t2 = tangents(n)
    frame = t1[0], t1[1], t1[2], t2[0], t2[1], t2[2], n[0], n[1], n[2]
    first = touching_face(a, 0, shapes, rotation, d, frame, ws)
    second = touching_face(b, 1, shapes, rotation, (0.0, 0.0, 0.0), frame, ws)
    small, large = shapes.bound[a, 3], shapes.bound[b, 3]
    small, large = min(small, large), max(small, large)
    tolerance, margin = _COINCIDENT * small, _DEPTH_TOLERANCE * small + _ROUNDING * large
    candidates = _corner_candidates(0, first, second, gap, reach, tolerance, 0, ws)
    candidates = _corner_candidates(1, second, first, gap, reach, tolerance, candidates, ws)
    candidates = _crossing_candidates(first, second, gap, reach, tolerance, candidates, ws)
    gap_margin = _GAP_TOLERANCE * small + _ROUNDING * large if exact else margin
    deepest = deepest_candidate(ws, candidates, 0.0)
    if candidates > 0 and ws.candidate[deepest, 3] <= gap + gap_margin:
        ws.candidate[deepest, 3] = gap
    else:
        if not exact:
            return -1
        x = mul(frame, closest)
        candidates = _add_candidate(ws, candidates, x[0], x[1], x[2] + 0.5 * gap, x[2] - 0.5 * gap, gap, reach, CLOSEST)
    if candidates > KEPT:
        candidates = _active_candidates(ws, candidates, frame, o)
    return reduce_candidates(contacts, candidates, margin, frame, o)
