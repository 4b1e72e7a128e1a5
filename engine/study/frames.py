"""Poses and twists of links for a batch of robots on either device, with bits independent of the batch.

Inputs are q (batch, nq) and v (batch, nv), NumPy's or CuPy's; results are vectors as three arrays (batch,), computed
elementwise, and only for the bodies of the requested links.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from engine.lie import rows_from_quaternion
from engine.model import FREE, PRISMATIC, REVOLUTE, SPHERICAL, Model
from engine.model.joints import BODY_JOINTS

Vector = tuple[Any, Any, Any]
Matrix = tuple[Vector, Vector, Vector]
"""Rows. An element is an array (batch,), or a float common to all robots."""
# Products with these two are skipped: most home poses have no rotation or no translation.
_NONE: Vector = (0.0, 0.0, 0.0)
_ONE: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Pose(NamedTuple):
    """A frame in the world: its rotation, and its origin in m."""

    R: Matrix
    p: Vector


class Twist(NamedTuple):
    """A frame's twist in world axes: rad/s, and m/s of its origin."""

    omega: Vector
    velocity: Vector


class Frames:
    """The frames of a model's links at one state of a batch, computed on demand."""

    def __init__(self, model: Model, q: Any, v: Any):
        self._model, self._q, self._v = model, q, v
        self._pose, self._twist = cache(partial(Frames._posed, self)), cache(partial(Frames._moving, self))

    def pose(self, link: int) -> Pose:
        """Return the pose of a link, by its index."""
        of, (R, arm) = self._pose(int(self._model.link_body[link])), self._in_body(link)
        return Pose(product(of.R, R), plus(of.p, rotate(of.R, arm)))

    def twist(self, link: int) -> Twist:
        """Return the twist of a link's frame."""
        body = int(self._model.link_body[link])
        of, arm = self._twist(body), rotate(self._pose(body).R, self._in_body(link)[1])
        return Twist(of.omega, plus(of.velocity, _cross(of.omega, arm)))

    def _in_body(self, link: int) -> tuple[Matrix, Vector]:
        return _matrix(self._model.link_rotation[link]), _vector(self._model.link_position[link])

    def _posed(self, body: int) -> Pose:
        """Return the pose of a body; −1 is the world."""
        if body < 0:
            return Pose(_ONE, _NONE)
        model, kind = self._model, int(self._model.kind[body])
        above, x = self._pose(int(model.parent[body])), self._coordinates(body)
        home = product(above.R, _matrix(model.home_rotation[body]))
        p, turn = plus(above.p, rotate(above.R, _vector(model.home_position[body]))), _ONE
        if kind == REVOLUTE:
            c, s = np.cos(x[0]), np.sin(x[0])
            turn = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
        elif kind == PRISMATIC:
            p = plus(p, rotate(home, (0.0, 0.0, x[0])))
        elif kind == FREE:
            p, turn = plus(p, rotate(home, (x[0], x[1], x[2]))), rows_from_quaternion(*x[3:])
        elif kind == SPHERICAL:
            turn = rows_from_quaternion(*x)
        return Pose(product(home, turn), p)

    def _moving(self, body: int) -> Twist:
        """Return the twist of a body's frame."""
        if body < 0:
            return Twist(_NONE, _NONE)
        parent, (R, p) = int(self._model.parent[body]), self._pose(body)
        above, before = self._twist(parent), self._pose(parent).p
        arm: Vector = tuple(_sum(a, _times(-1.0, b)) for a, b in zip(p, before, strict=True))
        S_v: list[Any] = [0.0] * 6
        columns = BODY_JOINTS[int(self._model.kind[body])].columns
        for column, rate in zip(columns, self._rates(body), strict=True):
            S_v[column] = rate
        omega = plus(above.omega, rotate(R, (S_v[0], S_v[1], S_v[2])))
        carried = plus(above.velocity, _cross(above.omega, arm))
        return Twist(omega, plus(carried, rotate(R, (S_v[3], S_v[4], S_v[5]))))

    def _coordinates(self, body: int) -> list[Any]:
        model, coupling = self._model, self._model.coupling
        first = int(model.q_start[body])
        places = range(first, first + BODY_JOINTS[int(model.kind[body])].nq)
        return [
            self._q[:, int(coupling.q_index[k])] * float(coupling.q_scale[k]) + float(coupling.q_offset[k])
            for k in places
        ]

    def _rates(self, body: int) -> list[Any]:
        model, coupling = self._model, self._model.coupling
        first = int(model.v_start[body])
        places = range(first, first + BODY_JOINTS[int(model.kind[body])].nv)
        return [self._v[:, int(coupling.v_index[k])] * float(coupling.v_scale[k]) for k in places]


def rotate(R: Matrix, x: Vector) -> Vector:
    """Return R x."""
    if R is _ONE or x is _NONE:
        return x
    return _dot(R[0], x), _dot(R[1], x), _dot(R[2], x)


def turned_back(R: Matrix, x: Vector) -> Vector:
    """Return Rᵀ x."""
    return rotate(tuple(zip(*R, strict=True)), x)  # type: ignore[arg-type]


def product(A: Matrix, B: Matrix) -> Matrix:
    """Return A B."""
    if A is _ONE or B is _ONE:
        return B if A is _ONE else A
    columns = [rotate(A, (B[0][k], B[1][k], B[2][k])) for k in range(3)]
    return tuple(zip(*columns, strict=True))  # type: ignore[return-value]


def plus(a: Vector, b: Vector) -> Vector:
    """Return the sum of two vectors."""
    if a is _NONE or b is _NONE:
        return b if a is _NONE else a
    return _sum(a[0], b[0]), _sum(a[1], b[1]), _sum(a[2], b[2])


def norm(x: Vector) -> Any:
    """Return the norm of a vector."""
    return np.sqrt(_dot(x, x))


def _dot(a: Vector, b: Vector) -> Any:
    return _sum(_sum(_times(a[0], b[0]), _times(a[1], b[1])), _times(a[2], b[2]))


def _cross(a: Vector, b: Vector) -> Vector:
    return tuple(_sum(_times(a[i], b[j]), _times(-1.0, _times(a[j], b[i]))) for i, j in ((1, 2), (2, 0), (0, 1)))


def _times(a: Any, b: Any) -> Any:
    """Return the product, without creating an array for a common zero or one."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, float) and one in (0.0, 1.0):
            return other if one else 0.0
    return a * b


def _sum(a: Any, b: Any) -> Any:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, float) and one == 0.0:
            return other
    return a + b


def _matrix(R: Any) -> Matrix:
    matrix: Matrix = tuple(_vector(row) for row in R)  # type: ignore[assignment]
    return _ONE if matrix == _ONE else matrix


def _vector(x: Any) -> Vector:
    vector = float(x[0]), float(x[1]), float(x[2])
    return _NONE if vector == _NONE else vector
