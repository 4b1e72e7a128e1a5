"""Properties of a contact by the shape or pair of shapes that makes it, and the order of a robot's contacts."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import spread
from engine.kernels.spatial import load3, load9, store3, store9


@inline
def bodies_of(shape, ground):
    """Return the body of a contact's shape and the body that it touches, −1 for fixed geometry."""
    if len(ground.pairs) > 0:
        k = shape - ground.points.body.size
        if k >= 0:
            return ground.pairs.body[ground.pairs.one[k]], ground.pairs.body[ground.pairs.other[k]]
    return ground.points.body[shape], -1


@inline
def friction_of(shape, ground):
    if len(ground.pairs) > 0:
        k = shape - ground.points.body.size
        if k >= 0:
            return ground.pairs.friction[k]
    return ground.points.friction[shape]


@inline
def restitution_of(shape, ground):
    if len(ground.pairs) > 0:
        k = shape - ground.points.body.size
        if k >= 0:
            return ground.pairs.restitution[k]
    return ground.points.restitution[shape]


@kernel
def exchange(touching, i, j):
    """Swap two contacts."""
    touching.point[i], touching.point[j] = touching.point[j], touching.point[i]
    touching.shape[i], touching.shape[j] = touching.shape[j], touching.shape[i]
    touching.gap[i], touching.gap[j] = touching.gap[j], touching.gap[i]
    x, y = load3(touching.at[i], 0, 1), load3(touching.at[j], 0, 1)
    store3(touching.at[i], 0, 1, y)
    store3(touching.at[j], 0, 1, x)
    A, B = load9(touching.frame[i], 0, 1), load9(touching.frame[j], 0, 1)
    store9(touching.frame[i], 0, 1, B)
    store9(touching.frame[j], 0, 1, A)


@inline
def frictional_first(count, ground):
    """Order contacts with friction before those without, as the rows of a system are."""
    touching = ground.contacts
    for _ in spread(1):  # one thread: a second one would swap back what the first has swapped
        frictional = 0
        for i in range(count):
            if friction_of(touching.shape[i], ground) > 0.0:
                if i > frictional:
                    exchange(touching, i, frictional)
                frictional += 1
