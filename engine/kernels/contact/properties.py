"""Properties of a contact by the shape or pair of shapes that makes it: its bodies, friction and restitution."""

from __future__ import annotations

from engine.compile import inline


@inline
def bodies_of(shape, ground):
    """Return the body of a contact's shape and the body that it touches, −1 for fixed geometry."""
    if len(ground.pairs) > 0:
        k = shape - ground.points.body.size
        if k >= 0:
            return ground.pairs.body[ground.pairs.one[k]], ground.pairs.body[ground.pairs.other[k]]
    return ground.points.body[shape], -1


@inline
def coefficients_of(shape, ground):
    """Return friction and restitution of a contact's shape with what it touches."""
    if len(ground.pairs) > 0:
        k = shape - ground.points.body.size
        if k >= 0:
            return ground.pairs.friction[k], ground.pairs.restitution[k]
    return ground.points.friction[shape], ground.points.restitution[shape]
