"""The joint table: for each joint type its coordinates, velocities, motion subspace S and motion.

A *body's* joint is one of four elementary types, with S taken from the columns of the 6×6 identity in the twist order
(ω, v): revolute about the body's z-axis, prismatic along it, spherical (a ball joint, S = the first three columns) and
free (all six). A *URDF's* joint consists of one or several of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

JointKind = Literal["revolute", "continuous", "prismatic", "planar", "floating", "spherical"]

REVOLUTE, PRISMATIC, FREE, SPHERICAL = range(4)


class BodyJoint(NamedTuple):
    """An elementary joint type.

    `columns` are the columns of the 6×6 identity that form S, one per velocity. `quaternion` is the index of the unit
    quaternion x, y, z, w among its coordinates, None without one; a free joint has its position before it.
    """

    nq: int
    columns: tuple[int, ...]
    quaternion: int | None = None

    @property
    def nv(self) -> int:
        return len(self.columns)


BODY_JOINTS: Mapping[int, BodyJoint] = {
    REVOLUTE: BodyJoint(1, (2,)),
    PRISMATIC: BodyJoint(1, (5,)),
    FREE: BodyJoint(7, (0, 1, 2, 3, 4, 5), quaternion=3),
    SPHERICAL: BodyJoint(4, (0, 1, 2), quaternion=0),
}
"""Indexed by `Model.kind`."""

NQ = np.array([BODY_JOINTS[kind].nq for kind in range(len(BODY_JOINTS))])
NV = np.array([BODY_JOINTS[kind].nv for kind in range(len(BODY_JOINTS))])
"""Number of coordinates and of velocities by kind: ``NQ[model.kind]``."""


class JointType(NamedTuple):
    """A URDF's joint type: the elementary joints that it consists of, and the names of its velocities.

    `spans` are the ranges from which coordinates without limits are drawn at random, rad or m; none for positions and
    rotations. The bodies after the first have no link of their own and the same axis; if `turned`, the axes are x, y
    and z in turn.
    """

    bodies: tuple[int, ...]
    parts: tuple[str, ...] = ()
    spans: tuple[float, ...] = ()
    turned: bool = False

    @property
    def angular(self) -> tuple[bool, ...]:
        """Whether each of its velocities is an angular one, rad/s, or else m/s."""
        return tuple(column < 3 for kind in self.bodies for column in BODY_JOINTS[kind].columns)

    @property
    def quaternion(self) -> int | None:
        """The index of the unit quaternion among the joint's coordinates, or None."""
        return BODY_JOINTS[self.bodies[0]].quaternion

    @property
    def nq(self) -> int:
        return sum(BODY_JOINTS[kind].nq for kind in self.bodies)

    @property
    def nv(self) -> int:
        return sum(BODY_JOINTS[kind].nv for kind in self.bodies)


JOINT_TYPES: Mapping[JointKind, JointType] = {
    "revolute": JointType((REVOLUTE,), spans=(np.pi,)),
    "continuous": JointType((REVOLUTE,), spans=(np.pi,)),
    "prismatic": JointType((PRISMATIC,), spans=(1.0,)),
    "planar": JointType((PRISMATIC, PRISMATIC, REVOLUTE), ("x", "y", "angle"), (1.0, 1.0, np.pi), turned=True),
    "floating": JointType((FREE,), ("wx", "wy", "wz", "vx", "vy", "vz")),
    "spherical": JointType((SPHERICAL,), ("wx", "wy", "wz")),
}


@dataclass(frozen=True)
class Joint:
    """A joint as the URDF names it: the run of coordinates and bodies that it owns.

    `name` and `kind` are as there, the latter such as "revolute"; `bodies`, `q` and `v` are slices of the bodies, of q
    and of v.

    A joint that mimics another owns no coordinates of its own: `leader` names the one it follows,
    and its coordinate is ``multiplier · q_leader + offset``.
    """

    name: str
    kind: JointKind
    bodies: slice
    q: slice
    v: slice
    leader: str | None = None
    multiplier: float = 1.0
    offset: float = 0.0

    @property
    def type(self) -> JointType:
        """The joint's row of the joint table."""
        return JOINT_TYPES[self.kind]

    def turned(
        self, x: NDArray[np.floating], lower: NDArray[np.floating], upper: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """Return x (nq,), of a revolute joint by whole turns within `lower` and `upper` (nq,) if possible."""
        if self.kind != "revolute":
            return x
        turned = x + 2 * np.pi * np.ceil((lower - x) / (2 * np.pi))
        return np.where(((x < lower) | (x > upper)) & (turned <= upper), turned, x)
