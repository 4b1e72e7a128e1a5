"""Build bodies from the tree of links: lump fixed joints, rotate screw axes to z, and number the coordinates.

This module validates nothing: any description yields a `Model`, and `engine.urdf.physical_checks` decides whether it
can be simulated.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import lie
from engine.model import WORLD, Collision, Joint, Model, Visual
from engine.model.joints import JOINT_TYPES
from engine.urdf.elements import Description, Limits, ShapeElement
from engine.urdf.markup import ZERO, Vector
from engine.urdf.surfaces import Surface
from engine.urdf.topology import Branch, Topology

Array = NDArray[np.float64]

NEXT_AXIS: Array = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Rotates z to x, x to y and y to z; three in a row are the identity."""


def assemble(description: Description, topology: Topology, source: str | None) -> Model:
    """Return the model of a tree of links.

    A joint that is composed of elementary joints has one body for each; the last body has the mass. A body's frame is
    its link's frame, rotated by the smallest angle that brings the screw axis to z.
    """
    bodies = _Bodies(topology)
    mass, first_moment, inertia = _lumped(topology.branches, bodies)
    joints, limits = _coordinates(topology, bodies.of_joint)
    return Model(
        name=description.name,
        parent=np.array(bodies.parent, np.int64),
        kind=np.array(bodies.kind, np.int64),
        home_rotation=np.array(bodies.home_rotation).reshape(-1, 3, 3),
        home_position=np.array(bodies.home_position).reshape(-1, 3),
        mass=mass,
        first_moment=first_moment,
        inertia=inertia,
        joints=joints,
        **limits,
        link_names=tuple(branch.link.name for branch in topology.branches),
        link_body=np.array(bodies.link_body, np.int64),
        link_rotation=bodies.link_rotation,
        link_position=bodies.link_position,
        visuals=_visuals(description, topology.branches),
        collisions=_collisions(description, topology.branches),
        source=source,
    )


class _Bodies:
    """The tree of bodies, and the pose of each link in its body."""

    def __init__(self, topology: Topology):
        self.parent: list[int] = []
        self.kind: list[int] = []
        self.home_rotation: list[Array] = []
        self.home_position: list[Array] = []
        self.of_joint: dict[str, slice] = {}
        count = len(topology.branches)
        self.link_body: list[int] = []
        self.link_rotation: Array = np.zeros((count, 3, 3))
        self.link_position: Array = np.zeros((count, 3))
        joints = [branch.joint for branch in topology.branches]
        angles = np.array([joint.rpy if joint else ZERO for joint in joints]).reshape(-1, 3)
        rotations = lie.rotation_from_rpy(angles)
        positions = np.array([joint.xyz if joint else ZERO for joint in joints]).reshape(-1, 3)
        for link, branch in enumerate(topology.branches):
            self._add(link, branch, rotations[link], positions[link])

    def _add(self, link: int, branch: Branch, R: Array, p: Array) -> None:
        """Place a link: in its parent's body if it is fixed to it, otherwise in a body of its own."""
        joint, body = branch.joint, WORLD
        if branch.parent >= 0:
            body, R0, p0 = (
                self.link_body[branch.parent],
                self.link_rotation[branch.parent],
                self.link_position[branch.parent],
            )
            R, p = R0 @ R, p0 + R0 @ p
        if joint is None or joint.type == "fixed":
            self.link_body.append(body)
            self.link_rotation[link], self.link_position[link] = R, p
            return
        kind: Any = joint.type
        kinds = JOINT_TYPES[kind].bodies
        turn = np.eye(3) if JOINT_TYPES[kind].quaternion is not None else _rotation_to(joint.axis)
        first = len(self.parent)
        turned = JOINT_TYPES[kind].turned
        self._body(body, kinds[0], R @ turn @ NEXT_AXIS if turned else R @ turn, p)
        for k in range(1, len(kinds)):
            self._body(first + k - 1, kinds[k], NEXT_AXIS if turned else np.eye(3), np.zeros(3))
        self.of_joint[joint.name] = slice(first, len(self.parent))
        self.link_body.append(len(self.parent) - 1)
        self.link_rotation[link] = turn.T

    def _body(self, parent: int, kind: int, R: Array, p: Array) -> None:
        self.parent.append(parent)
        self.kind.append(kind)
        self.home_rotation.append(R)
        self.home_position.append(p)


@functools.lru_cache(256)
def _rotation_to(axis: Vector) -> Array:
    """`lie.rotation_to`, cached by direction: most robots have three."""
    return np.asarray(lie.rotation_to(axis), np.float64)


