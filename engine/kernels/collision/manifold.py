"""The contact manifold: up to four contacts between the touching faces of two shapes.

Projected along the normal, faces share an area whose corners are corners of one face inside the other, and crossings of
edges. Each is a contact if it takes part in the step; of more than four, four are kept. Coinciding corners are merged,
and corners beside an edge are on it, so that resting shapes keep their contacts and features in spite of rounding.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.kernels.collision.contact_reduction import deepest_offer, reduced
from engine.kernels.collision.frames import tangents
from engine.kernels.collision.spheres import CLOSEST
from engine.kernels.collision.touching_faces import touching_face
from engine.kernels.spatial import add, cross, dot, load3, mul, mul_t, store3
from engine.scene.points import KEPT

_COINCIDENT = 1e-5  # relative to the smaller shape: the distance of coinciding places
_AS_DEEP = 1e-10  # relative to the smaller shape, plus rounding of the larger one
_AS_CLOSE = 1e-8  # as `_AS_DEEP`, for a gap found by iteration, which on round shapes is less accurate
_ROUNDING = 1e-13
_ALONG = 1e-6  # the sine of the angle below which edges do not cross
_STEEP = 1e-3  # the cosine below which a plane has no height along the normal
_NOWHERE = 1e30
_MANY = 1 << 15  # corners of a shape that features distinguish
_OF_FIRST, _OF_SECOND, _OF_EDGES = 1, 2, 3


@inline
def _edges(count):
    return count if count > 2 else count - 1


@inline
def _inside(side, count, x, y, beside, work):
    """Whether a place, projected along the normal, is in a polygon or beside it."""
    if work.face[side, 4] > 0.0 and count > 2:
        n, r = load3(work.face[side]), work.face[side, 4] + beside
        middle = work.corner[side, 0]
        opposite = work.corner[side, count // 2]
        dx, dy = x - 0.5 * (middle[0] + opposite[0]), y - 0.5 * (middle[1] + opposite[1])
        # On the disc's plane, dz above its centre.
        dz = -(n[0] * dx + n[1] * dy) / n[2]
        return dx * dx + dy * dy + dz * dz <= r * r
    if count <= 2:
        here, edge = work.corner[side, 0], work.edge[side, 0]
        dx, dy = x - here[0], y - here[1]
        along = max(0.0, min(edge[2], dx * edge[0] + dy * edge[1])) if count == 2 else 0.0
        dx, dy = dx - along * edge[0], dy - along * edge[1]
        return dx * dx + dy * dy <= beside * beside
    turn = -1.0 if side == 0 else 1.0
    for c in range(count):
        here, edge = work.corner[side, c], work.edge[side, c]
        if turn * (edge[0] * (y - here[1]) - edge[1] * (x - here[0])) < -beside:
            return False
    return True


@inline
def _height(side, count, x, y, work):
    """The coordinate of a polygon along the normal at a place; out of reach where its plane is too steep."""
    here = work.corner[side, 0]
    if count == 1:
        return here[2]
    if count == 2:
        edge = work.edge[side, 0]
        along = (x - here[0]) * edge[0] + (y - here[1]) * edge[1]
        fraction = max(0.0, min(1.0, along / edge[2])) if edge[2] > 0.0 else 0.0
        return here[2] + fraction * (work.corner[side, 1, 2] - here[2])
    n = load3(work.face[side])
    if abs(n[2]) < _STEEP:
        return _NOWHERE if side == 0 else -_NOWHERE
    return (work.face[side, 3] - n[0] * x - n[1] * y) / n[2]


@inline
def _offer(work, offers, x, y, above, below, least, reach, feature):
    """Note a candidate place and its gap, at least the minimum; return the number of candidates."""
    gap = max(above - below, least)
    if gap > reach or offers >= work.offer_of.size:
        return offers
    row = work.offer[offers]
    row[0], row[1], row[2], row[3] = x, y, 0.5 * (above + below), gap
    work.offer_of[offers] = feature
    return offers + 1


@inline
def _at_corners(side, own, others, gap, reach, beside, offers, work):
    """Offer the corners of one polygon inside the other."""
    other = 1 - side
    for c in range(own):
        x, y, z = load3(work.corner[side, c])
        if not _inside(other, others, x, y, beside, work):
            continue
        known = False
        if side == 1:
            for k in range(others):
                dx, dy = work.corner[0, k, 0] - x, work.corner[0, k, 1] - y
                known |= dx * dx + dy * dy <= beside * beside
        if not known:
            beyond = _height(other, others, x, y, work)
            above, below = (z if side == 0 else beyond), (beyond if side == 0 else z)
            feature = (_OF_FIRST if side == 0 else _OF_SECOND) + 4 * (work.number[side, c] % _MANY)
            offers = _offer(work, offers, x, y, above, below, gap, reach, feature)
    return offers


@inline
def _edge_number(side, c, following, work):
    """The number of an edge: those of its corners, the smaller one first."""
    i, j = work.number[side, c] % _MANY, work.number[side, following] % _MANY
    return min(i, j) * _MANY + max(i, j)


@inline
def _at_crossings(first, second, gap, reach, beside, offers, work):
    """Offer the crossings of the two polygons' edges."""
    for i in range(_edges(first)):
        a, e = load3(work.corner[0, i]), load3(work.edge[0, i])
        i_next = (i + 1) % first
        for j in range(_edges(second)):
            b, f = load3(work.corner[1, j]), load3(work.edge[1, j])
            across = e[0] * f[1] - e[1] * f[0]
            if abs(across) < _ALONG:
                continue
            dx, dy = b[0] - a[0], b[1] - a[1]
            s, t = (dx * f[1] - dy * f[0]) / across, (dx * e[1] - dy * e[0]) / across
            if s > beside and s < e[2] - beside and t > beside and t < f[2] - beside:
                j_next = (j + 1) % second
                above = a[2] + s / e[2] * (work.corner[0, i_next, 2] - a[2])
                below = b[2] + t / f[2] * (work.corner[1, j_next, 2] - b[2])
                feature = _edge_number(0, i, i_next, work) * (_MANY * _MANY) + _edge_number(1, j, j_next, work)
                place = a[0] + s * e[0], a[1] + s * e[1]
                offers = _offer(work, offers, place[0], place[1], above, below, gap, reach, _OF_EDGES + 4 * feature)
    return offers


