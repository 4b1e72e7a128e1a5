"""A joint's transform T_i = home · exp(S q), applied to motions, forces and inertias of one robot.

A body's constants are a row of `engine.model.layout.Packed`. Its *joint numbers* are the part of the transform that
depends on q: sine and cosine of a revolute joint, the displacement of a prismatic one, the rotation (9) of a ball
joint, rotation and position of a free one. Of a revolute joint with a tilted home rotation they are, in single
precision, the rotation of T_i (9): one product is less work than two; in double precision nine numbers need too many
registers. A motion is (o, v), a force (n, f), an inertia (A, B, C), see `spatial`.
"""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import is_single
from engine.kernels.quaternions import rotation_from_quaternion
from engine.kernels.sines import sine_and_cosine
from engine.kernels.spatial import add, columns, cross, inertia_to_parent, mul, mul_t, scale, sub
from engine.model import PRISMATIC, REVOLUTE, SPHERICAL, layout

_IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inline
def joint_numbers(kind, c, tilted, q, start):
    """The joint numbers at q[start…] of a body with constants c; `tilted` says whether its home rotation is."""
    if kind == REVOLUTE:
        x = sine_and_cosine(q[start])
        R, _ = home(c)
        if not (tilted and is_single(x[0])):
            return x
        u, v, w = columns(R)
        a, b = add(scale(x[1], u), scale(x[0], v)), sub(scale(x[1], v), scale(x[0], u))
        return a[0], b[0], w[0], a[1], b[1], w[1], a[2], b[2], w[2]
    if kind == PRISMATIC:
        return (q[start],)
    if kind == SPHERICAL:
        return rotation_from_quaternion(q[start], q[start + 1], q[start + 2], q[start + 3])
    R = rotation_from_quaternion(q[start + 3], q[start + 4], q[start + 5], q[start + 6])
    return R, (q[start], q[start + 1], q[start + 2])


@inline
def home(c):
    """Rotation and position of a body at zero coordinates, from its constants."""
    R = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]
    return R, (c[layout.HOME_POSITION], c[layout.HOME_POSITION + 1], c[layout.HOME_POSITION + 2])


@inline
def _rotated(x, u):
    return x[1] * u[0] - x[0] * u[1], x[0] * u[0] + x[1] * u[1], u[2]


@inline
def _rotated_back(x, u):
    return x[1] * u[0] + x[0] * u[1], x[1] * u[1] - x[0] * u[0], u[2]


@inline
def motion_to_child(kind, c, x, o, v):
    """Ad(T⁻¹) (o, v): a twist or acceleration of the parent, in the body's frame."""
    R, p = home(c)
    if kind == REVOLUTE and len(x) == 9:
        R = x
    o, v = mul_t(R, o), mul_t(R, add(v, cross(o, p)))
    if kind == REVOLUTE and len(x) == 9:
        return o, v
    if kind == REVOLUTE:
        return _rotated_back(x, o), _rotated_back(x, v)
    if kind == PRISMATIC:
        return o, (v[0] + o[1] * x[0], v[1] - o[0] * x[0], v[2])
    if kind == SPHERICAL:
        return mul_t(x, o), mul_t(x, v)
    return mul_t(x[0], o), mul_t(x[0], add(v, cross(o, x[1])))


@inline
def force_to_parent(kind, c, x, n, f):
    """Ad(T⁻¹)ᵀ (n, f): a wrench on the body, in its parent's frame."""
    R, p = home(c)
    if kind == REVOLUTE and len(x) == 9:
        R = x
    elif kind == REVOLUTE:
        n, f = _rotated(x, n), _rotated(x, f)
    elif kind == PRISMATIC:
        n = n[0] - x[0] * f[1], n[1] + x[0] * f[0], n[2]
    elif kind == SPHERICAL:
        n, f = mul(x, n), mul(x, f)
    else:
        f = mul(x[0], f)
        n = add(mul(x[0], n), cross(x[1], f))
    f = mul(R, f)
    return add(mul(R, n), cross(p, f)), f


@inline
def _rotated_symmetric(x, A):
    s, c = x[0], x[1]
    a, b = c * A[0] - s * A[1], c * A[1] - s * A[3]
    d, e = s * A[0] + c * A[1], s * A[1] + c * A[3]
    return c * a - s * b, s * a + c * b, c * A[2] - s * A[4], s * d + c * e, s * A[2] + c * A[4], A[5]


@inline
def _rotated_full(x, B):
    """Rz B Rzᵀ."""
    a, b, c = columns(B)
    a, b, c = _rotated(x, a), _rotated(x, b), _rotated(x, c)
    u, v, w = _rotated(x, (a[0], b[0], c[0])), _rotated(x, (a[1], b[1], c[1])), _rotated(x, (a[2], b[2], c[2]))
    return u[0], u[1], u[2], v[0], v[1], v[2], w[0], w[1], w[2]


@inline
def inertia_in_parent(kind, c, x, A, B, C):
    """Ad(T⁻¹)ᵀ [A B; Bᵀ C] Ad(T⁻¹): a body's inertia, in its parent's frame."""
    R, p = home(c)
    if kind == REVOLUTE and len(x) == 9:
        R = x
    elif kind == REVOLUTE:
        A, B, C = _rotated_symmetric(x, A), _rotated_full(x, B), _rotated_symmetric(x, C)
    elif kind == PRISMATIC:
        A, B, C = inertia_to_parent(_IDENTITY, (0.0, 0.0, x[0]), A, B, C)
    elif kind == SPHERICAL:
        A, B, C = inertia_to_parent(x, (0.0, 0.0, 0.0), A, B, C)
    else:
        A, B, C = inertia_to_parent(x[0], x[1], A, B, C)
    return inertia_to_parent(R, p, A, B, C)
