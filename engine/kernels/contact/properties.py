"""Properties of a contact by the shape or pair of shapes that makes it: its bodies, friction and restitution."""

from __future__ import annotations

from engine.compile import inline


@inline
def bodies_of(shape, contact):
    """Return the body of a contact's shape and the body that it touches, −1 for fixed geometry."""
    if len(contact.pairs) > 0:
        k = shape - contact.points.body.size
        if k >= 0:
            return contact.pairs.body[contact.pairs.one[k]], contact.pairs.body[contact.pairs.other[k]]
    return contact.points.body[shape], -1


@inline
def coefficients_of(shape, contact):
    """Return friction and restitution between a contact's shape and the shape or ground that it touches."""
    if len(contact.pairs) > 0:
        k = shape - contact.points.body.size
        if k >= 0:
            return contact.pairs.friction[k], contact.pairs.restitution[k]
    return contact.points.friction[shape], contact.points.restitution[shape]
