"""The joint table: per kind of joint its coordinates and velocities, its motion subspace S, and how it moves.

A *body's* joint is one of four elementary ones, S taken from the columns of the 6×6 identity in the twist order (ω, v):
revolute about the body's z-axis, prismatic along it, spherical (a ball joint, S = the first three) and free (all six).
A *URDF's* joint is carried by one or several of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

JointKind = Literal["revolute", "continuous", "prismatic", "planar", "floating", "spherical"]

REVOLUTE, PRISMATIC, FREE, SPHERICAL = range(4)


class BodyJoint(NamedTuple):
    """An elementary joint.

    `columns` are those of the 6×6 identity that make S, one for each velocity. `quaternion` is the place among its
    coordinates at which a unit quaternion x, y, z, w stands, None where there is none; a free joint has its position
    before that.
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
"""By the number that `Model.kind` holds."""

NQ = np.array([BODY_JOINTS[kind].nq for kind in range(len(BODY_JOINTS))])
NV = np.array([BODY_JOINTS[kind].nv for kind in range(len(BODY_JOINTS))])
"""Coordinates and velocities by kind: ``NQ[model.kind]``."""


class JointType(NamedTuple):
    """A URDF's type of joint: the elementary joints of its bodies, and what its velocities are called.

    `spans` say within what a coordinate without limits is drawn at random, rad or m; none for positions and rotations.
    The bodies after the first have no link of their own and the same axis; where it is `turned`, x, y and z in turn.
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
        """Where its unit quaternion stands among its coordinates, or None."""
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
        """The row of the joint table."""
        return JOINT_TYPES[self.kind]