def _lumped(branches: Sequence[Branch], bodies: _Bodies) -> tuple[Array, Array, Array]:
    """Mass (n,), first moment (n, 3) and inertia about the origin (n, 3, 3) of the links of each body."""
    n = len(bodies.parent)
    mass, first_moment, inertia = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    heavy = [i for i, branch in enumerate(branches) if branch.link.inertial and bodies.link_body[i] != WORLD]
    inertials = [entry for i in heavy if (entry := branches[i].link.inertial)]
    body = np.array([bodies.link_body[i] for i in heavy], np.int64)
    m = np.array([entry.mass for entry in inertials])
    R = bodies.link_rotation[heavy]
    c = bodies.link_position[heavy] + (R @ np.array([entry.xyz for entry in inertials]).reshape(-1, 3, 1))[..., 0]
    R = R @ lie.rotation_from_rpy(np.array([entry.rpy for entry in inertials]).reshape(-1, 3))
    I_c = R @ tensors([entry.moments for entry in inertials]) @ np.swapaxes(R, 1, 2)
    np.add.at(mass, body, m)
    np.add.at(first_moment, body, m[:, None] * c)
    np.add.at(inertia, body, I_c - m[:, None, None] * lie.skew(c) @ lie.skew(c))
    return mass, first_moment, (inertia + np.swapaxes(inertia, 1, 2)) / 2


def tensors(moments: Sequence[tuple[float, ...]]) -> Array:
    """(n, 6) as ixx, ixy, ixz, iyy, iyz, izz -> (n, 3, 3)."""
    six: Array = np.array(moments).reshape(-1, 6)
    return six[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)


def _coordinates(topology: Topology, of_joint: dict[str, slice]) -> tuple[tuple[Joint, ...], dict[str, Any]]:
    """Return the joints with their slices of q and v, and the limits of every velocity."""
    joints: list[Joint] = []
    limits: list[Limits] = []
    q = v = 0
    for branch in topology.branches:
        joint = branch.joint
        if joint is None or joint.name not in of_joint or joint.type == "fixed":
            continue
        follows = topology.followers.get(joint.name)
        if follows and follows.leader not in of_joint:
            follows = None
        kind: Any = joint.type
        nq, nv = (0, 0) if follows else (JOINT_TYPES[kind].nq, JOINT_TYPES[kind].nv)
        leader = (follows.leader, follows.multiplier, follows.offset) if follows else (None, 1.0, 0.0)
        joints.append(Joint(joint.name, kind, of_joint[joint.name], slice(q, q + nq), slice(v, v + nv), *leader))
        limits += [topology.limits.get(joint.name, Limits())] * nv
        q, v = q + nq, v + nv
    columns = {
        "lower": [limit.lower for limit in limits],
        "upper": [limit.upper for limit in limits],
        "velocity_limit": [limit.velocity for limit in limits],
        "effort_limit": [limit.effort for limit in limits],
        "damping": [limit.damping for limit in limits],
        "friction": [limit.friction for limit in limits],
    }
    return tuple(joints), {name: np.array(column, float) for name, column in columns.items()}


def _visuals(description: Description, branches: Sequence[Branch]) -> tuple[Visual, ...]:
    shapes = [(link, shape) for link, branch in enumerate(branches) for shape in branch.link.visuals]
    visuals = []
    for (link, shape), pose in zip(shapes, _poses(shapes), strict=True):
        color = shape.color or description.materials.get(shape.material)
        kind: Any = shape.kind
        visuals.append(Visual(link, kind, shape.size, pose, color, mesh=shape.mesh, name=shape.name))
    return tuple(visuals)


def _collisions(description: Description, branches: Sequence[Branch]) -> tuple[Collision, ...]:
    shapes = [(link, shape) for link, branch in enumerate(branches) for shape in branch.link.collisions]
    collisions = []
    for (link, shape), pose in zip(shapes, _poses(shapes), strict=True):
        kind: Any = shape.kind
        surface = description.surfaces.get(branches[link].link.name, Surface())
        collisions.append(Collision(link, kind, shape.size, pose, shape.mesh, shape.name, *surface))
    return tuple(collisions)


def _poses(shapes: Sequence[tuple[int, ShapeElement]]) -> Array:
    """(n, 4, 4): the pose of each shape in its link's frame, read-only."""
    poses: Array = np.tile(np.eye(4), (len(shapes), 1, 1))
    poses[:, :3, :3] = lie.rotation_from_rpy(np.array([shape.rpy for _, shape in shapes]).reshape(-1, 3))
    poses[:, :3, 3] = np.array([shape.xyz for _, shape in shapes]).reshape(-1, 3)
    poses.flags.writeable = False
    return poses
