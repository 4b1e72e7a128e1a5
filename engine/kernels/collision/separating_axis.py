"""The separating axis of two boxes: largest distance or least overlap. A capsule's axis is a box without thickness.

Source: S. Gottschalk, M. C. Lin, D. Manocha, "OBBTree" (1996): the axes are face normals and cross products of edges.
Where boxes overlap, one of them is the direction of least depth; where they are apart, the distance may exceed the gap
along the axis.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.spatial import columns, cross, dot, load3, load9, scale, store3
from engine.scene.shapes import BOX

_PARALLEL = 1e-12  # the squared sine below which two edges have no common normal
_FACES_FIRST = 1e-10  # relative to the boxes: by how much the gap of edges must exceed that of faces


@inline
def _half(k, shapes):
    """Half of a box's edges, or of a capsule's axis."""
    size = load3(shapes.size[k])
    box = shapes.kind[k] == BOX
    return 0.5 * size[0] if box else 0.0, 0.5 * size[1] if box else 0.0, 0.5 * size[2] if box else 0.5 * size[1]


@inline
def _reach(n, axes, half):
    """The support of a box along n."""
    return half[0] * abs(dot(n, axes[0])) + half[1] * abs(dot(n, axes[1])) + half[2] * abs(dot(n, axes[2]))


@kernel
def separating_axis(a, b, shapes, rotation, d, ws):
    """Compute the axis, from the second shape to the first, and the gap along it into `axis`.

    The shapes are boxes or capsules' axes, without radii, at d and 0.
    """
    first, second = columns(load9(rotation[a])), columns(load9(rotation[b]))
    half, other = _half(a, shapes), _half(b, shapes)
    axis = ws.axis
    axis[3] = -1e30
    for side in range(2):
        for k in range(3):
            n = first[k] if side == 0 else second[k]
            along = dot(d, n)
            gap = abs(along) - _reach(n, first, half) - _reach(n, second, other)
            if gap > axis[3]:
                axis[3] = gap
                store3(axis, scale(1.0 if along >= 0.0 else -1.0, n))
    least = axis[3] + _FACES_FIRST * (half[0] + half[1] + half[2] + other[0] + other[1] + other[2])
    for i in range(3):
        for j in range(3):
            e, f = first[i], second[j]
            n = cross(e, f)
            area = dot(n, n)
            if half[i] > 0.0 and other[j] > 0.0 and area > _PARALLEL:
                n = scale(1.0 / np.sqrt(area), n)
                along = dot(d, n)
                gap = abs(along) - _reach(n, first, half) - _reach(n, second, other)
                if gap > least:
                    least = gap
                    axis[3] = gap
                    store3(axis, scale(1.0 if along >= 0.0 else -1.0, n))
