"""Contact frames in the world."""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.kernels.spatial import cross, scale, sub


@inline
def tangents(n):
    """Unit vectors t₁, t₂ with n × t₁ = t₂, a function of n alone."""
    e = (0.0, 1.0, 0.0) if abs(n[0]) > 0.9 else (1.0, 0.0, 0.0)
    along = n[0] * e[0] + n[1] * e[1] + n[2] * e[2]
    t = sub(e, scale(along, n))
    t = scale(1.0 / np.sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]), t)
    return t, cross(n, t)