@inline
def _taking_part(work, offers, frame, o):
    """Drop the offers that are not near, now or within two steps; return the number of those left."""
    omega, v, count = load3(work.nearing), load3(work.nearing, 3), 0
    for k in range(offers):
        x = add(o, mul_t(frame, load3(work.offer[k])))
        closing = -dot((frame[6], frame[7], frame[8]), add(v, cross(omega, x)))
        if work.offer[k, 3] <= work.nearing[6] + max(closing, 0.0):
            store3(work.offer[count], load3(work.offer[k]))
            work.offer[count, 3], work.offer_of[count] = work.offer[k, 3], work.offer_of[k]
            count += 1
    return count


@kernel
def manifold(a, b, shapes, rotation, d, o, n, gap, closest, sure, reach, contacts):
    """Find the contacts of shapes at o + d and o whose distance along n is the gap; return their number.

    `closest`, relative to o, is where they are closest; it is a contact unless another is as near. Returns −1 if it is
    not `sure` and there is no other.
    """
    work = contacts.work
    t1, t2 = tangents(n)
    frame = t1[0], t1[1], t1[2], t2[0], t2[1], t2[2], n[0], n[1], n[2]
    first = touching_face(a, 0, shapes, rotation, d, frame, work)
    second = touching_face(b, 1, shapes, rotation, (0.0, 0.0, 0.0), frame, work)
    small, large = shapes.bound[a, 3], shapes.bound[b, 3]
    small, large = min(small, large), max(small, large)
    beside, margin = _COINCIDENT * small, _AS_DEEP * small + _ROUNDING * large
    offers = _at_corners(0, first, second, gap, reach, beside, 0, work)
    offers = _at_corners(1, second, first, gap, reach, beside, offers, work)
    offers = _at_crossings(first, second, gap, reach, beside, offers, work)
    close = _AS_CLOSE * small + _ROUNDING * large if sure else margin
    deepest = deepest_offer(work, offers, 0.0)
    if offers > 0 and work.offer[deepest, 3] <= gap + close:
        work.offer[deepest, 3] = gap
    else:
        if not sure:
            return -1
        x = mul(frame, closest)
        offers = _offer(work, offers, x[0], x[1], x[2] + 0.5 * gap, x[2] - 0.5 * gap, gap, reach, CLOSEST)
    if offers > KEPT:
        offers = _taking_part(work, offers, frame, o)
    return reduced(contacts, offers, margin, frame, o)
