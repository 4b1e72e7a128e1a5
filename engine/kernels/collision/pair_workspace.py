"""The contacts of one pair of shapes, and the workspace for finding them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.kernels.spatial import add, scale, store3
from engine.scene.points import KEPT
from engine.scene.shapes import Shapes

RIM = 8
"""Corners of the polygon in place of a cylinder's rim."""
_MAX_VERTICES, _MAX_TRIANGLES = 96, 224


class PairWorkspace(NamedTuple):
    """The workspace of one pair's contact search; nothing in it outlasts a call.

    Of the two touching faces, projected along the normal (x, y across, z along it): `corner` (2, P, 3), `number` (2, P)
    of the corners, `edge` (2, P, 3), the planar direction and length of the edge from each corner, and `face` (2, 5),
    the outward normal and offset of its plane, and a disc's radius or 0. `candidate` (C, 4) are candidate contacts, x,
    y, z and the gap, `candidate_feature` (C,) their features. `approach` (7,) is an input: the twist of the first shape
    relative to the second, about the world's origin, times two steps; and the gap up to which contacts that do not
    close take part in the step.

    `simplex` (4, 6) holds points of the Minkowski difference, with the first shape's support points; `support` (2, 3)
    the two shapes' support points, `nearest` (2, 4) points of triangles nearest to the origin and their squared
    distances. `axis` (10,) is the result: the normal, the gap, and the witness points of the first and second shape. Of
    a polytope: `vertex` (96, 6), as in `simplex`, `triangle` (224, 4) outward normals and offsets, `triangle_vertices`
    (224, 3), and `rim` (224, 2), the edges of the hole in it. `farthest` (2,) are the hulls' last support corners.
    """

    corner: NDArray[np.floating]
    number: NDArray[np.int64]
    edge: NDArray[np.floating]
    face: NDArray[np.floating]
    candidate: NDArray[np.floating]
    candidate_feature: NDArray[np.int64]
    approach: NDArray[np.floating]
    simplex: NDArray[np.floating]
    support: NDArray[np.floating]
    nearest: NDArray[np.floating]
    axis: NDArray[np.floating]
    vertex: NDArray[np.floating]
    triangle: NDArray[np.floating]
    triangle_vertices: NDArray[np.int64]
    rim: NDArray[np.int64]
    farthest: NDArray[np.int64]


class PairContacts(NamedTuple):
    """The contacts of a pair of shapes, the leading ones in use.

    `position` (4, 3) in the world is midway between the surfaces, `normal` (4, 3) points from the second shape to the
    first, `gap` (4,) is the distance, m, negative where they overlap, `feature` (4,) identifies the corners or edges: a
    persisting contact keeps it.
    """

    position: NDArray[np.floating]
    normal: NDArray[np.floating]
    gap: NDArray[np.floating]
    feature: NDArray[np.int64]
    workspace: PairWorkspace


def workspace(shapes: Shapes) -> PairContacts:
    """Return the workspace for one pair of these shapes at a time."""
    corners = max(RIM, shapes.longest_loop)
    ws = PairWorkspace(
        corner=np.zeros((2, corners, 3)),
        number=np.zeros((2, corners), np.int64),
        edge=np.zeros((2, corners, 3)),
        face=np.zeros((2, 5)),
        candidate=np.zeros((4 * corners + 1, 4)),
        candidate_feature=np.zeros(4 * corners + 1, np.int64),
        approach=np.array([0.0] * 6 + [np.inf]),
        simplex=np.zeros((4, 6)),
        support=np.zeros((2, 3)),
        nearest=np.zeros((2, 4)),
        axis=np.zeros(10),
        vertex=np.zeros((_MAX_VERTICES, 6)),
        triangle=np.zeros((_MAX_TRIANGLES, 4)),
        triangle_vertices=np.zeros((_MAX_TRIANGLES, 3), np.int64),
        rim=np.zeros((_MAX_TRIANGLES, 2), np.int64),
        farthest=np.zeros(2, np.int64),
    )
    return PairContacts(np.zeros((KEPT, 3)), np.zeros((KEPT, 3)), np.zeros(KEPT), np.zeros(KEPT, np.int64), ws)


@inline
def put(contacts, slot, x, n, gap, feature):
    """Store a contact in a slot."""
    store3(contacts.position[slot], x)
    store3(contacts.normal[slot], n)
    contacts.gap[slot], contacts.feature[slot] = gap, feature


@inline
def put_between(contacts, slot, x, n, gap, radius, feature):
    """Store the contact of a ball of that radius about x with a surface the gap away along −n."""
    put(contacts, slot, add(x, scale(-(radius + 0.5 * gap), n)), n, gap, feature)
